"""GPS receiver with latency, correlated position and velocity errors, and fix states."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray, row_product
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Column, Table, Vec3, scaled
from pegasus.core.compiled_sensor import CompiledSensor, DelayedRows
from pegasus.core.sensor import Reading
from pegasus.environment.geodesy import Geodetic, convergence, level_turn
from pegasus.sensors.delay import between, hermite
from pegasus.sensors.noise import white_noise_sigma

NO_FIX, FIX_2D, FIX_3D = 0, 2, 3
"""Values of `GpsReading.fix_type`, as MAVLink numbers them."""


def error_covariance(position_time: float, velocity_time: float) -> Array:
    """Return the stationary covariance of position and velocity error, for a position error of 1 m.

    The velocity error is a Gauss-Markov process that drives the position error:
    de_p = (-e_p / tau_p + e_v) dt, de_v = -e_v / tau_v dt + q dW. Rows and columns are position [m] and
    velocity [m/s], shape (2, 2). Source: Hector 2012, sec. 3.3, whose velocity error is this e_v; the
    covariance solves the Lyapunov equation of that system.

    Args:
        position_time: Time constant tau_p of the position error [s].
        velocity_time: Time constant tau_v of the velocity error [s].
    """
    covariance = 1 / position_time
    variance = (1 / position_time + 1 / velocity_time) * covariance
    return np.array([[1.0, covariance], [covariance, variance]])


def error_coefficients(position_time: float, velocity_time: float, *, dt: float) -> tuple[Array, Array]:
    """Return (transition, drive) of the exact discretisation e' = transition e + drive eta, each (2, 2).

    The noise of a step has the covariance that keeps the stationary one, P - transition P transition^T, so
    sigma and correlation do not depend on the step.

    Args:
        position_time: Time constant of the position error [s].
        velocity_time: Time constant of the velocity error [s].
        dt: Sampling interval [s].
    """
    a, b = 1 / position_time, 1 / velocity_time
    # (exp(-b dt) - exp(-a dt)) / (a - b), which goes to dt exp(-a dt) where both time constants are equal.
    gap = (a - b) * dt
    coupling = math.exp(-a * dt) * dt * (math.expm1(gap) / gap if gap else 1.0)
    transition = np.array([[math.exp(-a * dt), coupling], [0.0, math.exp(-b * dt)]])
    stationary = error_covariance(position_time, velocity_time)
    noise = stationary - row_product(row_product(transition, stationary), transition.T)
    # Square root with the velocity first, whose noise is the larger for short steps.
    velocity = math.sqrt(noise[1, 1])
    shared = noise[0, 1] / velocity
    own = math.sqrt(max(noise[0, 0] - shared * shared, 0.0))
    return transition, np.array([[own, shared], [0.0, velocity]])


def settling(t: float, *, initial: float, final: float, time_constant: float) -> float:
    """Return the step response of a first-order filter (AirSim 2017, sec. 3.4.4).

    Args:
        t: Time since the start [s].
        initial: Value at the start.
        final: Final value.
        time_constant: Time constant [s].
    """
    return final + (initial - final) * math.exp(-t / time_constant)


@dataclass(frozen=True)
class GpsNoise:
    """Errors of a GPS at its rate; see `error_coefficients`."""

    position_error_sigma: Vec3
    """Stationary standard deviation of the wandering position error [m]."""
    position_noise_sigma: Vec3
    """Standard deviation of the white noise on position [m]."""
    velocity_noise_sigma: Vec3
    """Standard deviation of the white noise on velocity [m/s]."""
    covariance: float
    """Stationary covariance of the errors for a position error of 1 m [m^2/s]."""
    velocity_root: float
    """Standard deviation of the velocity error that is independent of the position error [m/s]."""
    keep_position: float
    coupling: float
    keep_velocity: float
    """Transition of position and velocity error."""
    drive_position: float
    drive_shared: float
    drive_velocity: float
    """Drive of position and velocity error."""


@dataclass
class GpsRows(DelayedRows):
    """Columns of GPS receivers."""

    noise: Column[GpsNoise]
    origin: Column[Geodetic]
    position: Column[Vec3]
    velocity: Column[Vec3]
    first_position: Column[Vec3]
    first_velocity: Column[Vec3]
    position_before: Table[Vec3]
    velocity_before: Table[Vec3]
    position_after: Table[Vec3]
    velocity_after: Table[Vec3]
    position_error: Column[Vec3]
    """Wandering position error for a sigma of 1 m."""
    velocity_error: Column[Vec3]
    """Velocity error that belongs to it."""
    solved_position: Column[Vec3]
    """Position of the last solution in the world [m]."""
    solved_velocity: Column[Vec3]
    """Velocity of the last solution, local east, north and up [m/s]."""


def record_translation(i: int, rows: GpsRows) -> None:
    """Record position and velocity at the steps around coming solutions."""
    body = rows.body[i]
    before = rows.before[rows.clock[i]]
    after = rows.after[rows.clock[i]]
    if before >= 0:
        rows.position_before[i, before] = rows.position[body]
        rows.velocity_before[i, before] = rows.velocity[body]
    if after >= 0:
        rows.position_after[i, after] = rows.position[body]
        rows.velocity_after[i, after] = rows.velocity[body]


def solved_translation(i: int, rows: GpsRows) -> tuple[Vec3, Vec3]:
    """Return position and velocity at the instant of the solution that is due."""
    delay = rows.delay[rows.kind[i]]
    slot = rows.slot[rows.clock[i]]
    if rows.time[0] - delay.latency <= rows.first_time[i]:
        return rows.first_position[i], rows.first_velocity[i]
    if delay.share == 0.0:
        return rows.position_before[i, slot], rows.velocity_before[i, slot]
    p = rows.position_before[i, slot]
    v = rows.velocity_before[i, slot]
    q = rows.position_after[i, slot]
    w = rows.velocity_after[i, slot]
    return hermite(p, v, q, w, delay.share, rows.time[1]), between(v, w, delay.share)


def gps(i: int, rows: GpsRows) -> None:
    """Record the states around coming solutions, and give a solution if it is due."""
    record_translation(i, rows)
    reading = rows.count[i]
    if reading == 0 or rows.due[rows.clock[i]] == 1:
        p = rows.noise[rows.kind[i]]
        body = rows.body[i]
        drawn = 4
        if reading == 0:
            drawn = 6
        for k in range(drawn):
            rows.normal[i, k] = normal_vector(rows.key[i], rows.copy[i], reading, k)
        if reading == 0:
            rows.first_time[i] = rows.time[0]
            rows.first_position[i] = rows.position[body]
            rows.first_velocity[i] = rows.velocity[body]
            rows.position_error[i] = rows.normal[i, 4]
            rows.velocity_error[i] = rows.normal[i, 4] * p.covariance + rows.normal[i, 5] * p.velocity_root
        error = rows.position_error[i]
        drift = rows.velocity_error[i]
        position, velocity = solved_translation(i, rows)
        # Errors are east, north and up at the receiver.
        cosine, sine = convergence(rows.origin[rows.kind[i]], position)
        noise = scaled(rows.normal[i, 0], p.position_noise_sigma) + scaled(error, p.position_error_sigma)
        rows.solved_position[i] = position + level_turn(noise, cosine, -sine)
        noise = scaled(rows.normal[i, 1], p.velocity_noise_sigma) + scaled(drift, p.position_error_sigma)
        rows.solved_velocity[i] = level_turn(velocity, cosine, sine) + noise
        rows.position_error[i] = (
            error * p.keep_position
            + drift * p.coupling
            + rows.normal[i, 2] * p.drive_position
            + rows.normal[i, 3] * p.drive_shared
        )
        rows.velocity_error[i] = drift * p.keep_velocity + rows.normal[i, 3] * p.drive_velocity
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


@dataclass(frozen=True, eq=False)
class GpsReading(Reading):
    """Position and velocity solution; invalid while `fix_type` is 0."""

    valid_at: float
    """Simulation time for which the solution holds, `stamp` minus the latency [s]."""
    latitude: Array
    """Latitude [deg], shape (N,)."""
    longitude: Array
    """Longitude [deg], shape (N,)."""
    altitude: Array
    """Altitude above mean sea level [m], shape (N,)."""
    velocity: Array
    """Velocity, east, north and up at the receiver [m/s], shape (N, 3); see `Environment.local`."""
    eph: Array
    """Horizontal accuracy that the receiver estimates [m], shape (N,)."""
    epv: Array
    """Vertical accuracy that the receiver estimates [m], shape (N,)."""
    fix_type: IntArray
    """0 without a fix, 2 for a horizontal and 3 for a full one, shape (N,)."""
    satellite_count: IntArray
    """Satellites in use, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class GPS(CompiledSensor):
    """GPS receiver.

    Latency, settling and fixes are those of AirSim 2017, sec. 3.4.4; the errors of position and velocity
    belong together as in Hector 2012, sec. 3.3. Sigmas and densities are per axis: east, north, up. The
    default accuracy is what PX4's own simulators report, and the default errors are as large as it says; they
    wander as slowly as those of Beard and McLain (Small unmanned aircraft, 2012, sec. 7.5).
    """

    columns = GpsRows
    function = staticmethod(gps)
    normal_count = 6

    rate_hz: float = 10.0
    """Readings per second [Hz]."""
    latency: float = 0.2
    """Age of a solution when it is given [s]."""
    position_error_sigma: tuple[float, float, float] = (0.6, 0.6, 1.6)
    """Stationary standard deviation of the wandering position error [m]."""
    position_correlation_time: float = 1100.0
    """Time constant of the position error [s]."""
    velocity_correlation_time: float = 4.0
    """Time constant tau_v of the velocity error [s]; with sigma_p and tau_p of the position error, the
    velocity error has the sigma sigma_p sqrt((1 + tau_p / tau_v) / tau_p^2): 0.009 m/s by default."""
    position_noise_density: tuple[float, float, float] = (2e-4, 2e-4, 4e-4)
    """Density of the white noise on position [m/sqrt(Hz)]."""
    velocity_noise_density: tuple[float, float, float] = (0.01, 0.01, 0.02)
    """Density of the white noise on velocity [m/s/sqrt(Hz)]."""
    startup_delay: float = 1.0
    """Time from the first reading until a fix is possible [s]."""
    initial_accuracy: float = 100.0
    """`eph` and `epv` at the start [m]."""
    eph: float = 0.9
    """Horizontal accuracy that `eph` settles to [m]."""
    epv: float = 1.78
    """Vertical accuracy that `epv` settles to [m]."""
    settling_time: float = 0.9
    """Time constant with which both settle [s]."""
    fix_2d_accuracy: float = 4.0
    """`eph` at or below which there is a horizontal fix [m]."""
    fix_3d_accuracy: float = 3.0
    """`eph` and `epv` at or below which there is a full fix [m]."""
    satellite_count: int = 10
    """Satellites in use while there is a fix."""

    def __post_init__(self) -> None:
        for name, unit in (
            ("rate_hz", "Hz"),
            ("position_correlation_time", "s"),
            ("velocity_correlation_time", "s"),
            ("settling_time", "s"),
        ):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        for name in ("latency", "startup_delay", "initial_accuracy", "eph", "epv", "fix_2d_accuracy",
                     "fix_3d_accuracy", "satellite_count"):  # fmt: skip
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        for name in ("position_error_sigma", "position_noise_density", "velocity_noise_density"):
            require_vector(name, getattr(self, name), negative_allowed=False)

    def parameters(self) -> Mapping[str, Any]:
        """Return delay and errors."""
        times = self.position_correlation_time, self.velocity_correlation_time
        shared, variance = error_covariance(*times)[1].tolist()
        transition, drive = error_coefficients(*times, dt=1 / self.rate_hz)
        white = white_noise_sigma(1.0, rate_hz=self.rate_hz)
        noise = GpsNoise(
            position_error_sigma=Vec3(*self.position_error_sigma),
            position_noise_sigma=Vec3(*self.position_noise_density) * white,
            velocity_noise_sigma=Vec3(*self.velocity_noise_density) * white,
            covariance=shared,
            velocity_root=math.sqrt(variance - shared * shared),
            keep_position=float(transition[0, 0]),
            coupling=float(transition[0, 1]),
            keep_velocity=float(transition[1, 1]),
            drive_position=float(drive[0, 0]),
            drive_shared=float(drive[0, 1]),
            drive_velocity=float(drive[1, 1]),
        )
        return {"delay": self.delay(), "noise": noise, "origin": self.environment.origin}

    def initial(self) -> Mapping[str, Array]:
        """Return empty records."""
        slots = np.zeros((self.count, self.delay().slots, 3))
        names = "position_before", "velocity_before", "position_after", "velocity_after"
        return {name: slots.copy() for name in names}

    def reading(self, stamp: float) -> GpsReading:
        """Return the last solution: that for `latency` ago, or for the first reading until it is so old."""
        rows = self.rows
        latitude, longitude, altitude = self.environment.geodetic(rows["solved_position"].copy())
        # Copies that were reset began later than others.
        first, which = np.unique(rows["first_time"], return_inverse=True)
        found = zip(*[self._accuracy(stamp - begin) for begin in first.tolist()], strict=True)
        eph, epv, fix_type = (np.array(values)[which] for values in found)
        return GpsReading(
            stamp,
            max(stamp - self.latency, float(first[0])),
            latitude,
            longitude,
            altitude,
            rows["solved_velocity"].copy(),
            eph,
            epv,
            fix_type,
            np.where(fix_type == NO_FIX, 0, self.satellite_count),
        )

    def _accuracy(self, age: float) -> tuple[float, float, int]:
        """Return eph, epv and the type of fix at a time since the first reading."""
        initial, tau = self.initial_accuracy, self.settling_time
        eph = settling(age, initial=initial, final=self.eph, time_constant=tau)
        epv = settling(age, initial=initial, final=self.epv, time_constant=tau)
        if age < self.startup_delay or eph > self.fix_2d_accuracy:
            return eph, epv, NO_FIX
        return eph, epv, FIX_3D if max(eph, epv) <= self.fix_3d_accuracy else FIX_2D
