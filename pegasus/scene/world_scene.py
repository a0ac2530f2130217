"""Lights and labels that world files add to their scenes, and daylight for scenes without lights."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pxr import Usd

from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.frames import axes_along, matrix_from_quaternion, quaternion_from_euler
from pegasus.config.light_specs import LightSpec, SkySpec, SpotSpec, SunSpec
from pegasus.scene.authoring import label
from pegasus.scene.scene import Light, Scene

NO_LIGHT = "no light: lit by a sun and a sky; give lights: in a world file, or light the scene in its file"
"""Warning of a scene that is lit by default."""


DAYLIGHT = SunSpec(), SkySpec()
"""Lights of a scene that has none."""


def lit_scene(scene: Scene, lights: Sequence[LightSpec]) -> Scene:
    """Return a scene with further lights; with sun and sky, and a warning, if there are none at all.

    Args:
        scene: The scene.
        lights: Lights of the world file.

    Raises:
        ConfigError: If the image of a sky does not exist.
    """
    added = lights_of(lights)
    if added or scene.lights:
        return replace(scene, lights=[*scene.lights, *added]) if added else scene
    warning = f"{scene.source}: {NO_LIGHT}"
    return replace(scene, lights=lights_of(DAYLIGHT), warnings=[*scene.warnings, warning])


def lights_of(specs: Sequence[LightSpec]) -> list[Light]:
    """Return lights of a world file.

    Args:
        specs: Their descriptions.

    Raises:
        ConfigError: If the image of a sky does not exist.
    """
    lights = [_light(spec, f"/world_file/light_{number}") for number, spec in enumerate(specs)]
    for number, light in enumerate(lights):
        if light.texture is not None and not light.texture.is_file():
            where, value = f"lights.{number}.file", str(light.texture)
            raise ConfigError("no such file", field=where, value=value, remedy="correct the path")
    return lights


def label_prims(stage: Usd.Stage, labels: Mapping[str, str], *, file: Path) -> None:
    """Label prims of a stage.

    Args:
        stage: The stage.
        labels: Class by path of the prim.
        file: File that the error names.

    Raises:
        ConfigError: If there is no such prim, or it is a part of an instance.
    """
    for path, name in labels.items():
        prim = stage.GetPrimAtPath(path) if path.startswith("/") else None
        if not prim or prim.IsInstanceProxy():
            known = [str(item.GetPath()) for item in stage.Traverse()]
            remedy = " ".join([*did_you_mean(path, known), "pegasus check world names the objects"])
            problem = "is a part of an instance" if prim else f"no such prim in {file}"
            raise ConfigError(problem, field="labels", value=path, remedy=remedy)
        label(prim, name)


def _light(spec: LightSpec, path: str) -> Light:
    """Return a light of a world file as UsdLux describes it."""
    transform = np.eye(4)
    red, green, blue = (spec.intensity * part for part in spec.color)
    if isinstance(spec, SunSpec):
        # It shines along its -z.
        turn = quaternion_from_euler(spec.elevation - math.pi / 2, 0.0, -spec.azimuth)
        transform[:3, :3] = matrix_from_quaternion(turn)
        return Light(path, "DistantLight", transform, (red, green, blue), {"angle": 0.53})
    if isinstance(spec, SkySpec):
        return Light(path, "DomeLight", transform, (red, green, blue), {}, spec.file)
    transform[:3, 3] = spec.position
    # A normalised sphere of UsdLux has a quarter of its colour in each direction.
    color = 4.0 * red, 4.0 * green, 4.0 * blue
    parameters = {"radius": spec.radius, "normalize": 1.0}
    if isinstance(spec, SpotSpec):
        # Spots of UsdLux shine along -z.
        transform[:3, :3] = axes_along(-np.array(spec.direction))
        parameters |= {"cone_angle": math.degrees(spec.angle), "cone_softness": spec.softness}
    return Light(path, "SphereLight", transform, color, parameters)
