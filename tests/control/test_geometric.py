"""Tests of the geometric controller: error formulas, limits, and closed-loop responses."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import impulse
from scipy.spatial.transform import Rotation

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import Quat, Vec3
from pegasus.contracts.state import Reference
from pegasus.contracts.trajectory import TimedPath, points_of
from pegasus.control import Body, GeometricController, trajectories
from pegasus.control.geometric import (
    THRUST_SHARE,
    attitude_error,
    attitude_from_thrust,
    integrated,
    limited_acceleration,
)
from pegasus.recording import TrackingAudit

GRAVITY = 9.80665

GAINS = {
    "position_gain": (6.7, 6.7, 6.7),
    "velocity_gain": (5.7, 5.7, 5.7),
    "attitude_gain": (120.0, 120.0, 60.0),
    "rate_gain": (17.0, 17.0, 9.0),
}
"""The gains of Pegasus Simulator for its Iris, but that of the integral."""


def flown(
    vehicles, trajectory, duration, *, vehicle=None, start=(0, 0, 0), spin_up=0.0, wind=(0, 0, 0), **gains
):
    """Fly a vehicle and return the plant, the tracking errors (K, N, 3) and the references."""
    vehicle = vehicle or vehicles.StandIn()
    controller = GeometricController(trajectory, spin_up=spin_up, **gains)
    controller.bind(vehicle)
    controller.start()
    plant = vehicles.Plant(vehicle, position=start, wind_force=wind)
    plant.state.rotor_speed[:] = 0.0 if spin_up else 650.0
    _, states, references = plant.fly(controller, duration)
    errors = np.array([s.position - r.position for s, r in zip(states, references, strict=True)])
    return plant, errors, references


def vector_of(v):
    return Vec3(*np.asarray(v, dtype=float).tolist())


def numbers(v):
    return np.array([v[0], v[1], v[2]])


def error_of(rotation):
    """Return the attitude error of an attitude relative to the desired one."""
    return numbers(attitude_error(*(vector_of(row) for row in rotation)))


def body_of(max_thrust=30.0, mass=1.5):
    """Return a body at rest."""
    zero = Vec3(0, 0, 0)
    inertia = Vec3(0.03, 0, 0), Vec3(0, 0.03, 0), Vec3(0, 0, 0.055)
    return Body(
        zero,
        Quat(0, 0, 0, 1),
        zero,
        zero,
        Vec3(0, 0, -GRAVITY),
        max_thrust,
        mass,
        *inertia,
        heave=0.0,
        heave_in_descent=0.0,
        rotor_drag=0.0,
        body_drag=0.0,
        drag_lever=0.0,
    )


def test_attitude_error_is_the_chord_of_the_angle():
    """If this fails, the torque does not grow with the error, or points the wrong way."""
    rng = np.random.default_rng(1)
    axis = rng.normal(size=(200, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = rng.uniform(0, math.pi - 1e-3, (200, 1))
    turned = Rotation.from_rotvec(axis * angle).as_matrix()
    errors = [error_of(rotation) for rotation in turned]
    np.testing.assert_allclose(errors, 2 * np.sin(angle / 2) * axis, atol=1e-9)


def test_attitude_error_of_half_a_turn_is_full():
    """If this fails, a vehicle exactly on its back stays there: the gradient of the error is zero."""
    axis = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [-0.48, 0.6, 0.64]])
    half_turn = 2 * axis[:, :, None] * axis[:, None, :] - np.eye(3)
    error = np.array([error_of(rotation) for rotation in half_turn])
    np.testing.assert_allclose(np.linalg.norm(error, axis=1), 2.0, atol=1e-6)
    np.testing.assert_allclose(np.abs((error * axis).sum(axis=1)), 2.0, atol=1e-6)
    np.testing.assert_array_equal(error_of(np.eye(3)), 0.0)


def test_attitude_carries_the_thrust_and_the_heading():
    """If this fails, the vehicle pushes or looks in another direction than it should."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        thrust, yaw = rng.uniform([-8, -8, 2], [8, 8, 15]), rng.uniform(-math.pi, math.pi)
        *axes, _ = attitude_from_thrust(vector_of(thrust), Vec3(0, 0, 0), yaw, 0.0)
        rotation = np.stack([numbers(axis) for axis in axes], axis=1)
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(rotation[:, 2], thrust / np.linalg.norm(thrust), atol=1e-12)
        # The y axis is level across the heading, the x axis in the vertical plane of the heading.
        across = np.array([math.cos(yaw), math.sin(yaw), 0.0])
        assert rotation[:, 1] @ across == pytest.approx(0.0, abs=1e-12)
        assert rotation[:, 0] @ across > 0


def test_body_rates_are_those_of_the_attitude():
    """If this fails, feed-forward of the jerk turns the vehicle at a wrong rate.

    The attitude along a smooth thrust and heading is differentiated numerically.
    """

    def attitude(t):
        thrust = Vec3(3 * math.sin(t), 4 * math.cos(0.7 * t), 9 + 2 * math.sin(1.3 * t))
        jerk = Vec3(3 * math.cos(t), -2.8 * math.sin(0.7 * t), 2.6 * math.cos(1.3 * t))
        *axes, rates = attitude_from_thrust(thrust, jerk, 0.8 * t + math.sin(t), 0.8 + math.cos(t))
        return np.stack([numbers(axis) for axis in axes], axis=1), numbers(rates)

    h = 1e-5
    for t in np.linspace(0, 9, 40).tolist():
        rotation, rates = attitude(t)
        turn = rotation.T @ (attitude(t + h)[0] - attitude(t - h)[0]) / (2 * h)
        np.testing.assert_allclose(rates, [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-8)


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        ((1.0, 2.0, 10.0), (1.0, 2.0, 10.0)),
        # Tilt: 10 tan(1) along (3, 4). Size: sqrt(20^2 - 19^2). Height: never below the lowest.
        ((30.0, 40.0, 10.0), (6 * math.tan(1.0), 8 * math.tan(1.0), 10.0)),
        ((0.0, 30.0, 19.0), (0.0, math.sqrt(39.0), 19.0)),
        ((3.0, 0.0, -5.0), (math.tan(1.0), 0.0, 1.0)),
        ((0.0, 0.0, 50.0), (0.0, 0.0, 20.0)),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    ],
)
def test_acceleration_is_limited_height_first(demand, expected):
    """If this fails, a vehicle that cannot do both falls to keep its position in the plane."""
    limited = limited_acceleration(Vec3(*demand), body_of(20.0 * 1.5 / THRUST_SHARE), 1.0)
    np.testing.assert_allclose(numbers(limited), expected)


def test_integral_stands_still_at_the_limits():
    """If this fails, an error that the rotors cannot act on winds up, or another one stays for ever."""
    change = Vec3(0.004, -0.016, 0.036)
    for demand, grown in (((0.0, 1.0, 10.0), (0.04, -0.16, 0.36)), ((20.0, 9.0, 10.0), (0.0, 0.0, 0.36))):
        integral, wanted = Vec3(0, 0, 0), Vec3(*demand)
        limited = limited_acceleration(wanted, body_of(200.0), math.pi / 4)
        for _ in range(10):
            integral = integrated(integral, change, wanted, limited, 0.5)
        np.testing.assert_allclose(numbers(integral), grown)
        for _ in range(400):
            integral = integrated(integral, change, wanted, limited, 0.5)
        np.testing.assert_array_equal(np.abs(numbers(integral)), 0.5 * (np.array(grown) != 0))


def test_hovers(vehicles):
    """If this fails, the vehicle does not stay where it is told."""
    _, errors, _ = flown(
        vehicles, trajectories.hold(position=(0.0, 0.0, 2.0)), 6.0, start=(0.3, -0.2, 1.5), relative=False
    )
    assert np.linalg.norm(errors[-250:, 0], axis=1).max() < 0.01


def test_steady_wind_deflects_by_force_over_stiffness_without_the_integral(vehicles):
    """If this fails, gains are not accelerations by error: e = F / (m k)."""
    _, errors, _ = flown(
        vehicles,
        trajectories.hold(position=(0, 0, 2)),
        6.0,
        start=(0, 0, 2),
        wind=(1.0, -0.5, 0.3),
        integral_gain=(0, 0, 0),
        **GAINS,
    )
    # The thrust vector is tilted onto the wanted direction up to the lag of the attitude, which is at rest.
    np.testing.assert_allclose(errors[-1, 0], np.array([1.0, -0.5, 0.3]) / (1.5 * 6.7), rtol=1e-3)


def test_wind_is_taken_out_as_the_gains_say(vehicles):
    """If this fails, the loops are not what their gains promise, or steady wind leaves an error for ever.

    The linear loop: e''' + G (5.7 e'' + 6.7 e' + 1.0 e) = f'/m, with the attitude loop of 120 and 17 and
    the motors' lag, 12.5 ms up and 25 ms down, in G.
    """
    _, errors, _ = flown(
        vehicles,
        trajectories.hold(position=(0, 0, 2)),
        12.0,
        start=(0, 0, 2),
        wind=(1.0, -0.5, 0.3),
        integral_gain=(1.0, 1.0, 1.0),
        **GAINS,
    )
    times, motor = np.arange(len(errors)) * 0.004, [0.0175, 1.0]
    attitude = np.polyadd(np.polymul(motor, [1, 0, 0]), [17, 120])
    for axis, force, lag, gain in ((0, 1.0, attitude, 120), (1, -0.5, attitude, 120), (2, 0.3, motor, 1)):
        loop = np.polyadd(np.polymul([1, 0, 0, 0], lag), gain * np.array([5.7, 6.7, 1.0]))
        _, response = impulse((lag, loop), T=times)
        np.testing.assert_allclose(errors[:, 0, axis], response * force / 1.5, atol=0.0025)
    assert np.abs(errors[:, 0]).max(axis=0) == pytest.approx([0.085, 0.043, 0.026], abs=0.003)
    assert np.linalg.norm(errors[-1, 0]) < 0.02


def test_the_integral_does_not_wind_up(vehicles):
    """If this fails, a vehicle that was held back overshoots by metres when it is let go."""
    overshoot = []
    for gain in (0.0, 1.0):
        controller = GeometricController(
            trajectories.hold(position=(0, 0, 5)),
            tilt_limit=0.3,
            spin_up=0.0,
            integral_gain=(gain, gain, gain),
        )
        vehicle = vehicles.StandIn()
        controller.bind(vehicle)
        plant = vehicles.Plant(vehicle, position=(0, 0, 5))
        plant.state.rotor_speed[:] = 656.0
        plant.fly(controller, 0.5)
        plant.state.position[:] = (-8.0, 0.0, 5.0)
        _, states, _ = plant.fly(controller, 6.0, t=0.5)
        overshoot.append(max(s.position[0, 0] for s in states))
        tilt = np.array([math.acos(s.rotation[0, 2, 2]) for s in states])
        assert tilt.max() < 0.3 + 0.1
    assert overshoot[1] < overshoot[0] + 0.1


def test_step_response(vehicles):
    """If this fails, the loop overshoots or crawls.

    Position follows x'' + 5.7 x' + 6.7 x = 0 behind an attitude loop with a pole pair at 11 rad/s.
    """
    vehicle = vehicles.StandIn()
    controller = GeometricController(
        trajectories.hold(position=(0, 0, 5)), spin_up=0.0, integral_gain=(0, 0, 0), **GAINS
    )
    controller.bind(vehicle)
    plant = vehicles.Plant(vehicle, position=(0, 0, 5))
    plant.state.rotor_speed[:] = 656.0
    plant.fly(controller, 1.0)
    plant.state.position[:] += (-1.0, 0.0, -1.0)
    times, states, _ = plant.fly(controller, 5.0, t=1.0)
    x = np.array([s.position[0] for s in states]) - (0, 0, 5)
    assert x[:, [0, 2]].max() < 0.05
    assert np.abs(x[times > 4.5]).max() < 0.01
    fast, slow = 5.7 / 2 + np.sqrt(5.7**2 / 4 - 6.7), 5.7 / 2 - np.sqrt(5.7**2 / 4 - 6.7)
    elapsed = times - 1.0
    ideal = -(fast * np.exp(-slow * elapsed) - slow * np.exp(-fast * elapsed)) / (fast - slow)
    assert np.abs(x[:, 2] - ideal).max() < 0.06


def test_follows_a_circle(vehicles):
    """If this fails, feed-forward does not carry the vehicle around fast curves."""
    circle = trajectories.circle(3.0, height=2.0, speed=5.0, laps=2, acceleration=2.0, yaw="forward")
    _, errors, references = flown(vehicles, circle, circle.duration, start=(3.0, 0.0, 2.0), relative=False)
    assert max(np.linalg.norm(r.acceleration) for r in references) > 8.0
    assert np.linalg.norm(errors[:, 0], axis=1).max() < 0.08
    assert np.sqrt((errors**2).sum(axis=2).mean()) < 0.03


@pytest.mark.parametrize("angle", [math.pi, math.radians(179), math.radians(120)])
def test_recovers_from_being_upside_down(vehicles, angle):
    """If this fails, the controller is stuck or tumbles where Euler angles are undefined (Lee 2010)."""
    vehicle = vehicles.StandIn(count=8)
    controller = GeometricController(trajectories.hold(position=(0, 0, 30)), spin_up=0.0)
    controller.bind(vehicle)
    plant = vehicles.Plant(vehicle, position=(0, 0, 30))
    direction = np.arange(8) * math.pi / 4
    axis = np.stack([np.cos(direction), np.sin(direction), 0 * direction], axis=1)
    plant.state.orientation[:] = Rotation.from_rotvec(angle * axis).as_quat()
    plant.state.rotation[:] = matrix_from_quaternion(plant.state.orientation)
    plant.state.rotor_speed[:] = 300.0
    times, states, _ = plant.fly(controller, 4.0)
    tilt = np.arccos(np.clip([s.rotation[:, 2, 2] for s in states], -1, 1))
    assert tilt[times > 1.5].max() < math.radians(60)
    assert tilt[-1].max() < math.radians(2)
    assert np.linalg.norm(plant.state.position - (0, 0, 30), axis=1).max() < 0.3
    assert min(s.position[:, 2].min() for s in states) > 25.0


def test_same_gains_fly_another_airframe(vehicles):
    """If this fails, gains depend on mass and inertia: a Crazyflie and a heavy hexarotor prove otherwise."""
    arm = 0.0325
    crazyflie = vehicles.StandIn(
        mass=0.0319,
        inertia=np.diag([16.8e-6, 16.8e-6, 29.8e-6]),
        layout=vehicles.layout(
            [[arm, -arm, 0], [-arm, arm, 0], [arm, arm, 0], [-arm, -arm, 0]], [[0, 0, 1]] * 4, [1, 1, -1, -1]
        ),
        thrust_curve=vehicles.QuadraticCurve(constant=2.2e-8, ratio=0.006),
    )
    crazyflie.motor = replace(crazyflie.motor, max_speed=2600.0)
    angles = np.arange(6) * math.pi / 3
    position = 0.6 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    hexarotor = vehicles.StandIn(
        mass=9.0,
        inertia=np.array([[0.4, 0.02, 0.0], [0.02, 0.45, -0.01], [0.0, -0.01, 0.7]]),
        center_of_mass=np.array([0.02, -0.01, 0.03]),
        layout=vehicles.layout(position, [[0, 0, 1]] * 6, np.where(np.arange(6) % 2, 1.0, -1.0)),
        thrust_curve=vehicles.QuadraticCurve(constant=4e-5),
    )
    for vehicle in (crazyflie, hexarotor):
        lemniscate = trajectories.lemniscate(1.5, height=2.0, speed=2.0)
        _, errors, _ = flown(
            vehicles, lemniscate, lemniscate.duration, vehicle=vehicle, start=(0, 0, 2.0), spin_up=0.0
        )
        # Rotors start far from hover; after that the curve is followed closely.
        assert np.linalg.norm(errors[500:, 0], axis=1).max() < 0.02


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tilt_limit": 3.2}, "tilt_limit = 3.2: must be above 0 and at most pi [rad]"),
        ({"rate_gain": (1.0, -1.0, 1.0)}, "rate_gain = (1.0, -1.0, 1.0): all three must be above 0"),
        ({"integral_gain": (0.0, -1.0, 0.0)}, "integral_gain = (0.0, -1.0, 0.0): none may be negative"),
    ],
)
def test_bad_gains_are_named(parameters, message):
    """If this fails, a gain of the wrong sign is accepted and causes a crash."""
    with pytest.raises(ConfigError) as caught:
        GeometricController(trajectories.hold(height=1.0), **parameters)
    assert str(caught.value) == message


def test_thrust_and_torque_at_hover(vehicles):
    """If this fails, signs or units of the wrench are wrong: m g up, and a torque against a small roll."""
    controller = GeometricController(trajectories.hold(position=(0, 0, 2)), spin_up=0.0, **GAINS)
    controller.bind(vehicles.StandIn())
    controller.reset(np.arange(controller.count))
    plant = vehicles.Plant(vehicles.StandIn(), position=(0, 0, 2))
    reference = Reference.hold(plant.state.position, np.zeros(1))
    force, torque = controller.wrench(plant.state, reference, 0.0)
    np.testing.assert_allclose(force, [[0, 0, 1.5 * GRAVITY]])
    np.testing.assert_allclose(torque, 0.0, atol=1e-12)
    plant.state.orientation[:] = Rotation.from_rotvec([0.01, 0, 0]).as_quat()
    _, torque = controller.wrench(plant.state, reference, 0.0)
    np.testing.assert_allclose(torque, [[-0.029125 * 120 * 2 * math.sin(0.005), 0, 0]], atol=1e-9)


class Loop(TimedPath):
    """Two vertical loops of 1.5 m in a plane, at a heading of 0."""

    name = "loop"

    def __init__(self, plane):
        self._plane, self._profile = plane, trajectories.Profile(4 * math.pi, rate=3.6, acceleration=6.0)
        self.duration = self._profile.duration

    def samples(self, times):
        q, v, a, j = (part[:, None] for part in self._profile.at(times))
        ahead = np.array([math.cos(self._plane), math.sin(self._plane), 0.0])
        c, s = 1.5 * np.cos(q), 1.5 * np.sin(q)
        up = np.array([0.0, 0.0, 1.0])
        place = s * ahead + (1.5 - c) * up + [0.0, 0.0, 4.0]
        first, second, third = c * ahead + s * up, -s * ahead + c * up, -c * ahead - s * up
        motion = [
            place,
            first * v,
            second * v * v + first * a,
            third * v**3 + 3 * second * v * a + first * j,
        ]
        return points_of(len(times), motion, 0.0)


@pytest.mark.parametrize("plane", [0.0, 0.5 * math.pi, 0.7])
def test_loops_are_flown(plane):
    """If this fails, the thrust never points down, or the heading turns round where the thrust is level.

    Pitching through a loop, the direction across heading and thrust changes its sign at a right angle.
    """
    audit = TrackingAudit()
    flight = trajectories.sequence(trajectories.takeoff(height=4.0), Loop(plane))
    control = GeometricController(flight, tilt_limit=math.pi, strict=True, drag_compensation=1.0)
    with Simulation("flat", observers=[audit]) as sim:
        racer = sim.add(Multirotor("racer", backends=[control]))
        lowest = 1.0
        while sim.time < control.mission.duration:
            sim.step()
            lowest = min(lowest, racer.state.rotation[0, 2, 2])
    assert lowest < -0.9
    assert audit.errors()["racer"].segments["loop"].maximum < 0.2


@pytest.mark.parametrize("limit", [1.0, 1.4, 1.5, 2.0, 3.0, math.pi])
def test_commanded_tilt_keeps_to_its_limit(limit):
    """If this fails, more tilt is commanded than is allowed, or more thrust than there is."""
    body = SimpleNamespace(max_thrust=30.0, mass=1.5)
    rng = np.random.default_rng(2)
    for demand in rng.normal(size=(300, 3)) * rng.choice([0.0, 0.5, 5.0, 20.0], size=(300, 1)):
        limited = limited_acceleration(Vec3(*demand), body, limit)
        size = math.sqrt(sum(part * part for part in limited))
        assert 0.99 < size <= 18.0 + 1e-9
        assert math.acos(limited[2] / size) <= limit + 1e-9
        if limit == math.pi and 1.0 < np.linalg.norm(demand) < 18.0:
            assert tuple(limited) == pytest.approx(tuple(demand))
