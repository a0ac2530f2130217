"""Bank of the compiled sensors of all vehicles: one table, and one launch, for each class."""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import annotations_of
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.compiled_sensor import BODY, INPUTS, CompiledSensor, Delay, own_columns
from pegasus.core.schedule import Schedule
from pegasus.core.sensor_suite import SensorSuite
from pegasus.environment import Environment


class SensingVehicle(Vehicle, Protocol):
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
            (table.asked_at, table.next_step, {name: table.columns[name].copy() for name in table.own})
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
        for table, (asked_at, next_step, columns) in zip(self._tables, state["tables"], strict=True):
            table.asked_at, table.next_step = asked_at, next_step
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
        self._tables = [SensorTable(sensors, bodies, self._time) for sensors in found.values()]
        self._others = [vehicle for vehicle in vehicles if not vehicle.sensors.is_compiled]


class SensorTable:
    """Rows of all sensors of a class, and their launch.

    Args:
        sensors: The sensors, each with the row of its vehicle's first copy among the bodies.
        bodies: Columns of the bodies by name.
        time: Time and length of a step [s], and number of steps; live.
    """

    next_step: int
    """Next step at which the table has something to do."""
    asked_at: float = math.nan
    """Time of the last launch [s]."""

    def __init__(
        self, sensors: Sequence[tuple[CompiledSensor, int]], bodies: Mapping[str, Array], time: Array
    ) -> None:
        self.sensors = [sensor for sensor, _ in sensors]
        self._kind = self.sensors[0].columns
        self._position = bodies["position"]
        self._gust = bodies.get("gust_velocity", _STILL)
        self._wind_shock = bodies.get("wind_shock", _STILL)
        self._environment = self.sensors[0].environment
        names, own = annotations_of(self._kind), own_columns(self._kind)
        self.own = tuple(own)
        """Names of the sensors' own columns."""
        columns = {name: _joined([sensor.rows[name] for sensor in self.sensors]) for name in own}
        counts = [sensor.count for sensor in self.sensors]
        columns["kind"] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        columns["body"] = np.concatenate([np.arange(n, n + s.count, dtype=np.int32) for s, n in sensors])
        columns["time"] = time
        columns |= self._set_clocks(1.0 / float(time[1]), counts)
        filled = {name for sensor in self.sensors for name in sensor.inputs()}
        self._inputs: dict[str, Array] = {}
        for name in (*BODY, *INPUTS):
            if name in names and name in bodies and name not in _PRESENT:
                columns[name] = bodies[name]
            elif name in names:
                shape = (len(self._position), *((3,) if name in _VECTORS else ()))
                columns[name] = np.zeros(shape)
                if name in filled:
                    self._inputs[name] = columns[name]
        self.columns = columns
        first = 0
        for sensor in self.sensors:
            rows = slice(first, first + sensor.count)
            first += sensor.count
            sensor.attach(self, {name: _part(columns[name], rows, sensor.rows[name]) for name in own})
        self._count = first
        self._launch: Callable[[], None] | None = None
        self._followed = self.sensors[0].follows_steps
        self._settled = self.sensors[0].settled
        self._fed = [sensor for sensor in self.sensors if sensor.is_fed]
        self.next_step = 0

    def restart(self) -> None:
        """Call the step function at the coming step."""
        self.next_step = 0

    def measure(self, step: int, t: float) -> None:
        """Launch the step function.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        if self._launch is None:
            self._launch = self.launch()
        if not self.next_step:
            for sensor in self.sensors:
                sensor.forget()
        self.next_step, self.asked_at = step + (self._tick(step) if self._ticking else 1), t
        for name, column in self._inputs.items():
            column[...] = _input(self._environment, name, self._position, t)
            if name == "wind" and self._environment.wind.turbulence is not None:
                column += self._gust
            if name == "wind" and self._wind_shock.any():
                column += self._wind_shock
        for sensor in self._fed:
            sensor.feed(sensor.vehicle.state)
        self._launch()
        while not self._settled(self.columns, self._environment):
            self._launch()

    def _tick(self, step: int) -> int:
        """Set the signals of all schedules at a step; return the number of steps until the next call."""
        wait = 0
        for k, clock in self._ticking:
            self._signals[:, k], pause = clock.plan(step)
            wait = min(wait or pause, pause)
        return 1 if self._followed else wait

    def launch(self) -> Callable[[], None]:
        """Return the prepared launch of the step function over all rows."""
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.compiler import Rows, shared_kernel

        given = [sensor.parameters() for sensor in self.sensors]
        parameters = {name: [each[name] for each in given] for name in given[0]}
        self.rows = Rows(self._kind, {**self.columns, **parameters})
        return shared_kernel(self.sensors[0].function).launch(self.rows, self._count)

    def _set_clocks(self, rate: float, counts: Sequence[int]) -> dict[str, Any]:
        """Find the distinct schedules of the sensors; return the columns of schedules."""
        each = [_Clock(sensor, rate) for sensor in self.sensors]
        clocks = list(dict.fromkeys(each))
        self._signals = np.full((len(_SIGNALS), len(clocks)), -1, dtype=np.int32)
        self._signals[0] = 1
        # Sensors that are due at every step have nothing to be told.
        self._ticking = [
            (k, clock)
            for k, clock in enumerate(clocks)
            if not (self.sensors[0].follows_steps and clock.is_constant)
        ]
        numbers = np.array([clocks.index(clock) for clock in each], dtype=np.int32)
        signals = zip(_SIGNALS, self._signals, strict=True)
        return {**dict(signals), "clock": np.repeat(numbers, counts)}


_SIGNALS = ("due", "before", "after", "slot")
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

    @property
    def is_constant(self) -> bool:
        """Whether a reading without latency is due at every step."""
        return not self._lead and self._schedule.next(0) == 1 and self._schedule.next(1) == 2

    def plan(self, step: int) -> tuple[Array, int]:
        """Return the signals of a step, and the number of steps until there is something to do again.

        The signals: whether a reading is due, and the slots to record before, to record after and to read.
        """
        # They come round again; a run meets few different ones.
        return self._plan(step % self._period)

    def _computed(self, step: int) -> tuple[Array, int]:
        lead, schedule = self._lead, self._schedule
        signals = (
            int(schedule.falls_on(step)),
            self._slot(step + lead),
            self._slot(step + lead - 1) if lead else -1,
            schedule.number(step) % self._slots,
        )
        ahead = (lead, lead - 1, 0) if lead else (0,)
        return np.array(signals, dtype=np.int32), min(schedule.next(step + k) - k for k in ahead) - step

    def _slot(self, step: int) -> int:
        return self._schedule.number(step) % self._slots if self._schedule.falls_on(step) else -1


_STILL = np.zeros((1, 3))
"""Wind that faults add where the bodies have no such column [m/s]."""
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


def _joined(parts: Sequence[Array]) -> Array:
    """Return the rows of several sensors in one array, with zeros where a sensor has fewer columns."""
    width = max(parts, key=lambda part: part.shape[1:2] or (0,)).shape[1:]
    joined = np.zeros((sum(map(len, parts)), *width), dtype=parts[0].dtype)
    first = 0
    for part in parts:
        _part(joined, slice(first, first + len(part)), part)[...] = part
        first += len(part)
    return joined


def _part(joined: Array, rows: slice, like: Array) -> Array:
    """Return the rows of a sensor, as wide as its own columns."""
    return joined[rows] if like.ndim == 1 else joined[rows, : like.shape[1]]


def _declaring(kind: type[CompiledSensor]) -> type[CompiledSensor]:
    """Return the class that declares the step function of a class of sensors."""
    return next(base for base in kind.__mro__ if "function" in vars(base))
