"""Places that are chosen by a click into the viewport, on the fakes."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.fakes.application import PERSPECTIVE
from tests.isaac.window_user import opened, section, steered


def press(user, title, name):
    """Press a button of a section."""
    fold = section(user.kit.windows[0], title)
    next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == name)._press()
    user.update(2)


def click(user, x, y):
    """Click into the window of the viewport."""
    user.kit.viewport_window._click((x, y))
    user.update(3)


def ground_at(user, x, y):
    """Return the point of the plane z = 0 in a direction of the picture, not by the stand-ins' ray."""
    stage = user.kit.context.get_stage()
    camera = UsdGeom.Camera(stage.GetPrimAtPath(PERSPECTIVE)).GetCamera(Usd.TimeCode.Default())
    half = camera.horizontalAperture / camera.focalLength / 2.0
    direction = np.array([x * half, y * half * 720 / 1280, -1.0])
    pose = np.array(camera.transform)
    along = direction @ pose[:3, :3]
    return pose[3, :3] - along * pose[3, 2] / along[2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_is_placed_by_a_click(window, version):
    """It would stand elsewhere than was clicked, or could be placed only while the timeline plays."""
    user = window(version)
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    assert user.panel.view.look((4.0, -3.0, 3.0), (4.0, 0.0, 0.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    assert "click into the viewport to choose the vehicle's place" in user.messages
    click(user, 0.3, -0.4)
    place = user.panel.vehicle.position
    # To a pixel or two.
    np.testing.assert_allclose(place, ground_at(user, 0.3, -0.4), atol=0.02)
    assert user.panel.vehicle.on_ground
    # The next click is an ordinary one.
    click(user, 0.0, 0.0)
    assert user.panel.vehicle.position == place
    assert user.kit.selected_by_click == [(0.0, 0.0)]
    assert user.kit.viewport._scene_views == []
    press(user, "Vehicle", "Add")
    start = user.vehicle.start_position[0]
    np.testing.assert_allclose(start, (place[0], place[1], place[2] + user.vehicle.standing_height))


def test_the_vehicle_flies_over_a_click(window):
    """It would fly into the ground, or to a point that nobody has chosen."""
    user = window()
    steered(user)
    opened(user)
    assert user.panel.view.look((0.0, -6.0, 6.0), (0.0, 0.0, 0.0))
    user.kit.timeline.play()
    user.update(2)
    flown = []
    user.panel.pilot._command = lambda command: command(
        type("Steering", (), {"go_to": lambda _, point: flown.append(point)})()
    )
    press(user, "Fly", "Go to click")
    click(user, 0.2, 0.5)
    (point,) = flown
    np.testing.assert_allclose(point[:2], ground_at(user, 0.2, 0.5)[:2], atol=0.05)
    assert point[2] >= 1.0


def test_a_click_beside_the_picture_still_waits(window):
    """A picture that does not fill its window has bars beside it, where nothing is."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    user.kit.viewport._aspects = 0.5, 1.0
    assert user.panel.view.look((0.0, -6.0, 6.0), (0.0, 0.0, 0.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    click(user, 0.7, 0.0)
    assert user.panel.vehicle.position is None
    click(user, 0.25, 0.0)
    np.testing.assert_allclose(user.panel.vehicle.position, ground_at(user, 0.5, 0.0), atol=0.05)


def test_what_cannot_be_clicked_is_said(window):
    """A click into the sky, or without a viewport, would seem to do nothing."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    assert user.panel.view.look((0.0, 0.0, 3.0), (10.0, 0.0, 30.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    click(user, 0.0, 0.0)
    assert "click: there is nothing; click at the ground" in user.messages
    assert user.panel.vehicle.position is None
    user.kit.viewport, kept = None, user.kit.viewport
    press(user, "Vehicle", "Place by click")
    assert "Isaac Sim shows no viewport; open one" in user.messages
    user.kit.viewport = kept


def test_a_closed_window_awaits_no_click(window):
    """The viewport would swallow a click for a panel that is not there."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    press(user, "Vehicle", "Place by click")
    assert user.kit.selection_locks
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(2)
    assert user.kit.viewport._scene_views == []
    assert user.kit.selection_locks == []
    click(user, 0.1, 0.1)
    assert user.kit.selected_by_click == [(0.1, 0.1)]
