"""Scenes of worlds and vehicles: OpenUSD in, plain geometry out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pegasus.scene.scene import (
    Collider,
    ColliderShape,
    Geometry,
    Instance,
    Light,
    Material,
    PhysicsMaterial,
    Scene,
    SceneCamera,
    Texture,
)

if TYPE_CHECKING:
    from pegasus.scene.airframe import build_vehicle_stage
    from pegasus.scene.colliders import bounds, extent_of, lowest_point
    from pegasus.scene.stage import open_stage
    from pegasus.scene.translation import translate
    from pegasus.scene.vehicle_asset import vehicle_scene

__all__ = [
    "Collider",
    "ColliderShape",
    "Geometry",
    "Instance",
    "Light",
    "Material",
    "PhysicsMaterial",
    "Scene",
    "SceneCamera",
    "Texture",
    "bounds",
    "build_vehicle_stage",
    "extent_of",
    "lowest_point",
    "open_stage",
    "translate",
    "vehicle_scene",
]

_ON_OPENUSD = {
    "bounds": "colliders",
    "build_vehicle_stage": "airframe",
    "extent_of": "colliders",
    "lowest_point": "colliders",
    "open_stage": "stage",
    "translate": "translation",
    "vehicle_scene": "vehicle_asset",
}


def __getattr__(name: str) -> Any:
    # OpenUSD is imported on first use: within Isaac Sim it exists only after the application has started.
    if name not in _ON_OPENUSD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ON_OPENUSD[name]}"), name)
