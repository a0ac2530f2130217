"""Fake of `isaacsim.core.experimental.prims` of both versions: wxyz quaternions, single precision."""

import re

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from tests.isaac.fakes.application import is_running, kit
from tests.isaac.fakes.arrays import WarpArray, indices_of, values_of
from tests.isaac.fakes.simulation_manager import (
    IsaacEvents,
    SimulationManager51,
    SimulationManager60,
    manager_state,
)

GONE = "Instance is not valid. This is most likely because some of the wrapped prims have been removed"


def _manager():
    return SimulationManager51 if kit().version == "5.1.0" else SimulationManager60


class Prim:
    def __init__(self, paths, *, resolve_paths=True):
        self._is_valid = True
        self._raw_paths = [paths] if isinstance(paths, str) else list(paths)
        if resolve_paths:
            self._paths, missing = self.resolve_paths(self._raw_paths)
            assert not missing, f"Specified paths must correspond to existing prims: {', '.join(missing)}"
        else:
            self._paths = self._raw_paths
        stage = kit().context.get_stage()
        self._prims = [stage.GetPrimAtPath(path) for path in self._paths]
        self._callback_ids = [
            _manager().register_callback(self._on_physics_ready, event=IsaacEvents.PHYSICS_READY),
            _manager().register_callback(self._on_prim_deletion, event=IsaacEvents.PRIM_DELETION),
        ]

    def __del__(self):
        self._deregister()

    def __len__(self):
        return len(self._paths)

    @property
    def paths(self):
        return self._paths

    @property
    def prims(self):
        return self._prims

    @property
    def valid(self):
        return self._is_valid

    @staticmethod
    def ensure_api(prims, api, *args, **kwargs):
        return [
            api(prim, *args, **kwargs) if prim.HasAPI(api) else api.Apply(prim, *args, **kwargs)
            for prim in prims
        ]

    @staticmethod
    def resolve_paths(paths, raise_on_mixed_paths=True):
        stage = kit().context.get_stage()
        existing, missing = [], []
        for path in [paths] if isinstance(paths, str) else paths:
            if Sdf.Path.IsValidPathString(path):
                (existing if stage.GetPrimAtPath(path) else missing).append(path)
                continue
            pattern = re.compile(path)
            found = [str(p.GetPath()) for p in stage.Traverse() if pattern.fullmatch(str(p.GetPath()))]
            if not found:
                raise ValueError(f"Specified paths are invalid: {path}")
            existing.extend(found)
        if raise_on_mixed_paths and existing and missing:
            raise ValueError(f"Specified paths include both existing and non-existing prims: {paths}")
        return existing, missing

    def _on_physics_ready(self, event):
        """Ignore the event, at which Isaac Sim creates the tensor views of a new simulation."""

    def _on_prim_deletion(self, prim_path):
        if any(f"{path}/".startswith(f"{prim_path.rstrip('/')}/") for path in self._paths):
            self._deregister()
            self._is_valid = False

    def _deregister(self):
        ids, self._callback_ids = getattr(self, "_callback_ids", []), []
        if is_running():
            for uid in ids:
                manager_state().callbacks.pop(uid, None)


class XformPrim(Prim):
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
    ):
        super().__init__(paths, resolve_paths=resolve_paths)
        assert positions is None or translations is None, "Both 'positions' and 'translations' are specified"
        if reset_xform_op_properties:
            self.reset_xform_op_properties()
        if positions is not None or orientations is not None:
            self.set_world_poses(positions, orientations)
        if translations is not None:
            self.set_local_poses(translations, orientations)
        if scales is not None:
            for prim, scale in zip(self._prims, values_of(scales, (len(self), 3), np.float32), strict=True):
                _attribute(prim, "xformOp:scale").Set(Gf.Vec3d(*map(float, scale)))

    def reset_xform_op_properties(self):
        for prim in self._prims:
            xformable = UsdGeom.Xformable(prim)
            local = xformable.GetLocalTransformation()
            xformable.ClearXformOpOrder()
            for name in prim.GetPropertyNames():
                if name.startswith("xformOp:"):
                    prim.RemoveProperty(name)
            quaternion = local.RemoveScaleShear().ExtractRotationQuat()
            xformable.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(local.ExtractTranslation())
            xformable.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(quaternion)
            xformable.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(1.0))

    def get_world_poses(self, *, indices=None):
        assert self.valid, GONE
        return self._poses(indices, world=True)

    def get_local_poses(self, *, indices=None):
        assert self.valid, GONE
        return self._poses(indices, world=False)

    def set_world_poses(self, positions=None, orientations=None, *, indices=None):
        assert positions is not None or orientations is not None, "Define positions or orientations"
        assert self.valid, GONE
        for prim, place, turn in self._given(positions, orientations, indices):
            world = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
            if turn is not None:
                world = Gf.Matrix4d(1).SetRotate(turn) * Gf.Matrix4d(1).SetTranslate(
                    world.ExtractTranslation()
                )
            if place is not None:
                world.SetTranslateOnly(place)
            above = UsdGeom.Xformable(prim.GetParent())
            local = (
                world * above.ComputeLocalToWorldTransform(Usd.TimeCode.Default()).GetInverse()
                if above
                else world
            )
            _write(prim, local.ExtractTranslation(), local.RemoveScaleShear().ExtractRotationQuat())

    def set_local_poses(self, translations=None, orientations=None, *, indices=None):
        assert translations is not None or orientations is not None, "Define translations or orientations"
        assert self.valid, GONE
        for prim, place, turn in self._given(translations, orientations, indices):
            _write(prim, place, turn)

    def set_visibilities(self, visibilities, *, indices=None):
        assert self.valid, GONE
        chosen = indices_of(indices, len(self))
        for index, visible in zip(chosen, values_of(visibilities, (len(chosen),), bool), strict=True):
            image = UsdGeom.Imageable(self._prims[index])
            image.MakeVisible() if visible else image.MakeInvisible()

    def _given(self, places, turns, indices):
        chosen = indices_of(indices, len(self))
        shape = (len(chosen),)
        places = None if places is None else values_of(places, (*shape, 3), np.float32)
        turns = None if turns is None else values_of(turns, (*shape, 4), np.float32)
        for row, index in enumerate(chosen):
            place = None if places is None else Gf.Vec3d(*map(float, places[row]))
            yield self._prims[index], place, None if turns is None else Gf.Quatd(*map(float, turns[row]))

    def _poses(self, indices, *, world):
        places, turns = [], []
        for index in indices_of(indices, len(self)):
            xformable = UsdGeom.Xformable(self._prims[index])
            time = Usd.TimeCode.Default()
            matrix = (
                xformable.ComputeLocalToWorldTransform(time)
                if world
                else xformable.GetLocalTransformation(time)
            )
            quaternion = matrix.RemoveScaleShear().ExtractRotationQuat()
            places.append(list(matrix.ExtractTranslation()))
            turns.append([quaternion.GetReal(), *quaternion.GetImaginary()])
        return single(places), single(turns)


def _attribute(prim, name):
    attribute = prim.GetAttribute(name)
    assert attribute, f"Undefined '{name}' property for the {prim.GetPath()} prim"
    return attribute


def _write(prim, place, turn):
    if place is not None:
        _attribute(prim, "xformOp:translate").Set(place)
    if turn is not None:
        attribute = _attribute(prim, "xformOp:orient")
        kind = Gf.Quatf if attribute.GetTypeName() == "quatf" else Gf.Quatd
        attribute.Set(kind(turn.GetReal(), *turn.GetImaginary()))


def single(values):
    return WarpArray(np.array(values, dtype=np.float32), kit().device)
