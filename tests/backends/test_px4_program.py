"""PX4's program: how it is started, with which parameters, and what is wrong with what is not there."""

import json

import pytest
import yaml
from px4_rig import iris, refused, sensors, started_with

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends.mavlink import PX4
from pegasus.settings import resource

pytestmark = pytest.mark.usefixtures("nothing_left")
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())


def test_what_px4_is_started_with(px4, own_settings):
    """PX4 would fly another airframe, or with other parameters than those asked for."""
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
    # Nothing else of this process gets into it.
    assert "PEGASUS_CONFIG_DIR" not in second


def test_px4_is_told_how_old_its_gps_is(px4):
    """PX4's start script calls it 10 ms old, so that PX4 would believe to be where it was 0.2 s ago."""
    assert float(started_with(px4())["PX4_PARAM_EKF2_GPS_DELAY"]) == 200.0
    # What a user says counts.
    own = started_with(px4(parameters={"EKF2_GPS_DELAY": 110}))
    assert own["PX4_PARAM_EKF2_GPS_DELAY"] == "110"


def test_a_parameter_that_px4_does_not_have(tree):
    """PX4 would say so in its log alone, and fly without it."""
    known = [{"name": "MPC_XY_P"}, {"name": "MPC_XY_VEL_MAX"}, {"name": "EKF2_GPS_DELAY"}]
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
    """PX4 would answer every second sample only, though nobody has asked for that."""
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
    """A user who has not built PX4 would get a traceback, and not the command that builds it."""
    message = refused(PX4(tmp_path))
    assert message == (
        f"directory = '{tmp_path}': PX4 is not built there; make -C {tmp_path} px4_sitl_default"
    )


def test_not_for_this_machine(tree):
    """A program that cannot run would be waited for, and the reason not be told."""
    tree.binary.write_bytes(b"\x7fELF not for this machine")
    backend = PX4(tree.folder)
    message = refused(backend, 0.1)
    assert message.startswith(f"PX4 {backend.first_instance} program = '{tree.binary}': cannot be used: ")


@pytest.mark.parametrize("where", ["option", "settings", "vehicle"])
def test_wrong_airframe(tree, own_settings, where):
    """PX4 would end at once, or start another airframe; a user would not learn which there are."""
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
    assert message.startswith("airframe = 'none_irsi': PX4 has no such airframe; some that it has are ")
    assert "none_iris" in message
    for place in ("option airframe", f"px4.airframe in {own_settings / 'settings.yaml'}", "vehicle file"):
        assert place in message


def test_samples_too_often(tree):
    """PX4 does not follow more than 1000 Hz."""
    fitted = sensors()
    fitted["imu"].rate_hz = 2000.0
    with Simulation(rate=2000.0) as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(iris(PX4(tree.folder), sensors=fitted))
    assert "is more than the 1000 Hz that PX4 follows; lower the IMU's rate" in str(caught.value)
