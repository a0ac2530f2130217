"""Tests of the calls of Pegasus Simulator on the stand-ins, by a script of the same form as its examples."""

import importlib
import logging
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus.backends import PX4, ArduPilot
from pegasus.base.errors import ConfigError
from tests.isaac import script_stand_ins
from tests.isaac.contract import VERSIONS

SCRIPT = Path(__file__).with_name("forerunner_script.py")


@pytest.fixture
def scripts(isaac, monkeypatch, tmp_path):
    """Return a function that starts the fakes of a version for a script; it returns the running Kit."""
    grid = tmp_path / "Isaac" / "Environments" / "Grid"
    grid.mkdir(parents=True)
    stage = Usd.Stage.CreateNew(str(grid / "gridroom_curved.usd"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
    floor = UsdGeom.Cube.Define(stage, "/Root/floor")
    floor.AddTranslateOp().Set((0.0, 0.0, -0.5))
    floor.AddScaleOp().Set((50.0, 50.0, 0.5))
    UsdPhysics.CollisionAPI.Apply(floor.GetPrim())
    stage.Save()
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    script_stand_ins.forget()

    def start(version="6.0.1", *, frames=60):
        kit = isaac(version)
        script_stand_ins.install(monkeypatch, version, frames=frames)
        kit.assets_root = str(tmp_path)
        return kit

    yield start
    script_stand_ins.forget()


@pytest.fixture
def interface(scripts):
    """Return the interface of a script with its world on an open stage."""
    scripts()
    from pegasus.simulator.logic.interface.pegasus_interface import PegasusInterface

    made = PegasusInterface()
    made._world = script_stand_ins.World(**made._world_settings)
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_runs_unchanged(scripts, version, monkeypatch, caplog):
    """A script of Pegasus Simulator would not start, not fly, or get data in other units and axes."""
    pytest.importorskip("scipy")
    kit = scripts(version, frames=300)
    if version == "5.1.0":
        names = runpy.run_path(str(SCRIPT))
    else:
        # Without the old names of NVIDIA's modules.
        monkeypatch.setattr(sys, "argv", ["-m", str(SCRIPT)])
        main = importlib.import_module("pegasus.simulator.__main__").main
        names = {}
        monkeypatch.setattr(runpy, "run_path", lambda *a, run=runpy.run_path, **k: names.update(run(*a, **k)))
        main()
    assert kit.physics.steps_by["update"] > 1200
    last = names["path"][-1]
    np.testing.assert_allclose(last.position, names["TARGET"], atol=0.1)
    np.testing.assert_allclose(last.get_position_ned(), last.position[[1, 0, 2]] * [1.0, 1.0, -1.0])
    hold = names["hold"]
    assert hold.calls == ["start", "stop"]
    data = {kind: readings[-1] for kind, readings in hold.data.items()}
    assert data["IMU"]["linear_acceleration"][2] == pytest.approx(-9.8, abs=0.5)
    assert len(hold.data["IMU"]) == pytest.approx(kit.physics.steps_by["update"], abs=2)
    assert data["Barometer"]["absolute_pressure"] == pytest.approx(1002.0, abs=5.0)
    assert data["Barometer"]["temperature"] == pytest.approx(14.4, abs=1.0)
    assert 0.4 < np.linalg.norm(data["Magnetometer"]["magnetic_field"]) < 0.5
    assert data["GPS"]["latitude"] == pytest.approx(38.73685, abs=1e-4)
    assert data["MonocularCamera"]["reading"].resolution == (40, 30)
    warnings = [r for r in caplog.records if r.name == "pegasus.simulator.notices"]
    assert len(warnings) == 1
    assert "docs/from_pegasus_simulator.md" in warnings[0].getMessage()


def test_autopilots_and_ros2(interface):
    """An autopilot would be of another instance, or topics have other names than there."""
    from pegasus.simulator.logic import backends
    from pegasus.simulator.logic.graphical_sensors import Lidar, MonocularCamera

    assert interface.px4_default_airframe == "gazebo-classic_iris"
    given = {"vehicle_id": 3, "px4_dir": "/opt/px4", "px4_vehicle_model": interface.px4_default_airframe}
    px4 = backends.PX4MavlinkBackend(backends.PX4MavlinkBackendConfig(given)).make()
    assert isinstance(px4, PX4)
    assert (px4.directory, px4.instance, px4.launch, px4.airframe) == ("/opt/px4", 3, True, None)
    given = {"vehicle_id": 2, "ardupilot_autolaunch": False, "ardupilot_vehicle_model": "gazebo-iris"}
    ardupilot = backends.ArduPilotMavlinkBackend(backends.ArduPilotMavlinkBackendConfig(given)).make(250.0)
    assert isinstance(ardupilot, ArduPilot)
    assert (ardupilot.instance, ardupilot.launch) == (2, False)
    assert ardupilot.parameters == {"SCHED_LOOP_RATE": 138}
    graphical = {"cam": MonocularCamera("cam").make(), "top": Lidar("top").make()}
    np.testing.assert_allclose(graphical["cam"].orientation, 0.0, atol=1e-12)
    ros2 = backends.ROS2Backend(4, config={"namespace": "drone", "pub_state": False, "imu_topic": "imu"})
    made = ros2.make(drives=True, graphical=graphical)
    assert (made.namespace, made.drives) == ("drone4", True)
    assert made.topics == {
        "state/pose": False,
        "state/twist": False,
        "state/twist_inertial": False,
        "state/accel": False,
        "sensors/imu": {"name": "imu"},
        "/tf": False,
        "cam/depth/image_raw": {"name": "cam/depth"},
        "top/points": {"name": "top/pointcloud"},
    }
    assert not ros2.make(drives=False, graphical={}).drives


def test_parts_of_a_vehicle(interface):
    """Drag, thrust curve, origin or a camera's graph would be ignored."""
    from pegasus.simulator.logic.dynamics import LinearDrag
    from pegasus.simulator.logic.graphs import ROS2CameraGraph
    from pegasus.simulator.logic.thrusters import QuadraticThrustCurve
    from pegasus.simulator.logic.vehicles.multirotor import Multirotor, MultirotorConfig

    interface.set_global_coordinates(latitude=47.0, altitude=400.0)
    interface.load_asset(interface.get_default_environments()["Box Room"], "/World/layout")
    config = MultirotorConfig()
    config.backends = []
    config.drag = LinearDrag([0.5, 0.3, 0.0])
    config.thrust_curve = QuadraticThrustCurve(
        {"rotor_constant": [9e-6] * 4, "rolling_moment_coefficient": [1.5e-7] * 4}
    )
    config.graphs = [ROS2CameraGraph("body/Camera", config={"types": ["rgb", "camera_info"]})]
    first, second = (
        Multirotor("/World/quadrotor", "iris", i, [3.0 * i, 0.0, 1.0], config=config) for i in range(2)
    )
    assert (first.prim_path, second.vehicle_name) == ("/World/quadrotor", "quadrotor_01")
    assert interface.get_vehicle("/World/quadrotor_01") is second
    assert interface.simulation().world.origin.latitude == 47.0
    assert first.vehicle.drag.coefficients == (0.5, 0.3, 0.0)
    assert first.vehicle.thrust_curve.thrust_constant == 9e-6
    topics = {values["topicName"] for values in _published()}
    assert "Camera/color/image_raw" in topics
    with pytest.raises(ConfigError, match="before the first vehicle"):
        interface.set_global_coordinates(latitude=40.0)


def _published():
    from tests.isaac.fakes.application import kit

    kit().timeline.play()
    for _ in range(10):
        kit().update()
    return [values for graph in kit().graphs for values in graph.published.values()]


def _multirotor(**options):
    from pegasus.simulator.logic.vehicles.multirotor import Multirotor, MultirotorConfig

    config = MultirotorConfig()
    config.backends = []
    for name, value in options.pop("config", {}).items():
        setattr(config, name, value)
    return Multirotor("/World/a", **({"usd_file": "iris"} | options), config=config)


def _made(path, *arguments):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"pegasus.simulator.logic.{module}"), name)(*arguments)


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda: _multirotor(usd_file="/a/mine.usd"), "docs/make_vehicle.md"),
        (lambda: _multirotor(init_orientation=[0.1, 0.0, 0.0, 0.995]), "start level, with a heading"),
        (lambda: _multirotor(config={"sensors": [object()]}), "pegasus.sensors.Sensor"),
        (lambda: _multirotor(config={"backends": [object()]}), "list it first"),
        (lambda: _made("sensors.IMU", {"gyroscope": {}}), "pegasus.sensors.IMU"),
        (lambda: _made("backends.PX4MavlinkBackendConfig", {"input_scaling": [1]}), "pegasus.backends.PX4"),
        (
            lambda: _made("backends.PX4MavlinkBackendConfig", {"enable_lockstep": False}),
            "pegasus.backends.PX4",
        ),
        (lambda: _made("backends.ArduPilotMavlinkBackendConfig", {"input_min": 1}), "backends.ArduPilot"),
        (lambda: _made("backends.ROS2Backend", 0, 4, {"pub_odom": True}), "pegasus.backends.ROS2"),
        (lambda: _made("graphical_sensors.MonocularCamera", "a", {"intrinsics": []}), "docs/cameras.md"),
        (lambda: _made("graphical_sensors.Lidar", "a", {"sensor_configuration": "b"}), "docs/lidar.md"),
        (lambda: _made("graphs.ROS2CameraGraph", "a", {"types": ["bbox_2d_loose"]}), "publish_cameras"),
        (lambda: _made("thrusters.QuadraticThrustCurve", {"rotor_constant": [1, 2]}), "docs/vehicles.md"),
        (lambda: _made("people.Person", "a", "b", [0, 0, 0], 0.0, None, object()), "PeopleOnROS2"),
    ],
)
def test_what_has_no_counterpart_is_one_line(interface, call, ours):  # noqa: ARG001
    """A part would be ignored silently, or end in a traceback without our way."""
    with pytest.raises(ConfigError, match=ours) as error:
        call()
    assert "of Pegasus Simulator has no counterpart here" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_member_names_the_page(interface):
    """A call that the layer lacks would be a bare AttributeError."""
    with pytest.raises(
        AttributeError, match=r"PegasusInterface\.set_px4_path .* docs/from_pegasus_simulator"
    ):
        interface.set_px4_path("/opt/px4")


def test_an_environment_that_cannot_be_reached_is_a_warning(interface, caplog):
    """A script without network would end, or fly in an empty world without a word."""
    with caplog.at_level(logging.WARNING):
        interface.load_environment(interface.get_default_environments()["Hospital"])
    assert "hospital.usd: cannot be reached" in caplog.text
    with pytest.raises(ConfigError, match="is taken by another prim"):
        interface.load_environment(interface.get_default_environments()["Hospital"])


def test_a_person_follows_its_controller(interface, tmp_path):
    """A person would stand still, or its controller never be called."""
    from tests.isaac.fakes.application import kit
    from tests.isaac.test_people import make_assets

    make_assets(tmp_path)
    from pegasus.simulator.logic.people import Person, PersonController

    class East(PersonController):
        def update(self, dt):
            x, y, z = self._person.state.position
            self._person.update_target_position([x + 10.0, y, z])

    assert "M_Worker_01" in Person.get_character_asset_list()
    person = Person("person1", "M_Worker_01", init_pos=[3.0, 1.0, 0.0], controller=East())
    interface.world.reset()
    for _ in range(120):
        interface.world.step()
    assert person.state.position[0] > 4.0
    assert person.state.position[1] == pytest.approx(1.0, abs=1e-6)
    assert not kit().errors()


def test_old_names_do_not_hide_existing_modules(scripts):
    """The old names would replace those of an Isaac Sim that has them."""
    scripts("5.1.0")
    from pegasus.simulator.old_names import OldNames, install

    install()
    install()
    assert sum(isinstance(finder, OldNames) for finder in sys.meta_path) == 1
    assert importlib.import_module("omni.isaac.core.world").World is script_stand_ins.World
    assert importlib.import_module("omni.isaac.core.utils.prims").create_prim is script_stand_ins.create_prim
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("omni.isaac.sensor")
