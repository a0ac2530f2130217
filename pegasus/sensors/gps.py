"""GPS receiver with latency, correlated position and velocity errors, and fix states."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Column, Real, Vec3, scaled
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.compiled_sensor import CompiledSensor, DelayedRows
from pegasus.environment.geodesy import Geodetic, convergence, level_turn
from pegasus.environment.jamming import LOSS_RATIO
from pegasus.sensors.delay import between, hermite
from pegasus.sensors.gps_errors import (
    GpsNoise,
    Rtk,
    error_coefficients,
    error_covariance,
    error_process,
    position_sigma,
    settling,
)
from pegasus.sensors.noise import white_noise_sigma
from pegasus.sensors.sky_view import SkyView, reception, satellite_directions

NO_FIX, FIX_2D, FIX_3D, RTK_FLOAT, RTK_FIXED = 0, 2, 3, 5, 6
"""Values of `GpsReading.fix_type`, as MAVLink numbers them."""


@dataclass
class GpsRows(DelayedRows):
    """Columns of GPS receivers."""

    noise: Column[GpsNoise]
    origin: Column[Geodetic]
    position: Column[Vec3]
    velocity: Column[Vec3]
    first_position: Column[Vec3]
    first_velocity: Column[Vec3]
    position_before: Column[Vec3]
    velocity_before: Column[Vec3]
    position_after: Column[Vec3]
    velocity_after: Column[Vec3]
    position_error: Column[Vec3]
    """Wandering position error for a sigma of 1 m."""
    velocity_error: Column[Vec3]
    """Velocity error that belongs to it."""
    solved_position: Column[Vec3]
    """Position of the last solution in the world [m]."""
    solved_velocity: Column[Vec3]
    """Velocity of the last solution, local east, north and up [m/s]."""
    common_position: Column[Vec3]
    """Wandering position error that all receivers have in common, for a sigma of 1 m; none with RTK."""
    common_velocity: Column[Vec3]
    """Velocity error that belongs to it."""
    noise_share: Column[Vec3]
    """Present growth of all errors by the reception, east, north and up."""
    reflection_bias: Column[Vec3]
    """Present position error by reflected signals, east, north and up [m]."""
    used: Column[int]
    """Present number of satellites in use."""
    lost: Column[int]
    """1 if the receiver has lost all satellites."""
    solved_share: Column[Vec3]
    """Growth of the errors of the last solution."""
    solved_used: Column[int]
    """Satellites of the last solution; 0 without one."""
    since: Column[Real]
    """Time of the start or of the last loss [s]."""


def solved_translation(i: int, rows: GpsRows) -> tuple[Vec3, Vec3]:
    """Return position and velocity at the instant of the solution that is due."""
    delay = rows.delay[rows.kind[i]]
    if rows.time[0] - delay.latency <= rows.first_time[i]:
        return rows.first_position[i], rows.first_velocity[i]
    if delay.share == 0.0:
        return rows.position_before[i], rows.velocity_before[i]
    p = rows.position_before[i]
    v = rows.velocity_before[i]
    q = rows.position_after[i]
    w = rows.velocity_after[i]
    return hermite(p, v, q, w, delay.share, rows.time[1]), between(v, w, delay.share)


def gps(i: int, rows: GpsRows) -> None:
    """Give a solution if it is due."""
    reading = rows.count[i]
    if rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1:
        p = rows.noise[rows.kind[i]]
        body = rows.body[i]
        key = rows.key[i]
        copy = rows.copy[i]
        if rows.starts[i] == 1:
            rows.first_time[i] = rows.time[0]
            rows.since[i] = rows.time[0]
            rows.first_position[i] = rows.position[body]
            rows.first_velocity[i] = rows.velocity[body]
            first = normal_vector(key, copy, 0, 4)
            second = normal_vector(key, copy, 0, 5)
            rows.position_error[i] = first
            rows.velocity_error[i] = first * p.covariance + second * p.velocity_root
        own = rows.position_error[i]
        drift = rows.velocity_error[i]
        position, velocity = solved_translation(i, rows)
        # Errors are east, north and up at the receiver.
        cosine, sine = convergence(rows.origin[rows.kind[i]], position)
        sigma = p.position_error_sigma
        share = Vec3(1.0, 1.0, 1.0)
        bias = Vec3(0.0, 0.0, 0.0)
        if p.impaired == 1:
            if rows.lost[i] == 1:
                rows.since[i] = rows.time[0]
            sigma = position_sigma(p, rows.time[0] - rows.since[i])
            share = rows.noise_share[i]
            bias = rows.reflection_bias[i]
        rows.solved_share[i] = share
        rows.solved_used[i] = rows.used[i] * (1 - rows.lost[i])
        root = p.own_root
        if p.rtk == 1 and rows.time[0] - rows.since[i] >= p.float_time:
            root = 1.0
        error = own * root
        error_rate = drift * root
        if root < 1.0:
            error = error + rows.common_position[i] * p.common_root
            error_rate = error_rate + rows.common_velocity[i] * p.common_root
        noise = scaled(normal_vector(key, copy, reading, 0), p.position_noise_sigma) + scaled(error, sigma)
        noise = scaled(noise, share) + bias
        rows.solved_position[i] = position + level_turn(noise, cosine, -sine)
        noise = scaled(normal_vector(key, copy, reading, 1), p.velocity_noise_sigma) + scaled(
            error_rate, sigma
        )
        noise = scaled(noise, share)
        rows.solved_velocity[i] = level_turn(velocity, cosine, sine) + noise
        driving = normal_vector(key, copy, reading, 2)
        shared = normal_vector(key, copy, reading, 3)
        rows.position_error[i] = (
            own * p.keep_position + drift * p.coupling + driving * p.drive_position + shared * p.drive_shared
        )
        rows.velocity_error[i] = drift * p.keep_velocity + shared * p.drive_velocity
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
    """0 without a fix, 2 for a horizontal, 3 for a full, 5 for an RTK float, 6 for an RTK fix, shape (N,)."""
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
    recorded: ClassVar = {"position": "position", "velocity": "velocity"}

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
    common_share: float = 0.9
    """Share of the variance of both errors that all receivers of a world have in common, by atmosphere and
    orbits; base stations correct it."""
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
    rtk: Rtk | None = None
    """Corrections by a base station; none by default."""
    sky: SkyView | None = None
    """Sky view among obstacles; an open sky by default."""

    def __post_init__(self) -> None:
        require(0 <= self.common_share <= 1, "common_share", self.common_share, "must be from 0 to 1")
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
        rtk = self.rtk or Rtk()
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
            own_root=math.sqrt(1.0 - self._share),
            common_root=math.sqrt(self._share),
            impaired=int(self._is_impaired or self.rtk is not None),
            rtk=int(self.rtk is not None),
            float_time=rtk.float_time,
            fixed_time=rtk.fixed_time,
            float_sigma=Vec3(*rtk.float_sigma),
            fixed_sigma=Vec3(*rtk.fixed_sigma),
        )
        return {"delay": self.delay(), "noise": noise, "origin": self.environment.origin}

    def initial(self) -> Mapping[str, Array]:
        """Return an open sky."""
        self._is_impaired = self.sky is not None or len(getattr(self.environment, "jammers", ())) > 0
        common = getattr(self.environment, "common_errors", None)
        self._share, self._common = 0.0, None
        self._fed: Array | None = None
        if common is not None and self.common_share > 0.0:
            times = self.position_correlation_time, self.velocity_correlation_time
            self._share, self._common = self.common_share, common.find("gps", times, error_process, axes=3)
        self.is_fed = self._is_impaired or self._common is not None
        self._satellites: tuple[float, Array] = (math.nan, np.zeros((0, 3)))
        return {
            "noise_share": np.ones((self.count, 3)),
            "used": np.full(self.count, self.satellite_count, dtype=np.int32),
        }

    def feed(self, state: VehicleState) -> None:
        """Set the present common errors, and find the reception at the present positions."""
        if self._common is not None:
            common = self._common.at(self.vehicle.sensors.now)
            if common is not self._fed:
                self._fed = common
                self.rows["common_position"][...] = common[0]
                self.rows["common_velocity"][...] = common[1]
        if self._is_impaired:
            self._receive(state)

    def _receive(self, state: VehicleState) -> None:
        rows, ratio = self.rows, self.environment.jamming_at(state.position, self._cast)
        rows["noise_share"][...] = np.sqrt(1.0 + ratio)[:, None]
        lost = ratio >= LOSS_RATIO
        if self.sky is not None:
            cast = functools.partial(self._cast, reach=self.sky.reach)
            found = reception(self.sky, self._directions(), state.position, cast)
            rows["noise_share"] *= found.growth
            rows["reflection_bias"][...] = found.bias
            rows["used"][...] = found.used
            lost |= found.lost
        rows["lost"][...] = lost

    def _directions(self) -> Array:
        """Return the directions to the satellites, which are renewed every 10 s of simulated time."""
        t = 10.0 * math.floor(self.vehicle.sensors.now / 10.0)
        if self._satellites[0] != t:
            origin = self.environment.origin
            self._satellites = t, satellite_directions(origin.latitude, origin.longitude, t)
        return self._satellites[1]

    def _cast(self, origins: Array, directions: Array, reach: float) -> Array:
        """Return the distances to the scene and vehicles along rays, infinite beyond the reach."""
        return self.vehicle.manager.cast(self.vehicle, origins, directions, reach).distance

    def reading(self, stamp: float) -> GpsReading:
        """Return the last solution: that for `latency` ago, or for the first reading until it is so old."""
        rows = self.rows
        latitude, longitude, altitude = self.environment.geodetic(rows["solved_position"].copy())
        # Copies that were reset, or lost all satellites, began later than others.
        columns = (rows[name].tolist() for name in ("since", "solved_used", "solved_share"))
        states = [(t, used, max(x, 1.0), max(z, 1.0)) for t, used, (x, _, z) in zip(*columns, strict=True)]
        found = {state: self._accuracy(stamp - state[0], *state[1:]) for state in set(states)}
        eph, epv, fix_type = (np.array(values) for values in zip(*(found[s] for s in states), strict=True))
        used = rows["solved_used"].astype(np.int64) if self._is_impaired else self.satellite_count
        return GpsReading(
            stamp,
            max(stamp - self.latency, min(rows["first_time"].tolist())),
            latitude,
            longitude,
            altitude,
            rows["solved_velocity"].copy(),
            eph,
            epv,
            fix_type,
            np.where(fix_type == NO_FIX, 0, used),
        )

    def _accuracy(
        self, age: float, used: int, horizontal: float, vertical: float
    ) -> tuple[float, float, int]:
        """Return eph, epv and the type of fix.

        Args:
            age: Time since the first reading or the last loss [s].
            used: Satellites of the solution.
            horizontal: Growth of the horizontal errors by the reception.
            vertical: Growth of the vertical errors.
        """
        initial, tau = self.initial_accuracy, self.settling_time
        eph = settling(age, initial=initial, final=self.eph, time_constant=tau) * horizontal
        epv = settling(age, initial=initial, final=self.epv, time_constant=tau) * vertical
        lost = used == 0 and self._is_impaired
        if lost or age < self.startup_delay or eph > self.fix_2d_accuracy:
            return eph, epv, NO_FIX
        if max(eph, epv) > self.fix_3d_accuracy:
            return eph, epv, FIX_2D
        if self.rtk is not None and age >= self.rtk.float_time:
            eph, epv = self.rtk.accuracy(age)
            fixed = age >= self.rtk.fixed_time
            return eph * horizontal, epv * vertical, RTK_FIXED if fixed else RTK_FLOAT
        return eph, epv, FIX_3D
