"""Loose bounding boxes: projections of whole entities, occluded parts included."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.contracts.renderer import View
from pegasus.labels.entities import EntityShape, LabelledEntity, transformed

# Largest distance between an edge that a lens bends and the chords between its samples [pixels].
_SAGITTA = 0.002
# Bisections of an angle of at most pi.
_HALVINGS = 30


class LooseBoxes(NamedTuple):
    """Bounding boxes of the projections of E entities."""

    extent: Array
    """Left, upper, right and lower bound of the projection [pixels], not cut to the image, NaN for
    none, shape (E, 4)."""
    box: npt.NDArray[np.int32]
    """Covered columns and rows of the image: x_min, y_min, x_max, y_max, inclusive, by pixel centres; -1
    where no pixel is covered, shape (E, 4)."""


def loose_boxes(entities: Sequence[LabelledEntity], view: View) -> LooseBoxes:
    """Return the bounding boxes of the projections of entities, whether occluded or not.

    Under a pinhole lens the corners of the convex hull bound the projection exactly; geometry that crosses
    the near plane is clipped there. Under a lens with distortion, the edges of all triangles are sampled as
    finely as their images bend, up to the angle that the lens reaches.

    Args:
        entities: Entities; one without a shape has no box.
        view: The camera.
    """
    width, height = view.resolution
    extent = np.full((len(entities), 4), np.nan)
    reach = None if rectilinear(view) else _reach(view)
    for k in np.flatnonzero(possibly_visible(entities, view)).tolist():
        shape = entities[k].shape
        assert shape is not None
        extent[k] = _projected(shape, to_camera(view) @ entities[k].pose, view, reach)
    low = np.ceil(extent[:, :2] - 0.5)
    high = np.floor(extent[:, 2:] - 0.5)
    # A projection between pixel centres belongs to the pixel of its middle.
    middle = np.floor(0.5 * (extent[:, :2] + extent[:, 2:]))
    thin = high < low
    low, high = np.where(thin, middle, low), np.where(thin, middle, high)
    last = np.array([width - 1.0, height - 1.0])
    inside = ((high >= 0) & (low <= last)).all(axis=1)
    box = np.full((len(entities), 4), -1, np.int32)
    box[inside] = np.concatenate([np.maximum(low, 0), np.minimum(high, last)], axis=1)[inside]
    return LooseBoxes(extent, box)


def rectilinear(view: View) -> bool:
    """Return whether the lens maps straight lines to straight lines, as its intrinsic matrix does."""
    border = _border(view.resolution)
    directions = view.lens.directions(border, view.resolution)
    if not (directions[:, 2] > 0).all():
        return False
    homogeneous = directions @ view.lens.matrix(view.resolution).T
    return bool(np.abs(homogeneous[:, :2] / homogeneous[:, 2:] - border).max() < 1e-3)


def to_camera(view: View) -> Array:
    """Return the transform from the world to the optical frame, shape (4, 4)."""
    transform = np.eye(4)
    transform[:3, :3] = view.rotation.T
    transform[:3, 3] = -view.rotation.T @ view.position
    return transform


def possibly_visible(entities: Sequence[LabelledEntity], view: View) -> BoolArray:
    """Return which entities' bounding spheres intersect the cone around the image, shape (E,)."""
    seen = np.zeros(len(entities), np.bool_)
    indices = [k for k, entity in enumerate(entities) if entity.shape is not None]
    if not indices:
        return seen
    poses = np.stack([entities[k].pose for k in indices])
    spheres = [shape.sphere for k in indices if (shape := entities[k].shape) is not None]
    centers = np.einsum("eij,ej->ei", poses[:, :3, :3], np.stack([s[0] for s in spheres])) + poses[:, :3, 3]
    radii = np.array([s[1] for s in spheres])
    local = (centers - view.position) @ view.rotation
    distance = np.sqrt((local * local).sum(axis=1))
    cosines = view.lens.directions(_border(view.resolution), view.resolution)[:, 2]
    # A border outside the image circle does not bound the cone.
    half_angle = np.arccos(cosines.min()) if np.isfinite(cosines).all() else math.pi
    within = distance <= radii
    ratio = np.minimum(radii / np.maximum(distance, 1e-12), 1.0)
    angle = np.arccos(np.clip(local[:, 2] / np.maximum(distance, 1e-12), -1.0, 1.0))
    reaches = within | (angle - np.arcsin(ratio) <= half_angle)
    seen[indices] = reaches & (distance - radii <= view.far) & (distance + radii >= view.near)
    return seen


def _border(resolution: tuple[int, int]) -> Array:
    width, height = resolution
    u, v = np.linspace(0.0, width, 9), np.linspace(0.0, height, 9)
    sides = [np.stack([u, np.full(9, y)], axis=-1) for y in (0.0, float(height))]
    sides += [np.stack([np.full(9, x), v], axis=-1) for x in (0.0, float(width))]
    return np.concatenate(sides)


def _projected(shape: EntityShape, transform: Array, view: View, reach: Array | None) -> Array:
    if reach is None:
        points = transformed(shape.outline, transform)
        behind = points[:, 2] < view.near
        if behind.all():
            return np.full(4, np.nan)
        if behind.any():
            points = _cut(transformed(shape.vertices, transform), shape.edges, view.near)
        pixels = view.lens.project(points, view.resolution)
    else:
        pixels = _bent(shape, transform, view, reach)
    pixels = pixels[_finite(pixels)]
    if not len(pixels):
        return np.full(4, np.nan)
    return np.concatenate([pixels.min(axis=0), pixels.max(axis=0)])


def _bent(shape: EntityShape, transform: Array, view: View, reach: Array) -> Array:
    """Return projections that bound those of a shape under a lens with distortion, shape (N, 2).

    Seen from the camera, an edge is an arc of a great circle. Arcs of an angle a bend by some f a^2 / 8 for a
    focal length f, which gives the number of samples. Where an arc leaves the reach of the lens, its last
    point is found by bisection. The outline of a shape that leaves this reach also runs along the reach
    itself, of which one point on each side says whether it is covered.
    """
    rays = _unit(transformed(shape.vertices, transform))
    pixels = view.lens.project(rays, view.resolution)
    seen = _finite(pixels)
    first, last = shape.edges.T
    used = np.zeros(len(rays), np.bool_)
    used[shape.edges] = True
    chord = rays[last] - rays[first]
    angle = 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt((chord * chord).sum(axis=1)), 1.0))
    step = math.sqrt(8.0 * _SAGITTA / float(view.lens.matrix(view.resolution).max()))
    count = np.ceil(angle / step).astype(np.int64)
    long = np.flatnonzero((count > 1) | (seen[first] != seen[last]))
    count = np.maximum(count[long], 1)
    owner = np.repeat(np.arange(len(long)), count + 1)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    part, whole = (number / count[owner])[:, None], angle[long][owner, None]
    start, end = rays[first[long]][owner], rays[last[long]][owner]
    arc = _unit(np.sin((1.0 - part) * whole) * start + np.sin(part * whole) * end)
    found = [pixels[used], between := view.lens.project(arc, view.resolution)]
    found.append(view.lens.project(reach[_covered(shape, transform, reach)], view.resolution))
    if not (inside := _finite(between)).all():
        cross = np.flatnonzero((inside[1:] != inside[:-1]) & (owner[1:] == owner[:-1]))
        near = np.where(inside[cross][:, None], arc[cross], arc[cross + 1])
        far = np.where(inside[cross][:, None], arc[cross + 1], arc[cross])
        found.append(view.lens.project(_last_seen(near, far, view), view.resolution))
    return np.concatenate(found)


def _unit(vectors: Array) -> Array:
    unit: Array = vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)), 1e-300)
    return unit


def _finite(pixels: Array) -> BoolArray:
    finite: BoolArray = np.isfinite(pixels[:, 0]) & np.isfinite(pixels[:, 1])
    return finite


def _last_seen(near: Array, far: Array, view: View) -> Array:
    """Return the last directions from `near` to `far` that the lens projects, shape (N, 3).

    Args:
        near: Directions that the lens projects, shape (N, 3).
        far: Directions that it does not project, less than pi away, shape (N, 3).
        view: The camera.
    """
    for _ in range(_HALVINGS):
        middle = _unit(near + far)
        seen = _finite(view.lens.project(middle, view.resolution))[:, None]
        near, far = np.where(seen, middle, near), np.where(seen, far, middle)
    return near


def _reach(view: View) -> Array:
    """Return the last directions to the left, right, up and down that the lens projects, shape (4, 3)."""
    axis = np.array([0.0, 0.0, 1.0])
    aside = np.array([(-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)])
    wide = _finite(view.lens.project(aside, view.resolution))[:, None]
    return _last_seen(np.where(wide, aside, axis), np.where(wide, -axis, aside), view)


def _covered(shape: EntityShape, transform: Array, rays: Array) -> BoolArray:
    """Return which rays from the camera meet a shape (Moeller and Trumbore 1997), shape (R,)."""
    covered = np.zeros(len(rays), np.bool_)
    center, radius = shape.sphere
    center = transformed(center, transform)
    aside = np.cross(rays, center)
    if (((aside * aside).sum(axis=1) > radius**2) | (rays @ center < -radius)).all():
        return covered
    for geometry, place in shape.pieces:
        a, b, c = np.moveaxis(
            transformed(geometry.vertices.astype(np.float64), transform @ place)[geometry.faces], 1, 0
        )
        ab, ac = b - a, c - a
        beside = np.cross(a, ab)
        for k, ray in enumerate(rays):
            across = np.cross(ray, ac)
            scale = (across * ab).sum(axis=1)
            # Both coordinates within the triangle and the distance, times the determinant, made positive.
            sign = np.sign(scale)
            u, v = -sign * (across * a).sum(axis=1), -sign * (beside @ ray)
            ahead = -sign * (beside * ac).sum(axis=1) > 0
            covered[k] |= bool((ahead & (u >= 0) & (v >= 0) & (u + v <= sign * scale)).any())
    return covered


def _cut(vertices: Array, edges: IntArray, near: float) -> Array:
    """Return the vertices in front of a plane, and where edges cross it."""
    front = vertices[:, 2] >= near
    start, end = vertices[edges[front[edges[:, 0]] != front[edges[:, 1]]].T]
    part = (near - start[:, 2:]) / (end[:, 2:] - start[:, 2:])
    crossed = start + part * (end - start)
    # A lens may not project points on the plane itself.
    crossed[:, 2] = math.nextafter(near, math.inf)
    return np.concatenate([vertices[front], crossed])
