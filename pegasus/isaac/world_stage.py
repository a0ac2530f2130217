"""Stages of worlds: conversion to metres with z up, physics scenes, and geometry read on demand."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics

from pegasus.base.errors import ConfigError
from pegasus.config.light_specs import LightSpec
from pegasus.isaac import kit
from pegasus.isaac.bodies import ROOT
from pegasus.isaac.vehicle_prims import saved_vehicles
from pegasus.scene.colliders import is_collider
from pegasus.scene.deferred import DeferredScene
from pegasus.scene.gltf import usd_file
from pegasus.scene.lights import write_light
from pegasus.scene.scene import Light
from pegasus.scene.stage import Notices, cached_file, note_unresolved, open_stage, stage_source
from pegasus.scene.world_scene import DAYLIGHT, NO_LIGHT, label_prims, lights_of

_log = logging.getLogger(__name__)

_SCENE = "/PhysicsScene"
_ENVIRONMENT = f"{ROOT}/environment"


def add_world(stage: Usd.Stage, file: str | Path) -> tuple[str, str] | None:
    """Add a world to an empty stage, in metres with z up and with /World as its default prim.

    A world in metres with z up becomes a sublayer, so that its prims keep their paths; any other world is
    referenced by its default prim, rotated and scaled.

    Args:
        stage: A new stage.
        file: USD file of the world, or its address.

    Returns:
        The path of the world's default prim on the stage, and in the file; None if all paths are kept.

    Raises:
        ConfigError: If the world is in other units and has no default prim.
    """
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    world = Usd.Stage.Open(str(file), Usd.Stage.LoadNone)
    meters = UsdGeom.GetStageMetersPerUnit(world)
    upright = UsdGeom.GetStageUpAxis(world) == UsdGeom.Tokens.z
    if upright and UsdGeom.LinearUnitsAre(meters, UsdGeom.LinearUnits.meters):
        stage.GetRootLayer().subLayerPaths.append(str(file))
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, ROOT).GetPrim())
        return None
    if not world.GetDefaultPrim():
        raise ConfigError(
            f"is in units of {meters:g} m with {UsdGeom.GetStageUpAxis(world)} up and has no default prim",
            file=file,
            remedy="set a default prim, or save it in metres with Z up",
        )
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, ROOT).GetPrim())
    environment = UsdGeom.Xform.Define(stage, _ENVIRONMENT)
    if not upright:
        environment.AddRotateXOp().Set(90.0)
    environment.AddScaleOp().Set(Gf.Vec3f(meters))
    # The default prim keeps its own transform below the conversion.
    place = UsdGeom.Xform.Define(stage, f"{_ENVIRONMENT}/world")
    place.GetPrim().GetReferences().AddReference(str(file))
    _log.warning("%s: in units of %g m, converted to metres with z up", file, meters)
    return str(place.GetPath()), str(world.GetDefaultPrim().GetPath())


def require_metric(stage: Usd.Stage) -> None:
    """Require a stage in metres with z up.

    Raises:
        ConfigError: If it is in other units, or has another up axis.
    """
    meters = UsdGeom.GetStageMetersPerUnit(stage)
    if not UsdGeom.LinearUnitsAre(meters, UsdGeom.LinearUnits.meters):
        raise ConfigError(
            "the open stage must be in metres",
            field="metersPerUnit",
            value=meters,
            remedy="set it to 1, or load the file as a world, which converts the units",
        )
    if UsdGeom.GetStageUpAxis(stage) != UsdGeom.Tokens.z:
        raise ConfigError(
            "the open stage must have Z up",
            field="upAxis",
            value=str(UsdGeom.GetStageUpAxis(stage)),
            remedy="set it to Z, or load the file as a world, which rotates it",
        )


def physics_scenes(stage: Usd.Stage) -> list[str]:
    """Return the paths of the physics scenes; the first one has the vehicles. Add a scene if none exists."""
    scenes = [str(prim.GetPath()) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Scene)]
    if not scenes:
        scene = UsdPhysics.Scene.Define(stage, _SCENE)
        scene.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
        scene.CreateGravityMagnitudeAttr(9.81)
        scenes = [_SCENE]
    if len(scenes) > 1:
        _log.warning("the stage has %d physics scenes: vehicles are simulated in %s", len(scenes), scenes[0])
    return scenes


def set_up_scenes(stage: Usd.Stage, scenes: Sequence[str], rate: int, *, gpu: bool) -> None:
    """Set rate and solver of physics scenes.

    Args:
        stage: The stage.
        scenes: Paths of the scenes.
        rate: Steps per second [Hz].
        gpu: Run PhysX on the GPU.
    """
    varying, uniform = Sdf.VariabilityVarying, Sdf.VariabilityUniform
    values = {
        # Setting a time step gives int(1 / dt) steps per second; the rate itself is exact.
        "timeStepsPerSecond": (Sdf.ValueTypeNames.UInt, varying, rate),
        "solverType": (Sdf.ValueTypeNames.Token, uniform, "TGS"),
        "enableGPUDynamics": (Sdf.ValueTypeNames.Bool, varying, gpu),
        "broadphaseType": (Sdf.ValueTypeNames.Token, uniform, "GPU" if gpu else "MBP"),
        "enableCCD": (Sdf.ValueTypeNames.Bool, varying, not gpu),
        "bounceThreshold": (Sdf.ValueTypeNames.Float, varying, 0.0),
        "enableStabilization": (Sdf.ValueTypeNames.Bool, varying, False),
    }
    for path in scenes:
        prim = stage.GetPrimAtPath(path)
        prim.AddAppliedSchema("PhysxSceneAPI")
        for name, (kind, variability, value) in values.items():
            prim.CreateAttribute(f"physxScene:{name}", kind, False, variability).Set(value)
        # Newton has its own rate attributes.
        if newton := prim.GetAttribute("newton:timeStepsPerSecond"):
            newton.Set(rate)
        if newton := prim.GetAttribute("mjc:option:timestep"):
            newton.Set(1.0 / rate)


def scene_of_file(file: Path, lights: Sequence[LightSpec], labels: Mapping[str, str]) -> DeferredScene:
    """Return the scene of a USD file, whose geometry is read on first use.

    Args:
        file: The file.
        lights: Lights beside its own; a sun and a sky, with a warning, if there are none at all.
        labels: Further classes by path of the prim.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry, there is no prim or no
            image of that path, or the cache cannot be written.
    """
    file = usd_file(file)
    stage, notices = open_stage(file), Notices()
    note_unresolved(stage, notices)
    for line in notices.lines():
        _log.warning(line)
    _warn_without_colliders(stage)
    added = lights_of(lights)
    if not added and not any(prim.HasAPI(UsdLux.LightAPI) for prim in _all_prims(stage)):
        _log.warning("%s: %s", file, NO_LIGHT)
        added = lights_of(DAYLIGHT)
    path = _completed(file, added, labels) if added or labels else file
    return DeferredScene(str(path), lambda: path)


def _completed(file: Path, lights: Sequence[Light], labels: Mapping[str, str]) -> Path:
    """Return a USD file, kept in the cache, that adds lights and labels to another one."""
    stage = Usd.Stage.CreateInMemory()
    here, there = add_world(stage, file) or ("", "")
    label_prims(stage, {here + path.removeprefix(there): name for path, name in labels.items()}, file=file)
    for light in lights:
        write_light(stage, light)
    return cached_file(stage, "isaac_sim", "worlds", prefix=f"{file.stem}-")


def require_geometry(stage: Usd.Stage) -> None:
    """Require a stage with geometry beside vehicles.

    Raises:
        ConfigError: If it has none.
    """
    vehicles = tuple(entry.path for entry in saved_vehicles(stage))
    beside = (prim for prim in stage.Traverse() if not _is_below(str(prim.GetPath()), vehicles))
    if not any(prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.PointInstancer) for prim in beside):
        raise ConfigError(
            "the open stage has no geometry",
            field="stage",
            value=Path(stage.GetRootLayer().identifier).stem,
            remedy="check that its references resolve and that its prims are active",
        )


class StagedBodies(Protocol):
    """Engine that has bodies on the stage."""

    @property
    def paths(self) -> list[str]:
        """Prim paths of all bodies."""


def scene_of_open_stage(engine: StagedBodies) -> DeferredScene:
    """Return the scene of the open stage without vehicles, whose geometry is read on first use.

    Raises:
        ConfigError: If no stage is open.
    """
    stage = kit.stage()
    if stage is None:
        raise ConfigError("no stage is open", field="stage", remedy="open one, or load a world")
    _warn_without_colliders(stage)

    def copied() -> Usd.Stage:
        # The open stage may have unsaved changes, and Kit may change it while the scene is read.
        copy = Usd.Stage.Open(stage.Flatten())
        flying = {path.rpartition("/")[0] for path in engine.paths}
        for path in flying | {entry.path for entry in saved_vehicles(copy)}:
            copy.RemovePrim(path)
        return copy

    return DeferredScene(stage_source(stage), copied)


def only_vehicles_move(stage: Usd.Stage, bodies: Sequence[str]) -> bool:
    """Return whether a stage has no rigid bodies beside vehicles, and no action graphs.

    Args:
        stage: The stage.
        bodies: Prim paths of the bodies of vehicles.
    """
    vehicles = tuple(path.rpartition("/")[0] for path in bodies)
    return not any(
        (prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.GetTypeName() == "OmniGraph")
        and not _is_below(str(prim.GetPath()), vehicles)
        for prim in _all_prims(stage)
    )


def _all_prims(stage: Usd.Stage) -> Iterator[Usd.Prim]:
    predicate = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
    yield from Usd.PrimRange(stage.GetPseudoRoot(), predicate)


def _warn_without_colliders(stage: Usd.Stage) -> None:
    if not any(is_collider(prim) for prim in _all_prims(stage)):
        _log.warning("%s: has no collider: vehicles fall through everything", stage_source(stage))


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in places)
