"""Sensors whose readings a step function computes, for all copies of all vehicles in one launch."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, Protocol, get_args, get_origin

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import annotations_of
from pegasus.base.random_numbers import draw_key, next_keys
from pegasus.base.step_math import Column, Quat, Real, Vec3, Word
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.schedule import exact
from pegasus.environment import Environment


class SensorTable(Protocol):
    """Rows of all sensors of a class in the bank, as each of them sees it."""

    def restart(self) -> None:
        """Call the step function at the coming step."""


BODY = ("position", "orientation", "velocity", "angular_velocity")
"""Columns of the bodies."""
INPUTS = ("gravity", "wind", "magnetic_field", "pressure", "temperature", "density")
"""Columns of the environment at each body: see `Environment`; `wind` is the velocity of the air [m/s]."""
SHARED = ("time", "body", "kind", "clock", "due", "starts")
"""Columns that belong to the bank rather than to a sensor."""
_SHAPES: dict[Any, tuple[int, ...]] = {Vec3: (3,), Quat: (4,)}
_TYPES: dict[Any, type] = {int: np.int32, Word: np.uint64}


@dataclass
class SensorRows:
    """Columns of a compiled sensor, one row for each copy that carries it; a subclass adds its own.

    Columns named as in `BODY` or `INPUTS` have one row for each body, read at `body[i]`. Columns of
    dataclasses are parameters, with one row for each sensor, read at `kind[i]`. Other columns are the
    sensor's own: its state and its reading.
    """

    time: Column[Real]
    """Simulation time and length of a step [s]."""
    body: Column[int]
    """Row of the body."""
    kind: Column[int]
    """Row of the parameters."""
    copy: Column[int]
    """Index of the vehicle among its copies."""
    key: Column[Word]
    """Key of the random numbers, for `pegasus.base.random_numbers.normals`."""
    count: Column[int]
    """Number of readings given so far."""
    stamp: Column[Real]
    """Time of the last reading [s]."""
    clock: Column[int]
    """Row of the schedule."""
    due: Column[int]
    """1 if a reading is due at this step, for each schedule; every row gives one if its `count` is 0."""
    starts: Column[int]
    """1 if `count` is 0; known to be 0 in code for steps at which no copy starts."""


@dataclass
class DelayedRows(SensorRows):
    """Columns of a sensor with latency: columns of bodies are recorded at the two steps around an instant.

    The instant of a reading is its `stamp` - latency. Columns `NAME_before` and `NAME_after` hold what
    `CompiledSensor.recorded` names, at these two steps; the instant lies at the share of a step that `Delay`
    tells.
    """

    delay: Column["Delay"]
    first_time: Column[Real]
    """Time of the first reading, before which nothing is recorded [s]."""


@dataclass(frozen=True)
class Delay:
    """Latency of a sensor in a simulation."""

    latency: float
    """Latency [s]."""
    steps: int
    """Latency in steps, rounded up."""
    share: float
    """Share of the step between the recorded states at which the instant of a reading lies."""
    slots: int
    """Number of slots: of readings under way."""

    @classmethod
    def of(cls, latency: float, rate_hz: float, physics_rate: float) -> "Delay":
        """Return the delay of a sensor.

        Args:
            latency: Latency [s].
            rate_hz: Rate of the sensor [Hz].
            physics_rate: Rate of the physics [Hz].
        """
        exact_steps = exact(latency) * exact(physics_rate)
        steps = math.ceil(exact_steps)
        readings = steps * exact(rate_hz) / exact(physics_rate)
        return cls(latency, steps, float(steps - exact_steps), 2 + math.ceil(readings))


class CompiledSensor(Sensor):
    """Base of a sensor whose readings a step function computes.

    A subclass declares `rate_hz`, the dataclass of its columns, the step function and what it gives, and
    implements `parameters` and `initial` where it has any. `function(i, rows)` is called for row i at
    every step at which its reading is due, and at every step if `follows_steps`. It is traced: `rows` is one
    row, and each index of a column reads that row.
    """

    columns: ClassVar[type[SensorRows]]
    """Columns; see `SensorRows`."""
    function: ClassVar[Callable[..., None]]
    """Step function, as a static method."""
    gives: ClassVar[tuple[Any, ...]] = ()
    """Class of the readings, and the column of each of its fields after `stamp`; not used where `reading` is
    overridden."""
    follows_steps: ClassVar[bool] = False
    """Whether the step function is called at every step, due or not."""
    is_fed: bool = False
    """Whether `feed` is called before a launch."""
    recorded: ClassVar[Mapping[str, str]] = {}
    """Columns of the bodies that are recorded, by the names of their own columns; see `DelayedRows`."""
    latency: float = 0.0
    """Age of a reading when it is given [s]."""
    rows: dict[str, Array]
    """Own columns by name, N rows each; set by `bind`, views of the bank's columns once it has begun."""
    table: SensorTable | None = None
    """Table of the bank; None before the first step."""
    _last: Reading | None = None
    dated: int = 0
    """Copy whose last reading dates that of all: the first readings of copies that were reset do not."""

    def parameters(self) -> Mapping[str, Any]:
        """Return this sensor's row of each column of parameters: dataclasses of numbers and vectors."""
        return {}

    def reading(self, stamp: float) -> Reading:
        """Return the last reading, with copies of `rows`.

        Args:
            stamp: Its time [s].

        Raises:
            NotImplementedError: If the class neither declares what it gives nor overrides this method.
        """
        if not self.gives:
            raise NotImplementedError(f"{type(self).__name__} must declare `gives`, or a method `reading`")
        made: Reading = self.gives[0](stamp, *[self.rows[name].copy() for name in self.gives[1:]])
        return made

    @property
    def given_columns(self) -> Sequence[Array]:
        """Columns that readings copy, one for each field after `stamp`; none if its class makes them."""
        plain = type(self).reading is CompiledSensor.reading and self.gives
        if not plain or hasattr(self.gives[0], "__post_init__"):
            return ()
        return [self.rows[name] for name in self.gives[1:]]

    def initial(self) -> Mapping[str, Array]:
        """Return the initial values of own columns, N rows each; the others begin at 0.

        They must not be random: see `draw`.
        """
        return {}

    def draw(self, rows: IntArray) -> None:
        """Draw random initial values of copies into `rows`, each copy's from its own one of `rngs`.

        Args:
            rows: Indices of the copies that start, shape (K,).
        """

    def delay(self) -> Delay:
        """Return the latency in the simulation that the vehicle has joined."""
        return Delay.of(self.latency, self.rate_hz, self.vehicle.physics_rate)

    def feed(self, state: VehicleState) -> None:
        """Copy inputs into own columns before a launch.

        Args:
            state: True state; live arrays.
        """

    def inputs(self) -> Collection[str]:
        """Return the columns of the environment that its array methods must fill before a launch."""
        return INPUTS

    @classmethod
    def settled(cls, columns: Mapping[str, Array], environment: Environment) -> bool:  # noqa: ARG003
        """Return whether a launch has given all readings; prepare another one if not.

        Args:
            columns: All columns of the table.
            environment: Environment of the simulation.
        """
        return True

    def place(self, rows: IntArray) -> None:
        """Take the coming state of copies as that of vehicles placed there: no acceleration led to it.

        Args:
            rows: Indices of the copies, shape (K,).
        """

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle and start from a fresh state.

        Args:
            vehicle: The vehicle that carries the sensor.
            environment: The environment that the vehicle flies in.
            rng: Random stream of this sensor alone; the key of the random numbers is drawn from it.
        """
        super().bind(vehicle, environment, rng)
        self.forget()
        self.dated = 0
        fresh: dict[str, Any] = {
            "key": np.full(self.count, draw_key(rng), dtype=np.uint64),
            "copy": np.arange(self.count, dtype=np.int32),
            "stamp": np.full(self.count, math.nan),
            **self._records(),
            **self.initial(),
        }
        for name, (kind, element) in own_columns(self.columns).items():
            if name not in fresh:
                assert kind is Column, name
                fresh[name] = np.zeros(
                    (self.count, *_SHAPES.get(element, ())), dtype=_TYPES.get(element, np.float64)
                )
        if self.table is not None and all(fresh[k].shape == v.shape for k, v in self.rows.items()):
            for name, values in fresh.items():
                self.rows[name][...] = values
            self.table.restart()
        else:
            self.rows, self.table = fresh, None
        self.draw(np.arange(self.count))

    def reset_copies(self, rows: IntArray) -> None:
        """Start copies from a fresh state, with other random numbers than before.

        They give their first readings at the coming step; these are zero until then, and new to backends with
        those of the other copies.

        Args:
            rows: Indices of the copies, shape (K,).
        """
        self.forget()
        others = np.delete(np.arange(self.count), rows)
        if len(others):
            self.dated = int(others[np.nan_to_num(self.rows["stamp"][others], nan=math.inf).argmin()])
        keys: Any = self.rows["key"][rows]
        fresh: dict[str, Any] = {name: values[rows] for name, values in self.initial().items()}
        fresh |= {"copy": rows, "key": next_keys(keys), "stamp": np.full(len(rows), math.nan)}
        for name, column in self.rows.items():
            column[rows] = fresh.get(name, 0)
        self.draw(rows)
        if self.table is not None:
            self.table.restart()

    def draw_anew(self, rng: np.random.Generator) -> None:
        """Take other random numbers from now on; present biases and states stay.

        Args:
            rng: Random stream of this sensor alone.
        """
        super().draw_anew(rng)
        self.rows["key"][...] = draw_key(rng)

    def measure(self, state: VehicleState, t: float) -> Reading:
        """Return the last reading, which the bank has computed."""
        return self.given

    @property
    def stamp(self) -> float:
        """Time of the last reading, NaN before the first [s]."""
        return self.rows["stamp"].item(self.dated)

    @property
    def given(self) -> Reading:
        """Last reading, made when it is first asked for; there must be one."""
        return self._at(self.stamp)

    def given_at(self, t: float) -> Reading | None:
        """Return the reading of an instant; None if the last one is older.

        Args:
            t: Simulation time [s].
        """
        return self._at(t) if self.rows["stamp"].item(self.dated) == t else None

    def forget(self) -> None:
        """Make the last reading anew when it is next asked for."""
        self._last = None

    def _records(self) -> dict[str, Array]:
        """Return room for what is recorded, by slot, before and after the instant of a reading."""
        hints = annotations_of(self.columns)
        kinds = {name: get_args(hints[body])[0] for name, body in self.recorded.items()}
        return {
            f"{name}_records": np.zeros((self.count, self.delay().slots, 2, *_SHAPES[kind]))
            for name, kind in kinds.items()
        }

    def _at(self, stamp: float) -> Reading:
        last = self._last
        if last is None or last.stamp != stamp:
            last = self._last = self.reading(stamp)
        return last

    def attach(self, table: SensorTable, rows: dict[str, Array]) -> None:
        """Take the columns of a bank as its own.

        Args:
            table: Table of the bank.
            rows: Own columns by name, N rows each.
        """
        self.table, self.rows = table, rows


def own_columns(kind: type[SensorRows]) -> dict[str, tuple[Any, Any]]:
    """Return `Column` or `Table` and the element of the columns that are a sensor's own, by name.

    Args:
        kind: Dataclass of columns.
    """
    hints = {name: (get_origin(hint), get_args(hint)[0]) for name, hint in annotations_of(kind).items()}
    return {
        name: (kind, element)
        for name, (kind, element) in hints.items()
        if name not in (*SHARED, *INPUTS, *BODY) and not is_dataclass(element)
    }
