"""Tests of boxes and occlusion under lenses with distortion, against masks of random views."""

import numpy as np
import pytest
from analytic_scenes import AnalyticRenderer, Solid, box_corners, looking, pose, turn

from pegasus.dataset import loose_boxes, occlusion_ratios, tight_boxes
from pegasus.optics.lens import BrownConrady, KannalaBrandt, Lens, pixel_grid

RESOLUTION = (96, 72)
LENSES = (
    BrownConrady(focal_length=(60.0, 60.0), k1=-0.25, k2=0.04, p1=0.002, p2=-0.003),
    BrownConrady(focal_length=(45.0, 45.0), k1=0.2, k2=0.05),
    BrownConrady(focal_length=(70.0, 65.0), center=(40.0, 30.0), k1=-0.1, k4=0.2),
    KannalaBrandt(horizontal_fov=np.pi, k1=0.02),
    KannalaBrandt(focal_length=(25.0, 25.0)),
)
VIEWS = 200
"""Random views of each lens."""


def solids(rng: np.random.Generator) -> tuple[Solid, Solid]:
    """Return a random long box before the camera, and a plate that may hide some of it."""
    size = (*rng.uniform(0.05, 0.3, 2), rng.uniform(0.3, 6.0))
    distance = rng.uniform(1.5, 6.0)
    place = distance * np.array([1.0, *rng.uniform(-0.6, 0.6, 2)])
    box = Solid("/World/box", "box", size, pose(place, turn(rng.normal(size=3), rng.uniform(0, np.pi))))
    plate = Solid("/World/wall", "wall", (0.02, 0.4, 0.4), pose(rng.uniform(0.3, 0.8) * place))
    return box, plate


def edge_samples(box: Solid) -> np.ndarray:
    """Return points of the twelve edges of a box, 400 of each."""
    corners = box_corners(box)
    ends = [(i, j) for i in range(8) for j in range(i) if bin(i ^ j).count("1") == 1]
    part = np.linspace(0.0, 1.0, 400)[:, None]
    return np.concatenate([corners[i] * part + corners[j] * (1 - part) for i, j in ends])


@pytest.mark.parametrize("lens", LENSES, ids=lambda lens: type(lens).__name__)
def test_boxes_and_occlusion_agree_with_masks_of_random_views(lens: Lens) -> None:
    """A bent edge would leave its box, or the box be larger than the mask of the object alone."""
    rng = np.random.default_rng(3)
    view = looking((0, 0, 0), lens=lens, resolution=RESOLUTION)
    directions = lens.directions(pixel_grid(RESOLUTION), RESOLUTION)
    lit = np.isfinite(directions).all(axis=-1)
    rays = np.nan_to_num(directions.reshape(-1, 3) @ view.rotation.T)
    whole = partly = 0
    for number in range(VIEWS):
        box, plate = solids(rng)
        at, beyond = (
            np.where(lit, solid.meets(np.zeros_like(rays), rays)[0].reshape(lit.shape), np.inf)
            for solid in (box, plate)
        )
        alone, hidden = np.isfinite(at), np.isfinite(at) & (beyond < at)
        renderer = AnalyticRenderer(box, plate)
        found = loose_boxes(renderer.labelled()[:1], view)
        samples = lens.project(edge_samples(box) @ view.rotation, RESOLUTION)
        near = bool((np.isfinite(samples) & (abs(samples - 40) < 80)).all())
        if near:
            expected = [*samples.min(axis=0), *samples.max(axis=0)]
            np.testing.assert_allclose(found.extent[0], expected, atol=0.05)
        if not alone.any():
            continue
        rows, columns = np.flatnonzero(alone.any(axis=1)), np.flatnonzero(alone.any(axis=0))
        tight = np.array([columns[0], rows[0], columns[-1], rows[-1]])
        apart = (found.box[0] - tight) * [1, 1, -1, -1]
        assert apart.max() <= 0
        if near and ((samples > 0) & (samples < RESOLUTION)).all():
            whole += 1
            # A corner may end between the centres of the pixels.
            assert apart.min() >= -3
        seen = alone & ~hidden
        if number % 4 or not seen.any():
            continue
        frame = renderer.frame(view)
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        bounds = [columns[0], rows[0], columns[-1], rows[-1]]
        assert tight_boxes(frame.images.entity, 2)[0].tolist() == bounds
        partly += bool(hidden.any())
        ratio = occlusion_ratios(renderer.cast, frame, samples=10**6)[0]
        assert ratio == pytest.approx(hidden.sum() / alone.sum(), abs=1e-6)
    assert whole > VIEWS // 5
    assert partly > VIEWS // 20


@pytest.mark.parametrize("lens", [LENSES[0], KannalaBrandt(focal_length=(40.0, 40.0))])
def test_ground_without_an_edge_in_view_fills_the_image(lens: Lens) -> None:
    """A surface larger than the reach of the lens would have no box, as none of its corners is seen."""
    ground = Solid("/World/ground", "wall", (5e3, 5e3, 0.1), pose((0, 0, -2)))
    down = looking((0, 0, 0), pitch=-np.pi / 2, lens=lens, resolution=RESOLUTION)
    (box,) = loose_boxes(AnalyticRenderer(ground).labelled(), down).box
    assert box.tolist() == [0, 0, 95, 71]
    level = looking((0, 0, 0), lens=lens, resolution=RESOLUTION)
    (above,) = loose_boxes(AnalyticRenderer(ground).labelled(), level).box
    assert above[[0, 2, 3]].tolist() == [0, 95, 71]


def test_a_surface_behind_a_fisheye_surrounds_the_image() -> None:
    """An object around the direction straight behind would have the box of its corners only."""
    lens = KannalaBrandt(focal_length=(14.0, 14.0))
    wall = Solid("/World/wall", "wall", (0.1, 1.0, 1.0), pose((-1, 0, 0)))
    view = looking((0, 0, 0), lens=lens, resolution=RESOLUTION)
    extent = loose_boxes(AnalyticRenderer(wall).labelled(), view).extent[0]
    radius = 14.0 * np.pi
    np.testing.assert_allclose(extent, [48 - radius, 36 - radius, 48 + radius, 36 + radius], atol=1e-6)
