"""Tests of writing shapes: their poses when they are read again."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from pegasus.scene.authoring import Surface, box, cylinder, material, new_stage, rotation_to
from pegasus.scene.translation import translate


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -2), (1, 0, 0), (0.3, -0.4, -0.8), (1e-9, 0, -1)])
def test_rotation_to_turns_z_to_the_axis(axis: tuple[float, ...]) -> None:
    """Rotors and struts would have a wrong direction, or a downward one be mirrored."""
    rotation = rotation_to(axis)
    np.testing.assert_allclose(rotation[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-8)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-8)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_shapes_are_where_they_were_put() -> None:
    """A strut would not reach its ends, or a box be rotated about the wrong axis."""
    stage: Usd.Stage = new_stage("Root")
    look = Surface(material(stage, "/Root/Look", (0.5, 0.5, 0.5)))
    start, end = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 5.0])
    cylinder(stage, "/Root/Strut", start, end, 0.25, look)
    box(stage, "/Root/Box", (1.0, 0.0, 0.0), (4.0, 2.0, 1.0), look, yaw=90.0)
    scene = translate(stage)
    corners = {}
    for instance in scene.instances:
        vertices = scene.geometries[instance.geometry].vertices
        corners[instance.path] = vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
    along = (corners["/Root/Strut"] - start) @ (end - start) / 3.0
    assert (along.min(), along.max()) == pytest.approx((0.0, 3.0), abs=1e-5)
    off = np.linalg.norm(np.cross(corners["/Root/Strut"] - start, (end - start) / 3.0), axis=1)
    assert off.max() == pytest.approx(0.25, abs=1e-5)
    np.testing.assert_allclose(corners["/Root/Box"].min(axis=0), (0.0, -2.0, -0.5), atol=1e-6)
    np.testing.assert_allclose(corners["/Root/Box"].max(axis=0), (2.0, 2.0, 0.5), atol=1e-6)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
