"""Scenes: plain geometry, materials, lights and labels of a stage, for engines and renderers.

World ENU, metres, Z up, NumPy only. Transforms are 4x4 matrices that act on column vectors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.config.scenario import SpawnPoint

Color = tuple[float, float, float]

GLASS_OPACITY = 0.2
"""Opacity of thin glass, which surfaces that transmit light are drawn as."""


@dataclass(frozen=True)
class Texture:
    """An image as an input of a material."""

    path: Path
    """Existing image file."""
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
    """A geometry with a material and a pose."""

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
    """Key into `Scene.entities`: the object that it belongs to."""


@dataclass(frozen=True, eq=False)
class Entity:
    """A labelled object such as a car, a tree or a wall; datasets count its parts as one."""

    path: str
    """Path of the labelled prim, or of the drawn prim if none is labelled."""
    labels: dict[str, str]
    """Semantic labels by taxonomy."""
    transform: Array
    """Pose of that prim without scale, local to world, shape (4, 4)."""


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
class Rolling:
    """What makes a collider a wheel: it rolls across its axle, and grips along it."""

    axle: Array
    """Unit direction of the axle in the frame of the body at the steering angle 0, shape (3,)."""
    friction: float
    """Coefficient of rolling friction, without the brake."""


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
    """Collision shape of a mesh: `none` (its triangles), `convexHull` or `convexDecomposition`."""
    vertices: Array | None = None
    """Vertices of a mesh with scale applied [m], shape (V, 3)."""
    faces: npt.NDArray[np.int32] | None = None
    """Triangles of a mesh, counter-clockwise seen from outside, shape (F, 3)."""
    prototype: Array | None = None
    """Unscaled vertices, one array shared by all instances, shape (V, 3); None if equal to `vertices`."""
    scale: Array | None = None
    """Scale, mirror and shear that turn `prototype` into `vertices`, shape (3, 3)."""
    rolling: Rolling | None = None
    """Axle and friction of a wheel; None for what does not roll."""


@dataclass(frozen=True, eq=False)
class Light:
    """A light as UsdLux describes it."""

    path: str
    kind: str
    """`DistantLight`, `DomeLight`, `SphereLight`, `RectLight`, `DiskLight` or `CylinderLight`."""
    transform: Array
    """Local to world, shape (4, 4); a distant light shines along its -z."""
    color: Color
    """Linear colour times intensity times 2^exposure, and times the colour of its temperature if enabled."""
    parameters: dict[str, float]
    """Parameters of its kind: `angle` [deg], `radius`, `width`, `height`, `length` [m], `normalize`; of a
    spot `cone_angle` between its axis -z and its edge [deg], and `cone_softness`, 0 to 1."""
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
    """All data of a stage for physics and rendering."""

    source: str
    """Origin: a file, or the identifier of a stage in memory."""
    geometries: dict[str, Geometry] = field(default_factory=dict)
    materials: dict[str, Material] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    colliders: list[Collider] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    cameras: list[SceneCamera] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Deviations from what is authored, one line each."""

    @property
    def is_whole(self) -> bool:
        """Whether all fields are available without waiting."""
        return True

    @property
    def has_outline(self) -> bool:
        """Whether all fields but geometries and colliders are available without waiting."""
        return True

    @property
    def progress(self) -> float | None:
        """Progress of reading, 0 to 1; None if no reading is under way."""
        return None

    def whole(self) -> "Scene":
        """Return the complete scene, read now if necessary."""
        return self

    def begin(self, *, whole: bool = False) -> None:
        """Start reading in a background thread, unless done or under way.

        Args:
            whole: Whether to read geometries and colliders too.
        """


def view_from_behind(spawn_points: Sequence[SpawnPoint]) -> tuple[Array, Array]:
    """Return position and target [m] of a view from behind the first spawn point, shape (3,) each.

    Args:
        spawn_points: Spawn points of the world; the origin if there are none.
    """
    start, heading = np.array([0.0, 0.0, 0.1]), 0.0
    if spawn_points:
        start, heading = np.array(spawn_points[0].position), spawn_points[0].heading
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    return start - 6.0 * ahead + [0.0, 0.0, 3.5], start + 12.0 * ahead
