"""What a renderer does: take geometry and poses, give images and ray returns."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.scene.scene import Entity, Scene

if TYPE_CHECKING:
    from pegasus.cameras.lens import Lens

CHANNELS = ("radiance", "distance", "normal", "entity", "material")
"""What a renderer can give; see `Images`."""

NOTHING = -1
"""Entity and material where a ray meets nothing."""


@dataclass(frozen=True, eq=False)
class View:
    """A camera at one instant."""

    lens: "Lens"
    resolution: tuple[int, int]
    """Width and height [pixels]."""
    position: Array
    """Where it is in the world [m], shape (3,)."""
    rotation: Array
    """Optical frame (x right, y down, z forward) to world, shape (3, 3)."""
    near: float = 0.01
    """Nothing nearer than this is seen [m]."""
    far: float = 1e4
    """Nothing farther than this is seen [m]."""


@dataclass(frozen=True, eq=False)
class RenderObject:
    """Something that is drawn and moves as a whole: a vehicle's body, or one of its rotors."""

    path: str
    """Unique name, such as "/World/iris/rotor0"."""
    scene: Scene
    """Its geometry, in its own frame; objects that share a scene share what is built from it."""
    entity: Entity
    """The thing that it is a part of; body and rotors of a vehicle name one."""


class Images(NamedTuple):
    """Channels of a view; those not asked for are None. Row 0 is the upper edge."""

    radiance: npt.NDArray[np.float32] | None = None
    """Linear light in R, G and B, in the units of the scene's lights, shape (H, W, 3)."""
    distance: npt.NDArray[np.float32] | None = None
    """Distance from the camera along the ray [m], infinite where it meets nothing, shape (H, W)."""
    normal: npt.NDArray[np.float32] | None = None
    """Unit normal of the surface in the world, towards the camera, zero for nothing, shape (H, W, 3)."""
    entity: npt.NDArray[np.int32] | None = None
    """Index into `Renderer.entities`, `NOTHING` where the ray meets nothing, shape (H, W)."""
    material: npt.NDArray[np.int32] | None = None
    """Index into `Renderer.materials`, `NOTHING` where the ray meets nothing, shape (H, W)."""


class Returns(NamedTuple):
    """What K rays meet first."""

    distance: Array
    """Distance [m], infinite where a ray meets nothing within its range, float64, shape (K,)."""
    normal: Array
    """Unit normal of the surface in the world, towards the ray's origin, zero for nothing, shape (K, 3)."""
    entity: npt.NDArray[np.int32]
    """Index into `Renderer.entities`, or `NOTHING`, shape (K,)."""
    material: npt.NDArray[np.int32]
    """Index into `Renderer.materials`, or `NOTHING`, shape (K,)."""


class Renderer(Protocol):
    """Images and rays of a static scene with objects that move in it; world ENU, metres.

    Indices of entities and materials stay what they are while objects come and go.
    """

    @property
    def entities(self) -> Sequence[Entity]:
        """Everything that pixels can belong to, also objects removed since."""

    @property
    def materials(self) -> Sequence[str]:
        """Paths of the materials that pixels can show."""

    def load(self, scene: Scene) -> None:
        """Replace everything by a scene at rest; objects are gone.

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
            samples: Rays per pixel of the radiance, spread over its area; the others take its centre.
        """

    def cast(self, origins: Array, directions: Array, max_range: float) -> Returns:
        """Return what rays meet first, cut-outs of textures passed through.

        Args:
            origins: Where they start [m], shape (K, 3).
            directions: Unit directions, shape (K, 3).
            max_range: Longest distance [m].
        """

    def close(self) -> None:
        """Free what the renderer holds; calling it twice is allowed."""
