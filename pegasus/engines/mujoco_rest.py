"""Contacts of a step, and bodies at rest, which remain where they are while their inputs stay the same."""

from typing import Any, TypeAlias

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.contracts.engine import BodyState
from pegasus.engines.mujoco_contacts import Solution

Found: TypeAlias = tuple[Any, Array, Array, Array, Array]
"""Contacts: both geoms, gaps, points, frames and forces, (K, ...) each."""
_STILL = 1e-8
"""Velocity below which a body at rest remains where it is [m/s, rad/s]."""


class Rest:
    """Bodies at rest after a step, its inputs and their contacts.

    Args:
        bodies: Which bodies are at rest, shape (M,).
        dt: Length of the step [s].
        force: Forces, shape (M, 3).
        torque: Torques, shape (M, 3).
        free: State at the end of the step without contacts, if it was given.
        found: Contacts of the step.
        body: Free body of each geom of the model, 0 for the world and its moving parts.
    """

    def __init__(
        self,
        bodies: BoolArray,
        dt: float,
        force: Array,
        torque: Array,
        free: BodyState | None,
        found: Found,
        body: Any,
    ) -> None:
        self.bodies: BoolArray = bodies
        """Bodies at rest, shape (M,)."""
        self._dt, self._given = dt, free is not None
        self._inputs = [values.copy() for values in _inputs(force, torque, free)]
        self._found, self._body = found, body

    def save_state(self) -> dict[str, Any]:
        """Return what it holds but the model's, as live arrays."""
        return {name: value for name, value in vars(self).items() if name != "_body"}

    @classmethod
    def restored(cls, state: dict[str, Any], body: Any) -> "Rest":
        """Return the bodies at rest of a saved state.

        Args:
            state: The state.
            body: Body of each geom of the model, 0 for the world.
        """
        rest = cls.__new__(cls)
        vars(rest).update(state, _body=body)
        return rest

    def remaining(self, dt: float, force: Array, torque: Array, free: BodyState | None) -> BoolArray:
        """Return which bodies remain at rest, shape (M,): those with the same inputs in each step since."""
        if dt != self._dt or (free is not None) != self._given:
            self.bodies = np.zeros(len(force), dtype=bool)
        for before, now in zip(self._inputs, _inputs(force, torque, free), strict=False):
            same = before == now
            if not same.all():
                self.bodies = self.bodies & same.all(axis=1)
        return self.bodies

    def contacts(self, bodies: BoolArray) -> Found:
        """Return the contacts of some bodies at rest, shape (M,), which touch the world only."""
        rows = np.append(False, bodies)[self._body[self._found[0]].max(axis=1)]
        geom, gap, position, frame, force = (values[rows] for values in self._found)
        return geom, gap, position, frame, force


class ContactRecord:
    """Contacts with a force or an overlap.

    Args:
        owner: Free body of each geom, from 1; 0 for the world and its moving parts.
        geom: The two geoms of each contact, shape (N, 2).
        distance: Gaps between the surfaces [m], shape (N,).
        position: Contact points in the world [m], shape (N, 3).
        frame: Unit normal and tangents, shape (N, 9).
        force: Forces in these frames [N], shape (N, 3).
    """

    def __init__(
        self, owner: IntArray, geom: IntArray, distance: Array, position: Array, frame: Array, force: Array
    ) -> None:
        kept = (force[:, 0] > 0.0) | (distance <= 0.0)
        axes = frame[kept].reshape(-1, 3, 3)
        self.geom = geom[kept]
        """The two geoms of each contact, shape (K, 2)."""
        self.body = owner[self.geom]
        """The two bodies of each contact, 0 for the world, shape (K, 2)."""
        self.position = position[kept]
        """Contact points in the world [m], shape (K, 3)."""
        self.normal = axes[:, 0]
        """Unit normals from the first body to the second, shape (K, 3)."""
        self.force = (force[kept][:, :, None] * axes).sum(axis=1)
        """Forces on the second body in the world [N], shape (K, 3)."""
        self.distance = distance[kept]
        """Gaps between the surfaces, negative when they overlap [m], shape (K,)."""


def at_rest(start: BodyState, solution: Solution) -> BoolArray:
    """Return which touching bodies are at rest during a step, shape (M,)."""
    speeds = start.velocity, start.angular_velocity, solution.velocity, solution.motion, solution.separation
    fastest = np.abs(np.hstack(speeds)).max(axis=1)
    still: BoolArray = solution.touching & (fastest < _STILL)
    return still


def both(one: Found | None, other: Found) -> Found:
    """Return the contacts of two sets."""
    if one is None:
        return other
    geom, gap, position, frame, force = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    return geom, gap, position, frame, force


def _inputs(force: Array, torque: Array, free: BodyState | None) -> list[Array]:
    return [force, torque, *([] if free is None else vars(free).values())]
