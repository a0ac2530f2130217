"""What watches a run: the observer's contract, and what it may read of the simulation and its vehicles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pegasus.arrays import Array, BoolArray
from pegasus.backends.backend import Failure
from pegasus.backends.estimate import Estimate
from pegasus.control.reference import Reference
from pegasus.sensors.sensor import Reading
from pegasus.state import VehicleState

_LEAST_STATE_RATE = 100.0  # [Hz]


def recorded_rate(state_rate: float | None, physics_rate: float) -> float:
    """Return how often states are recorded [Hz].

    Args:
        state_rate: The rate that was asked for, at most that of the physics; when None, the lowest one from
            100 Hz up whose states are evenly many steps apart, 125 Hz at 250 Hz.
        physics_rate: Steps per second [Hz].
    """
    if state_rate is None:
        return physics_rate / max(1, math.floor(physics_rate / _LEAST_STATE_RATE))
    return min(state_rate, physics_rate)


class GravityField(Protocol):
    """Gravity at a place."""

    def gravity_vector(self, position: Array) -> Array:
        """Return the gravitational acceleration in the world [m/s^2], shape (N, 3).

        Args:
            position: Position in the world [m], shape (N, 3).
        """


class ObservedVehicle(Protocol):
    """What an observer reads of a vehicle and its N copies; the arrays are live."""

    @property
    def name(self) -> str:
        """Unique name."""

    @property
    def count(self) -> int:
        """Number of copies N."""

    @property
    def state(self) -> VehicleState:
        """State at the simulation's time."""

    @property
    def new_readings(self) -> Mapping[str, Reading]:
        """Readings that are new at this step, by sensor name."""

    @property
    def rotor_command(self) -> Array:
        """Rotor speeds commanded for the coming step [rad/s], shape (N, R)."""

    @property
    def reference(self) -> Reference | None:
        """What the driving backend follows at this step, where it knows."""

    @property
    def estimate(self) -> Estimate | None:
        """What the autopilots believe at this step, where they tell."""

    @property
    def mass(self) -> float:
        """Mass [kg]."""

    @property
    def inertia(self) -> Array:
        """Inertia tensor about the centre of mass in the body frame [kg m^2], shape (3, 3)."""

    @property
    def center_of_mass(self) -> Array:
        """Centre of mass in the body frame [m], shape (3,)."""

    @property
    def environment(self) -> GravityField:
        """Where the vehicle flies."""

    @property
    def applied_force(self) -> Array:
        """Force of the coming step without gravity, in the world [N], shape (N, 3)."""

    @property
    def applied_torque(self) -> Array:
        """Torque of the coming step about the centre of mass, in the body frame [N m], shape (N, 3)."""

    @property
    def rotor_force(self) -> Array:
        """Part of `applied_force` that the rotors give [N], shape (N, 3)."""

    @property
    def rotor_torque(self) -> Array:
        """Part of `applied_torque` that the rotors give [N m], shape (N, 3)."""

    @property
    def drag_force(self) -> Array:
        """Part of `applied_force` that the airframe's drag gives [N], shape (N, 3)."""

    @property
    def drag_torque(self) -> Array:
        """Part of `applied_torque` that the airframe's drag gives [N m], shape (N, 3)."""

    @property
    def in_contact(self) -> BoolArray:
        """Whether each copy touched anything during the last step, shape (N,)."""


class ObservedSimulation(Protocol):
    """What an observer reads of a simulation."""

    @property
    def time(self) -> float:
        """Simulation time [s]."""

    @property
    def step_count(self) -> int:
        """Physics steps done since the start."""

    @property
    def rate(self) -> float:
        """Physics steps per second of simulated time [Hz]."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def world_name(self) -> str:
        """Name of the world."""

    @property
    def vehicles(self) -> Iterable[ObservedVehicle]:
        """The vehicles at this step; they may come and go while running."""

    @property
    def failures(self) -> Sequence[Failure]:
        """Autopilots that have ended or fallen silent since the run began."""


class Observer(Protocol):
    """Watch a run without changing it."""

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin; called when the simulation leaves its stopped state, before the first step."""

    def record(self, simulation: ObservedSimulation) -> None:
        """Look at one step; called once the commands are known and before the physics acts on them."""

    def stop(self) -> None:
        """End what `start` began, also after an interrupt or an error; calling it twice is allowed."""
