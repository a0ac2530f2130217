"""Flights on rotors in forward flight: rotor drag over seconds, energy, and control."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pegasus import Multirotor, Simulation
from pegasus.base.step_math import Vec3
from pegasus.config.scenario import WorldSpec
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import LinearDrag, RotorThrust
from tests.flyers import Constant

ROTOR = {
    "diameter": 0.254,
    "advance_ratio": (0.0, 0.142, 0.216, 0.289, 0.361, 0.438, 0.51, 0.577, 0.647, 0.719),
    "thrust_coefficient": (
        *(0.1185, 0.0994, 0.0885, 0.0770, 0.0652),
        *(0.0502, 0.0343, 0.0178, -0.0011, -0.0218),
    ),
    "power_coefficient": (
        *(0.0480, 0.0451, 0.0436, 0.0414, 0.0392),
        *(0.0352, 0.0308, 0.0258, 0.0199, 0.0130),
    ),
    "flapping": 0.6,
    "induced_drag": 0.3,
}
"""APC Slow Flyer 10x4.7, UIUC database."""
CURVE = RotorThrust(**ROTOR)
CROSS = {
    "name": "cross",
    "mass": 1.5,
    "inertia": [0.03, 0.03, 0.055],
    "propeller": {"diameter": 0.254},
    "rotors": [
        {"position": [0.2, 0.0, 0.0], "direction": "ccw"},
        {"position": [-0.2, 0.0, 0.0], "direction": "ccw"},
        {"position": [0.0, 0.2, 0.0], "direction": "cw"},
        {"position": [0.0, -0.2, 0.0], "direction": "cw"},
    ],
    "motor": {"model": "ideal", "max_speed": 2000.0},
    "thrust_curve": {"model": "rotor", **ROTOR},
    "sensors": {},
}
"""Rotors about the centre of mass: forces across their axes leave it level."""
NO_DRAG = LinearDrag(coefficients=(0.0, 0.0, 0.0))
FLAT = {"name": "flat", "generator": {"model": "flat"}, "gravity": {"model": "uniform", "acceleration": 9.8}}


def glide(rate, velocity, seconds=4.0, gravity=9.8):
    """Return rotor speed, air density, and position and velocity each 0.5 s of a glide at one rotor speed."""
    world = WorldSpec(**{**FLAT, "gravity": {"model": "uniform", "acceleration": gravity}})
    with Simulation(world, rate=rate) as sim:
        density = float(sim.environment.air_density(np.array([[0.0, 0.0, 60.0]]))[0])
        speed = float(CURVE.rotor_speed(np.array([[1.5 * 9.8 / 4]]), np.array([[density]]))[0, 0])
        drone = sim.add(Multirotor(CROSS, drag=NO_DRAG, position=(0, 0, 60), backends=[Constant(speed)]))
        sim.play()
        drone.place((0, 0, 60), velocity=velocity)
        drone.columns["rotor_speed"][...] = speed
        states = []
        for _ in range(round(seconds / 0.5)):
            sim.run(0.5)
            assert abs(drone.state.orientation[0, 3]) == pytest.approx(1.0, abs=1e-9)
            states.append(np.concatenate([drone.state.position[0], drone.state.velocity[0]]))
    return speed, density, np.array(states)


def test_rotor_drag_slows_a_glide_as_the_law_says():
    """A wrench at a wrong place or frame, or of the wrong instant, shows in where a glide of seconds ends."""
    speed, density, states = glide(500, (3.0, -1.0, 0.0))
    made = CURVE.parameters()

    def rate(_, y):
        force, _ = CURVE.law(made, speed, Vec3(*y[3:]), density)
        return [*y[3:], *(4 * force[k] / 1.5 - (9.8 if k == 2 else 0.0) for k in range(3))]

    times = 0.5 * np.arange(1, len(states) + 1)
    start = [0, 0, 60, 3.0, -1.0, 0.0]
    exact = solve_ivp(rate, (0, 4), start, "DOP853", t_eval=times, rtol=1e-10, atol=1e-10, max_step=0.02).y.T
    # The density of the flight changes with its height, by 2e-5 here.
    np.testing.assert_allclose(states, exact, atol=2e-3)
    assert math.hypot(*states[-1, 3:5]) < 0.92 * math.hypot(3.0, 1.0)


def test_slow_flight_has_the_linear_rotor_drag_of_faessler():
    """Near hover the velocity must fall exponentially, by (a + d) g / (w R)."""
    speed, _, states = glide(500, (0.2, 0.0, 0.0), seconds=2.0)
    decay = -np.log(states[-1, 3] / 0.2) / 2.0
    assert decay == pytest.approx(0.9 * 9.8 / (speed * 0.127), rel=0.01)


@pytest.mark.parametrize("velocity", [(12.0, 0.0, 0.0), (6.0, 6.0, -6.0), (0.0, 4.0, 9.0)])
def test_a_flight_gains_no_more_energy_than_the_shafts_give(velocity):
    """Energy from still air would be a perpetual motion, over seconds and not only at an instant."""
    speed, density, states = glide(500, velocity, seconds=3.0, gravity=0.0)
    made = CURVE.parameters()
    before = np.concatenate([[0, 0, 60], velocity])
    for now in states:
        middle = 0.5 * (before[3:] + now[3:])
        _, torque = CURVE.law(made, speed, Vec3(*middle), density)
        gained = 0.75 * (now[3:] @ now[3:] - before[3:] @ before[3:])
        assert gained < 0.5 * 4 * torque[2] * speed
        before = now


def test_controllers_fly_a_rotor_with_a_stiff_hub_through_a_circle():
    """A law that does not compile, or a hub moment that feeds itself, would lose the vehicle."""
    stiff = {"model": "rotor", **ROTOR, "hub_stiffness": 0.3}
    circle = trajectories.circle(radius=3.0, speed=3.0, height=5.0)
    with Simulation(WorldSpec(**FLAT), rate=250) as sim:
        spec = {**CROSS, "thrust_curve": stiff}
        drone = sim.add(Multirotor(spec, position=(0, 0, 0.1), backends=[GeometricController(circle)]))
        sim.run(12.0)
        radius = math.hypot(*drone.state.position[0, :2])
        assert radius == pytest.approx(3.0, abs=0.3)
        assert drone.state.position[0, 2] == pytest.approx(5.0, abs=0.2)
