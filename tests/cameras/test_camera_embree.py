"""Tests of cameras with the Embree renderer: known positions in a rendered world, with every lens."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.cameras import BrownConrady, Camera, KannalaBrandt, Pinhole

pytest.importorskip("embreex", reason="needs Embree: pip install pegasus-multirotor[render]")
pytest.importorskip("warp", reason="needs Warp: pip install pegasus-multirotor[render]")

RESOLUTION = (96, 72)
DISTANCES = ("depth", "distance_to_camera", "point_cloud")
OUTPUTS = ("rgb", "semantic", "instance", "normals", "motion_vectors", *DISTANCES)
LENS_CASES = {
    "pinhole": Pinhole(horizontal_fov=1.2),
    "barrel": BrownConrady(horizontal_fov=1.0, k1=-0.25, k2=0.06, p1=0.001),
    "fisheye": KannalaBrandt(horizontal_fov=math.radians(200.0)),
    "circle": KannalaBrandt(horizontal_fov=math.radians(350.0)),
}


@pytest.fixture(scope="module")
def readings():
    """Readings of cameras with all lenses, three metres above flat ground, looking obliquely down."""
    shared = {"orientation": (0.0, math.pi / 4, 0.0), "outputs": OUTPUTS, "hide_vehicle": True}
    cameras = {name: Camera(lens=lens, resolution=RESOLUTION, **shared) for name, lens in LENS_CASES.items()}
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 3.0), sensors=cameras))
        sim.step()
        given = {name: iris.readings[name] for name in cameras}
        for reading in given.values():
            for output in OUTPUTS:
                reading.images(output)
            assert reading.classes
        yield given


@pytest.mark.parametrize("name", LENS_CASES)
def test_ground_is_where_it_is(readings, name):
    """A pixel's ray, its distance, or the frame of its point would be wrong."""
    reading = readings[name]
    view = reading.view()
    points = reading.point_cloud[0].astype(np.float64) @ view.rotation.T + view.position
    seen = np.isfinite(reading.distance[0]) & (reading.distance[0] < 50.0)
    assert seen.mean() > 0.2
    np.testing.assert_allclose(points[seen][:, 2], 0.0, atol=1e-4 * 50.0)
    near = seen & (reading.distance[0] < 10.0)
    assert np.abs(points[near][:, 2]).max() < 1e-3
    np.testing.assert_allclose(reading.normals[0][seen], np.tile([0, 0, 1], (seen.sum(), 1)), atol=1e-5)
    # The point of a pixel projects back to the centre of that pixel.
    pixels = view.lens.project((points - view.position) @ view.rotation, RESOLUTION)
    centers = np.stack(np.meshgrid(np.arange(96) + 0.5, np.arange(72) + 0.5), axis=-1)
    assert np.abs(pixels - centers)[near].max() < 1e-2
    np.testing.assert_allclose(
        reading.depth[0][seen], reading.point_cloud[0][seen][:, 2], rtol=1e-5, atol=1e-5
    )


def test_pixels_outside_an_image_circle_are_empty(readings):
    """Pixels without a direction would have values, or spoil their neighbours."""
    reading = readings["circle"]
    outside = np.isnan(reading.lens.directions(np.array([0.5, 0.5]), RESOLUTION)).all()
    assert outside
    assert np.isposinf(reading.distance[0, 0, 0])
    assert reading.semantic[0, 0, 0] == 0
    assert np.ptp(reading.rgb[0]) > 50


def test_labels(readings):
    """Ids would not belong to the names beside them."""
    reading = readings["pinhole"]
    ids = set(np.unique(reading.semantic[0]).tolist()) - {0, 1}
    assert ids <= reading.classes.keys()
    things = set(np.unique(reading.instance[0]).tolist()) - {0, 1}
    assert things <= reading.instances.keys()
    assert reading.motion_vectors.shape == (1, 72, 96, 2)
