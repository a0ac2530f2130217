"""Mitsuba renderer: path tracing, denoised by Open Image Denoise."""

import importlib
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.renderer import CHANNELS, Images, RenderObject, Returns, View
from pegasus.render.caches import EntityIndex, LensRayCache, require_drawable
from pegasus.render.photo.hits import Hits, Place
from pegasus.render.photo.lights import emitters
from pegasus.render.photo.paths import Denoiser, PathTracer
from pegasus.render.photo.scenes import PhotoScenes
from pegasus.render.photo.shapes import OWN_ENTITY, Group, ShapeStore, pieces_of, repeated_pieces
from pegasus.scene.scene import Entity, Scene

VARIANT = "llvm_ad_rgb"
"""Mitsuba's variant: many rays at once, compiled by LLVM for this processor."""
# Rendering with an older LLVM ends the process.
_OLDEST_LLVM = (17,)


@dataclass(frozen=True, eq=False)
class _Object:
    """Moving object."""

    group: Group
    places: list[Place]


class MitsubaRenderer:
    """Photorealistic renderer: light from sun, sky, lamps and all surfaces, denoised.

    Geometric channels come from rays through pixel centres. Equal seeds, views and scenes give the same
    image, bit for bit on one machine. Lamps are visible in the radiance only. Cut-outs of non-metallic
    surfaces are taken for leaves, which transmit light.

    Args:
        seed: Seed of the paths.
        denoise: Whether the radiance's noise is removed.

    Raises:
        ConfigError: If a required package or the library LLVM is not installed.
    """

    usual_samples = 16
    """Fewer leave more noise than the denoiser removes."""

    def __init__(self, *, seed: int = 0, denoise: bool = True) -> None:
        self._seed = seed
        self._mi, self._dr = load_mitsuba()
        self._denoiser = Denoiser() if denoise else None
        self._paths = PathTracer(self._mi, self._dr)
        self._lens_rays, self._entities = LensRayCache(), EntityIndex()
        self._store: ShapeStore | None = None
        self._scenes: PhotoScenes | None = None
        self._still: Any = None
        self._parameters: Any = None
        self._world: list[Place] = []
        self._emitters: list[Any] = []
        self._clear()

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that pixels can belong to, removed objects included."""
        return self._entities.entities

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels can show."""
        return [material.path for material in self._store.materials] if self._store is not None else ()

    def load(self, scene: Scene) -> None:
        """Load a static scene, discarding the previous one and all objects.

        Raises:
            ConfigError: If the scene has no visible geometry, or one of its images cannot be read.
        """
        require_drawable(scene)
        distant, lamps = emitters(self._mi, scene.lights)
        store = ShapeStore(self._mi)
        numbers = {key: number for number, key in enumerate(scene.entities)}
        merged, repeated = repeated_pieces(pieces_of(scene, numbers))
        world = self._placed(store.group(merged, placed=True), np.eye(4), OWN_ENTITY)
        for copies in repeated:
            group = store.group(copies.pieces)
            for transform, entity in zip(copies.transforms, copies.entities, strict=True):
                world += self._placed(group, transform, entity)
        self._clear()
        self._world = world + [Place(lamp, (), np.eye(4), OWN_ENTITY) for lamp in lamps]
        self._emitters, self._store = distant, store
        self._entities = EntityIndex(scene)

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Add objects at the world's origin.

        Raises:
            ConfigError: If a path is in use already, or an image cannot be read.
        """
        store = self._loaded()
        paths = [item.path for item in objects]
        for index, path in enumerate(paths):
            if path in self._objects or path in paths[:index]:
                raise ConfigError("is in use already", field="path", value=path, remedy="choose another path")
        for item in objects:
            known = self._groups.get(id(item.scene))
            shared = known[1] if known is not None else None
            # Emissive meshes cannot be shared.
            if shared is None or shared.single:
                shared = store.group(pieces_of(item.scene, None))
                # The scene is kept, because it is identified by its id.
                self._groups[id(item.scene)] = item.scene, shared
            places = self._placed(shared, np.eye(4), self._entities.index(item.entity))
            self._objects[item.path] = _Object(shared, places)
        self._scenes = None

    def remove(self, paths: Collection[str]) -> None:
        """Remove objects.

        Raises:
            ConfigError: If there is no such object.
        """
        self._loaded()
        self._known(paths)
        for path in paths:
            self._objects.pop(path)
        self._scenes = None

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Set the poses of objects.

        Raises:
            ConfigError: If there is no such object.
        """
        self._loaded()
        self._known(paths)
        for path, pose in zip(paths, np.array(poses, dtype=np.float64), strict=True):
            item = self._objects[path]
            item.places[:] = [replace(place, transform=pose) for place in item.places]
        self._moved = True

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view; 16 samples per pixel suffice with denoising.

        Raises:
            ConfigError: If a channel is not known, or there is less than one sample.
        """
        for channel in channels:
            require(channel in CHANNELS, "channels", channel, f"must be one of {', '.join(CHANNELS)}")
        require(samples >= 1, "samples", samples, "must be at least 1")
        self._prepare()
        rays, wanted = self._lens_rays.rays(view.lens, view.resolution), frozenset(channels)
        found = Images()
        if wanted - {"radiance"}:
            shape = (view.resolution[1], view.resolution[0])
            directions = rays.centers @ np.asarray(view.rotation, dtype=np.float64).T
            origin = np.asarray(view.position, dtype=np.float64).reshape(1, 3)
            met = self._hits.cast(origin, directions, view.near, view.far)
            found = Images(
                None,
                met.distance.reshape(shape).astype(np.float32) if "distance" in wanted else None,
                met.normal.reshape(*shape, 3).astype(np.float32) if "normal" in wanted else None,
                met.entity.reshape(shape) if "entity" in wanted else None,
                met.material.reshape(shape) if "material" in wanted else None,
            )
        if "radiance" not in wanted:
            return found
        traced = self._paths.trace(view, rays, samples, seed=self._seed_of(view))
        if self._denoiser is None:
            return found._replace(radiance=traced.radiance)
        return found._replace(radiance=self._denoiser.denoised(*traced))

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        """Return the nearest hits of rays, skipping cut-outs of textures."""
        self._prepare()
        directions = np.asarray(directions, dtype=np.float64)
        origins = np.asarray(origins, dtype=np.float64).reshape(-1, 3)
        if 1 < len(origins) < len(directions):
            origins = np.repeat(origins, len(directions) // len(origins), axis=0)
        return self._hits.cast(origins, directions, 0.0, max_range)

    def close(self) -> None:
        """Free all resources; calling it twice is allowed."""
        self._clear()
        self._store = None
        self._lens_rays = LensRayCache()

    def _clear(self) -> None:
        # Every shape that is left anywhere is compiled into the paths of later scenes.
        self._scenes = self._still = self._parameters = None
        self._paths.clear()
        self._moved = False
        self._world, self._emitters = [], []
        self._objects: dict[str, _Object] = {}
        self._groups: dict[int, tuple[Scene, Group]] = {}
        self._hits = Hits(self._mi, self._dr)

    def _loaded(self) -> ShapeStore:
        if self._store is None:
            raise RuntimeError("no scene is loaded; call load() first")
        return self._store

    def _known(self, paths: Collection[str]) -> None:
        for path in paths:
            if path not in self._objects:
                raise ConfigError("no such object", field="path", value=path, remedy="add it first")

    def _placed(self, group: Group, transform: Array, entity: int) -> list[Place]:
        """Return the shapes of a group at a pose."""
        places = [Place(mesh, [first], transform, entity) for mesh, first in group.single]
        if group.shape is not None:
            matrix = self._mi.ScalarTransform4f(transform)
            instance = self._mi.load_dict({"type": "instance", "to_world": matrix, "group": group.shape})
            places.append(Place(instance, group.first_faces, transform, entity, group.shape))
        return places

    def _prepare(self) -> None:
        """Update Mitsuba's scene to the present objects and poses."""
        store = self._loaded()
        moving = self._moving()
        places = [*self._world, *moving]
        if self._scenes is None:
            self._scenes = scenes = self._made(moving)
            self._hits.update(scenes, places, store.tables(), store.materials)
            self._paths.update(scenes, places, self._hits, store)
            self._moved = bool(moving)
        if self._moved and moving:
            for number, place in enumerate(moving, len(self._world)):
                self._move_shape(f"shape{number:05d}", place)
            self._parameters.update()
            self._hits.move(places)
            self._paths.move(places)
            self._moved = False

    def _made(self, moving: list[Place]) -> PhotoScenes:
        """Return the scenes of the world and of moving objects, the same one for emissive objects."""
        mi = self._mi
        if any(place.group is None for place in moving):
            scene = self._scene_of([*self._world, *moving], 0, self._emitters)
            self._parameters = mi.traverse(scene)
            return PhotoScenes(mi, self._dr, scene, None)
        if self._still is None:
            self._still = self._scene_of(self._world, 0, self._emitters)
        scene = self._scene_of(moving, len(self._world), []) if moving else None
        self._parameters = mi.traverse(scene) if moving else None
        return PhotoScenes(mi, self._dr, self._still, scene)

    def _scene_of(self, places: Sequence[Place], first: int, emitters: Sequence[Any]) -> Any:
        """Return a Mitsuba scene of places, numbered from `first` on."""
        content = {f"shape{k:05d}": place.shape for k, place in enumerate(places, first)}
        content |= {f"light{k:05d}": emitter for k, emitter in enumerate(emitters)}
        groups = {id(place.group): place.group for place in places if place.group is not None}
        content |= {f"group{k:05d}": group for k, group in enumerate(groups.values())}
        return self._mi.load_dict({"type": "scene", **content})

    def _move_shape(self, name: str, place: Place) -> None:
        key = f"{name}.to_world"
        if key in self._parameters:
            self._parameters[key] = self._mi.Transform4f(self._mi.ScalarTransform4f(place.transform))
            return
        # An emissive mesh is moved by its vertices.
        tables = self._loaded().tables()
        first = place.first_faces[0]
        count = len(self._parameters[f"{name}.faces"]) // 3
        corners = tables.faces[first : first + count]
        low, high = int(corners.min()), int(corners.max()) + 1
        linear = place.transform[:3, :3]
        vertices = tables.vertices[low:high] @ linear.T + place.transform[:3, 3]
        normals = tables.normals[low:high] @ linear.T
        self._parameters[f"{name}.vertex_positions"] = vertices.astype(np.float32).ravel()
        self._parameters[f"{name}.vertex_normals"] = normals.astype(np.float32).ravel()

    def _seed_of(self, view: View) -> int:
        """Return a seed that depends on view and poses alone, not on the order of images."""
        number = zlib.crc32(np.array([self._seed, *view.resolution], dtype=np.int64).tobytes())
        for part in (view.position, view.rotation, *(p.transform for p in self._moving())):
            number = zlib.crc32(np.ascontiguousarray(part, dtype=np.float64).tobytes(), number)
        return number

    def _moving(self) -> list[Place]:
        return [place for item in self._objects.values() for place in item.places]


def load_mitsuba() -> tuple[Any, Any]:
    """Return the modules mitsuba and drjit, with the variant `VARIANT` set.

    Raises:
        ConfigError: If they are not installed, or Dr.Jit finds no LLVM that it can use.
    """
    try:
        mitsuba, drjit = importlib.import_module("mitsuba"), importlib.import_module("drjit")
    except ImportError:
        raise ConfigError(
            "needs mitsuba, which is not installed",
            field="renderer",
            value="mitsuba",
            remedy="pip install pegasus-multirotor[photo]",
        ) from None
    try:
        if mitsuba.variant() != VARIANT:
            mitsuba.set_variant(VARIANT)
        version = tuple(drjit.detail.llvm_version())
    except (ImportError, AttributeError, RuntimeError):
        version = ()
    if version < _OLDEST_LLVM:
        found = f"found LLVM {'.'.join(map(str, version))}" if version else "did not find it"
        raise ConfigError(
            f"needs the library libLLVM of version 17 or later; Dr.Jit {found}",
            field="renderer",
            value="mitsuba",
            remedy="install it, such as `apt install libllvm19`, or set DRJIT_LIBLLVM_PATH to its file",
        )
    return mitsuba, drjit
