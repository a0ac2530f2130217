"""Contract of vehicles, as sensors, backends, estimators and faults see them."""

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import VehicleSpec
from pegasus.contracts.engine import RayHits
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.dynamics import BatteryState, Drag, Motor, ThrustCurve
from pegasus.environment import Environment
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.machine import Channel, Machine, are_rotors
from pegasus.model.rotors import RotorLayout


class Sensors(Protocol):
    """Sensors of a vehicle by name; parts of a vehicle ask for those of the classes that they know."""

    @property
    def now(self) -> float:
        """Simulation time of the present readings [s]; 0 before the first step."""

    def last_reading(self, name: str) -> Reading | None:
        """Return the last reading of a sensor without faults; None if there is none."""

    def items(self) -> ItemsView[str, object]:
        """Return names and sensors."""

    def __getitem__(self, name: str, /) -> object: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...


class Surroundings(Protocol):
    """World around the vehicles of a simulation."""

    def cast(
        self,
        vehicle: "Vehicle",
        origins: Array,
        directions: Array,
        max_range: float,
        *,
        rows: IntArray | slice = slice(None),
    ) -> RayHits:
        """Cast rays in the world that pass through the copy of the vehicle that casts them.

        Args:
            vehicle: The vehicle.
            origins: Origins of the rays [m], the same number for each copy, shape (K, 3).
            directions: Their directions in the world, shape (K, 3).
            max_range: Longest distance [m].
            rows: Copies that cast rays; all by default.
        """


class Vehicle(Protocol):
    """N vehicles of one kind, which are in a simulation, as its parts see them."""

    @property
    def name(self) -> str:
        """Name, unique in the simulation."""

    @property
    def count(self) -> int:
        """Number of vehicles N."""

    @property
    def state(self) -> VehicleState:
        """True state; its arrays are live and read-only."""

    @property
    def columns(self) -> Mapping[str, Array]:
        """State, inputs and outputs of the step by name, N rows each."""

    @property
    def channels(self) -> Sequence[Channel]:
        """Commands that each vehicle takes, in the order of the column `command`; by the vehicle's file."""

    @property
    def parameters(self) -> Sequence[VehicleParameters]:
        """Parameters of the step: one entry for all copies, or one for each of a varied vehicle."""

    @property
    def environment(self) -> Environment:
        """Gravity, air, wind and magnetic field."""

    @property
    def physics_rate(self) -> float:
        """Steps per second of the simulation [Hz]."""


class EquippedVehicle(Vehicle, Protocol):
    """N vehicles with sensors and batteries in a world of obstacles."""

    @property
    def sensors(self) -> Sensors:
        """The sensors by name."""

    @property
    def battery(self) -> BatteryState | None:
        """The batteries; None without them."""

    @property
    def manager(self) -> Surroundings:
        """The world around."""

    def raycast(
        self, directions: Array, max_range: float, *, origin: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> RayHits:
        """Cast rays from each vehicle; they pass through its own body.

        Args:
            directions: Directions in the body frame, shape (K, 3).
            max_range: Longest distance [m].
            origin: Origin of the rays in the body frame [m], shape (3,).

        Returns:
            N * K hits, those of the first vehicle first.
        """


class MachineVehicle(EquippedVehicle, Protocol):
    """N vehicles with a model of elements, such as planes; copies may differ in `parameters`."""

    @property
    def machines(self) -> Sequence[Machine]:
        """Models of the step: one for all copies, or one for each of a varied vehicle."""

    @property
    def spec(self) -> VehicleSpec:
        """Description of the vehicle."""

    @property
    def layout(self) -> RotorLayout:
        """The rotors."""

    @property
    def rotor_count(self) -> int:
        """Number of rotors R of each vehicle."""

    @property
    def new_readings(self) -> Mapping[str, Reading]:
        """Readings of the present step by name."""

    @property
    def mass(self) -> float:
        """Mass of one vehicle [kg]."""

    @property
    def inertia(self) -> Array:
        """Inertia about the centre of mass in the body frame [kg m^2], shape (3, 3)."""


class Rotorcraft(MachineVehicle, Protocol):
    """N vehicles that are commanded by the speeds of their rotors alone."""

    @property
    def file(self) -> Path | None:
        """File of the vehicle; None without one."""

    @property
    def center_of_mass(self) -> Array:
        """Centre of mass in the body frame [m], shape (3,)."""

    @property
    def motor(self) -> Motor:
        """Model of the motors."""

    @property
    def thrust_curve(self) -> ThrustCurve:
        """Model of the propellers."""

    @property
    def drag(self) -> Drag | None:
        """Model of the drag; None without one."""

    @property
    def estimator(self) -> object | None:
        """Estimator of its state, of the class `Estimator`; None without one."""


def as_machine(vehicle: Vehicle) -> MachineVehicle:
    """Return a vehicle with a model of elements, for a part that needs them.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it has none.
    """
    if not hasattr(vehicle, "layout"):
        raise ConfigError("has no rotors", field="vehicle", value=vehicle.name)
    return cast("MachineVehicle", vehicle)


def as_rotorcraft(vehicle: Vehicle, *, tilting: bool = False) -> Rotorcraft:
    """Return a vehicle that is commanded by the speeds of its rotors, for a part that needs them.

    Args:
        vehicle: The vehicle.
        tilting: Whether the part also commands joints, each of which turns one rotor and nothing else.

    Raises:
        ConfigError: If it takes other commands.
    """
    joints: list[str | None] = []
    if tilting and not (airframe := vehicle.parameters[0].airframe).surfaces:
        joints = [name for name in airframe.hinges if airframe.joint_of.count(name) == 1]
    _require_speeds(vehicle, [channel for channel in vehicle.channels if channel.name not in joints])
    return cast("Rotorcraft", vehicle)


def as_propelled(vehicle: Vehicle) -> MachineVehicle:
    """Return a vehicle whose first channels are the speeds of its rotors, whatever follows them.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it takes other commands.
    """
    machine = as_machine(vehicle)
    _require_speeds(vehicle, vehicle.channels[: machine.rotor_count])
    return machine


def _require_speeds(vehicle: Vehicle, channels: Sequence[Channel]) -> None:
    if not are_rotors(channels):
        message = f"is not commanded by the speeds of rotors, but by {'; '.join(map(str, vehicle.channels))}"
        raise ConfigError(message, field="vehicle", value=vehicle.name)
