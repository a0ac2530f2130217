"""Solids with closed-form ray intersections, and a lidar vehicle with prescribed motion."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.cameras import Lidar
from pegasus.contracts.renderer import NOTHING, Returns
from pegasus.contracts.state import VehicleState
from pegasus.scene.scene import Entity, Material, Scene


@dataclass(frozen=True)
class Plane:
    """The plane n . p = offset."""

    normal: tuple[float, float, float]
    offset: float
    label: str = "wall"
    reflectance: float = 0.5

    def meet(self, origins: Array, directions: Array) -> tuple[Array, Array]:
        normal = np.array(self.normal)
        with np.errstate(divide="ignore"):
            distance = (self.offset - origins @ normal) / (directions @ normal)
        return np.where(distance > 0, distance, np.inf), np.broadcast_to(normal, origins.shape)


@dataclass(frozen=True)
class Sphere:
    """A sphere, seen from outside."""

    center: tuple[float, float, float]
    radius: float
    label: str = "ball"
    reflectance: float = 0.5
    axes: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def meet(self, origins: Array, directions: Array) -> tuple[Array, Array]:
        axes = np.array(self.axes)
        start, way = (origins - self.center) * axes, directions * axes
        a, half = (way * way).sum(axis=1), (start * way).sum(axis=1)
        root = half**2 - a * ((start * start).sum(axis=1) - self.radius**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = (-half - np.sqrt(root)) / a
            normal = (start + np.where(np.isfinite(distance), distance, 0.0)[:, None] * way) / self.radius
        return np.where((root >= 0) & (distance > 0), distance, np.inf), normal


def cylinder(x: float, y: float, radius: float) -> Sphere:
    """Return an upright cylinder of infinite length: a sphere without its height."""
    return Sphere((x, y, 0.0), radius, "pillar", axes=(1.0, 1.0, 0.0))


class SolidRenderer:
    """A renderer that casts rays at solids; vehicles are balls of 0.3 m."""

    def __init__(self, solids: Sequence[Any]) -> None:
        self.solids, self.cast_count, self.scene = list(solids), 0, None
        self.entities = [Entity(f"/World/{k}", {"class": s.label}, np.eye(4)) for k, s in enumerate(solids)]
        self.materials = [f"/Looks/{k}" for k in range(len(solids))]
        self.present: dict[str, tuple[int, Array]] = {}

    def load(self, scene: Any) -> None:
        self.scene = scene
        for path, solid in zip(self.materials, self.solids, strict=True):
            scene.materials[path] = Material(path=path, diffuse_color=(solid.reflectance,) * 3)

    def add(self, objects: Any) -> None:
        for item in objects:
            if item.path.endswith("/body"):
                known = [entity.path for entity in self.entities]
                if item.entity.path not in known:
                    self.entities.append(item.entity)
                    known.append(item.entity.path)
                self.present[item.path] = (known.index(item.entity.path), np.eye(4))

    def remove(self, paths: Any) -> None:
        for path in paths:
            self.present.pop(path, None)

    def move(self, paths: Any, poses: Array) -> None:
        for path, pose in zip(paths, poses, strict=True):
            if path in self.present:
                self.present[path] = (self.present[path][0], pose)

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        self.cast_count += 1
        origins = np.repeat(origins, len(directions) // len(origins), axis=0)
        np.testing.assert_allclose((directions**2).sum(axis=1), 1.0, rtol=1e-12)
        distance = np.full(len(origins), np.inf)
        normal = np.zeros((len(origins), 3))
        entity, material = (np.full(len(origins), NOTHING, dtype=np.int32) for _ in range(2))
        balls = [(k, 0, Sphere(tuple(pose[:3, 3]), 0.3)) for k, pose in self.present.values()]
        for number, look, solid in [*[(k, k, s) for k, s in enumerate(self.solids)], *balls]:
            length, toward = solid.meet(origins, directions)
            nearer = (length < distance) & (length <= max_range)
            distance[nearer], normal[nearer] = length[nearer], toward[nearer]
            entity[nearer], material[nearer] = number, look
        return Returns(distance, normal, entity, material)

    def render(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a lidar takes no pictures")

    def close(self) -> None:
        pass


class LidarRig:
    """N vehicles with a lidar among solids, at rest or in prescribed motion."""

    def __init__(
        self, lidar: Lidar, solids: Sequence[Any], *, count: int = 1, seed: int = 0, height: float = 0.0
    ) -> None:
        self.lidar, self.count, self.name = lidar, count, "carrier"
        self.renderer = SolidRenderer(solids)
        self.scene = Scene(source="test")
        self.renderer.load(self.scene)
        self.entities, self.materials = self.renderer.entities, self.renderer.materials
        self.manager = self.visuals = self
        self.sensors = {"top": lidar}
        self.state = VehicleState.at_rest(count, 4)
        self.state.position[:, 2] = height
        vehicle: Any = self
        environment: Any = None
        lidar.bind(vehicle, environment, np.random.default_rng(seed))

    def snapshot(self, time: float) -> Any:
        drawn = SimpleNamespace(prefixes=[f"/World/carrier/{k}" for k in range(self.count)])
        return SimpleNamespace(time=time, objects=[], vehicle=lambda _: drawn)

    def warn_if_enclosed(self, *_: Any, **__: Any) -> None:
        pass

    def cast(self, snapshot: Any, origins: Array, directions: Array, max_range: float, **_: Any) -> Returns:
        return self.renderer.cast(origins, directions, max_range)

    def turn(self, roll: Any, pitch: Any, yaw: Any) -> None:
        """Set the attitude."""
        self.state.orientation[:] = quaternion_from_euler(roll, pitch, yaw)
        self.state.rotation[:] = matrix_from_quaternion(self.state.orientation)

    def measure(self, t: float = 0.0) -> Any:
        """Return the first reading of a new vehicle."""
        self.lidar.follow(self.state, t)
        return self.lidar.measure(self.state, t)

    def moved(self, motion: Any, *, begin: float, end: float, rate: float = 250.0) -> Any:
        """Return the reading at the end of a motion whose `motion(t)` gives position and yaw."""
        for step in range(round(begin * rate), round(end * rate) + 1):
            position, yaw = motion(step / rate)
            self.state.position[:] = position
            self.turn(0.0, 0.0, yaw)
            self.lidar.follow(self.state, step / rate)
        return self.lidar.measure(self.state, end)
