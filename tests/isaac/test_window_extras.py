"""Tests of scenarios and additional sensors in the extension's window, on the fakes."""

import pytest

from pegasus.cameras import Camera, Lidar
from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.window_user import opened, rows, section, texts


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """Return the user's folder."""
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config"


def press(user, title, name):
    """Press a button of a section."""
    fold = section(user.kit.windows[0], title)
    next(w for w in fold._all() if isinstance(w, interface.Button) and w.text == name)._press()
    user.update(2)


def field(user, title, label, index=0):
    """Return the model of a field of a section."""
    return rows(section(user.kit.windows[0], title))[label][index].model


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_gets_a_camera_and_a_lidar_and_is_saved(window, version, config):
    """Sensors could not be mounted in the window, or be lost on saving."""
    user = window(version)
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    opened(user)
    title = "Mount sensors"
    field(user, title, "depth").set_value(True)
    user.update(2)
    field(user, title, "Pitch [deg]")._type(90.0)
    user.update(2)
    press(user, title, "Next vehicle")
    field(user, title, "Sensor")._choose("lidar")
    user.update(2)
    field(user, title, "Sensor name")._type("top")
    user.update(2)
    press(user, title, "Next vehicle")
    press(user, title, "Next vehicle")
    field(user, title, "Mounted")._choose("lidar")
    user.update(2)
    press(user, title, "Unmount")
    assert "camera: camera, 10 Hz" in texts(section(user.kit.windows[0], title))
    press(user, "Vehicle", "Add")
    made = user.vehicle.sensors
    assert isinstance(made["camera"], Camera)
    assert made["camera"].outputs == ("rgb", "distance_to_image_plane")
    assert isinstance(made["top"], Lidar)
    assert "lidar" not in made
    press(user, title, "Followed")
    assert set(user.vehicle.sensors) == {*made, "lidar"}, user.messages
    made = user.vehicle.sensors
    field(user, "Scenario", "Save as")._type("seen")
    user.update(2)
    press(user, "Scenario", "Save")
    assert (config / "scenarios" / "seen.yaml").is_file(), user.messages
    assert user.panel.world.clear()
    user.update(2)
    field(user, "Scenario", "Scenario")._choose("seen")
    user.update(2)
    press(user, "Scenario", "Open")
    assert set(user.vehicle.sensors) == set(made)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_saved_stage_brings_sensors_and_trajectories_back(window, version, tmp_path):
    """A reloaded vehicle would lack its camera or its trajectory."""
    user = window(version)
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    assert user.panel.sensors.mount()
    assert user.panel.backend.set_flight("square", size=1.5, height=1.0, speed=2.0)
    assert user.panel.vehicle.add(), user.messages
    user.update(2)
    stage = str(tmp_path / "kept.usda")
    user.kit.context.save_as_stage(stage)
    user.kit.context.open_stage(stage)
    user.update(2)
    assert isinstance(user.vehicle.sensors["camera"], Camera)
    (pilot,) = user.vehicle.backends
    assert pilot.mission.duration > 1.0


def eyes(user):
    """Load a world with a vehicle that has a camera."""
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    assert user.panel.sensors.set_resolution(40, 30)
    assert user.panel.sensors.mount()
    assert user.panel.vehicle.add(), user.messages
    user.update(2)


@pytest.mark.parametrize("version", VERSIONS)
def test_replicator_writes_from_start_to_stop(window, version, tmp_path):
    """The window could not start a Replicator writer, or not stop it."""
    user = window(version)
    user.extension.replicator.out = tmp_path / "runs"
    eyes(user)
    opened(user)
    field(user, "Replicator", "semantic_segmentation").set_value(True)
    user.update(2)
    press(user, "Replicator", "Start")
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"into {folder}" in texts(section(user.kit.windows[0], "Replicator"))
    user.kit.timeline.play()
    user.update(10)
    assert len(list(folder.glob("*semantic_segmentation*"))) >= 8
    press(user, "Replicator", "Start")
    assert "is running already; stop it first" in user.messages
    press(user, "Replicator", "Stop")
    count = len(list(folder.iterdir()))
    user.update(10)
    assert len(list(folder.iterdir())) == count
    assert not user.kit.writers


def test_a_writer_goes_with_its_vehicle_and_not_with_the_window(window, tmp_path):
    """A writer would outlive its vehicle, or end with the window."""
    user = window()
    user.extension.replicator.out = tmp_path / "runs"
    eyes(user)
    opened(user)
    press(user, "Replicator", "Start")
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(3)
    assert user.kit.writers
    assert user.panel.vehicle.remove("iris")
    user.update(3)
    assert not user.kit.writers
    eyes(user)
    assert user.extension.replicator.start(), user.messages
    assert user.panel.world.load(), user.messages
    user.update(3)
    assert not user.kit.writers
    assert not user.kit.errors()


def test_a_writer_that_cannot_be_started_is_one_line(window, tmp_path):
    """A failed writer would cause a traceback, or leave an empty folder."""
    user = window()
    part = user.extension.replicator
    part.out = tmp_path / "runs"
    assert not part.start()
    assert "there is no vehicle; add one with a camera first" in user.messages
    assert user.panel.world.choose("flat")
    assert user.panel.world.load()
    assert user.panel.vehicle.add()
    user.update(2)
    assert not part.start()
    assert "has no camera; mount one" in user.messages
    assert user.panel.vehicle.remove("iris")
    eyes(user)
    assert part.set_writer("KittyWriter")
    assert not part.start()
    assert "'KittyWriter': cannot be started" in user.messages
    assert list((tmp_path / "runs").iterdir()) == []
    assert not user.kit.products
