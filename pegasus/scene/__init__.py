"""Worlds and vehicles: OpenUSD in, plain geometry out."""

from pegasus.scene.airframe_stage import build_vehicle_stage
from pegasus.scene.colliders import bounds, lowest_point
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
from pegasus.scene.stage import open_stage
from pegasus.scene.translation import translate
from pegasus.scene.vehicle_asset import rotor_of, vehicle_scene

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
    "lowest_point",
    "open_stage",
    "rotor_of",
    "translate",
    "vehicle_scene",
]
