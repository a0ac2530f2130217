"""Tests of annotations of Embree images against those of closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import CLASSES, AnalyticRenderer, Solid, looking, pose, turn

from pegasus.dataset import LabelledFrame, motion_vectors, occlusion_ratios, point_cloud, tight_boxes

pytest.importorskip("embreex")
pytest.importorskip("warp")

WALL = Solid("/World/wall", "wall", (0.1, 20, 20), pose((8, 0, 0)))
HALF = Solid("/World/half", "box", (0.5, 0.5, 0.5), pose((5, 1.0, 0)))
SCREEN = Solid("/World/screen", "wall", (0.05, 1.0, 1.0), pose((2.0, 1.4, 0)))
DRONE = Solid(
    "/World/drone",
    "box",
    (0.3, 0.2, 0.1),
    pose((3, -0.8, 0.2), turn((1, 2, 3), 0.7)),
    before=pose((3.1, -0.9, 0.2), turn((1, 2, 3), 0.5)),
)
ASIDE = pose((0.05, -0.1, 0.2))


@pytest.fixture(scope="module")
def pair():
    """The same frame by closed forms and by Embree, and Embree's ray caster."""
    from pegasus.render.embree.renderer import EmbreeRenderer

    analytic = AnalyticRenderer(WALL, HALF, SCREEN, DRONE)
    view = looking((0, 0, 0), 0.05, -0.02)
    expected = analytic.frame(view)
    # The middle of a vehicle's geometry is not the origin of its frame.
    (drone,) = analytic.objects
    (part,) = drone.scene.instances
    scene = replace(drone.scene, instances=[replace(part, transform=ASIDE)])
    objects = [replace(drone, scene=scene)]
    now, before = (solid_pose @ np.linalg.inv(ASIDE) for solid_pose in (DRONE.pose, DRONE.before))
    renderer = EmbreeRenderer()
    renderer.load(analytic.scene)
    renderer.add(objects)
    renderer.move([drone.path], now[None])
    images = renderer.render(view, ("distance", "normal", "entity"))
    entities = analytic.table.entities(renderer.entities, objects, now[None], before[None])
    frame = LabelledFrame("camera", 0.5, 7, view, expected.rgb, images, entities, CLASSES)
    yield expected, frame, renderer.cast
    renderer.close()


def test_entities_and_distances_are_those_of_the_solids(pair):
    """The renderer and the labels would count entities differently."""
    expected, frame, _ = pair
    assert [e.path for e in frame.entities] == [e.path for e in expected.entities]
    apart = frame.images.entity != expected.images.entity
    assert apart.sum() < 10
    np.testing.assert_allclose(frame.images.distance[~apart], expected.images.distance[~apart], rtol=1e-4)


def test_boxes_are_tight_to_a_pixel(pair):
    """Boxes of rendered images would be off."""
    expected, frame, _ = pair
    found, reference = (tight_boxes(f.images.entity, 4) for f in (frame, expected))
    assert abs(found - reference).max() <= 1
    assert abs(frame.loose.box[3] - found[3]).max() <= 1


def test_occlusion_of_real_rays_is_that_of_closed_forms(pair):
    """Rays would stop at the first occluder of an entity."""
    expected, frame, cast = pair
    found = occlusion_ratios(cast, frame)
    rays = expected.directions.reshape(-1, 3) @ frame.view.rotation.T
    at, _ = HALF.meets(np.zeros_like(rays), rays)
    behind = np.isfinite(at) & (expected.images.entity.ravel() != 1)
    assert found[1] == pytest.approx(behind.sum() / np.isfinite(at).sum(), abs=0.02)
    assert 0.3 < found[1] < 0.7
    assert found[3] == 0.0


def test_motion_and_points_of_a_moving_object(pair):
    """The object's pixels would have another entity's motion."""
    expected, frame, _ = pair
    drone = (frame.images.entity == 3) & (expected.images.entity == 3)
    flows = []
    for f in pair[:2]:
        flow = motion_vectors(f.images.distance, f.directions, f.images.entity, f.entities, f.view, f.view)
        flows.append(flow[drone])
    assert abs(flows[0]).max() > 3
    np.testing.assert_allclose(flows[1], flows[0], atol=0.02)
    cloud = point_cloud(frame)
    wall = cloud.points[cloud.instance == 2]
    np.testing.assert_allclose(wall[:, 0], 7.9, atol=1e-3)
