"""Views of `omni.physics.tensors` over the bodies of the physics behind the fakes."""

import numpy as np

from pegasus.engines.engine import BodyState
from pegasus.frames import matrix_from_quaternion
from tests.isaac.fakes.arrays import WarpArray, indices_of, values_of


class RigidBodyView:
    """Stand-in of a rigid body view of `omni.physics.tensors`: quaternions are xyzw."""

    def __init__(self, kit, paths):
        self._kit, self.prim_paths = kit, list(paths)
        self.count, self.valid = len(self.prim_paths), True
        kit.physics.views.append(self)
        kit.physics.sync()
        self._known = all(path in kit.physics.bodies for path in self.prim_paths)

    def check(self):
        return self.valid and self._known and self._kit.physics.running

    def get_transforms(self):
        state, rows = self._state()
        data = np.hstack([state.position[rows] / self._unit, state.orientation[rows]])
        return self._array(data)

    def get_velocities(self):
        physics = self._physics()
        pairs = [physics.velocities(physics.bodies[path]) for path in self.prim_paths]
        return self._array(np.array([np.concatenate([v / self._unit, w]) for v, w in pairs]))

    def set_transforms(self, data, indices):
        physics = self._physics()
        data = values_of(data, (self.count, 7), self._dtype)
        for index in indices_of(indices, self.count):
            body = physics.bodies[self.prim_paths[index]]
            velocity, spin = physics.velocities(body)
            state = physics.read()
            rotation = data[index, 3:7] / np.linalg.norm(data[index, 3:7])
            exact = data[index, 3:7] if abs(np.linalg.norm(data[index, 3:7]) - 1) < 1e-9 else rotation
            target = BodyState(
                data[[index], :3] * self._unit,
                exact[None],
                state.velocity[[body.row]],
                state.angular_velocity[[body.row]],
            )
            physics.engine.write(np.array([body.handle]), _widened(target))
            physics.set_velocity(body, velocity, spin)

    def set_velocities(self, data, indices):
        physics = self._physics()
        data = values_of(data, (self.count, 6), self._dtype).astype(np.float64)
        for index in indices_of(indices, self.count):
            body = physics.bodies[self.prim_paths[index]]
            physics.set_velocity(body, data[index, :3] * self._unit, data[index, 3:])

    def apply_forces_and_torques_at_position(
        self, force_data, torque_data, position_data, indices, is_global
    ):
        """Add a wrench where PhysX runs on the CPU; replace it on a GPU and with Newton."""
        physics = self._physics()
        state, _ = self._state()
        adds = self._kit.device.is_cpu and self._kit.engine == "physx"
        given = [
            np.zeros((self.count, 3))
            if d is None
            else values_of(d, (self.count, 3), self._dtype).astype(np.float64)
            for d in (force_data, torque_data)
        ]
        for index in indices_of(indices, self.count):
            body = physics.bodies[self.prim_paths[index]]
            rotation = matrix_from_quaternion(state.orientation[body.row])
            force, torque = given[0][index] * self._unit, given[1][index] * self._unit**2
            if not is_global:
                force, torque = rotation @ force, rotation @ torque
            if position_data is not None:
                point = values_of(position_data, (self.count, 3), np.float64)[index] * self._unit
                center = state.position[body.row] + rotation @ body.rigid.center_of_mass
                arm = point - center if is_global else rotation @ (point - body.rigid.center_of_mass)
                torque = torque + np.cross(arm, force)
            body.force = force + body.force * adds
            body.torque = torque + body.torque * adds

    def get_masses(self):
        return self._array(np.array([[b.rigid.mass] for b in self._bodies()]))

    def get_coms(self):
        rows = [np.concatenate([b.rigid.center_of_mass / self._unit, [0, 0, 0, 1]]) for b in self._bodies()]
        return self._array(np.array(rows))

    def get_inertias(self):
        return self._array(np.array([b.rigid.inertia.ravel() / self._unit**2 for b in self._bodies()]))

    @property
    def _unit(self):
        return self._kit.physics.unit

    @property
    def _dtype(self):
        return np.float64 if self._kit.exact else np.float32

    def _physics(self):
        if not self.check():
            raise RuntimeError("the rigid body view is not valid: its simulation ended or a body is gone")
        return self._kit.physics

    def _bodies(self):
        physics = self._physics()
        return [physics.bodies[path] for path in self.prim_paths]

    def _state(self):
        physics = self._physics()
        return physics.read(), [physics.bodies[path].row for path in self.prim_paths]

    def _array(self, data):
        return WarpArray(data.astype(self._dtype), self._kit.device)


class SimulationView:
    """Stand-in of the simulation view of `omni.physics.tensors`."""

    def __init__(self, kit):
        self._kit, self.is_valid = kit, True

    def set_subspace_roots(self, pattern):
        return True

    def invalidate(self):
        self.is_valid = False

    def create_rigid_body_view(self, pattern):
        return RigidBodyView(self._kit, [pattern] if isinstance(pattern, str) else pattern)


def _widened(state):
    fields = (state.position, state.orientation, state.velocity, state.angular_velocity)
    return BodyState(*(field.astype(np.float64) for field in fields))
