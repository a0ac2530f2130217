"""A command of guided flight in progress, which scripts may wait for."""

import math
from collections.abc import Callable

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import VehicleState
from pegasus.control.guided_mission import GuidedMission
from pegasus.core.simulation import Simulation


class Command:
    """A command in progress.

    Args:
        name: Name of the command.
        vehicle: Name of the vehicle.
        mission: Mission that carries it out.
        copies: Copies that it is for, shape (N,).
        reached: Returns which copies have done it, shape (N,).
        distance: Returns what each copy still lacks, in `unit`, shape (N,).
        unit: Unit of the distance.
        reason: Returns why a copy cannot do it; empty if unknown.
    """

    def __init__(
        self,
        name: str,
        vehicle: str,
        mission: GuidedMission,
        copies: BoolArray,
        reached: Callable[[VehicleState], BoolArray],
        distance: Callable[[VehicleState], Array],
        unit: str,
        reason: Callable[[int], str],
    ) -> None:
        self._name, self._vehicle, self._mission, self._copies = name, vehicle, mission, copies
        self._reached, self._distance, self._unit = reached, distance, unit
        self._reason = reason
        self._order, self._time = mission.order.copy(), mission.time

    @property
    def done(self) -> BoolArray:
        """Copies that have done it at the last step, shape (N,); true for copies that it is not for."""
        state, time = self._mission.state, self._mission.time
        # Until the next update the reference still follows the command before.
        if state is None or time == self._time:
            return ~self._copies
        return ~self._copies | self._reached(state)

    def wait(self, sim: Simulation, *, timeout: float = 60.0) -> None:
        """Step the simulation until all copies have done it.

        Args:
            sim: The vehicle's simulation; not to be called from one of its observers or backends.
            timeout: Limit in simulated time [s].

        Raises:
            TimeoutError: If it is not done in time.
            ConfigError: If another command replaces it.
            RuntimeError: If called within a step, or while another thread runs the simulation.
        """
        sim.stepper.require_free()
        require(0 < timeout < math.inf, "timeout", timeout, "must be above 0 s")
        end = sim.time + timeout
        while not (done := self.done).all():
            if (self._order != self._mission.order)[self._copies].any():
                raise ConfigError("was replaced by a later command", field=self._name)
            if sim.time >= end:
                copy, state = int(done.argmin()), self._mission.state
                lacks = "" if state is None else f", {self._distance(state)[copy]:.3g} {self._unit} away"
                text = f"{self._name}: {self._vehicle}, copy {copy}, is not done after {timeout:g} s{lacks}"
                reason = self._reason(copy)
                raise TimeoutError(f"{text}: {reason}" if reason else text)
            sim.step()
