"""Sources of frames: a live simulation, and a log."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.engine import BodyState
from pegasus.contracts.source import Frame
from pegasus.core.visuals import Snapshot as Drawn
from pegasus.recording import Log, read_log
from pegasus.recording.log import Series
from pegasus.session.snapshot import Snapshot


class Watched(Protocol):
    """What keeps the last snapshot of a simulation: a `Session` or a `Watch`."""

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot."""


class LiveSource:
    """Source of the present of a simulation that runs; its span is the time of its last snapshot.

    Args:
        of: Session, or observer that keeps the last snapshot.
    """

    def __init__(self, of: Watched) -> None:
        self._of = of

    @property
    def span(self) -> tuple[float, float]:
        """Time of the last snapshot, twice [s]."""
        now = self._of.snapshot.time
        return now, now

    @property
    def vehicles(self) -> dict[str, int]:
        """Number of copies of each vehicle by its name."""
        return {vehicle.name: vehicle.count for vehicle in self._of.snapshot.vehicles}

    @property
    def movers(self) -> dict[str, int]:
        """Number of parts of each mover by its name."""
        drawn = self._of.snapshot.drawn
        return {} if drawn is None else {mover.name: len(mover.objects) for mover in drawn.movers}

    def frame(self, t: float) -> Frame:
        """Return the frame of the last snapshot; see `Source.frame`."""
        drawn = self._of.snapshot.drawn
        return Frame(0.0, {}, {}) if drawn is None else _frame_of(drawn)


class LogSource:
    """Source of a recorded run; between its messages, poses and velocities are interpolated.

    A vehicle or mover is there from its first message to its last one.

    Args:
        log: The log, a log file, or the folder of a run.

    Raises:
        ConfigError: If the file is no log, or holds no states.
    """

    def __init__(self, log: Log | str | Path) -> None:
        self._log = log if isinstance(log, Log) else read_log(log)
        if not self._tracks:
            raise ConfigError(
                "holds no states of vehicles or movers", file=self._log.path, remedy="give the log of a run"
            )

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and of the last state [s]."""
        ends = [(track.time[0], track.time[-1]) for tracks in self._tracks.values() for track in tracks]
        return float(min(first for first, _ in ends)), float(max(last for _, last in ends))

    @property
    def vehicles(self) -> Mapping[str, int]:
        """Number of copies of each vehicle by its name."""
        return self._log.vehicles

    @property
    def movers(self) -> Mapping[str, int]:
        """Number of parts of each mover by its name."""
        return self._log.movers

    def frame(self, t: float) -> Frame:
        """Return the frame at a time; see `Source.frame`."""
        first, last = self.span
        time = min(max(t, first), last)
        found = {
            name: state
            for name, tracks in self._tracks.items()
            for track in tracks
            if (state := _state_at(track, time)) is not None
        }
        movers = self.movers
        return Frame(
            time,
            {name: state for name, state in found.items() if name not in movers},
            {name: state for name, state in found.items() if name in movers},
        )

    @cached_property
    def _tracks(self) -> dict[str, list[Series]]:
        """States of vehicles and movers by name; several if one with other copies has taken a name."""
        tracks: dict[str, list[Series]] = {}
        for topic, column in self._log.series.columns.items():
            if column.topic == f"{column.vehicle}/state" and len(series := self._log.series[topic]):
                tracks.setdefault(column.vehicle, []).append(series)
        return tracks


def _frame_of(drawn: Drawn) -> Frame:
    """Return the frame of a snapshot."""
    vehicles = {}
    for vehicle, first, end in zip(drawn.vehicles, drawn.rows, drawn.rows[1:], strict=False):
        rows = slice(first, end)
        vehicles[vehicle.name] = BodyState(
            drawn.position[rows], drawn.orientation[rows], drawn.velocity[rows], drawn.angular_velocity[rows]
        )
    return Frame(drawn.time, vehicles, {mover.name: mover.motion(drawn.time) for mover in drawn.movers})


def _state_at(track: Series, t: float) -> BodyState | None:
    """Return the state at a time; None before the first and after the last message."""
    time = track.time
    if not time[0] <= t <= time[-1]:
        return None
    k = max(bisect_right(time, t) - 1, 0)
    after = min(k + 1, len(time) - 1)
    part = 0.0 if after == k else float((t - time[k]) / (time[after] - time[k]))

    def between(name: str) -> Array:
        one, other = track.fields[name][k], track.fields[name][after]
        if name == "orientation":
            # Of both signs of a quaternion, that of the shorter way.
            other = np.where((one * other).sum(axis=-1, keepdims=True) < 0.0, -other, other)
        mixed: Array = (1.0 - part) * one + part * other
        if name == "orientation":
            mixed = mixed / np.sqrt((mixed * mixed).sum(axis=-1, keepdims=True))
        return mixed

    return BodyState(*(between(field.name) for field in fields(BodyState)))
