"""Primitive shapes of a stage and their triangles: cube, sphere, cylinder, cone, capsule, plane."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pxr import Usd, UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.scene import Geometry
from pegasus.scene.stage import TIME

KINDS = ("Cube", "Sphere", "Cylinder", "Cone", "Capsule", "Plane")
"""Types of primitives; cylinders and capsules also in their version with two radii."""

Surface = tuple[Array, IntArray, Array, Array]
"""Vertices, faces, normals and texture coordinates."""

_SEGMENTS = 32
_RINGS = 8
_AXES = {
    "X": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "Z": np.eye(3),
}
# The width of a plane is along z for axis X, its length for axis Y (UsdGeomPlane).
_PLANE_AXES = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}


@dataclass(frozen=True)
class Primitive:
    """Shape of a primitive; lengths that do not apply to its kind are zero."""

    kind: str
    """One of `KINDS`."""
    axis: str = "Z"
    size: float = 0.0
    """Edge length of a cube, width of a plane [m]."""
    length: float = 0.0
    """Length of a plane [m]."""
    bottom_radius: float = 0.0
    """Radius, at the lower end if there are two [m]."""
    top_radius: float = 0.0
    """Radius at the upper end [m]."""
    height: float = 0.0
    """Height along the axis, excluding the caps of a capsule [m]."""
    double_sided: bool = False

    @property
    def key(self) -> str:
        """Key of the geometry, which equal shapes share."""
        lengths = (self.size, self.length, self.bottom_radius, self.top_radius, self.height)
        name = f"{self.kind}:{self.axis}:" + ":".join(repr(value) for value in lengths)
        return name + (":double" if self.double_sided else "")

    def rotation(self) -> Array:
        """Return the rotation from z to the axis, shape (3, 3)."""
        return (_PLANE_AXES if self.kind == "Plane" else _AXES)[self.axis]

    def geometry(self) -> Geometry:
        """Return the surface."""
        if self.kind == "Cube":
            surface = _cube(self.size)
        elif self.kind == "Plane":
            surface = _plane(self.size, self.length, self.rotation())
        else:
            surface = _revolution(self._profile(), self.rotation())
        vertices, faces, normals, uvs = surface
        return Geometry(
            vertices=np.ascontiguousarray(vertices, dtype=np.float32),
            faces=np.ascontiguousarray(faces, dtype=np.uint32),
            normals=np.ascontiguousarray(normals, dtype=np.float32),
            uvs=np.ascontiguousarray(uvs, dtype=np.float32),
            double_sided=self.double_sided,
        )

    def _profile(self) -> list["_Ring"]:
        """Return the rings of a surface of revolution from bottom to top."""
        low, high, half = self.bottom_radius, self.top_radius, self.height / 2
        quarter = np.linspace(0.0, np.pi / 2, _RINGS + 1)
        slope = (
            np.array([self.height, low - high]) / np.hypot(self.height, low - high) if self.height else [1, 0]
        )
        bottom = [
            _Ring(low * np.cos(a), -half - low * np.sin(a), np.cos(a), -np.sin(a)) for a in quarter[::-1]
        ]
        top = [_Ring(high * np.cos(a), half + high * np.sin(a), np.cos(a), np.sin(a)) for a in quarter]
        if self.kind == "Sphere":
            return [*bottom[:-1], *top]
        if self.kind == "Capsule":
            return [*bottom, *top]
        side = [_Ring(low, -half, *slope), _Ring(high, half, *slope)]
        floor = [_Ring(0.0, -half, 0.0, -1.0), _Ring(low, -half, 0.0, -1.0)]
        lid = [_Ring(high, half, 0.0, 1.0), _Ring(0.0, half, 0.0, 1.0)]
        return [*floor, *side, *(lid if high else [])]


@dataclass(frozen=True)
class _Ring:
    radius: float
    height: float
    normal_radial: float
    normal_axial: float


def read_primitive(prim: Usd.Prim, meters_per_unit: float) -> Primitive | None:
    """Return the shape of a primitive, or None for a prim of another type."""
    kind = str(prim.GetTypeName()).removesuffix("_1")
    if kind not in KINDS:
        return None

    def length(*names: str) -> float:
        found = (prim.GetAttribute(name) for name in names)
        return next((float(a.Get(TIME)) * meters_per_unit for a in found if a), 0.0)

    axis = prim.GetAttribute("axis")
    bottom = length("radiusBottom", "radius")
    return Primitive(
        kind=kind,
        axis=str(axis.Get(TIME)) if axis else "Z",
        size=length("size", "width"),
        length=length("length"),
        bottom_radius=bottom,
        top_radius=0.0 if kind == "Cone" else length("radiusTop", "radius"),
        height=length("height"),
        double_sided=bool(UsdGeom.Gprim(prim).GetDoubleSidedAttr().Get(TIME)),
    )


def _cube(size: float) -> Surface:
    vertices, normals = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            up = np.array([0.0, 0.0, 1.0]) if axis < 2 else np.array([0.0, 1.0, 0.0])
            right = np.cross(up, normal)
            vertices += [normal + u * right + v * up for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [normal] * 4
    faces = (4 * np.arange(6)[:, None] + np.array([0, 1, 2, 0, 2, 3])).reshape(-1, 3)
    uvs = np.tile([[0, 0], [1, 0], [1, 1], [0, 1]], (6, 1))
    return size / 2 * np.array(vertices), faces, np.array(normals), uvs


def _plane(width: float, length: float, rotation: Array) -> Surface:
    uvs = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    corners = (uvs - 0.5) * [width, length]
    vertices = np.concatenate([corners, np.zeros((4, 1))], axis=1)
    normals = np.tile([0.0, 0.0, 1.0], (4, 1))
    return vertices @ rotation.T, np.array([[0, 1, 2], [0, 2, 3]]), normals @ rotation.T, uvs


def _revolution(profile: Sequence[_Ring], rotation: Array) -> Surface:
    """Return the surface of revolution of a profile about the z axis, rotated."""
    angle = 2 * np.pi * np.arange(_SEGMENTS + 1) / _SEGMENTS
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    circle[-1] = circle[0]
    radius, height, radial, axial = np.array(
        [(ring.radius, ring.height, ring.normal_radial, ring.normal_axial) for ring in profile]
    ).T
    ring_count, width = len(profile), _SEGMENTS + 1

    def sweep(distance: Array, along: Array) -> Array:
        around = distance[:, None, None] * circle
        axis = np.broadcast_to(along[:, None, None], (ring_count, width, 1))
        swept: Array = np.concatenate([around, axis], axis=2).reshape(-1, 3)
        return swept

    vertices, normals = sweep(radius, height), sweep(radial, axial)
    step = np.hypot(np.diff(radius), np.diff(height))
    v = np.concatenate([[0.0], np.cumsum(step)]) / max(float(step.sum()), 1e-30)
    uvs = np.stack([np.tile(angle / (2 * np.pi), ring_count), np.repeat(v, width)], axis=1)
    corner = (np.arange(ring_count - 1)[:, None] * width + np.arange(_SEGMENTS)).ravel()
    faces = np.stack(
        [corner, corner + 1, corner + width + 1, corner, corner + width + 1, corner + width], axis=1
    )
    faces = faces.reshape(-1, 3)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = (np.cross(b - a, c - a) ** 2).sum(axis=1)
    faces = faces[area > 1e-16 * area.max(initial=0.0)]
    return vertices @ rotation.T, faces, normals @ rotation.T, uvs
