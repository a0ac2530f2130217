"""Rigid-body tensors of Isaac Sim's physics: poses, velocities and wrenches, in buffers that are kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.arrays import Array, IntArray
from pegasus.engines.engine import BodyState
from pegasus.frames import cross, matrix_from_quaternion, rotate, rotate_inverse
from pegasus.isaac.compat import IsaacSim


class BodyView:
    """Read and write the bodies of a running simulation.

    The tensors of `omni.physics.tensors` hold positions and xyzw quaternions, shape (K, 7), and velocities,
    shape (K, 6): linear at the centre of mass, both in world axes, single precision. On the CPU they are read
    in place; on a GPU they are copied to and from page-locked memory of the host, once per step each way.

    It has a simulation view of its own: PhysX invalidates such a view, with all that was made of it, as soon
    as one of its bodies is deleted.

    Args:
        isaac: Calls of the version of Isaac Sim.
        paths: Paths of the prims of K bodies.
        rows: Their rows in the arrays over all M bodies, shape (K,); None where they are all of them.
        center_of_mass: Centres of mass in the body frames [m], shape (K, 3).

    Raises:
        RuntimeError: If physics does not have one of the bodies.
    """

    def __init__(
        self, isaac: IsaacSim, paths: Sequence[str], rows: IntArray | None, center_of_mass: Array
    ) -> None:
        # The view of the bodies does not keep the simulation view alive, but ends with it.
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
        self._wrench = HostCopy(_zeros((2, len(paths), 3), like.dtype, like.device))
        self._force, self._torque = self._wrench.tensor[0], self._wrench.tensor[1]
        self._all = _indices(np.arange(len(paths)), like.device)
        self._wrench.wait()

    @property
    def valid(self) -> bool:
        """Whether the tensors are still valid: PhysX ends them when one of the bodies is deleted."""
        return bool(self._simulation.is_valid)

    def read(self, known: BodyState, rotation: Array) -> None:
        """Write where the bodies are into their rows of a state.

        Args:
            known: State of all bodies.
            rotation: Their rotations, body to world, shape (M, 3, 3).
        """
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
        # Physics takes arrays over all bodies of the view, and of these the rows of the indices.
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
        """Hand the wrench of the next step over, at the centres of mass.

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
        # One call per step: PhysX adds wrenches up on the CPU, and takes the last one on a GPU.
        self._bodies.apply_forces_and_torques_at_position(
            self._force, self._torque, None, self._all, is_global=True
        )


class HostCopy:
    """A tensor of physics, and its values in memory of the host; on the CPU both are the same memory.

    Args:
        tensor: The tensor, an array of Warp.
    """

    def __init__(self, tensor: Any) -> None:
        import warp as wp

        self.tensor = self._host = tensor
        self._on_host = bool(tensor.device.is_cpu)
        if not self._on_host:
            self._host = wp.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pinned=True)
        self.values: Any = self._host.numpy()
        """The values as NumPy sees them."""

    def fetch(self, tensor: Any) -> None:
        """Begin to copy a tensor to the host; `wait` ends it.

        Args:
            tensor: The tensor, of the same shape and device; physics hands out the same one each time.
        """
        import warp as wp

        if not self._on_host:
            wp.copy(self._host, tensor)
        elif tensor is not self.tensor:
            self.tensor, self.values = tensor, tensor.numpy()

    def send(self) -> None:
        """Begin to copy the values of the host to the tensor; `wait` ends it."""
        import warp as wp

        if not self._on_host:
            wp.copy(self.tensor, self._host)

    def wait(self) -> None:
        """Wait for the copies of this device that have begun."""
        import warp as wp

        if not self._on_host:
            wp.synchronize_stream(self.tensor.device)


def _require_all(bodies: Any, paths: list[str]) -> None:
    """Require that a view has all bodies that were asked for, in their order."""
    try:
        found = list(bodies.prim_paths)
    except AttributeError:  # Where physics knows none of them, the view wraps nothing.
        found = []
    if found != paths:
        missing = ", ".join(path for path in paths if path not in found)
        raise RuntimeError(f"physics does not have the bodies of the prims {missing or paths}")


def _zeros(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """Return an array of Warp."""
    import warp as wp

    return wp.zeros(shape, dtype=dtype, device=device)


def _indices(places: IntArray, device: Any) -> Any:
    """Return indices as physics takes them."""
    import warp as wp

    return wp.from_numpy(places.astype(np.int32), dtype=wp.int32, device=device)
