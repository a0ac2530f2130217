"""White noise and Gauss-Markov biases whose statistics do not depend on the sampling rate."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.components import require
from pegasus.base.step_math import Vec3, exp, expm1
from pegasus.environment.common_errors import LinearProcess


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
        dt: Sampling interval [s].
    """
    phi = exp(-dt / correlation_time)
    return phi, sigma * math.sqrt(-expm1(-2 * dt / correlation_time))


def gauss_markov_process(correlation_time: float) -> LinearProcess:
    """Return the Gauss-Markov process of unit variance for `CommonErrors`.

    Args:
        correlation_time: Time constant tau [s].
    """
    interval = correlation_time / 2000
    phi, drive = gauss_markov_coefficients(1.0, correlation_time=correlation_time, dt=interval)
    return LinearProcess(np.ones((1, 1)), np.array([[phi]]), np.array([[drive]]), interval)


@dataclass(frozen=True)
class NoiseParameters:
    """Noise of a measured vector at a rate, for step functions."""

    white_sigma: float
    """Standard deviation of the white noise of a sample [unit]."""
    phi: float
    """Fraction of the bias that remains after a sample; see `gauss_markov_coefficients`."""
    drive: float
    """Standard deviation of the noise that drives the bias in a sample [unit]."""
    bias_sigma: float
    """Stationary standard deviation of the bias [unit]."""
    turn_on_bias: float
    """Standard deviation of the constant offset [unit]."""


def noise_of_sigma(
    noise_density: float, sigma: float, correlation_time: float, *, rate_hz: float, turn_on_bias: float = 0.0
) -> NoiseParameters:
    """Return the noise of samples at a rate.

    Args:
        noise_density: Density of the white noise [unit/sqrt(Hz)].
        sigma: Stationary standard deviation of the bias [unit].
        correlation_time: Time constant of the bias [s].
        rate_hz: Samples per second [Hz].
        turn_on_bias: Standard deviation of the constant offset [unit].
    """
    phi, drive = gauss_markov_coefficients(sigma, correlation_time=correlation_time, dt=1 / rate_hz)
    white_sigma = white_noise_sigma(noise_density, rate_hz=rate_hz)
    return NoiseParameters(white_sigma, phi, drive, sigma, turn_on_bias)


def noisy(p: NoiseParameters, true: Vec3, white: Vec3, bias: Vec3, offset: Vec3) -> Vec3:
    """Return a sample: the true value plus white noise, bias and offset.

    Args:
        p: Noise.
        true: True value [unit].
        white: Standard normal numbers.
        bias: Gauss-Markov bias [unit].
        offset: Turn-on bias [unit].
    """
    return white * p.white_sigma + bias + offset + true


def next_bias(p: NoiseParameters, bias: Vec3, normal: Vec3) -> Vec3:
    """Return the bias at the next sample [unit].

    Args:
        p: Noise.
        bias: Present bias [unit].
        normal: Standard normal numbers.
    """
    return bias * p.phi + normal * p.drive


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """Noise of a measured vector, independent on each axis of each vehicle.

    A sample is the true value plus white noise, a Gauss-Markov bias and a turn-on bias.
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

    def at_rate(self, rate_hz: float) -> NoiseParameters:
        """Return the parameters of samples at a rate.

        Args:
            rate_hz: Samples per second [Hz].
        """
        return noise_of_sigma(
            self.noise_density,
            self.bias_sigma,
            self.bias_correlation_time,
            rate_hz=rate_hz,
            turn_on_bias=self.turn_on_bias,
        )
