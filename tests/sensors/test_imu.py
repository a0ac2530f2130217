"""Tests of the IMU: kinematics by closed forms, noise statistics, and published vibration levels."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    quaternion_from_euler,
    quaternion_from_matrix,
    quaternion_from_rotation_vector,
    rotate,
    rotate_inverse,
    rotation_vector_from_quaternion,
)
from pegasus.contracts.state import VehicleState
from pegasus.environment import Environment
from pegasus.sensors import IMU, SENSORS, Accelerometer, Gyroscope, ImuReading, Sensor, Vibration

G = 9.80665
QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}


def ideal(**parameters: Any) -> IMU:
    parameters = {"gyroscope": Gyroscope(**QUIET), "accelerometer": Accelerometer(**QUIET)} | parameters
    return IMU(**parameters)


def turn(state: VehicleState, roll: float, pitch: float, yaw: float) -> None:
    state.orientation[:] = quaternion_from_euler(roll, pitch, yaw)
    state.rotation[:] = matrix_from_quaternion(state.orientation)


def test_at_rest_it_reads_gravity_upwards(bench: Any) -> None:
    """Gravity would have the wrong sign, or be left out."""
    imu = ideal()
    reading = bench.measure(imu, bench.bind(imu, count=3), 0.25)
    assert reading.stamp == 0.25
    assert np.array_equal(reading.specific_force, np.tile([0.0, 0.0, G], (3, 1)))
    assert np.array_equal(reading.angular_velocity, np.zeros((3, 3)))


def test_at_rest_it_reads_the_gravity_of_its_altitude(bench: Any) -> None:
    """The IMU would not use the world's gravity at its altitude."""
    bench.environment = Environment()
    imu = ideal()
    reading = bench.measure(imu, bench.bind(imu), 0.0)
    assert_allclose(reading.specific_force, -bench.environment.gravity_vector(np.zeros((1, 3))), rtol=1e-15)


def test_free_fall_reads_nothing(bench: Any) -> None:
    """In free fall the specific force would not be zero at every attitude."""
    imu = ideal()
    state = bench.bind(imu)
    turn(state, 0.4, -1.1, 2.0)
    bench.measure(imu, state, 0.0)
    state.velocity[:] = (0.0, 0.0, -G / 250)
    assert_allclose(bench.measure(imu, state, 0.004).specific_force, np.zeros((1, 3)), atol=1e-13)


def test_specific_force_is_in_the_body_frame(bench: Any) -> None:
    """The specific force would be rotated in the wrong direction."""
    imu = ideal()
    state = bench.bind(imu)
    turn(state, 0.0, 0.3, 1.0)  # pitch about the left axis: positive is nose down
    expected = [[-G * math.sin(0.3), 0.0, G * math.cos(0.3)]]
    assert_allclose(bench.measure(imu, state, 0.0).specific_force, expected, atol=1e-14)
    turn(state, 0.2, 0.0, -2.0)  # roll about the forward axis: positive is left side up
    imu.place(np.arange(1))
    expected = [[0.0, G * math.sin(0.2), G * math.cos(0.2)]]
    assert_allclose(bench.measure(imu, state, 0.004).specific_force, expected, atol=1e-14)


def test_a_placement_is_not_measured(bench: Any) -> None:
    """A teleport would cause a spike of acceleration or angular rate."""
    imu = ideal()
    state = bench.bind(imu)
    bench.measure(imu, state, 0.0)
    state.position[:], state.velocity[:] = (500.0, -300.0, 80.0), (20.0, 0.0, -5.0)
    turn(state, 0.0, 0.0, 2.0)
    imu.place(np.arange(1))
    reading = bench.measure(imu, state, 0.004)
    assert_allclose(reading.specific_force, [[0.0, 0.0, G]], atol=1e-14)
    assert not np.any(reading.angular_velocity)


def test_reading_is_not_touched_by_later_steps(bench: Any) -> None:
    """A reading kept by a user would change at later steps."""
    imu = ideal()
    state = bench.bind(imu)
    state.angular_velocity[:] = (0.1, 0.2, 0.3)
    reading = bench.measure(imu, state, 0.0)
    state.angular_velocity[:] = 7.0
    bench.measure(imu, state, 0.004)
    assert_allclose(reading.angular_velocity, [[0.1, 0.2, 0.3]], rtol=1e-14)


def test_spinning_lever_arm_feels_centripetal_acceleration(bench: Any) -> None:
    """Closed form: w^2 r towards the axis, and nothing from the part of the arm along the axis."""
    imu = ideal(position=(0.2, 0.0, 0.7))
    state = bench.bind(imu)
    state.angular_velocity[:] = (0.0, 0.0, 10.0)
    assert_allclose(bench.measure(imu, state, 0.0).specific_force, [[-20.0, 0.0, G]], atol=1e-12)


class Tumble:
    """Closed form of a rotation about a fixed axis with constant angular acceleration."""

    axis = np.array([0.6, -0.48, 0.64])
    rate, acceleration = 3.0, -2.0

    def set(self, state: VehicleState, t: float) -> None:
        angle = self.rate * t + 0.5 * self.acceleration * t * t
        state.orientation[:] = quaternion_from_rotation_vector(self.axis * angle)
        state.rotation[:] = matrix_from_quaternion(state.orientation)
        # About a fixed axis the angular velocity is the same in the body and the world frame.
        state.angular_velocity[:] = self.axis * (self.rate + self.acceleration * t)

    def force(self, arm: Any, t: float) -> Any:
        omega, alpha = self.axis * (self.rate + self.acceleration * t), self.axis * self.acceleration
        return np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))


def test_lever_arm_feels_angular_acceleration_and_spin(bench: Any) -> None:
    """Closed form alpha x r + omega x (omega x r); the mean over a step is that of its middle."""
    bench.environment.gravity = (0.0, 0.0, 0.0)
    arm, tumble = np.array([0.13, -0.21, 0.4]), Tumble()
    errors = []
    for rate in (250.0, 500.0):
        imu = ideal(position=tuple(arm), rate_hz=rate)
        state = bench.bind(imu)
        worst = 0.0
        for k in range(round(rate / 5)):
            tumble.set(state, k / rate)
            force = bench.measure(imu, state, k / rate).specific_force[0]
            if k:
                worst = max(worst, np.abs(force - tumble.force(arm, (k - 0.5) / rate)).max())
        errors.append(worst)
    assert errors[0] < 2e-5 * np.linalg.norm(tumble.force(arm, 0.0))
    assert 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.parametrize("spin", [10.0, 30.0])
def test_specific_force_has_the_attitude_of_its_time(spin: float, bench: Any) -> None:
    """Force and attitude half a step apart would differ by 2.3 degrees at 10 rad/s and 250 Hz."""
    imu = ideal()
    state = bench.bind(imu)
    push = np.array([3.0, -2.0, 0.0])
    for k in range(50):
        t = k / 250
        turn(state, 0.0, 0.0, spin * t)
        state.velocity[:], state.angular_velocity[:, 2] = push * t, spin
        reading = bench.measure(imu, state, t)
        if k:
            true = rotate_inverse(
                matrix_from_quaternion(quaternion_from_euler(0, 0, spin * (t - 0.002))), push
            )
            x, y, _ = reading.specific_force[0]
            angle = math.atan2(y, x) - math.atan2(true[1], true[0])
            assert abs((angle + math.pi) % (2 * math.pi) - math.pi) < math.radians(0.05)
            assert math.hypot(x, y) == pytest.approx(math.hypot(*push), rel=1e-9)
        assert_allclose(reading.angular_velocity, [[0.0, 0.0, spin]], atol=1e-11)


def test_dead_reckoning_of_a_lemniscate(bench: Any) -> None:
    """Dead reckoning of a noise-free IMU would drift: 0.185 m in 27 s with the attitude of the step's end."""
    rate, period = 250.0, 9.0
    imu = ideal(position=(0.05, -0.02, 0.01))
    state = bench.bind(imu)
    gravity = np.array([0.0, 0.0, -G])
    w = 2 * math.pi / period

    def motion(t: float) -> tuple[Any, Any, Any]:
        place = [5 * math.sin(w * t), 2.5 * math.sin(2 * w * t), 3 + 0.5 * math.cos(w * t)]
        speed = [5 * w * math.cos(w * t), 5 * w * math.cos(2 * w * t), -0.5 * w * math.sin(w * t)]
        pull = [
            -5 * w * w * math.sin(w * t),
            -10 * w * w * math.sin(2 * w * t),
            -0.5 * w * w * math.cos(w * t),
        ]
        return np.array(place), np.array(speed), np.array(pull)

    def attitude(t: float) -> Any:
        # Thrust along the body's z axis, the nose along the path.
        _, speed, pull = motion(t)
        up = (pull - gravity) / np.linalg.norm(pull - gravity)
        side = np.cross(up, speed)
        side /= np.linalg.norm(side)
        return quaternion_from_matrix(np.stack([np.cross(side, up), side, up], axis=-1)[None])

    def set_state(t: float) -> None:
        place, speed, _ = motion(t)
        state.position[:], state.velocity[:], state.orientation[:] = place, speed, attitude(t)
        ends = attitude(t - 1e-5), attitude(t + 1e-5)
        state.angular_velocity[:] = (
            rotation_vector_from_quaternion(multiply(conjugate(ends[0]), ends[1])) / 2e-5
        )

    set_state(0.0)
    bench.measure(imu, state, 0.0)
    orientation = state.orientation.copy()
    lever = np.array(imu.position)
    start = rotate(matrix_from_quaternion(orientation), lever[None])
    position = state.position + start
    velocity = state.velocity + rotate(
        matrix_from_quaternion(orientation), np.cross(state.angular_velocity, lever)
    )
    for k in range(1, round(27 * rate) + 1):
        t = k / rate
        set_state(t)
        reading = bench.measure(imu, state, t)
        half = quaternion_from_rotation_vector(reading.angular_velocity / rate / 2)
        middle = multiply(orientation, half)
        orientation = multiply(middle, half)
        change = rotate(matrix_from_quaternion(middle), reading.specific_force) + gravity
        position = position + velocity / rate + change / rate**2 / 2
        velocity = velocity + change / rate
    true = state.position + rotate(matrix_from_quaternion(state.orientation), lever[None])
    assert np.linalg.norm(position - true) < 0.01
    assert_allclose(np.abs((orientation * state.orientation).sum()), 1.0, atol=1e-9)


def test_a_slow_imu_misses_nothing(bench: Any) -> None:
    """A slow IMU would read one step's acceleration, not the mean: errors of m/s after a drop and landing."""
    imu = ideal(accelerometer=Accelerometer(**QUIET, range=1e4))
    state = bench.bind(imu, rate=1000.0)
    sums, fall = np.zeros(3), 0.0
    for k in range(1001):
        # A drop for 601 steps, a stop within two, and then rest.
        fall = -G * k / 1000 if k <= 601 else fall / 2 if k == 602 else 0.0
        state.velocity[:, 2] = fall
        reading = bench.step(imu, state, k / 1000)
        if k and k % 4 == 0:
            assert reading.stamp == k / 1000
            sums += (reading.specific_force[0] - [0.0, 0.0, G]) / 250
    assert_allclose(sums, 0.0, atol=1e-12)


def test_a_landing_is_integrated_to_rest() -> None:
    """The impulse of a landing would be lost in part: -1.13 m/s remained at 1000 Hz read at 250 Hz."""
    imu = ideal(accelerometer=Accelerometer(**QUIET, range=1e5))
    with Simulation("flat", rate=1000.0) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 1.0), sensors={"imu": imu}))
        iris.drag = None
        sim.step()
        velocity, lowest = iris.state.velocity * 0.0, 0.0
        for _ in range(1200):
            sim.step()
            if "imu" in iris.new_readings:
                # The readings are of the state before the step that has just been taken.
                velocity = velocity + (iris.reading(ImuReading).specific_force - [0.0, 0.0, 9.8064]) / 250
                lowest = min(lowest, velocity[0, 2])
    assert lowest < -3.0
    assert_allclose(velocity, 0.0, atol=2e-3)


@pytest.mark.parametrize("spin", [2.0, 30.0])
def test_slow_rates_integrate_to_the_attitude(spin: float, bench: Any) -> None:
    """Instantaneous readings would miss motion between them, above all above half a turn per reading."""
    imu = ideal(rate_hz=10.0)
    state = bench.bind(imu, rate=500.0)
    tumble = Tumble()
    tumble.rate, tumble.acceleration = spin, 7.0
    for k in range(1001):
        tumble.set(state, k / 500)
        reading = bench.step(imu, state, k / 500)
        if k == 0:
            orientation = state.orientation.copy()
        elif k % 50 == 0:
            step = quaternion_from_rotation_vector(reading.angular_velocity / 10)
            orientation = multiply(orientation, step)
            assert_allclose(np.abs((orientation * state.orientation).sum()), 1.0, atol=1e-12)
            mean = tumble.rate + tumble.acceleration * (k / 500 - 0.05)
            assert_allclose(reading.angular_velocity[0], tumble.axis * mean, rtol=1e-9)


def test_a_cone_integrates_to_the_attitude(bench: Any) -> None:
    """The mean rate would omit coning, which rotates a body although the rate averages to zero."""
    imu = ideal(rate_hz=25.0)
    state = bench.bind(imu, rate=1000.0)
    for k in range(2001):
        t = k / 1000
        spin = quaternion_from_rotation_vector(np.array([[0.0, 0.0, 20.0 * t]]))
        state.orientation[:] = multiply(
            multiply(spin, quaternion_from_rotation_vector(np.array([[0.3, 0.0, 0.0]]))), conjugate(spin)
        )
        reading = bench.step(imu, state, t)
        if k == 0:
            orientation = state.orientation.copy()
        elif k % 40 == 0:
            orientation = multiply(
                orientation, quaternion_from_rotation_vector(reading.angular_velocity / 25)
            )
    assert_allclose(np.abs((orientation * state.orientation).sum()), 1.0, atol=1e-12)


def test_turned_mounting_turns_both_vectors(bench: Any) -> None:
    """A sensor mounted a quarter turn to the left would not measure the body's forward axis on its right."""
    imu = ideal(orientation=tuple(quaternion_from_euler(0.0, 0.0, math.pi / 2)))
    state = bench.bind(imu)
    state.angular_velocity[:] = (1.0, 2.0, 3.0)
    reading = bench.measure(imu, state, 0.0)
    assert_allclose(reading.angular_velocity, [[2.0, -1.0, 3.0]], atol=1e-13)
    state.velocity[:] = (0.016, 0.0, 0.0)
    reading = bench.measure(imu, state, 0.004)
    assert_allclose(reading.specific_force, [[0.0, -4.0, G]], atol=1e-12)


def test_beyond_its_range_it_saturates(bench: Any) -> None:
    """A crash would be measured as hundreds of g; the defaults are 16 g and 2000 deg/s."""
    imu = IMU()
    state = bench.bind(imu, count=2)
    state.angular_velocity[:] = [(50.0, -50.0, 0.0), (0.0, 0.0, 50.0)]
    reading = bench.measure(imu, state, 0.0)
    rate, force = math.radians(2000.0), 16 * G
    assert np.array_equal(reading.angular_velocity[0, :2], [rate, -rate])
    assert reading.angular_velocity[1, 2] == rate
    assert np.all(np.abs(reading.angular_velocity[0, 2]) < 0.1)
    state.velocity[:] = [(3.6, 0.0, -3.6), (0.0, -3.6, 0.0)]
    reading = bench.measure(imu, state, 0.004)
    assert np.array_equal(reading.specific_force[0, ::2], [force, -force])
    assert reading.specific_force[1, 1] == -force


@pytest.mark.parametrize("rate", [50.0, 250.0])
def test_white_noise_has_its_density_on_every_axis(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """The noise density would depend on the rate, or an axis would have that of another."""
    quiet = {"bias_random_walk": 0.0, "turn_on_bias": 0.0}
    imu = IMU(rate_hz=rate, gyroscope=Gyroscope(**quiet), accelerometer=Accelerometer(**quiet))
    state = bench.bind(imu, count=60)
    readings = bench.readings(imu, state, round(20 * rate))
    assert_white(np.array([r.angular_velocity for r in readings]), rate_hz=rate, density=4.8869e-5)
    force = np.array([r.specific_force for r in readings]) - [0.0, 0.0, G]
    assert_white(force, rate_hz=rate, density=6.8647e-4)


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_biases_have_their_sigma_and_correlation_time(
    rate: float, bench: Any, assert_gauss_markov: Callable[..., None]
) -> None:
    """Sigma or correlation time of the in-run bias would depend on the rate."""
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


def test_the_true_biases_are_those_of_the_last_reading(bench: Any) -> None:
    """Ground truth of datasets would have biases of another reading, or leave out those of the turn-on."""
    imu = IMU(gyroscope=Gyroscope(noise_density=0.0), accelerometer=Accelerometer(noise_density=0.0))
    state = bench.bind(imu, count=3)
    reading = list(bench.readings(imu, state, 3))[-1]
    rate_bias, force_bias = imu.bias()
    assert_allclose(reading.angular_velocity, rate_bias, atol=1e-15)
    assert_allclose(reading.specific_force - [0.0, 0.0, G], force_bias, atol=1e-14)
    assert np.abs(rate_bias).min() > 0.0


def test_turn_on_biases_of_many_vehicles(bench: Any) -> None:
    """The default turn-on biases would not be 0.5 deg/s and 20 mg."""
    quiet = {"noise_density": 0.0, "bias_random_walk": 0.0}
    imu = IMU(gyroscope=Gyroscope(**quiet), accelerometer=Accelerometer(**quiet))
    reading = bench.measure(imu, bench.bind(imu, count=2000), 0.0)
    bound = 5 / math.sqrt(2 * 2000)
    assert np.all(np.abs(np.std(reading.angular_velocity, axis=0) / 0.0087266 - 1) < bound)
    assert np.all(np.abs(np.std(reading.specific_force, axis=0) / 0.196 - 1) < bound)


def hovering(bench: Any, imu: IMU, *, count: int, speed: Any = (650.0, 654.0, 658.0, 662.0)) -> VehicleState:
    state: VehicleState = bench.bind(imu, count=count)
    state.rotor_speed[:] = speed
    return state


def test_vibration_reaches_the_variance_measured_in_flight(bench: Any) -> None:
    """A hovering Iris would not have the published variance of 9.46 m^2/s^4 (AirSim 2017)."""
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
    """An accelerometer would vibrate with the motors off (AirSim 2017: 1.9e-4 there)."""
    imu = ideal(vibration=Vibration(in_plane=5e-6, axial=5e-6))
    reading = bench.measure(imu, hovering(bench, imu, count=5, speed=0.0), 0.0)
    assert np.array_equal(reading.specific_force, np.tile([0.0, 0.0, G], (5, 1)))


def test_vibration_is_off_unless_asked_for(bench: Any) -> None:
    """The default would include vibration, and a noise-free IMU would not be exact."""
    imu = ideal()
    reading = bench.measure(imu, hovering(bench, imu, count=1), 0.0)
    assert np.array_equal(reading.specific_force, [[0.0, 0.0, G]])


def test_vibration_grows_with_the_square_of_rotor_speed(bench: Any) -> None:
    """The amplitude would not grow as m r w^2, the force of an eccentric mass."""
    imu = ideal(vibration=Vibration(in_plane=5e-6))
    peaks = []
    for speed in (200.0, 400.0):
        state = hovering(bench, imu, count=1, speed=(speed, 0.0, 0.0, 0.0))
        forces = np.array([r.specific_force[0] for r in bench.readings(imu, state, 1000)])
        peaks.append(np.hypot(forces[:, 0], forces[:, 1]))
    assert_allclose(peaks[0], 5e-6 * 200.0**2, rtol=1e-9)
    assert_allclose(peaks[1], 4 * peaks[0], rtol=1e-9)


def test_each_rotor_shakes_at_its_own_frequency(bench: Any) -> None:
    """The spectrum would lack a line at w / 2 pi for each rotor, by a wrong integration of the phase."""
    imu = ideal(rate_hz=1000.0, vibration=Vibration(in_plane=5e-6))
    cycles = np.array([80.0, 95.0, 110.0, 130.0])
    state = hovering(bench, imu, count=1, speed=2 * math.pi * cycles)
    forces = np.array([r.specific_force[0, 0] for r in bench.readings(imu, state, 1000)])
    amplitude = 2 * np.abs(np.fft.rfft(forces)) / len(forces)
    lines = np.flatnonzero(amplitude > 1e-6)
    assert np.array_equal(lines, cycles.astype(int))
    assert_allclose(amplitude[lines], 5e-6 * (2 * math.pi * cycles) ** 2, rtol=1e-6)


def test_vibration_follows_tilted_rotors(bench: Any) -> None:
    """In-plane vibration would not be normal to each rotor's axis, or axial vibration not along it."""
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
    """The vibration of a clockwise or tilted rotor would rotate in the wrong sense."""
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
    """The vibration of all vehicles would be in phase."""
    imu = ideal(vibration=Vibration(in_plane=5e-6))
    reading = bench.measure(imu, hovering(bench, imu, count=1000), 0.0)
    forces = reading.specific_force[:, 0]
    assert abs(np.mean(forces)) < 5 * np.std(forces) / math.sqrt(1000)
    assert np.std(forces) > 1.0


def test_yaml_changes_one_parameter_and_leaves_the_others() -> None:
    """Setting one field of the gyroscope would reset its other fields."""
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
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.imu\.{field}"):
        build(Sensor, SENSORS, {"model": "imu"} | parameters, field="sensors.imu")
