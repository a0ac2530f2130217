"""Flights of windows of a record by a fleet, with their derivatives by its reverse mode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import multiply
from pegasus.core.aircraft import Aircraft
from pegasus.environment import Environment
from pegasus.fleet.fitted import Fitted
from pegasus.fleet.fleet import Fleet
from pegasus.fleet.model import FleetModel

_ROWS = 8192
"""Rows of the fleet that gives derivatives."""
_MOTION = ("position", "orientation", "velocity", "angular_velocity")


@dataclass(frozen=True, eq=False)
class Windows:
    """W windows of L steps: their first states, commands and wind."""

    start: Mapping[str, Array]
    """First states by column, shape (W, K)."""
    command: Array
    """Commands of each step, shape (W, L, U)."""
    command_slope: Array
    """Their derivatives by the delay [1/s], shape (W, L, U)."""
    wind: Array
    """Wind beyond that of the environment [m/s], shape (3,)."""
    push: Array
    """Force of each step, world [N], shape (W, L, 3)."""


@dataclass(frozen=True, eq=False)
class Flown:
    """Flown states of W windows after 0 to L steps, by column, shape (L + 1, K, W)."""

    columns: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        """Return the states of a column, shape (W, L + 1, K)."""
        return self.columns[name].transpose(2, 0, 1)


class Shooting:
    """Flights of windows, and derivatives of each step by state, parameters, delay and force.

    Changes of the state are those of position, attitude (a rotation vector in the body frame), velocity,
    angular velocity, rotor speeds and joint angles, S numbers.

    Args:
        vehicle: The vehicle, without a battery.
        rate: Steps per second [Hz].
        environment: Gravity, air and wind.
        fitted: Parameters that are fitted, P of them.
        count: Number of windows W.
        steps: Steps of a window L.
        pushed: Whether a force takes part.

    Raises:
        ConfigError: If the vehicle cannot fly, or a law of it is not compiled.
    """

    def __init__(
        self,
        vehicle: Aircraft,
        rate: float,
        environment: Environment,
        fitted: Fitted,
        count: int,
        steps: int,
        *,
        pushed: bool,
    ) -> None:
        self.vehicle, self.rate, self.environment, self.fitted = vehicle, rate, environment, fitted
        self.count, self.steps = count, steps
        self._pushed = pushed
        probe = self._probe(fitted.start)
        fleet = Fleet(
            vehicle, len(probe[1]), rate=rate, dtype="float64", environment=environment, vary=probe[0]
        )
        self._flight = fleet.fork(np.zeros(count, dtype=int))
        self._many: Fleet | None = None
        changed = {column.name for column, _ in fleet._trace.outputs}
        self._states = [name for name in fleet.columns if name in changed | {"command", "wind", "push"}]
        inner = [name for name in ("rotor_speed", "joint_angle") if name in changed]
        self.layout: dict[str, slice] = {}
        """Changes of the state by column."""
        first = 0
        for name in (*_MOTION, *inner):
            width = 3 if name == "orientation" else fleet._widths[name]
            self.layout[name] = slice(first, first + width)
            first += width
        self.width = first
        """Number of changes of a state S."""
        self._slopes: list[dict[str, Array]] = []
        self._varying = fleet
        self._used: tuple[Array, bool] | None = None
        self.use(fitted.start, slopes=True)

    def _probe(self, theta: Array) -> tuple[dict[str, Array], Array]:
        """Return what differs between the rows that give derivatives by differences, and their parameters."""
        values, rows = self.fitted.probes(theta)
        vary = {p: v for p, v in values.items() if p not in ("wind", "delay")}
        count = len(rows)
        more = {"wind": any(p.field == "wind" for p in self.fitted.parameters), "push": self._pushed}
        vary |= {name: np.zeros((count, 3)) for name, takes_part in more.items() if takes_part}
        return vary, rows

    def use(self, theta: Array, *, slopes: bool = False) -> None:
        """Take values of the parameters.

        Args:
            theta: The values, shape (P,).
            slopes: Whether derivatives will be asked for.

        Raises:
            ConfigError: If a value is not allowed.
        """
        if self._used is not None and (theta == self._used[0]).all() and self._used[1] >= slopes:
            return
        vary, rows = self._probe(theta)
        if not slopes:
            # A second row with all parameters changed has the same columns.
            few = [0, len(rows)]
            rows = np.vstack([rows, rows[1::2].max(axis=0)])[few]
            pair = [self.fitted.values(row) for row in rows]
            vary = {
                name: np.array([one[name] for one in pair]) if name in self.fitted.nominal else values[:2]
                for name, values in vary.items()
            }
        model = FleetModel(
            *(self.vehicle, "channels", len(rows), self.rate, self.environment, vary, 0),
            world=None,
            sensors={},
        )
        numbers = model.numbers
        fleets = [f for f in (self._flight, self._many) if f is not None]
        self._used = theta.copy(), slopes
        if slopes:
            self._slopes = [{} for _ in rows[0]]
        for name, values in numbers.items():
            if name in self._varying._tables:
                for fleet in fleets:
                    fleet._tables[name][...] = values
            elif name in self._varying.columns:
                each = values.reshape(len(values), -1)
                for fleet in fleets:
                    fleet.columns[name][...] = fleet._start[name][...] = each[0][:, None]
                if slopes and np.issubdtype(self._varying.columns[name].dtype, np.floating):
                    self._note(name, each, rows)
        for k, p in enumerate(self.fitted.parameters if slopes else ()):
            if p.field == "wind":
                assert p.index is not None
                self._slopes[k]["wind"] = np.eye(3)[p.index]

    def _note(self, name: str, each: Array, rows: Array) -> None:
        """Note the derivatives of a column of parameters by those of the file."""
        for k in range(rows.shape[1]):
            change = each[1 + 2 * k] - each[2 + 2 * k]
            if change.any():
                self._slopes[k][name] = change / (rows[1 + 2 * k, k] - rows[2 + 2 * k, k])

    def changes_nothing(self, k: int) -> bool:
        """Return whether a parameter changes no number of the step."""
        p = self.fitted.parameters[k]
        return p.field != "delay" and not p.is_table and not self._slopes[k]

    def fly(self, windows: Windows) -> Flown:
        """Return the states of all windows after each step."""
        fleet, count = self._flight, self.count
        fleet.reset()
        for name, values in windows.start.items():
            fleet.columns[name][:, :count] = values.T
        found = {
            name: np.empty((self.steps + 1, *fleet.columns[name][:, :count].shape), fleet.columns[name].dtype)
            for name in self._states
        }
        for k in range(self.steps + 1):
            now = min(k, self.steps - 1)
            fleet.columns["command"][:, :count] = windows.command[:, now].T
            if "wind" in fleet.columns:
                fleet.columns["wind"][...] = windows.wind[:, None]
            if "push" in fleet.columns:
                fleet.columns["push"][:, :count] = windows.push[:, now].T
            for name, values in found.items():
                values[k] = fleet.columns[name][:, :count]
            if k < self.steps:
                fleet._launch(1)
        return Flown(found)

    def derivatives(self, windows: Windows, flown: Flown, chosen: IntArray) -> tuple[Array, Array, Array]:
        """Return derivatives of each step of windows.

        Args:
            windows: The windows.
            flown: Their flown states.
            chosen: Indices of the windows, shape (B,).

        Returns:
            Derivatives of the next state by the state, shape (B, L, S, S), by the parameters, (B, L, S, P),
            and by its force, (B, L, S, 3).
        """
        count, size, parameters = len(chosen) * self.steps, self.width, self.fitted.parameters
        before = {
            name: values[:-1][:, :, chosen].transpose(1, 2, 0).reshape(values.shape[1], count)
            for name, values in flown.columns.items()
        }
        after = flown.columns["orientation"][1:][:, :, chosen].transpose(1, 2, 0).reshape(4, count)
        slope = windows.command_slope[chosen].reshape(count, -1)
        by_state = np.zeros((count, size, size))
        by_parameter = np.zeros((count, size, len(parameters)))
        by_force = np.zeros((count, size, 3))
        if self._many is None:
            self._many = self._flight.fork(np.zeros(max(_ROWS // size, 1) * size, dtype=int))
        each = self._many.count // size
        for first in range(0, count, each):
            # The last block is filled up with its last step.
            places = np.minimum(np.arange(first, first + each), count - 1)
            found = self._reversed({name: v[:, places] for name, v in before.items()}, after[:, places])
            kept = places[: count - first]
            rows = slice(0, len(kept))
            by_state[kept] = self._by_state(found, before["orientation"][:, places])[rows]
            if "push" in found:
                by_force[kept] = found["push"][rows]
            for k, p in enumerate(parameters):
                if p.field == "delay":
                    by_parameter[kept, :, k] = np.einsum("nsu,nu->ns", found["command"][rows], slope[kept])
                for name, change in self._slopes[k].items():
                    by_parameter[kept, :, k] += found[name][rows] @ change
        shape = (len(chosen), self.steps, size)
        return (
            by_state.reshape(*shape, size),
            by_parameter.reshape(*shape, len(parameters)),
            by_force.reshape(*shape, 3),
        )

    def _reversed(self, states: Mapping[str, Array], after: Array) -> dict[str, Array]:
        """Return derivatives of each change of the next state by all columns, shape (n, S, K)."""
        fleet, size = self._many, self.width
        assert fleet is not None
        each = fleet.count // size
        for name, values in states.items():
            fleet.columns[name][:, : fleet.count] = np.repeat(values, size, axis=1)
        weights: dict[str, Any] = {}
        for name, place in self.layout.items():
            width = fleet._widths[name]
            whole = np.zeros((each, size, width))
            if name == "orientation":
                # The change of attitude is twice the vector part of q* dq.
                x, y, z, w = after
                whole[:, place] = 2.0 * np.stack(
                    [
                        np.stack([w, z, -y, -x], axis=1),
                        np.stack([-z, w, x, -y], axis=1),
                        np.stack([y, -x, w, -z], axis=1),
                    ],
                    axis=1,
                )
            else:
                whole[:, place] = np.eye(width)
            weights[name] = whole.reshape(-1, width)
        found = fleet.vjp(weights, 1)
        return {name: values.reshape(each, size, -1) for name, values in found.items()}

    def _by_state(self, found: Mapping[str, Array], orientation: Array) -> Array:
        """Return derivatives by changes of the state, shape (n, S, S)."""
        parts = []
        for name in self.layout:
            values = found[name]
            if name == "orientation":
                turns = [0.5 * multiply(orientation.T, np.eye(4)[k][None]) for k in range(3)]
                values = np.einsum("nsq,nqk->nsk", values, np.stack(turns, axis=2))
            parts.append(values)
        return np.concatenate(parts, axis=2)
