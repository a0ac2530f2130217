"""A vehicle as a stage: drawn from its YAML file, or the user's own USD."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.folders import user_cache
from pegasus.rotor_specs import RotorPrimSpec, RotorRing, RotorSpec
from pegasus.scenario import VehicleSpec
from pegasus.scene.airframe_stage import build_vehicle_stage
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene
from pegasus.scene.stage import open_stage
from pegasus.scene.translation import translate
from pegasus.scene.vehicle_model import VehicleModel

_ROTOR = re.compile(r"/rotor_?(\d+)(?:/|$)", re.IGNORECASE)
_CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.0)


def vehicle_scene(spec: VehicleSpec, source: Path) -> Scene:
    """Return a vehicle as geometry and colliders in its body frame.

    The user's own USD is taken as it is: what lies below its default prim, posed in the frame of that prim. A
    model without colliders collides by the box around it.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If its USD file does not exist or cannot be translated.
    """
    stage = build_vehicle_stage(spec) if spec.usd is None else open_stage(_model_file(spec, source))
    root = stage.GetDefaultPrim()
    scene = translate(stage, root=str(root.GetPath()) if root else "/")
    if not scene.colliders:
        if not scene.instances:
            raise ConfigError("holds no geometry below its default prim", file=scene.source)
        scene.colliders.append(_box_around(scene, str(root.GetPath()) if root else "/"))
        scene.warnings.append(f"{scene.source}: no collider: the vehicle collides by the box around it")
    return scene


def vehicle_file(spec: VehicleSpec, source: Path) -> Path:
    """Return the USD file that shows a vehicle; a drawn one is kept in the user's cache.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If its USD file does not exist, or the cache cannot be written.
    """
    if spec.usd is not None:
        return _model_file(spec, source).resolve()
    stage = build_vehicle_stage(spec)
    text = stage.GetRootLayer().ExportToString()
    folder = user_cache() / "vehicles"
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.usda"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}-{os.getpid()}")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
    return path


def place_rotors(spec: VehicleSpec, source: Path) -> VehicleSpec:
    """Return a vehicle whose rotors all have a place: those named by prim that of the prim.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If the USD file or a prim does not exist, or a prim does not say where the rotor is.
    """
    if isinstance(spec.rotors, RotorRing) or not any(rotor.prim for rotor in spec.rotors):
        return spec
    model = VehicleModel(_model_file(spec, source))
    placed: list[RotorSpec] = []
    for index, rotor in enumerate(spec.rotors):
        if rotor.prim is None:
            placed.append(rotor)
            continue
        try:
            found = model.rotor(rotor.prim)
        except ConfigError as error:
            raise error.within(field=f"rotors.{index}.prim") from None
        if any(other.prim == found.path for other in placed):
            raise ConfigError(
                "this prim is that of another rotor already",
                field=f"rotors.{index}.prim",
                value=rotor.prim,
                remedy="name each prim once",
            )
        x, y, z = found.position.tolist() if isinstance(rotor, RotorPrimSpec) else rotor.position
        a, b, c = found.axis.tolist() if rotor.axis is None else rotor.axis
        placed.append(
            RotorSpec(position=(x, y, z), axis=(a, b, c), direction=rotor.direction, prim=found.path)
        )
    return spec.model_copy(update={"rotors": placed})


def rotor_of(path: str, rotors: Sequence[RotorSpec] = ()) -> int | None:
    """Return the index of the rotor that a prim of a vehicle turns with, or None if it does not turn.

    Where rotors name their prims, those and what is below them turn; else what is below `rotor<i>` or
    `rotor_<i>` turns with rotor i.

    Args:
        path: Path of an instance.
        rotors: The vehicle's rotors, placed.
    """
    if any(rotor.prim for rotor in rotors):
        return next(
            (
                index
                for index, rotor in enumerate(rotors)
                if rotor.prim and (path == rotor.prim or path.startswith(f"{rotor.prim}/"))
            ),
            None,
        )
    found = _ROTOR.search(path)
    return int(found.group(1)) if found else None


def _model_file(spec: VehicleSpec, source: Path) -> Path:
    """Return the USD file that a vehicle names."""
    file = source.parent / (spec.usd or "")
    if not file.is_file():
        remedy = "correct the path, or leave the field out to have the vehicle drawn"
        raise ConfigError("no such file", file=source, field="usd", value=str(spec.usd), remedy=remedy)
    return file


def _box_around(scene: Scene, path: str) -> Collider:
    """Return the axis-aligned box around everything that is drawn, as a collider of the prim at a path."""
    corners: list[Array] = []
    for item in scene.instances:
        vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
        vertices = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        corners += [vertices.min(axis=0), vertices.max(axis=0)]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    half = (high - low) / 2
    return Collider(
        path=path,
        shape=ColliderShape.BOX,
        size=(float(half[0]), float(half[1]), float(half[2])),
        position=(low + high) / 2,
        orientation=np.array([0.0, 0.0, 0.0, 1.0]),
        material=_CONTACT,
    )
