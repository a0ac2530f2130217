"""Tests of telemetry, plots and images in the window, on the fakes."""

import math
from types import SimpleNamespace

import numpy as np

from pegasus import Multirotor
from pegasus.cameras import Camera
from pegasus.panel.telemetry import Estimated
from pegasus.panel.telemetry_sections import estimated
from tests.isaac.fakes import plots
from tests.isaac.window_user import opened, rows, section, texts


def test_plots_show_the_last_minute(window):
    """Curves would have wrong axes, exchange reference and state, or be cut off."""
    user = window()
    user.fly_square()
    shown = opened(user)
    user.kit.timeline.play()
    for _ in range(24):
        user.update(5)
        user.extension.session._take_snapshot(force=True)
    # Automatic updates follow the wall clock, for which frames of the fakes do not wait.
    shown._update()
    fold = section(shown, "Telemetry")
    columns = user.panel.history.columns()
    for name in ("x", "y", "z", "yaw"):
        # There is no reference before the first step: the plot shows the state alone.
        unknown = np.isnan(columns[f"reference_{name}"])
        assert unknown.tolist() == [True] + [False] * (len(unknown) - 1)
        columns[f"reference_{name}"][0] = columns[name][0]
    rotors, *curves = fold_plots = [w for w in fold._all() if isinstance(w, plots.Plot)]
    assert len(fold_plots) == 1 + 6 + 4
    names = [*(f"reference_{axis}" for axis in "xyz"), *"xyz"]
    for plot, name in zip(curves[:6], names, strict=True):
        np.testing.assert_allclose(plot._data, columns[name], atol=1e-12)
        assert plot.scale_min <= min(plot._data) < max(plot._data) + 1e-9 <= plot.scale_max
    for plot, name in zip(curves[6:], ["reference_yaw", "roll", "pitch", "yaw"], strict=True):
        np.testing.assert_allclose(plot._data, np.degrees(columns[name]), atol=1e-9)
    assert rotors._settings["type"] is plots.Type.HISTOGRAM
    assert len(rotors._data) == 4
    assert 0.3 < min(rotors._data) <= max(rotors._data) <= 1.0
    said = texts(fold)
    assert "physics: 250 Hz" in said
    assert "error: " in said


def test_what_is_missing_in_a_reference_is_hidden(isaac):
    """A plot of NaN values would be drawn."""
    isaac()
    from pegasus.isaac.fields import limits
    from pegasus.panel.telemetry import filled_reference

    nothing, true = np.array([np.nan, 2.0]), np.array([1.0, 3.0])
    np.testing.assert_array_equal(filled_reference(nothing, true), [1.0, 2.0])
    lowest, highest = limits([np.zeros(3), np.zeros(3)])
    assert lowest < 0.0 < highest


def test_an_estimate_stands_beside_the_truth():
    """The estimate's error would be shown as the estimate, or radians as degrees."""
    said = Estimated(
        age=0.25,
        position=np.array([1.0, 2.0, 3.0]),
        velocity=np.array([4.0, 5.0, 6.0]),
        attitude=np.radians([10.0, 20.0, 30.0]),
        position_error=np.array([0.1, 0.2, 0.3]),
        velocity_error=np.array([0.4, 0.5, 0.6]),
        attitude_error=math.radians(1.5),
    )
    assert estimated(SimpleNamespace(estimate=said, measured=np.ones(3), position=np.zeros(3))) == [
        ("", "estimated", "error"),
        ("position [m]", "1.000, 2.000, 3.000", "0.100, 0.200, 0.300"),
        ("velocity [m/s]", "4.000, 5.000, 6.000", "0.400, 0.500, 0.600"),
        ("attitude", "10.0°, 20.0°, 30.0°", "1.5°"),
        ("age", "0.25 s", ""),
        ("GPS [m]", "1.000, 1.000, 1.000", "1.000, 1.000, 1.000"),
    ]


def test_camera_pictures_are_shown(window):
    """Width and height, or red and blue, would be exchanged, or unseen images be rendered."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    front = Camera(rate_hz=25.0, resolution=(40, 30), outputs=("rgb",))
    user.extension.session.add(Multirotor("iris", position=(0.0, 0.0, 0.1), extra_sensors={"front": front}))
    shown = opened(user)
    user.kit.timeline.play()
    user.update(20)
    fold = section(shown, "Cameras")
    assert not any(isinstance(widget, plots.ImageWithProvider) for widget in fold._all())
    rows(fold)["Show camera images"][0].model.set_value(True)
    for _ in range(4):
        user.extension.session._take_snapshot(force=True)
        user.update(10)
    shown._update()
    (picture,) = [widget for widget in fold._all() if isinstance(widget, plots.ImageWithProvider)]
    assert picture._provider._size == (40, 30)
    pixels = np.array(picture._provider._bytes, np.uint8).reshape(30, 40, 4)
    assert (pixels[..., 3] == 255).all()
    camera = user.panel.snapshot.vehicles[0].readings["front"].cameras[""]
    np.testing.assert_array_equal(pixels[..., :3], camera.image("rgb"))
    # The image has content: sky above and ground below.
    assert pixels[..., :3].std() > 1.0
    assert texts(fold).endswith("front")
    rows(fold)["Show camera images"][0].model.set_value(False)
    user.update(12)
    assert not any(isinstance(widget, plots.ImageWithProvider) for widget in fold._all())
