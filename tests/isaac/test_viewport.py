"""The viewport's camera and pictures of it, as the window asks for them, on the fakes."""

import math

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Usd, UsdGeom

from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.fakes.application import PERSPECTIVE
from tests.isaac.window_user import opened, rows, section, steered


def pose(user):
    """Return where the viewport's camera is, and its axes as rows: right, up, back."""
    camera = UsdGeom.Camera(user.kit.context.get_stage().GetPrimAtPath(PERSPECTIVE))
    matrix = np.array(camera.ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
    return matrix[3, :3], matrix[:3, :3]


def pull(user, offset):
    """Move the viewport's camera by the mouse."""
    prim = user.kit.context.get_stage().GetPrimAtPath(PERSPECTIVE)
    op = UsdGeom.Xformable(prim).GetOrderedXformOps()[0]
    matrix = op.Get()
    matrix.SetTranslateOnly(matrix.ExtractTranslation() + Gf.Vec3d(*offset))
    with Usd.EditContext(prim.GetStage(), prim.GetStage().GetSessionLayer()):
        op.Set(matrix)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_viewport_looks_where_it_is_told_to(window, version):
    """Eye and target the wrong way round, or a vehicle's camera moved in the place of Kit's own."""
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
    eye, axes = pose(user)
    target = np.array(user.panel.view.viewpoint.target)
    np.testing.assert_allclose(eye, [3.0, *user.panel.view.viewpoint.position[1:]], atol=1e-5)
    np.testing.assert_allclose(-axes[2], (target - eye) / np.linalg.norm(target - eye), atol=1e-5)
    assert user.kit.viewport.camera_path == PERSPECTIVE
    # Then the user turns it by the mouse, and nobody turns it back.
    pull(user, (1.0, 0.0, 0.0))
    user.update(5)
    assert pose(user)[0][0] == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_viewport_goes_along_with_a_vehicle(window, version):
    """A camera that stays behind, that looks from the vehicle's nose back, or that is torn from the mouse."""
    user = window(version)
    user.fly_square()
    fold = section(opened(user), "View")
    user.kit.timeline.play()
    user.update(60)
    rows(fold)["Camera"][0].model._choose("chase")
    for _ in range(3):
        user.update(20)
        # Snapshots come with the wall clock, which frames of the fakes do not wait for.
        user.extension.session._look(force=True)
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
    user.extension.session._look(force=True)
    user.update()
    after = pose(user)[0] - user.panel.snapshot.vehicles[0].position[0]
    assert np.linalg.norm(user.panel.snapshot.vehicles[0].position[0] - place) > 0.02
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_no_viewport_is_no_trouble(window):
    """Without a window of its own Kit has no viewport: what looks for one would fail with every frame."""
    user = window()
    steered(user)
    fold = section(opened(user), "View")
    user.kit.viewport = None
    rows(fold)["Camera"][0].model._choose("chase")
    user.update(5)
    assert not user.kit.errors()


def test_a_screenshot_is_kept_whole(window, tmp_path, monkeypatch):
    """Kit writes a picture while frames go on: half of it would be kept, or none be told of."""
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
