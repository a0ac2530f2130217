"""Inertial measurement unit: gyroscope and accelerometer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import (
    TURN,
    Column,
    Quat,
    Real,
    Table,
    Vec3,
    clamped,
    conjugated,
    cos,
    cross,
    dot,
    floor,
    length,
    norm,
    normalized,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    rotation_vector,
    sin,
)
from pegasus.core.compiled_sensor import CompiledSensor, SensorRows
from pegasus.core.sensor import Reading
from pegasus.core.state import VehicleState
from pegasus.sensors.noise import NoiseModel, NoiseParameters, next_bias, noisy


@dataclass(frozen=True, kw_only=True)
class Gyroscope(NoiseModel):
    """Noise and range of a gyroscope; the defaults are those of Pegasus (an ADIS16448, as in Gazebo)."""

    noise_density: float = 3.3937e-4
    """Angular random walk [rad/s/sqrt(Hz)]."""
    bias_random_walk: float = 3.8785e-5
    """Density of the noise that drives the bias [rad/s^2/sqrt(Hz)]."""
    bias_correlation_time: float = 1000.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.0087266
    """Standard deviation of the offset at every start [rad/s]."""
    range: float = math.radians(2000.0)
    """Largest measured angular rate on an axis; larger rates saturate [rad/s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.range > 0, "range", self.range, "must be above 0 rad/s")


@dataclass(frozen=True, kw_only=True)
class Accelerometer(NoiseModel):
    """Noise and range of an accelerometer; the defaults are those of Pegasus."""

    noise_density: float = 0.004
    """Velocity random walk [m/s^2/sqrt(Hz)]."""
    bias_random_walk: float = 0.006
    """Density of the noise that drives the bias [m/s^3/sqrt(Hz)]."""
    bias_correlation_time: float = 300.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.196
    """Standard deviation of the offset at every start [m/s^2]."""
    range: float = 16 * 9.80665
    """Largest measured specific force on an axis; larger forces saturate [m/s^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.range > 0, "range", self.range, "must be above 0 m/s^2")


@dataclass(frozen=True, kw_only=True)
class Vibration:
    """Vibration of the accelerometer by the rotors, at the frequency of each rotor.

    Amplitudes are per squared rotor speed: the eccentric mass times its radius over the vehicle's mass.
    With R rotors at a speed w, each axis of the disc's plane gets a variance of R (in_plane w^2)^2 / 2: in
    a hovering Iris (4 rotors, 656 rad/s) 5.05e-6 m gives the 9.46 m^2/s^4 that AirSim 2017 measured in
    flight. Frequencies above half the sensor's rate alias, as in a sensor without a filter.
    """

    in_plane: float = 0.0
    """Amplitude in the plane of the disc, rotating with the rotor [m]; 0 for none."""
    axial: float = 0.0
    """Amplitude along the axis of the rotor [m]; 0 for none."""

    def __post_init__(self) -> None:
        for name in ("in_plane", "axial"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 m and finite")

    def vectors(self, axis: Array, spin: Array) -> tuple[Array, Array]:
        """Return the vectors c and s of `rotor_vibration`, each of shape (R, 3).

        Args:
            axis: Axis of each rotor in the body frame, shape (R, 3).
            spin: +1 for counter-clockwise about the axis, -1 for clockwise, shape (R,).
        """
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        # Any vector in the plane of the disc, since the phase is random.
        aside = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        first = np.cross(aside, axis)
        first /= np.linalg.norm(first, axis=-1, keepdims=True)
        return self.in_plane * first + self.axial * axis, self.in_plane * spin[:, None] * np.cross(
            axis, first
        )


@dataclass(frozen=True)
class ImuParameters:
    """Mounting and ranges of an IMU."""

    position: Vec3
    """Position of the IMU in the body frame [m]."""
    mounting: Quat
    """Frame of the IMU to body frame."""
    rate_range: float
    """Largest angular rate on an axis [rad/s]."""
    force_range: float
    """Largest specific force on an axis [m/s^2]."""
    reading_time: float
    """Nominal time between two readings [s]."""


@dataclass
class ImuRows(SensorRows):
    """Columns of IMUs."""

    parameters: Column[ImuParameters]
    gyroscope: Column[NoiseParameters]
    accelerometer: Column[NoiseParameters]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    gravity: Column[Vec3]
    followed: Column[int]
    """1 if the state of the last step is known, 0 at the start and after a placement."""
    last_orientation: Column[Quat]
    """Orientation at the last step."""
    last_velocity: Column[Vec3]
    """Velocity of the IMU in the world at the last step [m/s]."""
    steps: Column[int]
    """Number of steps since the last reading."""
    force_sum: Column[Vec3]
    """Sum of the mean specific forces of these steps, each in the body frame of its middle [m/s^2]."""
    turn_sum: Column[Vec3]
    """Sum of the rotations of these steps, in the body frame [rad]."""
    turn: Column[Quat]
    """Rotation since the last reading."""
    rate_offset: Column[Vec3]
    rate_bias: Column[Vec3]
    force_offset: Column[Vec3]
    force_bias: Column[Vec3]
    rotor_speed: Table[Real]
    phase: Table[Real]
    cosine: Table[Vec3]
    sine: Table[Vec3]
    """Speed [rad/s] and phase [rad] of each rotor, and the vectors of its vibration [m]."""
    rate: Column[Vec3]
    """Angular velocity of the last reading [rad/s]."""
    force: Column[Vec3]
    """Specific force of the last reading [m/s^2]."""
    rate_error: Column[Vec3]
    force_error: Column[Vec3]
    """Turn-on and Gauss-Markov bias within the last reading."""


def specific_force(acceleration: Vec3, gravity: Vec3, orientation: Quat) -> Vec3:
    """Return R^T (a - g), what an ideal accelerometer feels, in the body frame [m/s^2].

    At rest it is g upwards, in free fall zero. Source: Hector 2012, sec. 3.3. The mean over a step is that of
    the mean acceleration and the orientation in its middle, to second order.

    Args:
        acceleration: Acceleration a in the world [m/s^2].
        gravity: Acceleration of free fall g in the world [m/s^2].
        orientation: Orientation of the body.
    """
    return rotate_inverse(orientation, acceleration - gravity)


def middle(a: Quat, b: Quat) -> Quat:
    """Return the orientation halfway between two that are less than half a turn apart."""
    if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0.0:
        return normalized(a + b * -1.0)
    return normalized(a + b)


def whole_turn(turn: Quat, sum_of_turns: Vec3) -> Vec3:
    """Return the rotation vector of a rotation, of more than half a turn if the sum of its parts is [rad].

    Args:
        turn: The rotation.
        sum_of_turns: Sum of the rotation vectors of its parts [rad].
    """
    short = rotation_vector(turn)
    angle = norm(short)
    if angle == 0.0:
        return short
    turns = floor((dot(short, sum_of_turns) / angle - angle) / TURN + 0.5)
    return short * (1.0 + turns * TURN / angle)


def rotor_vibration(phase: Real, speed: Real, cosine: Vec3, sine: Vec3) -> Vec3:
    """Return the acceleration by an unbalanced rotor, omega^2 (c cos(phase) + s sin(phase)) [m/s^2].

    The force of an eccentric mass grows with the square of its speed and turns with it.

    Args:
        phase: Angle of the rotor [rad].
        speed: Its speed omega [rad/s].
        cosine: Vector c in the body frame [m].
        sine: Vector s in the body frame [m].
    """
    return (cosine * cos(phase) + sine * sin(phase)) * (speed * speed)


def follow_motion(i: int, rows: ImuRows) -> None:
    """Add the last step of the motion of an IMU to those since its last reading."""
    p = rows.parameters[rows.kind[i]]
    body = rows.body[i]
    orientation = rows.orientation[body]
    spin = rows.angular_velocity[body]
    arm = cross(spin, p.position)
    velocity = rows.velocity[body] + rotate(orientation, arm)
    gravity = rows.gravity[body]
    dt = rows.time[1]
    # Of a first state nothing is known about the way there: no acceleration but that of the spin.
    force = specific_force(Vec3(0.0, 0.0, 0.0), gravity, orientation) + cross(spin, arm)
    turn = rotation_quaternion(spin * dt)
    part = spin * dt
    if rows.followed[i] == 1:
        last = rows.last_orientation[i]
        acceleration = (velocity - rows.last_velocity[i]) * (1.0 / dt)
        force = specific_force(acceleration, gravity, middle(last, orientation))
        turn = quaternion_product(conjugated(last), orientation)
        part = rotation_vector(turn)
    if rows.steps[i] == 0:
        rows.force_sum[i] = force
        rows.turn_sum[i] = part
        rows.turn[i] = turn
    else:
        rows.force_sum[i] = rows.force_sum[i] + force
        rows.turn_sum[i] = rows.turn_sum[i] + part
        rows.turn[i] = normalized(quaternion_product(rows.turn[i], turn))
    rows.steps[i] = rows.steps[i] + 1
    rows.followed[i] = 1
    rows.last_orientation[i] = orientation
    rows.last_velocity[i] = velocity


def imu(i: int, rows: ImuRows) -> None:
    """Follow the motion of an IMU, and take its reading if it is due: means since its last one."""
    follow_motion(i, rows)
    reading = rows.count[i]
    if reading == 0 or rows.due[rows.clock[i]] == 1:
        p = rows.parameters[rows.kind[i]]
        gyroscope = rows.gyroscope[rows.kind[i]]
        accelerometer = rows.accelerometer[rows.kind[i]]
        drawn = 4
        if reading == 0:
            drawn = 8
        for k in range(drawn):
            rows.normal[i, k] = normal_vector(rows.key[i], rows.copy[i], reading, k)
        if reading == 0:
            rows.rate_offset[i] = rows.normal[i, 4] * gyroscope.turn_on_bias
            rows.force_offset[i] = rows.normal[i, 5] * accelerometer.turn_on_bias
            rows.rate_bias[i] = rows.normal[i, 6] * gyroscope.bias_sigma
            rows.force_bias[i] = rows.normal[i, 7] * accelerometer.bias_sigma
        steps = Real(rows.steps[i])
        rate = whole_turn(rows.turn[i], rows.turn_sum[i]) * (1.0 / (steps * rows.time[1]))
        force = rows.force_sum[i] * (1.0 / steps)
        for r in range(length(rows.phase[i])):
            speed = rows.rotor_speed[i, r]
            rows.phase[i, r] = rows.phase[i, r] + speed * p.reading_time
            force += rotor_vibration(rows.phase[i, r], speed, rows.cosine[i, r], rows.sine[i, r])
        rate = rotate_inverse(p.mounting, rate)
        force = rotate_inverse(p.mounting, force)
        rate = noisy(gyroscope, rate, rows.normal[i, 0], rows.rate_bias[i], rows.rate_offset[i])
        force = noisy(accelerometer, force, rows.normal[i, 1], rows.force_bias[i], rows.force_offset[i])
        rows.rate[i] = saturated(rate, p.rate_range)
        rows.force[i] = saturated(force, p.force_range)
        rows.rate_error[i] = rows.rate_bias[i] + rows.rate_offset[i]
        rows.force_error[i] = rows.force_bias[i] + rows.force_offset[i]
        rows.rate_bias[i] = next_bias(gyroscope, rows.rate_bias[i], rows.normal[i, 2])
        rows.force_bias[i] = next_bias(accelerometer, rows.force_bias[i], rows.normal[i, 3])
        rows.steps[i] = 0
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


def saturated(v: Vec3, limit: Real) -> Vec3:
    """Return a vector with each component clipped to a range."""
    return Vec3(clamped(v[0], -limit, limit), clamped(v[1], -limit, limit), clamped(v[2], -limit, limit))


@dataclass(frozen=True, eq=False)
class ImuReading(Reading):
    """Angular velocity and specific force in the frame of the IMU (body FLU unless mounted at an angle).

    Both are means since the previous reading: integrated over that time, they give the change of attitude and
    of velocity.
    """

    angular_velocity: Array
    """Angular velocity [rad/s], shape (N, 3)."""
    specific_force: Array
    """Acceleration minus gravity [m/s^2], shape (N, 3)."""


@dataclass(kw_only=True, eq=False)
class IMU(CompiledSensor):
    """Inertial measurement unit: gyroscope and accelerometer.

    The specific force is that of the changes of velocity over the physics steps since the last reading,
    contacts included, and the angular rate that of the change of attitude.
    """

    columns = ImuRows
    function = staticmethod(imu)
    follows_steps = True
    normal_count = 8

    rate_hz: float = 250.0
    """Readings per second [Hz]."""
    gyroscope: Gyroscope = Gyroscope()
    """Noise and range of the gyroscope."""
    accelerometer: Accelerometer = Accelerometer()
    """Noise and range of the accelerometer."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the IMU in the body frame [m]."""
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Mounting: quaternion xyzw, frame of the IMU to body frame."""
    vibration: Vibration = Vibration()
    """Vibration by the rotors; none by default."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        require_vector("position", self.position, unit="m")
        require_vector("orientation", self.orientation, length=4)
        of_unit_length = abs(math.hypot(*self.orientation) - 1) < 1e-3
        require(of_unit_length, "orientation", self.orientation, "must be a unit quaternion xyzw")

    def parameters(self) -> Mapping[str, Any]:
        """Return mounting, ranges and noise."""
        return {
            "parameters": ImuParameters(
                position=Vec3(*self.position),
                mounting=normalized(Quat(*self.orientation)),
                rate_range=self.gyroscope.range,
                force_range=self.accelerometer.range,
                reading_time=1 / self.rate_hz,
            ),
            "gyroscope": self.gyroscope.at_rate(self.rate_hz),
            "accelerometer": self.accelerometer.at_rate(self.rate_hz),
        }

    def initial(self) -> Mapping[str, Array]:
        """Return the vectors of rotors that vibrate."""
        shaken = self.vibration.in_plane > 0 or self.vibration.axial > 0
        axis = np.asarray(self.vehicle.layout.axis) if shaken else np.zeros((0, 3))
        cosine, sine = self.vibration.vectors(axis, self.vehicle.layout.spin[: len(axis)])
        self.is_fed = shaken
        return {
            "rotor_speed": np.zeros((self.count, len(axis))),
            "phase": np.zeros((self.count, len(axis))),
            "cosine": np.tile(cosine, (self.count, 1, 1)),
            "sine": np.tile(sine, (self.count, 1, 1)),
        }

    def draw(self, rows: IntArray) -> None:
        """Draw the phases of the rotors of copies, if they vibrate."""
        phase = self.rows["phase"]
        for row in rows.tolist() if phase.size else ():
            phase[row] = self.rngs[row].uniform(0.0, 2 * math.pi, phase.shape[1])

    def feed(self, state: VehicleState) -> None:
        """Copy the speeds of rotors that vibrate."""
        self.rows["rotor_speed"][...] = state.rotor_speed

    def place(self, rows: IntArray) -> None:
        """Take the coming state of copies as that of vehicles placed there.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        self.rows["followed"][rows] = 0

    def reading(self, stamp: float) -> ImuReading:
        """Return the last reading."""
        return ImuReading(stamp, self.rows["rate"].copy(), self.rows["force"].copy())

    def bias(self) -> tuple[Array, Array]:
        """Return the true biases within the last reading, turn-on biases included, in the frame of the IMU.

        Returns:
            Those of the gyroscope [rad/s] and of the accelerometer [m/s^2], each of shape (N, 3).
        """
        return self.rows["rate_error"].copy(), self.rows["force_error"].copy()
