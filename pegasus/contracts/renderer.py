"""Contract of renderers: geometry and poses in, images and ray returns out."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.registry import Registry
from pegasus.optics.lens import Lens
from pegasus.scene.scene import Entity, Scene

CHANNELS = ("radiance", "distance", "normal", "entity", "material")
"""Channels that a renderer provides; see `Images`."""

NOTHING = -1
"""Entity and material index of a ray without a hit."""


@dataclass(frozen=True, eq=False)
class View:
    """View of a camera at one instant."""

    lens: Lens
    resolution: tuple[int, int]
    """Width and height [pixels]."""
    position: Array
    """Position in the world [m], shape (3,)."""
    rotation: Array
    """Optical frame (x right, y down, z forward) to world, shape (3, 3)."""
    near: float = 0.01
    """Near clipping distance [m]."""
    far: float = 1e4
    """Far clipping distance [m]."""


@dataclass(frozen=True, eq=False)
class RenderObject:
    """Rigid object that moves as a whole: a vehicle's body, or one of its rotors."""

    path: str
    """Unique name, such as "/World/iris/rotor0"."""
    scene: Scene
    """Geometry in the object's frame; objects with the same scene share its acceleration structure."""
    entity: Entity
    """Entity that the object is a part of; body and rotors of a vehicle have the same one."""


class Images(NamedTuple):
    """Channels of a view, None if not requested; row 0 is the upper edge."""

    radiance: npt.NDArray[np.float32] | None = None
    """Linear light in R, G and B, in the units of the scene's lights, shape (H, W, 3)."""
    distance: npt.NDArray[np.float32] | None = None
    """Distance from the camera along the ray [m], infinite without a hit, shape (H, W)."""
    normal: npt.NDArray[np.float32] | None = None
    """Unit normal of the surface in the world, towards the camera, zero without a hit, shape (H, W, 3)."""
    entity: npt.NDArray[np.int32] | None = None
    """Index into `Renderer.entities`, `NOTHING` without a hit, shape (H, W)."""
    material: npt.NDArray[np.int32] | None = None
    """Index into `Renderer.materials`, `NOTHING` without a hit, shape (H, W)."""


class Returns(NamedTuple):
    """Nearest hits of K rays."""

    distance: Array
    """Distance [m], infinite without a hit within range, float64, shape (K,)."""
    normal: Array
    """Unit normal of the surface in the world, towards the ray's origin, zero without a hit, shape (K, 3)."""
    entity: npt.NDArray[np.int32]
    """Index into `Renderer.entities`, or `NOTHING`, shape (K,)."""
    material: npt.NDArray[np.int32]
    """Index into `Renderer.materials`, or `NOTHING`, shape (K,)."""


class Renderer(Protocol):
    """Images and ray returns of a static scene with moving objects; world ENU, metres.

    Indices of entities and materials do not change when objects are added or removed.
    """

    usual_samples: int
    """Rays per pixel of the radiance for cameras that name none."""

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that pixels can belong to, removed objects included."""

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels can show."""

    def load(self, scene: Scene) -> None:
        """Load a static scene, discarding the previous one and all objects.

        Raises:
            ConfigError: If the scene holds nothing to draw.
        """

    def add(self, objects: Sequence[RenderObject]) -> None:
        """Add objects at the world's origin."""

    def remove(self, paths: Collection[str]) -> None:
        """Remove objects."""

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Set the poses of objects: rotation and position, object to world, shape (K, 4, 4)."""

    def render(self, view: View, channels: Collection[str], *, samples: int = 1) -> Images:
        """Return channels of a view.

        Args:
            view: The camera.
            channels: Names from `CHANNELS`.
            samples: Rays per pixel of the radiance, spread over its area; other channels sample its centre.
        """

    def cast(self, origins: Array, directions: Array, max_range: float, *, width: int = 0) -> Returns:
        """Return the nearest hits of rays, skipping cut-outs of textures.

        Args:
            origins: Origins [m], shape (K, 3), or (K / width, 3): one for each row.
            directions: Unit directions, shape (K, 3).
            max_range: Maximum range [m].
            width: Length of the rows if the rays are rows of a grid of nearly parallel neighbours, else 0;
                a renderer may cast neighbours together.
        """

    def close(self) -> None:
        """Free all resources; calling it twice is allowed."""


@runtime_checkable
class RendersAhead(Protocol):
    """Renderer that begins an image before another one is finished."""

    def begin(self, view: View, channels: Collection[str], *, samples: int = 1) -> Callable[[], Images]:
        """Begin to render channels of a view, and return a function that waits for them.

        Objects may be added, moved and removed before they are finished.

        Args:
            view: The camera.
            channels: Names from `CHANNELS`.
            samples: As of `Renderer.render`.
        """


RENDERERS: Registry[Renderer] = Registry(
    "renderer",
    group="pegasus.renderers",
    shipped={
        "embree": "pegasus.render.embree.renderer:EmbreeRenderer",
        "mitsuba": "pegasus.render.photo.renderer:MitsubaRenderer",
    },
)
"""Renderers by name; each is made without arguments."""
