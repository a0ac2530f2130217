"""Odometry: pose and twist by an external estimator, such as motion capture or visual odometry."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require, require_vector
from pegasus.base.elementary import squared
from pegasus.base.frames import quaternion_from_rotation_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import (
    Column,
    Quat,
    Real,
    Table,
    Vec3,
    cos,
    quaternion_product,
    rotation_quaternion,
    scaled,
    sin,
)
from pegasus.contracts.reading import Reading
from pegasus.core.compiled_sensor import CompiledSensor, DelayedRows
from pegasus.sensors.delay import between, hermite, hermite_orientation
from pegasus.sensors.noise import gauss_markov_coefficients, white_noise_sigma

_LONGEST = 2**31 - 1


@dataclass(frozen=True)
class EstimatorErrors:
    """Drift and noise of an external estimator at its rate."""

    drift_sigma: Vec3
    """Stationary standard deviation of the frame's displacement [m]."""
    yaw_sigma: float
    """Stationary standard deviation of the frame's rotation [rad]."""
    phi: float
    """Fraction of the drift that remains after a reading."""
    drive: float
    """Drive of the drift of a reading, for a standard deviation of 1."""
    position_sigma: float
    orientation_sigma: float
    velocity_sigma: float
    rate_sigma: float
    """Standard deviations of the white noise [m], [rad], [m/s] and [rad/s]."""
    reset_period: int
    """Number of readings from one reset of the estimator to the next."""


@dataclass
class OdometryRows(DelayedRows):
    """Columns of odometry sensors."""

    errors: Column[EstimatorErrors]
    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    pivot: Column[Vec3]
    """Position of the first reading, about which the frame is rotated [m]."""
    first_orientation: Column[Quat]
    first_velocity: Column[Vec3]
    first_rate: Column[Vec3]
    position_before: Table[Vec3]
    orientation_before: Table[Quat]
    velocity_before: Table[Vec3]
    rate_before: Table[Vec3]
    position_after: Table[Vec3]
    orientation_after: Table[Quat]
    velocity_after: Table[Vec3]
    rate_after: Table[Vec3]
    drift: Column[Vec3]
    """Displacement of the frame [m]."""
    yaw: Column[Real]
    """Rotation of the frame [rad]."""
    seen_offset: Column[Vec3]
    """True position of the last reading relative to the pivot [m]."""
    seen_position: Column[Vec3]
    seen_orientation: Column[Quat]
    seen_velocity: Column[Vec3]
    seen_rate: Column[Vec3]
    """Last reading."""


def turned(v: Vec3, yaw: Real) -> Vec3:
    """Return a vector of the world rotated about the vertical.

    Args:
        v: Vector in the world.
        yaw: Angle, counter-clockwise from above [rad].
    """
    cosine = cos(yaw)
    sine = sin(yaw)
    return Vec3(cosine * v[0] - sine * v[1], sine * v[0] + cosine * v[1], v[2])


def record_motion(i: int, rows: OdometryRows) -> None:
    """Record the motion at the steps around coming readings."""
    body = rows.body[i]
    before = rows.before[rows.clock[i]]
    after = rows.after[rows.clock[i]]
    if before >= 0:
        rows.position_before[i, before] = rows.position[body]
        rows.orientation_before[i, before] = rows.orientation[body]
        rows.velocity_before[i, before] = rows.velocity[body]
        rows.rate_before[i, before] = rows.angular_velocity[body]
    if after >= 0:
        rows.position_after[i, after] = rows.position[body]
        rows.orientation_after[i, after] = rows.orientation[body]
        rows.velocity_after[i, after] = rows.velocity[body]
        rows.rate_after[i, after] = rows.angular_velocity[body]


def seen_motion(i: int, rows: OdometryRows) -> tuple[Vec3, Quat, Vec3, Vec3]:
    """Return position, orientation, velocity and angular velocity at the instant of the due reading."""
    delay = rows.delay[rows.kind[i]]
    slot = rows.slot[rows.clock[i]]
    if rows.time[0] - delay.latency <= rows.first_time[i]:
        return rows.pivot[i], rows.first_orientation[i], rows.first_velocity[i], rows.first_rate[i]
    position = rows.position_before[i, slot]
    orientation = rows.orientation_before[i, slot]
    velocity = rows.velocity_before[i, slot]
    rate = rows.rate_before[i, slot]
    if delay.share == 0.0:
        return position, orientation, velocity, rate
    later = rows.velocity_after[i, slot]
    later_rate = rows.rate_after[i, slot]
    share = delay.share
    dt = rows.time[1]
    return (
        hermite(position, velocity, rows.position_after[i, slot], later, share, dt),
        hermite_orientation(orientation, rate, rows.orientation_after[i, slot], later_rate, share, dt),
        between(velocity, later, share),
        between(rate, later_rate, share),
    )


def drift_on(i: int, rows: OdometryRows, reading: int) -> None:
    """Let the frame of an estimator drift to the next reading, or draw a new one at a reset."""
    p = rows.errors[rows.kind[i]]
    moved = scaled(rows.normal[i, 4], p.drift_sigma)
    yaw = rows.normal[i, 5][0] * p.yaw_sigma
    if reading % p.reset_period == 0:
        rows.drift[i] = moved
        rows.yaw[i] = yaw
    else:
        rows.drift[i] = rows.drift[i] * p.phi + moved * p.drive
        rows.yaw[i] = rows.yaw[i] * p.phi + yaw * p.drive


def odometry(i: int, rows: OdometryRows) -> None:
    """Record the motion around coming readings, and take a reading if it is due."""
    record_motion(i, rows)
    reading = rows.count[i]
    if reading == 0 or rows.due[rows.clock[i]] == 1:
        p = rows.errors[rows.kind[i]]
        body = rows.body[i]
        if reading == 0:
            rows.first_time[i] = rows.time[0]
            rows.pivot[i] = rows.position[body]
            rows.first_orientation[i] = rows.orientation[body]
            rows.first_velocity[i] = rows.velocity[body]
            rows.first_rate[i] = rows.angular_velocity[body]
        drawn = 6
        for k in range(drawn):
            rows.normal[i, k] = normal_vector(rows.key[i], rows.copy[i], reading, k)
        drift_on(i, rows, reading)
        position, orientation, velocity, rate = seen_motion(i, rows)
        yaw = rows.yaw[i]
        offset = position - rows.pivot[i]
        turn = rows.normal[i, 1] * p.orientation_sigma + Vec3(0.0, 0.0, yaw)
        rows.seen_offset[i] = offset
        rows.seen_position[i] = (
            rows.pivot[i] + turned(offset, yaw) + rows.drift[i] + rows.normal[i, 0] * p.position_sigma
        )
        rows.seen_orientation[i] = quaternion_product(rotation_quaternion(turn), orientation)
        rows.seen_velocity[i] = turned(velocity, yaw) + rows.normal[i, 2] * p.velocity_sigma
        rows.seen_rate[i] = rate + rows.normal[i, 3] * p.rate_sigma
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


def position_variance(offset: Array, *, variance: Array, yaw_variance: float) -> Array:
    """Return the variance of a position with a yaw error about a pivot [m^2], shape (N, 3).

    A small yaw error e displaces the point (x, y, z), relative to the pivot, by e (-y, x, 0).

    Args:
        offset: Position relative to the pivot [m], shape (N, 3).
        variance: Variance of all other errors [m^2], shape (3,).
        yaw_variance: Variance of the yaw error [rad^2].
    """
    displaced = np.zeros_like(offset)
    displaced[:, :2] = yaw_variance * offset[:, 1::-1] * offset[:, 1::-1]
    return variance + displaced


@dataclass(frozen=True, eq=False)
class OdometryReading(Reading):
    """Pose and twist of an external estimator, with their variances."""

    valid_at: float
    """Simulation time for which they hold, `stamp` minus the latency [s]."""
    position: Array
    """Position in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (N, 4)."""
    velocity: Array
    """Velocity in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""
    position_variance: Array
    """Variance of the position error along x, y and z of the world [m^2], shape (N, 3)."""
    orientation_variance: Array
    """Variance of the orientation error about x, y and z of the world [rad^2], shape (N, 3)."""
    reset_count: IntArray
    """Number of estimator resets, at each of which the pose jumps, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Odometry(CompiledSensor):
    """External estimator of pose and twist.

    Its frame drifts: it is rotated about the vertical through the position of the first reading, and
    displaced, each by a Gauss-Markov process. Position, orientation and velocity are given consistently in
    that frame, with white noise added. The variances are those of these errors. The defaults are typical of
    visual odometry; motion capture has little noise and no drift.
    """

    columns = OdometryRows
    function = staticmethod(odometry)
    normal_count = 6

    rate_hz: float = 30.0
    """Readings per second [Hz]."""
    latency: float = 0.05
    """Age of a reading when it is given [s]."""
    position_drift_sigma: tuple[float, float, float] = (0.1, 0.1, 0.1)
    """Stationary standard deviation of the frame's displacement: east, north, up [m]."""
    yaw_drift_sigma: float = 0.02
    """Stationary standard deviation of the frame's rotation [rad]."""
    drift_correlation_time: float = 100.0
    """Time constant of both [s]."""
    reset_interval: float = math.inf
    """Time between estimator resets, which draw a new drift [s]; none by default."""
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

    def parameters(self) -> Mapping[str, Any]:
        """Return delay and errors."""
        phi, drive = gauss_markov_coefficients(
            1.0, correlation_time=self.drift_correlation_time, dt=1 / self.rate_hz
        )
        white = white_noise_sigma(1.0, rate_hz=self.rate_hz)
        errors = EstimatorErrors(
            drift_sigma=Vec3(*self.position_drift_sigma),
            yaw_sigma=self.yaw_drift_sigma,
            phi=phi,
            drive=drive,
            position_sigma=white * self.position_noise_density,
            orientation_sigma=white * self.orientation_noise_density,
            velocity_sigma=white * self.velocity_noise_density,
            rate_sigma=white * self.angular_velocity_noise_density,
            reset_period=self._reset_period(),
        )
        return {"delay": self.delay(), "errors": errors}

    def initial(self) -> Mapping[str, Array]:
        """Return empty records."""
        slots = self.delay().slots
        return {
            f"{name}_{when}": np.zeros((self.count, slots, 4 if name == "orientation" else 3))
            for name in ("position", "orientation", "velocity", "rate")
            for when in ("before", "after")
        }

    def reading(self, stamp: float) -> OdometryReading:
        """Return the last reading: that of `latency` ago, or of the first reading until it is so old."""
        rows, n = self.rows, self.count
        noise = white_noise_sigma(1.0, rate_hz=self.rate_hz)
        others = squared(noise * self.position_noise_density) + np.array(self.position_drift_sigma) ** 2
        yaw_variance = squared(self.yaw_drift_sigma)
        orientation_variance = np.full((n, 3), squared(noise * self.orientation_noise_density))
        orientation_variance[:, 2] += yaw_variance
        return OdometryReading(
            stamp,
            # Copies that were reset began later than others.
            max(stamp - self.latency, float(rows["first_time"].min())),
            rows["seen_position"].copy(),
            rows["seen_orientation"].copy(),
            rows["seen_velocity"].copy(),
            rows["seen_rate"].copy(),
            position_variance(rows["seen_offset"], variance=others, yaw_variance=yaw_variance),
            orientation_variance,
            np.maximum(rows["count"].astype(np.int64) - 1, 0) // self._reset_period(),
        )

    def frame_pose(self) -> tuple[Array, Array]:
        """Return where the frame that it works in is by now: that of the world before the first reading.

        Returns:
            Origin in the world [m], shape (N, 3), and unit quaternion xyzw, frame to world, shape (N, 4).
        """
        rows, turn = self.rows, np.zeros((self.count, 3))
        turn[:, 2] -= rows["yaw"]
        moved = rows["pivot"] + rows["drift"]
        back = [turned(Vec3(*v), -yaw) for v, yaw in zip(moved.tolist(), rows["yaw"].tolist(), strict=True)]
        origin = rows["pivot"] - np.array([(v.x, v.y, v.z) for v in back])
        return origin, quaternion_from_rotation_vector(turn)

    def _reset_period(self) -> int:
        """Return the number of readings from one reset to the next."""
        period = self.reset_interval * self.rate_hz
        return max(1, round(period)) if period < _LONGEST else _LONGEST
