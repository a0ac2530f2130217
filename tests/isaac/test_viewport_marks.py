"""What the window draws into the viewport; vehicles on the open stage, on the fakes."""

import time

import numpy as np
import pytest
from pxr import UsdGeom, UsdPhysics

from pegasus.panel.marks import TRAIL_PERIOD
from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.window_user import opened, rows, section, steered


def ticked(user, **marks):
    """Choose what is drawn, and let some frames go by."""
    off = dict.fromkeys(("trails", "axes", "reference_path", "contact_flashes"), False)
    assert user.panel.view.draw(**off | marks)
    look(user, 2 * TRAIL_PERIOD)


def look(user, count):
    """Let frames go by until the simulation has been looked at some times, which wall time sets."""
    last = user.panel.snapshot.number + count
    until(user, lambda: user.panel.snapshot.number >= last)
    user.update()


def until(user, condition):
    """Let frames go by until a condition holds, for half a minute at most."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        user.update()


def lines(user):
    """Return the lines in the viewport by their colours, each of shape (L, 2, 3)."""
    found = {}
    for start, end, color in user.kit.drawn_lines:
        found.setdefault(tuple(round(255 * part) for part in color[:3]), []).append((start, end))
    return {color: np.array(pairs) for color, pairs in found.items()}


def test_marks_follow_the_flight(window):
    """Lines where nobody has flown, of somebody else's frame, or ones that pile up frame after frame."""
    user = window("5.1.0")
    steered(user)
    opened(user)
    ticked(user)
    assert user.kit.drawn_lines == []
    user.kit.timeline.play()
    until(user, lambda: user.vehicle.state.position[0, 2] > 1.5)
    ticked(user, trails=True)
    (trail,) = lines(user).values()
    np.testing.assert_allclose(trail[1:, 0], trail[:-1, 1], atol=1e-6)
    # It hovers 1.5 m above its start.
    np.testing.assert_allclose(trail[..., :2], 0.0, atol=0.05)
    assert trail[..., 2].max() > 1.4
    look(user, 2 * TRAIL_PERIOD)
    assert 0 < len(lines(user)[255, 140, 30]) - len(trail) <= 2 * TRAIL_PERIOD + 1

    ticked(user, axes=True)
    user.kit.timeline.pause()
    look(user, 2 * TRAIL_PERIOD)
    drawn = lines(user)
    ((origin, x_tip),), ((_, y_tip),), ((_, z_tip),) = drawn.values()
    state = user.vehicle.state
    np.testing.assert_allclose(origin, state.position[0], atol=1e-3)
    tips = np.stack([x_tip, y_tip, z_tip], axis=1) - origin[:, None]
    np.testing.assert_allclose(tips / 0.4, state.rotation[0], atol=1e-3)

    ticked(user, reference_path=True)
    assert (40, 200, 255) in lines(user)
    ticked(user)
    assert user.kit.drawn_lines == []


def test_contacts_are_points(window):
    """What a vehicle stands on would not be seen."""
    user = window()
    steered(user)
    opened(user)
    user.kit.timeline.play()
    user.update(30)
    user.kit.timeline.pause()
    ticked(user, contact_flashes=True)
    assert user.kit.drawn_points
    np.testing.assert_allclose(np.array(user.kit.drawn_points)[:, 2], 0.0, atol=0.02)


def test_marks_go_with_the_window(window):
    """Lines that nobody can take away any more."""
    user = window()
    steered(user)
    opened(user)
    ticked(user, axes=True)
    assert user.kit.drawn_lines
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    look(user, 2 * TRAIL_PERIOD)
    assert user.kit.drawn_lines == []


def press(user, fold, name):
    """Press a button of a fold."""
    next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == name)._press()
    user.update(2)


@pytest.mark.parametrize("version", VERSIONS)
def test_vehicles_are_added_to_the_open_stage(window, version):
    """Whoever has a stage of his own would have to give it up for a vehicle."""
    user = window(version)
    stage = user.kit.context.get_stage()
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, "/World/ground").GetPrim())
    shown = opened(user)
    rows(section(shown, "World"))["Rate [Hz]"][0].model._type(500.0)
    press(user, section(shown, "World"), "Fly on the open stage")
    assert user.kit.context.get_stage() == stage
    assert user.simulation.rate == 500.0
    assert user.panel.vehicle.set_position(1.0, 2.0, 0.1)
    assert user.panel.vehicle.add(), user.messages
    user.kit.timeline.play()
    user.update(20)
    assert user.simulation.step_count > 100
    # Once more: the vehicle is not lost, nor there twice.
    press(user, section(shown, "World"), "Fly on the open stage")
    assert [vehicle.name for vehicle in user.simulation.vehicles] == ["iris"]
    np.testing.assert_allclose(user.vehicle.state.position, [[1.0, 2.0, 0.1]], atol=1e-6)
    user.kit.timeline.play()
    user.update(20)
    assert user.simulation.step_count > 100


def test_a_stage_that_cannot_be_used_is_told(window):
    """Vehicles would be a hundred times too small."""
    user = window()
    UsdGeom.SetStageMetersPerUnit(user.kit.context.get_stage(), 0.01)
    press(user, section(opened(user), "World"), "Fly on the open stage")
    assert "metersPerUnit = 0.01" in user.messages
    UsdGeom.SetStageMetersPerUnit(user.kit.context.get_stage(), 1.0)
    press(user, section(user.kit.windows[0], "World"), "Fly on the open stage")
    assert "the open stage holds no geometry" in user.messages
    assert "/tmp" not in user.messages
    assert user.simulation is None
