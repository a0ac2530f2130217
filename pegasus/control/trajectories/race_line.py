"""Time-optimal trajectory through gates within limits of speed and thrust."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pegasus.base import elementary
from pegasus.base.arrays import Array
from pegasus.base.components import build, finite_angles, require
from pegasus.base.elementary_arrays import cos, exp, log, sin, sine_and_cosine
from pegasus.base.errors import ConfigError
from pegasus.contracts.trajectory import (
    TimedPath,
    Vec3,
    Yaw,
    check_above_ground,
    check_yaw,
)
from pegasus.control.trajectories.limits import Limits
from pegasus.control.trajectories.quickest import (
    lengths_between,
    log_flight_time,
    minimize,
    paced,
)
from pegasus.control.trajectories.spline import Spline

_PIECES = 3
"""Pieces of the curve between two gates; their inner points are free."""
_ITERATIONS = 300
_WORST_CROSSING = 0.5
"""Cosine of the largest angle between path and gate heading."""
_PENALTY = 20.0
"""Weight of squared violations in units of the logarithm of time."""

_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Gate:
    """A vertical opening that is crossed along its heading."""

    position: Vec3
    """Centre [m]."""
    heading: float = 0.0
    """Direction of crossing, counter-clockwise from east [rad]."""
    width: float | None = None
    """Width of a rectangular opening [m]."""
    height: float | None = None
    """Height of a rectangular opening [m]."""
    radius: float | None = None
    """Radius of a round opening [m]; replaces width and height."""

    def __post_init__(self) -> None:
        round_, sides = self.radius is not None, (self.width, self.height)
        whole = sides == (None, None) if round_ else None not in sides
        require(whole, "radius", self.radius, "either radius, or width and height, must be given")
        for name in ("width", "height", "radius"):
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, value, "must be above 0 m")
        finite_angles("heading", self.heading, ())

    @property
    def half_size(self) -> tuple[float, float]:
        """Half width and half height of the opening [m]; the radius twice for a round one."""
        if self.radius is not None:
            return self.radius, self.radius
        return 0.5 * (self.width or 0.0), 0.5 * (self.height or 0.0)


@dataclass(frozen=True, eq=False)
class RaceLine(TimedPath):
    """Time-optimal flight through gates along their headings within limits of speed and thrust.

    It starts at rest before the first gate and ends at rest behind the last one. Between two gates the curve
    has three pieces of minimum snap. The crossing points, the points between them and the times minimise the
    flight time. Each gate is crossed within 60 degrees of its heading.
    """

    name = "race_line"

    gates: Any
    """Gates in order, each a `Gate` or a mapping of its fields."""
    speed: float = 8.0
    """Largest speed [m/s]."""
    thrust: float = 1.6
    """Largest thrust-to-weight ratio, |a - g| / |g|."""
    least_thrust: float = 0.3
    """Least vertical thrust-to-weight ratio."""
    tilt: float = 0.9
    """Largest angle between thrust and vertical [rad]."""
    jerk: float = 40.0
    """Largest jerk [m/s^3]; at hover thrust it corresponds to a body rate of jerk / 9.8 rad/s."""
    clearance: float = 0.4
    """Distance of the path from the edge of the opening [m]: half the vehicle's width plus tracking error."""
    run: float = 3.0
    """Distance from the start to the first gate, and from the last gate to the end [m]."""
    laps: int = 1
    """Number of laps."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
    ground: float = 0.0
    """Least height of gates and path [m]."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        is_list = isinstance(self.gates, list | tuple) and len(self.gates) > 0
        require(
            is_list,
            "gates",
            self.gates,
            "must be a list of gates",
            "such as [{position: [0, 0, 2], radius: 1}]",
        )
        object.__setattr__(self, "gates", tuple(gate_of(k, gate) for k, gate in enumerate(self.gates)))
        check_above_ground("gates", [gate.position for gate in self.gates], self.ground)
        for k, gate in enumerate(self.gates):
            room = min(gate.half_size)
            require(
                room >= self.clearance,
                f"gates.{k}",
                gate,
                f"has {room:g} m from its centre to its edge, less than clearance = {self.clearance:g} m",
                "widen it or lower the clearance",
            )
        self._limits.check()
        check_yaw(self.yaw)
        require(self.clearance >= 0, "clearance", self.clearance, "must not be negative")
        require(0 < self.run < math.inf, "run", self.run, "must be above 0 m")
        require(self.laps >= 1, "laps", self.laps, "must be at least 1")
        object.__setattr__(self, "duration", self._spline.duration)

    @property
    def crossings(self) -> list[tuple[float, Vec3]]:
        """Time [s] and position [m] of each gate crossing, lap by lap."""
        spline = self._spline
        knots = range(_PIECES, len(spline.durations), _PIECES)
        return [(spline.starts[k], _vector(spline.states[k, 0])) for k in knots]

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._spline.samples(times, self.yaw)

    @property
    def _limits(self) -> Limits:
        return Limits(self.speed, self.thrust, self.least_thrust, self.tilt, self.jerk)

    @cached_property
    def _spline(self) -> Spline:
        course = _Course(list(self.gates) * self.laps, self.run, self.clearance)
        lowest = min(gate.position[2] - gate.half_size[1] for gate in self.gates)
        floor = max(self.ground, lowest + self.clearance)

        def penalty(states: Array) -> tuple[float, Array]:
            cosines, by_velocity = course.crossing_cosines(states)
            askew = np.maximum(_WORST_CROSSING + 0.02 - cosines, 0.0)
            low = np.maximum(floor - states[:, 0, 2], 0.0)
            slopes = np.zeros_like(states)
            slopes[_PIECES:-1:_PIECES, 1] = -2.0 * _PENALTY * askew[:, None] * by_velocity
            slopes[:, 0, 2] = -2.0 * _PENALTY * low
            return _PENALTY * float((askew * askew).sum() + (low * low).sum()), slopes

        def objective(x: Array, sharpness: int) -> tuple[float, Array]:
            points, durations = course.shape(x)
            value, by_points, by_duration = log_flight_time(
                points, durations, limits=self._limits, sharpness=sharpness, penalty=penalty
            )
            return value, course.slopes(x, by_points, by_duration)

        # Pieces between two gates have equal times at first, which keeps the points from bunching up.
        line = minimize(objective, course.first_guess(), iterations=_ITERATIONS, sharpnesses=(20,))
        best = minimize(objective, course.released(line), iterations=_ITERATIONS, sharpnesses=(20, 100, 500))
        points, durations = course.shape(best)
        spline = paced(Spline(points, durations), self._limits)
        cosines, _ = course.crossing_cosines(spline.states)
        worst = int(cosines.argmin()) % len(self.gates)
        if cosines.min() < _WORST_CROSSING or spline.on_grid(50)[:, :, 0, 2].min() < self.ground:
            raise ConfigError(
                "no line was found that crosses all gates along their headings and stays above the ground",
                field=f"gates.{worst}",
                value=self.gates[worst],
                remedy="check its heading, move it away from its neighbours, or raise it",
            )
        return spline


class _Course:
    """Optimisation variables of a race line: logarithms of times, crossing points, points between gates."""

    def __init__(self, gates: list[Gate], run: float, clearance: float) -> None:
        normals = [(elementary.cos(gate.heading), elementary.sin(gate.heading)) for gate in gates]
        self._normals = np.array([(c, s, 0.0) for c, s in normals])
        self._across = np.array([(-s, c, 0.0) for c, s in normals])
        self._middles = np.array([gate.position for gate in gates], dtype=np.float64)
        self._room = np.array([gate.half_size for gate in gates]) - clearance
        self._round = np.array([[gate.radius is not None] for gate in gates])
        self._ends = self._middles[[0, -1]] + run * self._normals[[0, -1]] * np.array([[-1.0], [1.0]])
        count = len(gates)
        ends = self._ends
        stations = np.concatenate([ends[:1], self._middles, ends[1:]])
        along = np.concatenate([self._normals[:1], self._normals, self._normals[-1:]])
        spacing = lengths_between(stations)[:, None] / _PIECES
        # Free points start behind one gate and before the next, which fixes the direction of crossing.
        self._between = np.stack(
            [stations[:-1] + spacing * along[:-1], stations[1:] - spacing * along[1:]], axis=1
        )
        self._sizes = count + 1, count * 2, (count + 1) * (_PIECES - 1) * 3
        self._scale = float(spacing.mean())

    def first_guess(self) -> Array:
        """Return the variables of a slow line through the gates' centres."""
        points, _ = self.shape(np.zeros(sum(self._sizes)))
        lengths = lengths_between(points).reshape(-1, _PIECES).mean(axis=1)
        times = log(np.maximum(lengths, 0.1 * lengths.mean()))
        return np.concatenate([times, np.zeros(self._sizes[1] + self._sizes[2])])

    def released(self, variables: Array) -> Array:
        """Return the same line with a separate time for each piece."""
        times, place, between = self._split(variables)
        return np.concatenate([np.repeat(times, _PIECES), place.ravel(), between.ravel()])

    def _split(self, variables: Array) -> tuple[Array, Array, Array]:
        _, places, points = self._sizes
        times, place, between = np.split(
            variables, [len(variables) - places - points, len(variables) - points]
        )
        return times, place.reshape(-1, 2), between.reshape(-1, _PIECES - 1, 3)

    def shape(self, variables: Array) -> tuple[Array, Array]:
        """Return the points (M + 1, 3) and durations (M,) of variables (n,)."""
        times, place, between = self._split(variables)
        # The sine keeps a crossing within the opening; its slope is zero at the edge, where it may stay.
        distance = np.sqrt((place * place).sum(axis=1, keepdims=True)) + 1e-9
        inside = np.where(self._round, place * sin(distance) / distance, sin(place)) * self._room
        gates = self._middles + inside[:, :1] * self._across + inside[:, 1:] * _UP
        stations = np.concatenate([gates, self._ends[1:]])[:, None]
        inner = np.concatenate([self._between + self._scale * between, stations], axis=1)
        return np.concatenate([self._ends[:1], inner.reshape(-1, 3)]), np.repeat(
            exp(times), len(self._between) * _PIECES // len(times)
        )

    def slopes(self, variables: Array, by_points: Array, by_duration: Array) -> Array:
        """Return the gradient by variables from those by points and durations."""
        times, place, _ = self._split(variables)
        inner = by_points[1:].reshape(-1, _PIECES, 3)
        at_gates = inner[:-1, -1]
        inside = self._room * np.stack([(at_gates * self._across).sum(axis=1), at_gates[:, 2]], axis=1)
        distance = np.sqrt((place * place).sum(axis=1, keepdims=True)) + 1e-9
        sine, cosine = sine_and_cosine(distance)
        sine = sine / distance
        along = (inside * place).sum(axis=1, keepdims=True) / distance**2
        in_round = sine * inside + (cosine - sine) * along * place
        by_place = np.where(self._round, in_round, cos(place) * inside)
        by_between = self._scale * inner[:, :-1]
        by_time = by_duration.reshape(len(times), -1).sum(axis=1) * exp(times)
        return np.concatenate([by_time, by_place.ravel(), by_between.ravel()])

    def crossing_cosines(self, states: Array) -> tuple[Array, Array]:
        """Return the cosine between path and heading at each gate, and its gradient by velocity."""
        velocity = states[_PIECES:-1:_PIECES, 1]
        speed = np.maximum(np.sqrt((velocity * velocity).sum(axis=1)), 1e-9)
        cosine: Array = (velocity * self._normals).sum(axis=1) / speed
        slopes: Array = (self._normals - cosine[:, None] * velocity / speed[:, None]) / speed[:, None]
        return cosine, slopes


def gate_of(index: int, entry: Any) -> Gate:
    """Return a gate from itself or a mapping of its fields.

    Args:
        index: Its place in the list of gates.
        entry: Either of these.

    Raises:
        ConfigError: If it is neither, or a field is not allowed.
    """
    if isinstance(entry, Gate):
        return entry
    name = f"gates.{index}"
    require(isinstance(entry, Mapping), name, entry, "must be a mapping of a gate's fields")
    return build(Gate, {"gate": Gate}, {"model": "gate", **entry}, field=name)


def _vector(values: Array) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z
