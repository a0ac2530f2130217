"""Tests of every finish: no seams, plausible colours, and repeatability."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.streams import stream
from pegasus.worlds.finishes import FINISHES, Maps
from pegasus.worlds.finishes.finish import normal_map
from pegasus.worlds.finishes.vegetation import OUTLINES

NAMES = sorted(FINISHES)
PIXELS = 256
CUT_OUT = ("leaves", "needles", "road_marking")
FACADES = ("facade_brick", "facade_flats", "facade_office", "facade_shop", "glass_panes")

# Bands of mean linear luminance, about published albedos: fresh asphalt 0.04, worn asphalt 0.12, dry soil
# 0.17, brick and stone 0.2 to 0.4, dry sand 0.39, new concrete 0.55, fresh snow 0.80 to 0.95; conifers 0.08
# to 0.15 and grass 0.15 to 0.25 over the whole spectrum, of which the near infrared is the brighter part.
# Haze lightens distant land.
ALBEDO = {
    "asphalt": (0.08, 0.15),
    "bark": (0.04, 0.15),
    "birch_bark": (0.35, 0.60),
    "brick": (0.12, 0.25),
    "brushed_metal": (0.45, 0.65),
    "cardboard": (0.22, 0.40),
    "carpet": (0.04, 0.15),
    "ceiling_panels": (0.60, 0.85),
    "cliff": (0.10, 0.30),
    "concrete": (0.30, 0.50),
    "corrugated_metal": (0.30, 0.55),
    "fabric": (0.20, 0.40),
    "facade_brick": (0.10, 0.30),
    "facade_flats": (0.30, 0.55),
    "facade_office": (0.12, 0.30),
    "facade_shop": (0.05, 0.20),
    "far_hills": (0.05, 0.15),
    "far_mountains": (0.10, 0.25),
    "far_wood": (0.02, 0.08),
    "floor_epoxy": (0.25, 0.40),
    "forest_floor": (0.05, 0.15),
    "glass_panes": (0.04, 0.15),
    "grass": (0.08, 0.20),
    "gravel": (0.15, 0.35),
    "hazard_stripes": (0.15, 0.35),
    "leaves": (0.07, 0.18),
    "meadow": (0.08, 0.20),
    "needles": (0.04, 0.12),
    "old_plaster": (0.40, 0.65),
    "painted_metal": (0.35, 0.55),
    "paving": (0.20, 0.40),
    "plain_cardboard": (0.22, 0.40),
    "plaster": (0.50, 0.75),
    "plywood": (0.30, 0.50),
    "road_marking": (0.50, 0.80),
    "roadway": (0.08, 0.15),
    "rock": (0.12, 0.30),
    "roof_tiles": (0.07, 0.25),
    "rubber": (0.02, 0.06),
    "sand": (0.25, 0.45),
    "sidewalk": (0.20, 0.40),
    "snow": (0.80, 0.95),
    "soil": (0.05, 0.17),
    "tarpaulin": (0.05, 0.15),
    "thin_grass": (0.06, 0.17),
    "wall_paint": (0.50, 0.75),
    "wood_planks": (0.10, 0.30),
}


@cache
def painted(name: str) -> Maps:
    return FINISHES[name].paint(np.random.default_rng(1), PIXELS)


def linear(color: np.ndarray) -> np.ndarray:
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def seam(values: np.ndarray) -> float:
    """Return the difference of opposite edges relative to the largest of neighbouring rows or columns."""
    found = []
    for axis in (0, 1):
        other = tuple(k for k in range(values.ndim) if k != axis)
        steps = np.abs(values - np.roll(values, 1, axis=axis)).mean(axis=other)
        found.append(steps[0] / max(steps[1:].max(), 1e-9))
    return max(found)


def test_a_seam_is_noticed():
    """The measure of seams would accept an image with a seam."""
    for name in ("brick", "grass", "plaster", "wood_planks"):
        cut = painted(name).color[: PIXELS * 7 // 10, : PIXELS * 7 // 10]
        whole, broken = seam(painted(name).color), seam(cut)
        assert broken > 1.25 * whole, name


@pytest.mark.parametrize("name", NAMES)
def test_opposite_edges_fit(name):
    """Walls and grounds would show a line at each repetition of the image."""
    maps = painted(name)
    # Where a joint falls on the edge it is one of several, and may be the clearest.
    assert seam(maps.color) <= 1.15
    assert seam(maps.height) <= 1.15


@pytest.mark.parametrize("name", NAMES)
def test_maps_are_sound(name):
    """An image would be clipped, empty, or have another shape than the others."""
    maps = painted(name)
    assert maps.color.shape == (PIXELS, PIXELS, 3)
    assert maps.roughness.shape == maps.height.shape == (PIXELS, PIXELS)
    for values in (maps.color, maps.roughness):
        assert values.min() >= 0.0
        assert values.max() <= 1.0
        assert np.ptp(values) > 0.02
    assert np.isfinite(maps.height).all()
    assert np.ptp(maps.height) > 0.0
    assert (maps.opacity is not None) == (name in CUT_OUT)


@pytest.mark.parametrize("name", NAMES)
def test_albedo_is_plausible(name):
    """Surfaces would be too bright or too dark under one sun, or their colour off."""
    maps = painted(name)
    shown = np.ones((PIXELS, PIXELS)) if maps.opacity is None else maps.opacity
    mean = (linear(maps.color) * shown[..., None]).sum(axis=(0, 1)) / shown.sum()
    low, high = ALBEDO[name]
    assert low <= mean @ [0.2126, 0.7152, 0.0722] <= high
    if name in ("grass", "meadow", "leaves", "needles"):
        assert mean[1] == mean.max()


@pytest.mark.parametrize("name", NAMES)
def test_relief_is_moderate(name):
    """Normal maps would be flat, or so steep that light flickers on them."""
    finish = FINISHES[name]
    encoded = normal_map(painted(name).height, finish.side)
    upright = 2 * encoded[..., 2] - 1
    assert upright.min() > 0.0
    assert 0.7 < upright.mean() < 1.0
    assert np.ptp(encoded[..., 0]) > 0.002


@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers_paint_the_same(name):
    """A world could not be reproduced, or all worlds would be alike."""
    finish = FINISHES[name]
    first, again, other = (finish.paint(np.random.default_rng(seed), 128) for seed in (7, 7, 8))
    assert first.color.tobytes() == again.color.tobytes()
    assert first.roughness.tobytes() == again.roughness.tobytes()
    assert first.height.tobytes() == again.height.tobytes()
    assert (first.color != other.color).any()


@pytest.mark.parametrize("name", CUT_OUT)
def test_cut_outs_have_holes_and_substance(name):
    """Foliage would be a full square, or nothing; blurred look-ups would have fringes of another colour."""
    maps = painted(name)
    assert maps.opacity.min() == 0.0
    assert maps.opacity.max() == 1.0
    there = maps.opacity > 0.5
    assert 0.1 < there.mean() < 0.999
    fringe = maps.color[maps.opacity == 0.0].mean(axis=0)
    np.testing.assert_allclose(
        fringe, maps.color[there].mean(axis=0), atol=0.15 if name != "road_marking" else 1
    )


@pytest.mark.parametrize("name", ["leaves", "needles"])
def test_foliage_ends_within_its_card(name):
    """Trees would show straight edges of cards."""
    opacity = painted(name).opacity
    for edge in (opacity[0], opacity[-1], opacity[:, 0], opacity[:, -1]):
        assert edge.max() == 0.0


@pytest.mark.parametrize("name", FACADES)
def test_facades_have_glass_in_each_bay(name):
    """Storeys of 3 m would not fit the windows, or panes would not mirror."""
    assert FINISHES[name].side == 12.0
    glossy = painted(name).roughness < 0.2
    bays = glossy.reshape(4, PIXELS // 4, 4, PIXELS // 4).mean(axis=(1, 3))
    # A shutter may cover a window but for its lowest part.
    assert (bays > 0.0).sum() >= 14
    assert 0.05 < bays.mean() < 0.98
    # Walls and bars stand between bays and storeys.
    assert glossy[:, :: PIXELS // 4].mean() < 0.05
    assert glossy[:: PIXELS // 4].mean() < 0.05


def test_indoor_paint_has_nothing_that_shows_its_repetition():
    """Every room would show the same stains in a row along its walls."""

    def spread(name):
        # In squares of half a metre; what is smaller is not seen across a room.
        count = round(FINISHES[name].side / 0.5)
        size = PIXELS // count
        light = linear(painted(name).color[: size * count, : size * count]) @ [0.2126, 0.7152, 0.0722]
        mean = light.reshape(count, size, count, size).mean(axis=(1, 3))
        return mean.std() / mean.mean()

    assert spread("wall_paint") < 0.02
    assert spread("plaster") > 0.03


def test_windows_differ_from_bay_to_bay():
    """A street would show the same curtain in every window."""
    color = painted("facade_flats").color
    size = PIXELS // 4
    bays = [color[i : i + size, j : j + size] for i in range(0, PIXELS, size) for j in range(0, PIXELS, size)]
    differences = [np.abs(a - b).mean() for k, a in enumerate(bays) for b in bays[:k]]
    assert min(differences) > 0.003


def test_the_page_lists_every_finish():
    """The documentation would lack a finish, or give a wrong scale."""
    page = (Path(__file__).parents[3] / "docs" / "catalogue.md").read_text()
    section = page.split("## Finishes", 1)[1].split("\n## ", 1)[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) m \|", section, re.MULTILINE))
    assert {name: float(side) for name, side in rows.items()} == {n: f.side for n, f in FINISHES.items()}


@pytest.mark.parametrize("name", sorted(OUTLINES))
def test_outlines_hold_the_whole_cut_out(name):
    """Leaves would be cut off by the edges of their cards."""
    finish = FINISHES[name]
    opacity = finish.paint(stream(0, "finish", name), finish.pixels).opacity
    row, column = np.nonzero(opacity >= 0.5)
    heights, widths = np.array(OUTLINES[name]).T
    pixel = 1.0 / finish.pixels
    aside = np.abs((column + 0.5) * pixel - 0.5) + 0.5 * pixel
    height = 1.0 - (row + 0.5) * pixel
    outside = (aside > np.interp(height, heights, widths, left=0.0, right=0.0)) & (
        height > heights[0] + pixel
    )
    # The stalk, a few pixels wide, begins with a point.
    assert (aside[outside] < 0.012).all()
    assert (height[outside] < heights[0] + 0.02).all()
    below = height <= heights[0]
    assert (aside[below] < 0.012).all(), "only the stalk is left out"
    area = ((widths[1:] + widths[:-1]) * np.diff(heights)).sum()
    assert area < 0.75
