"""Analytic renderer of planes and moving spheres, which counts its calls."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array
from pegasus.optics.lens import pixel_grid
from pegasus.render import NOTHING, Images, RenderObject, Returns, View
from pegasus.scene.scene import Entity, Scene


def grey(points: Array) -> Array:
    """Return half of full brightness for all points."""
    return np.full(points.shape, 0.5)


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane normal . x = offset."""

    normal: tuple[float, float, float]
    offset: float
    path: str
    label: str
    light: Callable[[Array], Array] = grey


GROUND = Plane((0.0, 0.0, 1.0), 0.0, "/World/ground", "ground")


@dataclass(eq=False)
class AnalyticRenderer:
    """Renderer of fixed planes and of a white sphere at each body; rotors are not drawn."""

    planes: Sequence[Plane] = (GROUND,)
    radius: float = 0.1
    """Radius of the spheres [m]."""
    render_count: int = 0
    cast_count: int = 0
    closed: bool = False
    scene: Scene | None = None
    entities: list[Entity] = field(default_factory=list)
    materials: tuple[str, ...] = ()
    objects: dict[str, tuple[RenderObject, Array]] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)
    """Requested channels."""

    def load(self, scene: Scene) -> None:
        self.scene, self.objects = scene, {}
        self.entities = [Entity(p.path, {"class": p.label}, np.eye(4)) for p in self.planes]

    def add(self, objects: Sequence[RenderObject]) -> None:
        for item in objects:
            assert item.path not in self.objects
            self.objects[item.path] = item, np.eye(4)
            if item.entity.path not in [entity.path for entity in self.entities]:
                self.entities.append(item.entity)

    def remove(self, paths: Collection[str]) -> None:
        for path in paths:
            del self.objects[path]

    def move(self, paths: Sequence[str], poses: Array) -> None:
        for path, pose in zip(paths, poses, strict=True):
            self.objects[path] = self.objects[path][0], pose.copy()

    usual_samples = 1

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        self.render_count += 1
        self.channels |= set(channels)
        rays = view.lens.directions(pixel_grid(view.resolution), view.resolution)
        rays = rays.reshape(-1, 3) @ view.rotation.T
        origins = np.broadcast_to(view.position, rays.shape)
        distance, entity, light, normal = self._trace(origins, rays, view.far)
        width, height = view.resolution
        shape = height, width
        given = {
            "distance": distance.reshape(shape).astype(np.float32),
            "entity": entity.reshape(shape),
            "radiance": light.reshape(*shape, 3).astype(np.float32),
            "normal": normal.reshape(*shape, 3).astype(np.float32),
        }
        return Images(**{name: image for name, image in given.items() if name in channels})

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        self.cast_count += 1
        origins = np.repeat(origins, len(directions) // max(len(origins), 1), axis=0)
        distance, entity, _, normal = self._trace(origins, directions, max_range)
        return Returns(distance, normal, entity, np.where(entity == NOTHING, NOTHING, 0).astype(np.int32))

    def close(self) -> None:
        self.closed = True

    def _trace(self, origins: Array, rays: Array, far: float) -> tuple[Array, Array, Array, Array]:
        nearest = np.full(len(rays), np.inf)
        entity = np.full(len(rays), NOTHING, np.int32)
        light, normal = np.zeros(rays.shape), np.zeros(rays.shape)
        for index, plane in enumerate(self.planes):
            axis = np.array(plane.normal)
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = (plane.offset - origins @ axis) / (rays @ axis)
            hit = (distance > 0) & (distance < np.minimum(nearest, far))
            nearest[hit], entity[hit] = distance[hit], index
            light[hit] = plane.light(origins[hit] + rays[hit] * distance[hit, None])
            normal[hit] = -axis * np.sign(rays[hit] @ axis)[:, None]
        paths = [item.path for item in self.entities]
        for path, (item, pose) in self.objects.items():
            if path.endswith("/body"):
                toward = pose[:3, 3] - origins
                along = (toward * rays).sum(axis=1)
                inner = along**2 - (toward**2).sum(axis=1) + self.radius**2
                distance = along - np.sqrt(np.maximum(inner, 0.0))
                hit = (inner > 0) & (distance > 0) & (distance < np.minimum(nearest, far))
                nearest[hit], entity[hit] = distance[hit], paths.index(item.entity.path)
                light[hit] = 1.0
                normal[hit] = (rays[hit] * distance[hit, None] - toward[hit]) / self.radius
        return nearest, entity, light, normal
