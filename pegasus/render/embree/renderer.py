"""Embree renderer: rays by Embree, lighting by Warp kernels on the CPU."""

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.system import processor_count, yield_to_others
from pegasus.contracts.renderer import CHANNELS, Images, RenderObject, Returns, View
from pegasus.render.caches import EntityIndex, LensRayCache, require_drawable
from pegasus.scene.scene import Entity, Scene

if TYPE_CHECKING:
    from pegasus.render.embree.moving_objects import MovingObjects

_SMALLEST_CAST, _LARGEST_CAST = 4096, 65536


class EmbreeRenderer:
    """Fast renderer for sensors: cast shadows, sky, textures, cut-outs and glass, without a GPU.

    Results are bit-identical for any number of threads. Surfaces are two-sided. Rays hit partly transparent
    surfaces; the radiance blends them with the background.

    Args:
        threads: Number of rendering threads; one for each processor when None.
        bounces: Number of surfaces that reflect indirect light, which is precomputed for a scene at its first
            image in colour and kept in the user's cache; 0 for a sky without occlusion and no bounces.

    Raises:
        ConfigError: If a required package is not installed, or an argument is out of range.
    """

    usual_samples = 1

    def __init__(self, *, threads: int | None = None, bounces: int = 3) -> None:
        require(threads is None or threads >= 1, "threads", threads, "must be at least 1")
        require(0 <= bounces <= 16, "bounces", bounces, "must lie between 0 and 16")
        _prepare()
        self._bounces = bounces
        self._threads = threads or processor_count()
        self._pool = ThreadPoolExecutor(self._threads, "embree", yield_to_others)
        self._lens_rays, self._entities = LensRayCache(), EntityIndex()
        self._store: Any = None
        self._objects: MovingObjects | None = None
        self._tracer: Any = None
        self._lighting: Any = None
        self._unlit: Scene | None = None
        self._computing = threading.Lock()

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that pixels can belong to, removed objects included."""
        return self._entities.entities

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels can show."""
        return self._store.materials.paths if self._store is not None else ()

    def load(self, scene: Scene) -> None:
        """Load a static scene, discarding the previous one and all objects.

        Raises:
            ConfigError: If the scene has no visible geometry, or one of its images cannot be read.
        """
        from pegasus.render.embree.geometry_store import GeometryStore
        from pegasus.render.embree.lighting import Lighting
        from pegasus.render.embree.moving_objects import MovingObjects

        require_drawable(scene)
        lighting = Lighting(scene.lights)
        store = GeometryStore()
        numbers = {key: number for number, key in enumerate(scene.entities)}
        world = store.add(scene, numbers)
        self._entities = EntityIndex(scene)
        self._store, self._world, self._lighting = store, world, lighting
        self._objects, self._tracer = MovingObjects(), None
        self._unlit = scene if self._bounces else None

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Add objects at the world's origin.

        Raises:
            ConfigError: If a path is in use already, or an image cannot be read.
        """
        known = self._loaded()
        made = [
            (item.path, self._store.add(item.scene), self._entities.index(item.entity)) for item in objects
        ]
        known.add(made)
        self._tracer = None

    def remove(self, paths: Collection[str]) -> None:
        """Remove objects.

        Raises:
            ConfigError: If there is no such object.
        """
        self._loaded().remove(paths)
        self._tracer = None

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Set the poses of objects.

        Raises:
            ConfigError: If there is no such object.
        """
        objects = self._loaded()
        objects.move(paths, poses)
        if self._tracer is not None:
            self._tracer = self._tracer.moved(objects)

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view.

        Raises:
            ConfigError: If a channel is not known, or there is less than one sample.
        """
        return self.begin(view, channels, samples=samples)()

    def begin(self, view: View, channels: Collection[str], *, samples: int = 1) -> Callable[[], Images]:
        """Begin to render channels of a view, and return a function that waits for them.

        Meanwhile objects may be moved and other images begun.

        Raises:
            ConfigError: If a channel is not known, or there is less than one sample.
        """
        for channel in channels:
            require(channel in CHANNELS, "channels", channel, f"must be one of {', '.join(CHANNELS)}")
        require(samples >= 1, "samples", samples, "must be at least 1")
        from pegasus.render.embree.image import ImageTask

        self._loaded()
        rays = self._lens_rays.rays(view.lens, view.resolution)
        if "radiance" in channels:
            self._precompute()
        task = ImageTask(self._traced(), self._lighting, view, rays, frozenset(channels), samples)
        parts = [self._pool.submit(task.draw, chunk) for chunk in rays.chunks]

        def finish() -> Images:
            for part in parts:
                part.result()
            return task.images

        return finish

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        """Return the nearest hits of rays, skipping cut-outs of textures."""
        from pegasus.render.embree.packet_kernels import LANES
        from pegasus.render.embree.static_cast import StaticCast
        from pegasus.render.embree.tracer import Rays

        self._loaded()
        tracer = self._traced()
        origins = np.ascontiguousarray(origins, dtype=np.float64)
        directions = np.ascontiguousarray(directions, dtype=np.float64)
        count = len(directions)
        if count % max(len(origins), 1):
            raise ValueError(
                f"{len(origins)} origins cannot be shared by {count} rays; give one for each row"
            )
        tile = packet_width(directions, width)

        # Equal parts, two for each thread at most; packets are the same for any number of threads.
        parts = max(min(2 * self._threads, count // _SMALLEST_CAST), 1)
        step = min(-(-count // parts), _LARGEST_CAST)
        if tracer.is_static:
            static = StaticCast(
                tracer.tables,
                tracer.world,
                origins,
                directions,
                end=max_range,
                coherent=width > 0,
                width=width,
                tile=tile,
            )
            step = -(-step // static.block) * static.block
            for _ in self._pool.map(lambda first: static.cast(first, step), range(0, count, step)):
                pass
            return static.returns
        if len(origins) < count:
            origins = np.repeat(origins, count // len(origins), axis=0)
        rows_of_packets = LANES * (width or 1)
        step = -(-step // rows_of_packets) * rows_of_packets
        returns = Returns(
            np.empty(count), np.empty((count, 3)), np.empty(count, np.int32), np.empty(count, np.int32)
        )

        def one(first: int) -> None:
            rows = slice(first, first + step)
            rays = Rays(
                origins[rows], directions[rows], end=max_range, coherent=width > 0, width=width, tile=tile
            )
            hits = tracer.trace(rays)
            returns.distance[rows] = hits.distance
            returns.normal[rows] = hits.normal
            returns.entity[rows] = hits.entity
            returns.material[rows] = hits.material

        for _ in self._pool.map(one, range(0, count, step)):
            pass
        return returns

    def close(self) -> None:
        """Free all resources; calling it twice is allowed."""
        self._pool.shutdown()
        self._store = self._objects = self._tracer = self._lighting = None
        self._lens_rays = LensRayCache()

    def _precompute(self) -> None:
        """Compute the indirect light of a new scene; other threads wait for it."""
        from pegasus.render.embree.irradiance import irradiance_volume
        from pegasus.render.embree.moving_objects import MovingObjects
        from pegasus.render.embree.tracer import Tracer

        with self._computing:
            if self._unlit is not None:
                static = Tracer(self._store, self._world, MovingObjects())
                self._lighting.volume = irradiance_volume(
                    self._unlit, static, self._lighting, self._bounces, self._pool.map
                )
                self._unlit = None

    def _loaded(self) -> "MovingObjects":
        if self._objects is None:
            raise RuntimeError("no scene is loaded; call load() first")
        return self._objects

    def _traced(self) -> Any:
        """Return the tracer of the present scene."""
        if self._tracer is None:
            from pegasus.render.embree.tracer import Tracer

            self._tracer = Tracer(self._store, self._world, self._loaded())
        return self._tracer


def packet_width(directions: Array, width: int) -> int:
    """Return the width of packets of eight rays that spans the smallest angle, in a grid of rays."""
    if not 1 < width < len(directions):
        return 4
    neighbours = directions[[1, width]] - directions[0]
    along, across = np.sqrt((neighbours * neighbours).sum(axis=1)).tolist()
    return min(
        (tile for tile in (4, 2, 1, 8) if width % tile == 0),
        key=lambda tile: max(tile * along, 8 / tile * across),
    )


def _prepare() -> None:
    """Load packages and compiled kernels.

    Raises:
        ConfigError: If a package is not installed, or the kernels cannot be compiled.
    """
    try:
        import embreex.rtcore_scene  # noqa: F401
        import warp  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"needs the package {error.name}, which is not installed",
            field="renderer",
            value="embree",
            remedy="pip install pegasus-multirotor[render]",
        ) from None
    from pegasus.render.embree.warp_runtime import load_kernels

    load_kernels()
