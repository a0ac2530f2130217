"""Task of racing through gates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.control.trajectories.race_line import Gate, gate_of
from pegasus.learn.episodes import Draws, Episodes, length
from pegasus.learn.learning import Learning
from pegasus.learn.task import Task
from pegasus.learn.terms import Term

_CORNERS = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])


def oval_course(
    count: int = 8, *, length: float = 16.0, width: float = 10.0, size: float = 1.4
) -> list[Gate]:
    """Return square gates on an ellipse, at heights of 1.5 m and 2.5 m in turn, flown counter-clockwise.

    Args:
        count: Number of gates.
        length: Length of the ellipse, along the world's x axis [m].
        width: Width of the ellipse [m].
        size: Width and height of the openings [m].
    """
    angles = [2.0 * math.pi * k / count for k in range(count)]
    a, b = 0.5 * length, 0.5 * width
    return [
        Gate(
            position=(a * math.cos(angle), b * math.sin(angle), 1.5 + k % 2),
            heading=math.atan2(b * math.cos(angle), -a * math.sin(angle)),
            width=size,
            height=size,
        )
        for k, angle in enumerate(angles)
    ]


@dataclass(kw_only=True, eq=False)
class RaceGates(Task):
    """Fly through gates in order, lap by lap, as fast as possible, from a place before any of them.

    A gate is passed along its heading, through its opening. Passing its plane beside the opening, or hitting
    the frame of any gate, ends the episode as failed. An episode succeeds if a lap is closed.
    """

    vehicle: Any = "racer"
    level: str = "rates"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: {"thrust": (0.0, 24.0)})
    vary: Mapping[str, Any] = field(
        default_factory=lambda: {
            "mass": {"uniform": {"low": 0.75, "high": 1.25, "relative": True}},
            "wind": {"uniform": {"low": [-5.0, -5.0, 0.0], "high": [5.0, 5.0, 0.0]}},
        }
    )
    substeps: int = 10
    duration: float = 12.0
    gates: Sequence[Any] = field(default_factory=oval_course)
    """Gates in order, each a `Gate` or a mapping of its fields, as in `RaceLine`."""
    shift: float = 0.3
    """Largest displacement of a gate along each axis, anew in each episode [m]."""
    turn: float = 0.2
    """Largest turn of a gate about the vertical, anew in each episode [rad]."""
    clearance: float = 0.2
    """Distance from the edge of an opening within which the vehicle hits the frame [m]: half its width."""
    frame: float = 0.2
    """Width of the frames [m]."""
    run: float = 2.0
    """Distance before a gate at the start [m]."""
    speed: float = 2.0
    """Largest speed at the start [m/s]."""
    reach: float = 15.0
    """Distance from the next gate at which an episode has failed [m]."""

    learning: ClassVar = Learning(
        discount=0.985, last_rate=1e-4, steps=12_000_000, success=0.94, measure=3.75
    )
    measured: ClassVar = ("lap", "s")
    room: ClassVar = 60.0
    observation: ClassVar = (
        Term("gate_corners", 0.2),
        Term("upward"),
        Term("body_velocity", 0.2),
        Term("angular_velocity", 0.1),
        Term("action"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.gates) > 1, "gates", self.gates, "must be two gates at least")
        gates = [gate_of(k, gate) for k, gate in enumerate(self.gates)]
        self._middles = np.array([gate.position for gate in gates], dtype=np.float64)
        self._headings = np.array([gate.heading for gate in gates])
        self._sizes = np.array([gate.half_size for gate in gates])
        self._round: BoolArray = np.array([gate.radius is not None for gate in gates])
        narrow = int(self._sizes.min(axis=1).argmin())
        require(
            self._sizes[narrow].min() > self.clearance,
            f"gates.{narrow}",
            gates[narrow],
            f"must be wider than twice clearance = {self.clearance:g} m",
        )

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states before a gate that is drawn, towards it."""
        rows, count = np.arange(len(draws)), len(self._middles)
        shifts = draws.uniform(-self.shift, self.shift, 3 * count)
        self._places = self._middles + shifts.reshape(-1, count, 3)
        headings = self._headings + draws.uniform(-self.turn, self.turn, count)
        sine, cosine = sine_and_cosine(headings)
        self._normals = np.stack([cosine, sine, np.zeros_like(sine)], axis=-1)
        self._first = (draws.uniform(0.0, 1.0, 1)[:, 0] * count).astype(int)
        sine, cosine = sine_and_cosine(0.5 * headings[rows, self._first])
        normal = self._normals[rows, self._first]
        aside = draws.uniform(-0.5, 0.5, 3)
        return {
            "position": self._places[rows, self._first] - self.run * normal + aside,
            "velocity": normal * draws.uniform(0.0, self.speed, 1),
            "orientation": np.stack([0.0 * sine, 0.0 * cosine, sine, cosine], axis=-1),
        }

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Go on to the next gate where one was passed."""
        goal, count, gates = episodes.goal, len(episodes), len(self._middles)
        episodes.make_goal(
            gates=(gates, 3),
            normals=(gates, 3),
            corners=(2, 4, 3),
            position=(3,),
            last_position=(3,),
            crossed=(gates,),
            **dict.fromkeys(("gate", "passed", "progress", "hit", "lap"), ()),
        )
        if draws is not None:
            goal["gates"][rows], goal["normals"][rows] = self._places, self._normals
            goal["gate"][rows] = self._first
            for name in ("passed", "progress", "hit"):
                goal[name][rows] = 0.0
            goal["crossed"][rows] = goal["lap"][rows] = np.nan
        else:
            self._fly(episodes)
        goal["last_position"][rows] = episodes.motion.position[rows]
        every = np.arange(count)
        for k in range(2):
            gate = (goal["gate"].astype(int) + k) % gates
            places, normals = goal["gates"][every, gate], goal["normals"][every, gate]
            if k == 0:
                goal["position"][...] = places
            across, up = (self._sizes[gate][:, None] * _CORNERS).transpose(2, 0, 1)
            goal["corners"][:, k, :, 0] = places[:, None, 0] - across * normals[:, None, 1]
            goal["corners"][:, k, :, 1] = places[:, None, 1] + across * normals[:, None, 0]
            goal["corners"][:, k, :, 2] = places[:, None, 2] + up

    def _fly(self, episodes: Episodes) -> None:
        """Find what the last step passed and hit, and how much nearer it came to the next gate."""
        goal, every = episodes.goal, np.arange(len(episodes))
        gate, normals = goal["gate"].astype(int), goal["normals"]
        before = goal["last_position"][:, None] - goal["gates"]
        after = episodes.motion.position[:, None] - goal["gates"]
        depth, depth_after = (
            v[..., 0] * normals[..., 0] + v[..., 1] * normals[..., 1] for v in (before, after)
        )
        crossed = (depth < 0.0) != (depth_after < 0.0)
        share = np.where(crossed, depth, 0.0) / np.where(crossed, depth - depth_after, 1.0)
        place = before + share[..., None] * (after - before)
        across = abs(place[..., 1] * normals[..., 0] - place[..., 0] * normals[..., 1])
        up, wide, high = abs(place[..., 2]), self._sizes[:, 0], self._sizes[:, 1]
        outside = np.where(
            self._round, np.sqrt(across * across + up * up) - wide, np.maximum(across - wide, up - high)
        )
        inside = crossed & (outside <= -self.clearance)
        struck = crossed & ~inside & (outside < self.frame + self.clearance)
        forward = crossed[every, gate] & (depth[every, gate] < 0.0)
        passed = forward & inside[every, gate]
        goal["hit"][...] = struck.any(axis=1) | (forward & ~passed)
        goal["progress"][...] = length(before[every, gate]) - length(after[every, gate])
        time = episodes.time - (1.0 - share[every, gate]) * self.interval
        goal["lap"][...] = np.where(passed, time - goal["crossed"][every, gate], goal["lap"])
        goal["crossed"][every, gate] = np.where(passed, time, goal["crossed"][every, gate])
        goal["passed"] += passed
        goal["gate"][...] = (gate + passed) % len(self._middles)

    def reward(self, episodes: Episodes) -> Array:
        """Return the progress towards the next gate [m], less for turning and for failing."""
        goal = episodes.goal
        calm = 0.002 * np.minimum(episodes.turn_rate, 20.0) + 0.002 * (episodes.action**2).mean(axis=1)
        reward: Array = goal["progress"] - calm - 5.0 * self.failed(episodes)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which have missed a gate or hit a frame, are below the ground or far away."""
        low = episodes.motion.position[:, 2] < 0.0
        failed: BoolArray = (episodes.goal["hit"] > 0.0) | low | (episodes.distance > self.reach)
        return failed

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which have closed a lap."""
        closed: BoolArray = np.isfinite(episodes.goal["lap"])
        return closed

    def landmarks(self, episodes: Episodes) -> Sequence[Array]:
        """Return the gates of the first episode from above."""
        places, normals = (episodes.goal[name][0, :, :2] for name in ("gates", "normals"))
        across = np.stack([-normals[:, 1], normals[:, 0]], axis=1) * self._sizes[:, :1]
        return list(np.stack([places - across, places + across], axis=1))

    def measure(self, episodes: Episodes) -> Array:
        """Return the times of the last laps, between two passages of a gate [s], shape (N,)."""
        lap: Array = episodes.goal["lap"]
        return lap
