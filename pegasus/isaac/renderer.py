"""Pictures by RTX and rays by PhysX, of the stage as it is."""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.pictures import CameraKey, Film, RtxCamera, film_of
from pegasus.isaac.queries import nearest_shapes
from pegasus.render.renderer import NOTHING, Images, RenderObject, Returns, View
from pegasus.scene.scene import Entity, Scene

_SAME_PLACE = 0.1
"""How far a vehicle may be from where a picture wants it [m], and turned, as an element of its matrix.

Motion blur and rolling shutter ask for where it is a moment before and after.
"""
_MOST_CAMERAS = 16


class IsaacRenderer:
    """Renderer on Isaac Sim; see `pegasus.render.renderer.Renderer` for the contract.

    RTX draws the stage, so a picture shows the present only: in a script each one is drawn when it is due, in
    the window it is that of the last frame. Light is RTX's colour before its tone mapping. Rays meet
    colliders, not what is drawn.

    Args:
        engine: Engine whose vehicles are drawn.
        frame_count: Frames that RTX draws of each picture; the last one counts.
    """

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
        self._late = False

    @property
    def entities(self) -> Sequence[Entity]:
        """Everything that pixels can belong to, also vehicles removed since.

        In the window there are none while the world's are being read.
        """
        self._take_world()
        return self._entities

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that rays can meet."""
        self._take_world(wait=True)
        return self._materials

    def load(self, scene: Scene) -> None:
        """Take over a scene; the stage has it already, so it is read only for what belongs together."""
        self.close()
        self._scene = scene
        self._entities, self._by_path, self._added = [], {}, []
        self._materials, self._material_of = [], {}

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Show vehicles; their prims are there already."""
        for item in objects:
            if item.path.endswith("/body"):
                name = _body_name(item.entity.path)
                # Of one that is gone since, `move` says so.
                if self._engine.pose(name) is not None:
                    self._vehicles[item.entity.path] = self._engine.path(name)
                self._added.append(item)
        if self._scene is None:
            self._take_added()

    def remove(self, paths: Collection[str]) -> None:
        """Draw vehicles no more; on the stage they stay."""
        for path in paths:
            if path.endswith("/body"):
                self._vehicles.pop(path.removesuffix("/body"), None)
        # Of none that is left can it be said.
        self._late = self._late and bool(self._vehicles)

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Look whether vehicles are where the stage has them; it alone moves them."""
        self._late = False
        for path, pose in zip(paths, poses, strict=True):
            if path.endswith("/body"):
                present = self._engine.pose(_body_name(path.removesuffix("/body")))
                if present is None or not np.allclose(present, pose, rtol=0.0, atol=_SAME_PLACE):
                    self._late = True

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view.

        Args:
            view: The camera.
            channels: Names from `CHANNELS`.
            samples: Not used: RTX takes its own.

        Raises:
            ConfigError: If the picture is of another instant, or its lens sees more than RTX draws.
        """
        self._require_present("RTX draws", field="camera")
        film = film_of(view)
        camera = self._camera(film, view)
        camera.place(view.position, view.rotation, near=view.near, far=view.far)
        # Within a frame of the window's another one cannot be drawn.
        render = None if self._engine.in_window else self._engine.draw_frame
        with self._without_hidden():
            drawn = camera.draw(self._wanted(channels), render, self._frame_count)
        known = "entity" not in drawn or self._take_world()
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

    def cast(self, origins: Array, directions: Array, max_range: float) -> Returns:
        """Return what rays meet first among colliders.

        Args:
            origins: Where they start [m], shape (K, 3).
            directions: Unit directions, shape (K, 3).
            max_range: Longest distance [m].

        Raises:
            ConfigError: If they are of another instant.
        """
        self._require_present("PhysX casts rays in", field="lidar")
        self._take_world(wait=True)
        starts = np.broadcast_to(origins, directions.shape)
        found = nearest_shapes(starts, directions, max_range, [self._hidden] * len(directions))
        distance = np.array([item.distance if item is not None else math.inf for item in found])
        normal = np.array([item.normal if item is not None else (0.0, 0.0, 0.0) for item in found])
        # Towards the origin, from whichever side it was met.
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
        """Free the cameras; calling it twice is allowed."""
        for camera in self._cameras.values():
            camera.close()
        self._cameras = {}

    def _require_present(self, does: str, *, field: str) -> None:
        if self._late and not self._engine.in_window:
            raise ConfigError(
                f"{does} the present only, and vehicles have moved on since",
                field=field,
                remedy="look at a reading before the next step",
            )

    @property
    def _hidden(self) -> set[str]:
        """Paths of the prims of bodies that are not seen: the stage holds all of them."""
        return set(self._engine.paths) - set(self._vehicles.values())

    @contextmanager
    def _without_hidden(self) -> Iterator[None]:
        """Take what is not seen out of pictures; whoever looks on in the window goes on seeing it."""
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

    def _take_world(self, *, wait: bool = False) -> bool:
        """Take over what belongs together in the world, and return whether it is known.

        Args:
            wait: Whether it is waited for in the window too, where it is read in the background.
        """
        scene = self._scene
        if scene is None:
            return True
        if self._engine.in_window and not wait and not scene.has_outline:
            scene.begin()
            return False
        for entity in scene.entities.values():
            self._keep(entity)
        self._take_materials(scene)
        self._scene = None
        self._take_added()
        return True

    def _take_added(self) -> None:
        """Number the vehicles that were added, which come after the world."""
        added, self._added = self._added, []
        for item in added:
            index = self._keep(item.entity)
            self._take_materials(item.scene)
            used = next((part.material for part in item.scene.instances), None)
            if used is not None:
                self._material_of_entity[index] = self._materials.index(item.scene.materials[used].path)
            if (place := self._vehicles.get(item.entity.path)) is not None:
                self._by_path[place] = index

    def _take_materials(self, scene: Scene) -> None:
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
        """Return the index of what a prim is a part of: that of the nearest prim above that is known."""
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
    """Return the name of the body of an entity, such as iris/0 of /World/iris and iris/3 of /World/iris/3."""
    name = entity.removeprefix("/World/")
    head, _, number = name.rpartition("/")
    return name if head and number.isdigit() else f"{name}/0"
