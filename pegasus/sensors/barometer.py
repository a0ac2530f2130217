"""Barometer: static pressure with weather drift, temperature and pressure altitude."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.random_numbers import normals
from pegasus.base.step_math import Column, Real, Vec3
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.compiled_sensor import CompiledSensor, SensorRows
from pegasus.environment.atmosphere import (
    AtmosphereParameters,
    UsStandardAtmosphere1976,
    pressure_altitude_at,
    standard_air,
)
from pegasus.sensors.noise import NoiseParameters, gauss_markov_process, noise_of_sigma

_STANDARD = UsStandardAtmosphere1976()


@dataclass(frozen=True)
class Place:
    """World of a barometer."""

    altitude: float
    """Altitude of the world's origin above mean sea level [m]."""
    standard: int
    """1 if the air is that of `standard_air`, in place of `pressure` and `temperature`."""


@dataclass
class BarometerRows(SensorRows):
    """Columns of barometers."""

    noise: Column[NoiseParameters]
    atmosphere: Column[AtmosphereParameters]
    standard: Column[AtmosphereParameters]
    """Air of the US Standard Atmosphere 1976, for the pressure altitude."""
    place: Column[Place]
    position: Column[Vec3]
    pressure: Column[Real]
    temperature: Column[Real]
    weather: Column[Real]
    """Common part of the drift, relative to the pressure."""
    drift: Column[Real]
    """The sensor's part."""
    measured_pressure: Column[Real]
    """Pressure of the last reading [Pa]."""
    measured_temperature: Column[Real]
    """Temperature of the last reading [K]."""
    pressure_altitude: Column[Real]
    """Pressure altitude of the last reading [m]."""


def barometer(i: int, rows: BarometerRows) -> None:
    """Take the reading of a barometer if it is due."""
    reading = rows.count[i]
    if rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1:
        p = rows.noise[rows.kind[i]]
        white, driving, first, _ = normals(rows.key[i], rows.copy[i], reading, 0)
        if rows.starts[i] == 1:
            rows.drift[i] = p.bias_sigma * first
        body = rows.body[i]
        pressure = rows.pressure[body]
        temperature = rows.temperature[body]
        place = rows.place[rows.kind[i]]
        if place.standard == 1:
            altitude = rows.position[body][2] + place.altitude
            pressure, temperature, _ = standard_air(rows.atmosphere[rows.kind[i]], altitude)
        rows.measured_pressure[i] = (
            pressure * (1.0 + (rows.weather[i] + rows.drift[i])) + p.white_sigma * white
        )
        rows.measured_temperature[i] = temperature
        standard = rows.standard[rows.kind[i]]
        rows.pressure_altitude[i] = pressure_altitude_at(standard, rows.measured_pressure[i])
        rows.drift[i] = p.phi * rows.drift[i] + p.drive * driving
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


@dataclass(frozen=True, eq=False)
class BarometerReading(Reading):
    """Static pressure, air temperature and pressure altitude."""

    pressure: Array
    """Pressure [Pa], shape (N,)."""
    temperature: Array
    """Temperature [K], shape (N,)."""
    pressure_altitude: Array
    """Geopotential altitude at which the US Standard Atmosphere 1976 has that pressure [m], shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Barometer(CompiledSensor):
    """Barometer with the noise of a BMP388, in weather that changes slowly (model: AirSim 2017, sec. 3.4.1).

    The drift multiplies the true pressure by 1 + b, where b is a Gauss-Markov process: in part that of the
    weather, the same for all barometers of a world, in part the sensor's. The sensor adds white noise.
    Altitudes are above mean sea level. Source of the white noise: Bosch Sensortec BST-BMP388-DS001, settings
    for drones (50 Hz, 8 times oversampled): 11 cm. The drift is 1.3 Pa in a minute, 0.1 m, and 4.7 Pa in a
    quarter of an hour.
    """

    columns = BarometerRows
    function = staticmethod(barometer)
    gives = BarometerReading, "measured_pressure", "measured_temperature", "pressure_altitude"

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    noise_density: float = 1.3 / math.sqrt(50.0)
    """Density of the white noise [Pa/sqrt(Hz)]; 1.3 Pa at 50 Hz."""
    drift_sigma: float = 7.0e-5
    """Stationary standard deviation of the drift relative to the pressure: 7.1 Pa at sea level."""
    drift_correlation_time: float = 3600.0
    """Time constant of the drift [s]."""
    common_share: float = 0.9
    """Share of the drift's variance that is the weather's, which all barometers of a world have in common."""

    def __post_init__(self) -> None:
        require(0 <= self.common_share <= 1, "common_share", self.common_share, "must be from 0 to 1")
        for name, unit in (("rate_hz", "Hz"), ("drift_correlation_time", "s")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        for name in ("noise_density", "drift_sigma"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def parameters(self) -> Mapping[str, Any]:
        """Return noise and air."""
        noise = noise_of_sigma(
            self.noise_density,
            self.drift_sigma * math.sqrt(1.0 - self._share),
            self.drift_correlation_time,
            rate_hz=self.rate_hz,
        )
        given = {"noise": noise, "standard": _STANDARD.parameters}
        if self.inputs():
            return {**given, "atmosphere": _STANDARD.parameters, "place": Place(0.0, 0)}
        place = Place(self.environment.origin.altitude, 1)
        return {**given, "atmosphere": self.environment.atmosphere.parameters, "place": place}

    def initial(self) -> Mapping[str, Array]:
        """Find the weather."""
        common = getattr(self.environment, "common_errors", None)
        self._share = 0.0
        self._fed: Array | None = None
        self.is_fed = common is not None and self.common_share * self.drift_sigma > 0.0
        if common is not None and self.is_fed:
            self._share, times = self.common_share, (self.drift_correlation_time,)
            self._weather = common.find("weather", times, gauss_markov_process, axes=1)
        return {}

    def feed(self, state: VehicleState) -> None:
        """Set the present weather."""
        weather = self._weather.at(self.vehicle.sensors.now)
        if weather is not self._fed:
            self._fed = weather
            self.rows["weather"][...] = self.drift_sigma * math.sqrt(self._share) * weather.item()

    def inputs(self) -> Collection[str]:
        """Return pressure and temperature unless they are computed in the step function."""
        standard = type(getattr(self.environment, "atmosphere", None)) is UsStandardAtmosphere1976
        return () if standard else ("pressure", "temperature")
