"""Tests of cards of leaves and needles."""

from types import SimpleNamespace

import numpy as np
import pytest
from pxr import UsdGeom, UsdShade

from pegasus.scene.authoring import Surface
from pegasus.worlds.finishes.vegetation import OUTLINES
from pegasus.worlds.growth import Growth

ROUNDING = 1e-5
"""Meshes are written with five decimals."""
UP, NORTH = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)


def card(stage, name, rows, **bent):
    """Return the corners of a card along y: in space, shape (T, 3, 3), and in its image, shape (T, 3, 2)."""
    grown = Growth((0.0, 0.0, -5.0))
    grown.card((1.0, 2.0, 3.0), NORTH, UP, length=2.0, **bent)
    leaves = Surface(UsdShade.Material.Define(stage, "/Leaves"))
    grown.write_foliage(SimpleNamespace(stage=stage), "/Foliage", leaves, OUTLINES[name], rows=rows)
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/Foliage"))
    faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64)
    places = np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").ComputeFlattened(), dtype=np.float64)
    return points[faces], places[faces]


def areas(corners):
    """Return the signed areas of triangles in a plane."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return 0.5 * (one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("name", sorted(OUTLINES))
def test_cards_cover_their_outline_once(stage, name, rows):
    """Leaves would be missing, or drawn twice."""
    _, places = card(stage, name, rows)
    heights, widths = np.array(OUTLINES[name]).T
    covered = areas(places)
    assert covered.min() > 0.0
    area = ((widths[1:] + widths[:-1]) * np.diff(heights)).sum()
    assert covered.sum() == pytest.approx(area, abs=ROUNDING)
    points = places.reshape(-1, 2)
    assert (np.abs(points[:, 0] - 0.5) <= np.interp(points[:, 1], heights, widths) + ROUNDING).all()


def test_straight_cards_have_few_triangles(stage):
    """Forests of millions of needles would be slow."""
    assert len(card(stage, "needles", 2)[0]) == 4


@pytest.mark.parametrize("rows", [2, 5])
def test_cards_lie_where_their_image_is(stage, rows):
    """Twigs would be at another place, not folded, or straight instead of hanging."""
    corners, places = card(stage, "needles", rows, fold=0.1, sag=0.3)
    u, v = places[..., 0], places[..., 1]
    hang = 0.3 * (v if rows == 2 else v * v)
    expected = np.stack(
        [1.0 + 2.0 * (u - 0.5), 2.0 + 2.0 * v, 3.0 + 2.0 * (0.1 * np.abs(2.0 * u - 1.0) - hang)], axis=-1
    )
    np.testing.assert_allclose(corners, expected, atol=2 * ROUNDING)
