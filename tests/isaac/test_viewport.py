"""Tests of the window's viewport: camera, screenshots, clicks, drawn marks, and the open stage."""

import math
import time

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus.panel.marks import TRAIL_PERIOD
from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.fakes.application import PERSPECTIVE
from tests.isaac.window_user import opened, rows, section, steered
from tests.waits import LIMIT


def pose(user):
    """Return the position of the viewport's camera, and its axes as rows: right, up, back."""
    camera = UsdGeom.Camera(user.kit.context.get_stage().GetPrimAtPath(PERSPECTIVE))
    matrix = np.array(camera.ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
    return matrix[3, :3], matrix[:3, :3]


def pull(user, offset):
    """Drag the viewport's camera by the mouse."""
    prim = user.kit.context.get_stage().GetPrimAtPath(PERSPECTIVE)
    op = UsdGeom.Xformable(prim).GetOrderedXformOps()[0]
    matrix = op.Get()
    matrix.SetTranslateOnly(matrix.ExtractTranslation() + Gf.Vec3d(*offset))
    with Usd.EditContext(prim.GetStage(), prim.GetStage().GetSessionLayer()):
        op.Set(matrix)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_viewport_looks_where_it_is_told_to(window, version):
    """Eye and target would be exchanged, or a vehicle's camera be moved."""
    user = window(version)
    steered(user)
    user.kit.viewport.camera_path = "/World/iris/body_0/front"
    fold = section(opened(user), "View")
    before = pose(user)[0]
    user.update(5)
    np.testing.assert_array_equal(pose(user)[0], before)
    x, _, _ = rows(fold)["Position [m]"]
    x.model._type(3.0)
    user.update(2)
    press(user, "View", "Move camera")
    eye, axes = pose(user)
    target = np.array(user.panel.view.viewpoint.target)
    np.testing.assert_allclose(eye, [3.0, *user.panel.view.viewpoint.position[1:]], atol=1e-5)
    np.testing.assert_allclose(-axes[2], (target - eye) / np.linalg.norm(target - eye), atol=1e-5)
    assert user.kit.viewport.camera_path == PERSPECTIVE
    # Then the user rotates the camera by the mouse, and it stays so.
    pull(user, (1.0, 0.0, 0.0))
    user.update(5)
    assert pose(user)[0][0] == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_viewport_goes_along_with_a_vehicle(window, version):
    """The camera would stay behind, point backwards, or override the mouse."""
    user = window(version)
    user.fly_square()
    fold = section(opened(user), "View")
    user.kit.timeline.play()
    user.update(60)
    rows(fold)["Camera"][0].model._choose("chase")
    for _ in range(3):
        user.update(20)
        # Snapshots come with the wall clock, which frames of the fakes do not wait for.
        user.extension.session._take_snapshot(force=True)
        user.update()
        vehicle = user.panel.snapshot.vehicles[0]
        place = vehicle.position[0]
        eye, axes = pose(user)
        assert np.linalg.norm(eye - place) == pytest.approx(math.hypot(3.0, 1.2), abs=1e-4)
        np.testing.assert_allclose(-axes[2], (place - eye) / np.linalg.norm(place - eye), atol=1e-4)
    rows(fold)["Camera"][0].model._choose("first person")
    user.update(2)
    vehicle = user.panel.snapshot.vehicles[0]
    place = vehicle.position[0]
    eye, axes = pose(user)
    assert np.linalg.norm(eye - place) < 0.06
    x, y, z, w = vehicle.orientation[0]
    nose = [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]
    np.testing.assert_allclose(-axes[2], nose, atol=1e-3)
    rows(fold)["Camera"][0].model._choose("follow")
    user.update(2)
    pull(user, (0.0, 0.0, 2.0))
    before = pose(user)[0] - user.panel.snapshot.vehicles[0].position[0]
    user.update(20)
    user.extension.session._take_snapshot(force=True)
    user.update()
    after = pose(user)[0] - user.panel.snapshot.vehicles[0].position[0]
    assert np.linalg.norm(user.panel.snapshot.vehicles[0].position[0] - place) > 0.02
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_no_viewport_is_no_trouble(window):
    """Without a viewport every frame would raise an error."""
    user = window()
    steered(user)
    fold = section(opened(user), "View")
    user.kit.viewport = None
    rows(fold)["Camera"][0].model._choose("chase")
    user.update(5)
    assert not user.kit.errors()


def test_a_screenshot_is_kept_whole(window, tmp_path, monkeypatch):
    """A screenshot would be saved before Kit has finished its file, or not be reported."""
    user = window()
    steered(user)
    monkeypatch.setattr(user.panel.view, "out", tmp_path / "out")
    fold = section(opened(user), "View")
    press = next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == "Screenshot")._press
    press()
    user.update(6)
    (file,) = (tmp_path / "out").iterdir()
    assert Image.open(file).convert("RGB").getpixel((15, 8)) == (10, 20, 30)
    assert str(file) in user.messages
    user.kit.viewport = None
    press()
    user.update(2)
    assert "shows no viewport" in user.messages
    assert len(list((tmp_path / "out").iterdir())) == 1


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
    """Return the point of the plane z = 0 in a direction of the image, not by the fakes' ray."""
    stage = user.kit.context.get_stage()
    camera = UsdGeom.Camera(stage.GetPrimAtPath(PERSPECTIVE)).GetCamera(Usd.TimeCode.Default())
    half = camera.horizontalAperture / camera.focalLength / 2.0
    direction = np.array([x * half, y * half * 720 / 1280, -1.0])
    pose = np.array(camera.transform)
    along = direction @ pose[:3, :3]
    return pose[3, :3] - along * pose[3, 2] / along[2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_is_placed_by_a_click(window, version):
    """A vehicle would be placed beside the click, or only while the timeline plays."""
    user = window(version)
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    assert user.panel.view.set_viewpoint((4.0, -3.0, 3.0), (4.0, 0.0, 0.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    assert "click into the viewport to choose the start position" in user.messages
    click(user, 0.3, -0.4)
    place = user.panel.vehicle.position
    # To a pixel or two.
    np.testing.assert_allclose(place, ground_at(user, 0.3, -0.4), atol=0.02)
    assert user.panel.vehicle.on_ground
    # The next click is a normal one.
    click(user, 0.0, 0.0)
    assert user.panel.vehicle.position == place
    assert user.kit.selected_by_click == [(0.0, 0.0)]
    assert user.kit.viewport._scene_views == []
    press(user, "Vehicle", "Add")
    start = user.vehicle.start.position[0]
    np.testing.assert_allclose(start, (place[0], place[1], place[2] + user.vehicle.start.height))


def test_the_vehicle_flies_over_a_click(window):
    """The vehicle would fly into the ground, or to another point than clicked."""
    user = window()
    steered(user)
    opened(user)
    assert user.panel.view.set_viewpoint((0.0, -6.0, 6.0), (0.0, 0.0, 0.0))
    user.kit.timeline.play()
    user.update(2)
    flown = []
    user.panel.pilot._command = lambda command: command(
        type("Steering", (), {"steer_to": lambda _, point: flown.append(point)})()
    )
    press(user, "Fly", "Go to click")
    click(user, 0.2, 0.5)
    (point,) = flown
    np.testing.assert_allclose(point[:2], ground_at(user, 0.2, 0.5)[:2], atol=0.05)
    assert point[2] >= 1.0


def test_a_click_beside_the_picture_still_waits(window):
    """A click on the bars beside the image would count as a click on the scene."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    user.kit.viewport._aspects = 0.5, 1.0
    assert user.panel.view.set_viewpoint((0.0, -6.0, 6.0), (0.0, 0.0, 0.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    click(user, 0.7, 0.0)
    assert user.panel.vehicle.position is None
    click(user, 0.25, 0.0)
    np.testing.assert_allclose(user.panel.vehicle.position, ground_at(user, 0.5, 0.0), atol=0.05)


def test_what_cannot_be_clicked_is_said(window):
    """A click into the sky, or without a viewport, would cause no message."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    opened(user)
    assert user.panel.view.set_viewpoint((0.0, 0.0, 3.0), (10.0, 0.0, 30.0))
    user.update(2)
    press(user, "Vehicle", "Place by click")
    click(user, 0.0, 0.0)
    assert "click: hits nothing; click on the ground" in user.messages
    assert user.panel.vehicle.position is None
    user.kit.viewport, kept = None, user.kit.viewport
    press(user, "Vehicle", "Place by click")
    assert "Isaac Sim shows no viewport; open one" in user.messages
    user.kit.viewport = kept


def test_a_closed_window_awaits_no_click(window):
    """The viewport would catch a click for a closed panel."""
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


def ticked(user, **marks):
    """Choose the drawn marks, and let some frames pass."""
    off = dict.fromkeys(("trails", "axes", "reference_path", "contact_flashes"), False)
    assert user.panel.view.draw(**off | marks)
    look(user, 2 * TRAIL_PERIOD)


def look(user, count):
    """Let frames pass until the simulation has been sampled some times, at intervals of wall time."""
    last = user.panel.snapshot.number + count
    until(user, lambda: user.panel.snapshot.number >= last)
    user.update()


def until(user, condition):
    """Let frames pass until a condition holds, for within the limit."""
    end = time.monotonic() + LIMIT
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
    """Lines would be in a wrong place or frame, or accumulate with each frame."""
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
    """Contact points of a vehicle would not be drawn."""
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
    """Lines would remain after the window is closed."""
    user = window()
    steered(user)
    opened(user)
    ticked(user, axes=True)
    assert user.kit.drawn_lines
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    look(user, 2 * TRAIL_PERIOD)
    assert user.kit.drawn_lines == []


@pytest.mark.parametrize("version", VERSIONS)
def test_vehicles_are_added_to_the_open_stage(window, version):
    """A vehicle could not be added to a user's own stage."""
    user = window(version)
    stage = user.kit.context.get_stage()
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, "/World/ground").GetPrim())
    shown = opened(user)
    rows(section(shown, "World"))["Physics rate [Hz]"][0].model._type(500.0)
    press(user, "World", "Fly on the open stage")
    assert user.kit.context.get_stage() == stage
    assert user.simulation.rate == 500.0
    assert user.panel.vehicle.set_position(1.0, 2.0, 0.1)
    assert user.panel.vehicle.add(), user.messages
    user.kit.timeline.play()
    user.update(20)
    assert user.simulation.step_count > 100
    # Again: the vehicle is neither lost nor duplicated.
    press(user, "World", "Fly on the open stage")
    assert [vehicle.name for vehicle in user.simulation.vehicles] == ["iris"]
    np.testing.assert_allclose(user.vehicle.state.position, [[1.0, 2.0, 0.1]], atol=1e-6)
    user.kit.timeline.play()
    user.update(20)
    assert user.simulation.step_count > 100


def test_a_stage_that_cannot_be_used_is_told(window):
    """A stage in centimetres would be accepted, with vehicles a hundred times too small."""
    user = window()
    UsdGeom.SetStageMetersPerUnit(user.kit.context.get_stage(), 0.01)
    opened(user)
    press(user, "World", "Fly on the open stage")
    assert "metersPerUnit = 0.01" in user.messages
    UsdGeom.SetStageMetersPerUnit(user.kit.context.get_stage(), 1.0)
    press(user, "World", "Fly on the open stage")
    assert "the open stage has no geometry" in user.messages
    assert "/tmp" not in user.messages
    assert user.simulation is None
