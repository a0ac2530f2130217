"""Prims of town objects: drawn meshes and invisible colliders."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pxr import Usd, UsdGeom, UsdShade

from pegasus.base.arrays import Array
from pegasus.scene.authoring import Surface, collide, mesh, physics_material, place
from pegasus.scene.faces import loft_faces
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.site import Site
from pegasus.worlds.town import palette
from pegasus.worlds.town.parts import Parts

CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.1)


def draw(
    site: Site,
    path: str,
    parts: Parts,
    *,
    scope: str,
    classes: Mapping[str, str] | None = None,
    given: Mapping[str, Surface] | None = None,
) -> None:
    """Write a mesh below a prim for each surface of an object.

    Args:
        site: The world.
        path: Path of the prim.
        parts: The object.
        scope: Path of the prim that its materials lie below.
        classes: Semantic classes of surfaces.
        given: Surfaces outside the palette.
    """
    known = dict(given or {})
    looks = palette.surfaces(site, [key for key in parts.keys if key not in known], scope=scope)
    parts.write(site.stage, path, {**looks, **known}, classes=classes)


def fill(
    site: Site,
    path: str,
    parts: Parts,
    *,
    boxes: Iterable[tuple[Sequence[float], Sequence[float]]] = (),
    posts: Iterable[tuple[tuple[float, float, float], float, float]] = (),
    hulls: Iterable[Array] = (),
    classes: Mapping[str, str] | None = None,
    given: Mapping[str, Surface] | None = None,
) -> None:
    """Write a prototype: drawn meshes and invisible colliders.

    Args:
        site: The world.
        path: Path of the prototype.
        parts: Drawn parts.
        boxes: Least and greatest corners of boxes [m].
        posts: Feet, radii and heights of upright cylinders [m].
        hulls: Convex colliders: consecutive rings of points [m], each (R, C, 3).
        classes: As for `draw`.
        given: As for `draw`.
    """
    stage = site.stage
    draw(site, path, parts, scope=path, classes=classes, given=given)
    boxes, posts, hulls = list(boxes), list(posts), list(hulls)
    if not (boxes or posts or hulls):
        return
    contact = physics_material(stage, f"{path}/Looks/Contact", CONTACT)
    for k, (low, high) in enumerate(boxes):
        solid_box(stage, f"{path}/Solid{k}", low, high, contact)
    for k, ((x, y, z), radius, height) in enumerate(posts):
        schema = UsdGeom.Cylinder.Define(stage, f"{path}/Post{k}")
        schema.CreateRadiusAttr(radius)
        schema.CreateHeightAttr(height)
        _guide(schema, (x, y, z + height / 2), contact)
    for k, rings in enumerate(hulls):
        corners, faces = rings.reshape(-1, 3), loft_faces(*rings.shape[:2])
        look = Surface(contact, contact)
        shape = mesh(stage, f"{path}/Hull{k}", corners, faces, look, approximation="convexHull")
        shape.CreatePurposeAttr(UsdGeom.Tokens.guide)


def solid_box(
    stage: Usd.Stage, path: str, low: Sequence[float], high: Sequence[float], contact: UsdShade.Material
) -> None:
    """Write an invisible collision box.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        low: Least corner [m], shape (3,).
        high: Greatest corner [m], shape (3,).
        contact: Contact properties.
    """
    schema = UsdGeom.Cube.Define(stage, path)
    schema.CreateSizeAttr(1.0)
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    _guide(schema, (a + b) / 2, contact, scale=b - a)


def _guide(
    schema: UsdGeom.Gprim,
    center: Sequence[float] | Array,
    contact: UsdShade.Material,
    *,
    scale: Array | None = None,
) -> None:
    """Place an invisible collider."""
    schema.CreatePurposeAttr(UsdGeom.Tokens.guide)
    place(schema.GetPrim(), center, scale=(1.0, 1.0, 1.0) if scale is None else scale)
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(schema, Usd.TimeCode.Default())
    UsdGeom.Boundable(schema).CreateExtentAttr(extent)
    collide(schema.GetPrim(), contact)
