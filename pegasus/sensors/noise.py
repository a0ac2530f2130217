"""White noise and Gauss-Markov biases, discretised so that their statistics do not depend on the rate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.sensors.sensor import NoiseBlock


def white_noise_sigma(noise_density: float, *, rate_hz: float) -> float:
    """Return the standard deviation of one sample of white noise, density * sqrt(rate).

    Source: Woodman 2007, "An introduction to inertial navigation"; Gazebo, PX4 and Pegasus agree.

    Args:
        noise_density: Density [unit/sqrt(Hz)], which is the Allan deviation at 1 s [unit].
        rate_hz: Samples per second [Hz].
    """
    return noise_density * math.sqrt(rate_hz)


def gauss_markov_sigma(random_walk: float, *, correlation_time: float) -> float:
    """Return the stationary standard deviation of db = -b/tau dt + q dW, which is q sqrt(tau / 2).

    Source: Hector 2012, eq. 11b; `random_walk` is the q that Gazebo, PX4 and Pegasus give.

    Args:
        random_walk: Density q of the driving noise [unit/s/sqrt(Hz)].
        correlation_time: Time constant tau [s].
    """
    return random_walk * math.sqrt(correlation_time / 2)


def gauss_markov_coefficients(sigma: float, *, correlation_time: float, dt: float) -> tuple[float, float]:
    """Return (phi, drive) of the exact discretisation b' = phi b + drive eta, eta standard normal.

    phi = exp(-dt / tau) and drive = sigma sqrt(1 - phi^2) keep sigma and tau whatever the step.
    Source: Hector 2012, eq. 11b, solved over one step.

    Args:
        sigma: Stationary standard deviation [unit].
        correlation_time: Time constant tau [s].
        dt: Time from one sample to the next [s].
    """
    phi = math.exp(-dt / correlation_time)
    return phi, sigma * math.sqrt(-math.expm1(-2 * dt / correlation_time))


def gauss_markov_step(bias: Array, normal: Array, *, phi: float | Array, drive: float | Array) -> Array:
    """Return the next value of a Gauss-Markov process.

    Args:
        bias: Value now [unit], shape (...).
        normal: Standard normal numbers, shape of `bias`.
        phi: Share of the bias that stays; see `gauss_markov_coefficients`.
        drive: Standard deviation of what is added [unit].
    """
    return phi * bias + drive * normal


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """Noise of one measured vector; each axis of each vehicle has its own.

    A sample is the truth, plus white noise, plus a Gauss-Markov bias, plus a turn-on bias.
    """

    noise_density: float
    """Density of the white noise [unit/sqrt(Hz)]."""
    bias_random_walk: float
    """Density of the noise that drives the bias [unit/s/sqrt(Hz)]."""
    bias_correlation_time: float
    """Time constant of the bias [s]."""
    turn_on_bias: float
    """Standard deviation of a constant offset, drawn anew at every start [unit]."""

    def __post_init__(self) -> None:
        for name in ("noise_density", "bias_random_walk", "turn_on_bias"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        tau = self.bias_correlation_time
        require(0 < tau < math.inf, "bias_correlation_time", tau, "must be above 0 s and finite")

    @property
    def bias_sigma(self) -> float:
        """Stationary standard deviation of the bias [unit]."""
        return gauss_markov_sigma(self.bias_random_walk, correlation_time=self.bias_correlation_time)


class NoiseProcess:
    """Noise of K vectors of N vehicles, one sample after the other.

    Biases start from their stationary distribution, so that no instant is special.

    Args:
        models: Noise of each of the K vectors.
        rate_hz: Samples per second [Hz].
        rngs: Streams of random numbers, one for each vehicle; nothing else may draw from them afterwards.
    """

    def __init__(
        self, models: Sequence[NoiseModel], *, rate_hz: float, rngs: Sequence[np.random.Generator]
    ) -> None:
        steps = [
            gauss_markov_coefficients(m.bias_sigma, correlation_time=m.bias_correlation_time, dt=1 / rate_hz)
            for m in models
        ]
        self._phi = _column([phi for phi, _ in steps])
        self._drive = _column([drive for _, drive in steps])
        self._sigma = _column([white_noise_sigma(m.noise_density, rate_hz=rate_hz) for m in models])
        self._normals = NoiseBlock(rngs, (2, len(models), 3))
        turn_on, bias = self._take()
        self._turn_on = _column([m.turn_on_bias for m in models]) * turn_on
        self._bias = _column([m.bias_sigma for m in models]) * bias

    def sample(self) -> Array:
        """Return the noise of the next sample [unit], a new array of shape (K, N, 3)."""
        white, driving = self._take()
        noise: Array = white * self._sigma
        noise += self._bias
        noise += self._turn_on
        self._bias = gauss_markov_step(self._bias, driving, phi=self._phi, drive=self._drive)
        return noise

    def _take(self) -> Array:
        """Return standard normal numbers, shape (2, K, N, 3)."""
        return self._normals.take().transpose(1, 2, 0, 3)


def _column(values: Sequence[float]) -> Array:
    """Return one number per vector, to be broadcast over vehicles and axes, shape (K, 1, 1)."""
    return np.array(values, dtype=np.float64).reshape(-1, 1, 1)
