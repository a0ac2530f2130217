"""Tests of the feed-forward of drag by the geometric controller."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.control import GeometricController, trajectories
from pegasus.control.drag_compensation import against_drag, drag_by_axis, level_drag
from tests.flyers import PLAIN_IRIS

GRAVITY = np.array([0.0, 0.0, -9.80665])


def drag_of(model):
    vehicle = Multirotor(model)
    thrust = np.full((1, 1), vehicle.mass * 9.80665 / vehicle.rotor_count)
    speed = float(vehicle.thrust_curve.rotor_speed(thrust, np.full((1, 1), 1.225))[0, 0])
    return vehicle, speed, level_drag(vehicle, speed, 1.225)


def test_drag_is_that_of_the_vehicle():
    """The controller would lean by the drag of another vehicle."""
    _, _, plain = drag_of(PLAIN_IRIS)
    assert (plain.linear, plain.quadratic, plain.lever) == pytest.approx((0.4, 0.0, 0.0), abs=1e-12)
    racer, speed, drag = drag_of("racer")
    curve = racer.thrust_curve
    # Induced drag near hover: 1.1 times the weight by tip speed, in the plane of the rotors.
    assert drag.linear == pytest.approx(1.1 * racer.mass * 9.80665 / (speed * curve.diameter / 2), rel=0.05)
    assert drag.lever == pytest.approx(racer.layout.position[0, 2] - racer.center_of_mass[2], rel=0.05)
    # 1/2 rho A of the body, and what translational lift adds to the drag of the rotors.
    assert 0.5 * 1.225 * 0.0049 < drag.quadratic < 2.0 * 0.5 * 1.225 * 0.0057


def test_drag_along_each_axis_is_that_of_a_flight():
    """The wind by drag would be wrong: the rotors turn more slowly in forward flight, which was 5 % of it."""
    plain = Multirotor(PLAIN_IRIS)
    found = drag_by_axis(plain, plain.mass * 9.80665, 1.225)
    # Its drag does not grow with the rotors' speed, which the law takes it to.
    np.testing.assert_allclose(found @ [1.0, 5.0], [0.5, 0.3], rtol=0.02)
    for wind in ([5.0, 0.0, 0.0], [0.0, 5.0, 0.0]):
        with Simulation("flat", wind={"mean_velocity": wind}) as simulation:
            held = GeometricController(trajectories.hold(height=20.0))
            iris = simulation.add(Multirotor("iris", backends=[held], position=(0.0, 0.0, 20.0)))
            simulation.run(15.0)
            axes = iris.state.rotation[0]
            force, velocity = axes.T @ -GRAVITY, axes.T @ (iris.state.velocity[0] - wind)
            density = float(iris.environment.air_density(iris.state.position)[0])
            (c, d) = drag_by_axis(iris, iris.mass * 9.80665, density)[0 if wind[0] else 1]
        axis, speed = (0 if wind[0] else 1), math.hypot(velocity[0], velocity[1])
        drag = -(c + d * speed) * velocity[axis] / iris.mass
        assert drag == pytest.approx(force[axis], rel=0.01)


def test_rate_is_the_derivative_of_the_acceleration():
    """The body rates of the feed-forward would not be those of its attitude."""
    body = SimpleNamespace(mass=0.8, gravity=Vec3(*GRAVITY), rotor_drag=0.0, body_drag=0.01)

    def motion(t):
        """Return velocity, acceleration and jerk of a loop that drifts."""
        c, s = math.cos(2.0 * t), math.sin(2.0 * t)
        v = np.array([4.0 * c + 1.0, 0.7, 4.0 * s])
        return v, np.array([-8.0 * s, 0.0, 8.0 * c]), np.array([-16.0 * c, 0.0, -16.0 * s])

    def balance(t, body):
        v, a, j = motion(t)
        parts = against_drag(body, Vec3(*(a - GRAVITY)), Vec3(*j), Vec3(*v), Vec3(*a))
        return tuple(np.array([part[k] for k in range(3)]) for part in parts)

    for t in np.arange(0.0, 3.0, 0.37):
        change = (balance(t + 1e-5, body)[0] - balance(t - 1e-5, body)[0]) / 2e-5
        np.testing.assert_allclose(balance(t, body)[1], change, atol=1e-6)
        # That of the rotors opposes the velocity across the thrust; its growth with the thrust is no part
        # of the rate.
        linear = SimpleNamespace(**{**vars(body), "rotor_drag": 0.1, "body_drag": 0.0})
        v, a, _ = motion(t)
        z = (a - GRAVITY) / np.linalg.norm(a - GRAVITY)
        level = v - z * (z @ v)
        share = math.sqrt(np.linalg.norm(a - GRAVITY) / 9.80665)
        np.testing.assert_allclose(balance(t, linear)[0], level * 0.1 * share / 0.8, atol=1e-12)


@pytest.mark.parametrize("name", ["crazyflie", "pegasus"])
def test_a_square_is_flown_closer(name):
    """Drag would be left to the feedback, which leans late, or the feed-forward have a wrong sign."""
    square = trajectories.square(side=3.0, height=2.0, speed=2.0)
    largest = []
    for share in (0.0, 1.0):
        pilot = GeometricController(square, spin_up=0.0, drag_compensation=share)
        with Simulation("flat") as sim:
            vehicle = sim.add(Multirotor(name, position=(0.0, 0.0, 2.0), sensors={}, backends=[pilot]))
            sim.run(2.5)
            errors = []
            while sim.time < 8.0:
                sim.step()
                errors.append(np.abs(vehicle.state.position - pilot.reference.position)[0, :2].max())
        largest.append(max(errors))
    assert largest[1] < 0.7 * largest[0]


def test_share_is_checked():
    """More than the whole drag would be fed forward."""
    with pytest.raises(ConfigError, match=r"drag_compensation = 1\.5: must be from 0 to 1"):
        Multirotor(
            "iris", backends=[GeometricController(trajectories.hold(height=2.0), drag_compensation=1.5)]
        )
