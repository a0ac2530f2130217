"""Tests of the drag of a box: closed forms, an integral of the faces made apart, and energy in flight."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.dynamics import BoxDrag, IdealMotor
from pegasus.environment import UniformGravity
from pegasus.environment.atmosphere import Air, Atmosphere
from tests.dynamics.by_law import drag_wrench
from tests.flyers import PLAIN_IRIS

RHO = 1.2
SIZE = np.array([0.4, 0.3, 0.1])
CENTER = np.array([0.05, -0.02, 0.03])


class Uniform(Atmosphere):
    """Air of the same density everywhere."""

    def air(self, altitude):
        return Air(*np.broadcast_arrays(288.0 + 0 * altitude, 1e5, RHO))


def oracle(drag, velocity, rate, count=24):
    """Return force and torque by Gauss's rule of many points on each face, from vectors of NumPy."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    size, center = np.array(drag.size), np.array(drag.center)
    force, torque = np.zeros(3), np.zeros(3)
    for axis in range(3):
        others = [k for k in range(3) if k != axis]
        for side in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = side
            place = np.zeros((count, count, 3)) + center + normal * size[axis] / 2
            place[..., others[0]] += nodes[:, None] * size[others[0]] / 2
            place[..., others[1]] += nodes[None, :] * size[others[1]] / 2
            into = np.maximum((velocity + np.cross(rate, place)) @ normal, 0.0)
            patch = weights[:, None] * weights[None, :] * size[others[0]] * size[others[1]] / 4
            pressure = 0.5 * RHO * drag.drag_coefficients[axis] * into**2 * patch
            pushes = -normal * pressure[..., None]
            force += pushes.sum(axis=(0, 1))
            torque += np.cross(place, pushes).sum(axis=(0, 1))
    return force, torque


def wrench(drag, velocity, rate):
    force, torque = drag_wrench(drag, np.array([velocity]), np.array([rate]), np.array([[RHO]]))
    return force[0], torque[0]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sense", [-1.0, 1.0])
def test_motion_along_an_axis(axis, sense):
    """The wrong face, or the wrong area, would be pushed."""
    drag = BoxDrag(size=tuple(SIZE), center=tuple(CENTER), drag_coefficients=(1.0, 1.1, 1.2))
    velocity = sense * 7.0 * np.eye(3)[axis]
    force, torque = wrench(drag, velocity, np.zeros(3))
    area, coefficient = SIZE.prod() / SIZE[axis], (1.0, 1.1, 1.2)[axis]
    expected = -sense * 0.5 * RHO * coefficient * area * 49.0 * np.eye(3)[axis]
    np.testing.assert_allclose(force, expected, atol=1e-14)
    np.testing.assert_allclose(torque, np.cross(CENTER, expected), atol=1e-15)


def test_faces_that_move_into_the_air_as_a_whole():
    """The integral over each face would not be exact where all of it moves into the air."""
    drag = BoxDrag(size=tuple(SIZE), center=tuple(CENTER))
    velocity, rate = np.array([12.0, -9.0, 7.0]), np.array([3.0, -4.0, 5.0])
    for found, expected in zip(wrench(drag, velocity, rate), oracle(drag, velocity, rate), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_turning_alone():
    """A box that turns about its middle would not be damped, or by far from the integral over its faces."""
    drag = BoxDrag(size=tuple(SIZE))
    rate = np.array([0.0, 0.0, 20.0])
    force, torque = wrench(drag, np.zeros(3), rate)
    expected = oracle(drag, np.zeros(3), rate, count=400)[1]
    np.testing.assert_allclose(force, 0.0, atol=1e-15)
    # Two points across a face of which half moves into the air: sqrt(16 / 27) of the integral.
    assert torque[2] / expected[2] == pytest.approx((16 / 27) ** 0.5, rel=1e-3)


def test_only_energy_out():
    """Any motion in still air would gain energy."""
    rng = np.random.default_rng(3)
    drag = BoxDrag(size=tuple(SIZE), center=tuple(CENTER), drag_coefficients=(0.8, 1.0, 1.3))
    v, w = rng.normal(scale=10, size=(2, 1000, 3))
    force, torque = drag_wrench(drag, v, w, np.full((1000, 1), RHO))
    assert ((force * v).sum(1) + (torque * w).sum(1) <= 0).all()


def _flight(rate, duration, *, drag, velocity, spin):
    """Return position, velocity and body rate after a throw without gravity."""
    with Simulation("flat", rate=rate) as sim:
        sim.environment.gravity, sim.environment.atmosphere = UniformGravity(0.0), Uniform()
        body = sim.add(
            Multirotor(PLAIN_IRIS, motor=IdealMotor(), drag=drag, sensors={}, position=(0, 0, 500.0))
        )
        sim.play()
        body.place((0, 0, 500.0), velocity=velocity, angular_velocity=spin)
        sim.run(duration)
        state = body.state
        return state.position[0].copy(), state.velocity[0].copy(), state.angular_velocity[0].copy()


def test_a_throw_against_dop853():
    """The flight of two seconds would differ from an independent integration of the rigid body."""
    drag = BoxDrag(size=tuple(SIZE), center=tuple(CENTER))
    mass, inertia = 1.5, np.array([0.029125, 0.029125, 0.055225])
    velocity, spin = np.array([16.0, -12.0, 11.0]), np.array([0.4, -0.3, 0.5])

    def rate_of(_, y):
        v, q, w = y[3:6], y[6:10], y[10:]
        i, j, k, r = q / np.linalg.norm(q)
        turn = np.array(
            [
                [1 - 2 * (j * j + k * k), 2 * (i * j - k * r), 2 * (i * k + j * r)],
                [2 * (i * j + k * r), 1 - 2 * (i * i + k * k), 2 * (j * k - i * r)],
                [2 * (i * k - j * r), 2 * (j * k + i * r), 1 - 2 * (i * i + j * j)],
            ]
        )
        force, torque = oracle(drag, turn.T @ v, w, count=4)
        dq = 0.5 * np.array(
            [
                r * w[0] + j * w[2] - k * w[1],
                r * w[1] + k * w[0] - i * w[2],
                r * w[2] + i * w[1] - j * w[0],
                -i * w[0] - j * w[1] - k * w[2],
            ]
        )
        return np.concatenate([v, turn @ force / mass, dq, (torque - np.cross(w, inertia * w)) / inertia])

    duration = 0.5
    start = np.concatenate([[0, 0, 500.0], velocity, [0, 0, 0, 1], spin])
    end = solve_ivp(rate_of, (0, duration), start, "DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    errors = []
    for rate in (125.0, 250.0, 500.0):
        position, speed, turning = _flight(rate, duration, drag=drag, velocity=velocity, spin=spin)
        found = np.concatenate([position, speed, turning])
        errors.append(np.abs(found - np.concatenate([end[:6], end[10:]])).max())
    assert errors[1] < 1e-6
    assert errors[-1] <= max(errors[0] / 2, 1e-8)


def test_a_tumble_loses_energy_at_all_times():
    """A tumbling box would gain energy in still air over seconds."""
    drag = BoxDrag(size=tuple(SIZE), center=tuple(CENTER))
    inertia = np.array([0.029125, 0.029125, 0.055225])
    energies = []
    for duration in (0.2, 1.0, 3.0, 6.0):
        _, v, w = _flight(250.0, duration, drag=drag, velocity=(5.0, 3.0, -2.0), spin=(12.0, -9.0, 15.0))
        energies.append(0.75 * v @ v + 0.5 * (inertia * w) @ w)
    start = 0.75 * 38.0 + 0.5 * (inertia @ np.array([144.0, 81.0, 225.0]))
    assert (np.diff([start, *energies]) < 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": (0.1, 0.0, 0.1)}, "size .*must be above 0 m"),
        ({"size": (0.1, 0.1, 0.1), "drag_coefficients": (1.0, -1.0, 1.0)}, "drag_coefficients"),
        ({"size": (0.1, 0.1, 0.1), "center": (0.0, float("nan"), 0.0)}, "center"),
    ],
)
def test_wrong_parameters(options, message):
    """A flat box or a negative coefficient would be accepted."""
    with pytest.raises(ConfigError, match=message):
        BoxDrag(**options)
