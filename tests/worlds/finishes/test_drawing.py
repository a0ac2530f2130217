"""Tests of layers, joints and strokes: areas, order and edges against closed forms."""

import numpy as np
import pytest

from pegasus.worlds.finishes.drawing import (
    Canvas,
    bar,
    blade,
    bond,
    disc,
    finer,
    grid,
    leaf,
    mix,
    pebble,
    ramp,
    rectangle,
    strokes,
    wander,
)


def one(x: float, y: float, angle: float, length: float, width: float) -> dict[str, np.ndarray]:
    names = ("x", "y", "angle", "length", "width")
    return {name: np.array([value]) for name, value in zip(names, (x, y, angle, length, width), strict=True)}


def test_a_layer_blends_by_its_cover():
    """A half-transparent layer would be opaque, or reach outside its cover."""
    canvas = Canvas(4, (0.2, 0.4, 0.6), 0.5, 0.01)
    cover = np.zeros((4, 4))
    cover[1] = 0.25
    canvas.lay(cover, color=(1.0, 0.0, 0.6), roughness=np.full((4, 4), 0.9), height=0.03)
    maps = canvas.maps()
    np.testing.assert_allclose(maps.color[1], np.tile([0.4, 0.3, 0.6], (4, 1)))
    np.testing.assert_allclose(maps.color[2], np.tile([0.2, 0.4, 0.6], (4, 1)))
    np.testing.assert_allclose(maps.roughness[:, 0], [0.5, 0.6, 0.5, 0.5])
    np.testing.assert_allclose(maps.height[:, 0], [0.01, 0.015, 0.01, 0.01])


def test_a_layer_takes_colours_of_a_row_or_of_every_pixel():
    """A shaded layer would be smeared along one axis."""
    ramped = np.linspace(0.0, 1.0, 4)[:, None, None] * np.ones(3)
    canvas = Canvas(4, (0.0, 0.0, 0.0), 0.5)
    canvas.lay(np.ones((4, 4)), color=ramped)
    np.testing.assert_allclose(canvas.color[:, 2, 0], np.linspace(0.0, 1.0, 4))
    canvas.lay(np.ones((4, 1)), color=ramped.transpose(1, 0, 2))
    np.testing.assert_allclose(canvas.color[3, :, 1], np.linspace(0.0, 1.0, 4))


def test_maps_stay_within_0_and_1():
    """Colours beyond white would wrap around in the image file."""
    canvas = Canvas(2, (0.9, 0.5, 0.0), 0.9)
    canvas.shade(np.full((2, 2), 1.5))
    canvas.roughness += 0.5
    maps = canvas.maps()
    assert maps.color.max() == 1.0
    assert maps.roughness.max() == 1.0


def test_ramps_and_mixtures():
    """Edges would be hard, reversed, or overshoot."""
    values = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(ramp(values, 0.0, 1.0), [0, 0, 0.5, 1, 1])
    np.testing.assert_allclose(ramp(values, 1.0, 0.0), [1, 1, 0.5, 0, 0])
    np.testing.assert_allclose(
        mix((0, 0.2, 1), (1, 0.4, 0), np.array([-1.0, 0.5, 2.0])), [[0, 0.2, 1], [0.5, 0.3, 0.5], [1, 0.4, 0]]
    )


def test_the_grid_runs_to_the_right_and_upwards():
    """Facades would be upside down."""
    x, y = grid(4, 2.0)
    np.testing.assert_allclose(x[0], [0.25, 0.75, 1.25, 1.75])
    np.testing.assert_allclose(y[:, 0], [1.75, 1.25, 0.75, 0.25])


def test_rectangles_have_their_area():
    """Windows would have another size than given, with soft or hard edges."""
    x, y = grid(400, 4.0)
    for soft in (0.001, 0.04):
        inside = rectangle(x, y, 0.5, 2.0, 1.0, 1.8, soft=soft)
        assert inside.sum() * 0.01**2 == pytest.approx(1.5 * 0.8, rel=2e-3)


def test_bonds_have_equal_units_that_wrap_around():
    """Bricks would be cut at the edges of the square, or differ in size."""
    x, y = grid(120, 2.0)
    bricks = bond(x, y, side=2.0, rows=6, columns=5, shift=0.5)
    assert (np.bincount(bricks.index.ravel()) == 120 * 120 // 30).all()
    assert bricks.count == 30
    assert bricks.edge.max() == pytest.approx(1 / 6, abs=2 / 120)
    assert bricks.edge.min() > 0.0
    # Every other row is moved by half a brick: a joint above the middle of a brick.
    rows = bricks.index[:, 60] // 5
    middle = bricks.x[:, 60] / 0.4
    assert np.abs(middle[rows % 2 == 0] - middle[rows % 2 == 1]) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.7853981633974483, 2.0])
def test_a_bar_covers_its_area_without_holes(angle):
    """Twigs would have holes, or be too thick."""
    drawn = strokes(256, **one(0.5, 0.5, angle, 0.5, 0.1), outline=bar)
    perimeter = 2 * (0.5 + 0.1) * 256
    area = drawn.cover.sum()
    assert 0 <= area - 0.5 * 0.1 * 256**2 < perimeter
    y, x = np.meshgrid(*2 * [(np.arange(256) + 0.5) / 256 - 0.5], indexing="ij")
    along, across = x * np.cos(angle) + y * np.sin(angle), -x * np.sin(angle) + y * np.cos(angle)
    inside = (np.abs(along) < 0.25) & (np.abs(across) < 0.05)
    assert drawn.cover[inside].all()
    np.testing.assert_allclose(drawn.along[inside], along[inside] / 0.25, atol=0.02)
    np.testing.assert_allclose(drawn.across[inside], across[inside] / 0.05, atol=0.1)


def test_outlines_cover_their_areas():
    """Leaves and stones would differ from their outlines."""
    u = np.linspace(-1, 1, 100_001)
    for outline in (disc, pebble, leaf, blade):
        drawn = strokes(512, **one(0.5, 0.5, 0.4, 0.6, 0.3), outline=outline)
        exact = 0.6 * 0.3 * 512**2 * outline(u).mean()
        assert drawn.cover.sum() == pytest.approx(exact, abs=2 * (0.6 + 0.3) * 512)
    assert disc(u).mean() == pytest.approx(np.pi / 4, abs=1e-4)


def test_later_strokes_lie_on_top_and_wrap_around():
    """Leaves would be cut at the image edges, or drawn in the wrong order."""
    low, high = one(0.0, 0.0, 0.0, 0.2, 0.2), one(0.0, 0.0, 0.0, 0.1, 0.1)
    both = {name: np.concatenate([low[name], high[name]]) for name in low}
    drawn = strokes(100, **both, outline=bar)
    for corner in (drawn.index[0, 0], drawn.index[0, -1], drawn.index[-1, 0], drawn.index[-1, -1]):
        assert corner == 1
    assert drawn.index[8, 8] == 0
    assert drawn.index[50, 50] == -1
    assert drawn.cover.sum() == pytest.approx(0.04 * 100**2, abs=41)


def test_bent_strokes_keep_their_middle_and_move_their_ends():
    """Blades of grass would all be straight, or shifted."""
    drawn = strokes(200, **one(0.5, 0.5, 0.0, 0.5, 0.02), outline=bar, bend=0.2)
    rows, columns = np.nonzero(drawn.cover)
    assert rows[columns == 100].mean() == pytest.approx(100, abs=1.5)
    assert rows[columns == 51].mean() == pytest.approx(100 + 0.2 * 0.5 * 200, abs=2.5)


def test_lines_follow_where_noise_passes_through_zero():
    """The width of cracks would depend on the slope of the noise."""
    place = (np.arange(200) + 0.5) / 200
    for slope in (1.0, 0.01):
        noise = np.broadcast_to(slope * np.sin(2 * np.pi * place), (200, 200))
        line = wander(noise, 3.0)
        np.testing.assert_allclose(line.sum(axis=1), 2 * 3.0, atol=1.0)
        assert line[:, 40:60].max() == 0.0


def test_finer_maps_keep_their_mean():
    """Cut-outs would shrink as they are drawn finer."""
    values = np.random.default_rng(0).uniform(size=(8, 8, 3))
    small = finer(values, 2)
    assert small.shape == (4, 4, 3)
    np.testing.assert_allclose(small[1, 2], values[2:4, 4:6].mean(axis=(0, 1)))
    np.testing.assert_allclose(finer(values[..., 0], 4)[1, 0], values[4:, :4, 0].mean())
