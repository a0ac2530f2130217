"""IMU: kinematics against closed forms, noise against its statistics, vibration against published figures."""

import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.components import build
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.frames import (
    matrix_from_quaternion,
    quaternion_from_euler,
    quaternion_from_rotation_vector,
    rotate,
)
from pegasus.sensors import IMU, Accelerometer, Gyroscope, Sensor, Vibration
from pegasus.sensors.imu import lever_arm_acceleration, rotor_vibration, specific_force
from pegasus.sensors.registry import SENSORS
from pegasus.state import VehicleState

G = 9.80665
QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}


def ideal(**parameters: Any) -> IMU:
    parameters = {"gyroscope": Gyroscope(**QUIET), "accelerometer": Accelerometer(**QUIET)} | parameters
    return IMU(**parameters)


def turn(state: VehicleState, roll: float, pitch: float, yaw: float) -> None:
    state.orientation[:] = quaternion_from_euler(roll, pitch, yaw)
    state.rotation[:] = matrix_from_quaternion(state.orientation)


def test_at_rest_it_reads_gravity_upwards(bench: Any) -> None:
    """The sign of gravity would be wrong, or gravity would be left out."""
    imu = ideal()
    reading = imu.measure(bench.bind(imu, count=3), 0.25)
    assert reading.stamp == 0.25
    assert np.array_equal(reading.specific_force, np.tile([0.0, 0.0, G], (3, 1)))
    assert np.array_equal(reading.angular_velocity, np.zeros((3, 3)))


def test_at_rest_it_reads_the_gravity_of_its_altitude(bench: Any) -> None:
    """Gravity would be another than the world's."""
    bench.environment = Environment()
    imu = ideal()
    reading = imu.measure(bench.bind(imu), 0.0)
    assert_allclose(reading.specific_force, [[0.0, 0.0, bench.environment.surface_gravity]], rtol=1e-15)


def test_free_fall_reads_nothing(bench: Any) -> None:
    """Acceleration and gravity would not cancel, whatever the attitude."""
    imu = ideal()
    state = bench.bind(imu)
    turn(state, 0.4, -1.1, 2.0)
    state.acceleration[:] = (0.0, 0.0, -G)
    assert np.array_equal(imu.measure(state, 0.0).specific_force, np.zeros((1, 3)))


def test_specific_force_is_in_the_body_frame(bench: Any) -> None:
    """The rotation would go the wrong way: nose down, gravity's reaction must point forward's opposite."""
    imu = ideal()
    state = bench.bind(imu)
    turn(state, 0.0, 0.3, 1.0)  # pitch about the left axis: positive is nose down
    expected = [[-G * math.sin(0.3), 0.0, G * math.cos(0.3)]]
    assert_allclose(imu.measure(state, 0.0).specific_force, expected, atol=1e-14)
    turn(state, 0.2, 0.0, -2.0)  # roll about the forward axis: positive is left side up
    expected = [[0.0, G * math.sin(0.2), G * math.cos(0.2)]]
    assert_allclose(imu.measure(state, 0.0).specific_force, expected, atol=1e-14)


def test_reading_depends_on_the_present_state_alone(bench: Any) -> None:
    """A teleport would make a spike: the sensor would difference velocities or positions by itself."""
    imu = ideal()
    state = bench.bind(imu)
    imu.measure(state, 0.0)
    state.position[:], state.velocity[:] = (500.0, -300.0, 80.0), (20.0, 0.0, -5.0)
    reading = imu.measure(state, 0.004)
    assert np.array_equal(reading.specific_force, [[0.0, 0.0, G]])


def test_reading_is_not_touched_by_later_steps(bench: Any) -> None:
    """Whoever keeps a reading would see it change."""
    imu = ideal()
    state = bench.bind(imu)
    state.angular_velocity[:] = (0.1, 0.2, 0.3)
    reading = imu.measure(state, 0.0)
    state.angular_velocity[:] = 7.0
    imu.measure(state, 0.004)
    assert np.array_equal(reading.angular_velocity, [[0.1, 0.2, 0.3]])


def test_spinning_lever_arm_feels_centripetal_acceleration(bench: Any) -> None:
    """Closed form: w^2 r towards the axis, and nothing from the part of the arm along the axis."""
    imu = ideal(position=(0.2, 0.0, 0.7))
    state = bench.bind(imu)
    state.angular_velocity[:] = (0.0, 0.0, 10.0)
    assert_allclose(imu.measure(state, 0.0).specific_force, [[-20.0, 0.0, G]], atol=1e-12)


def test_lever_arm_feels_tangential_acceleration(bench: Any) -> None:
    """Closed form: alpha x r."""
    imu = ideal(position=(0.2, 0.0, 0.0))
    state = bench.bind(imu)
    state.angular_acceleration[:] = (0.0, 3.0, 5.0)
    assert_allclose(imu.measure(state, 0.0).specific_force, [[0.0, 1.0, G - 0.6]], atol=1e-12)


def test_lever_arm_matches_the_motion_of_a_point_of_a_tumbling_body() -> None:
    """Second difference of R(t) r over a rotation with constant angular acceleration, taken numerically."""
    arm = np.array([0.13, -0.21, 0.4])
    axis = np.array([0.6, -0.48, 0.64])
    rate, acceleration, h = 3.0, -2.0, 1e-4

    def point(t: float) -> Any:
        return rotate(matrix_from_quaternion(quaternion_from_rotation_vector(axis * angle(t))), arm)

    def angle(t: float) -> float:
        return rate * t + 0.5 * acceleration * t * t

    # About a fixed axis the angular velocity is the same in the body and the world frame.
    numeric = (point(h) - 2 * point(0.0) + point(-h)) / h**2
    closed = lever_arm_acceleration(rate * axis[None], acceleration * axis[None], position=arm)
    assert_allclose(closed[0], numeric, atol=1e-6)


def test_lever_arm_matches_cross_products() -> None:
    """The expanded triple product or the matrix of the cross product would have a slip of sign."""
    rng = np.random.default_rng(8)
    omega, alpha, arm = rng.normal(size=(50, 3)), rng.normal(size=(50, 3)), rng.normal(size=3)
    expected = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    assert_allclose(lever_arm_acceleration(omega, alpha, position=arm), expected, atol=1e-13)


def test_formulas_follow_the_array_api() -> None:
    """The formulas would be bound to NumPy."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 4, 3))
    rotation = matrix_from_quaternion(quaternion_from_euler(*rng.normal(size=(3, 4))))
    phase, speed = rng.normal(size=(2, 4, 2))
    c, s = rng.normal(size=(2, 2, 3))
    x = array_api_strict.asarray
    for plain, strict in (
        (
            lever_arm_acceleration(a, b, position=a[0]),
            lever_arm_acceleration(x(a), x(b), position=x(a[0])),
        ),
        (
            rotor_vibration(phase, speed, cosine=c, sine=s),
            rotor_vibration(x(phase), x(speed), cosine=x(c), sine=x(s)),
        ),
        (
            specific_force(a, rotation=rotation, gravity=b),
            specific_force(x(a), rotation=x(rotation), gravity=x(b)),
        ),
    ):
        assert_allclose(np.asarray(strict), plain, rtol=1e-12)


def test_turned_mounting_turns_both_vectors(bench: Any) -> None:
    """Mounted a quarter turn to the left, what is forward to the body is on the sensor's right."""
    imu = ideal(orientation=tuple(quaternion_from_euler(0.0, 0.0, math.pi / 2)))
    state = bench.bind(imu)
    state.angular_velocity[:] = (1.0, 2.0, 3.0)
    state.acceleration[:] = (4.0, 0.0, 0.0)
    reading = imu.measure(state, 0.0)
    assert_allclose(reading.angular_velocity, [[2.0, -1.0, 3.0]], atol=1e-14)
    assert_allclose(reading.specific_force, [[0.0, -4.0, G]], atol=1e-14)


def test_beyond_its_range_it_saturates(bench: Any) -> None:
    """A crash would read as hundreds of g, which no chip gives; defaults are 16 g and 2000 deg/s."""
    imu = IMU()
    state = bench.bind(imu, count=2)
    state.angular_velocity[:] = [(50.0, -50.0, 0.0), (0.0, 0.0, 50.0)]
    state.acceleration[:] = [(900.0, 0.0, -900.0), (0.0, -900.0, 0.0)]
    reading = imu.measure(state, 0.0)
    rate, force = math.radians(2000.0), 16 * G
    assert np.array_equal(reading.angular_velocity[0, :2], [rate, -rate])
    assert reading.angular_velocity[1, 2] == rate
    assert np.array_equal(reading.specific_force[0, ::2], [force, -force])
    assert reading.specific_force[1, 1] == -force
    assert np.all(np.abs(reading.angular_velocity[0, 2]) < 0.1)


@pytest.mark.parametrize("rate", [50.0, 250.0])
def test_white_noise_has_its_density_on_every_axis(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """Noise would change with the rate, or one axis would have another's."""
    quiet = {"bias_random_walk": 0.0, "turn_on_bias": 0.0}
    imu = IMU(rate_hz=rate, gyroscope=Gyroscope(**quiet), accelerometer=Accelerometer(**quiet))
    state = bench.bind(imu, count=60)
    readings = bench.readings(imu, state, round(20 * rate))
    assert_white(np.array([r.angular_velocity for r in readings]), rate_hz=rate, density=3.3937e-4)
    force = np.array([r.specific_force for r in readings]) - [0.0, 0.0, G]
    assert_white(force, rate_hz=rate, density=0.004)


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_biases_have_their_sigma_and_correlation_time(
    rate: float, bench: Any, assert_gauss_markov: Callable[..., None]
) -> None:
    """In-run bias would shrink, grow or hurry with the rate."""
    imu = IMU(
        rate_hz=rate,
        gyroscope=Gyroscope(**QUIET | {"bias_random_walk": 0.01, "bias_correlation_time": 0.5}),
        accelerometer=Accelerometer(**QUIET | {"bias_random_walk": 0.3, "bias_correlation_time": 1.0}),
    )
    state = bench.bind(imu, count=1500)
    readings = bench.readings(imu, state, round(4 * rate))
    rates = np.array([r.angular_velocity for r in readings])
    forces = np.array([r.specific_force for r in readings]) - [0.0, 0.0, G]
    assert_gauss_markov(rates, rate_hz=rate, sigma=0.01 * math.sqrt(0.25), correlation_time=0.5)
    assert_gauss_markov(forces, rate_hz=rate, sigma=0.3 * math.sqrt(0.5), correlation_time=1.0)


def test_turn_on_biases_of_many_vehicles(bench: Any) -> None:
    """The published turn-on sigmas would be missed; defaults are those of Pegasus."""
    quiet = {"noise_density": 0.0, "bias_random_walk": 0.0}
    imu = IMU(gyroscope=Gyroscope(**quiet), accelerometer=Accelerometer(**quiet))
    reading = imu.measure(bench.bind(imu, count=2000), 0.0)
    bound = 5 / math.sqrt(2 * 2000)
    assert np.all(np.abs(np.std(reading.angular_velocity, axis=0) / 0.0087266 - 1) < bound)
    assert np.all(np.abs(np.std(reading.specific_force, axis=0) / 0.196 - 1) < bound)


def hovering(bench: Any, imu: IMU, *, count: int, speed: Any = (650.0, 654.0, 658.0, 662.0)) -> VehicleState:
    state: VehicleState = bench.bind(imu, count=count)
    state.rotor_speed[:] = speed
    return state


def test_vibration_reaches_the_variance_measured_in_flight(bench: Any) -> None:
    """9.46 m^2/s^4 (AirSim 2017) would take another amplitude than the docstring says, an Iris hovering."""
    imu = ideal(vibration=Vibration(in_plane=5.05e-6))
    # Whole numbers of turns in a second around the hover's 656 rad/s: the lines are orthogonal.
    speeds = 2 * math.pi * np.array([103.0, 104.0, 105.0, 106.0])
    state = hovering(bench, imu, count=3, speed=speeds)
    forces = np.array([r.specific_force for r in bench.readings(imu, state, 250)])
    variance = np.var(forces, axis=0)
    assert_allclose(variance[:, :2], np.sum((5.05e-6 * speeds**2) ** 2) / 2, rtol=1e-9)
    assert_allclose(variance[:, :2], 9.46, rtol=0.01)
    assert np.all(variance[:, 2] < 1e-20)


def test_vibration_stops_with_the_rotors(bench: Any) -> None:
    """An accelerometer would shake on the ground with motors off (AirSim 2017: 1.9e-4 there)."""
    imu = ideal(vibration=Vibration(in_plane=5e-6, axial=5e-6))
    reading = imu.measure(hovering(bench, imu, count=5, speed=0.0), 0.0)
    assert np.array_equal(reading.specific_force, np.tile([0.0, 0.0, G], (5, 1)))


def test_vibration_is_off_unless_asked_for(bench: Any) -> None:
    """The default would shake, and a noise-free IMU would not be exact."""
    imu = ideal()
    reading = imu.measure(hovering(bench, imu, count=1), 0.0)
    assert np.array_equal(reading.specific_force, [[0.0, 0.0, G]])


def test_vibration_grows_with_the_square_of_rotor_speed(bench: Any) -> None:
    """The force of an eccentric mass is m r w^2: twice the speed is four times the amplitude."""
    imu = ideal(vibration=Vibration(in_plane=5e-6))
    peaks = []
    for speed in (200.0, 400.0):
        state = hovering(bench, imu, count=1, speed=(speed, 0.0, 0.0, 0.0))
        forces = np.array([r.specific_force[0] for r in bench.readings(imu, state, 1000)])
        peaks.append(np.hypot(forces[:, 0], forces[:, 1]))
    assert_allclose(peaks[0], 5e-6 * 200.0**2, rtol=1e-9)
    assert_allclose(peaks[1], 4 * peaks[0], rtol=1e-9)


def test_each_rotor_shakes_at_its_own_frequency(bench: Any) -> None:
    """The phase would be integrated wrongly: a line per rotor must stand in the spectrum, at w / 2 pi."""
    imu = ideal(rate_hz=1000.0, vibration=Vibration(in_plane=5e-6))
    cycles = np.array([80.0, 95.0, 110.0, 130.0])
    state = hovering(bench, imu, count=1, speed=2 * math.pi * cycles)
    forces = np.array([r.specific_force[0, 0] for r in bench.readings(imu, state, 1000)])
    amplitude = 2 * np.abs(np.fft.rfft(forces)) / len(forces)
    lines = np.flatnonzero(amplitude > 1e-6)
    assert np.array_equal(lines, cycles.astype(int))
    assert_allclose(amplitude[lines], 5e-6 * (2 * math.pi * cycles) ** 2, rtol=1e-6)


def test_vibration_follows_tilted_rotors(bench: Any) -> None:
    """In-plane shaking must be perpendicular to each rotor's axis, axial shaking along it."""
    axes = np.array([[0.0, 0.6, 0.8], [2.0, 0.0, 0.0]])
    for index, axis in enumerate(axes):
        unit = axis / np.linalg.norm(axis)
        for vibration, along in ((Vibration(in_plane=5e-6), 0.0), (Vibration(axial=5e-6), 5e-6)):
            imu = ideal(vibration=vibration)
            state = bench.bind(imu, axis=axes)
            state.rotor_speed[0, index] = 300.0
            shake = np.array([r.specific_force[0] for r in bench.readings(imu, state, 500)]) - [0.0, 0.0, G]
            assert_allclose(np.max(np.abs(shake @ unit)), along * 300.0**2, rtol=1e-3, atol=1e-12)
            if along:
                assert_allclose(np.cross(shake, unit), 0.0, atol=1e-12)


def test_shaking_turns_with_each_rotor(bench: Any) -> None:
    """A clockwise rotor would shake as if it turned the other way, about its axis or a tilted one."""
    axes, spin = np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]]), np.array([1.0, -1.0])
    for index in (0, 1):
        imu = ideal(rate_hz=1000.0, vibration=Vibration(in_plane=5e-6))
        state = bench.bind(imu, axis=axes, spin=spin)
        state.rotor_speed[0, index] = 300.0
        shake = np.array([r.specific_force[0] for r in bench.readings(imu, state, 50)]) - [0.0, 0.0, G]
        # Over a reading of 1 ms the shaking turns by 0.3 rad about the axis, in the rotor's own sense.
        turn = np.cross(shake[:-1], shake[1:]) @ axes[index] / (5e-6 * 300.0**2) ** 2
        assert_allclose(turn, spin[index] * math.sin(0.3), rtol=1e-9)


def test_vehicles_shake_independently(bench: Any) -> None:
    """All vehicles would shake in step."""
    imu = ideal(vibration=Vibration(in_plane=5e-6))
    reading = imu.measure(hovering(bench, imu, count=1000), 0.0)
    forces = reading.specific_force[:, 0]
    assert abs(np.mean(forces)) < 5 * np.std(forces) / math.sqrt(1000)
    assert np.std(forces) > 1.0


def test_same_stream_same_bits_after_every_bind(
    bench: Any, same_readings: Callable[[Any, Any], bool]
) -> None:
    """A reset would not start anew, or a seed would not fix a run."""
    imu = IMU(vibration=Vibration(in_plane=5e-6), position=(0.1, 0.0, 0.0))
    runs = []
    for seed in (1, 1, 2):
        state = bench.bind(imu, count=2, seed=seed)
        state.rotor_speed[:] = 600.0
        runs.append(bench.readings(imu, state, 500))
    assert all(map(same_readings, runs[0], runs[1]))
    assert not any(map(same_readings, runs[0], runs[2]))


def test_yaml_changes_one_parameter_and_leaves_the_others() -> None:
    """A mapping with one field of the gyroscope would silence the rest of it."""
    spec = {"model": "imu", "gyroscope": {"noise_density": 1e-4}, "vibration": {"in_plane": 5e-6}}
    imu = build(Sensor, SENSORS, spec, field="sensors.imu")
    expected = IMU(gyroscope=Gyroscope(noise_density=1e-4), vibration=Vibration(in_plane=5e-6))
    # What it was built from is kept beside its parameters.
    assert {name: value for name, value in vars(imu).items() if name != "_built_from"} == vars(expected)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"rate_hz": 0.0}, "rate_hz"),
        ({"position": (0.0, float("nan"), 0.0)}, "position"),
        ({"orientation": (0.0, 0.0, 0.0, 2.0)}, "orientation"),
        ({"gyroscope": {"range": 0.0}}, "gyroscope.range"),
        ({"accelerometer": {"range": -1.0}}, "accelerometer.range"),
        ({"accelerometer": {"noise_density": -1.0}}, "accelerometer.noise_density"),
        ({"vibration": {"axial": -1e-6}}, "vibration.axial"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], field: str) -> None:
    """A parameter that makes no sense would be taken, or the message would not say which."""
    with pytest.raises(ConfigError, match=rf"sensors\.imu\.{field}"):
        build(Sensor, SENSORS, {"model": "imu"} | parameters, field="sensors.imu")
