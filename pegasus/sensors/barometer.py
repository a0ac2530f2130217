"""Barometer: static pressure in a weather that drifts, and the altitude that an altimeter makes of it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.environment.atmosphere import UsStandardAtmosphere1976
from pegasus.sensors.noise import gauss_markov_coefficients, gauss_markov_step, white_noise_sigma
from pegasus.sensors.sensor import NoiseBlock, Reading, Sensor
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor


@dataclass(frozen=True, eq=False)
class BarometerReading(Reading):
    """Static pressure, temperature of the air, and the altitude that belongs to the pressure."""

    pressure: Array
    """Pressure [Pa], shape (N,)."""
    temperature: Array
    """Temperature [K], shape (N,)."""
    pressure_altitude: Array
    """Geopotential altitude at which the US Standard Atmosphere 1976 has that pressure [m], shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Barometer(Sensor):
    """Barometer with AirSim's noise (AirSim 2017, sec. 3.4.1).

    The weather multiplies the true pressure by 1 + b, where b is a Gauss-Markov process; the sensor adds
    white noise. Altitudes count from mean sea level, as the world's origin has one.
    """

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    noise_density: float = 2.7 / math.sqrt(50.0)
    """Density of the white noise [Pa/sqrt(Hz)]; 2.7 Pa at 50 Hz."""
    drift_sigma: float = 0.0365 / 20
    """Stationary standard deviation of the drift, as a share of the pressure: 185 Pa at sea level."""
    drift_correlation_time: float = 3600.0
    """Time constant of the drift [s]."""

    def __post_init__(self) -> None:
        for name, unit in (("rate_hz", "Hz"), ("drift_correlation_time", "s")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        for name in ("noise_density", "drift_sigma"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; draw the drift anew from its stationary distribution.

        Args:
            vehicle: The vehicle; its count is used.
            environment: Pressure and temperature of the air.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._standard = UsStandardAtmosphere1976()
        self._phi, self._drive = gauss_markov_coefficients(
            self.drift_sigma, correlation_time=self.drift_correlation_time, dt=1 / self.rate_hz
        )
        self._noise_sigma = white_noise_sigma(self.noise_density, rate_hz=self.rate_hz)
        self._normals = NoiseBlock(self.rngs, (2,))
        self._drift = self.drift_sigma * self._normals.take()[:, 0]

    def measure(self, state: VehicleState, t: float) -> BarometerReading:
        """Return pressure, temperature and pressure altitude.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        air = self.environment.air(state.position)
        white, driving = self._normals.take().T
        pressure = air.pressure * (1 + self._drift) + self._noise_sigma * white
        self._drift = gauss_markov_step(self._drift, driving, phi=self._phi, drive=self._drive)
        return BarometerReading(t, pressure, air.temperature, self._standard.pressure_altitude(pressure))
