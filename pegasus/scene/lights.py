"""Lights and cameras of a stage as plain numbers."""

from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux

from pegasus.base.arrays import Array
from pegasus.scene.scene import Light, SceneCamera
from pegasus.scene.shader_inputs import texture_file
from pegasus.scene.stage import TIME, Notices, StageFrame

_KINDS = ("DistantLight", "DomeLight", "SphereLight", "RectLight", "DiskLight", "CylinderLight")
_LENGTHS = ("radius", "width", "height", "length")


def light(prim: Usd.Prim, path: str, transform: Array, frame: StageFrame, notices: Notices) -> Light | None:
    """Return a light, or None for an unsupported kind.

    Args:
        prim: A prim with UsdLuxLightAPI.
        path: Path in the scene.
        transform: Local to stage, shape (4, 4).
        frame: Units and up axis of the stage.
        notices: Receives that the image of a light is at a remote address.
    """
    kind = str(prim.GetTypeName()).removesuffix("_1")
    if kind not in _KINDS:
        return None
    strength = _input(prim, "intensity", 1.0) * 2.0 ** _input(prim, "exposure", 0.0)
    color = strength * np.array(_input(prim, "color", (1.0, 1.0, 1.0)), dtype=np.float64)
    if _input(prim, "enableColorTemperature", False):
        color = color * np.array(UsdLux.BlackbodyTemperatureAsRgb(_input(prim, "colorTemperature", 6500.0)))
    parameters = {
        name: float(value) * frame.meters_per_unit
        for name in _LENGTHS
        if (value := _input(prim, name, None)) is not None
    }
    if kind == "DistantLight":
        parameters["angle"] = float(_input(prim, "angle", 0.53))
    elif kind != "DomeLight" and (cone := float(_input(prim, "shaping:cone:angle", 180.0))) < 180.0:
        parameters["cone_angle"] = cone
        parameters["cone_softness"] = float(_input(prim, "shaping:cone:softness", 0.0))
    if kind not in ("DistantLight", "DomeLight") and _input(prim, "normalize", False):
        parameters["normalize"] = 1.0
        # A normalized light divides its power by its area in units of the stage.
        color = color * frame.meters_per_unit**2
    attribute = prim.GetAttribute("inputs:texture:file")
    return Light(
        path=path,
        kind=kind,
        transform=_dome(prim, transform, frame) if kind == "DomeLight" else frame.convert(transform),
        color=(float(color[0]), float(color[1]), float(color[2])),
        parameters=parameters,
        texture=texture_file(attribute, notices) if attribute else None,
    )


def write_light(stage: Usd.Stage, light: Light) -> None:
    """Write a light to a stage in metres with z up, at its path; `light` returns it again.

    Args:
        stage: The stage.
        light: The light.
    """
    prim = stage.DefinePrim(light.path, light.kind)
    UsdGeom.Xformable(prim).AddTransformOp().Set(Gf.Matrix4d(light.transform.T.tolist()))
    strength = max(light.color)
    schema = UsdLux.LightAPI(prim)
    schema.CreateIntensityAttr(strength)
    schema.CreateColorAttr(Gf.Vec3f(*(part / strength if strength > 0 else 1.0 for part in light.color)))
    schema.CreateNormalizeAttr(bool(light.parameters.get("normalize", 0.0)))
    for name in (*_LENGTHS, "angle"):
        if name in light.parameters:
            prim.CreateAttribute(f"inputs:{name}", Sdf.ValueTypeNames.Float).Set(light.parameters[name])
    if "cone_angle" in light.parameters:
        shaping = UsdLux.ShapingAPI.Apply(prim)
        shaping.CreateShapingConeAngleAttr(light.parameters["cone_angle"])
        shaping.CreateShapingConeSoftnessAttr(light.parameters["cone_softness"])
    if light.texture is not None:
        image = prim.CreateAttribute("inputs:texture:file", Sdf.ValueTypeNames.Asset)
        image.Set(Sdf.AssetPath(str(light.texture)))


def camera(prim: Usd.Prim, path: str, transform: Array, frame: StageFrame) -> SceneCamera:
    """Return a camera.

    Args:
        prim: A prim of type Camera.
        path: Path in the scene.
        transform: Local to stage, shape (4, 4).
        frame: Units and up axis of the stage.
    """
    schema = UsdGeom.Camera(prim)
    near, far = schema.GetClippingRangeAttr().Get(TIME)
    return SceneCamera(
        path=path,
        transform=frame.convert(transform),
        focal_length=float(schema.GetFocalLengthAttr().Get(TIME)),
        horizontal_aperture=float(schema.GetHorizontalApertureAttr().Get(TIME)),
        vertical_aperture=float(schema.GetVerticalApertureAttr().Get(TIME)),
        clipping_range=(float(near) * frame.meters_per_unit, float(far) * frame.meters_per_unit),
    )


def _dome(prim: Usd.Prim, transform: Array, frame: StageFrame) -> Array:
    """Return the transform of a dome with pole z; the default pole is the stage's up axis."""
    pole = prim.GetAttribute("poleAxis").Get(TIME) if prim.GetAttribute("poleAxis") else "scene"
    to_pole = np.eye(4)
    if pole == "Y":
        to_pole[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]
    elif pole == "scene":
        to_pole[:3, :3] = frame.rotation.T
    return frame.convert(transform @ to_pole)


def _input(prim: Usd.Prim, name: str, default: Any) -> Any:
    """Return an input of a light; before OpenUSD 21.02 inputs had no prefix."""
    for attribute in (prim.GetAttribute(f"inputs:{name}"), prim.GetAttribute(name)):
        if attribute and (value := attribute.Get(TIME)) is not None:
            return value
    return default
