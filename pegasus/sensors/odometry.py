"""Odometry: pose and twist by an external estimator, such as motion capture or visual odometry."""

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, IntArray, namespace
from pegasus.components import require
from pegasus.frames import multiply, quaternion_from_rotation_vector
from pegasus.sensors.delay import History
from pegasus.sensors.noise import gauss_markov_coefficients, gauss_markov_step, white_noise_sigma
from pegasus.sensors.sensor import NoiseBlock, Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor


def turned(vector: Array, *, yaw: Array) -> Array:
    """Return vectors of the world turned about the vertical, shape (N, 3).

    Args:
        vector: Vector in the world, shape (N, 3).
        yaw: Angle, counter-clockwise from above [rad], shape (N,).
    """
    xp = namespace(vector)
    cosine, sine = xp.cos(yaw), xp.sin(yaw)
    x, y = vector[:, 0], vector[:, 1]
    result: Array = xp.stack([cosine * x - sine * y, sine * x + cosine * y, vector[:, 2]], axis=-1)
    return result


def position_variance(offset: Array, *, variance: Array, yaw_variance: float) -> Array:
    """Return the variance of a position that a yaw error displaces [m^2], shape (N, 3).

    A small yaw error e moves a place at (x, y, z) from the pivot by e (-y, x, 0).

    Args:
        offset: Position from the point that the yaw error turns about [m], shape (N, 3).
        variance: Variance of all other errors [m^2], shape (3,).
        yaw_variance: Variance of the yaw error [rad^2].
    """
    xp = namespace(offset)
    x, y = offset[:, 0], offset[:, 1]
    displaced: Array = yaw_variance * xp.stack([y * y, x * x, xp.zeros_like(x)], axis=-1)
    return variance + displaced


@dataclass(frozen=True, eq=False)
class OdometryReading(Reading):
    """Pose and twist as an external estimator has them, and how sure of them it is."""

    valid_at: float
    """Simulation time at which they were true, `stamp` less the latency [s]."""
    position: Array
    """Position in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (N, 4)."""
    velocity: Array
    """Velocity in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""
    position_variance: Array
    """Variance of the position's error along x, y and z of the world [m^2], shape (N, 3)."""
    orientation_variance: Array
    """Variance of the small rotation by which the orientation errs, about x, y, z of the world [rad^2],
    shape (N, 3)."""
    reset_count: IntArray
    """How often the estimator has started anew, so that the pose jumped, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Odometry(Sensor):
    """External estimator of pose and twist.

    The frame that it works in drifts: it is turned about the vertical through the place of the first reading
    and moved, each by a Gauss-Markov process. Position, orientation and velocity are told in that frame, so
    that they agree with each other; white noise comes on top. Variances are those of these very errors. The
    defaults stand for visual odometry; motion capture has little noise and no drift.
    """

    rate_hz: float = 30.0
    """Readings per second [Hz]."""
    latency: float = 0.05
    """Age of a reading when it is given [s]."""
    position_drift_sigma: tuple[float, float, float] = (0.1, 0.1, 0.1)
    """Stationary standard deviation by which the frame is moved: east, north, up [m]."""
    yaw_drift_sigma: float = 0.02
    """Stationary standard deviation by which the frame is turned [rad]."""
    drift_correlation_time: float = 100.0
    """Time constant of both [s]."""
    reset_interval: float = math.inf
    """Time after which the estimator starts anew, with a drift drawn anew [s]; never by default."""
    position_noise_density: float = 0.002
    """Density of the white noise on position [m/sqrt(Hz)]."""
    orientation_noise_density: float = 0.0005
    """Density of the white noise on orientation, as a rotation about each axis [rad/sqrt(Hz)]."""
    velocity_noise_density: float = 0.005
    """Density of the white noise on velocity [m/s/sqrt(Hz)]."""
    angular_velocity_noise_density: float = 0.001
    """Density of the white noise on angular velocity [rad/s/sqrt(Hz)]."""

    def __post_init__(self) -> None:
        for name, unit in (("rate_hz", "Hz"), ("drift_correlation_time", "s")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        require(self.reset_interval > 0, "reset_interval", self.reset_interval, "must be above 0 s")
        for name in ("latency", "yaw_drift_sigma", "position_noise_density", "orientation_noise_density",
                     "velocity_noise_density", "angular_velocity_noise_density"):  # fmt: skip
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        require_vector("position_drift_sigma", self.position_drift_sigma, unit="m", negative_allowed=False)

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; forget the past and start the estimator anew.

        Args:
            vehicle: The vehicle; its count is used.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._history = History()
        self._reading_count = 0
        period = self.reset_interval * self.rate_hz
        self._reset_period = max(1, round(period)) if period < sys.maxsize else sys.maxsize
        self._phi, unit_drive = gauss_markov_coefficients(
            1.0, correlation_time=self.drift_correlation_time, dt=1 / self.rate_hz
        )
        self._drift_sigma = np.array([*self.position_drift_sigma, self.yaw_drift_sigma])
        self._drive = unit_drive * self._drift_sigma
        densities = np.array(
            [
                self.position_noise_density,
                self.orientation_noise_density,
                self.velocity_noise_density,
                self.angular_velocity_noise_density,
            ]
        )
        sigmas = white_noise_sigma(1.0, rate_hz=self.rate_hz) * densities
        self._noise_sigma = sigmas.reshape(4, 1, 1)
        self._yaw_variance = self.yaw_drift_sigma**2
        self._other_variance = sigmas[0] ** 2 + self._drift_sigma[:3] ** 2
        self._orientation_variance = np.full((self.count, 3), sigmas[1] ** 2)
        self._orientation_variance[:, 2] += self._yaw_variance
        self._normals = NoiseBlock(self.rngs, (16,))

    def measure(self, state: VehicleState, t: float) -> OdometryReading:
        """Return the pose and twist of `latency` ago, or those of the first reading until it is so old.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        if self._reading_count == 0:
            self._pivot = state.position.copy()
        resets = self._drift_on()
        self._history.add(t, state)
        seen = self._history.at(t - self.latency)
        position, velocity = seen.translation()
        orientation, angular_velocity = seen.rotation()
        moved, yaw = self._drift[:, :3], self._drift[:, 3]
        offset = position - self._pivot
        error = self._noise_sigma * self._white
        rotation = error[1]
        rotation[:, 2] += yaw
        return OdometryReading(
            t,
            seen.time,
            self._pivot + turned(offset, yaw=yaw) + moved + error[0],
            multiply(quaternion_from_rotation_vector(rotation), orientation),
            turned(velocity, yaw=yaw) + error[2],
            angular_velocity + error[3],
            position_variance(offset, variance=self._other_variance, yaw_variance=self._yaw_variance),
            self._orientation_variance.copy(),
            np.full(self.count, resets),
        )

    def frame_pose(self) -> tuple[Array, Array]:
        """Return where the frame that it works in is by now: that of the world before the first reading.

        Returns:
            Origin in the world [m], shape (N, 3), and unit quaternion xyzw, frame to world, shape (N, 4).
        """
        turn = np.zeros((self.count, 3))
        if self._reading_count == 0:
            return turn, quaternion_from_rotation_vector(turn)
        moved, yaw = self._drift[:, :3], self._drift[:, 3]
        turn[:, 2] = -yaw
        return self._pivot - turned(self._pivot + moved, yaw=-yaw), quaternion_from_rotation_vector(turn)

    def _drift_on(self) -> int:
        """Draw noise and drift of the next reading; return how often the estimator has started anew."""
        normals = self._normals.take()
        self._white = normals[:, :12].reshape(-1, 4, 3).swapaxes(0, 1)
        driving = normals[:, 12:]
        resets, since = divmod(self._reading_count, self._reset_period)
        self._reading_count += 1
        if since == 0:
            self._drift = self._drift_sigma * driving
        else:
            self._drift = gauss_markov_step(self._drift, driving, phi=self._phi, drive=self._drive)
        return resets
