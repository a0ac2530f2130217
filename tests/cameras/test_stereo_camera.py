"""Tests of stereo pairs: disparity against depth, matching rows, one exposure."""

import math

import numpy as np
import pytest
from analytic_renderer import AnalyticRenderer, Plane

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import Camera, Imaging, Pinhole, StereoCamera, depth_from_disparity, disparity

SMALL = {"resolution": (160, 120), "horizontal_fov": 1.2, "position": (0.1, 0.02, 0.03)}


def stereo(camera, planes, **parameters):
    sim = Simulation("flat", renderer=AnalyticRenderer(planes=planes))
    iris = sim.add(Multirotor("iris", position=(0, 0, 2.0), sensors={"eyes": camera}, **parameters))
    sim.step()
    return iris.readings["eyes"], iris


def test_the_right_camera_is_to_the_right():
    """The pair would be exchanged, or rotate about its middle."""
    camera = StereoCamera(baseline=0.25, orientation=(0.1, 0.3, 0.5), **SMALL)
    reading, _ = stereo(camera, (), heading=0.7)
    mono, _ = stereo(Camera(orientation=(0.1, 0.3, 0.5), **SMALL), (), heading=0.7)
    np.testing.assert_array_equal(reading.left.position, mono.position)
    np.testing.assert_array_equal(reading.left.orientation, mono.orientation)
    right = matrix_from_quaternion(reading.orientation)[0, :, 0]
    np.testing.assert_allclose(reading.right.position - reading.position, 0.25 * right[None], atol=1e-12)
    np.testing.assert_allclose(reading.right.view().position, reading.right.position[0], atol=1e-12)


def stripes(points):
    """Return light that varies along y with a period of 3 m, whose phase gives the position."""
    value = 0.5 + 0.4 * np.sin(2 * np.pi * points[..., 1:2] / 3.0)
    return value * np.ones(3)


def test_disparity_is_that_of_depth():
    """The measured disparity would differ from f b / depth by more than a tenth of a pixel."""
    wall = Plane((1.0, 0.0, 0.0), 5.0, "/World/wall", "wall", stripes)
    imaging = Imaging(exposure=1.0, gamma=1.0)
    camera = StereoCamera(baseline=0.2, outputs=("rgb", "depth"), imaging=imaging, hide_vehicle=True, **SMALL)
    reading, _ = stereo(camera, (wall,))
    focal = reading.intrinsic_matrix[0, 0]
    depth = float(reading.depth[0, 60, 80])
    assert depth == pytest.approx(4.9, rel=1e-6)
    expected = float(disparity(np.array(depth), focal_length=focal, baseline=0.2))
    assert expected == pytest.approx(focal * 0.2 / 4.9)
    left, right = (r.rgb[0, 60, :, 0].astype(float) for r in (reading.left, reading.right))
    # The shift that makes both rows equal, between whole pixels by interpolation.
    columns = np.arange(30, 150)
    shifts = np.arange(expected - 2, expected + 2, 0.01)
    misses = [np.abs(np.interp(columns - s, np.arange(160), right) - left[columns]).sum() for s in shifts]
    assert shifts[np.argmin(misses)] == pytest.approx(expected, abs=0.1)
    back = depth_from_disparity(np.array([expected, 0.0]), focal_length=focal, baseline=0.2)
    np.testing.assert_allclose(back, [depth, np.inf])


def test_both_see_one_instant_alike():
    """The pair would differ in exposure, share its noise, or one image be rendered unasked."""
    bright = Plane((0.0, 1.0, 0.0), -4.0, "/World/wall", "wall", lambda points: 0.1 + 0.1 * abs(points))
    imaging, aside = Imaging(read_noise=0.02), (0.0, 0.0, -1.2)
    camera = StereoCamera(imaging=imaging, orientation=aside, hide_vehicle=True, baseline=0.5, **SMALL)
    reading, iris = stereo(camera, (bright,))
    renderer = iris.manager.visuals._choice
    left = reading.left.rgb
    assert renderer.render_count == 1
    right = reading.right.rgb
    assert renderer.render_count == 2
    shots = reading.left.capture, reading.right.capture
    assert shots[0].exposure(0) == shots[1].exposure(0)
    assert shots[0].snapshot is shots[1].snapshot
    assert not np.array_equal(left, right)
    alone = reading.right.capture.optics.imaging.exposure_for(reading.right.channels().radiance)
    assert alone != shots[0].exposure(0)


def test_bad_baseline():
    """A pair without a valid baseline would be accepted."""
    with pytest.raises(ConfigError, match=r"baseline = 0\.0: must be above 0 m"):
        StereoCamera(baseline=0.0)
    assert StereoCamera(lens=Pinhole(horizontal_fov=math.radians(90))).lens.horizontal_fov == math.pi / 2
