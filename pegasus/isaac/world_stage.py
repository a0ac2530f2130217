"""The stage of a simulation in Isaac Sim: its world in metres with z up, and its physics scene."""

import logging
from collections.abc import Sequence
from pathlib import Path

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pegasus.errors import ConfigError
from pegasus.isaac.bodies import ROOT

_log = logging.getLogger(__name__)

_SCENE = "/PhysicsScene"
_ENVIRONMENT = f"{ROOT}/environment"


def add_world(stage: Usd.Stage, file: str | Path) -> tuple[str, str] | None:
    """Make an empty stage the world of a file: in metres, with z up, and /World as its default prim.

    Return where the world's default prim stands, and its path in the file; None where all paths are kept.

    A world in metres with z up becomes a sublayer, so that its prims keep their paths; any other one is
    referenced by its default prim, turned and scaled.

    Args:
        stage: A new stage.
        file: USD file of the world, or its address.

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
            f"is in units of {meters:g} m with {UsdGeom.GetStageUpAxis(world)} up and names no default prim",
            file=file,
            remedy="give it one, or save it in metres with Z up",
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
    """Refuse a stage that is not in metres with z up.

    Args:
        stage: The stage that vehicles are to be added to.

    Raises:
        ConfigError: If it is in other units, or has another axis up.
    """
    meters = UsdGeom.GetStageMetersPerUnit(stage)
    if not UsdGeom.LinearUnitsAre(meters, UsdGeom.LinearUnits.meters):
        raise ConfigError(
            "the open stage must be in metres",
            field="metersPerUnit",
            value=meters,
            remedy="set it to 1, or load the file as a world, which converts it",
        )
    if UsdGeom.GetStageUpAxis(stage) != UsdGeom.Tokens.z:
        raise ConfigError(
            "the open stage must have Z up",
            field="upAxis",
            value=str(UsdGeom.GetStageUpAxis(stage)),
            remedy="set it to Z, or load the file as a world, which turns it",
        )


def physics_scenes(stage: Usd.Stage) -> list[str]:
    """Return the paths of the physics scenes, of which the first one has the vehicles.

    One is made where there is none.

    Args:
        stage: The stage.
    """
    scenes = [str(prim.GetPath()) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Scene)]
    if not scenes:
        scene = UsdPhysics.Scene.Define(stage, _SCENE)
        scene.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
        scene.CreateGravityMagnitudeAttr(9.81)
        scenes = [_SCENE]
    if len(scenes) > 1:
        _log.warning("the stage has %d physics scenes: vehicles are in %s", len(scenes), scenes[0])
    return scenes


def set_up_scenes(stage: Usd.Stage, scenes: Sequence[str], rate: int, *, gpu: bool) -> None:
    """Let physics scenes step at exactly a rate.

    Args:
        stage: The stage.
        scenes: Their paths.
        rate: Steps per second [Hz].
        gpu: Whether PhysX computes on the GPU.
    """
    varying, uniform = Sdf.VariabilityVarying, Sdf.VariabilityUniform
    values = {
        # Whoever sets a time step gets int(1 / dt) steps per second; the number itself is exact.
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
        # Newton's scenes have rates of their own, which PhysX's is nothing to.
        if newton := prim.GetAttribute("newton:timeStepsPerSecond"):
            newton.Set(rate)
        if newton := prim.GetAttribute("mjc:option:timestep"):
            newton.Set(1.0 / rate)
