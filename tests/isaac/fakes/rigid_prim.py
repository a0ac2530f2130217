"""Rigid bodies of `isaacsim.core.experimental.prims` of both versions."""

import weakref

import numpy as np
from pxr import Gf, Sdf, UsdPhysics

from tests.isaac.fakes import backend
from tests.isaac.fakes.application import TimelineEventType, kit
from tests.isaac.fakes.arrays import WarpArray, indices_of, values_of
from tests.isaac.fakes.prims import GONE, XformPrim, single
from tests.isaac.fakes.simulation_manager import (
    manager_state,
)

_NOT_PLAYING = (
    "Instance's physics tensor entity is not valid. Play the simulation/timeline to re-initialize it"
)
_WXYZ = [6, 3, 4, 5]


class RigidPrim51(XformPrim):
    """As in 5.1.0."""

    def __init__(
        self,
        paths,
        *,
        resolve_paths=True,
        positions=None,
        translations=None,
        orientations=None,
        scales=None,
        reset_xform_op_properties=False,
        masses=None,
        densities=None,
    ):
        self._view = None
        super().__init__(
            paths,
            resolve_paths=resolve_paths,
            positions=positions,
            translations=translations,
            orientations=orientations,
            scales=scales,
            reset_xform_op_properties=reset_xform_op_properties,
        )
        self.ensure_api(self.prims, UsdPhysics.RigidBodyAPI)
        if masses is not None:
            for prim, mass in zip(self.prims, values_of(masses, (len(self),), np.float32), strict=True):
                UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(float(mass))
        if densities is not None:
            for prim, density in zip(self.prims, values_of(densities, (len(self),), np.float32), strict=True):
                UsdPhysics.MassAPI.Apply(prim).CreateDensityAttr(float(density))
        held = weakref.proxy(self)
        self._stopped = kit().timeline._stream.create_subscription_to_pop_by_type(
            int(TimelineEventType.STOP), lambda event: held._on_timeline_stop(event)
        )
        if manager_state().view is not None:
            kit().physics.sync()
            self._on_physics_ready(None)

    def is_physics_tensor_entity_valid(self):
        return manager_state().view is not None and self._view is not None

    def get_world_poses(self, *, indices=None):
        assert self.valid, GONE
        if not self._by_tensor(("tensor", "usd", "usdrt", "fabric")):
            return super().get_world_poses(indices=indices)
        data = self._view.get_transforms().numpy()[indices_of(indices, len(self))]
        return self._tensor(data[:, :3]), self._tensor(data[:, _WXYZ])

    def set_world_poses(self, positions=None, orientations=None, *, indices=None):
        assert positions is not None or orientations is not None, "Define positions or orientations"
        assert self.valid, GONE
        if not self._by_tensor(("tensor", "usd", "usdrt", "fabric")):
            super().set_world_poses(positions, orientations, indices=indices)
            return
        data, chosen = self._view.get_transforms().numpy(), indices_of(indices, len(self))
        if positions is not None:
            data[chosen, :3] = values_of(positions, (len(chosen), 3), data.dtype)
        if orientations is not None:
            data[np.ix_(chosen, _WXYZ)] = values_of(orientations, (len(chosen), 4), data.dtype)
        self._view.set_transforms(data, chosen)

    def get_velocities(self, *, indices=None):
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        if self._by_tensor(("tensor", "usd")):
            data = self._view.get_velocities().numpy()[chosen]
            return self._tensor(data[:, :3]), self._tensor(data[:, 3:])
        apis = [UsdPhysics.RigidBodyAPI(self._prims[index]) for index in chosen]
        linear = [list(api.GetVelocityAttr().Get() or (0, 0, 0)) for api in apis]
        angular = [np.radians(list(api.GetAngularVelocityAttr().Get() or (0, 0, 0))) for api in apis]
        return single(linear), single(angular)

    def set_velocities(self, linear_velocities=None, angular_velocities=None, *, indices=None):
        assert linear_velocities is not None or angular_velocities is not None, "Define one of the velocities"
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        shape = (len(chosen), 3)
        if not self._by_tensor(("tensor", "usd")):
            for row, index in enumerate(chosen):
                api = UsdPhysics.RigidBodyAPI(self._prims[index])
                if linear_velocities is not None:
                    value = values_of(linear_velocities, shape, np.float32)[row]
                    api.CreateVelocityAttr(Gf.Vec3f(*map(float, value)))
                if angular_velocities is not None:
                    value = np.degrees(values_of(angular_velocities, shape, np.float32)[row])
                    api.CreateAngularVelocityAttr(Gf.Vec3f(*map(float, value)))
            return
        data = self._view.get_velocities().numpy()
        if linear_velocities is not None:
            data[chosen, :3] = values_of(linear_velocities, shape, data.dtype)
        if angular_velocities is not None:
            data[chosen, 3:] = values_of(angular_velocities, shape, data.dtype)
        self._view.set_velocities(data, chosen)

    def apply_forces(self, forces, *, indices=None, local_frame=False):
        self.apply_forces_and_torques_at_pos(forces, indices=indices, local_frame=local_frame)

    def apply_forces_and_torques_at_pos(
        self, forces=None, torques=None, *, positions=None, indices=None, local_frame=False
    ):
        """Apply a wrench during the next step: at the centre of mass where no positions are given."""
        assert forces is not None or torques is not None, "Define forces or torques"
        assert self.valid, GONE
        assert self.is_physics_tensor_entity_valid(), _NOT_PLAYING
        chosen = indices_of(indices, len(self))
        given = []
        for part in (forces, torques, positions):
            if part is None:
                given.append(None)
                continue
            dtype = np.float64 if kit().exact else np.float32
            full = np.zeros((len(self), 3), dtype)
            full[chosen] = values_of(part, (len(chosen), 3), dtype)
            given.append(full)
        self._view.apply_forces_and_torques_at_position(*given, indices=chosen, is_global=not local_frame)

    def get_masses(self, *, indices=None, inverse=False):
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        if self._by_tensor(("tensor", "usd")):
            masses = self._view.get_masses().numpy()[chosen]
        else:
            masses = np.array(
                [[UsdPhysics.MassAPI(self._prims[k]).GetMassAttr().Get()] for k in chosen], np.float32
            )
        return self._tensor(1.0 / masses if inverse else masses)

    def get_coms(self, *, indices=None):
        assert self.valid, GONE
        assert self.is_physics_tensor_entity_valid(), _NOT_PLAYING
        data = self._view.get_coms().numpy()[indices_of(indices, len(self))]
        return self._tensor(data[:, :3]), self._tensor(data[:, _WXYZ])

    def get_inertias(self, *, indices=None, inverse=False):
        assert self.valid, GONE
        assert self.is_physics_tensor_entity_valid(), _NOT_PLAYING
        data = self._view.get_inertias().numpy()[indices_of(indices, len(self))]
        if inverse:
            data = np.linalg.inv(data.reshape(-1, 3, 3)).reshape(-1, 9)
        return self._tensor(data)

    def set_enabled_gravities(self, enabled, *, indices=None):
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        for index, wanted in zip(chosen, values_of(enabled, (len(chosen),), bool), strict=True):
            prim = self._prims[index]
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
            name = "physxRigidBody:disableGravity"
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Bool).Set(not wanted)

    def set_sleep_thresholds(self, thresholds, *, indices=None):
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        for index, value in zip(chosen, values_of(thresholds, (len(chosen),), np.float32), strict=True):
            prim = self._prims[index]
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
            prim.CreateAttribute("physxRigidBody:sleepThreshold", Sdf.ValueTypeNames.Float).Set(float(value))

    def _by_tensor(self, supported):
        """Return whether tensors are used; without physics USD is, and only who asks is told."""
        if backend.get_current_backend(list(supported)) != "tensor":
            return False
        if self.is_physics_tensor_entity_valid():
            return True
        if backend.is_backend_set():
            if backend.should_raise_on_fallback():
                raise RuntimeError("Physics tensor entity is not valid. Fallback set to 'usd' backend.")
            kit().log.append(
                ("warning", "Physics tensor entity is not valid. Falling back to 'usd' backend.")
            )
        return False

    def _on_physics_ready(self, event):
        self._view = manager_state().view.create_rigid_body_view(self._paths)
        if not self._view.check():
            kit().log.append(("warning", f"Unable to create rigid body view for {self._paths}"))
            self._view = None

    def _on_timeline_stop(self, event):
        self._view = None

    def _tensor(self, data):
        return WarpArray(data, kit().device)


class RigidPrim60(RigidPrim51):
    """As in 6.0.1."""

    def __init__(
        self,
        paths,
        *,
        resolve_paths=True,
        positions=None,
        translations=None,
        orientations=None,
        scales=None,
        reset_xform_op_properties=False,
        masses=None,
        densities=None,
        contact_filter_paths=None,
        max_contact_count=0,
    ):
        super().__init__(
            paths,
            resolve_paths=resolve_paths,
            positions=positions,
            translations=translations,
            orientations=orientations,
            scales=scales,
            reset_xform_op_properties=reset_xform_op_properties,
            masses=masses,
            densities=densities,
        )
        for prim in self.prims:
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
        self._contact_filter_paths, self._max_contact_count = contact_filter_paths, max_contact_count
