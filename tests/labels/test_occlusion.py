"""Tests of occlusion ratios in scenes with known values."""

import numpy as np
import pytest
from analytic_scenes import AnalyticRenderer, Solid, looking, pose, turn

from pegasus.dataset import occlusion_ratios


def ratios(view, *solids, samples=1024):
    renderer = AnalyticRenderer(*solids)
    frame = renderer.frame(view)
    return occlusion_ratios(renderer.cast, frame, samples=samples)


BOX = Solid("/World/box", "box", (0.5, 0.5, 0.5), pose((5, 0, 0)))


@pytest.mark.parametrize("samples", [100_000, 1024])
def test_half_covered_box_is_half_occluded(samples):
    """A pixel behind the occluder would be missed or counted twice."""
    screen = Solid("/World/wall", "wall", (0.05, 2.0, 2.0), pose((2.0, -2.0, 0)))
    found = ratios(looking((0, 0, 0)), BOX, screen, samples=samples)
    assert found[0] == pytest.approx(0.5, abs=0.02)
    assert found[1] == 0.0


def test_visible_is_zero_hidden_is_one_and_outside_is_not_a_number():
    """Visible, hidden or outside entities would not have 0, 1 or NaN."""
    screen = Solid("/World/wall", "wall", (0.05, 2.0, 2.0), pose((2.0, 0, 0)))
    outside = Solid("/World/out", "box", (0.5, 0.5, 0.5), pose((-5, 0, 0)))
    assert ratios(looking((0, 0, 0)), BOX)[0] == 0.0
    found = ratios(looking((0, 0, 0)), BOX, screen, outside)
    assert found[0] == 1.0
    assert np.isnan(found[2])


def test_many_layers_within_the_box_of_an_entity_hide_as_one_does():
    """Rays would stop at the second of several occluders, or lose their distance."""
    ball = Solid("/World/ball", "ball", 1.0, pose((5, 0, 0)))
    # The ball recedes from its bounding box here: the plates are in the box and in front of the ball.
    plates = [
        Solid(f"/World/wall{k}", "wall", (0.01, 0.15, 0.3), pose((4.05 + 0.05 * k, 0.75, 0)))
        for k in range(5)
    ]
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(ball, *plates).frame(view)
    rays = frame.directions.reshape(-1, 3) @ view.rotation.T
    at, _ = ball.meets(np.zeros_like(rays), rays)
    meets = np.isfinite(at)
    hidden = meets & (frame.images.entity.ravel() != 0)
    assert hidden.sum() > 100
    found = ratios(view, ball, *plates, samples=100_000)[0]
    assert found == pytest.approx(hidden.sum() / meets.sum(), abs=1e-6)


def test_what_is_inside_or_behind_the_box_of_an_entity_counts_as_it_lies():
    """An object behind an entity's surface but in its bounding box would count as an occluder."""
    ball = Solid("/World/ball", "ball", 0.5, pose((5, 0, 0), turn((1, 0, 0), 0.3)))
    crumb = Solid("/World/crumb", "box", (0.02, 0.02, 0.02), pose((5.45, 0.45, 0.45)))
    assert ratios(looking((0, 0, 0)), ball, crumb)[0] == 0.0
    front = Solid("/World/front", "box", (0.02, 0.1, 0.1), pose((4.4, 0, 0)))
    covered = ratios(looking((0, 0, 0)), ball, front)[0]
    # The square spans 0.2 m at 4.38 m, the ball's outline a cone of the half angle asin(0.1).
    expected = (0.2 / 4.38) ** 2 / (np.pi * np.tan(np.arcsin(0.1)) ** 2)
    assert covered == pytest.approx(expected, abs=0.02)


def test_part_outside_the_image_counts_for_neither():
    """An object at the edge of the image would count as occluded."""
    half = Solid("/World/half", "box", (0.5, 0.5, 0.5), pose((4, 2.2, 0)))
    assert ratios(looking((0, 0, 0)), half)[0] == 0.0


def test_unlabelled_entities_have_no_ratio():
    """Rays would be spent on entities without labels."""
    assert np.isnan(ratios(looking((0, 0, 0)), Solid("/World/a", None, 0.5, pose((5, 0, 0))))[0])


def test_an_entity_that_fills_little_of_its_box_is_looked_at_more_closely():
    """A sparse or thin entity would have too few samples for its ratio."""
    rail = Solid("/World/box", "box", (0.01, 1.6, 0.012), pose((5, 0, 0), turn((1, 0, 0), 0.6)))
    post = Solid("/World/wall", "wall", (0.05, 0.4, 2.0), pose((4.0, -0.4, 0)))
    view = looking((0, 0, 0))
    assert ratios(view, rail, post, samples=64)[0] == pytest.approx(ratios(view, rail, post)[0], abs=0.1)
    assert ratios(view, rail, samples=64)[0] == 0.0
