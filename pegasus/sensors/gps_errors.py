"""Errors of GPS receivers: correlated position and velocity errors, settling, and RTK."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, row_product
from pegasus.base.components import require, require_vector
from pegasus.base.step_math import Real, Vec3, exp, expm1
from pegasus.environment.common_errors import LinearProcess


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
    coupling = exp(-a * dt) * dt * (expm1(gap) / gap if gap else 1.0)
    transition = np.array([[exp(-a * dt), coupling], [0.0, exp(-b * dt)]])
    stationary = error_covariance(position_time, velocity_time)
    noise = stationary - row_product(row_product(transition, stationary), transition.T)
    # Square root with the velocity first, whose noise is the larger for short steps.
    velocity = math.sqrt(noise[1, 1])
    shared = noise[0, 1] / velocity
    own = math.sqrt(max(noise[0, 0] - shared * shared, 0.0))
    return transition, np.array([[own, shared], [0.0, velocity]])


def error_process(position_time: float, velocity_time: float) -> LinearProcess:
    """Return the process of both errors, for a position error of 1 m, for `CommonErrors`.

    Args:
        position_time: Time constant of the position error [s].
        velocity_time: Time constant of the velocity error [s].
    """
    interval = min(position_time, velocity_time) / 40
    (_, shared), (_, variance) = error_covariance(position_time, velocity_time).tolist()
    initial = np.array([[1.0, 0.0], [shared, math.sqrt(variance - shared * shared)]])
    return LinearProcess(initial, *error_coefficients(position_time, velocity_time, dt=interval), interval)


def settling(t: float, *, initial: float, final: float, time_constant: float) -> float:
    """Return the step response of a first-order filter (AirSim 2017, sec. 3.4.4).

    Args:
        t: Time since the start [s].
        initial: Value at the start.
        final: Final value.
        time_constant: Time constant [s].
    """
    return final + (initial - final) * exp(-t / time_constant)


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
    own_root: float
    """Standard deviation of the receiver's part of a position error of 1 m [m]."""
    common_root: float
    """Standard deviation of the part that all receivers have in common [m]."""
    impaired: int
    """1 if the reception varies."""
    rtk: int
    """1 if the receiver has corrections."""
    float_time: float
    fixed_time: float
    """Times from which its ambiguities are float and fixed [s]."""
    float_sigma: Vec3
    fixed_sigma: Vec3
    """Stationary standard deviations of the position error then [m]."""


def position_sigma(p: GpsNoise, age: Real) -> Vec3:
    """Return the standard deviation of the wandering position error [m].

    Args:
        p: Errors.
        age: Time since the start or the last loss [s].
    """
    if p.rtk == 1:
        if age >= p.fixed_time:
            return p.fixed_sigma
        if age >= p.float_time:
            return p.float_sigma
    return p.position_error_sigma


@dataclass(frozen=True, kw_only=True)
class Rtk:
    """Corrections by a base station: carrier phases with float ambiguities, which are fixed after a time."""

    float_time: float = 5.0
    """Time from the start, or from a loss of all satellites, until the ambiguities are float [s]."""
    fixed_time: float = 20.0
    """Time until they are fixed [s]."""
    float_sigma: tuple[float, float, float] = (0.2, 0.2, 0.4)
    """Standard deviation of the wandering position error while they are float [m]."""
    fixed_sigma: tuple[float, float, float] = (0.01, 0.01, 0.02)
    """Standard deviation while they are fixed [m]."""

    def __post_init__(self) -> None:
        require(0 <= self.float_time < math.inf, "float_time", self.float_time, "must be 0 s or more, finite")
        allowed = f"must be at least float_time of {self.float_time:g} s, and finite"
        require(self.float_time <= self.fixed_time < math.inf, "fixed_time", self.fixed_time, allowed)
        for name in ("float_sigma", "fixed_sigma"):
            require_vector(name, getattr(self, name), unit="m", negative_allowed=False)

    def accuracy(self, age: float) -> tuple[float, float]:
        """Return the horizontal and the vertical accuracy that the receiver states [m].

        Args:
            age: Time since the start or the last loss, of `float_time` or more [s].
        """
        east, north, up = self.fixed_sigma if age >= self.fixed_time else self.float_sigma
        return math.sqrt(east * east + north * north), up
