"""Contract of sensors, their table, and the random numbers of a sensor."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import build, require, require_instance
from pegasus.base.registry import Registry
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.environment import Environment

_BLOCK = 1024
"""Amount of random numbers drawn from each stream at a time."""


class Sensor(ABC):
    """Base of a sensor on N identical vehicles.

    A subclass declares `rate_hz` and implements `measure`. It overrides `bind` (and calls the base's) to
    prepare its own state; a reset of the simulation calls `bind` again, with the stream started afresh.
    """

    rate_hz: float
    """Readings per second of simulated time [Hz]."""

    vehicle: EquippedVehicle
    """Vehicle that carries the sensor; set by `bind`."""
    count: int
    """Number of vehicles N; set by `bind`."""
    environment: Environment
    """Gravity, air, wind, magnetic field and geographic origin; set by `bind`."""
    rng: np.random.Generator
    """This sensor's own stream, shared by all N vehicles; set by `bind`."""
    _rngs: list[np.random.Generator]

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle and start from a fresh state.

        Args:
            vehicle: The vehicle that carries the sensor.
            environment: The environment that the vehicle flies in.
            rng: Random stream of this sensor alone.
        """
        self.vehicle, self.count, self.environment, self.rng = vehicle, vehicle.count, environment, rng
        self._rngs = []

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One stream for each of the N vehicles, the same for a vehicle however many there are."""
        if not self._rngs:
            self._rngs = self.rng.spawn(self.count)
        return self._rngs

    def draw_anew(self, rng: np.random.Generator) -> None:
        """Take other random numbers from now on; present biases and states stay.

        Args:
            rng: Random stream of this sensor alone.
        """
        self.rng, self._rngs = rng, []
        for part in vars(self).values():
            if isinstance(part, NoiseBlock):
                part.draw_anew(self.rngs)

    def reset_copies(self, rows: IntArray) -> None:  # noqa: B027
        """Start copies from a fresh state; overridden by sensors that keep something of earlier steps.

        Args:
            rows: Indices of the copies, shape (K,), whose true states are those after the reset.
        """

    def follow(self, state: VehicleState, t: float) -> None:  # noqa: B027
        """Observe the state of every step, due or not; called before `measure` if overridden.

        Args:
            state: True state at t; live arrays, to be copied if kept.
            t: Simulation time [s].
        """

    @abstractmethod
    def measure(self, state: VehicleState, t: float) -> Reading:
        """Return the reading at simulation time t; called at the first step at or after each due instant.

        Args:
            state: True state at t; live arrays, to be copied if kept.
            t: Simulation time [s].
        """


class NoiseBlock:
    """Standard normal numbers of N vehicles, drawn in blocks and returned row by row.

    A vehicle gets the numbers of its generator in order, independent of the block size, as long as no other
    object draws from it.

    Args:
        rngs: Streams to draw from, one for each vehicle.
        shape: Shape of one row of one vehicle.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], shape: tuple[int, ...]) -> None:
        self._rngs = rngs
        self._shape = (max(1, _BLOCK // max(1, math.prod(shape))), *shape)
        self._block = np.empty((0, len(rngs), *shape))
        self._next = 0

    def draw_anew(self, rngs: Sequence[np.random.Generator]) -> None:
        """Draw the coming rows from other streams, one for each vehicle."""
        self._rngs, self._next = rngs, len(self._block)

    def take(self) -> Array:
        """Return the next row of each vehicle, shape (N, *shape); valid until the next call."""
        if self._next == len(self._block):
            self._block = np.stack([rng.standard_normal(self._shape) for rng in self._rngs], axis=1)
            self._next = 0
        row: Array = self._block[self._next]
        self._next += 1
        return row


SENSORS: Registry[Sensor] = Registry(
    "sensor",
    group="pegasus.sensors",
    shipped={
        "imu": "pegasus.sensors.imu:IMU",
        "gps": "pegasus.sensors.gps:GPS",
        "barometer": "pegasus.sensors.barometer:Barometer",
        "magnetometer": "pegasus.sensors.magnetometer:Magnetometer",
        "airspeed": "pegasus.sensors.airspeed:Airspeed",
        "rangefinder": "pegasus.sensors.rangefinder:Rangefinder",
        "optical_flow": "pegasus.sensors.optical_flow:OpticalFlow",
        "odometry": "pegasus.sensors.odometry:Odometry",
        "uwb": "pegasus.sensors.uwb:UWB",
        "battery_monitor": "pegasus.sensors.battery_monitor:BatteryMonitor",
        "camera": "pegasus.cameras.camera:Camera",
        "stereo_camera": "pegasus.cameras.stereo_camera:StereoCamera",
        "lidar": "pegasus.cameras.lidar:Lidar",
        "sonar": "pegasus.sensors.rangefinder:Sonar",
    },
)
"""Sensors by their name in YAML."""


def build_sensors(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, Sensor]:
    """Return the sensors that mappings of a vehicle or scenario file describe, by name.

    Args:
        specs: A mapping for each sensor, with `model` and its parameters, by name.

    Raises:
        ConfigError: If a model is not known or a parameter is not allowed.
    """
    return {name: build(Sensor, SENSORS, spec, field=f"sensors.{name}") for name, spec in specs.items()}


def require_sensors(field: str, sensors: Mapping[str, Sensor] | None) -> None:
    """Raise a ConfigError unless an argument is None or holds sensors by name."""
    mapping = sensors is None or isinstance(sensors, Mapping)
    require(mapping, field, sensors, "must be sensors by name", "such as {'imu': IMU()}")
    for name, sensor in (sensors or {}).items():
        require_instance(Sensor, f"{field}.{name}", sensor)
