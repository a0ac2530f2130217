"""Tests of the choices in the extension's window, on the fakes."""

import numpy as np
import pytest

from tests.isaac.fakes import interface
from tests.isaac.window_user import opened, rows, section


def test_thumbnails_follow_the_choice(window):
    """The thumbnail would be another vehicle's than the chosen one."""
    user = window()
    shown = opened(user)
    for kind, name in (("Vehicle", "octorotor"), ("Vehicle", "iris"), ("World", "flat"), ("World", "forest")):
        fold = section(shown, kind)
        rows(fold)[kind][0].model._choose(name)
        user.update(2)
        (image,) = [widget for widget in fold._all() if isinstance(widget, interface.Image)]
        assert image.source_url.endswith(f"{kind.lower()}s/{name}.jpg")


def test_several_copies_can_be_looked_at(window):
    """Only the first copy's telemetry could be shown."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    shown = opened(user)
    fold = section(shown, "Vehicle")
    rows(fold)["Count"][0].model._type(3.0)
    user.update(2)
    rows(fold)["Spacing [m]"][0].model._type(2.5)
    user.update(2)
    next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == "Add")._press()
    user.update(3)
    starts = user.vehicle.start.position
    assert np.linalg.norm(starts[1] - starts[0]) == pytest.approx(2.5)
    rows(section(shown, "Fly"))["Copy"][0].model._type(2.0)
    user.update(12)
    assert user.panel.telemetry.copy == 2


def test_a_vehicle_is_put_on_the_ros2_graph(window, monkeypatch):
    """The ROS 2 options would be missing in the window."""
    monkeypatch.setattr("pegasus.panel.choices.find_driver", lambda: object)
    user = window()
    shown = opened(user)
    assert "Namespace" not in rows(section(shown, "Backend"))
    rows(section(shown, "Backend"))["Publish on ROS 2"][0].model.set_value(True)
    user.update(2)
    rows(section(shown, "Backend"))["Namespace"][0].model._type("drone0")
    user.update(2)
    assert [backend.drives for backend in user.panel.backend.make()] == [True, False]
    rows(section(shown, "Backend"))["Backend"][0].model._choose("ros2")
    user.update(2)
    found = rows(section(shown, "Backend"))
    assert "Flight" not in found
    found["Domain"][0].model._type("7")
    user.update(2)
    rows(section(shown, "Backend"))["On timeout"][0].model._choose("hold")
    user.update(2)
    (made,) = user.panel.backend.make()
    assert (made.namespace, made.domain_id, made.on_timeout, made.drives) == ("drone0", 7, "hold", True)


def test_what_is_typed_stays_until_it_is_used(window):
    """A section that is rebuilt would fold up, or lose numbers that wait for their button."""
    user = window()
    assert user.panel.world.choose("flat")
    shown = opened(user)
    world = section(shown, "World")
    section(shown, "Origin").collapsed = False
    rows(world)["Latitude [deg]"][0].model._type(41.5)
    user.update(2)
    rows(world)["Altitude [m]"][0].model._type(70.0)
    user.update(12)
    assert section(shown, "Origin").collapsed is False
    assert rows(world)["Latitude [deg]"][0].model.as_float == 41.5
    next(w for w in world._all() if isinstance(w, interface.Button) and w.text == "Set")._press()
    user.update(2)
    assert (user.panel.world.origin.latitude, user.panel.world.origin.altitude) == (41.5, 70.0)
    # Another world has an origin of its own.
    assert user.panel.world.choose("courtyard")
    user.update(2)
    assert rows(world)["Latitude [deg]"][0].model.as_float == user.panel.world.origin.latitude != 41.5


def test_what_cannot_be_recorded_is_not_shown_as_recorded(window, tmp_path):
    """A box would be ticked although nothing is recorded."""
    user = window()
    user.fly_square()
    user.panel.simulation.out = tmp_path / "file" / "deeper"
    (tmp_path / "file").write_text("in the way")
    shown = opened(user)
    user.kit.timeline.play()
    user.update(3)
    box = rows(section(shown, "Run"))["Record"][0].model
    box.set_value(True)
    user.update(3)
    assert "deeper" in user.messages
    assert rows(section(shown, "Run"))["Record"][0].model.as_bool is False
    user.panel.simulation.out = tmp_path / "runs"
    rows(section(shown, "Run"))["Record"][0].model.set_value(True)
    user.update(3)
    assert user.panel.snapshot.recording.parent == tmp_path / "runs"
    assert rows(section(shown, "Run"))["Record"][0].model.as_bool is True


@pytest.mark.parametrize("model", ["heavy_octorotor", "crazyflie"])
def test_a_vehicle_stands_on_the_ground_before_physics_runs(window, model):
    """A vehicle added before physics runs, when rays hit nothing, would start in the ground."""
    user = window()
    panel = user.panel
    assert panel.world.choose("flat")
    assert panel.world.load(), user.messages
    assert panel.vehicle.choose(model)
    assert panel.vehicle.add(), user.messages
    start = user.vehicle.start.position[0, 2]
    assert start == pytest.approx(user.vehicle.start.height)
    user.kit.timeline.play()
    assert user.seen(0.5)[:, 3].max() <= start + 1e-3
