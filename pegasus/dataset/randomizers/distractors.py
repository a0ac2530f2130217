"""Randomizer of additional objects in a scene."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import (
    matrix_from_quaternion,
    multiply,
    quaternion_from_euler,
    quaternion_from_matrix,
)
from pegasus.base.system import SCENE_SUFFIXES
from pegasus.config.files import load_vehicle
from pegasus.config.scenario import WorldSpec
from pegasus.dataset.randomizers.clearance import Clearance
from pegasus.dataset.randomizers.randomizer import Randomizer, Range, note, require_range
from pegasus.labels.entities import whole_shape
from pegasus.scene.scene import Collider, Entity, Scene
from pegasus.scene.translation import translate
from pegasus.scene.vehicle_asset import place_rotors, vehicle_scene

_TRIES = 200


@dataclass(frozen=True, kw_only=True)
class Distractors(Randomizer):
    """Places static copies of models at random collision-free poses, also in the air."""

    models: tuple[str, ...] = ("iris",)
    """Names of vehicles, or paths of USD files, to choose from."""
    count: tuple[int, int] = (1, 5)
    """Smallest and largest number in a scene."""
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre of the box of positions [m]."""
    extent: tuple[float, float] = (20.0, 20.0)
    """Half lengths of that box along x and y [m]."""
    height: Range = (1.0, 10.0)
    """Height above the centre of the box [m]."""
    tilt: float = 0.0
    """Largest roll and pitch [rad]; headings are uniform."""
    scale: Range = (1.0, 1.0)
    """Factor of the size."""
    gap: float = 0.1
    """Clearance around each object [m]."""
    label: str | None = None
    """Class that replaces the models' own; \"\" for none."""

    def __post_init__(self) -> None:
        require(bool(self.models), "models", self.models, "must name at least one model")
        low, high = self.count
        require(0 <= low <= high, "count", self.count, "must hold a smallest and a largest number from 0 up")
        sized = all(0 < length < math.inf for length in self.extent)
        require(sized, "extent", self.extent, "must hold two lengths above 0 m")
        require_range("height", self.height)
        require(0 <= self.tilt <= math.pi, "tilt", self.tilt, "must be from 0 to pi rad")
        require_range("scale", self.scale, least=1e-3)
        require(0 <= self.gap < math.inf, "gap", self.gap, "must be at least 0 m")

    def scene(self, scene: Scene, world: WorldSpec, rng: np.random.Generator) -> Scene:
        """Return the scene with additional objects."""
        models = [_model(name) for name in self.models]
        spheres = [shape.sphere for model in models if (shape := whole_shape(model)) is not None]
        require(len(spheres) == len(models), "models", self.models, "hold one without visible geometry")
        clearance = Clearance(scene)
        taken: list[tuple[Array, float]] = []
        for number in range(int(rng.integers(self.count[0], self.count[1] + 1))):
            pick = int(rng.integers(len(models)))
            scale = float(rng.uniform(*self.scale))
            roll, pitch = rng.uniform(-self.tilt, self.tilt, size=2)
            turn = quaternion_from_euler(roll, pitch, rng.uniform(-math.pi, math.pi))
            middle, radius = spheres[pick][0], spheres[pick][1] * scale
            center = self._free_place(clearance, radius + self.gap, taken, rng)
            taken.append((center, radius + self.gap))
            pose = np.eye(4)
            pose[:3, :3] = matrix_from_quaternion(turn) * scale
            pose[:3, 3] = center - pose[:3, :3] @ middle
            placed = {
                "model": self.models[pick],
                "position": pose[:3, 3],
                "orientation": turn,
                "scale": scale,
            }
            note(rng, **{f"distractor{number}": placed})
            scene = with_model(scene, models[pick], pose, f"/World/distractor{number}", self.label)
        return scene

    def _free_place(
        self,
        clearance: Clearance,
        radius: float,
        taken: Sequence[tuple[Array, float]],
        rng: np.random.Generator,
    ) -> Array:
        half = np.array(self.extent)
        for _ in range(_TRIES):
            place: Array = np.array([*rng.uniform(-half, half), rng.uniform(*self.height)]) + self.center
            apart = all(math.dist(place, other) >= radius + reach for other, reach in taken)
            if apart and clearance.free(place, radius):
                return place
        raise ConfigError(
            f"no room for an object of {2 * radius:.2g} m was found",
            field="extent",
            value=self.extent,
            remedy="widen it, or place fewer or smaller objects",
        )


def with_model(scene: Scene, model: Scene, pose: Array, path: str, label: str | None) -> Scene:
    """Return a scene with a model added as one entity with static colliders.

    Args:
        scene: The scene.
        model: The model in its own frame.
        pose: Pose of the model, with a uniform scale, shape (4, 4).
        path: Path of the entity.
        label: Its class; the model's own when None, no class when empty.
    """
    labels = next((item.labels for item in model.instances), {})
    if label is not None:
        labels = {"class": label} if label else {}
    scale = float(np.cbrt(np.linalg.det(pose[:3, :3])))
    rotation = pose[:3, :3] / scale
    rigid = np.eye(4)
    rigid[:3, :3], rigid[:3, 3] = rotation, pose[:3, 3]
    shared = f"{model.source}#"
    instances = [
        replace(
            item,
            path=path + item.path,
            geometry=shared + item.geometry,
            material=shared + item.material,
            transform=pose @ item.transform,
            labels=labels,
            entity=path,
        )
        for item in model.instances
    ]
    colliders = [_placed(item, rotation, pose[:3, 3], scale, path) for item in model.colliders]
    return replace(
        scene,
        geometries=scene.geometries | {shared + key: value for key, value in model.geometries.items()},
        materials=scene.materials | {shared + key: value for key, value in model.materials.items()},
        instances=[*scene.instances, *instances],
        entities=scene.entities | {path: Entity(path, labels, rigid)},
        colliders=[*scene.colliders, *colliders],
    )


def _placed(item: Collider, rotation: Array, position: Array, scale: float, path: str) -> Collider:
    return replace(
        item,
        path=path + item.path,
        size=tuple(length * scale for length in item.size),
        position=position + scale * (rotation @ item.position),
        orientation=multiply(quaternion_from_matrix(rotation), np.asarray(item.orientation)),
        vertices=None if item.vertices is None else item.vertices * scale,
        scale=None if item.scale is None else item.scale * scale,
    )


def _model(name: str) -> Scene:
    path = Path(name).expanduser()
    if path.suffix.lower() in SCENE_SUFFIXES:
        if not path.is_file():
            raise ConfigError("no such file", field="models", value=name, remedy="check the path")
        return translate(path)
    try:
        spec, file = load_vehicle(name)
    except ConfigError as error:
        raise error.within(field="models") from None
    return replace(vehicle_scene(place_rotors(spec, file), file), source=spec.name)
