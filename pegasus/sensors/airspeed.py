"""Airspeed sensor: a pitot tube, which measures the pressure of the air that it is moved into."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.environment.atmosphere import GAS_CONSTANT, SEA_LEVEL_PRESSURE, SEA_LEVEL_TEMPERATURE
from pegasus.frames import rotate
from pegasus.sensors.noise import gauss_markov_coefficients, gauss_markov_step, white_noise_sigma
from pegasus.sensors.sensor import NoiseBlock, Reading, Sensor
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor

SEA_LEVEL_DENSITY = SEA_LEVEL_PRESSURE / (GAS_CONSTANT * SEA_LEVEL_TEMPERATURE)
"""Density of the air that indicated airspeeds are told for [kg/m^3]."""


def differential_pressure(airspeed: Array, *, air_density: Array) -> Array:
    """Return rho v |v| / 2, the pressure in a pitot tube over that of the air around it [Pa], shape (N,).

    Source: Bernoulli's equation without compression, which counts for 0.5 % at 50 m/s. From behind, the tube
    is sucked at as much as it is pressed on from ahead.

    Args:
        airspeed: Speed v through the air along the tube [m/s], shape (N,).
        air_density: Density rho of the air [kg/m^3], shape (N,).
    """
    xp = namespace(airspeed)
    pressure: Array = 0.5 * air_density * airspeed * xp.abs(airspeed)
    return pressure


def indicated_airspeed(pressure: Array) -> Array:
    """Return the airspeed that has a differential pressure at sea level [m/s], shape (N,).

    The inverse of `differential_pressure` with the density of the US Standard Atmosphere 1976 at sea level.

    Args:
        pressure: Differential pressure [Pa], shape (N,).
    """
    xp = namespace(pressure)
    speed: Array = xp.sign(pressure) * xp.sqrt(xp.abs(pressure) * (2 / SEA_LEVEL_DENSITY))
    return speed


def true_airspeed(indicated: Array, *, air_density: Array) -> Array:
    """Return the speed through the air that an indicated airspeed stands for [m/s], shape (N,).

    v sqrt(rho_0 / rho): the pressure in the tube is the same, `differential_pressure`.

    Args:
        indicated: Indicated airspeed v [m/s], shape (N,).
        air_density: Density rho of the air [kg/m^3], shape (N,).
    """
    xp = namespace(indicated)
    speed: Array = indicated * xp.sqrt(SEA_LEVEL_DENSITY / air_density)
    return speed


@dataclass(frozen=True, eq=False)
class AirspeedReading(Reading):
    """Pressure in the pitot tube, and the airspeed that an instrument makes of it."""

    differential_pressure: Array
    """Total less static pressure, below 0 when flying backwards [Pa], shape (N,)."""
    indicated_airspeed: Array
    """Airspeed that has this pressure at sea level, with its sign [m/s], shape (N,)."""
    temperature: Array
    """Temperature of the air [K], shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Airspeed(Sensor):
    """Pitot tube at the body's origin, with a differential pressure sensor.

    The default noise is that of ArduPilot's simulator, 2 Pa. The default zero is the one after a calibration,
    with a drift of what is left.
    """

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Direction that the tube points to, in the body frame; of any length but zero."""
    noise_density: float = 2.0 / math.sqrt(50.0)
    """Density of the white noise [Pa/sqrt(Hz)]; 2 Pa at 50 Hz."""
    drift_sigma: float = 1.0
    """Stationary standard deviation of the drift of the zero [Pa]."""
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

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle; draw offset and drift anew.

        Args:
            vehicle: The vehicle; its count is used.
            environment: Wind, and density and temperature of the air.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._axis = np.array(self.axis) / math.hypot(*self.axis)
        self._phi, self._drive = gauss_markov_coefficients(
            self.drift_sigma, correlation_time=self.drift_correlation_time, dt=1 / self.rate_hz
        )
        self._noise_sigma = white_noise_sigma(self.noise_density, rate_hz=self.rate_hz)
        self._normals = NoiseBlock(self.rngs, (2,))
        offset, drift = self._normals.take().T
        self._offset, self._drift = self.turn_on_bias * offset, self.drift_sigma * drift

    def measure(self, state: VehicleState, t: float) -> AirspeedReading:
        """Return differential pressure, indicated airspeed and temperature.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        environment = self.environment
        velocity = state.velocity
        if not environment.wind.calm:
            velocity = velocity - environment.wind_velocity(state.position, t)
        airspeed = (rotate(state.rotation, self._axis[None]) * velocity).sum(axis=1)
        air = environment.air(state.position)
        white, driving = self._normals.take().T
        pressure = differential_pressure(airspeed, air_density=air.density)
        pressure += self._noise_sigma * white + self._drift + self._offset
        self._drift = gauss_markov_step(self._drift, driving, phi=self._phi, drive=self._drive)
        return AirspeedReading(t, pressure, indicated_airspeed(pressure), air.temperature)
