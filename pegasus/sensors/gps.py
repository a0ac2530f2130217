"""GPS receiver: late, with slowly wandering errors, and without a fix at first."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, IntArray, row_product
from pegasus.components import require
from pegasus.sensors.delay import History
from pegasus.sensors.noise import white_noise_sigma
from pegasus.sensors.sensor import NoiseBlock, Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor

NO_FIX, FIX_2D, FIX_3D = 0, 2, 3
"""Values of `GpsReading.fix_type`, as MAVLink numbers them."""


def error_covariance(position_time: float, velocity_time: float) -> Array:
    """Return the stationary covariance of position and velocity error, for a position error of 1 m.

    The velocity error is a Gauss-Markov process, and it drives that of the position:
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
        dt: Time from one sample to the next [s].
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


def _mix(matrix: Array, error: Array) -> Array:
    """Return a matrix (2, 2) times position and velocity of each vehicle and axis, shape (N, 2, 3)."""
    mixed: Array = (matrix[:, :, None] * error[:, None]).sum(axis=2)
    return mixed


def settling(t: float, *, initial: float, final: float, time_constant: float) -> float:
    """Return a first-order filter's way from its initial to its final value (AirSim 2017, sec. 3.4.4).

    Args:
        t: Time since the start [s].
        initial: Value at the start.
        final: Value after long.
        time_constant: Time constant [s].
    """
    return final + (initial - final) * math.exp(-t / time_constant)


@dataclass(frozen=True, eq=False)
class GpsReading(Reading):
    """A position and velocity solution; not to be used while `fix_type` is 0."""

    valid_at: float
    """Simulation time at which the solution was true, `stamp` less the latency [s]."""
    latitude: Array
    """Latitude [deg], shape (N,)."""
    longitude: Array
    """Longitude [deg], shape (N,)."""
    altitude: Array
    """Altitude above mean sea level [m], shape (N,)."""
    velocity: Array
    """Velocity in the world (ENU) [m/s], shape (N, 3)."""
    eph: Array
    """Horizontal accuracy that the receiver estimates [m], shape (N,)."""
    epv: Array
    """Vertical accuracy that the receiver estimates [m], shape (N,)."""
    fix_type: IntArray
    """0 without a fix, 2 for a horizontal and 3 for a full one, shape (N,)."""
    satellite_count: IntArray
    """Satellites in use, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class GPS(Sensor):
    """GPS receiver.

    Latency, settling and fixes are those of AirSim 2017, sec. 3.4.4; the errors of position and velocity
    belong together as in Hector 2012, sec. 3.3. Sigmas and densities are per axis: east, north, up. The
    default accuracy is what PX4's own simulators report, and the default errors are as large as it says; they
    wander as slowly as those of Beard and McLain (Small unmanned aircraft, 2012, sec. 7.5).
    """

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

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; forget the past, lose the fix, draw errors anew.

        Args:
            vehicle: The vehicle; its count is used.
            environment: Geographic coordinates.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._first_reading: float | None = None
        self._history = History()
        times = self.position_correlation_time, self.velocity_correlation_time
        self._transition, self._drive = error_coefficients(*times, dt=1 / self.rate_hz)
        # Position and velocity error of a sigma of 1 m, scaled to each axis when they are used.
        self._normals = NoiseBlock(self.rngs, (2, 2, 3))
        shared, variance = error_covariance(*times)[1]
        root = np.array([[1.0, 0.0], [shared, math.sqrt(variance - shared * shared)]])
        self._error = _mix(root, self._normals.take()[:, 0])
        self._error_sigma = np.array(self.position_error_sigma)
        densities = np.array([self.position_noise_density, self.velocity_noise_density])
        self._noise_sigma = white_noise_sigma(1.0, rate_hz=self.rate_hz) * densities

    def measure(self, state: VehicleState, t: float) -> GpsReading:
        """Return the solution for `latency` ago, or for the first reading as long as that is not so old.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        if self._first_reading is None:
            self._first_reading = t
        self._history.add(t, state)
        solved = self._history.at(t - self.latency)
        position, velocity = solved.translation()
        normals = self._normals.take()
        white, driving = normals[:, 0], normals[:, 1]
        error = white * self._noise_sigma + self._error * self._error_sigma
        self._error = _mix(self._transition, self._error) + _mix(self._drive, driving)
        latitude, longitude, altitude = self.environment.geodetic(position + error[:, 0])
        eph, epv, fix_type = self._accuracy(t - self._first_reading)
        n = self.count
        return GpsReading(
            t,
            solved.time,
            latitude,
            longitude,
            altitude,
            velocity + error[:, 1],
            np.full(n, eph),
            np.full(n, epv),
            np.full(n, fix_type),
            np.full(n, self.satellite_count if fix_type else 0),
        )

    def _accuracy(self, age: float) -> tuple[float, float, int]:
        """Return eph, epv and the type of fix at a time since the first reading."""
        initial, tau = self.initial_accuracy, self.settling_time
        eph = settling(age, initial=initial, final=self.eph, time_constant=tau)
        epv = settling(age, initial=initial, final=self.epv, time_constant=tau)
        if age < self.startup_delay or eph > self.fix_2d_accuracy:
            return eph, epv, NO_FIX
        return eph, epv, FIX_3D if max(eph, epv) <= self.fix_3d_accuracy else FIX_2D
