"""Loose bounding boxes: projections of whole entities, occluded parts included."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.core.renderer import View
from pegasus.labels.entities import EntityShape, LabelledEntity, transformed

# A lens with distortion maps edges to curves, which are sampled at so many points.
_POINTS_PER_EDGE = 9
_MOST_EDGES = 20_000


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
    the near plane is clipped there. Under a lens with distortion, edges are sampled.

    Args:
        entities: Entities; one without a shape has no box.
        view: The camera.
    """
    width, height = view.resolution
    extent = np.full((len(entities), 4), np.nan)
    straight = rectilinear(view)
    for k in np.flatnonzero(possibly_visible(entities, view)).tolist():
        shape = entities[k].shape
        assert shape is not None
        extent[k] = _projected(shape, to_camera(view) @ entities[k].pose, view, straight)
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


def _projected(shape: EntityShape, transform: Array, view: View, straight: bool) -> Array:
    points = transformed(shape.outline, transform)
    if straight:
        behind = points[:, 2] < view.near
        if behind.all():
            return np.full(4, np.nan)
        if behind.any():
            points = _cut(transformed(shape.vertices, transform), shape.edges, view.near)
    elif len(shape.edges) <= _MOST_EDGES:
        start, end = transformed(shape.vertices, transform)[shape.edges.T]
        part = np.linspace(0.0, 1.0, _POINTS_PER_EDGE)[:, None, None]
        points = (start * (1 - part) + end * part).reshape(-1, 3)
    pixels = view.lens.project(points, view.resolution)
    pixels = pixels[np.isfinite(pixels).all(axis=1)]
    if not len(pixels):
        return np.full(4, np.nan)
    return np.concatenate([pixels.min(axis=0), pixels.max(axis=0)])


def _cut(vertices: Array, edges: IntArray, near: float) -> Array:
    """Return the vertices in front of a plane, and where edges cross it."""
    front = vertices[:, 2] >= near
    start, end = vertices[edges[front[edges[:, 0]] != front[edges[:, 1]]].T]
    part = (near - start[:, 2:]) / (end[:, 2:] - start[:, 2:])
    crossed = start + part * (end - start)
    # A lens may not project points on the plane itself.
    crossed[:, 2] = math.nextafter(near, math.inf)
    return np.concatenate([vertices[front], crossed])
