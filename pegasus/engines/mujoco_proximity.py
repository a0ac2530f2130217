"""Distances of moving bodies to everything else: when to detect collisions, and how often."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.step_math import Quat, Real, Vec3, maximum, minimum, norm, sqrt
from pegasus.base.tracing import Signal, column, uniform
from pegasus.base.tracing.launches import program_of
from pegasus.contracts.engine import BodyState
from pegasus.engines.mujoco_contacts import MARGIN
from pegasus.engines.mujoco_geoms import SEARCHING

# Smallest distance to which the surroundings are searched, the largest for several bodies, which find each
# other, and that for one body [m]; number of steps that a search shall serve, share of the distance below
# which a bound is renewed along with others, and what a distance may be wrong by [m].
_SEARCH_DISTANCES = 0.4, 0.8, 3.2
_SEARCH_STEPS = 10
_SEARCH_SHARE = 0.8
_ACCURACY = 1e-4
# MuJoCo's largest number of contacts between two geoms, the nearest not necessarily among them.
_MOST_CONTACTS = 50
# Distance by which a body moves between two collision checks on its path [m]: a quarter of the thinnest wall.
_STRIDE = 0.005
# Largest gap between shapes that counts as a bound [m]: boxes whose edges face each other are only found when
# they overlap, by less than this.
_WIDEST_GAP = 0.002


@dataclass(frozen=True)
class Flight:
    """A body at the start and at the end of a step of free flight, and bounds of its distances."""

    position: Vec3
    orientation: Quat
    free_position: Vec3
    free_orientation: Quat
    free_velocity: Vec3
    free_angular_velocity: Vec3
    reach: Real
    """Largest distance of its points from its origin [m]."""
    arm: Real
    """Largest lever arm of a contact [m]."""
    to_world: Real
    """Lower bound of the distance to the world [m]."""
    to_bodies: Real
    """Mean over two bodies: lower bound of their distance [m]."""


@dataclass(frozen=True)
class Bounds:
    """Bounds at the end of a step."""

    motion: Real
    """Upper bound of the motion of a body's points in the step [m]."""
    to_world: Real
    to_bodies: Real
    near: Signal
    """Whether any body may touch something in the step."""


def approach(flight: Flight, dt: Real, drift: Real) -> Bounds:
    """Return the bounds of a body, reduced by its motion.

    Args:
        flight: The body.
        dt: Length of the step [s].
        drift: Upper bound of the motion of the world's moving parts in the step [m].
    """
    way = flight.free_position - flight.position
    motion = motion_bound(way, flight.orientation, flight.free_orientation, flight.reach)
    # Contacts limit the velocity at the end of the step.
    closing = norm(flight.free_velocity) + flight.arm * norm(flight.free_angular_velocity)
    motion = maximum(motion, dt * closing)
    to_world = flight.to_world - motion - drift
    to_bodies = flight.to_bodies - 2.0 * motion
    near = 0.0
    if not minimum(to_world, to_bodies) > 0.0:
        near = 1.0
    return Bounds(motion, to_world, to_bodies, Signal(near))


def motion_bound(way: Vec3, a: Quat, b: Quat, reach: Real) -> Real:
    """Return an upper bound of the distance between two places of a point of a body [m].

    A chord of the angle t has the length 2 r sin(t/2), and the distance of the quaternions is 2 sin(t/4).

    Args:
        way: Way of the body's origin [m].
        a: Orientation at one place.
        b: Orientation at the other place.
        reach: Largest distance of a point of the body from its origin [m].
    """
    same = 0.0
    opposite = 0.0
    for k in range(4):
        same = same + (b[k] - a[k]) * (b[k] - a[k])
        opposite = opposite + (b[k] + a[k]) * (b[k] + a[k])
    return norm(way) + 2.0 * reach * sqrt(minimum(same, opposite))


@dataclass(frozen=True, eq=False)
class Levels:
    """Numbers of checks along the paths of a step, as binary logarithms; 0 for none."""

    world: IntArray
    """That of each body against the world, shape (M,)."""
    pairs: dict[tuple[int, int], int]
    """Those of bodies that may touch each other, by their numbers in rising order."""

    def each(self) -> IntArray:
        """Return the largest number of each body, shape (M,)."""
        level = self.world.copy()
        for pair, between in self.pairs.items():
            for body in pair:
                level[body] = max(level[body], between)
        return level

    def between(self, bodies: IntArray) -> IntArray:
        """Return the numbers of pairs (K, 2) of bodies, -1 for the world, shape (K,)."""
        one, two = np.minimum(bodies[:, 0], bodies[:, 1]), np.maximum(bodies[:, 0], bodies[:, 1])
        level: IntArray = self.world[two]
        for k in np.flatnonzero(one >= 0):
            level[k] = self.pairs.get((int(one[k]), int(two[k])), 0)
        return level


class Proximity:
    """Lower bounds of the distances between each body and everything else.

    The bounds of a body, taken as the box that encloses it, decrease by its motion (that to other bodies by
    twice its motion, since two may approach each other), and are renewed by a search when one is used up.
    Bodies with positive bounds touch nothing. (Between boxes MuJoCo finds no contact at a distance if only
    their edges face each other; the enclosing boxes are meshes, which have no such gap.)

    Args:
        model: The model; body 0 is the world, then come the free bodies, then moving parts of the world.
        data: Its data.
        state: State at the start of a step.
        free: State at the end of the step without contacts.
        owner: Free body of each geom, from 1; 0 for the world and its moving parts.
    """

    def __init__(self, model: Any, data: Any, state: BodyState, free: BodyState, owner: IntArray) -> None:
        self._model, self._data, self._owner = model, data, owner
        count = self._count = len(state.position)
        self._bodies = slice(1, count + 1)
        first = int(model.body_geomnum[0])
        self._geoms = slice(first, first + int((owner > 0).sum()))
        self._contype = model.body_contype.copy()
        types = model.geom_contype[self._geoms]
        enclosing = types == SEARCHING
        self._touching_types = (
            np.where(enclosing, 0, types),
            model.geom_conaffinity[self._geoms] & ~SEARCHING,
        )
        self._searching_types = np.where(enclosing, SEARCHING, 0), np.where(enclosing, SEARCHING, 0)
        reach = np.zeros(count + 1)
        reach[model.geom_bodyid[self._geoms][enclosing]] = (
            _lengths(model.geom_pos[self._geoms]) + model.geom_rbound[self._geoms]
        )[enclosing]
        self.reach = reach[1:].copy()
        """Largest distance of a point of each body from its origin [m], shape (M,)."""
        self._drift = 0.0
        self.motion = np.zeros(count)
        """Upper bound of the motion of each body's points in the step [m], shape (M,)."""
        self._to_world, self._to_bodies = np.zeros(count), np.zeros(count)
        self._wait = np.zeros(count, dtype=np.int64)
        self._near, self._dt, self._drifts = np.zeros(1), np.zeros(1), np.zeros(1)
        # Bodies that may touch each other in the step that `near` considered, from 0, shape (P, 2).
        self._pairs = np.zeros((0, 2), dtype=np.int64)
        nearest, among_bodies, alone = _SEARCH_DISTANCES
        self._distances = nearest, alone if count == 1 else among_bodies
        self._distance = nearest
        arm = self.reach + 2.0 * _lengths(model.body_ipos[self._bodies]) + MARGIN
        columns = {"reach": self.reach, "arm": arm}
        columns |= {"motion": self.motion, "to_world": self._to_world, "to_bodies": self._to_bodies}
        columns |= vars(state) | {f"free_{name}": values for name, values in vars(free).items()}
        columns |= {"near": self._near, "dt": self._dt, "drift": self._drifts}
        if count:
            inputs = column("", Flight), uniform("dt", 0.0), uniform("drift", 0.0)
            program = program_of(approach, *inputs, outputs=("",), count=count)
            # A thousand rows take less time than to wake a thread.
            self._approach = program.launch(columns, count, apart=False).run
        self._search(False, MARGIN)

    def far(self, dt: float, drift: float) -> bool:
        """Return whether no body can touch anything in a step.

        Args:
            dt: Length of the step [s].
            drift: Upper bound of the motion of the world's moving parts in the step [m].
        """
        if not self._count:
            return True
        self._drift = self._drifts[0] = drift
        self._dt[0], self._near[0] = dt, 0.0
        self._approach()
        return not self._near[0]

    def near(self, *, at_start: Callable[[], None]) -> BoolArray:
        """Return which bodies may touch something in the step that `far` considered, shape (M,).

        Args:
            at_start: Puts the bodies into the model at their poses at the start of the step.
        """
        self._wait -= 1
        self._pairs = self._pairs[:0]
        due = ~(self._to_bodies > 0.0) | (~(self._to_world > 0.0) & (self._wait <= 0))
        if due.any():
            # Bodies whose bounds are nearly used up are searched along, not one by one in the next steps.
            left = np.minimum(self._to_world, self._to_bodies)
            due |= (left > 0.0) & (left < _SEARCH_SHARE * self._distance)
            at_start()
        searched = np.zeros(self._count, dtype=bool)
        while due.any():
            searched |= due
            distance = max(self._distance, 2.0 * _SEARCH_STEPS * float(self.motion[due].max()))
            to_world, to_bodies = self._left(due, distance)
            # A body that was found is near for the others too.
            self._to_world[due] = to_world[due]
            self._to_bodies[:] = np.where(due, to_bodies, np.minimum(self._to_bodies, to_bodies))
            left = np.minimum(to_world, to_bodies)[due]
            self._distance = float(np.clip(2.0 * left.min(), *self._distances))
            self._wait[due & (to_world <= 0.0)] = _SEARCH_STEPS
            due = ~(self._to_bodies > 0.0) & ~searched
        return ~self._clear()

    def forget(self, rows: Any) -> None:
        """Have the surroundings of some bodies searched in the next step."""
        self._to_world[rows] = self._to_bodies[rows] = 0.0
        self._wait[rows] = 0

    def save_state(self) -> dict[str, Any]:
        """Return the present bounds, which are live arrays."""
        names = "motion", "_to_world", "_to_bodies", "_wait", "_pairs", "_distance"
        return {name: getattr(self, name) for name in names}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Take saved bounds of the same bodies."""
        for name in ("motion", "_to_world", "_to_bodies", "_wait"):
            getattr(self, name)[...] = state[name]
        self._pairs, self._distance = state["_pairs"], state["_distance"]

    def alone(self) -> BoolArray:
        """Return which bodies have no contact with other bodies in the step that `far` considered, (M,)."""
        # Two bodies are at least half of either bound apart: those whose bound was used up were searched.
        alone: BoolArray = self._to_bodies > 2.0 * MARGIN
        return alone

    def _clear(self) -> BoolArray:
        clear: BoolArray = (self._to_world > 0.0) & (self._to_bodies > 0.0)
        return clear

    def detect(self, rows: BoolArray) -> None:
        """Find the contacts of pairs with at least one of these bodies (M,), in the poses of the model."""
        self._model.body_contype[self._bodies] = np.where(rows, self._contype[self._bodies], 0)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_collision(self._model, self._data)

    def widen(self, rows: BoolArray) -> None:
        """Raise bounds to the world after a step without contacts to the gaps that `detect` found.

        The shapes of a body are smaller than the box that encloses it.

        Args:
            rows: The bodies that were detected and touched nothing, shape (M,).
        """
        gap = np.where(rows, _WIDEST_GAP, -np.inf)
        if self._data.ncon:
            contact = self._data.contact
            body = self._owner[contact.geom].max(axis=1) - 1
            np.minimum.at(gap, body, contact.dist)
            gap[np.bincount(body, minlength=self._count) >= _MOST_CONTACTS] = -np.inf
        np.maximum(self._to_world, gap - _ACCURACY - self.motion - self._drift, out=self._to_world)

    def overlaps(self, rows: BoolArray) -> dict[tuple[int, int], float]:
        """Return the largest overlaps in the present poses as negative gaps [m], by pair; -1 is the world.

        Args:
            rows: Bodies of which each pair has at least one, shape (M,).
        """
        self.detect(rows)
        found: dict[tuple[int, int], float] = {}
        if not self._data.ncon:
            return found
        contact = self._data.contact
        deep = contact.dist < 0.0
        bodies = np.sort(self._owner[contact.geom[deep]], axis=1) - 1
        for (one, two), gap in zip(bodies.tolist(), contact.dist[deep].tolist(), strict=True):
            found[one, two] = min(gap, found.get((one, two), 0.0))
        return found

    def levels(self, rows: BoolArray, way: Array, motion: Array) -> Levels:
        """Return how often paths must be checked.

        What counts is the motion relative to what a body may touch: bodies that fall together are slow.

        Args:
            rows: Bodies whose paths are checked, shape (M,).
            way: Ways of the bodies in the step [m], shape (M, 3).
            motion: Upper bounds of the motion of each body's points in the step [m], shape (M,).
        """
        world_is_far = (self._to_world > 0.0) & (motion <= self.motion)
        levels = Levels(np.where(rows & ~world_is_far, _level(motion), 0), {})
        if len(self._pairs):
            one, two = self._pairs.T
            turning = motion - _lengths(way)
            together = _level(_lengths(way[one] - way[two]) + turning[one] + turning[two])
            levels.pairs.update(
                ((a, b), level) for (a, b), level in zip(self._pairs.tolist(), together.tolist(), strict=True)
            )
        return levels

    def motion_of(self, velocity: Array, spin: Array, dt: float) -> Array:
        """Return upper bounds of the motion of each body's points in a step [m], shape (M,)."""
        bound: Array = dt * (_lengths(velocity) + self.reach * _lengths(spin))
        return bound

    def _left(self, due: BoolArray, distance: float) -> tuple[Array, Array]:
        """Return the bounds of bodies to the world and to other bodies after a step, shape (M,) each.

        Args:
            due: Bodies whose surroundings are searched, shape (M,).
            distance: Distance of the search [m].
        """
        motion = np.append(0.0, self.motion)
        to_world, to_bodies = distance - motion - self._drift, distance - 2.0 * motion
        # The distance of boxes that overlap is wrong by up to the margin: they are found by a small one.
        for margin in (distance, MARGIN):
            self._search(True, margin)
            self.detect(due)
            if not self._data.ncon:
                break
            pairs = self._owner[self._data.contact.geom]
            gap = self._data.contact.dist - _ACCURACY
            two = (pairs > 0).all(axis=1)
            body = pairs.max(axis=1)[~two]
            np.minimum.at(to_world, body, gap[~two] - motion[body] - self._drift)
            left = (gap - 2.0 * motion[pairs].max(axis=1))[two]
            for side in (0, 1):
                np.minimum.at(to_bodies, pairs[two, side], left)
            self._pairs = np.concatenate([self._pairs, np.sort(pairs[two][left <= 0.0] - 1, axis=1)])
            to_world[np.bincount(pairs.ravel(), minlength=len(motion)) >= _MOST_CONTACTS] = 0.0
        self._search(False, MARGIN)
        return to_world[1:], to_bodies[1:]

    def _search(self, searching: bool, margin: float) -> None:
        """Prepare collision detection of the boxes that enclose bodies, or of the shapes of bodies."""
        model, moving = self._model, self._geoms
        types = self._searching_types if searching else self._touching_types
        model.geom_contype[moving], model.geom_conaffinity[moving] = types
        model.geom_margin[moving] = margin
        model.body_margin[self._bodies] = margin


def _level(motion: Array) -> IntArray:
    """Return the binary logarithms of the numbers of checks along ways [m], shape (M,)."""
    level: IntArray = np.where(motion > _STRIDE, np.frexp(motion / _STRIDE)[1], 0)
    return level


def _lengths(vectors: Array) -> Array:
    """Return the lengths of vectors, shape (M,)."""
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    length: Array = np.sqrt(x * x + y * y + z * z)
    return length
