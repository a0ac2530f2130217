"""Fleets: many copies of a vehicle, stepped by compiled code without Python between steps."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray, empty_lines
from pegasus.base.components import require
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.core.aircraft import Aircraft
from pegasus.core.placement import Copies, chosen_copies
from pegasus.environment import Environment
from pegasus.fleet.columns import HostRows, columns_of, padded
from pegasus.fleet.derivatives import Reverse
from pegasus.fleet.levels import LEVELS
from pegasus.fleet.model import FleetModel, Model, Vary
from pegasus.fleet.sensing import Sensors
from pegasus.fleet.world import World
from pegasus.fleet.world_files import world_of_file
from pegasus.model.machine import Channel

_KINDS: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
_UNIT = 1e-3
"""Largest difference of the length of a given quaternion from 1."""


@dataclass(frozen=True)
class FleetState:
    """State of the rows of a fleet: live views of its columns, N rows each."""

    position: Array
    """Origins of the body frames in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw, body to world, shape (N, 4)."""
    velocity: Array
    """Velocities of these origins in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocities in the body frame [rad/s], shape (N, 3)."""
    rotor_speed: Array
    """Speeds of the rotors in their own sense of rotation [rad/s], shape (N, R)."""
    joint_angle: Array
    """Angles of the joints [rad], shape (N, J)."""
    fault: Array
    """1 for a row whose motion is not finite or beyond all bounds, else 0, shape (N,). It stays so until a
    reset, and disturbs no other row."""
    step_count: Array
    """Number of steps since the reset of each row, shape (N,)."""
    contact_force: Array
    """Mean force of all contacts over the last step in the world [N], shape (N, 3); (N, 0) in open air."""
    clearance: Array
    """Distance of the body's origin from the nearest surface [m], shape (N,); (N, 0) in open air."""


class Fleet:
    """N copies of a vehicle, without backends, in open air or among solid shapes, on all cores.

    Their step has the laws of a simulation, in double precision with the same results. Each row depends on
    itself alone.

    Args:
        model: Name of a shipped vehicle, path of a YAML file, its content, or a `Aircraft` with models of
            its own, in no simulation.
        count: Number of rows N.
        level: What rows are commanded: `channels` of the vehicle, such as rotor speeds, or to the controller
            that each row then has: `thrusts` of the rotors; `rates`: total thrust and body rates; `attitude`:
            total thrust and orientation; `velocity` and `position`, with a heading; or `reference`: position,
            velocity, acceleration, jerk, heading and its rate. `inputs` lists them with units.
        rate: Steps per second [Hz].
        device: `cpu`, or a GPU: `cuda`, `cuda:0`. There the state and the commands are arrays of Warp, which
            Torch, JAX and CuPy take by DLPack without a copy, and the commands are not checked.
        dtype: `float32`, or `float64` for the results of a simulation.
        environment: Gravity, air and wind; by default those of a world file without any.
        vary: Parameters that differ between rows, by dotted field of the vehicle's file, such as `mass`,
            `inertia`, `center_of_mass`, `motor.time_constant_up`, `drag.areas` or `battery.charge`, `wind`
            beyond that of the environment [m/s], `push`, a force in the world [N], and `delay` of commands,
            up to 50 steps [s]: (low, high) to draw from, an array with one entry per row, or a distribution.
        world: Ground, terrain and shapes that rows touch, the same for all or their own; or the name or path
            of a world file, of which all must be such shapes, see `world_of_file`. None for open air.
        sensors: Sensors of each row by name, such as `{"imu": IMU()}`: those that a step function computes,
            an IMU or odometry with its delay; see `readings`.
        seed: Seed of what is drawn: values of a row depend on seed, vehicle, field and row only, turbulence
            on seed, vehicle and row.

    Raises:
        ConfigError: If an argument is not allowed, the vehicle cannot fly, or a law cannot be compiled.
    """

    state: FleetState
    """State of the rows, live: what is written there is the state of the next step."""
    command: Array
    """Commands of the rows, live, shape (N, U); see `inputs`."""
    readings: Mapping[str, Mapping[str, Array]]
    """Last readings of the sensors by name and field, such as `readings["imu"]["specific_force"]`, live,
    shape (N, ...): of the state before the last step, as in a simulation, with their time `stamp` [s]."""
    _launch: Callable[[int], None]
    _reverse: Reverse | None

    def __init__(
        self,
        model: Model,
        count: int,
        *,
        level: str = "channels",
        rate: float = 500.0,
        device: str = "cpu",
        dtype: str = "float32",
        environment: Environment | None = None,
        vary: Vary | None = None,
        world: World | str | Path | None = None,
        sensors: Sensors | None = None,
        seed: int = 0,
    ) -> None:
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool) and count >= 1
        require(whole, "count", count, "must be a whole number from 1 up")
        require(level in LEVELS, "level", level, f"must be one of {', '.join(LEVELS)}")
        require(1 <= rate <= 1e5, "rate", rate, "must be a rate, from 1 to 100000 steps per second")
        require(str(dtype) in _KINDS, "dtype", dtype, f"must be {' or '.join(_KINDS)}")
        valid_seed = isinstance(seed, int | np.integer) and 0 <= seed < 2**63
        require(valid_seed, "seed", seed, "must be a whole number from 0 up to 2**63 - 1")
        # Not at the top: it imports Warp.
        from pegasus.base.compiler import device_named
        from pegasus.base.tracing.launches import Program, traced

        self.device = device if device == "cpu" else device_named(device)
        """Full name of the device."""
        self._rows_of = _memory(device, self.device)
        self.count, self.rate, self.dtype = int(count), float(rate), _KINDS[str(dtype)]
        self.level = level
        """What rows are commanded."""
        around = world if world is None or isinstance(world, World) else world_of_file(world)
        self.world: World | None = around
        """What stands around; None for open air."""
        self._model = FleetModel(
            *(model, level, self.count, self.rate, environment or Environment(), vary or {}, int(seed)),
            *(around, sensors or {}),
        )
        arguments = self._model.arguments
        made = traced(self._model.function(by_clock=self.dtype == np.float64), *arguments, outputs=("",))
        self._trace = made
        self._program = Program(made, real=self.dtype, planar=True, device=self.device)
        every = [*made.inputs, *(column for column, _ in made.outputs)]
        self._widths = {c.name: c.width for c in every if not c.uniform}
        numbers: dict[str, Array] = self._model.numbers
        tables = {c.name: _of_kind(numbers[c.name], self.dtype) for c in every if c.uniform}
        self.variation: Mapping[str, Array] = self._model.varied
        """Values that differ between rows by field, shape (N, ...)."""
        start: dict[str, Array] = self._model.start | numbers
        first = columns_of([c for c in every if not c.uniform], start, self.count, self.dtype)
        self._start = self._rows_of.sent(first)
        self._use(self._rows(self._start, np.arange(self.count)), self._rows_of.sent(tables))

    @property
    def vehicle(self) -> Aircraft:
        """Vehicle that the rows are copies of, in no simulation."""
        return self._model.vehicle

    @property
    def environment(self) -> Environment:
        """Gravity, air and wind."""
        return self._model.environment

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Commands that each row takes, U numbers with names, units and limits."""
        return self._model.inputs

    def step(self, command: npt.ArrayLike | None = None, substeps: int = 1) -> None:
        """Advance all rows by a number of steps, with commands that are held.

        Args:
            command: Commands in the order of `inputs`, shape (N, U), or (U,) for all rows; by default
                those in `command`.
            substeps: Number of steps, each 1 / rate long.

        Raises:
            ConfigError: If a command is not finite or has another shape.
        """
        if command is not None:
            self._rows_of.assign(self.command, self._commands_of(command))
        if self.device == "cpu" and not np.isfinite(self._command).all():
            row, channel = np.argwhere(~np.isfinite(self.command))[0].tolist()
            raise ConfigError(
                "must be finite",
                field=f"command, row {row}, {self._titles[channel]}",
                value=float(self.command[row, channel]),
            )
        if not (isinstance(substeps, int | np.integer) and substeps >= 1):
            require(False, "substeps", substeps, "must be a whole number from 1 up")
        self._launch(int(substeps))

    def reset(self, rows: Copies = None, **state: npt.ArrayLike) -> None:
        """Begin a new episode of rows: at rest at the origin, or in a given state, batteries charged.

        Args:
            rows: The K rows: a mask of shape (N,), indices, or a slice; all if None.
            state: Values of fields of the state, such as `position=...`, of shape (K, ...), or of one row for
                all of them.

        Raises:
            ConfigError: If there is no such row or field, or a value is not finite or has another shape.
        """
        chosen = chosen_copies(rows, self.count)
        given = {name: self._row_values(name, values, len(chosen)) for name, values in state.items()}
        if "orientation" in given:
            length = np.sqrt((given["orientation"] ** 2).sum(axis=1))
            worst = float(length[np.argmax(abs(length - 1.0))]) if len(length) else 1.0
            require(abs(worst - 1.0) < _UNIT, "orientation", worst, "must have length 1")
        if not len(chosen):
            return
        for name, start in self._start.items():
            self._rows_of.put(self._columns[name], chosen, self._rows_of.taken(start, chosen, len(chosen)))
        for name, values in given.items():
            self._rows_of.put(self._columns[name], chosen, values.T)

    def _commands_of(self, command: Any) -> Any:
        """Return given commands as an array that can be assigned to those of all rows."""
        whole, one = tuple(self.command.shape), tuple(self.command.shape[1:])
        if self.device != "cpu" and hasattr(command, "__dlpack__") and not isinstance(command, np.ndarray):
            if tuple(command.shape) == whole:
                return command
            raise ConfigError(f"must have the shape {whole}", field="command", value=tuple(command.shape))
        given = np.asarray(command)
        if given.shape not in (whole, one):
            raise ConfigError(
                f"must have the shape {whole}, or {one} for all rows", field="command", value=given.shape
            )
        return np.broadcast_to(given, whole)

    def vjp(self, weights: Mapping[str, npt.ArrayLike], substeps: int = 1) -> dict[str, Array]:
        """Return derivatives through steps from the present state, with the commands in `command`.

        They are those of each row's sum of values after the steps, weighted, by each column before them: the
        state, `command` and the parameters that vary. The state is left as it is. For longer flights, go from
        the last snapshot to the first, each time with the derivatives that the later one gave as weights.
        Where a law has a kink they are those of one side.

        Args:
            weights: Weights of columns after the steps by name, shapes as those of the state.
            substeps: Number of steps.

        Raises:
            ConfigError: If there is no such column, or a weight has another shape.
        """
        if self.device != "cpu":
            raise ConfigError(
                "gives no derivatives", field="device", value=self.device, remedy="use a fleet on the cpu"
            )
        known = {c.name for c, _ in self._trace.outputs}
        for name in weights:
            if name not in known:
                remedy = " ".join([*did_you_mean(name, known), f"there are {', '.join(sorted(known))}"])
                raise ConfigError("is not changed by a step", field="weights", value=name, remedy=remedy)
        given = {name: self._row_values(name, values, self.count) for name, values in weights.items()}
        if self._reverse is None:
            self._reverse = Reverse(self._trace, self.dtype, self._columns, self._tables, self.count)
        states = []
        for _ in range(substeps):
            states.append(self.snapshot())
            self._launch(1)
        flat = {name: values if self._widths[name] else values[:, 0] for name, values in given.items()}
        return self._reverse.run(flat, substeps, lambda: self.restore(states.pop()))

    def snapshot(self) -> dict[str, Array]:
        """Return a copy of the state of all rows; see `restore`."""
        return {name: self._rows_of.copied(values, self.count) for name, values in self._columns.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Go on from the state of a snapshot of this fleet, or of one of the same vehicle and number of rows.

        Raises:
            ConfigError: If it is a snapshot of another fleet.
        """
        shapes = {name: (len(values), self.count) for name, values in self._columns.items()}
        if {name: tuple(values.shape) for name, values in snapshot.items()} != shapes:
            raise ConfigError("is not of a fleet with these columns and rows", field="snapshot")
        rows = slice(0, self.count)
        for name, values in snapshot.items():
            self._rows_of.put(self._columns[name], rows, values)

    def fork(self, rows: npt.ArrayLike | None = None) -> Self:
        """Return another fleet that goes on from the state of rows of this one, with their parameters.

        Args:
            rows: Indices of the rows, shape (K,), each as often as wanted; all if None.

        Raises:
            ConfigError: If there is no such row.
        """
        places = np.arange(self.count) if rows is None else np.atleast_1d(np.asarray(rows))
        is_index = places.ndim == 1 and places.size > 0 and places.dtype.kind in "iu"
        inside = is_index and bool(((places >= 0) & (places < self.count)).all())
        require(inside, "rows", rows, f"must be indices below {self.count}")
        other = copy.copy(self)
        other.count = len(places)
        other.variation = {name: values[places] for name, values in self.variation.items()}

        other._start = self._rows(self._start, places)
        other._use(self._rows(self._columns, places), self._tables)
        return other

    def _rows(self, columns: Mapping[str, Array], places: IntArray) -> dict[str, Array]:
        """Return columns with copies of some rows."""
        room = padded(len(places))
        return {name: self._rows_of.taken(values, places, room) for name, values in columns.items()}

    def _use(self, columns: dict[str, Array], tables: dict[str, Array]) -> None:
        """Take arrays as the columns of this fleet."""
        self._columns, self._tables = columns, tables
        self._reverse = None
        self._launch = self._program.launch({**columns, **tables}, self.count)
        seen = self._rows_of.view
        views = {name: seen(values, self._widths[name], self.count) for name, values in columns.items()}
        given = self._model.sensors.given
        self.readings = {s: {f: views[c] for f, c in parts.items()} for s, parts in given.items()}
        none: Array = np.zeros((self.count, 0))
        self.state = FleetState(**{name: views.get(name, none) for name in FleetState.__dataclass_fields__})
        self.command, self._command = views["command"], columns["command"]
        self._titles = [str(channel) for channel in self.inputs]

    @property
    def columns(self) -> Mapping[str, Array]:
        """All columns by name, live: shape (width, P), rows 0 to N - 1 of P count."""
        return self._columns

    def _row_values(self, name: str, values: npt.ArrayLike, count: int) -> Array:
        """Return values of a field of the state for some rows, shape (K, width)."""
        if name not in self._columns or name == "fault":
            known = sorted(self._columns.keys() - {"fault"})
            remedy = " ".join([*did_you_mean(name, known), f"there are {', '.join(known)}"])
            raise ConfigError("has no such field", field="state", value=name, remedy=remedy)
        width = self._widths[name]
        shape = (count, width) if width else (count,)
        given = np.asarray(values, dtype=np.float64)
        if given.shape not in (shape, shape[1:]) or not np.isfinite(given).all():
            raise ConfigError(
                f"must be finite numbers of shape {shape}, or {shape[1:]} for all",
                field=name,
                value=given.shape,
            )
        whole: Array = np.broadcast_to(given, shape).reshape(count, max(width, 1))
        return whole


def _of_kind(table: Array, kind: Any) -> Array:
    """Return a copy of a table with numbers of a type, in lines of the cache as it was."""
    made = empty_lines(table.shape, kind)
    made[...] = table
    return made


def _memory(device: str, name: str) -> Any:
    """Return what holds columns on a device."""
    if device == "cpu":
        return HostRows()
    # Not at the top: it imports Warp.
    from pegasus.base.device_rows import DeviceRows

    return DeviceRows(name)
