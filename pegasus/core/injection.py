"""Faults of a vehicle: their schedule, copy by copy, and their effects at each step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import require, require_instance
from pegasus.base.errors import ConfigError
from pegasus.base.random_numbers import draw_key, next_keys
from pegasus.base.streams import stream
from pegasus.core.fault import Fault, SensorFault
from pegasus.core.fault_condition import Condition
from pegasus.core.link_state import LinkState
from pegasus.core.placement import Copies, chosen_copies
from pegasus.core.sensor import Reading

if TYPE_CHECKING:
    from pegasus.core.multirotor import Multirotor

_TOLERANCE = 1e-9
"""Tolerance of comparisons of times [s]."""
SHARES = ("drive", "thrust_share", "torque_share", "voltage_share", "capacity_share", "resistance_share")
"""Columns that are 1 without faults."""
_RESTORED = ("command", "push", "twist", "wind", *SHARES)
"""Columns that a fault may change for one step."""


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


class Injection:
    """Fault in a vehicle, with its schedule.

    Args:
        fault: The fault.
        vehicle: The vehicle.
        label: Name of the fault, unique in the vehicle.
        rows: Indices of the copies that it concerns.
        lasting: Whether it begins anew after a reset; otherwise a reset removes it.
    """

    def __init__(
        self, fault: Fault, vehicle: "Multirotor", label: str, rows: IntArray, *, lasting: bool
    ) -> None:
        self.fault, self.vehicle, self.label, self.lasting = fault, vehicle, label, lasting
        self.chosen = np.zeros(vehicle.count, dtype=bool)
        self.chosen[rows] = True
        self.begun: Array = np.full(vehicle.count, np.nan)
        """Time at which it began in the episode of each copy, NaN before [s], shape (N,)."""
        self.ended = np.zeros(vehicle.count, dtype=bool)
        self.active = np.zeros(vehicle.count, dtype=bool)
        """Copies that it acts on, shape (N,)."""
        self.intensity: Array = np.zeros(vehicle.count)
        """Share of the full effect by copy, 0 where it does not act, shape (N,)."""
        self.since: Array = np.zeros(vehicle.count)
        """Time since its beginning [s], shape (N,)."""
        self.state: dict[str, Any] = {}
        """Arrays of the fault's own, N rows each; removed by a reset."""
        self.keys: Any = np.zeros(vehicle.count, dtype=np.uint64)
        """Keys of the random numbers, shape (N,)."""
        self._condition: Callable[[Multirotor], Any] | None = fault.condition()

    @property
    def acts(self) -> bool:
        """True while it acts on at least one copy."""
        return bool(self.active.any())

    @property
    def is_over(self) -> bool:
        """Whether it has ended for all copies and cannot begin again."""
        return bool(self.ended[self.chosen].all())

    def kept(self, name: str, make: Callable[[], Array]) -> Array:
        """Return an array of the fault's own, made at its first use.

        Args:
            name: Name of the array.
            make: Function that makes it, with N rows.
        """
        if name not in self.state:
            self.state[name] = make()
        array: Array = self.state[name]
        return array

    def restart(self, seed: int, rows: IntArray | slice = slice(None)) -> None:
        """Bring the schedule of copies to the beginning.

        Args:
            seed: Seed of the simulation.
            rows: The copies; for single ones, their random numbers are others than before.
        """
        if isinstance(rows, slice):
            self.state.clear()
            key = draw_key(stream(seed, self.vehicle.name, "fault", self.label))
            self.keys[...] = key
        else:
            self.keys[rows] = next_keys(self.keys[rows])
            for array in self.state.values():
                if isinstance(array, np.ndarray):
                    array[rows] = 0
        self.begun[rows] = np.nan
        self.ended[rows] = self.active[rows] = False
        self.intensity[rows] = 0.0

    def update(self, age: Array) -> tuple[BoolArray, BoolArray]:
        """Advance the schedule, and return the copies for which the fault begins and ends, shape (N,) each.

        Args:
            age: Time since the beginning of the episode of each copy [s], shape (N,).
        """
        fault, vehicle = self.fault, self.vehicle
        possible = self.chosen & ~self.ended
        begins = possible & ~self.active
        if fault.start is not None:
            begins &= age >= fault.start - _TOLERANCE
        holds = np.ones(vehicle.count, dtype=bool)
        if fault.where is not None:
            holds &= fault.where.contains(vehicle.state.position)
        if self._condition is not None and possible.any():
            holds &= self._truth(vehicle)
        begins &= holds
        self.begun[begins] = age[begins]
        active = self.active | begins
        ends = active & ~possible
        if fault.end is not None:
            self.ended |= possible & (age >= fault.end - _TOLERANCE)
        if fault.duration is not None:
            self.ended |= active & (age - self.begun >= fault.duration - _TOLERANCE)
        ends |= active & self.ended
        if not fault.latch:
            ends |= active & ~holds
        was = self.active.copy()
        self.active = active & ~ends
        self.since = np.where(self.active, age - self.begun, 0.0)
        grown = np.ones(vehicle.count) if not fault.ramp else np.minimum(self.since / fault.ramp, 1.0)
        self.intensity = np.where(self.active, grown, 0.0)
        return begins & self.active, ends & was

    def _truth(self, vehicle: "Multirotor") -> BoolArray:
        assert self._condition is not None
        given = np.asarray(self._condition(vehicle))
        try:
            truth: BoolArray = np.broadcast_to(given.astype(bool), (vehicle.count,))
        except (ValueError, TypeError):
            raise ConfigError(
                f"must give truth values of shape ({vehicle.count},)",
                field=f"condition of fault {self.label!r}",
                value=given,
            ) from None
        return truth


class VehicleFaults:
    """Faults of a vehicle.

    Args:
        vehicle: The vehicle.
    """

    def __init__(self, vehicle: "Multirotor") -> None:
        self._vehicle = vehicle
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
        self._before: dict[str, Array] = {}
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
            if injection.acts:
                injection.fault.finish(injection, injection.active)
        self.injections = [injection for injection in self.injections if injection.lasting]
        self._episode[...] = 0.0
        self._before, self._altered, self.events = {}, {}, []
        self._vehicle.sensors.alter({})
        self.links.reset(seed, self._vehicle.name)
        for name in SHARES:
            self._vehicle.columns[name][...] = 1.0
        self._vehicle.columns["wind_shock"][...] = 0.0
        for injection in self.injections:
            injection.restart(seed)

    def reset_copies(self, rows: IntArray) -> None:
        """Begin anew in single copies, whose times count from now.

        Args:
            rows: Indices of the copies.
        """
        chosen = np.zeros(self._vehicle.count, dtype=bool)
        chosen[rows] = True
        self._episode[rows] = self.time
        for injection in self.injections:
            if (active := injection.active & chosen).any():
                injection.fault.finish(injection, active)
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
                    if begun and isinstance(injection.fault, SensorFault):
                        name = injection.fault.sensor
                        self._altered.setdefault(name, self._vehicle.sensors.last_reading(name))
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
        sensors = self._vehicle.sensors
        faulty: dict[str, list[Injection]] = {}
        for injection in self.acting:
            if isinstance(injection.fault, SensorFault):
                faulty.setdefault(injection.fault.sensor, []).append(injection)
        if not faulty and not self._altered:
            return
        altered: dict[str, Reading | None] = {}
        for name, injections in faulty.items():
            reading = sensors.true_reading(name, t)
            for injection in injections:
                fault = injection.fault
                assert isinstance(fault, SensorFault)
                if reading is not None:
                    reading = fault.alter(injection, reading, t)
            # The last reading remains until there is another one.
            altered[name] = self._altered.get(name) if reading is None else reading
        self._altered = altered
        sensors.alter(altered)

    def actuate(self, t: float, dt: float) -> None:
        """Change the inputs of the step from t to t + dt.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].
        """
        acting, columns = self.acting, self._vehicle.columns
        if not acting:
            return
        self._before = {name: columns[name].copy() for name in _RESTORED}
        if columns["wind_shock"].any():
            columns["wind"] += columns["wind_shock"]
        for injection in acting:
            injection.fault.actuate(injection, t, dt)

    def release(self) -> None:
        """Restore the inputs after the step."""
        for name, values in self._before.items():
            self._vehicle.columns[name][...] = values
        self._before = {}
