"""Tests of keyboard and gamepad in Isaac Sim, on the fakes."""

import numpy as np
import pytest

from pegasus.panel.pilot_part import KEYS, LAND_KEY, TAKE_OFF_KEY
from tests.isaac.window_user import opened, rows, section, steered


def test_every_key_of_the_panel_is_felt():
    """A key that works in the browser would not work in Isaac Sim."""
    from tests.isaac.fakes.viewport import KeyboardInput

    assert {key.name.lower() for key in KeyboardInput} == {*KEYS, TAKE_OFF_KEY, LAND_KEY}


def test_keys_fly(window):
    """Keys would do nothing, work before they are enabled, or stay active after their release."""
    user = window()
    steered(user)
    shown = opened(user)
    user.kit.timeline.play()
    user.kit.keys = {"T"}
    user.update(20)
    assert user.vehicle.state.position[0, 2] < 0.2
    rows(section(shown, "Fly"))["Keys and gamepad"][0].model.set_value(True)
    user.update(90)
    assert user.vehicle.state.position[0, 2] > 0.5
    run = section(shown, "Run")
    typed = rows(run)["Wind [m/s]"]
    user.kit.keys = {"W"}
    user.update(60)
    # Its nose points north.
    assert user.vehicle.state.velocity[0, 1] > 0.8
    assert abs(user.vehicle.state.velocity[0, 0]) < 0.1
    # A flight must not rebuild fields in which the user types.
    assert rows(run)["Wind [m/s]"] == typed
    user.kit.keys = set()
    user.update(240)
    assert np.linalg.norm(user.vehicle.state.velocity[0]) < 0.1
    assert not any(message.error for message in user.panel.messages), user.messages


def test_a_closed_window_lets_go_of_its_keys(window):
    """A vehicle would fly on as if a key were held that was down when the window closed."""
    user, held = window(), []
    opened(user)
    user.kit.windows[0]._hands.enable(True)
    user.panel.pilot.steer = lambda *inputs: held.append(inputs)
    user.kit.keys = {"R"}
    user.update(3)
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(3)
    assert held[0] == (("r",), (), ())
    assert held[-1] == ((), (), ())


@pytest.mark.parametrize(
    ("stick", "axis", "sign"),
    [
        ("RIGHT_STICK_UP", 1, 1.0),
        ("RIGHT_STICK_DOWN", 1, -1.0),
        ("RIGHT_STICK_LEFT", 0, -1.0),
        ("RIGHT_STICK_RIGHT", 0, 1.0),
        ("LEFT_STICK_UP", 2, 1.0),
    ],
)
def test_sticks_fly(window, stick, axis, sign):
    """A stick would move the vehicle in the wrong direction."""
    user = window()
    steered(user)
    user.kit.gamepad = {"A": 1.0}
    shown = opened(user)
    rows(section(shown, "Fly"))["Keys and gamepad"][0].model.set_value(True)
    user.kit.timeline.play()
    user.update(150)
    user.kit.gamepad = {stick: 1.0}
    user.update(40)
    assert sign * user.vehicle.state.velocity[0, axis] > 0.4
    user.kit.gamepad = {"B": 1.0}
    user.update(2)
    assert "land" in user.vehicle.reference.segment


def test_closing_the_window_lets_go_of_the_keys(window):
    """A vehicle would keep flying by a key that cannot be released any more."""
    user = window()
    steered(user)
    shown = opened(user)
    user.kit.timeline.play()
    rows(section(shown, "Fly"))["Keys and gamepad"][0].model.set_value(True)
    user.kit.keys = {"T"}
    user.update(90)
    user.kit.keys = {"R"}
    user.update(60)
    assert user.vehicle.state.velocity[0, 2] > 0.8
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(180)
    assert abs(user.vehicle.state.velocity[0, 2]) < 0.1
    assert user.vehicle.state.position[0, 2] > 1.0
