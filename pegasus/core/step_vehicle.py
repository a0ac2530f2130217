"""Contract of vehicles for the step: that of their parts, and the models of the step."""

from collections.abc import Sequence
from typing import Protocol

from pegasus.base.arrays import Array
from pegasus.contracts.vehicle import EquippedVehicle, Rotorcraft
from pegasus.dynamics import Downwash
from pegasus.model.machine import Machine


class StepVehicle(EquippedVehicle, Protocol):
    """Vehicle with the models of its step."""

    @property
    def machines(self) -> Sequence[Machine]:
        """Models of the step: one for all copies, or one for each of a varied vehicle."""

    @property
    def has_own_wrench(self) -> bool:
        """True if a Python function gives a wrench for each step."""


class RotorVehicle(Rotorcraft, StepVehicle, Protocol):
    """Vehicle whose rotors meet the air of other rotors, and of the ground."""

    @property
    def downwash(self) -> Downwash | None:
        """Model of the air that the rotors blow at other vehicles; None without one."""

    @property
    def rotor_centers(self) -> Array:
        """Centres of the discs in the world [m], shape (N, R, 3)."""
