"""The window of the extension: what can be chosen in it, on the fakes."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from tests.isaac.fakes import interface
from tests.isaac.window_user import opened, rows, section


def test_thumbnails_follow_the_choice(window):
    """The picture of another vehicle than the one that is added."""
    user = window()
    shown = opened(user)
    for kind, name in (("Vehicle", "octorotor"), ("Vehicle", "iris"), ("World", "flat"), ("World", "forest")):
        fold = section(shown, kind)
        rows(fold)[kind][0].model._choose(name)
        user.update(2)
        (image,) = [widget for widget in fold._all() if isinstance(widget, interface.Image)]
        assert image.source_url.endswith(f"{kind.lower()}s/{name}.jpg")


def test_an_environment_of_isaac_sim_has_its_own_thumbnail(window, tmp_path):
    """One of the shipped worlds in its place, or one that stays when another world is chosen."""
    user = window()
    user.kit.assets_root = str(tmp_path)
    folder = tmp_path / "Isaac" / "Environments" / "Hospital"
    folder.mkdir(parents=True)
    stage = Usd.Stage.CreateNew(str(folder / "hospital.usd"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
    stage.Save()
    shown = opened(user)
    fold = section(shown, "World")
    rows(fold)["Of Isaac Sim"][0].model._choose("Hospital")
    user.update(2)
    (image,) = [widget for widget in fold._all() if isinstance(widget, interface.Image)]
    assert image.source_url == f"{folder}/.thumbs/256x256/hospital.usd.png"
    combo = rows(fold)["Of Isaac Sim"][0]
    assert combo.model._names[combo.model.get_item_value_model().as_int] == "Hospital"
    rows(fold)["World"][0].model._choose("flat")
    user.update(2)
    (image,) = [widget for widget in fold._all() if isinstance(widget, interface.Image)]
    assert image.source_url.endswith("worlds/flat.jpg")


def test_an_environment_that_the_server_has_not_is_told_in_one_line(window):
    """What OpenUSD raises ends in the log of Kit, and the list seems to do nothing."""
    user = window()
    fold = section(opened(user), "World")
    rows(fold)["Of Isaac Sim"][0].model._choose("Hospital")
    user.update(2)
    assert "hospital.usd cannot be opened" in user.messages
    assert "\n" not in user.messages
    assert user.panel.world.chosen == "courtyard"


def test_several_copies_can_be_looked_at(window):
    """Telemetry of the first copy only."""
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
    starts = user.vehicle.start_position
    assert np.linalg.norm(starts[1] - starts[0]) == pytest.approx(2.5)
    rows(section(shown, "Fly"))["Copy"][0].model._type(2.0)
    user.update(12)
    assert user.panel.telemetry.copy == 2
