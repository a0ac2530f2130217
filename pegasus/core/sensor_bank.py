"""Bank of the compiled sensors of all vehicles: tables of alike sensors, each with a launch."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args, get_origin

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import annotations_of
from pegasus.base.step_math import Table
from pegasus.base.tracing import FEWEST_ABREAST, Argument, column, structure, uniform, uniform_values
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.compiled_sensor import BODY, INPUTS, CompiledSensor, Delay
from pegasus.core.schedule import Schedule
from pegasus.core.sensor_row import measured
from pegasus.core.sensor_suite import SensorSuite
from pegasus.environment import Environment


class SensingVehicle(EquippedVehicle, Protocol):
    """Vehicle whose sensors the bank runs."""

    @property
    def sensors(self) -> SensorSuite:
        """Its sensors."""


class SensorBank:
    """Compiled sensors of all vehicles of a simulation.

    Args:
        rate: Physics rate [Hz].
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._time = np.array([0.0, 1.0 / rate, 0.0])
        self._number = 0
        self._tables: list[SensorTable] = []
        self._others: list[SensingVehicle] = []
        self._bound: Array | None = None

    @property
    def shared(self) -> dict[str, Any]:
        """Time, tables, and the columns in which sensors have views, by name."""
        shared: dict[str, Any] = {"time of sensors": self._time}
        for k, table in enumerate(self._tables):
            shared[f"table {k} of sensors"] = table
            shared |= {f"{name} of table {k} of sensors": table.columns[name] for name in table.own}
        return shared

    def save_state(self) -> dict[str, Any]:
        """Return copies of the columns of the sensors, and when each table is called."""
        tables = [
            (table.next_step, {name: table.columns[name].copy() for name in table.own})
            for table in self._tables
        ]
        return {"number": self._number, "now": float(self._time[0]), "tables": tables}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take a saved state of the same sensors.

        Args:
            state: What `save_state` gave.
        """
        self._number = state["number"]
        self._time[0], self._time[2] = state["now"], state["number"]
        for table, (next_step, columns) in zip(self._tables, state["tables"], strict=True):
            table.next_step = next_step
            for name, values in columns.items():
                table.columns[name][...] = values

    def measure(
        self, vehicles: Iterable[SensingVehicle], bodies: Mapping[str, Array], step: int, t: float
    ) -> None:
        """Take the readings that are due at a step.

        Args:
            vehicles: All vehicles, in the order of their rows.
            bodies: Columns of all copies of all vehicles by name, M rows each; other arrays after a change
                of vehicles.
            step: Number of the step.
            t: Simulation time [s].
        """
        self.arrange(vehicles, bodies)
        self._number += 1
        self._time[0], self._time[2] = t, self._number
        for table in self._tables:
            if step >= table.next_step:
                table.measure(step, t)
        for vehicle in self._others:
            vehicle.sensors.measure(vehicle.state, step, t)

    def arrange(self, vehicles: Iterable[SensingVehicle], bodies: Mapping[str, Array]) -> None:
        """Make a table for each class of sensors if vehicles have come or gone; states are kept.

        Args:
            vehicles: All vehicles, in the order of their rows.
            bodies: Columns of all copies of all vehicles by name, M rows each.
        """
        if bodies["position"] is self._bound:
            return
        vehicles, self._bound = list(vehicles), bodies["position"]
        found: dict[type[CompiledSensor], list[tuple[CompiledSensor, int]]] = {}
        first = 0
        for vehicle in vehicles:
            vehicle.sensors.time = self._time
            for sensor in vehicle.sensors.values():
                if isinstance(sensor, CompiledSensor):
                    found.setdefault(_declaring(type(sensor)), []).append((sensor, first))
            first += vehicle.count
        self._tables = [
            SensorTable(alike, bodies, self._time) for sensors in found.values() for alike in _alike(sensors)
        ]
        self._others = [vehicle for vehicle in vehicles if not vehicle.sensors.is_compiled]


class Records:
    """States of bodies at the two steps around the instants of coming readings.

    Args:
        bodies: Columns of the bodies, by the names of their records.
        columns: Columns of the sensors: `NAME_records` by slot, and `NAME_before` and `NAME_after` of one.
    """

    def __init__(self, bodies: Mapping[str, Array], columns: Mapping[str, Array]) -> None:
        self._each = [
            (body, columns[f"{name}_records"], columns[f"{name}_before"], columns[f"{name}_after"])
            for name, body in bodies.items()
        ]

    def record(self, before: int, after: int) -> None:
        """Record the present step in the slots of instants before and after which it is; below 0 for none."""
        for body, records, _, _ in self._each if max(before, after) >= 0 else ():
            if before >= 0:
                records[:, before, 0] = body
            if after >= 0:
                records[:, after, 1] = body

    def recall(self, slot: int) -> None:
        """Set the columns of the states around an instant to those of its slot."""
        for _, records, before, after in self._each:
            before[...], after[...] = records[:, slot, 0], records[:, slot, 1]


class SensorTable:
    """Rows of alike sensors, and their launches.

    Args:
        sensors: The sensors, each with the row of its vehicle's first copy among the bodies, one behind the
            other.
        bodies: Columns of the bodies by name.
        time: Time and length of a step [s], and number of steps; live.
    """

    next_step: int
    """Next step at which the table has something to do."""

    def __init__(
        self, sensors: Sequence[tuple[CompiledSensor, int]], bodies: Mapping[str, Array], time: Array
    ) -> None:
        self.sensors = [sensor for sensor, _ in sensors]
        self._lead, first = sensors[0]
        self.count = sum(sensor.count for sensor in self.sensors)
        here = slice(first, first + self.count)
        given = {name: values[here] for name, values in bodies.items() if name in (*BODY, *INPUTS, *_ADDED)}
        self._position, self._added = given["position"], [given[name] for name in _ADDED if name in given]
        self.columns, self._time = self._joined(), time
        self.own = tuple(self._lead.rows)
        """Names of the sensors' own columns."""
        self._inputs = self._add_inputs(given)
        recorded = {name: given[body] for name, body in self._lead.recorded.items()}
        self._records = Records(recorded, self.columns) if recorded else None
        self._clock, self._due, self._told = _Clock(self._lead, 1.0 / float(time[1])), np.zeros(1), False
        self._launches: dict[str, Callable[[], None]] = {}
        self._fed = [sensor for sensor in self.sensors if sensor.is_fed]
        self._environment = self._lead.environment
        self._settles = getattr(self._lead.settled, "__func__", None) is not _AT_ONCE
        self._follows = self._lead.follows_steps
        self._is_small = self.count < FEWEST_ABREAST or not self._follows
        self.next_step = 0

    def _joined(self) -> dict[str, Array]:
        """Return the sensors' own columns one behind the other, of which they get views."""
        names = self._lead.rows
        columns = {name: np.concatenate([sensor.rows[name] for sensor in self.sensors]) for name in names}
        first = 0
        for sensor in self.sensors:
            rows = slice(first, first + sensor.count)
            first += sensor.count
            sensor.attach(self, {name: values[rows] for name, values in columns.items()})
        return columns

    def _add_inputs(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Add the columns of the bodies and of the environment; return those to fill before a launch."""
        filled: dict[str, Array] = {}
        names = annotations_of(self._lead.columns)
        for name in (*BODY, *INPUTS):
            if name in names and name in given and name not in _PRESENT:
                self.columns[name] = given[name]
            elif name in names:
                self.columns[name] = np.zeros((self.count, *((3,) if name in _VECTORS else ())))
                if name in self._lead.inputs():
                    filled[name] = self.columns[name]
        return filled

    def restart(self) -> None:
        """Call the step function at the coming step."""
        self.next_step = 0

    def measure(self, step: int, t: float) -> None:
        """Launch the step function.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        due, before, after, slot, wait = self._clock.plan(step)
        starts, follows = not self.next_step, self._follows
        self.next_step = step + (1 if follows else wait)
        if self._records is not None:
            self._records.record(before, after)
        if not (due or starts or follows):
            return
        if starts:
            for sensor in self.sensors:
                sensor.forget()
        if self._records is not None:
            self._records.recall(slot)
        if self._inputs:
            self._fill_inputs(t)
        for sensor in self._fed:
            sensor.feed(sensor.vehicle.state)
        if due is not self._told:
            self._due[0] = self._told = due
        # Code that knows more is faster, but has to be compiled: it pays for many rows at every step.
        way = _ANY if self._is_small or starts else _DUE if due else _FOLLOWS
        launch = self._launches.get(way) or self._prepared(way)
        launch()
        while self._settles and not self._lead.settled(self.columns, self._environment):
            launch()

    def _fill_inputs(self, t: float) -> None:
        """Set the columns of the environment."""
        for name, values in self._inputs.items():
            values[...] = _input(self._environment, name, self._position, t)
            for added in self._added if name == "wind" else ():
                values += added

    def _prepared(self, way: str) -> Callable[[], None]:
        """Return the launch of the step function over all rows in a way of calling it."""
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.tracing.launches import program_of

        arguments = self.arguments(way)
        # Copies start seldom: their code is that of few rows, which is soon compiled.
        count = 1 if way == _ANY and self._follows else self.count
        arrays = {**self.columns, "time": self._time, "due": self._due}
        for argument in arguments:
            if isinstance(argument, Argument) and argument.values:
                arrays = uniform_values(argument) | arrays
        program = program_of(measured, *arguments, count=count)
        launch: Callable[[], None] = program.launch(arrays, self.count, apart=False).run
        self._launches[way] = launch
        return launch

    def arguments(self, way: str) -> tuple[Any, ...]:
        """Return the arguments of `measured`: inputs of a trace, and what is known in a way of calling it.

        Args:
            way: `any` if copies may start, `due` for a reading of each, `follows` for a step between.
        """
        lead, due = self._lead, uniform("due", 0.0) if way == _ANY else int(way == _DUE)
        given: dict[str, Any] = {"time": uniform("time", (0.0, 0.0, 0.0)), "due": due}
        given |= {name: uniform(name, value) for name, value in lead.parameters().items()}
        for name, hint in annotations_of(lead.columns).items():
            if name in self.columns:
                kind, is_table = get_args(hint)[0], get_origin(hint) is Table
                width = self.columns[name].shape[1] if is_table else 0
                given[name] = () if is_table and not width else column(name, kind, width)
        starts = None if way == _ANY else 0
        return lead.function, lead.columns, tuple(given), starts, *given.values()


_AT_ONCE = CompiledSensor.__dict__["settled"].__func__
"""Method of sensors whose launch gives all readings."""
_ANY, _DUE, _FOLLOWS = "any", "due", "follows"
"""Ways of calling a step function: if copies may start, for a reading of each, for a step between."""
_PLANS = 4096
"""Number of plans that a clock keeps."""


class _Clock:
    """Steps at which readings are due, and at which the states that they are of are recorded.

    A reading of latency L is due at a whole step d, and is of the instant d - L, between the steps
    d - ceil(L) and d - ceil(L) + 1.
    """

    def __init__(self, sensor: CompiledSensor, rate: float) -> None:
        self._schedule = Schedule(sensor.rate_hz, rate, name="")
        delay = Delay.of(sensor.latency, sensor.rate_hz, rate)
        self._lead, self._slots = delay.steps, delay.slots
        self._period = self._schedule.period * self._slots
        self._plan = functools.lru_cache(maxsize=_PLANS)(self._computed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Clock) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Schedule, int, int]:
        return self._schedule, self._lead, self._slots

    def plan(self, step: int) -> tuple[bool, int, int, int, int]:
        """Return the signals of a step, and the number of steps until there is something to do again.

        The signals: whether a reading is due, and the slots to record before, to record after (below 0 for
        none) and to read.
        """
        # They come round again; a run meets few different ones.
        return self._plan(step % self._period)

    def _computed(self, step: int) -> tuple[bool, int, int, int, int]:
        lead, schedule = self._lead, self._schedule
        signals = (
            schedule.falls_on(step),
            self._slot(step + lead),
            self._slot(step + lead - 1) if lead else -1,
            schedule.number(step) % self._slots,
        )
        ahead = (lead, lead - 1, 0) if lead else (0,)
        return *signals, min(schedule.next(step + k) - k for k in ahead) - step

    def _slot(self, step: int) -> int:
        return self._schedule.number(step) % self._slots if self._schedule.falls_on(step) else -1


_ADDED = ("gust_velocity", "wind_shock")
"""Columns of the bodies that are added to the wind [m/s]."""
_PRESENT = ("wind", "magnetic_field", "pressure", "temperature", "density")
"""Inputs of the present instant, not those that the plant held over the last step."""
_VECTORS = ("gravity", "wind", "magnetic_field")


def _input(environment: Environment, name: str, position: Array, t: float) -> Array | float:
    """Return a column of the environment at the bodies."""
    if name == "gravity":
        return environment.gravity_vector(position)
    if name == "magnetic_field":
        return environment.disturbed_field_at(position)
    if name == "wind":
        return 0.0 if environment.wind.calm else environment.wind_velocity(position, t)
    values: Array = getattr(environment.air(position), name)
    return values


def _alike(sensors: Sequence[tuple[CompiledSensor, int]]) -> list[list[tuple[CompiledSensor, int]]]:
    """Return the parts of sensors of a class that share a launch: of equal numbers, on bodies in a row."""
    parts: list[list[tuple[CompiledSensor, int]]] = []
    last: Any = None
    for sensor, first in sensors:
        key = _key(sensor)
        if (key, first) == last:
            parts[-1].append((sensor, first))
        else:
            parts.append([(sensor, first)])
        last = key, first + sensor.count
    return parts


def _key(sensor: CompiledSensor) -> tuple[Any, ...]:
    """Return what the code, the uniform inputs and the calls of a sensor follow from."""
    given = [uniform(name, value) for name, value in sensor.parameters().items()]
    numbers = tuple((name, a.tobytes()) for p in given for name, a in uniform_values(p).items())
    structures = tuple(map(structure, given))
    shapes = tuple((name, values.shape[1:]) for name, values in sensor.rows.items())
    clock = _Clock(sensor, sensor.vehicle.physics_rate)
    return type(sensor), structures, numbers, shapes, tuple(sensor.inputs()), clock


def _declaring(kind: type[CompiledSensor]) -> type[CompiledSensor]:
    """Return the class that declares the step function of a class of sensors."""
    return next(base for base in kind.__mro__ if "function" in vars(base))
