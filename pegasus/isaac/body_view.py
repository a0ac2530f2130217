"""One view over the prims of all bodies: what physics knows of them, as `pegasus.engines.engine` says it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pegasus.arrays import Array, IntArray
from pegasus.engines.engine import BodyState
from pegasus.frames import cross, matrix_from_quaternion, rotate, rotate_inverse


class BodyView:
    """Read and write bodies while physics runs.

    Isaac Sim's quaternions are wxyz, its velocity is that of the centre of mass, and both velocities are in
    world axes.

    Args:
        paths: Paths of the prims of K bodies.
        rows: Their rows in the arrays over all M bodies, shape (K,); None where they are all of them.
        center_of_mass: Centres of mass in the body frames [m], shape (K, 3).
    """

    def __init__(self, paths: Sequence[str], rows: IntArray | None, center_of_mass: Array) -> None:
        from isaacsim.core.experimental.prims import RigidPrim

        self._prims = RigidPrim(list(paths), resolve_paths=False)
        self._rows: Any = slice(None) if rows is None else rows
        self._center_of_mass = center_of_mass
        self._has_offset = bool(center_of_mass.any())

    def read(self, known: BodyState, rotation: Array) -> None:
        """Write where the bodies are into their rows of a state.

        Args:
            known: State of all bodies.
            rotation: Their rotations, body to world, shape (M, 3, 3).
        """
        with _only_tensors():
            position, orientation = self._prims.get_world_poses()
            linear, angular = self._prims.get_velocities()
        rows, quaternion = self._rows, orientation.numpy()
        known.position[rows] = position.numpy()
        known.orientation[rows] = quaternion[:, [1, 2, 3, 0]]
        rotation[rows] = turned = matrix_from_quaternion(known.orientation[rows])
        turning = np.asarray(angular.numpy(), dtype=np.float64)
        velocity = np.asarray(linear.numpy(), dtype=np.float64)
        if self._has_offset:
            velocity = velocity - cross(turning, rotate(turned, self._center_of_mass))
        known.velocity[rows] = velocity
        known.angular_velocity[rows] = rotate_inverse(turned, turning)

    def write(self, known: BodyState, rotation: Array, rows: IntArray) -> None:
        """Put some bodies where a state has them.

        Args:
            known: State of all bodies.
            rotation: Their rotations, body to world, shape (M, 3, 3).
            rows: Rows of those that are put there; those that this view has not are left out.
        """
        places = rows
        if not isinstance(self._rows, slice):
            rows = rows[np.isin(rows, self._rows)]
            places = np.searchsorted(self._rows, rows)
        if len(rows) == 0:
            return
        turned = rotation[rows]
        turning = rotate(turned, known.angular_velocity[rows])
        velocity = known.velocity[rows] + cross(turning, rotate(turned, self._center_of_mass[places]))
        indices = places.tolist()
        with _only_tensors():
            self._prims.set_world_poses(
                known.position[rows], known.orientation[rows][:, [3, 0, 1, 2]], indices=indices
            )
            self._prims.set_velocities(velocity, turning, indices=indices)

    def apply(self, force: Array, torque: Array, rotation: Array) -> None:
        """Hand the wrench of the next step over, at the centres of mass.

        Args:
            force: Forces on all bodies, world axes [N], shape (M, 3).
            torque: Torques, body axes [N m], shape (M, 3).
            rotation: Rotations, body to world, shape (M, 3, 3).
        """
        rows = self._rows
        # One call per step: PhysX adds up on the CPU, and takes the last one on the GPU.
        self._prims.apply_forces_and_torques_at_pos(
            forces=force[rows],
            torques=rotate(rotation[rows], torque[rows]),
            local_frame=False,
        )


@contextmanager
def _only_tensors() -> Iterator[None]:
    """Let Isaac Sim read and write physics or raise, but never fall back to the stage in silence."""
    from isaacsim.core.experimental.utils.backend import use_backend

    with use_backend("tensor", raise_on_unsupported=True, raise_on_fallback=True):
        yield
