"""Paths of fast bodies: how far they get until they overlap something, and which of them move on together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.contracts.engine import BodyState
from pegasus.engines.mujoco_contacts import group_sums
from pegasus.engines.mujoco_proximity import Levels, Proximity
from pegasus.engines.mujoco_tumbling import Tumbling


@dataclass(eq=False)
class Path:
    """Paths of the centres of mass in a step, and the motion at their ends."""

    dt: float
    """Length of the step [s]."""
    start: BodyState
    """State of the centres of mass at the start."""
    end: BodyState
    """State of the centres of mass at the end of free flight."""
    position: Array
    """Positions at which the paths begin [m], shape (M, 3)."""
    way: Array
    """Straight ways [m], shape (M, 3)."""
    velocity: Array
    """Velocities at the end [m/s], shape (M, 3)."""
    spin: Array
    """Angular velocities at the end, body frame [rad/s], shape (M, 3)."""
    turning: Array
    """Mean angular velocities, body frame [rad/s], shape (M, 3)."""
    touching: BoolArray
    """Bodies on which a contact acts, shape (M,)."""
    colliding: BoolArray
    """Bodies among them that touch another body, shape (M,): they keep their angular momentum."""
    kept_momenta: tuple[Array, Array] | None = None
    """Angular momenta at the start and at the end, once they were needed."""

    def momenta(self, tumbling: Tumbling) -> tuple[Array, Array]:
        """Return the angular momenta at the start and at the end, world [N m s], shape (M, 3) each."""
        if self.kept_momenta is None:
            first, last = (
                tumbling.momentum(state.orientation, state.angular_velocity)
                for state in (self.start, self.end)
            )
            self.kept_momenta = first, last
        return self.kept_momenta

    @property
    def turned_by_contact(self) -> BoolArray:
        """Bodies that turn as their contacts with the world let them, shape (M,); others turn freely."""
        return self.touching & ~self.colliding


@dataclass(frozen=True, eq=False)
class Travel:
    """What bodies cover of their paths in a step.

    Bodies that meet each other stop relative to each other and move on with the mean of their ways, weighted
    by mass: their common centre of mass covers its whole way. Those that meet the world stop.
    """

    mass: Array
    """Mass of each body [kg], shape (M,)."""
    part: Array
    """Part of its own path that each body covers, shape (M,)."""
    drift: Array
    """Way together with others after that part [m], shape (M, 3)."""
    group: IntArray
    """Number of the bodies that move on together, one of its own for each other body, shape (M,)."""
    fixed: BoolArray
    """Bodies that the world stopped, shape (M,)."""
    stopped: BoolArray
    """Bodies that met anything, shape (M,)."""

    def relative(self, values: Array) -> Array:
        """Return values less their mean over the bodies that move on together, shape (M, 3).

        Those of bodies that the world stopped remain as they are.
        """
        mass = np.maximum(group_sums(self.group, self.mass), 1e-300)
        mean = [group_sums(self.group, self.mass * axis) / mass for axis in values.T]
        return np.where(self.fixed[:, None], values, values - np.stack(mean, axis=-1)[self.group])


def travel(
    proximity: Proximity,
    levels: Levels,
    way: Array,
    mass: Array,
    place: Callable[[float, Array, Array], None],
    *,
    fixed: BoolArray,
    overlap: float,
) -> Travel:
    """Return how far bodies get on their paths.

    All bodies are placed at the same instants. What is checked at one depends on the bodies concerned only.

    Args:
        proximity: Finds the gaps of the placed bodies.
        levels: How often paths are checked.
        way: Ways of the centres of mass along the whole paths [m], shape (M, 3).
        mass: Mass of each body [kg], shape (M,).
        place: Puts all bodies into the model, given a part of the step, parts of their paths (M,) and further
            ways (M, 3) [m].
        fixed: Bodies that do not move, shape (M,).
        overlap: Growth of an overlap that stops bodies [m].
    """
    sweep = _Sweep(way, mass, fixed)
    world, each = levels.world.copy(), levels.each()
    checks = 1 << int(each.max())
    place(0.0, *sweep.at(0.0))
    first = proximity.overlaps(each > 0)
    for check in range(1, checks + 1):
        due = (each > 0) & ~sweep.fixed & (check % (checks >> each) == 0)
        if not due.any():
            continue
        place(check / checks, *sweep.at(check / checks))
        for (one, two), gap in proximity.overlaps(due).items():
            level = int(world[two] if one < 0 else levels.pairs.get((one, two), each[[one, two]].max()))
            stride = checks >> level
            if check % stride or sweep.together(one, two) or gap >= first.get((one, two), 0.0) - overlap:
                continue
            # They stop before they meet, but not where they started: they could stay there for ever.
            members = sweep.join(one, two, (check - stride or check) / checks)
            for number in (world, each):
                number[members] = np.maximum(number[members], level)
    part, drift = sweep.at(1.0)
    return Travel(mass, part, drift, sweep.group, sweep.fixed, sweep.stopped)


class _Sweep:
    """Bodies on their paths, numbered from 0; -1 is the world."""

    def __init__(self, way: Array, mass: Array, fixed: BoolArray) -> None:
        self._way, self._mass = way, mass
        self.fixed, self.stopped = fixed.copy(), fixed.copy()
        self.group = np.arange(len(mass))
        self._part, self._since = np.zeros(len(mass)), np.zeros(len(mass))
        self._drift, self._speed = np.zeros(way.shape), np.zeros(way.shape)

    def at(self, time: float) -> tuple[Array, Array]:
        """Return the parts of their own paths (M,) and the further ways (M, 3) [m] at a part of the step."""
        drift = self._drift + (time - self._since)[:, None] * self._speed
        return np.where(self.stopped, self._part, time), drift

    def together(self, one: int, two: int) -> bool:
        """Return whether two bodies do not move relative to each other."""
        held = [body < 0 or bool(self.fixed[body]) for body in (one, two)]
        return all(held) or (not any(held) and bool(self.group[one] == self.group[two]))

    def join(self, one: int, two: int, time: float) -> BoolArray:
        """Stop two bodies, and those that they move with, relative to each other. Return which, (M,)."""
        members = np.zeros(len(self.group), dtype=bool)
        for body in (one, two):
            if body >= 0:
                members |= self.group == self.group[body]
        part, drift = self.at(time)
        self._part[members], self._drift[members], self._since[members] = part[members], drift[members], time
        self.stopped |= members
        if min(one, two) < 0 or self.fixed[members].any():
            self.fixed |= members
            self.group[members] = np.flatnonzero(members)
            self._speed[members] = 0.0
        else:
            self.group[members] = self.group[members].min()
            mass = self._mass[members, None]
            self._speed[members] = (mass * self._way[members]).sum(axis=0) / mass.sum()
        return members
