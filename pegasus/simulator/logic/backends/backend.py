"""Base class of custom backends, and its adapter to a backend of Pegasus."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.backend import Backend as CoreBackend
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.simulator.logic.backends.sensor_data import sensor_data
from pegasus.simulator.logic.state import State

__all__ = ["Backend", "BackendConfig"]


class BackendConfig:
    """Base class of configurations."""


class Backend(ABC):
    """Custom backend, which gets state and readings at each step; that listed first drives the rotors."""

    def __init__(self, config: BackendConfig | None = None) -> None:
        self._vehicle: Any = None
        self.config = config

    @property
    def vehicle(self) -> Any:
        """The vehicle; None before it is on the stage."""
        return self._vehicle

    def initialize(self, vehicle: Any) -> None:
        """Take the vehicle, which is a `Multirotor` of this package."""
        self._vehicle = vehicle

    @abstractmethod
    def update_sensor(self, sensor_type: str, data: Any) -> None:
        """Take a new reading of `IMU`, `GPS`, `Barometer` or `Magnetometer`, as a dictionary."""

    @abstractmethod
    def update_graphical_sensor(self, sensor_type: str, data: Any) -> None:
        """Take a new reading of `MonocularCamera` or `Lidar`, as a dictionary."""

    @abstractmethod
    def update_state(self, state: State) -> None:
        """Take the true state."""

    @abstractmethod
    def input_reference(self) -> Sequence[float]:
        """Return the speeds of the rotors [rad/s]."""

    @abstractmethod
    def update(self, dt: float) -> None:
        """Compute for a step of dt [s], after state and readings were taken."""

    @abstractmethod
    def start(self) -> None:
        """Start a run."""

    @abstractmethod
    def stop(self) -> None:
        """End a run."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the start."""


class CustomBackend(CoreBackend):
    """Backend of Pegasus that calls a custom one of Pegasus Simulator.

    Args:
        custom: The custom backend.
        vehicle: The vehicle that it is initialised with.
        drives: It drives the rotors.
    """

    drives = False
    reads_sensors = True

    def __init__(self, custom: Backend, vehicle: Any, *, drives: bool) -> None:
        self.drives = drives
        self._custom, self._layered = custom, vehicle
        self._dt = 0.0
        self._running = False

    def bind(self, vehicle: Vehicle) -> None:
        """Initialise the custom backend."""
        self._layered.joined(vehicle)
        self._custom.initialize(self._layered)

    def start(self) -> None:
        """Start a run."""
        self._dt = 1.0 / self._layered.vehicle.physics_rate
        self._running = True
        self._custom.start()

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Pass on state and new readings, and let the custom backend compute."""
        known = State.of(state)
        self._custom.update_state(known)
        for name, reading in readings.items():
            if (found := sensor_data(name, reading, known)) is not None:
                kind, graphical, data = found
                update = self._custom.update_graphical_sensor if graphical else self._custom.update_sensor
                update(kind, data)
        self._custom.update(self._dt)

    def command(self, t: float) -> Array:
        """Return its rotor speeds [rad/s], shape (1, R)."""
        return np.array([self._custom.input_reference()], dtype=np.float64)

    def stop(self) -> None:
        """End the run."""
        if self._running:
            self._running = False
            self._custom.stop()
