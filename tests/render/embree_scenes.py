"""Small scenes, views and images for tests of renderers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.optics.lens import Pinhole
from pegasus.render import View
from pegasus.scene.scene import Entity, Geometry, Instance, Light, Material, Scene

LAMBERT = {"ior": 1.0, "roughness": 1.0}
"""A surface without any reflection but the diffuse one."""


def quad(size: float = 1.0) -> Geometry:
    """Return a square in x and y that faces up, with texture coordinates from its lower left corner."""
    half = size / 2
    points = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]], np.float32)
    normals = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
    uvs = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    return Geometry(points, np.array([[0, 1, 2], [0, 2, 3]], np.uint32), normals, uvs)


def cube(size: float = 1.0) -> Geometry:
    """Return a cube about the origin."""
    sides = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            turn = np.roll(np.eye(3), axis + 1, axis=1) * np.array([1.0, sign, 1.0])[:, None]
            flat = quad(size)
            turn[2] *= sign
            points = flat.vertices @ turn + turn[2] * size / 2
            sides.append((points, flat.normals @ turn))
    faces = np.concatenate([quad().faces + 4 * k for k in range(6)]).astype(np.uint32)
    points, normals = (np.concatenate(part).astype(np.float32) for part in zip(*sides, strict=True))
    return Geometry(points, faces, normals)


def ball(radius: float, rows: int = 256) -> Geometry:
    """Return a sphere about the origin, finely cut."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rows), np.linspace(0, 2 * np.pi, 2 * rows), indexing="ij")
    parts = (np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta))
    normals = np.stack(parts, axis=-1).reshape(-1, 3)
    number = np.arange(rows * 2 * rows).reshape(rows, 2 * rows)
    a, b, c, d = (
        part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    )
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Geometry(
        (radius * normals).astype(np.float32), faces.astype(np.uint32), normals.astype(np.float32)
    )


def at(position: Sequence[float], rotation: Array | None = None) -> Array:
    """Return a pose."""
    pose = np.eye(4)
    pose[:3, 3] = position
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def scene(*items: tuple[str, Geometry, Any, Array], lights: Sequence[Light] = ()) -> Scene:
    """Return a scene of objects: name, geometry, material or its inputs, and pose."""
    geometries, materials, instances, entities = {}, {}, [], {}
    for name, geometry, look, pose in items:
        path = f"/World/{name}"
        material = look if isinstance(look, Material) else Material(path=f"/Looks/{name}", **look)
        geometries[path], materials[material.path] = geometry, material
        labels = {"class": name}
        instances.append(Instance(path, path, material.path, pose, labels, path))
        entities[path] = Entity(path, labels, pose)
    return Scene("test", geometries, materials, instances, entities, lights=list(lights))


def sun(direction: Sequence[float], strength: float = 1000.0) -> Light:
    """Return a sun that stands in a direction."""
    axis = np.array(direction) / np.linalg.norm(direction)
    aside = np.cross(axis, [0.3, 0.5, 0.8])
    aside /= np.linalg.norm(aside)
    pose = at((0, 0, 0), np.stack([aside, np.cross(axis, aside), axis], axis=1))
    return Light("/Sun", "DistantLight", pose, (strength,) * 3, {"angle": 0.53})


def dome(radiance: float = 100.0) -> Light:
    """Return a dome light without an image."""
    return Light("/Sky", "DomeLight", np.eye(4), (radiance,) * 3, {})


def look(
    eye: Sequence[float],
    target: Sequence[float],
    resolution: tuple[int, int] = (64, 48),
    fov: float = 60.0,
    **more: float,
) -> View:
    """Return a camera that looks at a target; north is up in views straight down."""
    forward = np.array(target, float) - eye
    forward /= np.linalg.norm(forward)
    up = np.array([0.0, 1.0, 0.0]) if abs(forward[2]) > 0.999 else np.array([0.0, 0.0, 1.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward], axis=1)
    lens = Pinhole(horizontal_fov=math.radians(fov))
    return View(lens, resolution, np.array(eye, dtype=np.float64), rotation, **more)


def world_rays(view: View) -> Array:
    """Return the directions of a view's pixels in the world, shape (H, W, 3)."""
    width, height = view.resolution
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return view.lens.directions(np.stack([x, y], axis=-1), view.resolution) @ view.rotation.T


DOWN = look((0, 0, 5), (0, 0, 0))
"""A camera 5 m above the origin that looks straight down."""
