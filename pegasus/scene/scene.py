"""A world or an asset as plain geometry: what a stage is translated into, once, for engine and renderers.

World ENU, metres, Z up, NumPy only. Transforms are 4x4 matrices that act on column vectors.
"""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Texture:
    """One image as an input of a material."""

    path: Path
    """Image file; it exists."""
    channel: str = "rgb"
    """Output used: `rgb`, `r`, `g`, `b` or `a`."""
    srgb: bool = True
    """Whether the colours are sRGB encoded (else linear)."""
    wrap: tuple[str, str] = ("repeat", "repeat")
    """Wrap modes over s and t: `repeat`, `clamp`, `mirror` or `black`."""
    scale: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """Factor on the sampled value."""
    bias: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Offset added after `scale`."""
    uv_scale: tuple[float, float] = (1.0, 1.0)
    """Scale of the texture coordinates, applied first."""
    uv_rotation: float = 0.0
    """Rotation of the texture coordinates, counter-clockwise [rad], applied second."""
    uv_translation: tuple[float, float] = (0.0, 0.0)
    """Translation of the texture coordinates, applied last."""
    uv_set: str = "st"
    """Primvar that holds the texture coordinates."""


@dataclass(frozen=True)
class Material:
    """Surface as UsdPreviewSurface describes it; colours are linear."""

    path: str
    diffuse_color: Color | Texture = (0.18, 0.18, 0.18)
    emissive_color: Color | Texture = (0.0, 0.0, 0.0)
    specular_color: Color | Texture | None = None
    """Specular colour; None in the metallic workflow."""
    metallic: float | Texture = 0.0
    roughness: float | Texture = 0.5
    clearcoat: float | Texture = 0.0
    clearcoat_roughness: float | Texture = 0.01
    opacity: float | Texture = 1.0
    opacity_threshold: float = 0.0
    """Opacity below which a surface is cut out; 0 for blending."""
    ior: float = 1.5
    normal: Texture | None = None


@dataclass(frozen=True, eq=False)
class Geometry:
    """Triangle mesh in its own frame; vertices are split where normals or texture coordinates differ."""

    vertices: npt.NDArray[np.float32]
    """Vertices [m], shape (V, 3)."""
    faces: npt.NDArray[np.uint32]
    """Counter-clockwise triangles seen from outside, shape (F, 3)."""
    normals: npt.NDArray[np.float32]
    """Unit vertex normals, shape (V, 3)."""
    uvs: npt.NDArray[np.float32] | None = None
    """Texture coordinates, origin at the lower left, shape (V, 2)."""
    colors: npt.NDArray[np.float32] | None = None
    """Linear vertex colours, shape (V, 3)."""
    double_sided: bool = True


@dataclass(frozen=True, eq=False)
class Instance:
    """One geometry with one material at one place."""

    path: str
    """Path of the prim."""
    geometry: str
    """Key into `Scene.geometries`."""
    material: str
    """Key into `Scene.materials`."""
    transform: Array
    """Local to world, shape (4, 4)."""
    labels: dict[str, str]
    """Semantic labels by taxonomy (`class`, for one)."""
    entity: str
    """Key into `Scene.entities`: the thing that it is a part of."""


@dataclass(frozen=True, eq=False)
class Entity:
    """One thing with a label of its own: a car, a tree, a wall; its parts are one in datasets."""

    path: str
    """Path of the prim that carries the label, or of the drawn prim where none does."""
    labels: dict[str, str]
    """Semantic labels by taxonomy."""
    transform: Array
    """Pose of that prim without its scale, local to world, shape (4, 4)."""


@dataclass(frozen=True)
class PhysicsMaterial:
    """Contact properties, as UsdPhysicsMaterialAPI has them."""

    static_friction: float = 0.5
    dynamic_friction: float = 0.5
    restitution: float = 0.0


class ColliderShape(Enum):
    """Shape of a collider and the meaning of its `size`."""

    BOX = "box"
    """Half lengths x, y, z [m]."""
    SPHERE = "sphere"
    """Radius [m]."""
    ELLIPSOID = "ellipsoid"
    """Half axes x, y, z [m]."""
    CAPSULE = "capsule"
    """Radius and half length of the cylindrical part [m], along z."""
    CYLINDER = "cylinder"
    """Radius and half length [m], along z."""
    PLANE = "plane"
    """Infinite plane through the origin, outward normal z; size is empty."""
    MESH = "mesh"
    """Triangles in `vertices` and `faces`; size is empty."""


@dataclass(frozen=True, eq=False)
class Collider:
    """One collision shape at a pose in the frame of its scene or body."""

    path: str
    """Path of the prim."""
    shape: ColliderShape
    size: tuple[float, ...]
    """See `ColliderShape`."""
    position: Array
    """Position [m], shape (3,)."""
    orientation: Array
    """Unit quaternion xyzw, shape (4,)."""
    material: PhysicsMaterial = field(default_factory=PhysicsMaterial)
    approximation: str = "none"
    """How a mesh collides: `none` by its triangles, `convexHull`, or `convexDecomposition`."""
    vertices: Array | None = None
    """Vertices of a mesh with every scale applied [m], shape (V, 3)."""
    faces: npt.NDArray[np.int32] | None = None
    """Triangles of a mesh, counter-clockwise seen from outside, shape (F, 3)."""
    prototype: Array | None = None
    """Vertices before any scale, one array for all instances of a mesh, shape (V, 3); None for `vertices`."""
    scale: Array | None = None
    """Scale, mirror and shear that turn `prototype` into `vertices`, shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class Light:
    """A light as UsdLux describes it."""

    path: str
    kind: str
    """`DistantLight`, `DomeLight`, `SphereLight`, `RectLight`, `DiskLight` or `CylinderLight`."""
    transform: Array
    """Local to world, shape (4, 4); a distant light shines along its -z."""
    color: Color
    """Linear colour times intensity times 2^exposure (and the colour temperature where enabled)."""
    parameters: dict[str, float]
    """Further numbers of its kind: `angle` [deg], `radius`, `width`, `height`, `length` [m], `normalize`."""
    texture: Path | None = None


@dataclass(frozen=True, eq=False)
class SceneCamera:
    """A camera authored in the stage."""

    path: str
    transform: Array
    """Local to world, shape (4, 4); it looks along its -z with +y up."""
    focal_length: float
    """Focal length in the units of the apertures."""
    horizontal_aperture: float
    vertical_aperture: float
    clipping_range: tuple[float, float]
    """Near and far distance [m]."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a stage holds for physics and rendering."""

    source: str
    """Where it came from: a file or the name of a generator."""
    geometries: dict[str, Geometry] = field(default_factory=dict)
    materials: dict[str, Material] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    colliders: list[Collider] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    cameras: list[SceneCamera] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What could not be translated as authored, one line each."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it can be had without waiting."""
        return True

    @property
    def has_outline(self) -> bool:
        """Whether all but geometries and colliders can be had without waiting."""
        return True

    @property
    def progress(self) -> float | None:
        """Share that has been read, from 0 to 1; None while nothing is being read."""
        return None

    def whole(self) -> "Scene":
        """Return all of it, read now where it is not yet."""
        return self

    def begin(self, *, whole: bool = False) -> None:
        """Begin to read in a thread of its own, unless that is done or under way.

        Args:
            whole: Whether geometries and colliders are read too.
        """
