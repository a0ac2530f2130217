"""The fast renderer: Embree finds what rays meet, kernels on the CPU light it."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.machine import processor_count
from pegasus.render.known import CHUNK, KnownEntities, KnownLenses, require_drawable
from pegasus.render.renderer import CHANNELS, Images, RenderObject, Returns, View
from pegasus.scene.scene import Entity, Scene

if TYPE_CHECKING:
    from pegasus.render.moving_objects import MovingObjects


class EmbreeRenderer:
    """Renderer for sensors: sun and lamps with cast shadows, sky, textures, cut-outs, glass; no GPU needed.

    Everything is the same bit for bit whatever the number of threads. Surfaces are seen from both sides. One
    of blended opacity counts as met by rays; in the radiance what lies behind shines through.

    Args:
        threads: How many threads draw; as many as there are processors when None.
        occlusion_rays: Rays per sample that find out how much of the sky a point sees; all of it when 0.
        occlusion_distance: How near something must be to hide the sky [m].

    Raises:
        ConfigError: If a package that it needs is not installed, or an argument is out of range.
    """

    def __init__(
        self, *, threads: int | None = None, occlusion_rays: int = 0, occlusion_distance: float = 10.0
    ) -> None:
        require(threads is None or threads >= 1, "threads", threads, "must be at least 1")
        require(0 <= occlusion_rays <= 256, "occlusion_rays", occlusion_rays, "must lie between 0 and 256")
        require(occlusion_distance > 0, "occlusion_distance", occlusion_distance, "must be greater than 0")
        _prepare()
        self._occlusion = occlusion_rays, occlusion_distance
        self._pool = ThreadPoolExecutor(threads or processor_count(), "embree")
        self._lenses, self._known_entities = KnownLenses(), KnownEntities()
        self._store: Any = None
        self._objects: MovingObjects | None = None
        self._tracer: Any = None
        self._lighting: Any = None

    @property
    def entities(self) -> Sequence[Entity]:
        """Everything that pixels can belong to, also objects removed since."""
        return self._known_entities.all

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels can show."""
        return self._store.materials.paths if self._store is not None else ()

    def load(self, scene: Scene) -> None:
        """Replace everything by a scene at rest; objects are gone.

        Args:
            scene: The world.

        Raises:
            ConfigError: If the scene holds nothing to draw, or an image of it cannot be read.
        """
        from pegasus.render.geometry_store import GeometryStore
        from pegasus.render.lighting import Lighting
        from pegasus.render.moving_objects import MovingObjects

        require_drawable(scene)
        lighting = Lighting(scene.lights)
        store = GeometryStore()
        numbers = {key: number for number, key in enumerate(scene.entities)}
        world = store.add(scene, numbers)
        self._known_entities = KnownEntities(scene)
        self._store, self._world, self._lighting = store, world, lighting
        self._objects, self._tracer = MovingObjects(), None

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Add objects at the world's origin.

        Args:
            objects: What is added.

        Raises:
            ConfigError: If a path is in use already, or an image cannot be read.
        """
        known = self._loaded()
        made = [
            (item.path, self._store.add(item.scene), self._known_entities.number(item.entity))
            for item in objects
        ]
        known.add(made)
        self._tracer = None

    def remove(self, paths: Collection[str]) -> None:
        """Remove objects.

        Args:
            paths: Their names.

        Raises:
            ConfigError: If there is no such object.
        """
        self._loaded().remove(paths)
        self._tracer = None

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Set the poses of objects.

        Args:
            paths: Their names.
            poses: Object to world, shape (K, 4, 4).

        Raises:
            ConfigError: If there is no such object.
        """
        self._loaded().move(paths, poses)
        if self._tracer is not None:
            self._tracer.refresh()

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view.

        Args:
            view: The camera.
            channels: Names from `CHANNELS`.
            samples: Rays per pixel of the radiance, spread over its area; the others take its centre.

        Raises:
            ConfigError: If a channel is not known, or there is less than one sample.
        """
        for channel in channels:
            require(channel in CHANNELS, "channels", channel, f"must be one of {', '.join(CHANNELS)}")
        require(samples >= 1, "samples", samples, "must be at least 1")
        from pegasus.render.picture import Picture

        self._loaded()
        rays = self._lenses.rays(view.lens, view.resolution)
        picture = Picture(
            self._traced(), self._lighting, view, rays, frozenset(channels), samples, self._occlusion
        )
        for _ in self._pool.map(picture.draw, rays.chunks):
            pass
        return picture.images

    def cast(self, origins: Array, directions: Array, max_range: float) -> Returns:
        """Return what rays meet first, cut-outs of textures passed through.

        Args:
            origins: Where they start [m], shape (K, 3).
            directions: Unit directions, shape (K, 3).
            max_range: Longest distance [m].
        """
        from pegasus.render.tracer import Rays

        self._loaded()
        tracer = self._traced()
        origins = np.asarray(origins, dtype=np.float64)
        directions = np.ascontiguousarray(directions, dtype=np.float64)
        count = len(directions)
        returns = Returns(
            np.empty(count), np.empty((count, 3)), np.empty(count, np.int32), np.empty(count, np.int32)
        )

        def one(first: int) -> None:
            rows = slice(first, first + CHUNK)
            start = np.ascontiguousarray(origins[rows])
            hits = tracer.trace(Rays(start, directions[rows], end=max_range))
            returns.distance[rows] = hits.distance
            returns.normal[rows] = hits.normal
            returns.entity[rows] = hits.entity
            returns.material[rows] = hits.material

        for _ in self._pool.map(one, range(0, count, CHUNK)):
            pass
        return returns

    def close(self) -> None:
        """Free what the renderer holds; calling it twice is allowed."""
        self._pool.shutdown()
        self._store = self._objects = self._tracer = self._lighting = None
        self._lenses = KnownLenses()

    def _loaded(self) -> "MovingObjects":
        if self._objects is None:
            raise RuntimeError("no scene is loaded; call load() first")
        return self._objects

    def _traced(self) -> Any:
        """Return the tracer of what there is now."""
        if self._tracer is None:
            from pegasus.render.tracer import Tracer

            self._tracer = Tracer(self._store, self._world, self._loaded())
        return self._tracer


def _prepare() -> None:
    """Load the packages and the compiled kernels.

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
    from pegasus.render.warp_runtime import load_kernels

    load_kernels()
