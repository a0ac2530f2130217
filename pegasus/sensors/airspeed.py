"""Airspeed sensor: a pitot tube with a differential pressure sensor."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normals
from pegasus.base.step_math import Column, Quat, Real, Vec3, dot, magnitude, rotate
from pegasus.contracts.reading import Reading
from pegasus.core.compiled_sensor import CompiledSensor, SensorRows
from pegasus.environment.atmosphere import GAS_CONSTANT, SEA_LEVEL_PRESSURE, SEA_LEVEL_TEMPERATURE
from pegasus.sensors.noise import NoiseParameters, noise_of_sigma

SEA_LEVEL_DENSITY = SEA_LEVEL_PRESSURE / (GAS_CONSTANT * SEA_LEVEL_TEMPERATURE)
"""Air density that indicated airspeeds refer to [kg/m^3]."""


@dataclass(frozen=True)
class Tube:
    """Mounting of a pitot tube."""

    axis: Vec3
    """Direction in the body frame, of length 1."""


@dataclass
class AirspeedRows(SensorRows):
    """Columns of airspeed sensors."""

    tube: Column[Tube]
    noise: Column[NoiseParameters]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    wind: Column[Vec3]
    temperature: Column[Real]
    density: Column[Real]
    offset: Column[Real]
    drift: Column[Real]
    pressure_difference: Column[Real]
    """Differential pressure of the last reading [Pa]."""
    measured_temperature: Column[Real]
    """Temperature of the last reading [K]."""


def differential_pressure(airspeed: Real, air_density: Real) -> Real:
    """Return rho v |v| / 2, total minus static pressure of a pitot tube [Pa].

    Source: Bernoulli's equation without compressibility, whose effect is 0.5 % at 50 m/s. Flow from behind
    gives the same pressure with the opposite sign.

    Args:
        airspeed: Airspeed v along the tube [m/s].
        air_density: Density rho of the air [kg/m^3].
    """
    return 0.5 * air_density * airspeed * magnitude(airspeed)


def pitot_tube(i: int, rows: AirspeedRows) -> None:
    """Take the reading of an airspeed sensor if it is due."""
    reading = rows.count[i]
    if rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1:
        p = rows.noise[rows.kind[i]]
        white, driving, first, offset = normals(rows.key[i], rows.copy[i], reading, 0)
        if rows.starts[i] == 1:
            rows.drift[i] = p.bias_sigma * first
            rows.offset[i] = p.turn_on_bias * offset
        body = rows.body[i]
        axis = rotate(rows.orientation[body], rows.tube[rows.kind[i]].axis)
        airspeed = dot(axis, rows.velocity[body] - rows.wind[body])
        pressure = differential_pressure(airspeed, rows.density[body])
        rows.pressure_difference[i] = pressure + p.white_sigma * white + rows.drift[i] + rows.offset[i]
        rows.measured_temperature[i] = rows.temperature[body]
        rows.drift[i] = p.phi * rows.drift[i] + p.drive * driving
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


def indicated_airspeed(pressure: Array) -> Array:
    """Return the airspeed that causes a differential pressure at sea level [m/s], shape (N,).

    The inverse of `differential_pressure` with the density of the US Standard Atmosphere 1976 at sea level.

    Args:
        pressure: Differential pressure [Pa], shape (N,).
    """
    xp = namespace(pressure)
    speed: Array = xp.sign(pressure) * xp.sqrt(xp.abs(pressure) * (2 / SEA_LEVEL_DENSITY))
    return speed


def true_airspeed(indicated: Array, *, air_density: Array) -> Array:
    """Return the true airspeed of an indicated airspeed [m/s], shape (N,).

    It is v sqrt(rho_0 / rho), at the same differential pressure.

    Args:
        indicated: Indicated airspeed v [m/s], shape (N,).
        air_density: Density rho of the air [kg/m^3], shape (N,).
    """
    xp = namespace(indicated)
    speed: Array = indicated * xp.sqrt(SEA_LEVEL_DENSITY / air_density)
    return speed


@dataclass(frozen=True, eq=False)
class AirspeedReading(Reading):
    """Differential pressure of the pitot tube, and the indicated airspeed."""

    differential_pressure: Array
    """Total minus static pressure, negative in backward flight [Pa], shape (N,)."""
    indicated_airspeed: Array
    """Airspeed that causes this pressure at sea level, signed [m/s], shape (N,)."""
    temperature: Array
    """Temperature of the air [K], shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Airspeed(CompiledSensor):
    """Pitot tube at the body's origin, with a differential pressure sensor.

    The default noise is that of ArduPilot's simulator, 2 Pa. By default the zero is calibrated and drifts.
    """

    columns = AirspeedRows
    function = staticmethod(pitot_tube)

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Direction of the tube in the body frame; of any length but zero."""
    noise_density: float = 2.0 / math.sqrt(50.0)
    """Density of the white noise [Pa/sqrt(Hz)]; 2 Pa at 50 Hz."""
    drift_sigma: float = 1.0
    """Stationary standard deviation of the zero drift [Pa]."""
    drift_correlation_time: float = 600.0
    """Time constant of the drift [s]."""
    turn_on_bias: float = 0.0
    """Standard deviation of the offset at every start [Pa]."""

    def __post_init__(self) -> None:
        for name, unit in (("rate_hz", "Hz"), ("drift_correlation_time", "s")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        for name in ("noise_density", "drift_sigma", "turn_on_bias"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        require_vector("axis", self.axis)
        require(math.hypot(*self.axis) > 0, "axis", self.axis, "must be longer than 0")

    def parameters(self) -> Mapping[str, Any]:
        """Return mounting and noise."""
        length = math.hypot(*self.axis)
        noise = noise_of_sigma(
            self.noise_density,
            self.drift_sigma,
            self.drift_correlation_time,
            rate_hz=self.rate_hz,
            turn_on_bias=self.turn_on_bias,
        )
        return {"tube": Tube(Vec3(*(part / length for part in self.axis))), "noise": noise}

    def reading(self, stamp: float) -> AirspeedReading:
        """Return the last reading."""
        pressure, temperature = (
            self.rows[name].copy() for name in ("pressure_difference", "measured_temperature")
        )
        return AirspeedReading(stamp, pressure, indicated_airspeed(pressure), temperature)
