"""Backends of all vehicles at each step: those of a kind together, the others one by one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.backend import Backend, BackendBank
from pegasus.contracts.estimator import FEEDBACK, Estimator
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.backend_group import BackendGroup


class DrivenVehicle(EquippedVehicle, Protocol):
    """Vehicle with backends."""

    @property
    def backends(self) -> BackendGroup:
        """Its backends."""

    @property
    def estimator(self) -> Estimator | None:
        """Estimator of its state."""

    @property
    def feedback(self) -> VehicleState:
        """State that controllers get."""

    def publish(self, t: float, backends: Iterable[Backend]) -> None:
        """Pass the state and new readings to backends of this vehicle."""


Driven = tuple[DrivenVehicle, Any, int]
"""A vehicle, its driving backend, and the row of its first copy among the bodies."""


class Backends:
    """Backends of all vehicles of a simulation.

    Args:
        rate: Physics rate [Hz].
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._bound: Array | None = None
        self._time = -math.inf

    def save_state(self) -> float:
        """Return the time of the last command [s]."""
        return self._time

    def resume(self, state: float) -> None:
        """Go on after the backends have got saved states: banks are made anew at the next step.

        Args:
            state: What `save_state` gave.
        """
        self._bound, self._time = None, state

    def publish(
        self, vehicles: Iterable[DrivenVehicle], bodies: Mapping[str, Array], step: int, t: float
    ) -> None:
        """Pass the states and new readings to all backends.

        Args:
            vehicles: All vehicles, in the order of their rows.
            bodies: Columns of all copies of all vehicles by name; other arrays after a change of vehicles.
            step: Number of the step.
            t: Simulation time [s].
        """
        if bodies["position"] is not self._bound:
            self._arrange(list(vehicles), bodies)
        for bank in self._banks:
            bank.publish(step, t)
        for vehicle, backends in self._listening:
            vehicle.publish(t, backends)

    def command(self, vehicles: Iterable[DrivenVehicle], bodies: Mapping[str, Array], t: float) -> None:
        """Set the commands of all vehicles.

        Args:
            vehicles: All vehicles; one that was added after `publish` joins at the next step.
            bodies: Columns of their copies.
            t: Simulation time [s].

        Raises:
            ConfigError: If a command has the wrong shape.
        """
        commanded = self._alone
        if bodies["position"] is not self._bound:
            self._arrange(list(vehicles), bodies)
            commanded = [vehicle for vehicle in commanded if vehicle in self._alone]
        dt, self._time = t - self._time, t
        for bank in self._banks:
            bank.command(t, dt)
        for vehicle in commanded:
            vehicle.columns["command"][...] = vehicle.backends.command(vehicle, t)

    def _arrange(self, vehicles: Sequence[DrivenVehicle], bodies: Mapping[str, Array]) -> None:
        self._bound = bodies["position"]
        found: dict[tuple[type[BackendBank], bool], list[Driven]] = {}
        self._alone: list[DrivenVehicle] = []
        self._listening: list[tuple[DrivenVehicle, list[Backend]]] = []
        first = 0
        for vehicle in vehicles:
            driver = vehicle.backends.driver
            bank = None if driver is None else driver.bank
            if bank is None:
                self._alone.append(vehicle)
            else:
                found.setdefault((bank, _flies_on_estimates(vehicle)), []).append((vehicle, driver, first))
            listening = [b for b in vehicle.backends if bank is None or b is not driver]
            if listening:
                self._listening.append((vehicle, listening))
            first += vehicle.count
        self._banks = [
            bank(driven, _feedback(driven, bodies) if estimated else bodies, self._rate)
            for (bank, estimated), driven in found.items()
        ]


def _flies_on_estimates(vehicle: DrivenVehicle) -> bool:
    return vehicle.estimator is not None and vehicle.estimator.flown


def _feedback(driven: Sequence[Driven], bodies: Mapping[str, Array]) -> dict[str, Array]:
    """Return the columns of bodies with the estimates of vehicles in place of their true states.

    Args:
        driven: Vehicles with an estimator.
        bodies: Columns of all copies of all vehicles.
    """
    columns = {name: np.zeros_like(bodies[name]) for name in FEEDBACK}
    columns["ready"] = np.zeros(len(bodies["position"]), dtype=np.int32)
    for vehicle, _, first in driven:
        rows = slice(first, first + vehicle.count)
        assert vehicle.estimator is not None
        vehicle.estimator.attach({name: column[rows] for name, column in columns.items()})
    return {**bodies, **columns}
