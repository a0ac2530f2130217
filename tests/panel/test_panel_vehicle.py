"""Tests of the panel's vehicle and backend parts: lists, poses, copies and saved options."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from panel_rig import last_error, no_driver

from pegasus import Simulation
from pegasus.backends import BACKENDS, PX4
from pegasus.base.errors import ConfigError
from pegasus.config.settings import user_settings
from pegasus.control import GeometricController
from pegasus.core.aircraft import Multirotor
from pegasus.panel import Panel
from pegasus.panel.choices import controller_names
from tests.waits import wait_until

SLOPE = """#usda 1.0
(
    defaultPrim = "World"
    upAxis = "Z"
    metersPerUnit = 1
)
def Xform "World"
{
    def Cube "slab" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        double size = 1
        double3 xformOp:translate = (0, 0, 0)
        double xformOp:rotateY = 20
        double3 xformOp:scale = (40, 40, 0.001)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateY", "xformOp:scale"]
    }
}
"""


def test_list(config, session):
    """A user's own vehicle or its image would not be listed, or an invalid one would hide the others."""
    folder = config / "vehicles"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("mass: 1\n")
    (folder / "broken.jpg").touch()
    panel = Panel(session)
    choices = {choice.name: choice for choice in panel.vehicle.choices}
    assert {"iris", "x500", "broken"} <= choices.keys()
    assert "required field is missing" in choices["broken"].reason
    assert choices["broken"].thumbnail == folder / "broken.jpg"
    assert choices["iris"].description
    assert panel.vehicle.choice.name == "iris"
    assert panel.vehicle.choose("broken") is False
    assert last_error(panel) == choices["broken"].reason
    assert panel.vehicle.choose("irsi") is False
    assert last_error(panel).startswith("vehicle = 'irsi': no such vehicle; known are ")
    assert panel.vehicle.chosen == "iris"
    (folder / "broken.yaml").unlink()
    assert panel.vehicle.refresh()
    assert "broken" not in [choice.name for choice in panel.vehicle.choices]


def test_place_and_heading(flat):
    """A vehicle would start at another pose than typed, or its pose would remain for the next one."""
    flat.vehicle.set_position("3", -4, 2.5)
    flat.vehicle.set_heading(math.pi / 2)
    flat.vehicle.set_name("one")
    assert flat.vehicle.add()
    vehicle = flat.snapshot.vehicle("one")
    np.testing.assert_array_equal(vehicle.position, [[3.0, -4.0, 2.5]])
    assert flat.telemetry.attitude[2] == pytest.approx(math.pi / 2)
    assert (flat.vehicle.name, flat.vehicle.position) == ("", None)


def test_copies(flat):
    """Copies would be fewer, or closer together than chosen."""
    flat.vehicle.set_count("4", 3.0)
    assert flat.vehicle.add()
    position = flat.snapshot.vehicles[0].position
    apart = np.linalg.norm(position[:, None] - position, axis=2)
    assert flat.snapshot.vehicles[0].count == 4
    assert apart[apart > 0].min() == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda v: v.set_count(0), "count = 0: must be a whole number from 1 to 1000"),
        (lambda v: v.set_count(1.5), "count = 1.5: must be a whole number from 1 to 1000"),
        (lambda v: v.set_count("many"), "count = 'many': must be a finite number; correct the value"),
        (lambda v: v.set_count(2, -1), "spacing = -1: must be above 0 m"),
        (lambda v: v.set_name("a/b"), "name = 'a/b': must not contain a slash; choose another"),
        (lambda v: v.set_position(1, "", 0), "y = '': must be a finite number; correct the value"),
        (lambda v: v.set_heading("nan"), "heading = 'nan': must be a finite number; correct the value"),
        (lambda v: v.place((0, 0, 1), (0, 0, 1)), "click: hits nothing; click on the ground"),
    ],
)
def test_wrong_values(flat, act, message):
    """An invalid value would be accepted, or change the earlier choice."""
    before = {k: v for k, v in vars(flat.vehicle).items() if not k.startswith("_")}
    assert act(flat.vehicle) is False
    assert last_error(flat) == message
    assert {k: v for k, v in vars(flat.vehicle).items() if not k.startswith("_")} == before


def test_vehicles_that_cannot_be_added(flat):
    """An invalid vehicle would be added in part, or cause another error than in a script."""
    assert flat.vehicle.set_name("same")
    assert flat.vehicle.add()
    flat.vehicle.set_name("same")
    flat.vehicle.set_position(9, 9, 1)
    assert flat.vehicle.add() is False
    assert last_error(flat) == "name = 'same': is taken; choose another"
    flat.vehicle.set_name("")
    flat.vehicle.set_position(5, 5, -0.5)
    assert flat.vehicle.add() is False
    with Simulation("flat") as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor("iris", position=(5, 5, -0.5)))
    assert last_error(flat) == str(caught.value)
    flat.vehicle.set_position(5, 5, 1)
    flat.vehicle.set_count(2, 0.1)
    assert flat.vehicle.add() is False
    assert "spacing = 0.1: must be above" in last_error(flat)
    assert len(flat.snapshot.vehicles) == 1


def test_spawn_points(panel, tmp_path):
    """Vehicles would overlap at the start, or a free spawn point would not be reused."""
    file = tmp_path / "two.yaml"
    places = "[{position: [1, 2, 0.1]}, {position: [5, 2, 0.1], heading: 1.5}]"
    file.write_text(f"name: two\ngenerator: {{model: flat}}\nspawn_points: {places}\n")
    assert panel.world.choose(file)
    assert panel.world.load(), last_error(panel)
    for _ in range(2):
        assert panel.vehicle.add()
    first, second = panel.snapshot.vehicles
    assert first.position[0, :2].tolist() == [1.0, 2.0]
    assert second.position[0, :2].tolist() == [5.0, 2.0]
    assert panel.view.follow("iris1")
    assert panel.telemetry.attitude[2] == pytest.approx(1.5)
    assert panel.vehicle.add()
    beside = panel.snapshot.vehicles[2].position[0]
    assert 1.0 < math.dist(beside, first.position[0]) < 2.0
    assert panel.vehicle.remove("iris")
    assert panel.vehicle.add()
    assert panel.snapshot.vehicles[2].position[0].tolist() == first.position[0].tolist()


def test_placed_by_a_click(flat):
    """A vehicle would be placed beside, above or below the clicked ground point."""
    assert flat.vehicle.place((0.0, 0.0, 4.0), (3.0, 4.0, -4.0))
    np.testing.assert_allclose(flat.vehicle.position, (3.0, 4.0, 0.0), atol=1e-9)
    assert flat.vehicle.choose("typhoon_h")
    assert flat.vehicle.add()
    start = flat.snapshot.vehicles[0].position[0].copy()
    flat.simulation.step(250)
    np.testing.assert_allclose(flat.snapshot.vehicles[0].position[0, :2], (3.0, 4.0), atol=0.01)
    assert 0.0 <= start[2] - flat.snapshot.vehicles[0].position[0, 2] < 0.05
    assert flat.vehicle.place((0, 0, 4), (-3, -4, -4))
    assert flat.vehicle.use_spawn_point()
    assert flat.vehicle.position is None


def test_copies_stand_on_a_slope(panel, tmp_path):
    """On a slope some copies would start in the ground and others high above it."""
    stage = tmp_path / "slope.usda"
    stage.write_text(SLOPE)
    assert panel.world.choose(stage)
    assert panel.world.load(), last_error(panel)
    assert panel.vehicle.place((0.0, 0.0, 100.0), (0, 0, -1))
    panel.vehicle.set_count(9, 3.0)
    assert panel.vehicle.add(), last_error(panel)
    position = panel.snapshot.vehicles[0].position
    # A pitch of 20 degrees about y lowers the top of the slab towards +x.
    above = position[:, 2] + math.tan(math.radians(20.0)) * position[:, 0]
    assert np.ptp(position[:, 2]) > 2.0
    assert ((above > 0.05) & (above < 0.5)).all()


def test_remove(flat):
    """Another vehicle would be removed, or the removed one still be followed."""
    flat.vehicle.add()
    flat.vehicle.set_position(5, 5, 1)
    flat.vehicle.add()
    assert flat.view.follow("iris1")
    assert flat.vehicle.remove("iris1")
    assert [vehicle.name for vehicle in flat.snapshot.vehicles] == ["iris"]
    assert flat.view.followed is None
    assert flat.telemetry.name == "iris"
    assert flat.vehicle.remove("iris1") is False
    assert last_error(flat) == "vehicle = 'iris1': no such vehicle; there are iris; did you mean iris?"


def test_what_is_not_installed(flat, monkeypatch):
    """A backend that is not installed would be hidden, or be listed without its remedy."""
    monkeypatch.setattr("pegasus.panel.choices.find_driver", no_driver)
    assert flat.backend.choose("ros2")
    choices = {choice.name: choice for choice in flat.backend.choices}
    assert list(choices) == ["built-in", "px4", "ardupilot", "ros2"]
    assert choices["built-in"].available
    assert flat.world.set_rate("1000")
    assert flat.world.load()
    for name in "px4", "ardupilot", "ros2":
        assert choices[name].reason
        assert choices[name].remedy
        assert flat.backend.choose(name)
        assert flat.vehicle.add() is False
        assert choices[name].reason in last_error(flat)
        assert choices[name].remedy in last_error(flat)
    assert flat.snapshot.vehicles == ()


def test_missing_px4_in_the_words_of_a_script(flat):
    """The panel's error for a missing PX4 would differ from a script's."""
    flat.backend.choose("px4")
    flat.backend.set_directory("/none")
    assert flat.backend.choice.reason.startswith("directory = '/none': no such directory")
    assert flat.vehicle.add() is False
    with Simulation("flat") as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor("iris", backends=[PX4("/none")]))
    assert last_error(flat) == str(caught.value)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("px4", ["build/px4_sitl_default/bin/px4"]),
        ("ardupilot", ["build/sitl/bin/arducopter", "Tools/autotest/default_params/copter.parm"]),
    ],
)
def test_installed_autopilot(panel, tmp_path, name, files):
    """An autopilot in a user's folder would not be found, or its folder not be saved."""
    folder = tmp_path / "autopilot"
    panel.backend.choose(name)
    panel.backend.set_directory(str(folder))
    assert not panel.backend.choice.available
    folder.mkdir()
    assert panel.backend.refresh()
    assert str(folder) in panel.backend.choice.reason
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    assert panel.backend.refresh()
    assert panel.backend.choice.available
    assert panel.backend.set_launch(False)
    assert panel.backend.make_default()
    assert getattr(user_settings(), name).directory == folder
    other = Panel(panel.session)
    assert (other.backend.chosen, other.backend.directory) == (name, str(folder))
    assert other.backend.launch is False
    assert other.backend.choice.available
    other.backend.set_directory("/none")
    assert other.backend.reset()
    assert other.backend.directory == str(folder)
    [backend] = other.backend.make()
    assert (backend.directory, backend.launch, backend.trajectory) == (str(folder), False, None)
    other.close()


def test_airframe(panel):
    """The airframe would not be passed to PX4, or could not return to its default."""
    panel.backend.choose("px4")
    panel.backend.set_airframe(" gazebo-classic_iris ")
    [px4] = panel.backend.make()
    assert px4.airframe == "gazebo-classic_iris"
    panel.backend.make_default()
    assert user_settings().px4.airframe == "gazebo-classic_iris"
    panel.backend.set_airframe("")
    panel.backend.make_default()
    assert user_settings().px4.airframe is None
    panel.backend.set_flight("square", size=4)
    [px4] = panel.backend.make()
    assert px4.trajectory.duration > 0


@pytest.mark.parametrize("controller", ["geometric", "cascaded_pid"])
def test_shapes(flat, controller):
    """Another shape, height or controller would be flown than the chosen one."""
    assert flat.backend.set_controller(controller)
    assert flat.backend.set_flight("circle", size=2, height="1.5", speed=1)
    flat.vehicle.add()
    flat.simulation.play()
    wait_until(lambda: flat.telemetry.segment == "circle", "the circle")
    flat.simulation.pause()
    telemetry = flat.telemetry
    assert telemetry.reference[2] == pytest.approx(1.5)
    middle = telemetry.reference[:2] - flat.session.call(
        lambda s: s.vehicles["iris"].start.position[0, :2].copy()
    )
    assert np.linalg.norm(middle) == pytest.approx(2.0, abs=1e-3)
    assert (
        telemetry.pilot
        == {"geometric": "GeometricController", "cascaded_pid": "CascadedPIDController"}[controller]
    )
    assert telemetry.error < 0.3


@dataclass(eq=False)
class OwnController(GeometricController):
    """Controller of an installed package."""


def test_a_packaged_controller(panel, monkeypatch):
    """A controller registered as a backend would not be offered, flown or stored by the panel."""
    with monkeypatch.context() as patch:
        patch.setattr(BACKENDS, "_kinds", {**BACKENDS._kinds, "own": OwnController})
        assert controller_names() == ("geometric", "cascaded_pid", "plane", "own")
        assert panel.backend.set_controller("own")
        with pytest.raises(ConfigError, match=r"^controller = 'own': cannot be steered manually; choose"):
            panel.backend.make()
        assert panel.backend.set_flight("circle", size=2)
        [backend] = panel.backend.make()
        assert type(backend) is OwnController
        assert panel.backend.make_default()
        other = Panel(panel.session)
        assert other.backend.controller == "own"
        other.close()
    other = Panel(panel.session)
    assert other.backend.controller == "geometric"
    assert "panel.controller = 'own': must be one of geometric, cascaded_pid, plane" in last_error(other)
    other.close()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda b: b.choose("ros"), "backend = 'ros': must be one of built-in, px4, ardupilot, ros2"),
        (lambda b: b.set_controller("lqr"), "controller = 'lqr': must be one of geometric, cascaded_pid"),
        (lambda b: b.set_flight("loop"), "flight = 'loop': must be one of steer, circle, lemniscate, square"),
        (lambda b: b.set_flight("circle", size=0), "size = 0.0: must be above 0"),
        (lambda b: b.set_flight("circle", height="x"), "height = 'x': must be a finite number"),
        (lambda b: b.set_flight("circle", laps=1.5), "laps = 1.5: must be a whole number"),
    ],
)
def test_wrong_options(panel, act, message):
    """An invalid option would be accepted, or change the earlier choice."""
    before = {k: v for k, v in vars(panel.backend).items() if not k.startswith("_")}
    assert act(panel.backend) is False
    assert last_error(panel).startswith(message)
    assert {k: v for k, v in vars(panel.backend).items() if not k.startswith("_")} == before


def test_a_rate_too_low_for_the_backend(flat):
    """An ArduPilot at the default rate would not arm, without a reason or remedy."""
    assert flat.backend.choose("ardupilot")
    assert flat.vehicle.add() is False
    assert last_error(flat) == (
        "rate = 250.0: ArduPilot, whose main loop runs at 400 Hz, does not arm with physics below 720 Hz; "
        "raise it, or set ArduPilot's parameter SCHED_LOOP_RATE to 138 or less"
    )
    assert flat.snapshot.vehicles == ()


def test_a_vehicle_stands_on_a_point_of_the_ground(flat):
    """A vehicle placed at a given ground point would have its legs below the ground."""
    assert flat.vehicle.choose("heavy_octorotor")
    assert flat.vehicle.place_on(2.0, 3.0, 0.0)
    assert flat.vehicle.add()
    (vehicle,) = flat.snapshot.vehicles
    made = flat.session.call(lambda simulation: simulation.vehicles["heavy_octorotor"])
    assert vehicle.position[0].tolist() == [2.0, 3.0, made.start.height]
    assert not flat.vehicle.place_on("here", 0.0, 0.0)
    assert "x = 'here'" in last_error(flat)
