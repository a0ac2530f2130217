"""Tests of reading lights and cameras."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdLux

from pegasus.base.errors import ConfigError
from pegasus.scene.translation import translate


def in_y_up_centimetres(stage: Usd.Stage) -> None:
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)


def test_strength_is_colour_times_intensity_times_exposure(stage: Usd.Stage) -> None:
    """A sun set by its exposure would be far too dark."""
    sun = UsdLux.DistantLight.Define(stage, "/Sun")
    sun.CreateIntensityAttr(100.0)
    sun.CreateExposureAttr(3.0)
    sun.CreateColorAttr(Gf.Vec3f(1.0, 0.5, 0.25))
    sun.CreateAngleAttr(1.5)
    (light,) = translate(stage).lights
    assert light.color == (800.0, 400.0, 200.0)
    assert light.parameters == {"angle": 1.5}


def test_colour_temperature_counts_where_it_is_enabled(stage: Usd.Stage) -> None:
    """Warm lamps would be white, or white ones warm."""
    lamp = UsdLux.SphereLight.Define(stage, "/Lamp")
    lamp.CreateIntensityAttr(10.0)
    lamp.CreateColorTemperatureAttr(2500.0)
    assert translate(stage).lights[0].color == (10.0, 10.0, 10.0)
    lamp.CreateEnableColorTemperatureAttr(True)
    red, green, blue = translate(stage).lights[0].color
    assert red > green > blue
    # OpenUSD normalises a black body to a luminance of one (Rec. 709 weights).
    assert 0.2126 * red + 0.7152 * green + 0.0722 * blue == pytest.approx(10.0, rel=1e-4)


def test_sizes_are_in_metres_and_normalized_power_stays(stage: Usd.Stage) -> None:
    """A lamp of a centimetre stage would be a hundred times too large, or ten thousand times too bright."""
    in_y_up_centimetres(stage)
    panel = UsdLux.RectLight.Define(stage, "/Panel")
    panel.CreateIntensityAttr(2e4)
    panel.CreateNormalizeAttr(True)
    panel.CreateWidthAttr(200.0)
    panel.CreateHeightAttr(50.0)
    (light,) = translate(stage).lights
    assert light.parameters == pytest.approx({"width": 2.0, "height": 0.5, "normalize": 1.0})
    # Emitted radiance is the intensity over the area: 2e4 / (200 * 50) in the stage.
    assert light.color[0] / (2.0 * 0.5) == pytest.approx(2e4 / (200.0 * 50.0))


def test_a_sun_with_y_up_shines_down(stage: Usd.Stage) -> None:
    """The sun of a Y-up world would shine along the ground."""
    in_y_up_centimetres(stage)
    sun = UsdLux.DistantLight.Define(stage, "/Sun")
    UsdGeom.Xformable(sun).AddRotateXOp().Set(-90.0)
    (light,) = translate(stage).lights
    np.testing.assert_allclose(light.transform[:3, :3] @ [0.0, 0.0, -1.0], [0.0, 0.0, -1.0], atol=1e-12)


@pytest.mark.parametrize("y_up", [False, True])
@pytest.mark.parametrize(("pole", "expected"), [("scene", "up"), ("Y", "y"), ("Z", "z")])
def test_the_pole_of_a_sky_is_z(stage: Usd.Stage, y_up: bool, pole: str, expected: str) -> None:
    """A panorama would be tipped on its side."""
    if y_up:
        in_y_up_centimetres(stage)
    UsdLux.DomeLight_1.Define(stage, "/Sky").CreatePoleAxisAttr(pole)
    (light,) = translate(stage).lights
    assert light.kind == "DomeLight"
    # Stage axes in the world: with y up, y becomes z and z becomes -y.
    axes = {"y": (0, 0, 1), "z": (0, -1, 0), "up": (0, 0, 1)} if y_up else {"y": (0, 1, 0), "z": (0, 0, 1)}
    np.testing.assert_allclose(light.transform[:3, 2], axes.get(expected, (0, 0, 1)), atol=1e-12)


def test_the_image_of_a_sky_must_exist(stage: Usd.Stage, tmp_path: Path) -> None:
    """A world without its panorama would be black without an error."""
    sky = UsdLux.DomeLight.Define(stage, "/Sky")
    sky.CreateTextureFileAttr(str(tmp_path / "sky.hdr"))
    with pytest.raises(ConfigError, match=r"/Sky\.inputs:texture:file = .*sky\.hdr.*does not exist"):
        translate(stage)
    (tmp_path / "sky.hdr").write_bytes(b"image")
    assert translate(stage).lights[0].texture == tmp_path / "sky.hdr"


def test_dark_lights_and_unknown_ones_are_left_out(stage: Usd.Stage) -> None:
    """A light that is switched off by its visibility would still shine."""
    UsdGeom.Imageable(UsdLux.SphereLight.Define(stage, "/Off")).MakeInvisible()
    UsdLux.GeometryLight.Define(stage, "/Odd")
    scene = translate(stage)
    assert scene.lights == []
    assert "/Odd: GeometryLight left out" in scene.warnings


def test_cameras_look_the_same_way_in_metres(stage: Usd.Stage) -> None:
    """An authored view would be tilted or clipped in the wrong unit."""
    in_y_up_centimetres(stage)
    camera = UsdGeom.Camera.Define(stage, "/View")
    camera.CreateFocalLengthAttr(24.0)
    camera.CreateHorizontalApertureAttr(36.0)
    camera.CreateVerticalApertureAttr(24.0)
    camera.CreateClippingRangeAttr(Gf.Vec2f(10.0, 10000.0))
    UsdGeom.Xformable(camera).AddTranslateOp().Set((0.0, 150.0, 500.0))
    (found,) = translate(stage).cameras
    assert (found.focal_length, found.horizontal_aperture, found.vertical_aperture) == (24.0, 36.0, 24.0)
    assert found.clipping_range == pytest.approx((0.1, 100.0))
    np.testing.assert_allclose(found.transform[:3, 3], [0.0, -5.0, 1.5])
    np.testing.assert_allclose(found.transform[:3, :3] @ [0.0, 0.0, -1.0], [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.transform[:3, :3] @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], atol=1e-12)
