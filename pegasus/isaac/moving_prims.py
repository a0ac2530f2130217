"""Prims of movers: kinematic bodies with colliders and appearance."""

from collections.abc import Sequence

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pegasus.base.errors import ConfigError
from pegasus.contracts.engine import BodyIds, BodyState, MovingBody
from pegasus.isaac.bodies import remove_prim, set_pose, vehicle_path, write_colliders, write_looks
from pegasus.scene.authoring import label


class MovingPrims:
    """Kinematic bodies of a stage, which physics moves to where their prims are."""

    def __init__(self) -> None:
        self._prims: dict[int, Usd.Prim] = {}
        self._present = self._end = BodyState.zeros(0)
        self._next_id = 0

    @property
    def paths(self) -> list[str]:
        """Their prim paths."""
        return [str(prim.GetPath()) for prim in self._prims.values()]

    def add(self, stage: Usd.Stage, movers: Sequence[MovingBody], *, scene: str) -> BodyIds:
        """Add movers to a stage; see `add_movers`. Return their handles, shape (K,)."""
        paths = add_movers(stage, movers, scene=scene)
        ids = np.arange(self._next_id, self._next_id + len(movers), dtype=np.int64)
        self._next_id += len(movers)
        self._prims.update(
            (handle, stage.GetPrimAtPath(p)) for handle, p in zip(ids.tolist(), paths, strict=True)
        )
        self._present = self._end = BodyState.zeros(0)
        return ids

    def remove(self, ids: BodyIds) -> None:
        """Remove movers from the stage."""
        for handle in ids.tolist():
            prim = self._prims.pop(handle)
            if prim.IsValid():
                remove_prim(prim.GetStage(), str(prim.GetPath()))
        self._present = self._end = BodyState.zeros(0)

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set the poses at the start of the next step, which hold at once, and those at its end."""
        if self._differs(now):
            self._write(now)
        self._end = end

    def advance(self) -> None:
        """Move the prims to the poses at the end of the step that begins."""
        if self._differs(self._end):
            self._write(self._end)

    def _differs(self, state: BodyState) -> bool:
        present = self._present
        return not (
            np.array_equal(state.position, present.position)
            and np.array_equal(state.orientation, present.orientation)
        )

    def _write(self, state: BodyState) -> None:
        self._present = state
        for prim, position, orientation in zip(
            self._prims.values(), state.position, state.orientation, strict=False
        ):
            if prim.IsValid():
                set_pose(prim, position, orientation)


def mover_path(name: str) -> str:
    """Return the prim path of a mover's part: /World/platform, or /World/train/part_2 for train/2."""
    mover, _, number = name.rpartition("/")
    return f"{vehicle_path(mover)}/part_{number}" if mover else vehicle_path(name)


def add_movers(stage: Usd.Stage, movers: Sequence[MovingBody], *, scene: str) -> list[str]:
    """Add movers to a stage, and return their prim paths.

    Args:
        stage: The stage, in metres with z up.
        movers: The movers.
        scene: Path of the physics scene that simulates them.

    Raises:
        ConfigError: If a path is taken.
    """
    paths = [mover_path(mover.name) for mover in movers]
    for mover, path in zip(movers, paths, strict=True):
        if stage.GetPrimAtPath(path):
            raise ConfigError(
                f"the world has a prim at {path} already",
                field="name",
                value=mover.name,
                remedy="choose another name",
            )
    for mover, path in zip(movers, paths, strict=True):
        _write_mover(stage, path, mover, scene)
    return paths


def _write_mover(stage: Usd.Stage, path: str, mover: MovingBody, scene: str) -> None:
    xform = UsdGeom.Xform.Define(stage, path)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    xform.AddScaleOp().Set(Gf.Vec3f(1.0))
    prim, place = xform.GetPrim(), Sdf.Path(path)
    set_pose(prim, mover.position, mover.orientation)
    if mover.appearance is not None:
        write_looks(stage, place.AppendChild("looks"), str(mover.appearance()))
    write_colliders(stage, place, mover.colliders)
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    # Physics moves it to where its prim is, with the velocity that it has on this way.
    rigid.CreateKinematicEnabledAttr(True)
    rigid.CreateSimulationOwnerRel().SetTargets([scene])
    label(prim, mover.label)
