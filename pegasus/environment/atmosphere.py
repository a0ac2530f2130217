"""Atmosphere models: US Standard Atmosphere 1976 with offsets for the weather."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import require
from pegasus.base.row_map import RowMap, StepModel
from pegasus.base.step_math import Real, exp, length, log, maximum, minimum
from pegasus.environment.gravity import STANDARD_GRAVITY

GAS_CONSTANT = 8314.32 / 28.9644
"""Specific gas constant of dry air [J/(kg K)] (US Standard Atmosphere 1976, tables 2 and 4)."""
HEAT_CAPACITY_RATIO = 1.4
"""Ratio of the specific heats of air."""
SEA_LEVEL_PRESSURE = 101_325.0
"""Standard pressure at sea level [Pa]."""
SEA_LEVEL_TEMPERATURE = 288.15
"""Standard temperature at sea level [K]."""
SEA_LEVEL_DENSITY = 1.225
"""Standard density at sea level [kg/m^3]."""
LOWEST_ALTITUDE, HIGHEST_ALTITUDE = -5_000.0, 86_000.0
"""Geometric altitudes between which the standard atmosphere is defined here [m]."""

# Radius of the Earth in the standard's conversion between geometric and geopotential altitude [m].
_RADIUS = 6_356_766.0
# Geopotential altitude of each layer's base [m] and lapse rate dT/dH within it [K/m] (table 4).
_BASES = (0.0, 11_000.0, 20_000.0, 32_000.0, 47_000.0, 51_000.0, 71_000.0)
_LAPSE_RATES = (-6.5e-3, 0.0, 1e-3, 2.8e-3, 0.0, -2.8e-3, -2e-3)
_GRAVITY_BY_GAS = STANDARD_GRAVITY / GAS_CONSTANT


class Air(NamedTuple):
    """State of the air at N positions."""

    pressure: Array
    """Static pressure [Pa], shape (N,)."""
    temperature: Array
    """Temperature [K], shape (N,)."""
    density: Array
    """Density [kg/m^3], shape (N,)."""


@dataclass(frozen=True)
class AtmosphereParameters:
    """Layers of an atmosphere from the lowest, and the pressures at its limits."""

    base: tuple[float, ...]
    """Geopotential altitude of the base of each layer [m]."""
    temperature: tuple[float, ...]
    """Temperature at the base [K]."""
    pressure: tuple[float, ...]
    """Pressure at the base [Pa]."""
    lapse_rate: tuple[float, ...]
    """Change of the temperature with geopotential altitude [K/m]."""
    lowest_pressure: float
    """Pressure at the highest altitude [Pa]."""
    highest_pressure: float
    """Pressure at the lowest altitude [Pa]."""


def geopotential_altitude(altitude: Real) -> Real:
    """Return the geopotential altitude of a geometric one [m] (US Standard Atmosphere 1976, eq. 18)."""
    return _RADIUS * altitude / (_RADIUS + altitude)


def layer_temperature(height: Real, base: Real, base_temperature: Real, lapse_rate: Real) -> Real:
    """Return the temperature within a layer [K] (US Standard Atmosphere 1976, eq. 23).

    Args:
        height: Geopotential altitude [m].
        base: Geopotential altitude of the layer's base [m].
        base_temperature: Temperature there [K].
        lapse_rate: Change of the temperature with geopotential altitude [K/m].
    """
    return base_temperature + lapse_rate * (height - base)


def layer_pressure(
    height: Real, base: Real, base_temperature: Real, base_pressure: Real, lapse_rate: Real
) -> Real:
    """Return the pressure within a layer [Pa] (US Standard Atmosphere 1976, eq. 33a and 33b).

    Args:
        height: Geopotential altitude [m].
        base: Geopotential altitude of the layer's base [m].
        base_temperature: Temperature there [K].
        base_pressure: Pressure there [Pa].
        lapse_rate: Change of the temperature with geopotential altitude [K/m].
    """
    if lapse_rate == 0.0:
        return base_pressure * exp(-_GRAVITY_BY_GAS * (height - base) / base_temperature)
    ratio = layer_temperature(height, base, base_temperature, lapse_rate) / base_temperature
    return base_pressure * exp(-_GRAVITY_BY_GAS / lapse_rate * log(ratio))


def tropospheric_pressure(share: Real) -> Real:
    """Return the pressure in the lowest layer by that at sea level, (1 - u)^5.25588 with g / (R L) as power.

    A polynomial of degree 13, to 1e-17 for u from -0.143 to 0.3135: all heights of that layer, at any
    temperature offset.

    Args:
        share: Fall of the temperature from sea level, by that at sea level, u.
    """
    v = share - 0.0859375
    w = v * v
    even = 0.0021746296187496335 + w * (0.00029677705081465264 + w * 7.823528038014822e-05)
    even = 0.6235827938287827 + w * (
        8.34730804522284 + w * (6.115000934845061 + w * (0.07839710634216684 + w * even))
    )
    odd = 0.0007253898290034145 + w * (0.0001400104279289442 + w * 4.44923336465598e-05)
    odd = -3.585612483540438 + w * (
        -9.910992911541848 + w * (-1.6803410284840927 + w * (0.00911740704694796 + w * odd))
    )
    return even + v * odd


def standard_air(p: AtmosphereParameters, altitude: Real) -> tuple[Real, Real, Real]:
    """Return pressure [Pa], temperature [K] and density [kg/m^3] of the air.

    Args:
        p: Layers.
        altitude: Geometric altitude above mean sea level [m]; clipped to the range of the atmosphere.
    """
    height = geopotential_altitude(minimum(maximum(altitude, LOWEST_ALTITUDE), HIGHEST_ALTITUDE))
    if height < p.base[1]:
        # Where nearly all fly: without a logarithm and an exponential.
        rise = p.lapse_rate[0] * height
        pressure = p.pressure[0] * tropospheric_pressure(-rise * (1.0 / p.temperature[0]))
        temperature = p.temperature[0] + rise
        return pressure, temperature, pressure / (GAS_CONSTANT * temperature)
    k = 0
    for j in range(length(p.base)):
        if height >= p.base[j]:
            k = j
    temperature = layer_temperature(height, p.base[k], p.temperature[k], p.lapse_rate[k])
    pressure = layer_pressure(height, p.base[k], p.temperature[k], p.pressure[k], p.lapse_rate[k])
    return pressure, temperature, pressure / (GAS_CONSTANT * temperature)


def pressure_altitude_at(p: AtmosphereParameters, pressure: Real) -> Real:
    """Return the geopotential altitude of a pressure [m], the inverse of `layer_pressure`.

    Args:
        p: Layers.
        pressure: Static pressure [Pa]; clipped to the range of the atmosphere.
    """
    clipped = minimum(maximum(pressure, p.lowest_pressure), p.highest_pressure)
    k = 0
    for j in range(length(p.base)):
        if clipped <= p.pressure[j]:
            k = j
    fall = -log(clipped / p.pressure[k]) / _GRAVITY_BY_GAS
    if p.lapse_rate[k] == 0.0:
        return p.base[k] + p.temperature[k] * fall
    return p.base[k] + p.temperature[k] / p.lapse_rate[k] * (exp(p.lapse_rate[k] * fall) - 1.0)


def standard_layers(
    *, temperature_offset: float = 0.0, sea_level_pressure: float = SEA_LEVEL_PRESSURE
) -> AtmosphereParameters:
    """Return the seven layers of the US Standard Atmosphere 1976 (table 4).

    Args:
        temperature_offset: Offset of the temperature at every altitude [K].
        sea_level_pressure: Pressure at sea level [Pa].
    """
    temperature, pressure = [SEA_LEVEL_TEMPERATURE + temperature_offset], [sea_level_pressure]
    for k, top in enumerate(_BASES[1:]):
        pressure.append(layer_pressure(top, _BASES[k], temperature[k], pressure[k], _LAPSE_RATES[k]))
        temperature.append(layer_temperature(top, _BASES[k], temperature[k], _LAPSE_RATES[k]))
    highest, lowest = geopotential_altitude(HIGHEST_ALTITUDE), geopotential_altitude(LOWEST_ALTITUDE)
    return AtmosphereParameters(
        _BASES,
        tuple(temperature),
        tuple(pressure),
        _LAPSE_RATES,
        layer_pressure(highest, _BASES[-1], temperature[-1], pressure[-1], _LAPSE_RATES[-1]),
        layer_pressure(lowest, _BASES[0], temperature[0], pressure[0], _LAPSE_RATES[0]),
    )


def speed_of_sound(temperature: Array) -> Array:
    """Return the speed of sound [m/s] (US Standard Atmosphere 1976, eq. 50).

    Args:
        temperature: Temperature of the air [K], shape (...).
    """
    speed: Array = namespace(temperature).sqrt(HEAT_CAPACITY_RATIO * GAS_CONSTANT * temperature)
    return speed


@dataclass(frozen=True)
class Atmosphere(StepModel):
    """Base of atmosphere models.

    A subclass has a step function `law(parameters, altitude) -> (pressure, temperature, density)`, or
    overrides `air`.
    """

    def air(self, altitude: Array) -> Air:
        """Return the state of the air.

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """
        return Air(*self._rows(self.parameters, altitude))

    def density(self, altitude: Array) -> Array:
        """Return the density of the air [kg/m^3], shape (N,).

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """
        return self.air(altitude).density


@dataclass(frozen=True)
class UsStandardAtmosphere1976(Atmosphere):
    """US Standard Atmosphere 1976 from -5 to 86 km, with offsets of temperature and sea-level pressure.

    Outside that range the air is that at the limit. Temperatures are molecular-scale temperatures, which
    differ from kinetic ones above 80 km by less than 0.1 K. The temperature offset applies at every altitude;
    pressure follows from hydrostatic balance.
    """

    law: ClassVar = staticmethod(standard_air)
    temperature_offset: float = 0.0
    """Offset of the temperature from the standard's [K], -60 to 60."""
    sea_level_pressure: float = SEA_LEVEL_PRESSURE
    """Pressure at sea level [Pa]."""

    def __post_init__(self) -> None:
        offset, pressure = self.temperature_offset, self.sea_level_pressure
        require(-60 <= offset <= 60, "temperature_offset", offset, "must be from -60 to 60 K")
        require(
            80_000 <= pressure <= 120_000,
            "sea_level_pressure",
            pressure,
            "must be from 80000 to 120000 Pa",
            "give it in pascal; 1013.25 hPa are 101325 Pa",
        )

    @cached_property
    def parameters(self) -> AtmosphereParameters:
        """Return the layers."""
        return standard_layers(
            temperature_offset=self.temperature_offset, sea_level_pressure=self.sea_level_pressure
        )

    def pressure_altitude(self, pressure: Array) -> Array:
        """Return the geopotential altitude of a pressure in this atmosphere [m], shape (N,).

        With default parameters it is the pressure altitude of aviation; with another sea-level pressure, the
        reading of an altimeter set to it. Pressures are clipped to the range of the atmosphere.

        Args:
            pressure: Static pressure [Pa], shape (N,).
        """
        altitude: Array = self._altitudes(self.parameters, pressure)
        return altitude

    @cached_property
    def _altitudes(self) -> RowMap:
        return RowMap(pressure_altitude_at)
