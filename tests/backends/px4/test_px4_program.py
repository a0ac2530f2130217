"""Tests of starting PX4's program: command line, environment, parameters and errors."""

import json

import pytest
import yaml
from px4_rig import iris, refused, sensors, started_with

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.backends import BACKENDS, PX4
from pegasus.base.components import build
from pegasus.base.system import resource
from pegasus.sensors import Airspeed

pytestmark = pytest.mark.usefixtures("nothing_left")
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())


def test_what_px4_is_started_with(px4, own_settings):
    """PX4 would start with another airframe or other parameters than asked for."""
    first = started_with(px4())
    assert first["PX4_SIM_MODEL"] == "none_iris"
    (own_settings / "settings.yaml").write_text("px4: {airframe: gazebo-classic_typhoon_h480}")
    assert started_with(px4())["PX4_SIM_MODEL"] == "gazebo-classic_typhoon_h480"
    parameters = {"CAL_ACC0_ID": 1310988, "MPC_XY_P": 0.95, "EKF2_GPS_P_NOISE": 1e-05}
    second = started_with(px4(airframe="none_iris", parameters=parameters))
    assert second["PX4_SIM_MODEL"] == "none_iris"
    assert second["PX4_PARAM_CAL_ACC0_ID"] == "1310988"
    assert float(second["PX4_PARAM_MPC_XY_P"]) == 0.95
    assert float(second["PX4_PARAM_EKF2_GPS_P_NOISE"]) == 1e-05
    # Nothing else of this process's environment is passed on.
    assert "PEGASUS_CONFIG_DIR" not in second


def test_environment_of_px4(px4, monkeypatch):
    """PX4 would be in another ROS domain than the user's, or connect to another simulator."""
    monkeypatch.setenv("ROS_DOMAIN_ID", "42")
    monkeypatch.setenv("PX4_UXRCE_DDS_NS", "alpha")
    monkeypatch.setenv("PX4_PARAM_MPC_XY_P", "0.5")
    # Left over from other simulators.
    for name in (
        "PX4_SIM_MODEL",
        "PX4_SIM_HOSTNAME",
        "PX4_SIM_HOST_ADDR",
        "PX4_SIMULATOR",
        "PX4_SYS_AUTOSTART",
    ):
        monkeypatch.setenv(name, "4001")
    first = started_with(px4())
    assert (first["ROS_DOMAIN_ID"], first["PX4_UXRCE_DDS_NS"]) == ("42", "alpha")
    assert first["PX4_PARAM_MPC_XY_P"] == "0.5"
    assert first["PX4_SIM_MODEL"] == "none_iris"
    assert not {"PX4_SIM_HOSTNAME", "PX4_SIM_HOST_ADDR", "PX4_SIMULATOR", "PX4_SYS_AUTOSTART"} & first.keys()
    own = {"ROS_DOMAIN_ID": 7, "PX4_SYS_AUTOSTART": "10016", "GREETING": "two words"}
    second = started_with(px4(parameters={"MPC_XY_P": 0.9}, environment=own))
    assert (second["ROS_DOMAIN_ID"], second["PX4_SYS_AUTOSTART"], second["GREETING"]) == (
        "7",
        "10016",
        "two words",
    )
    assert second["PX4_PARAM_MPC_XY_P"] == "0.9"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"PX4_SIM_MODEL": "iris"},
            "environment.PX4_SIM_MODEL = 'iris': is set by Pegasus; use the option airframe",
        ),
        ({"PX4_SIM_HOSTNAME": "10.0.0.1"}, "environment.PX4_SIM_HOSTNAME = '10.0.0.1': is set by Pegasus; "),
        ({"A B": "1"}, "environment.A B = '1': is not a name of an environment variable"),
        ({"A=B": "1"}, "environment.A=B = '1': is not a name of an environment variable"),
        ({"A": "x\0y"}, "environment.A = 'x\\x00y': must be text or a number"),
        ({"A": []}, "environment.A = []: must be text or a number"),
        ({"A": True}, "environment.A = True: must be text or a number"),
    ],
)
def test_wrong_environment(environment, message):
    """PX4 would be started with a wrong variable, or the run end in a traceback."""
    with pytest.raises(ConfigError) as caught:
        PX4(environment=environment)
    assert str(caught.value).startswith(message)


def test_environment_of_a_scenario():
    """An `environment` in a scenario, or its numbers, would be rejected."""
    spec = {"model": "px4", "environment": {"ROS_DOMAIN_ID": 7, "PX4_UXRCE_DDS_NS": "alpha"}}
    assert build(Backend, BACKENDS, spec, field="backends.0").environment == spec["environment"]
    with pytest.raises(
        ConfigError, match=r"^backends\.0\.environment\.PX4_SIM_MODEL = 'iris': is set by Pegasus"
    ):
        build(Backend, BACKENDS, spec | {"environment": {"PX4_SIM_MODEL": "iris"}}, field="backends.0")


@pytest.mark.parametrize(
    ("speed", "factor"), [(None, "10"), (0.5, None), (1.0, None), (4.0, "4"), (100.0, "10")]
)
def test_time_outs_of_links_follow_the_speed(px4, speed, factor):
    """At high speed PX4 would lose its ground station between messages, and return home."""
    backend = px4()
    with Simulation() as simulation:
        simulation.add(iris(backend))
        simulation.run(0.05, speed=speed)
        text = (backend.run_folder / f"px4_{backend.first_instance}" / "environment").read_text()
    started = dict(line.split("=", 1) for line in text.splitlines())
    assert started.get("PX4_SIM_SPEED_FACTOR") == factor


def test_what_a_user_says_of_the_time_outs_counts(px4):
    """Time-outs chosen by the user would be replaced."""
    assert started_with(px4(environment={"PX4_SIM_SPEED_FACTOR": 3}))["PX4_SIM_SPEED_FACTOR"] == "3"


WINGS = ". ${R}etc/init.d/rc.vtol_defaults\n"


@pytest.mark.parametrize(
    ("script", "parameters", "fitted", "warned"),
    [
        (WINGS, {}, False, True),
        (WINGS, {}, True, False),
        (WINGS, {"SYS_HAS_NUM_ASPD": 0}, False, False),
        (WINGS + "param set-default SYS_HAS_NUM_ASPD 0\n", {}, False, False),
        (". ${R}etc/init.d/rc.mc_defaults\n", {}, False, False),
    ],
)
def test_an_airframe_with_wings_needs_airspeed(tree, script, parameters, fitted, warned, caplog):
    """The warning about missing airspeed would be absent for wings, or given for a multicopter."""
    folder = tree.binary.parents[1] / "etc" / "init.d-posix" / "airframes"
    (folder / "1040_winged").write_text(script)
    parts = sensors() | ({"airspeed": Airspeed()} if fitted else {})
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder, airframe="winged", parameters=parameters), sensors=parts))
    expected = ["vehicle 'iris' has no airspeed sensor: PX4 will not arm"] if warned else []
    assert [record.getMessage() for record in caplog.records] == expected


def test_px4_is_told_how_old_its_gps_is(px4):
    """PX4 would assume a GPS delay of 10 ms and estimate its position 0.2 s ago."""
    assert float(started_with(px4())["PX4_PARAM_EKF2_GPS_DELAY"]) == 200.0
    # The user's value is kept.
    own = started_with(px4(parameters={"EKF2_GPS_DELAY": 110}))
    assert own["PX4_PARAM_EKF2_GPS_DELAY"] == "110"


def test_a_parameter_that_px4_does_not_have(tree):
    """An unknown parameter would only be reported in PX4's log."""
    names = ("MC_YAWRATE_P", "MPC_XY_P", "MPC_XY_VEL_MAX", "EKF2_GPS_DELAY")
    known = [{"name": name} for name in names]
    file = tree.binary.parents[1] / "parameters.json"
    file.write_text(json.dumps({"parameters": known}))
    message = refused(PX4(tree.folder, parameters={"MPC_XY_P": 0.9, "MPC_XY_VELMAX": 3.0}))
    assert message == (
        "parameters.MPC_XY_VELMAX = 3.0: PX4 has no such parameter; did you mean MPC_XY_VEL_MAX?"
    )
    assert refused(PX4(tree.folder, parameters={"ZZZ": 1})).endswith(f"; {file} lists them")
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder, parameters={"MPC_XY_P": 0.9})))


@pytest.mark.parametrize(("rate", "expected"), [(250.0, None), (500.0, "1000")])
def test_px4_is_told_of_a_high_rate(tree, tmp_path, rate, expected):
    """PX4 would answer only every second sample without being configured to."""
    fitted = sensors()
    fitted["imu"].rate_hz = rate
    backend = PX4(tree.folder)
    backend.run_folder = tmp_path / "run"
    with Simulation(rate=500.0) as simulation:
        simulation.add(iris(backend, sensors=fitted))
        simulation.step()
        text = (tmp_path / "run" / f"px4_{backend.first_instance}" / "environment").read_text()
    variables = dict(line.split("=", 1) for line in text.splitlines())
    assert variables.get("PX4_PARAM_IMU_INTEG_RATE") == expected


def test_not_built(tmp_path):
    """A PX4 that is not built would cause a traceback instead of the command that builds it."""
    message = refused(PX4(tmp_path))
    assert message == (
        f"directory = '{tmp_path}': PX4 is not built there; make -C {tmp_path} px4_sitl_default"
    )


def test_not_for_this_machine(tree):
    """A program that cannot run would be waited for, without the reason."""
    tree.binary.write_bytes(b"\x7fELF not for this machine")
    backend = PX4(tree.folder)
    message = refused(backend, 0.1)
    assert message.startswith(f"PX4 {backend.first_instance} program = '{tree.binary}': cannot be used: ")


@pytest.mark.parametrize("where", ["option", "settings", "vehicle"])
def test_wrong_airframe(tree, own_settings, where):
    """PX4 would end or start another airframe, without a list of the valid ones."""
    backend, model = PX4(tree.folder), "iris"
    if where == "option":
        backend = PX4(tree.folder, airframe="none_irsi")
    elif where == "settings":
        (own_settings / "settings.yaml").write_text("px4: {airframe: none_irsi}")
    else:
        model = IRIS | {"px4": {"airframe": "none_irsi"}}
    with Simulation() as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor(model, backends=[backend]))
    message = str(caught.value)
    assert message.startswith("airframe = 'none_irsi': PX4 has no such airframe; it has for example ")
    assert "none_iris" in message
    for place in ("option airframe", f"px4.airframe in {own_settings / 'settings.yaml'}", "vehicle file"):
        assert place in message


def test_samples_too_often(tree):
    """IMU rates above 1000 Hz, which PX4 cannot follow, would be accepted."""
    fitted = sensors()
    fitted["imu"].rate_hz = 2000.0
    with Simulation(rate=2000.0) as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(iris(PX4(tree.folder), sensors=fitted))
    assert "is more than the 1000 Hz that PX4 follows; lower the IMU's rate" in str(caught.value)
