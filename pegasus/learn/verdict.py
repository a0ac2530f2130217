"""Success of the episodes of a task: one rule for fleets and the core."""

from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import BoolArray
from pegasus.learn.episodes import Episodes
from pegasus.learn.task import Task


class Result(NamedTuple):
    """What episodes came to."""

    success: float
    """Share that succeeded."""
    measure: float
    """Median of what the task measures, see `Task.measure`, over the episodes that have it."""


class Referee:
    """Decides which of N episodes of a task fail, finish and succeed.

    An episode succeeds if it finished, or if it did not fail and was where the task wants it for all of its
    last fifth.

    Args:
        task: The task.
        count: Number of episodes, whole groups of the task.
    """

    def __init__(self, task: Task, count: int) -> None:
        self._task = task
        self.going: BoolArray = np.ones(count, dtype=bool)
        """Episodes that are not over, shape (N,)."""
        self._good, self._step = self.going.copy(), 0
        self._measure = np.full(count, np.nan)

    @property
    def steps(self) -> int:
        """Number of actions of the longest episodes."""
        return round(self._task.duration / self._task.interval)

    def see(self, episodes: Episodes, broken: BoolArray | None = None) -> None:
        """Judge the episodes after an action.

        Args:
            episodes: The episodes, with their goals after it.
            broken: Rows whose motion is beyond all bounds, shape (N,).
        """
        failed, finished = ends_of(self._task, episodes, broken)
        self._measure = np.where(self.going, self._task.measure(episodes), self._measure)
        self._good &= ~(self.going & failed)
        self.going &= ~(failed | finished)
        if self._step >= 0.8 * self.steps:
            self._good &= ~self.going | self._task.succeeded(episodes)
        self._step += 1

    @property
    def result(self) -> Result:
        """What the episodes came to."""
        known = self._measure[np.isfinite(self._measure)]
        return Result(float(self._good.mean()), float(np.median(known)) if known.size else float("nan"))


def ends_of(task: Task, episodes: Episodes, broken: BoolArray | None = None) -> tuple[BoolArray, BoolArray]:
    """Return which episodes have failed, and which have finished, shape (N,) each.

    Args:
        task: The task.
        episodes: The episodes after an action.
        broken: Rows whose motion is beyond all bounds, shape (N,): they have failed.
    """
    failed = task.failed(episodes)
    if broken is not None:
        failed = failed | broken
    failed = whole_groups(failed, task.group)
    return failed, task.finished(episodes) & ~failed


def whole_groups(rows: BoolArray, group: int) -> BoolArray:
    """Return all rows of the groups of some rows, shape (N,).

    Args:
        rows: The rows, shape (N,).
        group: Number of rows of a group.
    """
    return rows if group == 1 else np.repeat(rows.reshape(-1, group).any(axis=1), group)
