"""Contract of the manager of a simulation's vehicles, as each of them sees it."""

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from pegasus.base.arrays import BoolArray, IntArray
from pegasus.config.scenario import SpawnPoint
from pegasus.contracts.engine import BodyState, RigidBody
from pegasus.contracts.mover import Mover
from pegasus.contracts.vehicle import EquippedVehicle, Surroundings
from pegasus.core.contact import Contact
from pegasus.core.visuals import Visuals
from pegasus.model.dynamics_models import VehicleParameters


class ChangeableVehicle(EquippedVehicle, Protocol):
    """Vehicle whose mass properties can change in flight."""

    @property
    def is_refitted(self) -> bool:
        """Whether they were changed."""

    def bodies(self) -> list[RigidBody]:
        """Return the rigid bodies of the N vehicles at their start."""

    def take_parameters(self, parameters: Sequence[VehicleParameters] | None) -> None:
        """Fly with other parameters, one entry for each copy; with those of before if None."""


class Manager(Surroundings, Protocol):
    """Manager of the vehicles of a simulation; see `VehicleManager`."""

    @property
    def rate(self) -> float:
        """Physics rate [Hz]."""

    @property
    def seed(self) -> int:
        """Seed of the simulation."""

    @property
    def visuals(self) -> Visuals:
        """Rendered world and vehicles."""

    @property
    def spawn_points(self) -> Sequence[SpawnPoint]:
        """Spawn points of the world."""

    @property
    def movers(self) -> Iterable[Mover]:
        """Objects that move by themselves."""

    def in_contact(self, vehicle: EquippedVehicle) -> BoolArray:
        """Return whether each copy of a vehicle touched something during the last step, shape (N,)."""

    def contacts(self, vehicle: EquippedVehicle) -> list[Contact]:
        """Return the contacts of the copies of a vehicle in the last step."""

    def note_faults(self) -> None:
        """Look for vehicles with faults, after one was injected."""

    def place(self, vehicle: EquippedVehicle, target: BodyState, rows: IntArray) -> None:
        """Set the poses and velocities of copies without an acceleration."""

    def refit(self, vehicle: ChangeableVehicle, parameters: Sequence[VehicleParameters] | None) -> None:
        """Change the mass properties of a vehicle in flight; to those of before all changes if None."""


def manager_of(vehicle: EquippedVehicle) -> Manager:
    """Return the manager of a vehicle's simulation, for a part that draws.

    Args:
        vehicle: The vehicle, whose surroundings are no others than its manager.
    """
    return cast("Manager", vehicle.manager)
