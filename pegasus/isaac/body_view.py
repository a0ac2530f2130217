"""Bodies of the engine: their states and wrenches, and the physics tensors for both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import cross, matrix_from_quaternion, rotate, rotate_inverse
from pegasus.contracts.engine import BodyIds, BodyState, RigidBody
from pegasus.isaac.compat import IsaacSim


@dataclass(frozen=True, eq=False)
class Body:
    """Body on the stage."""

    name: str
    path: str
    """Path of its prim."""
    center_of_mass: Array
    """Centre of mass in the body frame [m], shape (3,)."""


class BodyTable:
    """States and wrenches of M bodies, one row each, in the order of their handles."""

    def __init__(self) -> None:
        self.ids: IntArray = np.zeros(0, dtype=np.int64)
        """Handles in ascending order, shape (M,)."""
        self.state = BodyState.zeros(0)
        """Last states of the bodies."""
        self.rotation: Array = np.zeros((0, 3, 3))
        """Rotations, body to world, shape (M, 3, 3)."""
        self.force: Array = np.zeros((0, 3))
        """Force of the next step, world axes [N], shape (M, 3)."""
        self.torque: Array = np.zeros((0, 3))
        """Torque of the next step, body axes [N m], shape (M, 3)."""
        self._bodies: dict[int, Body] = {}
        self._deleted: set[int] = set()
        self._next_id = 0

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies.values())

    def __getitem__(self, handle: int) -> Body:
        return self._bodies[handle]

    @property
    def handles(self) -> dict[str, int]:
        """Handles by prim path."""
        return {body.path: handle for handle, body in self._bodies.items()}

    @property
    def deleted(self) -> list[str]:
        """Names of the bodies whose prims were deleted."""
        return [self._bodies[handle].name for handle in self.ids.tolist() if handle in self._deleted]

    def named(self, name: str) -> tuple[int, Body] | None:
        """Return the row of a body and the body, by its name; None if it does not exist."""
        found = ((row, self._bodies[handle]) for row, handle in enumerate(self.ids.tolist()))
        return next(((row, body) for row, body in found if body.name == name), None)

    def rows(self, ids: BodyIds) -> IntArray:
        """Return the rows of some handles."""
        return np.searchsorted(self.ids, ids)

    def existing(self, ids: BodyIds) -> Iterator[tuple[int, Body]]:
        """Iterate over row and body of those handles whose prims exist."""
        for handle, row in zip(ids.tolist(), self.rows(ids).tolist(), strict=True):
            if handle not in self._deleted:
                yield row, self._bodies[handle]

    def add(self, bodies: Sequence[RigidBody], paths: Sequence[str]) -> BodyIds:
        """Add bodies with their prim paths, and return their handles, which are never used again."""
        ids = np.arange(self._next_id, self._next_id + len(bodies), dtype=np.int64)
        self._next_id += len(bodies)
        new = BodyState.zeros(len(bodies))
        for row, (handle, body, path) in enumerate(zip(ids.tolist(), bodies, paths, strict=True)):
            self._bodies[handle] = Body(body.name, path, np.asarray(body.center_of_mass, dtype=np.float64))
            new.position[row], new.orientation[row] = body.position, body.orientation
        before = self.state
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
        """Remove bodies by their handles, and return them."""
        gone = [self._bodies.pop(handle) for handle in ids.tolist()]
        self._deleted -= set(ids.tolist())
        kept, known = ~np.isin(self.ids, ids), self.state
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

    def mark_deleted(self, path: str) -> list[Body]:
        """Mark the bodies at and below a deleted prim, and return them."""
        deleted = {
            handle: body
            for handle, body in self._bodies.items()
            if handle not in self._deleted and f"{body.path}/".startswith(f"{path}/")
        }
        self._deleted |= deleted.keys()
        return list(deleted.values())

    def set_state(self, ids: BodyIds, state: BodyState) -> IntArray:
        """Set the states of some bodies, whose order is that of `ids`; return their rows."""
        rows, known = self.rows(ids), self.state
        known.position[rows], known.orientation[rows] = state.position, state.orientation
        known.velocity[rows], known.angular_velocity[rows] = state.velocity, state.angular_velocity
        self.rotation[rows] = matrix_from_quaternion(known.orientation[rows])
        return rows

    def _arrange(self, known: BodyState) -> None:
        """Set the states of all bodies, and resize the arrays."""
        count = len(self.ids)
        self.state, self.rotation = known, matrix_from_quaternion(known.orientation)
        self.force, self.torque = np.zeros((count, 3)), np.zeros((count, 3))


class BodyView:
    """Tensors of bodies in running physics.

    The tensors of `omni.physics.tensors` hold positions and xyzw quaternions, shape (K, 7), and velocities,
    shape (K, 6): linear at the centre of mass, both in world axes, single precision. On the CPU they are read
    in place; from and to a GPU they are copied through page-locked host memory, once per step each way.

    It has its own simulation view, since PhysX invalidates a view and all its tensors when one of its bodies
    is deleted.

    Args:
        isaac: Adapter of the version of Isaac Sim.
        paths: Prim paths of K bodies.
        rows: Their rows in the arrays of all M bodies, shape (K,); None if these are all bodies.
        center_of_mass: Centres of mass in the body frames [m], shape (K, 3).

    Raises:
        RuntimeError: If physics does not have one of the bodies.
    """

    def __init__(
        self, isaac: IsaacSim, paths: Sequence[str], rows: IntArray | None, center_of_mass: Array
    ) -> None:
        import warp as wp

        # The view of the bodies ends with the simulation view, but does not keep it alive.
        self._simulation = isaac.simulation_view()
        self._bodies = self._simulation.create_rigid_body_view(list(paths))
        _require_all(self._bodies, list(paths))
        self._rows: Any = slice(None) if rows is None else rows
        self._center_of_mass = center_of_mass
        self._has_offset = bool(center_of_mass.any())
        self._pose = HostCopy(self._bodies.get_transforms())
        self._velocity = HostCopy(self._bodies.get_velocities())
        like = self._pose.tensor
        # Forces, then torques, in one array, so that they go to a GPU in one copy.
        self._wrench = HostCopy(wp.zeros((2, len(paths), 3), dtype=like.dtype, device=like.device))
        self._force, self._torque = self._wrench.tensor[0], self._wrench.tensor[1]
        self._all = _indices(np.arange(len(paths)), like.device)
        self._wrench.wait()

    @property
    def valid(self) -> bool:
        """The tensors are valid: PhysX invalidates them when one of the bodies is deleted."""
        return bool(self._simulation.is_valid)

    def read(self, known: BodyState, rotation: Array) -> None:
        """Read the bodies into their rows of a state of all bodies, and of their rotations, (M, 3, 3)."""
        self._pose.fetch(self._bodies.get_transforms())
        self._velocity.fetch(self._bodies.get_velocities())
        self._velocity.wait()
        rows, pose, velocity = self._rows, self._pose.values, self._velocity.values
        known.position[rows] = pose[:, :3]
        known.orientation[rows] = pose[:, 3:]
        rotation[rows] = turned = matrix_from_quaternion(known.orientation[rows])
        turning = velocity[:, 3:].astype(np.float64)
        known.velocity[rows] = velocity[:, :3]
        if self._has_offset:
            known.velocity[rows] -= cross(turning, rotate(turned, self._center_of_mass))
        known.angular_velocity[rows] = rotate_inverse(turned, turning)

    def write(self, known: BodyState, rotation: Array, rows: IntArray) -> None:
        """Write the states of some bodies to physics.

        Args:
            known: State of all bodies.
            rotation: Their rotations, body to world, shape (M, 3, 3).
            rows: Rows to write; rows that this view does not have are skipped.
        """
        places = rows
        if not isinstance(self._rows, slice):
            rows = rows[np.isin(rows, self._rows)]
            places = np.searchsorted(self._rows, rows)
        if len(rows) == 0:
            return
        turned = rotation[rows]
        turning = rotate(turned, known.angular_velocity[rows])
        # Physics takes arrays of all bodies of the view, and uses the rows of the indices.
        pose, velocity = self._pose.values, self._velocity.values
        pose[places, :3], pose[places, 3:] = known.position[rows], known.orientation[rows]
        arm = rotate(turned, self._center_of_mass[places])
        velocity[places, :3] = known.velocity[rows] + cross(turning, arm)
        velocity[places, 3:] = turning
        indices = _indices(places, self._all.device)
        self._pose.send()
        self._velocity.send()
        self._velocity.wait()
        self._bodies.set_transforms(self._pose.tensor, indices)
        self._bodies.set_velocities(self._velocity.tensor, indices)

    def apply(self, force: Array, torque: Array, rotation: Array) -> None:
        """Apply the wrench of the next step at the centres of mass.

        Args:
            force: Forces on all bodies, world axes [N], shape (M, 3).
            torque: Torques, body axes [N m], shape (M, 3).
            rotation: Rotations, body to world, shape (M, 3, 3).
        """
        rows, wrench = self._rows, self._wrench.values
        wrench[0] = force[rows]
        wrench[1] = rotate(rotation[rows], torque[rows])
        self._wrench.send()
        self._wrench.wait()
        # One call per step: PhysX accumulates wrenches on the CPU, and overwrites them on a GPU.
        self._bodies.apply_forces_and_torques_at_position(
            self._force, self._torque, None, self._all, is_global=True
        )


class HostCopy:
    """Tensor of physics, a Warp array, with its values in host memory; on the CPU both share memory."""

    def __init__(self, tensor: Any) -> None:
        import warp as wp

        self.tensor = self._host = tensor
        self._on_host = bool(tensor.device.is_cpu)
        if not self._on_host:
            self._host = wp.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pinned=True)
        self.values: Any = self._host.numpy()
        """Values as a NumPy array."""

    def fetch(self, tensor: Any) -> None:
        """Start to copy a tensor of the same shape and device to the host; `wait` completes it."""
        import warp as wp

        if not self._on_host:
            wp.copy(self._host, tensor)
        elif tensor is not self.tensor:
            self.tensor, self.values = tensor, tensor.numpy()

    def send(self) -> None:
        """Start to copy the host values to the tensor; `wait` completes it."""
        import warp as wp

        if not self._on_host:
            wp.copy(self.tensor, self._host)

    def wait(self) -> None:
        """Wait until the copies of this device are complete."""
        import warp as wp

        if not self._on_host:
            wp.synchronize_stream(self.tensor.device)


def _require_all(bodies: Any, paths: list[str]) -> None:
    """Require that a view has all requested bodies, in the same order."""
    try:
        found = list(bodies.prim_paths)
    except AttributeError:  # Without any of the bodies the view is empty.
        found = []
    if found != paths:
        missing = ", ".join(path for path in paths if path not in found)
        raise RuntimeError(f"physics has no bodies for the prims {missing or paths}")


def _indices(places: IntArray, device: Any) -> Any:
    """Return indices as a Warp array."""
    import warp as wp

    return wp.from_numpy(places.astype(np.int32), dtype=wp.int32, device=device)
