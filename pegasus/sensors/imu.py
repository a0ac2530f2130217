"""Inertial measurement unit: gyroscope and accelerometer."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, namespace, row_product
from pegasus.components import require
from pegasus.frames import matrix_from_quaternion, normalize, rotate_inverse
from pegasus.sensors.noise import NoiseModel, NoiseProcess
from pegasus.sensors.sensor import Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor


def specific_force(acceleration: Array, *, rotation: Array, gravity: Array) -> Array:
    """Return R^T (a - g), what an ideal accelerometer at the body's origin feels [m/s^2], shape (N, 3).

    At rest it is g upwards, in free fall zero. Source: Hector 2012, sec. 3.3.

    Args:
        acceleration: Acceleration in the world [m/s^2], shape (N, 3).
        rotation: Rotation matrix body to world, shape (N, 3, 3).
        gravity: Acceleration of free fall in the world [m/s^2], shape (N, 3).
    """
    return rotate_inverse(rotation, acceleration - gravity)


def lever_arm_acceleration(angular_velocity: Array, angular_acceleration: Array, *, position: Array) -> Array:
    """Return alpha x r + omega x (omega x r), what a point r of the body accelerates beyond its origin.

    The second product is expanded to omega (omega . r) - r (omega . omega). Result in the body frame
    [m/s^2], shape (N, 3). Source: kinematics of a rigid body.

    Args:
        angular_velocity: Angular velocity omega in the body frame [rad/s], shape (N, 3).
        angular_acceleration: Angular acceleration alpha in the body frame [rad/s^2], shape (N, 3).
        position: Point r in the body frame [m], shape (3,).
    """
    xp = namespace(angular_velocity)
    x, y, z = (float(r) for r in position)
    # alpha x r = alpha K as a row vector.
    cross_matrix = xp.asarray([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], dtype=angular_velocity.dtype)
    spin = angular_velocity * xp.sum(angular_velocity * position, axis=-1, keepdims=True)
    square = xp.sum(angular_velocity * angular_velocity, axis=-1, keepdims=True)
    total: Array = row_product(angular_acceleration, cross_matrix) + spin - square * position
    return total


def rotor_vibration(phase: Array, rotor_speed: Array, *, cosine: Array, sine: Array) -> Array:
    """Return the acceleration that unbalanced rotors shake the body with [m/s^2], shape (N, 3).

    Each rotor contributes omega^2 (c cos(phase) + s sin(phase)): the force of an eccentric mass grows with
    the square of its speed and turns with it.

    Args:
        phase: Angle of each rotor [rad], shape (N, R).
        rotor_speed: Speed of each rotor [rad/s], shape (N, R).
        cosine: Vector c of each rotor in the body frame [m], shape (R, 3).
        sine: Vector s of each rotor in the body frame [m], shape (R, 3).
    """
    xp = namespace(phase)
    square = rotor_speed * rotor_speed
    return row_product(square * xp.cos(phase), cosine) + row_product(square * xp.sin(phase), sine)


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
    """Largest angular rate on an axis; what is beyond reads as this [rad/s]."""

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
    """Largest specific force on an axis; what is beyond reads as this [m/s^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.range > 0, "range", self.range, "must be above 0 m/s^2")


@dataclass(frozen=True, kw_only=True)
class Vibration:
    """Shaking of the accelerometer by its vehicle's rotors, at each rotor's own frequency.

    Amplitudes are per squared rotor speed: the eccentric mass times its radius over the vehicle's mass.
    With R rotors at a speed w, each axis of the disc's plane gets a variance of R (in_plane w^2)^2 / 2: in
    a hovering Iris (4 rotors, 656 rad/s) 5.05e-6 m gives the 9.46 m^2/s^4 that AirSim 2017 measured in
    flight. Frequencies above half the sensor's rate alias, as in a sensor without a filter.
    """

    in_plane: float = 0.0
    """Amplitude in the plane of the disc, turning with the rotor [m]; 0 switches it off."""
    axial: float = 0.0
    """Amplitude along the rotor's axis [m]; 0 switches it off."""

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
        # Any vector of the disc's plane will do: the phase is random.
        aside = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        first = np.cross(aside, axis)
        first /= np.linalg.norm(first, axis=-1, keepdims=True)
        return self.in_plane * first + self.axial * axis, self.in_plane * spin[:, None] * np.cross(
            axis, first
        )


@dataclass(frozen=True, eq=False)
class ImuReading(Reading):
    """Angular velocity and specific force in the frame of the IMU (body FLU unless it is mounted turned)."""

    angular_velocity: Array
    """Angular velocity [rad/s], shape (N, 3)."""
    specific_force: Array
    """Acceleration minus gravity [m/s^2], shape (N, 3)."""


@dataclass(kw_only=True, eq=False)
class IMU(Sensor):
    """Gyroscope and accelerometer on one chip.

    The specific force comes from the change of velocity over the last physics step, so contacts count.
    """

    rate_hz: float = 250.0
    """Readings per second [Hz]."""
    gyroscope: Gyroscope = Gyroscope()
    """Noise and range of the gyroscope."""
    accelerometer: Accelerometer = Accelerometer()
    """Noise and range of the accelerometer."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Place of the IMU in the body frame [m]."""
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Mounting: quaternion xyzw, frame of the IMU to body frame."""
    vibration: Vibration = Vibration()
    """Shaking by the rotors; off by default."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        require_vector("position", self.position, unit="m")
        require_vector("orientation", self.orientation, length=4)
        of_unit_length = abs(math.hypot(*self.orientation) - 1) < 1e-3
        require(of_unit_length, "orientation", self.orientation, "must be a unit quaternion xyzw")

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; draw turn-on biases, biases and rotor phases anew.

        Args:
            vehicle: The vehicle; its count, and axes and senses of its rotors are used.
            environment: Gravity.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._lever = np.array(self.position) if any(self.position) else None
        turned = any(self.orientation[:3])
        self._mounting = matrix_from_quaternion(normalize(np.array(self.orientation))) if turned else None
        self._shaken = self.vibration.in_plane > 0 or self.vibration.axial > 0
        if self._shaken:
            axis = np.asarray(vehicle.layout.axis)
            self._cosine, self._sine = self.vibration.vectors(axis, vehicle.layout.spin)
            self._phase = np.stack([rng.uniform(0.0, 2 * math.pi, len(axis)) for rng in self.rngs])
        self._noise = NoiseProcess((self.gyroscope, self.accelerometer), rate_hz=self.rate_hz, rngs=self.rngs)
        self._highest = np.array([self.gyroscope.range, self.accelerometer.range]).reshape(2, 1, 1)
        self._lowest = -self._highest

    def measure(self, state: VehicleState, t: float) -> ImuReading:
        """Return angular velocity and specific force.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        gravity = self.environment.gravity_vector(state.position)
        rate = state.angular_velocity
        force = specific_force(state.acceleration, rotation=state.rotation, gravity=gravity)
        if self._lever is not None:
            force += lever_arm_acceleration(rate, state.angular_acceleration, position=self._lever)
        if self._shaken:
            self._phase += state.rotor_speed / self.rate_hz
            force += rotor_vibration(self._phase, state.rotor_speed, cosine=self._cosine, sine=self._sine)
        if self._mounting is not None:
            rate, force = row_product(rate, self._mounting), row_product(force, self._mounting)
        measured = self._noise.sample()
        measured[0] += rate
        measured[1] += force
        np.minimum(measured, self._highest, out=measured)
        np.maximum(measured, self._lowest, out=measured)
        return ImuReading(t, measured[0], measured[1])
