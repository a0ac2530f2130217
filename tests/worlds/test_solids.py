"""Tests of solid shapes: closed, facing outwards, and of the right size."""

from pathlib import Path

import numpy as np
import pytest
from pxr import UsdGeom

from pegasus.scene.colliders import bounds
from pegasus.scene.scene import ColliderShape
from pegasus.scene.translation import translate
from pegasus.worlds import ROOT, Site
from pegasus.worlds.lettering import lettering, on_floor, on_wall
from pegasus.worlds.solids import (
    Solid,
    bar,
    cuboid,
    draw,
    ears,
    extrusion,
    joined,
    level_frame,
    loft,
    obstacle,
    panel,
    polygons,
    round_obstacle,
    sheet,
    tiles,
    tube,
)

ANGLE = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)]


def volume(solid: Solid) -> float:
    """Signed volume, by the divergence theorem."""
    a, b, c = (solid.points[solid.faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def is_closed(solid: Solid) -> bool:
    """Return whether every edge is used once in each direction, with coincident points merged."""
    _, same = np.unique(np.round(solid.points, 9), axis=0, return_inverse=True)
    faces = same.reshape(-1)[solid.faces]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return sorted(map(tuple, edges.tolist())) == sorted(map(tuple, edges[:, ::-1].tolist()))


def cut(size: float, bevel: float) -> float:
    """Volume of a cube whose edges are cut off at 45 degrees: twelve prisms and eight corners less."""
    return size**3 - 12 * (size - 2 * bevel) * bevel**2 / 2 - 8 * (bevel**3 - bevel**3 / 6)


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (cuboid((1, 2, 3), (1, 2, 3), yaw=30.0), 6.0),
        (cuboid((1, 2, 3), (1, 1, 1), bevel=0.1), cut(1.0, 0.1)),
        (bar((0, 0, 0), (1, 2, 2), 0.1, 0.2), 0.06),
        (bar((0, 0, 0), (0, 0, 2), 0.1, 0.2), 0.04),
        (tube((1, 0, 0), (1, 2, 0), 0.5, sides=24), 2 * 12 * 0.25 * np.sin(2 * np.pi / 24)),
        (tube((0, 0, 0), (0, 0, -3), 0.5, sides=24), 3 * 12 * 0.25 * np.sin(2 * np.pi / 24)),
        (tube((0, 0, 0), (0, 0, 3), 1.0, end_radius=0.5, sides=4), 2.0 * 3 * (1 + 0.5 + 0.25) / 3),
        (extrusion(ANGLE, (0, 0, 0), (3, 4, 0)), 15.0),
        (extrusion(ANGLE, (0, 0, 1), (0, 0, 3)), 6.0),
    ],
)
def test_shapes_are_closed_and_hold_their_volume(solid: Solid, expected: float) -> None:
    """A shape would be open, inside out or of another size."""
    assert volume(solid) == pytest.approx(expected, rel=1e-9)
    assert is_closed(solid)


def test_normals_agree_with_the_faces() -> None:
    """Surfaces would be lit from the wrong side."""
    ring = np.array([[np.cos(t), np.sin(t), 0.0] for t in np.linspace(0, 2 * np.pi, 25)])
    ring[-1] = ring[0]
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0))
    grid = np.stack([x, y, 0.1 * x * y], axis=2)
    for solid in (
        cuboid((0, 0, 0), (1, 2, 3), bevel=0.2),
        loft(np.stack([ring, ring * 0.7 + [0, 0, 1], ring * 0.1 + [0, 0, 2]])),
        extrusion(ANGLE, (0, 0, 0), (3, 4, 0)),
        sheet(grid),
        panel((0, 0, 0), (1, 2), yaw=45.0),
    ):
        a, b, c = (solid.points[solid.faces[:, k]] for k in range(3))
        outward = (np.cross(b - a, c - a)[:, None, :] * solid.normals[solid.faces]).sum(axis=2)
        assert (outward > 0).all()
        np.testing.assert_allclose((solid.normals**2).sum(axis=1), 1.0)


def test_texture_coordinates_are_in_metres() -> None:
    """Bricks of a joined shape would be stretched."""
    solid = joined(
        [cuboid((5, 1, 2), (1, 2, 3)), panel((0, 0, 0), (2, 1)), tube((0, 0, 0), (0, 0, 2), 0.5, sides=64)]
    )
    a, b = solid.faces[:, 0], solid.faces[:, 1]
    on_surface = np.sqrt(((solid.points[a] - solid.points[b]) ** 2).sum(axis=1))
    on_image = np.sqrt(((solid.uvs[a] - solid.uvs[b]) ** 2).sum(axis=1))
    np.testing.assert_allclose(on_image, on_surface, rtol=1e-9)


def test_a_panel_faces_south_and_turns() -> None:
    """Labels would be on the inner side."""
    np.testing.assert_allclose(
        panel((0, 0, 0), (1, 1)).normals, np.tile([0.0, -1.0, 0.0], (4, 1)), atol=1e-12
    )
    turned = panel((0, 0, 0), (1, 1), yaw=90.0)
    np.testing.assert_allclose(turned.normals, np.tile([1.0, 0.0, 0.0], (4, 1)), atol=1e-12)


def test_faces_look_away_from_a_point_whatever_their_order() -> None:
    """A tub with reversed corners would be visible from inside only."""
    square = np.array([[0.0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
    for ring in (square, square[::-1]):
        np.testing.assert_allclose(polygons([ring], towards=(0.5, 0.5, 0.0)).normals[:, 2], 1.0)


def test_ears_cover_a_concave_polygon_once() -> None:
    """Caps of prisms would overlap or reach outside."""
    star = np.array([[(2 if k % 2 else 1) * f(np.pi * k / 5) for f in (np.cos, np.sin)] for k in range(10)])
    triangles = star[ears(star)]
    u, v = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    areas = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    following = np.roll(star, -1, axis=0)
    assert len(triangles) == 8
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(
        (star[:, 0] * following[:, 1] - star[:, 1] * following[:, 0]).sum() / 2
    )


def test_a_level_frame_is_a_rotation_with_a_level_axis() -> None:
    """Rotated obstacles would be mirrored or rolled."""
    for direction in ((1, 2, 3), (0, 0, 2), (0, 0, -1), (-1, 0, 0.5)):
        frame = level_frame(direction)
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) == pytest.approx(1.0)
        np.testing.assert_allclose(frame[:, 0], np.array(direction) / np.linalg.norm(direction), atol=1e-12)
        assert frame[2, 1] == 0.0


def test_obstacles_collide_where_they_are_and_are_not_drawn(tmp_path: Path) -> None:
    """A detailed mesh's collider would be displaced, or be visible."""
    site = Site(tmp_path, 1)
    paint = site.paint("grey", (0.5, 0.5, 0.5))
    obstacle(site.stage, f"{ROOT}/Box", (1, 2, 3), (2, 0.2, 0.4), paint, rotation=level_frame((0, 0, 1)))
    obstacle(site.stage, f"{ROOT}/Plain", (1, 2, 3), (2, 0.2, 0.4), paint)
    round_obstacle(site.stage, f"{ROOT}/Round", (0, 0, 1), (0, 3, 1), 0.25, paint)
    draw(site.stage, f"{ROOT}/Drawn", [cuboid((0, 0, 0), (1, 1, 1)), cuboid((2, 0, 0), (1, 1, 1))], paint)
    site.stage.GetRootLayer().Export(str(tmp_path / "a.usda"))
    scene = translate(tmp_path / "a.usda")
    assert [item.path for item in scene.instances] == [f"{ROOT}/Drawn"]
    by_path = {item.path.rsplit("/", 1)[1]: item for item in scene.colliders}
    assert by_path["Drawn"].shape is ColliderShape.BOX
    for name, low, high in (
        ("Box", (0.9, 1.8, 2.0), (1.1, 2.2, 4.0)),
        ("Plain", (0.0, 1.9, 2.8), (2.0, 2.1, 3.2)),
        ("Round", (-0.25, 0.0, 0.75), (0.25, 3.0, 1.25)),
        ("Drawn", (-0.5, -0.5, -0.5), (2.5, 0.5, 0.5)),
    ):
        np.testing.assert_allclose(np.array(bounds(by_path[name])), [low, high], atol=1e-5)
    assert UsdGeom.Mesh(site.stage.GetPrimAtPath(f"{ROOT}/Drawn")).GetSubdivisionSchemeAttr().Get() == "none"


def test_letters_have_their_height_and_can_be_read() -> None:
    """Signs would be mirrored, or of another size."""
    text = lettering("AB-07", 0.5)
    assert np.ptp(text.points[:, 2]) == pytest.approx(0.5, rel=0.15)
    np.testing.assert_allclose(text.normals, np.tile([0.0, -1.0, 0.0], (len(text.points), 1)), atol=1e-12)
    # An L has its foot to the right for its reader: to the east when read looking north.
    letter = lettering("L", 1.0)
    low = letter.points[letter.points[:, 2] < -0.4]
    assert low[:, 0].max() > 0.2
    flat = on_floor(letter, 3.0, 4.0)
    np.testing.assert_allclose(flat.normals[:, 2], 1.0)
    assert flat.points[flat.points[:, 1] < 4.0 - 0.4][:, 0].max() > 3.2
    np.testing.assert_allclose(on_wall(letter, (0, 0, 0), yaw=90.0).normals[:, 0], 1.0)


def test_tiles_cover_the_ground_once() -> None:
    """Ground would have gaps, or face down."""
    x, y = np.array([-3.0, -1.0, 0.0, 5.0]), np.array([0.0, 0.5, 2.0])
    points, faces = tiles(x, y)
    assert faces.shape == (6, 4)
    a, b, d = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 3]]
    areas = np.cross(b - a, d - a)[:, 2]
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(8.0 * 2.0)
