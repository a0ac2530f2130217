"""Trials of the window: user actions whose results mutations must change."""

import numpy as np
from pxr import Usd, UsdGeom

from tests.isaac.fakes.application import PERSPECTIVE
from tests.isaac.user import User


def is_shown_at_the_start(kit):
    """Start Isaac Sim, and find the window in front of the others without touching the menu."""
    user = User(kit)
    try:
        user.update(15)
        (window,) = kit.windows
        assert window.visible
        assert kit.active_tabs["Property"] == window.title
        assert not kit.errors()
    finally:
        user.extension.on_shutdown()


def looks_where_it_is_told_to(kit):
    """Point the viewport at a target; Kit's camera must have this pose."""
    user = User(kit)
    try:
        assert user.panel.world.choose("flat")
        assert user.panel.world.load(), user.messages
        kit.menu["Pegasus"].show_window(None, True, 0)
        assert user.panel.view.set_viewpoint((3.0, 4.0, 5.0), (0.0, 4.0, 1.0))
        user.update(2)
        camera = UsdGeom.Camera(kit.context.get_stage().GetPrimAtPath(PERSPECTIVE))
        pose = np.array(camera.ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
        np.testing.assert_allclose(pose[3, :3], [3.0, 4.0, 5.0], atol=1e-6)
        np.testing.assert_allclose(-pose[2, :3], [-0.6, 0.0, -0.8], atol=1e-6)
        assert not kit.errors()
    finally:
        user.extension.on_shutdown()


def shows_pixels(kit):
    """Show an image that is wider than high."""
    from pegasus.isaac.fields import LiveImage

    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    pixels = LiveImage("front")
    pixels.show(image)
    assert pixels._provider._size == (3, 2)
    assert pixels._provider._bytes[:8].tolist() == [0, 1, 2, 255, 3, 4, 5, 255]
    assert not kit.errors()


def feels_the_sticks(kit):
    """Push each stick; the panel's axes are right and down."""
    from pegasus.isaac.window_run import read_input

    kit.gamepad = {"LEFT_STICK_LEFT": 0.25, "LEFT_STICK_DOWN": 0.5, "RIGHT_STICK_UP": 1.0, "B": 1.0}
    kit.gamepad["RIGHT_STICK_RIGHT"] = 0.75
    assert read_input() == ((), (-0.25, 0.5, 0.75, -1.0), (1,))


def lets_go_when_closed(kit):
    """Close the window with a key held down."""
    user = User(kit)
    said = []
    try:
        kit.menu["Pegasus"].show_window(None, True, 0)
        user.update(2)
        kit.windows[0]._hands.enable(True)
        user.panel.pilot.steer = lambda *held: said.append(held)
        kit.keys = {"R"}
        user.update(3)
        kit.menu["Pegasus"].show_window(None, False, 0)
        user.update(3)
        assert said[0] == (("r",), (), ())
        assert said[-1] == ((), (), ())
        assert not kit.errors()
    finally:
        user.extension.on_shutdown()
