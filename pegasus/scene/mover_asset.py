"""Shapes of movers: their stages, scenes and files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from pxr import Usd

from pegasus.config.mover_specs import MoverSpec
from pegasus.scene.authoring import Surface, box, cylinder, material, new_stage, physics_material, sphere
from pegasus.scene.scene import PhysicsMaterial, Scene
from pegasus.scene.stage import cached_file, open_stage
from pegasus.scene.translation import translate


def mover_scene(spec: MoverSpec) -> Scene:
    """Return geometry and colliders of a mover in the frame of its default prim, below /World and its name.

    Args:
        spec: The mover.

    Raises:
        ConfigError: If its USD file does not exist, does not parse or holds no geometry.
    """
    stage = open_stage(spec.usd) if spec.usd is not None else _stage(spec)
    root = str(stage.GetDefaultPrim().GetPath())
    scene = translate(stage, root=root)

    def placed(path: str) -> str:
        return f"/World/{spec.name}{path.removeprefix(root)}"

    return replace(
        scene,
        instances=[replace(item, path=placed(item.path)) for item in scene.instances],
        colliders=[replace(item, path=placed(item.path)) for item in scene.colliders],
    )


def mover_file(spec: MoverSpec) -> Path:
    """Return the USD file that shows a mover, written now if it has none.

    Args:
        spec: The mover.
    """
    return spec.usd if spec.usd is not None else cached_file(_stage(spec), "movers", prefix=spec.name)


def _stage(spec: MoverSpec) -> Usd.Stage:
    stage = new_stage(spec.name)
    root = f"/{spec.name}"
    look = material(stage, f"{root}/look", spec.color, roughness=spec.roughness)
    contact = PhysicsMaterial(spec.friction, spec.friction, spec.restitution)
    surface = Surface(look, physics_material(stage, f"{root}/contact", contact))
    path, center = f"{root}/shape", np.array(spec.center)
    if spec.box is not None:
        box(stage, path, center, spec.box, surface)
    elif spec.sphere is not None:
        sphere(stage, path, center, spec.sphere, surface)
    else:
        assert spec.cylinder is not None
        radius, height = spec.cylinder
        half = np.array([0.0, 0.0, 0.5 * height])
        cylinder(stage, path, center - half, center + half, radius, surface)
    return stage
