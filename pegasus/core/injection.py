"""Faults of a vehicle: their schedule, copy by copy, and their effects at each step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import IntArray
from pegasus.base.components import require, require_instance
from pegasus.contracts.condition import Condition
from pegasus.contracts.fault import Fault, Injection, SensorFault
from pegasus.contracts.reading import Reading
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.columns import NEUTRAL
from pegasus.core.command_line import CommandLine
from pegasus.core.link_state import LinkState
from pegasus.core.placement import Copies, chosen_copies
from pegasus.core.sensor_suite import SensorSuite


@dataclass(frozen=True)
class FaultEvent:
    """Beginning or end of a fault."""

    time: float
    """Simulation time [s]."""
    label: str
    """Name of the fault."""
    begins: bool
    """True for a beginning, False for an end."""
    copies: tuple[int, ...]
    """Indices of the copies."""

    def __str__(self) -> str:
        return f"fault {self.label} {'begins' if self.begins else 'ends'}"


class VehicleFaults:
    """Faults of a vehicle.

    Args:
        vehicle: The vehicle.
        sensors: Its sensors.
    """

    def __init__(self, vehicle: EquippedVehicle, sensors: SensorSuite) -> None:
        self._vehicle, self._sensors = vehicle, sensors
        self.injections: list[Injection] = []
        """All faults that have been injected, also those that are over."""
        self.events: list[FaultEvent] = []
        """Beginnings and ends since the run began."""
        self.links = LinkState()
        """Faults of the links of autopilots and of ROS 2."""
        self.time = 0.0
        """Simulation time [s]."""
        self._seed = 0
        self._episode = np.zeros(vehicle.count)
        self._line = CommandLine(vehicle)
        self._acted = False
        self._altered: dict[str, Reading | None] = {}

    def __len__(self) -> int:
        return len(self.injections)

    @property
    def acting(self) -> Sequence[Injection]:
        """Faults that act on a copy now."""
        return [injection for injection in self.injections if injection.acts]

    def inject(self, fault: Fault, copies: Copies = None) -> Injection:
        """Add a fault.

        Args:
            fault: The fault.
            copies: The copies that it concerns; all if None.

        Raises:
            ConfigError: If the vehicle does not have what fails.
        """
        vehicle = self._vehicle
        require_instance(Fault, "fault", fault)
        fault.fit(vehicle)
        if isinstance(fault.when, str):
            Condition.parsed(fault.when).fit(vehicle)
        rows = chosen_copies(copies, vehicle.count)
        taken = {injection.label for injection in self.injections}
        if fault.name is not None:
            require(fault.name not in taken, "name", fault.name, "is the name of another fault")
        labels = [fault.label, *(f"{fault.label} ({k})" for k in range(2, len(taken) + 2))]
        label = next(label for label in labels if label not in taken)
        injection = Injection(fault, vehicle, label, rows, lasting=self.time == 0 or fault.start is not None)
        injection.restart(self._seed)
        self.injections.append(injection)
        return injection

    def heal(self, fault: "Fault | Injection | str | None" = None, copies: Copies = None) -> list[str]:
        """End faults at the coming step, and return their names.

        Args:
            fault: The fault, its injection or its name; all if None.
            copies: The copies; all if None.

        Raises:
            ConfigError: If there is no such fault.
        """
        rows = chosen_copies(copies, self._vehicle.count)
        found = [
            injection
            for injection in self.injections
            if fault is None or fault in (injection.label, injection.fault) or fault is injection
        ]
        known = ", ".join(injection.label for injection in self.injections) or "none"
        require(bool(found) or fault is None, "fault", fault, f"is not in the vehicle; there are {known}")
        for injection in found:
            injection.ended[rows] = True
        return [injection.label for injection in found]

    def reset(self, seed: int) -> None:
        """Begin anew: faults that were injected during the run without a start are removed.

        Args:
            seed: Seed of the simulation.
        """
        self._seed, self.time = seed, 0.0
        for injection in self.injections:
            injection.release(np.ones(self._vehicle.count, dtype=bool))
        self.injections = [injection for injection in self.injections if injection.lasting]
        self._episode[...] = 0.0
        self._altered, self.events = {}, []
        self._sensors.alter({})
        self.links.reset(seed, self._vehicle.name)
        self._line.clear()
        self._clear_effects()
        self._vehicle.columns["wind_shock"][...] = 0.0
        for injection in self.injections:
            injection.restart(seed)

    def draw_anew(self, seed: int) -> None:
        """Take the random numbers of another seed from now on.

        Args:
            seed: Seed of the simulation.
        """
        self._seed = seed
        for injection in self.injections:
            injection.draw_anew(seed)

    def reset_copies(self, rows: IntArray) -> None:
        """Begin anew in single copies, whose times count from now.

        Args:
            rows: Indices of the copies.
        """
        chosen = np.zeros(self._vehicle.count, dtype=bool)
        chosen[rows] = True
        self._episode[rows] = self.time
        self._line.forget(rows)
        for injection in self.injections:
            injection.release(chosen)
            if injection.lasting:
                injection.restart(self._seed, rows)
            else:
                injection.ended[rows] = True

    def update(self, t: float) -> None:
        """Begin and end the faults that are due.

        Args:
            t: Simulation time [s].
        """
        self.time = t
        age = t - self._episode
        for injection in self.injections:
            if injection.is_over and not injection.acts:
                continue
            begins, ends = injection.update(age)
            for copies, begun in ((ends, False), (begins, True)):
                if copies.any():
                    if begun:
                        self._line.begin(self._vehicle.columns["command"])
                    if begun and isinstance(injection.fault, SensorFault):
                        name = injection.fault.sensor
                        self._altered.setdefault(name, self._sensors.last_reading(name))
                    turn = injection.fault.begin if begun else injection.fault.finish
                    turn(injection, copies)
                    rows = tuple(np.flatnonzero(copies).tolist())
                    self.events.append(FaultEvent(t, injection.label, begun, rows))
        acting = self.acting
        shock = self._vehicle.columns["wind_shock"]
        if shock.any():
            shock[...] = 0.0
        self.links.take(acting)
        for injection in acting:
            injection.fault.blow(injection)

    def sense(self, t: float) -> None:
        """Put altered readings in the place of new ones.

        Args:
            t: Simulation time [s].
        """
        faulty: dict[str, list[Injection]] = {}
        for injection in self.acting:
            if isinstance(injection.fault, SensorFault):
                faulty.setdefault(injection.fault.sensor, []).append(injection)
        if not faulty and not self._altered:
            return
        altered: dict[str, Reading | None] = {}
        for name, injections in faulty.items():
            reading = self._sensors.true_reading(name, t)
            for injection in injections:
                fault = injection.fault
                assert isinstance(fault, SensorFault)
                if reading is not None:
                    reading = fault.alter(injection, reading, t)
            # The last reading remains until there is another one.
            altered[name] = self._altered.get(name) if reading is None else reading
        self._altered = altered
        self._sensors.alter(altered)

    def actuate(self, t: float, dt: float) -> bool:
        """Set the inputs of the step from t to t + dt that are those of faults.

        They are neutral before the first fault acts. Shares and factors multiply, forces, torques and delays
        add, and what is held stays so until the last of its faults ends: so the order of faults is of no
        account, but for the rounding of three or more.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].

        Returns:
            Whether a fault acts that alters the step.
        """
        acting, columns = self.acting, self._vehicle.columns
        if self._acted:
            self._clear_effects()
        self._acted = bool(acting)
        if not acting:
            return False
        for injection in acting:
            injection.fault.actuate(injection, t, dt)
        self._line.pass_on(columns)
        return any(injection.fault.alters_step for injection in acting)

    @property
    def may_alter_step(self) -> bool:
        """Whether there is a fault, acting or not, that alters the step."""
        return any(injection.fault.alters_step for injection in self.injections)

    def _clear_effects(self) -> None:
        for name, value in NEUTRAL.items():
            self._vehicle.columns[name][...] = value
