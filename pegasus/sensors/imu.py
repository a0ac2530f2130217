"""Inertial measurement unit: gyroscope and accelerometer."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import (
    TURN,
    Quat,
    Real,
    Vec3,
    clamped,
    conjugated,
    cross,
    dot,
    exp,
    floor,
    length,
    norm,
    normalized,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    rotation_vector,
)
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import as_machine
from pegasus.core.compiled_sensor import INPUTS, CompiledSensor
from pegasus.environment.atmosphere import UsStandardAtmosphere1976
from pegasus.sensors.imu_rows import ImuParameters, ImuRows, erroneous
from pegasus.sensors.inertial_noise import Accelerometer, Gyroscope, InertialSystem, Thermal
from pegasus.sensors.noise import next_bias, noisy
from pegasus.sensors.vibration import Vibration, blade_vibration, rotor_vibration

_STANDARD = UsStandardAtmosphere1976()


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
    if dot(short, short) < 1.0 and dot(sum_of_turns, sum_of_turns) < 1.0:
        return short
    angle = norm(short)
    if angle == 0.0:
        return short
    turns = floor((dot(short, sum_of_turns) / angle - angle) / TURN + 0.5)
    return short * (1.0 + turns * TURN / angle)


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
    force = Vec3(0.0, 0.0, 0.0)
    turn = orientation
    part = spin * dt
    if rows.followed[i] == 1:
        last = rows.last_orientation[i]
        acceleration = (velocity - rows.last_velocity[i]) * (1.0 / dt)
        force = specific_force(acceleration, gravity, middle(last, orientation))
        turn = quaternion_product(conjugated(last), orientation)
        part = rotation_vector(turn)
    else:
        # Of a first state nothing is known about the way there: no acceleration but that of the spin.
        force = specific_force(Vec3(0.0, 0.0, 0.0), gravity, orientation) + cross(spin, arm)
        turn = rotation_quaternion(part)
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
    if rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1:
        p = rows.parameters[rows.kind[i]]
        gyroscope = rows.gyroscope[rows.kind[i]]
        accelerometer = rows.accelerometer[rows.kind[i]]
        key = rows.key[i]
        copy = rows.copy[i]
        if rows.starts[i] == 1:
            rows.rate_offset[i] = normal_vector(key, copy, 0, 4) * gyroscope.turn_on_bias
            rows.force_offset[i] = normal_vector(key, copy, 0, 5) * accelerometer.turn_on_bias
            rows.rate_bias[i] = normal_vector(key, copy, 0, 6) * gyroscope.bias_sigma
            rows.force_bias[i] = normal_vector(key, copy, 0, 7) * accelerometer.bias_sigma
        steps = Real(rows.steps[i])
        rate = whole_turn(rows.turn[i], rows.turn_sum[i]) * (1.0 / (steps * rows.time[1]))
        force = rows.force_sum[i] * (1.0 / steps)
        for r in range(length(rows.phase[i])):
            speed = rows.rotor_speed[i, r]
            rows.phase[i, r] = rows.phase[i, r] + speed * p.reading_time
            force += rotor_vibration(rows.phase[i, r], speed, rows.cosine[i, r], rows.sine[i, r])
            if p.blades > 0.0:
                force += blade_vibration(rows.phase[i, r], speed, p.blades, rows.passage[i, r])
        rate = rotate_inverse(p.mounting, rate)
        force = rotate_inverse(p.mounting, force)
        if p.errs == 1:
            rate, force = erroneous(i, rows, rate, force)
        white = normal_vector(key, copy, reading, 0)
        rate = noisy(gyroscope, rate, white, rows.rate_bias[i], rows.rate_offset[i])
        white = normal_vector(key, copy, reading, 1)
        force = noisy(accelerometer, force, white, rows.force_bias[i], rows.force_offset[i])
        rows.rate[i] = saturated(rate, p.rate_range)
        rows.force[i] = saturated(force, p.force_range)
        rows.rate_error[i] = rows.rate_bias[i] + rows.rate_offset[i]
        rows.force_error[i] = rows.force_bias[i] + rows.force_offset[i]
        rows.rate_bias[i] = next_bias(gyroscope, rows.rate_bias[i], normal_vector(key, copy, reading, 2))
        driving = normal_vector(key, copy, reading, 3)
        rows.force_bias[i] = next_bias(accelerometer, rows.force_bias[i], driving)
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
    gives = ImuReading, "rate", "force"
    follows_steps = True

    rate_hz: float = 250.0
    """Readings per second [Hz]."""
    gyroscope: Gyroscope = Gyroscope()
    """Noise, errors and range of the gyroscope."""
    accelerometer: Accelerometer = Accelerometer()
    """Noise, errors and range of the accelerometer."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the IMU in the body frame [m]."""
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Mounting: quaternion xyzw, frame of the IMU to body frame."""
    vibration: Vibration = Vibration()
    """Vibration by the rotors; none by default."""
    thermal: Thermal = Thermal()
    """Temperature of the IMU, felt by the temperature coefficients of gyroscope and accelerometer."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        require_vector("position", self.position, unit="m")
        require_vector("orientation", self.orientation, length=4)
        of_unit_length = abs(math.hypot(*self.orientation) - 1) < 1e-3
        require(of_unit_length, "orientation", self.orientation, "must be a unit quaternion xyzw")

    def parameters(self) -> Mapping[str, Any]:
        """Return mounting, ranges, noise and systematic errors."""
        shown = self.vibration.blade_passage > 0
        atmosphere = self._standard_atmosphere() or _STANDARD
        return {
            "parameters": ImuParameters(
                position=Vec3(*self.position),
                mounting=normalized(Quat(*self.orientation)),
                rate_range=self.gyroscope.range,
                force_range=self.accelerometer.range,
                reading_time=1 / self.rate_hz,
                blades=float(as_machine(self.vehicle).spec.propeller.blade_count) if shown else 0.0,
                errs=int(self.gyroscope.errs or self.accelerometer.errs),
            ),
            "gyroscope": self.gyroscope.at_rate(self.rate_hz),
            "accelerometer": self.accelerometer.at_rate(self.rate_hz),
            "system": self._system(),
            "rate_errors": self.gyroscope.errors,
            "force_errors": self.accelerometer.errors,
            "atmosphere": atmosphere.parameters,
        }

    def _system(self) -> InertialSystem:
        thermal, warms = self.thermal, self.gyroscope.warms or self.accelerometer.warms
        standard = warms and self._standard_atmosphere() is not None
        x, y, z = (Vec3(*row) for row in self.gyroscope.g_sensitivity)
        return InertialSystem(
            int(warms),
            int(standard),
            self.environment.origin.altitude if standard else 0.0,
            thermal.self_heating,
            thermal.initial_heating,
            exp(-1 / (self.rate_hz * thermal.warm_up_time)),
            thermal.reference_temperature,
            x,
            y,
            z,
            self.gyroscope.g_sensitivity_sigma,
        )

    def _standard_atmosphere(self) -> UsStandardAtmosphere1976 | None:
        """Return the atmosphere if the step function computes it."""
        atmosphere = getattr(self.environment, "atmosphere", None)
        return atmosphere if type(atmosphere) is UsStandardAtmosphere1976 else None

    def inputs(self) -> Collection[str]:
        """Return all but the temperature, unless it is needed and not computed in the step function."""
        warms = self.gyroscope.warms or self.accelerometer.warms
        needed = warms and self._standard_atmosphere() is None
        return [name for name in INPUTS if name != "temperature" or needed]

    def initial(self) -> Mapping[str, Array]:
        """Return the vectors of rotors that vibrate, and room for systematic errors."""
        shaken = self.vibration.present
        axis, spin = np.zeros((0, 3)), np.zeros(0)
        if shaken:
            layout = as_machine(self.vehicle).layout
            axis, spin = layout.axis, layout.spin
        cosine, sine, passage = self.vibration.vectors(axis, spin)
        self.is_fed = shaken
        errs = self.gyroscope.errs or self.accelerometer.errs
        return {
            "rotor_speed": np.zeros((self.count, len(axis))),
            "phase": np.zeros((self.count, len(axis))),
            "cosine": np.tile(cosine, (self.count, 1, 1)),
            "sine": np.tile(sine, (self.count, 1, 1)),
            "passage": np.tile(passage, (self.count, 1, 1)),
            "calibration": np.zeros((self.count, 11 if errs else 0, 3)),
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

    def bias(self) -> tuple[Array, Array]:
        """Return the true biases within the last reading, turn-on biases included, in the frame of the IMU.

        Returns:
            Those of the gyroscope [rad/s] and of the accelerometer [m/s^2], each of shape (N, 3).
        """
        return self.rows["rate_error"].copy(), self.rows["force_error"].copy()
