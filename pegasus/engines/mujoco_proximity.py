"""Distances of moving bodies to everything else: when to detect collisions, and how far a fast body gets."""

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.core.engine import BodyState
from pegasus.engines.mujoco_contacts import MARGIN
from pegasus.engines.mujoco_geoms import SEARCHING

# Smallest distance to which the surroundings are searched [m], and number of steps that a search shall serve.
_SEARCH_DISTANCE = 0.4
_SEARCH_STEPS = 10
# MuJoCo's largest number of contacts between two geoms, the nearest not necessarily among them.
_MOST_CONTACTS = 50
# Number of bodies up to which Python's numbers are faster than arrays.
_FEW = 2
# Distance by which a body moves between two collision checks on its path [m]: a quarter of the thinnest wall.
_STRIDE = 0.005
OVERLAP = 0.001
"""Growth of an overlap that ends the path of a body in contact [m]."""


class Proximity:
    """Lower bounds of the distances between each body and everything else.

    The bound of a body, taken as the sphere that encloses it, decreases by twice its motion, since two bodies
    may approach each other, and is renewed by a search when it is used up. Bodies with a positive bound touch
    nothing. (Between boxes MuJoCo finds no contact at a distance if only their edges face each other.)

    Args:
        model: The model; body 0 is the world, all others are free.
        data: Its data.
    """

    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        count = self._count = model.nbody - 1
        self._geoms = slice(int(model.body_geomnum[0]), model.ngeom)
        self._contype = model.body_contype.copy()
        types = model.geom_contype[self._geoms]
        spheres = types == SEARCHING
        self._touching_types = np.where(spheres, 0, types), model.geom_conaffinity[self._geoms] & ~SEARCHING
        self._searching_types = np.where(spheres, SEARCHING, 0), np.where(spheres, SEARCHING, 0)
        # Radius of the sphere of each body.
        self._reach = np.zeros(model.nbody)
        self._reach[model.geom_bodyid[self._geoms][spheres]] = model.geom_size[self._geoms, 0][spheres]
        self._reach = self._reach[1:]
        self._bound = np.zeros(count)
        self._bounds = [0.0] * count
        self._wait = np.zeros(count, dtype=np.int64)
        # Motion of the origin of each body in the step [m].
        self.moved = np.zeros(count)
        self._rows = np.zeros((count, 3))
        self._search(False, MARGIN)

    def far(self, state: BodyState, free: BodyState) -> bool:
        """Return whether no body can touch anything in a step.

        Args:
            state: State at the start.
            free: State at the end without contacts.
        """
        if self._count <= _FEW:
            return self._few_far(state, free)
        np.subtract(free.position, state.position, out=self._rows)
        self.moved[:] = _lengths(self._rows)
        self._bound -= 2.0 * self.moved
        return bool((self._bound > 0.0).all())

    def near(self, *, at_start: Callable[[], None]) -> BoolArray:
        """Return which bodies may touch something in the step that `far` considered, shape (M,).

        Args:
            at_start: Puts the bodies into the model at their poses at the start of the step.
        """
        self._wait -= 1
        due = (self._bound <= 0.0) & (self._wait <= 0)
        if due.any():
            at_start()
            distance = max(_SEARCH_DISTANCE, 2.0 * _SEARCH_STEPS * float(self.moved[due].max()))
            self._search(True, distance)
            left, beside = self._left(due, distance)
            self._search(False, MARGIN)
            # A body that was found is near for the others too.
            self._bound = np.where(due, left, np.minimum(self._bound, left))
            self._wait[due & (left <= 0.0) & ~beside] = _SEARCH_STEPS
            self._bounds = self._bound.tolist()
        return self._bound <= 0.0

    def forget(self, rows: Any) -> None:
        """Have the surroundings of some bodies searched in the next step."""
        self._bound[rows] = 0.0
        self._wait[rows] = 0
        self._bounds = self._bound.tolist()

    def consider(self, rows: BoolArray) -> None:
        """Restrict collision detection to pairs with at least one of these bodies, shape (M,)."""
        self._model.body_contype[1:] = np.where(rows, self._contype[1:], 0)

    def gaps(self, rows: BoolArray) -> Array:
        """Return the smallest gap of each body in the present poses [m], infinite if none, shape (M,).

        Args:
            rows: Bodies that are considered, shape (M,).
        """
        self.consider(rows)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_collision(self._model, self._data)
        smallest = np.full(self._model.nbody, math.inf)
        if self._data.ncon:
            bodies = self._model.geom_bodyid[self._data.contact.geom]
            for side in (0, 1):
                np.minimum.at(smallest, bodies[:, side], self._data.contact.dist)
        return smallest[1:]

    def travelled(
        self, rows: BoolArray, motion: Array, place: Callable[[Array], None], *, overlap: float
    ) -> tuple[Array, BoolArray]:
        """Return the part of its path that each body gets along, and whether an obstacle ended it, (M,).

        The path is checked at distances below that to the nearest obstacle, or of half a centimetre.

        Args:
            rows: Bodies that move, shape (M,).
            motion: Upper bound of the motion of each body's points along the path [m], shape (M,).
            place: Puts these bodies into the model, given the part of the path of each body, shape (M,).
            overlap: Growth of an overlap that ends the path [m].
        """
        part, hit, moving = np.zeros(self._count), np.zeros(self._count, dtype=bool), rows.copy()
        place(part)
        gap = self.gaps(moving)
        ending = np.minimum(gap, 0.0) - overlap
        while moving.any():
            # Two boxes that are beside each other may have no contact within the margin.
            stride = np.where(gap < MARGIN, np.maximum(gap, _STRIDE), _STRIDE)
            before = part
            part = np.where(moving, np.minimum(part + stride / np.maximum(motion, _STRIDE), 1.0), part)
            place(part)
            gap = self.gaps(moving)
            ended = moving & (gap < ending)
            # A body stops before the obstacle, but not where it started: it could stay there for ever.
            part = np.where(ended & (before > 0.0), before, part)
            hit |= ended
            moving &= ~ended & (part < 1.0)
        return np.where(rows, part, 1.0), hit

    def fast(self, motion: Array) -> BoolArray:
        """Return which bodies move farther than may remain unchecked, shape (M,)."""
        return motion > _STRIDE

    def motion_between(self, state: BodyState, free: BodyState, dt: float) -> Array:
        """Return upper bounds of the motion of each body's points in free flight [m], shape (M,)."""
        spin = np.maximum(_lengths(state.angular_velocity), _lengths(free.angular_velocity))
        bound: Array = _lengths(free.position - state.position) + self._reach * spin * dt
        return bound

    def motion_of(self, velocity: Array, spin: Array, dt: float) -> Array:
        """Return upper bounds of the motion of each body's points in a step [m], shape (M,)."""
        bound: Array = dt * (_lengths(velocity) + self._reach * _lengths(spin))
        return bound

    def _left(self, due: BoolArray, distance: float) -> tuple[Array, BoolArray]:
        """Return the bounds of bodies after a step, and which of them are beside another body, shape (M,).

        Args:
            due: Bodies whose surroundings are searched, shape (M,).
            distance: Distance of the search [m].
        """
        self.gaps(due)
        contact = self._data.contact
        pairs = self._model.geom_bodyid[contact.geom]
        motion = np.append(0.0, self.moved)
        nearest, beside = distance - 2.0 * motion, np.zeros(len(motion), dtype=bool)
        left = contact.dist - 2.0 * motion[pairs].max(axis=1)
        two = (pairs > 0).all(axis=1)
        for side in (0, 1):
            np.minimum.at(nearest, pairs[:, side], left)
            beside[pairs[two, side]] = True
        nearest[np.bincount(pairs.ravel(), minlength=len(motion)) >= _MOST_CONTACTS] = 0.0
        return nearest[1:], beside[1:]

    def _few_far(self, state: BodyState, free: BodyState) -> bool:
        far = True
        for row, ((x, y, z), (to_x, to_y, to_z)) in enumerate(
            zip(state.position.tolist(), free.position.tolist(), strict=True)
        ):
            # The same roundings as for many, so that a body's bits do not depend on the number of bodies.
            x, y, z = to_x - x, to_y - y, to_z - z
            moved = math.sqrt(x * x + y * y + z * z)
            bound = self._bounds[row] = self._bounds[row] - 2.0 * moved
            far = far and bound > 0.0
            self.moved[row] = moved
        if not far:
            self._bound[:] = self._bounds
        return far

    def _search(self, searching: bool, margin: float) -> None:
        """Prepare collision detection between spheres, or between the shapes of bodies."""
        model, moving = self._model, self._geoms
        types = self._searching_types if searching else self._touching_types
        model.geom_contype[moving], model.geom_conaffinity[moving] = types
        model.geom_margin[moving] = margin
        model.body_margin[1:] = margin


def _lengths(vectors: Array) -> Array:
    """Return the lengths of vectors, shape (M,)."""
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    length: Array = np.sqrt(x * x + y * y + z * z)
    return length
