"""Air over altitude: the US Standard Atmosphere 1976, with the weather as an offset."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.environment.gravity import STANDARD_GRAVITY

GAS_CONSTANT = 8314.32 / 28.9644
"""Specific gas constant of dry air [J/(kg K)] (US Standard Atmosphere 1976, tables 2 and 4)."""
HEAT_CAPACITY_RATIO = 1.4
"""Ratio of the specific heats of air."""
SEA_LEVEL_PRESSURE = 101_325.0
"""Standard pressure at sea level [Pa]."""
SEA_LEVEL_TEMPERATURE = 288.15
"""Standard temperature at sea level [K]."""
LOWEST_ALTITUDE, HIGHEST_ALTITUDE = -5_000.0, 86_000.0
"""Geometric altitudes between which the standard atmosphere is defined here [m]."""

# Radius of the Earth in the standard's conversion between geometric and geopotential altitude [m].
_RADIUS = 6_356_766.0
# Geopotential altitude of each layer's base [m] and lapse rate dT/dH within it [K/m] (table 4). A layer
# without a gradient has one that is too small to matter, which makes the same formula hold for all.
_BASES = (0.0, 11_000.0, 20_000.0, 32_000.0, 47_000.0, 51_000.0, 71_000.0)
_LAPSE_RATES = (-6.5e-3, 1e-15, 1e-3, 2.8e-3, 1e-15, -2.8e-3, -2e-3)


class Air(NamedTuple):
    """State of the air at N places."""

    pressure: Array
    """Static pressure [Pa], shape (N,)."""
    temperature: Array
    """Temperature [K], shape (N,)."""
    density: Array
    """Density [kg/m^3], shape (N,)."""


class Layer(NamedTuple):
    """What holds at the base of a layer and within it: numbers, or arrays with one entry per place."""

    base: Any
    """Geopotential altitude of the base [m]."""
    temperature: Any
    """Temperature at the base [K]."""
    pressure: Any
    """Pressure at the base [Pa]."""
    lapse_rate: Any
    """Change of the temperature with geopotential altitude [K/m]; never exactly 0."""


def geopotential_altitude(altitude: Array) -> Array:
    """Return the geopotential of geometric altitudes [m] (US Standard Atmosphere 1976, eq. 18).

    Args:
        altitude: Geometric altitude above mean sea level [m], shape (...).
    """
    return _RADIUS * altitude / (_RADIUS + altitude)


def geometric_altitude(geopotential: Array) -> Array:
    """Return the geometric of geopotential altitudes [m] (US Standard Atmosphere 1976, eq. 19).

    Args:
        geopotential: Geopotential altitude above mean sea level [m], shape (...).
    """
    return _RADIUS * geopotential / (_RADIUS - geopotential)


def speed_of_sound(temperature: Array) -> Array:
    """Return the speed of sound [m/s] (US Standard Atmosphere 1976, eq. 50).

    Args:
        temperature: Temperature of the air [K], shape (...).
    """
    speed: Array = namespace(temperature).sqrt(HEAT_CAPACITY_RATIO * GAS_CONSTANT * temperature)
    return speed


def layer_air(geopotential: Array, *, layer: Layer) -> Air:
    """Return pressure, temperature and density within a layer.

    Source: US Standard Atmosphere 1976, eq. 23 and 33. Equation 33b, for a layer without a gradient, is
    the limit of 33a for a vanishing lapse rate, and log1p keeps it exact.

    Args:
        geopotential: Geopotential altitude [m], shape (...).
        layer: The layer that holds each altitude; numbers or shape (...).
    """
    xp = namespace(geopotential)
    growth = (geopotential - layer.base) * (layer.lapse_rate / layer.temperature)
    exponent = -STANDARD_GRAVITY / GAS_CONSTANT / layer.lapse_rate
    pressure = layer.pressure * xp.exp(exponent * xp.log1p(growth))
    temperature = layer.temperature + layer.temperature * growth
    return Air(pressure, temperature, pressure / (GAS_CONSTANT * temperature))


def layer_density(geopotential: Array, *, layer: Layer) -> Array:
    """Return the density within a layer [kg/m^3]; that of `layer_air` at half the cost.

    Args:
        geopotential: Geopotential altitude [m], shape (...).
        layer: The layer that holds each altitude; numbers or shape (...).
    """
    xp = namespace(geopotential)
    growth = (geopotential - layer.base) * (layer.lapse_rate / layer.temperature)
    exponent = -STANDARD_GRAVITY / GAS_CONSTANT / layer.lapse_rate - 1
    base_density = layer.pressure / (GAS_CONSTANT * layer.temperature)
    density: Array = base_density * xp.exp(exponent * xp.log1p(growth))
    return density


def layer_altitude(pressure: Array, *, layer: Layer) -> Array:
    """Return the geopotential altitude [m] of a pressure within a layer, the inverse of `layer_air`.

    Args:
        pressure: Static pressure [Pa], shape (...).
        layer: The layer that holds each pressure; numbers or shape (...).
    """
    xp = namespace(pressure)
    exponent = -GAS_CONSTANT / STANDARD_GRAVITY * layer.lapse_rate
    growth = xp.expm1(exponent * xp.log(pressure / layer.pressure))
    altitude: Array = layer.base + growth * (layer.temperature / layer.lapse_rate)
    return altitude


def standard_layers(
    *, temperature_offset: float = 0.0, sea_level_pressure: float = SEA_LEVEL_PRESSURE
) -> Layer:
    """Return the seven layers of the US Standard Atmosphere 1976 (table 4), each field of shape (7,).

    Args:
        temperature_offset: Offset of the temperature at every altitude [K].
        sea_level_pressure: Pressure at sea level [Pa].
    """
    layers = [Layer(0.0, SEA_LEVEL_TEMPERATURE + temperature_offset, sea_level_pressure, _LAPSE_RATES[0])]
    for base, lapse_rate in zip(_BASES[1:], _LAPSE_RATES[1:], strict=True):
        top = layer_air(np.asarray(base), layer=layers[-1])
        layers.append(Layer(base, float(top.temperature), float(top.pressure), lapse_rate))
    return Layer(*(np.array(column) for column in zip(*layers, strict=True)))


def layer_at(geopotential: Array, *, layers: Layer) -> Layer:
    """Return the layer that holds each altitude, each field of shape (N,).

    Args:
        geopotential: Geopotential altitude [m], shape (N,).
        layers: All layers, from the lowest.
    """
    xp = namespace(geopotential)
    columns = [xp.asarray(column) for column in layers]
    index = xp.searchsorted(columns[0][1:], geopotential, side="right")
    return Layer(*(xp.take(column, index, axis=0) for column in columns))


@dataclass(frozen=True)
class Atmosphere(ABC):
    """Base of atmosphere models; a subclass gives the state of the air over altitude."""

    @abstractmethod
    def air(self, altitude: Array) -> Air:
        """Return the state of the air.

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """

    def density(self, altitude: Array) -> Array:
        """Return the density of the air [kg/m^3], shape (N,).

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """
        return self.air(altitude).density


@dataclass(frozen=True)
class UsStandardAtmosphere1976(Atmosphere):
    """The US Standard Atmosphere 1976 from -5 to 86 km, shifted by the weather at sea level.

    Below and above that range the air is that at its limit. Temperatures are molecular-scale ones, which
    the standard lets differ from kinetic ones above 80 km, by less than 0.1 K. An offset of the temperature
    holds at every altitude, and the pressure follows from hydrostatic balance.
    """

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

    def air(self, altitude: Array) -> Air:
        """Return the state of the air; see `Atmosphere.air`."""
        geopotential, layer = self._locate(altitude)
        return layer_air(geopotential, layer=layer)

    def density(self, altitude: Array) -> Array:
        """Return the density of the air [kg/m^3]; see `Atmosphere.density`."""
        geopotential, layer = self._locate(altitude)
        return layer_density(geopotential, layer=layer)

    def pressure_altitude(self, pressure: Array) -> Array:
        """Return the geopotential altitude at which this atmosphere has a pressure [m], shape (N,).

        The pressure altitude of aviation is that of the standard weather; with another pressure at sea
        level it is the reading of an altimeter set to it. Pressures beyond the range of the atmosphere are
        taken as those at its limits.

        Args:
            pressure: Static pressure [Pa], shape (N,).
        """
        highest, lowest = self._pressure_limits
        pressure = np.minimum(np.maximum(pressure, lowest), highest)
        # The pressures of the bases fall, and a search needs them to rise.
        index = (-self._layers.pressure[1:]).searchsorted(-pressure, side="right")
        return layer_altitude(pressure, layer=Layer(*(column[index] for column in self._layers)))

    def _locate(self, altitude: Array) -> tuple[Array, Layer]:
        """Return geopotential altitudes within the range, and their layers."""
        geopotential = geopotential_altitude(np.maximum(altitude, LOWEST_ALTITUDE))
        # Where all are in the lowest layer, which is where multirotors fly, its numbers do for all.
        if geopotential.item(geopotential.argmax()) < _BASES[1]:
            return geopotential, self._lowest_layer
        geopotential = np.minimum(geopotential, geopotential_altitude(np.array(HIGHEST_ALTITUDE)))
        return geopotential, layer_at(geopotential, layers=self._layers)

    @cached_property
    def _layers(self) -> Layer:
        return standard_layers(
            temperature_offset=self.temperature_offset, sea_level_pressure=self.sea_level_pressure
        )

    @cached_property
    def _lowest_layer(self) -> Layer:
        return Layer(*(float(column[0]) for column in self._layers))

    @cached_property
    def _pressure_limits(self) -> tuple[float, float]:
        highest, lowest = self.air(np.array([LOWEST_ALTITUDE, HIGHEST_ALTITUDE])).pressure.tolist()
        return highest, lowest
