"""Fake of `omni.physics.tensors`: tensor views of rigid bodies.

The views are as strict as NVIDIA's Python code and the C++ code of PhysX and Newton: size, type and device of
a tensor must match, and indices are 32-bit integers. Where the real views silently read wrong memory, these
raise an error.
"""

import weakref

import numpy as np
import warp as wp

from pegasus.base.frames import matrix_from_quaternion
from pegasus.contracts.engine import BodyState
from tests.isaac.fakes import gpu
from tests.isaac.fakes.application import kit


class _Backend:
    """Stand-in of a C++ backend: the bodies that match the patterns of a view."""

    def __init__(self, simulation, paths):
        # The backend does not keep its simulation view alive, and becomes invalid with it.
        self.simulation, self.prim_paths, self.count = weakref.ref(simulation), paths, len(paths)

    def physics(self, call):
        """Return the physics, or None if the simulation view is invalid."""
        simulation = self.simulation()
        if simulation is not None and simulation.is_valid:
            return kit().physics
        if simulation is not None:
            _error(f"Simulation view object is invalidated and cannot be used again to call {call}")
        return None


class RigidBodyView:
    """Stand-in of a rigid body view: xyzw quaternions; each call returns the same tensor, updated."""

    def __init__(self, backend, frontend):
        self._backend, self._frontend = backend, frontend

    @property
    def count(self):
        return self._backend.count

    @property
    def prim_paths(self):
        return self._backend.prim_paths

    def check(self):
        physics = kit().physics
        return physics.running and all(path in physics.bodies for path in self._backend.prim_paths)

    def get_transforms(self):
        if not hasattr(self, "_transforms"):
            self._transforms = self._frontend.tensor((self.count, 7))
        physics = self._physics("getTransforms", "get rigid body transforms from")
        state = physics.read()
        rows = [physics.bodies[path].row for path in self.prim_paths]
        _fill(self._transforms, np.hstack([state.position[rows] / physics.unit, state.orientation[rows]]))
        return self._transforms

    def get_velocities(self):
        if not hasattr(self, "_velocities"):
            self._velocities = self._frontend.tensor((self.count, 6))
        physics = self._physics("getVelocities", "get rigid body velocities from")
        pairs = [physics.velocities(physics.bodies[path]) for path in self.prim_paths]
        _fill(self._velocities, np.array([np.concatenate([v / physics.unit, w]) for v, w in pairs]))
        return self._velocities

    def set_transforms(self, data, indices):
        failure = "set rigid body transforms in"
        physics = self._physics("setTransforms", failure)
        data = self._frontend.values(data, self.count * 7, failure).reshape(-1, 7)
        for index in self._frontend.indices(indices, self.count, failure):
            body = physics.bodies[self.prim_paths[index]]
            velocity, spin = physics.velocities(body)
            state = physics.read()
            size = np.linalg.norm(data[index, 3:7])
            turn = data[index, 3:7] if abs(size - 1) < 1e-9 else data[index, 3:7] / size
            target = BodyState(
                data[[index], :3] * physics.unit,
                turn[None],
                state.velocity[[body.row]],
                state.angular_velocity[[body.row]],
            )
            physics.engine.write(np.array([body.handle]), target)
            physics.set_velocity(body, velocity, spin)

    def set_velocities(self, data, indices):
        failure = "set rigid body velocities in"
        physics = self._physics("setVelocities", failure)
        data = self._frontend.values(data, self.count * 6, failure).reshape(-1, 6)
        for index in self._frontend.indices(indices, self.count, failure):
            body = physics.bodies[self.prim_paths[index]]
            physics.set_velocity(body, data[index, :3] * physics.unit, data[index, 3:])

    def apply_forces_and_torques_at_position(
        self, force_data, torque_data, position_data, indices, is_global
    ):
        """Add a wrench, or replace it with PhysX on a GPU; Newton accepts world axes only."""
        failure = "apply forces and torques at pos in"
        physics = self._physics("applyForcesAndTorquesAtPosition", failure)
        if force_data is None and torque_data is None:
            raise Exception(f"Failed to {failure} backend")
        given = [
            None if data is None else self._frontend.values(data, self.count * 3, failure).reshape(-1, 3)
            for data in (force_data, torque_data, position_data)
        ]
        newton = kit().engine == "newton"
        adds = newton or kit().device.is_cpu
        state = physics.read()
        for index in self._frontend.indices(indices, self.count, failure):
            body = physics.bodies[self.prim_paths[index]]
            rotation = matrix_from_quaternion(state.orientation[body.row])
            force, torque = (
                np.zeros(3) if data is None else data[index] * unit
                for data, unit in zip(given[:2], (physics.unit, physics.unit**2), strict=True)
            )
            if not is_global and not newton:
                force, torque = rotation @ force, rotation @ torque
            if position_data is not None and not newton:
                point = given[2][index] * physics.unit
                center = state.position[body.row] + rotation @ body.rigid.center_of_mass
                arm = point - center if is_global else rotation @ (point - body.rigid.center_of_mass)
                torque = torque + np.cross(arm, force)
            body.force = force + body.force * adds
            body.torque = torque + body.torque * adds
        return True

    def _physics(self, call, failure):
        if (physics := self._backend.physics(call)) is None:
            raise Exception(f"Failed to {failure} backend")
        return physics


class SimulationView:
    """Stand-in of a simulation view; it becomes invalid when a body of its views is deleted."""

    def __init__(self, frontend):
        self._frontend = frontend
        self._valid, self._bodies = True, set()
        kit().physics.views.add(self)

    @property
    def device(self):
        return str(self._frontend.device)

    @property
    def is_valid(self):
        return self._valid

    def set_subspace_roots(self, pattern):
        if not pattern.startswith("/"):
            raise Exception("Failed to set subspace roots")

    def invalidate(self):
        self._valid = False

    def create_rigid_body_view(self, pattern):
        if not self._valid:
            _error(
                "Simulation view object is invalidated and cannot be used again to call createRigidBodyView"
            )
            return RigidBodyView(None, self._frontend)
        found = []
        for path in [pattern] if isinstance(pattern, str) else pattern:
            if path in kit().physics.bodies:
                found.append(path)
            else:
                _error(f"Pattern '{path}' did not match any rigid bodies")
        if not found:
            _error("Provided pattern list did not match any rigid bodies")
        self._bodies.update(found)
        return RigidBodyView(_Backend(self, found) if found else None, self._frontend)

    def _lose(self, paths):
        """Become invalid if a body of a view, even of a deleted view, is deleted."""
        if self._valid and self._bodies & set(paths):
            kit().log.append(("warning", "The physics.tensors simulationView was invalidated."))
            self.invalidate()


class Frontend:
    """Stand-in of the Warp frontend."""

    def __init__(self, device):
        self.device = device
        self.dtype = wp.float64 if kit().exact else wp.float32

    def tensor(self, shape):
        return wp.zeros(shape, dtype=self.dtype, device=self.device if self.device.is_cuda else "cpu")

    def values(self, data, size, failure):
        """Return the values of a tensor, or reject it as NVIDIA's Python and C++ code do."""
        _require_array(data)
        if data.dtype is not self.dtype:
            raise TypeError("A float32 tensor is required")
        if np.prod(data.shape) != size:
            _error(f"expected {size} values, received {data.shape}")
            raise Exception(f"Failed to {failure} backend")
        return self._memory(data, failure).astype(np.float64)

    def indices(self, data, count, failure):
        """Return the indices, or reject a wrong type or device."""
        _require_array(data)
        if data.dtype not in (wp.int32, wp.uint32):
            raise TypeError("An int32 or uint32 tensor is required")
        indices = self._memory(data, failure).ravel()
        assert ((indices >= 0) & (indices < count)).all(), "indices outside of the view are left out silently"
        return indices

    def _memory(self, data, failure):
        assert data.is_contiguous, "memory is read as it lies, whatever the strides"
        on_gpu = isinstance(data, gpu.GpuArray)
        if on_gpu != self.device.is_cuda:
            _error(f"Incompatible device of a tensor: {data.device} in place of {self.device}")
            raise Exception(f"Failed to {failure} backend")
        if on_gpu:
            assert not gpu.is_pending(data), "physics reads a tensor that is still being copied to the GPU"
            return data.values
        return data.numpy()


def create_simulation_view_51(frontend_name, stage_id=-1):
    if frontend_name != "warp":
        raise AssertionError("the fakes have the frontend of Warp only")
    physics = kit().physics
    if stage_id not in (-1, kit().context.get_stage_id()):
        _error(f"Failed to find stage id {stage_id} in the stage cache")
        raise Exception("Failed to create simulation view backend")
    if not physics.running:
        _error("Failed to create simulation view: no active physics scene found")
        raise Exception("Failed to create simulation view backend")
    return SimulationView(Frontend(kit().device))


def create_simulation_view_60(frontend_name, stage_id=-1, backend="physx"):
    if backend != kit().engine:
        raise Exception("Failed to create simulation view backend")
    return create_simulation_view_51(frontend_name, stage_id)


def _fill(tensor, data):
    if isinstance(tensor, gpu.GpuArray):
        tensor.values[...] = data
    else:
        tensor.numpy()[...] = data


def _require_array(data):
    if not isinstance(data, wp.array | gpu.GpuArray):
        raise AttributeError(
            f"{type(data).__name__!r} is no array of Warp, whose type and address are asked for"
        )


def _error(text):
    kit().log.append(("error", text))
