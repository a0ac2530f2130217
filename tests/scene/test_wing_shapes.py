"""Shapes of wings: closed, of the right volume, and flaps that fill their place."""

import math
from collections import Counter

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.scene.wing_shapes import FlapShape, WingShape, wing_pieces

PLAIN = WingShape(span=1.2, root_chord=0.3, tip_chord=0.18, sweep=0.2, dihedral=0.05, thickness=0.14)
CAMBERED = WingShape(span=1.0, root_chord=0.25, tip_chord=0.25, camber=0.04)
FLAPS = (FlapShape(chord=0.3, start=0.1, end=0.5), FlapShape(chord=0.25, start=0.55, end=0.95))


def triangles(piece):
    """Return the corners of the faces as triangles, shape (T, 3, 3)."""
    fans = [(f[0], f[k], f[k + 1]) for f in piece.faces for k in range(1, len(f) - 1)]
    return piece.points[np.array(fans)]


def volume(piece):
    """Return the volume that a closed mesh encloses; negative if its faces point inwards."""
    a, b, c = np.moveaxis(triangles(piece), 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


def assert_closed(piece):
    """Each edge of a closed mesh is passed once in each direction, and no face is degenerate."""
    edges = Counter((f[k], f[(k + 1) % len(f)]) for f in piece.faces for k in range(len(f)))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)
    a, b, c = np.moveaxis(triangles(piece), 1, 0)
    assert (np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0).all()


def section_area(shape, start=0.0, end=1.0):
    """Return the integral of the thickness of a NACA section by the squared chord."""
    t, x = shape.thickness, np.linspace(start, end, 20_001)
    y = 10 * t * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1015 * x**4)
    return float(np.trapezoid(y, x))


def squared_chords(shape, start=0.0, end=1.0):
    """Return the integral of the squared chord along the span."""
    share = np.linspace(start, end, 10_001)
    chord = shape.root_chord + share * (shape.tip_chord - shape.root_chord)
    return float(np.trapezoid(chord**2, share) * shape.span)


@pytest.mark.parametrize("shape", [PLAIN, CAMBERED])
@pytest.mark.parametrize("flaps", [(), FLAPS, (FlapShape(chord=0.4),)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_pieces_are_closed_and_have_their_volume(shape, flaps, mirrored):
    """An open or inverted piece would be seen through, and a wrong section would show."""
    fixed, turning = wing_pieces(shape, flaps, mirrored=mirrored)
    for piece in (*fixed, *(flap.piece for flap in turning)):
        assert_closed(piece)
    total = section_area(shape) * squared_chords(shape)
    cut = sum(
        section_area(shape, 1 - flap.chord, 1.0) * squared_chords(shape, flap.start, flap.end)
        for flap in flaps
    )
    assert sum(map(volume, fixed)) == pytest.approx(total - cut, rel=0.01)
    for flap, piece in zip(flaps, turning, strict=True):
        x = np.array([1 - flap.chord])
        nose = math.pi / 2 * shape.section(x)[1][0] ** 2
        area = section_area(shape, x[0], 1.0) + nose
        expected = area * squared_chords(shape, flap.start, flap.end)
        assert volume(piece.piece) == pytest.approx(expected, rel=0.01)


def test_outline():
    """Span, sweep, dihedral or chord would be other than asked for."""
    (piece,), _ = wing_pieces(PLAIN)
    x, y, z = piece.points.T
    assert y.min() == 0.0
    assert y.max() == 1.2
    tip = y == 1.2
    assert np.ptp(x[tip]) == pytest.approx(0.18)
    assert np.ptp(x[~tip]) == pytest.approx(0.3)
    assert x[tip].max() == pytest.approx(-1.2 * math.tan(0.2) + 0.045)
    assert (z[tip].max() + z[tip].min()) / 2 == pytest.approx(1.2 * math.tan(0.05), abs=1e-12)
    assert np.ptp(z[tip]) == pytest.approx(0.14 * 0.18, rel=0.01)
    (right,), _ = wing_pieces(PLAIN, mirrored=True)
    np.testing.assert_array_equal(right.points, piece.points * [1, -1, 1])


def test_camber_of_a_naca_4412():
    """The camber line would not be that of the series."""
    line, _ = CAMBERED.section(np.array([0.0, 0.2, 0.4, 0.7, 1.0]))
    np.testing.assert_allclose(line, [0.0, 0.03, 0.04, 0.03, 0.0], atol=1e-15)


def test_a_flap_turns_within_its_place():
    """A flap would leave a gap at its nose, or cut through the wing's skin, as it turns."""
    _, ((piece, hinge),) = wing_pieces(PLAIN, FLAPS[:1])
    root, direction = hinge[0], hinge[1] - hinge[0]
    np.testing.assert_allclose(hinge[:, 1], [0.12, 0.6])
    ring = piece.points[piece.points[:, 1] == piece.points[:, 1].min()]
    radius = PLAIN.section(np.array([0.7]))[1][0] * (0.3 - 0.1 * 0.12)
    ahead = ring[:, 0] >= root[0] - 1e-12
    distances = np.linalg.norm((ring - root)[ahead][:, [0, 2]], axis=1)
    np.testing.assert_allclose(distances, radius, rtol=1e-9)
    assert direction[1] > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WingShape(span=0.0, root_chord=1.0, tip_chord=1.0), "^span = 0.0: must be above 0"),
        (lambda: FlapShape(chord=1.0), "^chord = 1.0: must be above 0 and below 0.9"),
        (lambda: FlapShape(chord=0.2, start=0.5, end=0.4), "^start = 0.5: must be from 0 to below 0.4"),
        (
            lambda: wing_pieces(PLAIN, (FlapShape(chord=0.2, end=0.5), FlapShape(chord=0.2, start=0.4))),
            "^start = 0.4: flaps overlap, one ends at 0.5",
        ),
    ],
)
def test_wrong_shapes(make, message):
    """A wing without span, or flaps that overlap, would be drawn inside out."""
    with pytest.raises(ConfigError, match=message):
        make()
