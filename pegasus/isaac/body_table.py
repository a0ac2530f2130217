"""What is known of bodies: their prims, where they were last, and the wrench of the next step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array, IntArray
from pegasus.engines.engine import BodyIds, BodyState, RigidBody
from pegasus.frames import matrix_from_quaternion


@dataclass(frozen=True, eq=False)
class Body:
    """A body on the stage."""

    name: str
    path: str
    """Path of its prim."""
    center_of_mass: Array
    """Centre of mass in the body frame [m], shape (3,)."""


class BodyTable:
    """M bodies, each a row of all arrays, in the order of their handles."""

    def __init__(self) -> None:
        self.ids: IntArray = np.zeros(0, dtype=np.int64)
        """Handles, rising, shape (M,)."""
        self.known = BodyState.zeros(0)
        """Where the bodies were last."""
        self.rotation: Array = np.zeros((0, 3, 3))
        """Their rotations, body to world, shape (M, 3, 3)."""
        self.force: Array = np.zeros((0, 3))
        """Force of the next step, world axes [N], shape (M, 3)."""
        self.torque: Array = np.zeros((0, 3))
        """Torque of the next step, body axes [N m], shape (M, 3)."""
        self._bodies: dict[int, Body] = {}
        self._lost: set[int] = set()
        self._next_id = 0

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies.values())

    def __getitem__(self, handle: int) -> Body:
        return self._bodies[handle]

    @property
    def handles(self) -> dict[str, int]:
        """Handles by the paths of prims."""
        return {body.path: handle for handle, body in self._bodies.items()}

    @property
    def lost(self) -> list[str]:
        """Names of the bodies whose prims are gone."""
        return [self._bodies[handle].name for handle in self.ids.tolist() if handle in self._lost]

    def named(self, name: str) -> tuple[int, Body] | None:
        """Return the row of a body, and the body; None for one that there is not.

        Args:
            name: Its name.
        """
        found = ((row, self._bodies[handle]) for row, handle in enumerate(self.ids.tolist()))
        return next(((row, body) for row, body in found if body.name == name), None)

    def rows(self, ids: BodyIds) -> IntArray:
        """Return the rows of some bodies.

        Args:
            ids: Their handles.
        """
        return np.searchsorted(self.ids, ids)

    def living(self, ids: BodyIds) -> Iterator[tuple[int, Body]]:
        """Give the rows of those of some bodies that have a prim, and the bodies.

        Args:
            ids: Their handles.
        """
        for handle, row in zip(ids.tolist(), self.rows(ids).tolist(), strict=True):
            if handle not in self._lost:
                yield row, self._bodies[handle]

    def add(self, bodies: Sequence[RigidBody], paths: Sequence[str]) -> BodyIds:
        """Add bodies, and return their handles, which no other body ever has.

        Args:
            bodies: The bodies.
            paths: Paths of their prims.
        """
        ids = np.arange(self._next_id, self._next_id + len(bodies), dtype=np.int64)
        self._next_id += len(bodies)
        new = BodyState.zeros(len(bodies))
        for row, (handle, body, path) in enumerate(zip(ids.tolist(), bodies, paths, strict=True)):
            self._bodies[handle] = Body(body.name, path, np.asarray(body.center_of_mass, dtype=np.float64))
            new.position[row], new.orientation[row] = body.position, body.orientation
        before = self.known
        self.ids = np.concatenate([self.ids, ids])
        self._arrange(
            BodyState(
                np.concatenate([before.position, new.position]),
                np.concatenate([before.orientation, new.orientation]),
                np.concatenate([before.velocity, new.velocity]),
                np.concatenate([before.angular_velocity, new.angular_velocity]),
            )
        )
        return ids

    def remove(self, ids: BodyIds) -> list[Body]:
        """Remove bodies, and return them.

        Args:
            ids: Their handles.
        """
        gone = [self._bodies.pop(handle) for handle in ids.tolist()]
        self._lost -= set(ids.tolist())
        kept, known = ~np.isin(self.ids, ids), self.known
        self.ids = self.ids[kept]
        self._arrange(
            BodyState(
                known.position[kept],
                known.orientation[kept],
                known.velocity[kept],
                known.angular_velocity[kept],
            )
        )
        return gone

    def clear(self) -> None:
        """Remove all bodies."""
        self.remove(self.ids)

    def lose(self, path: str) -> list[Body]:
        """Know that a prim is gone with all below it, and return the bodies that went with it.

        Args:
            path: Path of the prim.
        """
        gone = {
            handle: body
            for handle, body in self._bodies.items()
            if handle not in self._lost and f"{body.path}/".startswith(f"{path}/")
        }
        self._lost |= gone.keys()
        return list(gone.values())

    def put(self, ids: BodyIds, state: BodyState) -> IntArray:
        """Take over where some bodies are, and return their rows.

        Args:
            ids: Their handles.
            state: Where they are; its rows follow `ids`.
        """
        rows, known = self.rows(ids), self.known
        known.position[rows], known.orientation[rows] = state.position, state.orientation
        known.velocity[rows], known.angular_velocity[rows] = state.velocity, state.angular_velocity
        self.rotation[rows] = matrix_from_quaternion(known.orientation[rows])
        return rows

    def _arrange(self, known: BodyState) -> None:
        """Take over a state of all bodies, and make the arrays that go with it."""
        count = len(self.ids)
        self.known, self.rotation = known, matrix_from_quaternion(known.orientation)
        self.force, self.torque = np.zeros((count, 3)), np.zeros((count, 3))
