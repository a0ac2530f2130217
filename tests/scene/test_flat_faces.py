"""Flat faces: ground without gaps, boxes that look out, textures in metres."""

import numpy as np
import pytest

from pegasus.scene.flat_faces import BOX_FACES, box_uvs, tiles


def test_tiles_cover_the_ground_once() -> None:
    """Ground would have gaps, or face down."""
    x, y = np.array([-3.0, -1.0, 0.0, 5.0]), np.array([0.0, 0.5, 2.0])
    points, faces = tiles(x, y)
    assert faces.shape == (6, 4)
    a, b, d = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 3]]
    areas = np.cross(b - a, d - a)[:, 2]
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(8.0 * 2.0)


def test_boxes_look_out_and_their_textures_are_in_metres() -> None:
    """A side would face inwards, or its bricks be stretched, mirrored or lie on their ends."""
    corners = np.array([[x, y, z] for z in (0, 3) for y in (0, 2) for x in (0, 5)], dtype=np.float64)
    sides = corners[BOX_FACES]
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    outward = sides.mean(axis=1) - corners.mean(axis=0)
    assert ((normals * outward).sum(axis=1) > 0).all()
    uvs = box_uvs(corners, BOX_FACES).reshape(6, 4, 2)
    a, b, d = uvs[:, 0], uvs[:, 1], uvs[:, 3]
    # Counter-clockwise in the texture as seen from outside, and as large as the side itself.
    areas = (b - a)[:, 0] * (d - a)[:, 1] - (b - a)[:, 1] * (d - a)[:, 0]
    np.testing.assert_allclose(areas, [10, 10, 15, 15, 6, 6])
    np.testing.assert_allclose(uvs[2:, :, 1], sides[2:, :, 2])
