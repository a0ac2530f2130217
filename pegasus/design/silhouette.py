"""Silhouette of a vehicle along its axes, from its meshes."""

import numpy as np
from PIL import Image, ImageDraw

from pegasus.base.arrays import Array
from pegasus.core.aircraft import Aircraft
from pegasus.core.drawn_vehicle import DrawnVehicle
from pegasus.scene.scene import Scene

_PIXELS = 1500
"""Pixels along the longer side of a drawn silhouette; its rim is off by at most a pixel."""


def silhouette_areas(vehicle: Aircraft) -> Array:
    """Return the areas of a vehicle's silhouette along x, y and z, without its propellers [m^2], shape (3,).

    Each is the area behind which the meshes hide the view along the axis: the cross section that a drag
    coefficient refers to.

    Args:
        vehicle: The vehicle.
    """
    return _areas(DrawnVehicle(vehicle).body)


def _areas(scene: Scene) -> Array:
    corners = []
    for item in scene.instances:
        geometry = scene.geometries[item.geometry]
        points = geometry.vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        corners.append(points[geometry.faces])
    if not corners:
        return np.zeros(3)
    triangles = np.concatenate(corners)
    areas = np.empty(3)
    for axis in range(3):
        flat = np.delete(triangles, axis, axis=2)
        low = flat.min(axis=(0, 1))
        pixel = float((flat.max(axis=(0, 1)) - low).max()) / _PIXELS
        size = np.ceil((flat.max(axis=(0, 1)) - low) / pixel).astype(int) + 2
        image = Image.new("1", (int(size[0]), int(size[1])))
        draw = ImageDraw.Draw(image)
        for triangle in (flat - low) / pixel:
            draw.polygon([tuple(corner) for corner in triangle.tolist()], fill=1)
        areas[axis] = np.count_nonzero(np.asarray(image)) * pixel**2
    return areas
