"""Stages that tests build on, and measures of triangle meshes."""

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from pegasus.scene.scene import Geometry


@pytest.fixture
def stage() -> Usd.Stage:
    """An empty stage in metres with z up."""
    empty = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(empty, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(empty, 1.0)
    return empty


@pytest.fixture
def area_and_volume() -> Callable[..., tuple[float, float]]:
    """Area and, by the divergence theorem, signed volume of triangles."""

    def measure(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, float]:
        a, b, c = (np.asarray(vertices, dtype=np.float64)[faces[:, k]] for k in range(3))
        cross = np.cross(b - a, c - a)
        return float(np.sqrt((cross**2).sum(axis=1)).sum() / 2), float((a * cross).sum() / 6)

    return measure


@pytest.fixture
def in_world() -> Callable[..., np.ndarray]:
    """Vertices of a geometry at its instance's place in the world."""

    def carry(geometry: Geometry, transform: np.ndarray) -> np.ndarray:
        return geometry.vertices.astype(np.float64) @ transform[:3, :3].T + transform[:3, 3]

    return carry
