"""Tests of the panel's scenario and sensor parts without a GUI toolkit."""

import numpy as np
import pytest

from pegasus import Backend, Multirotor
from pegasus.config.files import load_scenario
from tests.panel.panel_rig import last_error


class Unknown(Backend):
    """A listener that YAML cannot describe."""

    def __init__(self):
        self.heard = []


def test_a_camera_and_a_lidar_are_mounted(flat):
    """A vehicle could only have the sensors of its file."""
    sensors = flat.sensors
    assert sensors.place(0.1, 0.0, -0.05)
    assert sensors.turn(0.5, -0.25)
    assert sensors.set_resolution("320", 200)
    assert sensors.set_output("depth", on=True)
    assert sensors.set_rate(5)
    assert sensors.mount()
    assert sensors.mount()
    assert sensors.set_kind("lidar")
    assert sensors.set_name("top")
    assert sensors.set_pattern("mid360") or sensors.set_pattern("vlp16")
    assert sensors.mount()
    assert list(sensors.mounted) == ["camera", "camera1", "top"]
    assert sensors.remove("camera1")
    assert flat.vehicle.add(), flat.messages
    made = flat.session.call(lambda simulation: simulation.vehicles["iris"].sensors)
    camera, lidar = made["camera"], made["top"]
    assert (camera.position, camera.orientation) == ((0.1, 0.0, -0.05), (0.0, 0.5, -0.25))
    assert (camera.resolution, camera.rate_hz) == ((320, 200), 5.0)
    assert camera.outputs == ("rgb", "distance_to_image_plane")
    assert lidar.position == (0.1, 0.0, -0.05)


def test_a_vehicle_of_the_world_gets_a_camera(flat):
    """A camera could only be mounted by removing the vehicle and adding it again."""
    assert flat.backend.set_flight("circle", size=2.0, height=1.5, speed=1.0)
    assert flat.vehicle.set_count(2, 3.0)
    assert flat.vehicle.set_heading(0.5)
    assert flat.vehicle.add(), flat.messages
    before = flat.session.call(lambda simulation: simulation.vehicles["iris"])
    assert flat.sensors.mount_on_followed(), flat.messages
    assert flat.sensors.set_kind("lidar")
    assert flat.sensors.mount_on_followed(), flat.messages
    now = flat.session.call(lambda simulation: simulation.vehicles["iris"])
    assert set(now.sensors) == {*before.sensors, "camera", "lidar"}
    assert [type(backend) for backend in now.backends] == [type(backend) for backend in before.backends]
    np.testing.assert_allclose(now.start.position, before.start.position, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(now.start.orientation, before.start.orientation, rtol=0.0, atol=1e-12)
    flat.session.call(lambda simulation: simulation.run(4.0))
    assert float(now.state.position[:, 2].min()) > 0.5


def test_a_vehicle_that_cannot_get_a_camera_stays_as_it_is(flat):
    """A wrong name, or a vehicle in flight, would cause the vehicle to be removed."""
    part = flat.sensors
    assert not part.mount_on_followed()
    assert "there is no vehicle" in last_error(flat)
    assert flat.vehicle.add(), flat.messages
    assert part.set_name("imu")
    assert not part.mount_on_followed()
    assert "is taken" in last_error(flat)
    assert part.set_name("")
    flat.session.call(lambda simulation: simulation.step())
    assert not part.mount_on_followed()
    assert "stop the simulation first" in last_error(flat)
    assert flat.simulation.stop()
    own = Multirotor("iris", name="own", backends=[Unknown()])
    flat.session.add(own)
    assert flat.view.follow("own")
    assert not part.mount_on_followed()
    assert "created in Python" in last_error(flat)
    assert flat.session.call(lambda simulation: simulation.vehicles["own"]) is own


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda part: part.set_kind("radar"), "must be one of camera, lidar"),
        (lambda part: part.set_resolution(640, 0.5), "must be a whole number from 1 up"),
        (lambda part: part.set_pattern("spiral"), "must be one of"),
        (lambda part: part.set_output("smell", on=True), "must be one of rgb"),
        (lambda part: part.set_rate(-1) and part.mount(), "rate_hz"),
        (lambda part: part.set_output("rgb", on=False) and part.mount(), "must name at least one output"),
        (lambda part: part.set_name("a") and part.mount() and part.set_name("a") and part.mount(), "taken"),
        (lambda part: part.remove("front"), "does not exist; mounted are none"),
        (lambda part: part.place("x", 0, 0), "must be a finite number"),
    ],
)
def test_what_cannot_be_mounted_is_one_line(panel, act, said):
    """A wrong value would end in a traceback, or in a vehicle that cannot be added."""
    assert not act(panel.sensors)
    assert said in last_error(panel)
    assert "\n" not in last_error(panel)


def test_a_scenario_is_saved_and_opened(flat, config):
    """The scene built in the panel would be lost on closing."""
    part = flat.scenario
    assert flat.backend.set_flight("circle", size=2.0, height=1.5, speed=1.0)
    assert flat.sensors.mount()
    assert flat.vehicle.set_position(1.0, 2.0, 0.2)
    assert flat.vehicle.add()
    assert flat.simulation.set_wind(2.0, 0.0)
    assert part.set_name("mine")
    assert part.save(), flat.messages
    assert "mine" in part.choices
    assert str(config / "scenarios" / "mine.yaml") in flat.messages[-1].text
    assert not part.save()
    assert "already exists" in last_error(flat)
    assert part.set_replace(True)
    assert part.save()
    assert flat.world.clear()
    assert part.open("mine"), flat.messages
    (vehicle,) = flat.snapshot.vehicles
    assert vehicle.position[0].tolist() == [1.0, 2.0, 0.2]
    assert "camera" in flat.session.call(lambda simulation: simulation.vehicles["iris"].sensors)
    assert flat.snapshot.mean_wind == (2.0, 0.0, 0.0)
    flight = load_scenario("mine")[0].vehicles[0].backends[0]["trajectory"]
    assert [next(iter(part)) for part in flight] == ["takeoff", "circle", "land"]


def test_flight_by_hand_is_saved_too(flat):
    """The panel's default pilot would be missing from the saved scenario."""
    assert flat.vehicle.add()
    assert flat.scenario.set_name("by_hand")
    assert flat.scenario.save()
    assert not any(message.error for message in flat.messages)
    assert flat.scenario.open("by_hand")
    assert flat.snapshot.vehicles[0].pilot == "SteeredGeometricController"


def test_nothing_to_save_is_one_line(panel, flat):
    """Saving without a vehicle would write an empty file or end in a traceback."""
    assert panel.scenario.set_name("empty")
    assert not panel.scenario.save()
    assert "has no vehicles" in last_error(flat)
    assert panel.world.clear()
    assert not panel.scenario.save()
    assert "no world is loaded" in last_error(panel)
    assert not panel.scenario.open("nothing_like_it")
    assert "no such scenario" in last_error(panel)
