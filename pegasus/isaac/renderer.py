"""Renderer on Isaac Sim: images by RTX and rays by PhysX, of the present stage."""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.cameras import CameraReading
from pegasus.contracts.renderer import NOTHING, Images, RenderObject, Returns, View
from pegasus.core.simulation import Simulation
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.queries import nearest_shapes
from pegasus.isaac.rtx_camera import CameraKey, Film, RtxCamera, film_of
from pegasus.scene.scene import Entity, Scene

_POSE_TOLERANCE = 0.1
"""Tolerance of a vehicle's pose in an image: position [m] and elements of the rotation matrix.

Motion blur and rolling shutter need poses shortly before and after the present.
"""
_MOST_CAMERAS = 16


class IsaacRenderer:
    """Renderer on Isaac Sim; see `pegasus.contracts.renderer.Renderer` for the contract.

    RTX renders the present stage only: in a script each image is rendered when it is due, in the window it
    is that of the last frame. Radiance is RTX's colour before tone mapping. Rays hit colliders, not rendered
    geometry.

    Args:
        engine: Engine whose vehicles are rendered.
        frame_count: Frames that RTX renders for each image, of which the last one is used.
    """

    usual_samples = 1

    def __init__(self, engine: IsaacEngine, *, frame_count: int = 4) -> None:
        self._engine, self._frame_count = engine, frame_count
        self._cameras: dict[CameraKey, RtxCamera] = {}
        self._scene: Scene | None = None
        self._added: list[RenderObject] = []
        self._entities: list[Entity] = []
        self._materials: list[str] = []
        self._by_path: dict[str, int] = {}
        self._material_of: dict[str, int] = {}
        self._material_of_entity: dict[int, int] = {}
        self._vehicles: dict[str, str] = {}
        self._outdated = False

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities of the world and the vehicles, also of removed ones; in the window empty until read."""
        self._register_world()
        return self._entities

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that rays can hit."""
        self._register_world(wait=True)
        return self._materials

    def load(self, scene: Scene) -> None:
        """Set the scene, which is read for entities and materials only: the stage has its geometry."""
        self.close()
        self._scene = scene
        self._entities, self._by_path, self._added = [], {}, []
        self._materials, self._material_of = [], {}

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Show vehicles and movers, whose prims exist already."""
        for item in objects:
            if item.path.endswith("/body"):
                name = _body_name(item.entity.path)
                if self._engine.pose(name) is not None:
                    self._vehicles[item.entity.path] = self._engine.path(name)
                self._added.append(item)
            elif item.entity.path in self._engine.mover_paths:
                self._added.append(item)
        if self._scene is None:
            self._register_added()

    def remove(self, paths: Collection[str]) -> None:
        """Hide vehicles in images; they stay on the stage."""
        for path in paths:
            if path.endswith("/body"):
                self._vehicles.pop(path.removesuffix("/body"), None)
        self._outdated = self._outdated and bool(self._vehicles)

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Check that the poses are those of the stage, which only physics changes."""
        self._outdated = False
        for path, pose in zip(paths, poses, strict=True):
            if path.endswith("/body"):
                present = self._engine.pose(_body_name(path.removesuffix("/body")))
                if present is None or not np.allclose(present, pose, rtol=0.0, atol=_POSE_TOLERANCE):
                    self._outdated = True

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view.

        Args:
            view: The camera.
            channels: Names from `CHANNELS`.
            samples: Not used: RTX has its own sampling.

        Raises:
            ConfigError: If the image is of another instant, or RTX cannot render its lens.
        """
        self._require_present("RTX renders", field="camera")
        film = film_of(view)
        camera = self._camera(film, view)
        camera.place(view.position, view.rotation, near=view.near, far=view.far)
        # In the window a frame is in progress, so no other frame can be rendered.
        render = None if self._engine.in_window else self._engine.render_frame
        with self._without_hidden():
            drawn = camera.draw(self._wanted(channels), render, self._frame_count)
        known = "entity" not in drawn or self._register_world()
        distance = drawn.get("distance")
        entity = None
        if "entity" in drawn:
            entity = self._entity_image(drawn["entity"], camera.labels if known else {})
        return Images(
            radiance=film.sampled(drawn["radiance"]) if "radiance" in channels else None,
            distance=film.sampled(distance) if "distance" in channels and distance is not None else None,
            normal=film.sampled(drawn["normal"]) if "normal" in channels else None,
            entity=film.sampled(entity) if entity is not None and "entity" in channels else None,
            material=film.sampled(self._material_image(entity))
            if entity is not None and "material" in channels
            else None,
        )

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        """Return the first hits of rays on colliders.

        Args:
            origins: Start points [m], shape (K, 3), or (K / width, 3): one for each row.
            directions: Unit directions, shape (K, 3).
            max_range: Longest distance [m].
            width: Length of the rows.

        Raises:
            ConfigError: If the rays are of another instant.
        """
        self._require_present("PhysX casts rays in", field="lidar")
        self._register_world(wait=True)
        starts = np.repeat(origins, len(directions) // max(len(origins), 1), axis=0)
        found = nearest_shapes(starts, directions, max_range, [self._hidden] * len(directions))
        distance = np.array([item.distance if item is not None else math.inf for item in found])
        normal = np.array([item.normal if item is not None else (0.0, 0.0, 0.0) for item in found])
        # Normals point towards the origins of the rays, from either side.
        normal *= -np.sign(np.sum(normal * directions, axis=1, keepdims=True))
        entity = np.array([NOTHING if item is None else self._index(item.shape) for item in found])
        material = np.array(
            [
                NOTHING
                if item is None
                else self._material_of.get(
                    self._engine.path_in_world(item.shape), self._material_of_entity.get(int(index), 0)
                )
                for item, index in zip(found, entity, strict=True)
            ]
        )
        return Returns(distance, normal.reshape(-1, 3), entity.astype(np.int32), material.astype(np.int32))

    def close(self) -> None:
        """Free the cameras; a second call has no effect."""
        for camera in self._cameras.values():
            camera.close()
        self._cameras = {}

    def _require_present(self, does: str, *, field: str) -> None:
        if self._outdated and not self._engine.in_window:
            raise ConfigError(
                f"{does} the present only, and vehicles have moved since",
                field=field,
                remedy="access a reading before the next step",
            )

    @property
    def _hidden(self) -> set[str]:
        """Prim paths of the bodies that images do not show."""
        return set(self._engine.paths) - set(self._vehicles.values())

    @contextmanager
    def _without_hidden(self) -> Iterator[None]:
        """Hide bodies in the images of a script; the window shows them all."""
        hidden = set() if self._engine.in_window else self._hidden
        for place in hidden:
            self._engine.show(place, visible=False)
        try:
            yield
        finally:
            for place in hidden:
                self._engine.show(place, visible=True)

    def _camera(self, film: Film, view: View) -> RtxCamera:
        key = CameraKey(film.resolution, round(film.focal_length, 6))
        if key not in self._cameras:
            if len(self._cameras) >= _MOST_CAMERAS:
                self._cameras.pop(next(iter(self._cameras))).close()
            self._cameras[key] = RtxCamera(len(self._cameras), film)
        return self._cameras[key]

    def _wanted(self, channels: Collection[str]) -> set[str]:
        return {"entity" if name == "material" else name for name in channels}

    def _keep(self, entity: Entity) -> int:
        if entity.path not in self._by_path:
            self._by_path[entity.path] = len(self._entities)
            self._entities.append(entity)
        return self._by_path[entity.path]

    def _register_world(self, *, wait: bool = False) -> bool:
        """Register entities and materials of the world; return False while they are being read.

        Args:
            wait: Wait for them in the window too, which reads them in the background.
        """
        scene = self._scene
        if scene is None:
            return True
        if self._engine.in_window and not wait and not scene.has_outline:
            scene.begin()
            return False
        for entity in scene.entities.values():
            self._keep(entity)
        self._register_materials(scene)
        self._scene = None
        self._register_added()
        return True

    def _register_added(self) -> None:
        """Register the added vehicles, whose indices follow those of the world."""
        added, self._added = self._added, []
        for item in added:
            index = self._keep(item.entity)
            self._register_materials(item.scene)
            used = next((part.material for part in item.scene.instances), None)
            if used is not None:
                self._material_of_entity[index] = self._materials.index(item.scene.materials[used].path)
            if (place := self._vehicles.get(item.entity.path)) is not None:
                self._by_path[place] = index

    def _register_materials(self, scene: Scene) -> None:
        for material in scene.materials.values():
            if material.path not in self._materials:
                self._materials.append(material.path)
        for item in scene.instances:
            self._material_of[item.path] = self._materials.index(scene.materials[item.material].path)
            if item.entity in scene.entities:
                index = self._keep(scene.entities[item.entity])
                self._by_path.setdefault(item.path, index)
                self._material_of_entity.setdefault(index, self._material_of[item.path])

    def _index(self, path: str) -> int:
        """Return the entity index of a prim: that of its nearest registered ancestor."""
        path = self._engine.path_in_world(path)
        while path:
            if path in self._by_path:
                return self._by_path[path]
            path = path.rpartition("/")[0]
        return NOTHING

    def _entity_image(self, numbers: npt.NDArray[np.uint32], labels: dict[int, str]) -> npt.NDArray[np.int32]:
        present, inverse = np.unique(numbers, return_inverse=True)
        table = np.array([self._index(labels.get(int(number), "")) for number in present], dtype=np.int32)
        image: npt.NDArray[np.int32] = table[inverse].reshape(numbers.shape)
        return image

    def _material_image(self, entity: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        table = [self._material_of_entity.get(k, 0) for k in range(len(self._entities))]
        lookup = np.array([*table, NOTHING], dtype=np.int32)
        image: npt.NDArray[np.int32] = lookup[entity]
        return image


def _body_name(entity: str) -> str:
    """Return the body name of an entity: iris/0 for /World/iris, iris/3 for /World/iris/3."""
    name = entity.removeprefix("/World/")
    head, _, number = name.rpartition("/")
    return name if head and number.isdigit() else f"{name}/0"


class DueImages:
    """Observer that renders camera images in a script at the instants of their readings.

    In the window, where Kit renders frames by itself, an image is that of the last frame.
    """

    def __init__(self, engine: IsaacEngine) -> None:
        self._engine = engine

    def start(self, simulation: Simulation) -> None:
        """Start a run."""

    def record(self, simulation: Simulation) -> None:
        """Render the images of all new readings."""
        if self._engine.in_window:
            return
        for vehicle in simulation.vehicles:
            for reading in vehicle.new_readings.values():
                for camera in getattr(reading, "cameras", {}).values():
                    if isinstance(camera, CameraReading):
                        for copy in range(vehicle.count):
                            camera.capture.channels(copy)

    def stop(self) -> None:
        """End a run."""
