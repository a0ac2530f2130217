"""Wheels: they roll, brake, steer and grip."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Backend, Multirotor, Simulation
from pegasus.config.scenario import WorldSpec

G = 9.80665
CART = {
    "name": "cart",
    "mass": 2.0,
    "inertia": [0.02, 0.03, 0.04],
    "body": {"size": [0.3, 0.2, 0.05], "leg_height": 0.0},
    "rotors": [
        {"position": [0.3, 0.0, 0.0], "axis": [1, 0, 0], "direction": "ccw"},
        {"position": [0.0, 0.0, 0.1], "direction": "ccw"},
    ],
    "propeller": {"diameter": 0.1},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-6, "moment_ratio": 0.0},
    "joints": {"steer": {"axis": [0, 0, 1]}},
    "wheels": {
        "front": {"position": [0.3, 0.0, -0.1], "radius": 0.05, "rolling_friction": 0.05, "joint": "steer"},
        "left": {"position": [-0.2, 0.2, -0.1], "radius": 0.05, "rolling_friction": 0.05, "brake": "brake"},
        "right": {"position": [-0.2, -0.2, -0.1], "radius": 0.05, "rolling_friction": 0.05, "brake": "brake"},
    },
    "sensors": {},
}
"""A cart on three wheels with a propeller, and a rotor that could lift it, which is at rest."""


class Pedals(Backend):
    """Commands that a test sets."""

    drives = True

    def __init__(self, *command):
        self.values = np.array([command], dtype=float)

    def command(self, t):
        return self.values


WORLD = WorldSpec(name="flat", generator={"model": "flat"}, gravity={"model": "uniform", "acceleration": G})
"""A level world."""


def rolling(*command, velocity=(0.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, 0.0), heading=0.0):
    """Return a simulation with the cart on the ground, its pedals, and the cart."""
    pedals = Pedals(*command[:1], 0.0, *command[1:])
    cart = Multirotor(CART, backends=[pedals], position=(0, 0, 0.15), heading=heading)
    sim = Simulation(WORLD, rate=500)
    sim.add(cart)
    cart.place((0, 0, 0.15), heading=heading, velocity=velocity, angular_velocity=angular_velocity)
    return sim, pedals, cart


def run(sim, seconds):
    for _ in range(round(seconds * sim.rate)):
        sim.step()


def test_a_wheel_rolls_with_its_friction_and_grips_sideways():
    """Along the wheels it slows down by c g; across them it slides with the friction of the ground."""
    sim, _, cart = rolling(0.0, 0.0, 0.0, velocity=(3.0, 0.0, 0.0))
    with sim:
        run(sim, 1.0)
        assert cart.velocity[0, 0] == pytest.approx(3.0 - 0.05 * G, rel=0.01)
        assert abs(cart.velocity[0, 1]) < 1e-3
    sim, _, cart = rolling(0.0, 0.0, 0.0, velocity=(0.0, 1.0, 0.0))
    with sim:
        run(sim, 0.5)
        assert abs(cart.velocity[0, 1]) < 1e-3
        assert 0.0 < cart.position[0, 1] < 0.25


def test_thrust_moves_it_once_it_is_more_than_the_rolling_friction():
    """A cart with unlike frictions stands still below c m g, and accelerates by the rest above."""
    weight = 2.0 * G
    for thrust in (0.04 * weight, 0.25 * weight):
        sim, _, cart = rolling(math.sqrt(thrust / 1e-6), 0.0, 0.0)
        with sim:
            run(sim, 1.0)
            expected = max(thrust / 2.0 - 0.05 * G, 0.0)
            assert cart.velocity[0, 0] == pytest.approx(expected, abs=0.03)


def test_brakes_stop_it_with_the_load_of_their_wheels():
    """Fully braked wheels slide: with the friction of the ground they carry their part of the weight."""
    sim, pedals, cart = rolling(0.0, 1.0, 0.0, velocity=(4.0, 0.0, 0.0))
    with sim:
        run(sim, 0.5)
        speed = cart.velocity[0, 0]
        assert speed < 4.0 - 0.5 * 0.2 * G
        pedals.values[0, 2] = 0.0
        run(sim, 0.5)
        assert cart.velocity[0, 0] == pytest.approx(speed - 0.5 * 0.05 * G, rel=0.02)
        pedals.values[0, 2] = 1.0
        run(sim, 3.0)
        at_rest = cart.position[0].copy()
        assert np.abs(cart.velocity[0]).max() < 1e-3
        # A resting cart wakes when the brake is released and it is pulled.
        pedals.values[0] = [2500.0, 0.0, 1.0, 0.0]
        run(sim, 0.5)
        assert np.abs(cart.position[0] - at_rest).max() < 0.01
        pedals.values[0] = [2500.0, 0.0, 0.0, 0.0]
        run(sim, 0.5)
        assert cart.position[0, 0] > at_rest[0] + 0.1


def test_it_turns_about_the_point_to_which_its_axles_point():
    """A bicycle's radius is the wheelbase by the tangent of the steering angle (Ackermann)."""
    angle = 0.3
    sim, _, cart = rolling(600.0, 0.0, angle, velocity=(1.0, 0.0, 0.0))
    with sim:
        run(sim, 1.5)
        rate = cart.angular_velocity[0, 2]
        rear = cart.velocity[0] @ cart.state.rotation[0, :, 0]
        assert rate > 0.1
        assert rear / rate == pytest.approx(0.5 / math.tan(angle), rel=0.03)


def test_a_rolling_cart_keeps_its_bits_beside_another():
    """If this fails, the wheels of one vehicle change the flight of another."""
    found = []
    for others in (0, 2):
        sim, _, cart = rolling(1500.0, 0.0, 0.2, velocity=(1.0, 0.0, 0.0))
        with sim:
            for k in range(others):
                sim.add(Multirotor(CART, name=f"other{k}", backends=[Pedals(0.0, 0.0, 1.0, 0.0)],
                                   position=(5.0 + k, 5.0, 0.15)))  # fmt: skip
            run(sim, 0.5)
            found.append((cart.position[0].tolist(), cart.velocity[0].tolist()))
    assert found[0] == found[1]


def test_wheels_turn_by_the_way_that_they_roll():
    """Wheels would stand still in images, turn backwards, or in the air, or with another speed in a turn."""
    sim, _, cart = rolling(0.0, 0.0, 0.0, velocity=(1.0, 0.0, 0.0), heading=0.7)
    with sim:
        run(sim, 0.2)
        angle, start = cart.columns["wheel_angle"].copy(), cart.state.position.copy()
        assert angle.shape == (1, 3)
        run(sim, 0.3)
        way = np.linalg.norm(cart.state.position - start)
        turned = np.remainder(cart.columns["wheel_angle"] - angle, 2 * np.pi)
        assert way > 0.15
        np.testing.assert_allclose(turned, np.remainder(way / 0.05, 2 * np.pi), atol=0.01)
        # Backwards, all the same.
        ahead = np.array([math.cos(0.7), math.sin(0.7), 0.0])
        angle, start = cart.columns["wheel_angle"].copy(), cart.state.position.copy()
        cart.place(cart.state.position[0], heading=0.7, velocity=-0.4 * ahead)
        run(sim, 0.2)
        way = np.linalg.norm(cart.state.position - start)
        turned = np.remainder(angle - cart.columns["wheel_angle"], 2 * np.pi)
        np.testing.assert_allclose(turned, way / 0.05, atol=0.01)
        angle = cart.columns["wheel_angle"].copy()
        cart.place((0.0, 0.0, 5.0), heading=0.7, velocity=ahead)
        run(sim, 0.2)
        np.testing.assert_array_equal(cart.columns["wheel_angle"], angle)
        sim.reset()
        assert not cart.columns["wheel_angle"].any()


def test_wheels_that_are_braked_fully_do_not_turn():
    """A braked wheel would roll while it slides."""
    sim, _, cart = rolling(0.0, 1.0, 0.0, velocity=(2.0, 0.0, 0.0))
    with sim:
        run(sim, 0.1)
        front, *braked = cart.columns["wheel_angle"][0]
        assert cart.state.velocity[0, 0] > 0.5
        assert front > 1.0
        assert not any(braked)


def test_wheels_of_two_vehicles_turn_apart():
    """A wheel would turn with that of another vehicle, or another copy."""
    carts = [
        Multirotor(CART, name=name, count=2, position=[(0, y, 0.15), (0, y + 1, 0.15)])
        for name, y in (("a", 0.0), ("b", 5.0))
    ]
    with Simulation(WORLD, rate=500) as sim:
        for cart in carts:
            sim.add(cart)
        carts[1].place([(0, 5, 0.15), (0, 6, 0.15)], velocity=[(0.0, 0.0, 0.0), (0.5, 0.0, 0.0)])
        run(sim, 0.1)
        assert not carts[0].columns["wheel_angle"].any()
        assert carts[1].columns["wheel_angle"][0].max() == pytest.approx(0.0, abs=1e-3)
        turned = carts[1].state.position[1, 0] / 0.05
        assert turned > 0.9
        np.testing.assert_allclose(carts[1].columns["wheel_angle"][1], turned, atol=1e-3)
