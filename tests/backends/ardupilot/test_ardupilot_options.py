"""Tests of the options of the ArduPilot backend: start, parameters and the errors of wrong options."""

import math
import socket

import pytest
from ardupilot_rig import RATE, SLOW_LOOP, free_instance, launched, remote, source_tree, vehicle

from pegasus import ConfigError, Multirotor
from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.base.components import build
from pegasus.environment import Environment, Geodetic
from pegasus.sensors import Airspeed, Rangefinder

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_what_the_program_is_started_with(tmp_path):
    """A missing option would break a flight: no packets without --serial0, a wrong frame."""
    number = free_instance(2)
    backend = ArduPilot(
        source_tree(tmp_path / "ardupilot"),
        instance=number,
        parameters={"SCHED_LOOP_RATE": 200, "EK3_YAW_M_NSE": 0.05},
        parameter_files=(tmp_path / "more.parm",),
        speedup=2,
    )
    (tmp_path / "more.parm").write_text("# mine\nSCHED_LOOP_RATE 400\nGPS1_TYPE,100 @READONLY\n\n")
    backend.run_folder = tmp_path / "run"
    made = vehicle(count=2, heading=[0.0, math.pi])
    made.environment = Environment(origin=Geodetic(38.5, -9.25, 91.0))
    backend.bind(made)
    backend.start()
    arguments = [process.arguments for process in backend.processes]
    backend.stop()
    folder, defaults = tmp_path / "ardupilot", "Tools/autotest/default_params/copter.parm"
    assert arguments == [
        [
            *(f"{folder}/build/sitl/bin/arducopter", "--model", "JSON:127.0.0.1", "--speedup", "2"),
            *("-I", str(number + i), "--sysid", str(number + 1 + i)),
            *("--home", f"38.500000000,-9.250000000,91.000,{heading}"),
            *("--defaults", f"{folder}/{defaults},{tmp_path}/more.parm,own.parm", "--serial0", "tcp:0", "-w"),
        ]
        for i, heading in enumerate(["90.000", "270.000"])
    ]
    for i in range(2):
        own = (tmp_path / "run" / f"ardupilot_{number + i}" / "own.parm").read_text()
        assert own.splitlines() == [
            "FRAME_CLASS 1",
            "FRAME_TYPE 1",
            "SERIAL5_PROTOCOL 2",
            "ATC_RAT_YAW_P 1",
            "ATC_RAT_YAW_FLTE 10",
            "ATC_ANG_YAW_P 3",
            "SCHED_LOOP_RATE 200",
            "EK3_YAW_M_NSE 0.05",
        ]


def test_a_port_that_a_user_has_other_plans_for(tmp_path):
    """The port for estimates would be one that the user's parameter file assigns otherwise."""
    file = tmp_path / "mine.parm"
    file.write_text("SERIAL5_PROTOCOL 23\n")
    backend = launched(tmp_path / "ardupilot", parameter_files=(file,))
    backend.run_folder = tmp_path / "run"
    backend.bind(vehicle())
    backend.start()
    own = (tmp_path / "run" / f"ardupilot_{backend.instances[0]}" / "own.parm").read_text()
    backend.stop()
    assert "SERIAL5_PROTOCOL" not in own


def test_sensors_that_ardupilot_is_told_of(tmp_path):
    """ArduPilot would not use the simulator's rangefinder and airspeed sensor."""
    file = tmp_path / "mine.parm"
    file.write_text("RNGFND2_MAX 12\n")
    backend = launched(
        tmp_path / "ardupilot", parameters=SLOW_LOOP | {"RNGFND2_MIN": 0.5}, parameter_files=(file,)
    )
    backend.run_folder = tmp_path / "run"
    ranging = {
        "down": Rangefinder(min_range=0.1, max_range=30.0),
        "ahead": Rangefinder(direction=(2.0, 0.1, 0.0)),
    }
    backend.bind(vehicle(extra_sensors={**ranging, "pitot": Airspeed()}))
    backend.start()
    own = (tmp_path / "run" / f"ardupilot_{backend.instances[0]}" / "own.parm").read_text()
    backend.stop()
    found = dict(line.split() for line in own.splitlines())
    assert {name: float(value) for name, value in found.items() if name[:5] in ("RNGFN", "ARSPD")} == {
        **{"RNGFND1_TYPE": 100, "RNGFND1_ORIENT": 25, "RNGFND1_MIN": 0.1, "RNGFND1_MAX": 30.0},
        **{"RNGFND2_TYPE": 100, "RNGFND2_ORIENT": 0, "RNGFND2_MIN": 0.5},
        "ARSPD_TYPE": 100,
    }


def test_parameters_are_kept_only_where_asked(tmp_path):
    """Parameters of an earlier flight would affect the next one, without a folder named for them."""
    kept = launched(tmp_path / "ardupilot", working_directory=tmp_path / "kept")
    kept.bind(vehicle())
    kept.start()
    assert "-w" not in kept.processes[0].arguments
    kept.stop()
    assert (tmp_path / "kept" / f"ardupilot_{kept.instances[0]}" / "ardupilot.log").is_file()
    passing = ArduPilot(tmp_path / "ardupilot", parameters=SLOW_LOOP)
    passing.bind(vehicle())
    passing.start()
    folder = passing.processes[0].directory
    assert folder.is_dir()
    passing.stop()
    assert not folder.parent.exists()


def test_a_working_directory_that_cannot_be_written(tmp_path):
    """The error would come only after a program has run in the folder."""
    (tmp_path / "file").write_text("")
    backend = launched(tmp_path / "ardupilot", working_directory=tmp_path / "file")
    backend.bind(vehicle())
    with pytest.raises(
        ConfigError, match=r"working_directory = '.*file/ardupilot_.*': cannot be written: Not"
    ):
        backend.start()
    backend.stop()
    assert backend.processes == []


def test_the_yaml_form():
    """A scenario file could not set all options."""
    spec = {"model": "ardupilot", "directory": "~/ardupilot", "instance": 3, "parameters": {"GPS1_TYPE": 100}}
    backend = build(ArduPilot, {"ardupilot": ArduPilot}, spec, field="backends.0")
    assert (backend.directory, backend.instance, backend.parameters) == ("~/ardupilot", 3, {"GPS1_TYPE": 100})
    with pytest.raises(ConfigError, match=r"backends.0.instance = 250: must be from 0 to 249"):
        build(ArduPilot, {"ardupilot": ArduPilot}, {**spec, "instance": 250}, field="backends.0")


def refused(backend, **changes):
    made = vehicle(**{name: value for name, value in changes.items() if name != "physics_rate"})
    made.physics_rate = changes.get("physics_rate", 1000.0)
    backend.bind(made)


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        (
            {"directory": "nowhere"},
            {},
            "directory = 'nowhere': no such directory; set .* directory, ardupilot.dir",
        ),
        (
            {"directory": None},
            {},
            "ardupilot not found; set the backend's option directory, ardupilot.directory",
        ),
        (
            {"directory": "."},
            {},
            r"directory = .*: contains no build/sitl/bin/arducopter; build it there: ./waf",
        ),
        (
            {"launch": False},
            {"physics_rate": 719.0},
            "rate = 719.0: ArduPilot, whose main loop runs at 400 Hz, does not arm with physics below 720 "
            "Hz; raise it, or set ArduPilot's parameter SCHED_LOOP_RATE to 399 or less",
        ),
        (
            {"launch": False, "parameters": {"SCHED_LOOP_RATE": 500}},
            {"physics_rate": 720.0},
            "whose main loop runs at 500 Hz, does not arm with physics below 900 Hz",
        ),
        ({"launch": False}, {"physics_rate": 80.0}, "does not arm with physics below 720 Hz; raise it$"),
        ({"launch": False}, {"sensors": {}}, r"sensors = \['battery'\]: ArduPilot needs an IMU; add one"),
        (
            {"launch": False, "parameters": {"frame class": 1}},
            {},
            "parameters = 'frame class': must be up to 16",
        ),
        (
            {"launch": False, "parameters": {"GPS1_TYPE": math.nan}},
            {},
            "parameters.GPS1_TYPE = nan: must be fin",
        ),
        (
            {"launch": False, "parameter_files": ("no.parm",)},
            {},
            "parameter_files = 'no.parm': cannot be read: No",
        ),
        (
            {"launch": False, "instance": 249},
            {"count": 2},
            "instance = 249: with 2 vehicles must be at most 248",
        ),
        ({"launch": False, "address": "192.0.2.1"}, {}, "host = '192.0.2.1': is not an address of this"),
    ],
)
def test_bad_input_fails_at_the_door(options, changes, message, tmp_path, monkeypatch):
    """Wrong input would fail during the start, or not fly."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message) as raised:
        refused(ArduPilot(**options), **changes)
    assert "\n" not in str(raised.value)


def test_a_parameter_file_that_is_none(tmp_path):
    """A line that ArduPilot ignores would cause no error."""
    file = tmp_path / "bad.parm"
    file.write_text("FRAME_CLASS 1\nGPS1_TYPE\n")
    with pytest.raises(ConfigError, match=r"bad.parm: line 2: must be NAME VALUE"):
        refused(ArduPilot(launch=False, parameter_files=(file,)))


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"channels": [0, 1, 2]}, r"ardupilot.channels = \[0, 1, 2\]: must have one item for each of the 4"),
        ({"offset": [1.0]}, r"ardupilot.offset = \[1.0\]: must have one item for each of the 4 channels"),
    ],
)
def test_outputs_that_do_not_fit(outputs, message):
    """A list that is too short would be accepted, and a rotor use another one's figures."""
    spec = Multirotor("iris").spec
    changed = spec.model_copy(update={"ardupilot": spec.ardupilot.model_copy(update=outputs)})
    made = Multirotor(changed)
    made.environment, made.physics_rate = Environment(), RATE
    with pytest.raises(ConfigError, match=message):
        remote().bind(made)


@pytest.mark.parametrize(
    ("name", "value"),
    [("instance", -1), ("step_timeout", 0.0), ("hold_time", -1.0), ("speedup", math.inf)],
)
def test_bad_options(name, value):
    """An option out of its range would be accepted."""
    with pytest.raises(ConfigError, match=f"{name} = {value}: must"):
        ArduPilot(**{name: value})


def test_two_vehicles_with_the_same_instance():
    """Two vehicles would share one port and one ArduPilot, or the error not name the holder."""
    first = remote()
    first.bind(vehicle())
    number = first.instances[0]
    second = remote(instance=number)
    port = 9002 + 10 * number
    with pytest.raises(ConfigError, match=rf"UDP port = {port}: in use.*choose another instance"):
        second.bind(vehicle())
    third = remote()
    third.bind(vehicle())
    assert third.instances[0] != number
    for backend in (first, third):
        backend.stop()


def test_the_instance_of_the_settings(own_settings):
    """Ports would not come from the option or the first free instance of the user's settings."""
    number = free_instance(8)
    (own_settings / "settings.yaml").write_text(f"ardupilot: {{instance: {number}}}\n")
    for backend, first in ((remote(), number), (remote(instance=number + 5), number + 5)):
        backend.bind(vehicle(count=2))
        assert backend.instances == range(first, first + 2)
        backend.stop()


def test_a_mavlink_port_in_use(tmp_path):
    """An occupied MAVLink port would only be noticed by ArduPilot's exit."""
    number = free_instance()
    backend, port = launched(tmp_path / "ardupilot", instance=number), 5760 + 10 * number
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", port))
        taken.listen()
        with pytest.raises(ConfigError, match=f"TCP port = {port}: in use"):
            backend.bind(vehicle())


def test_vehicles_of_one_file_get_parameters_of_their_own():
    """A default shared between backends would carry one vehicle's parameters to another."""
    first, second = ArduPilot(), ArduPilot()
    first.parameters["GPS1_TYPE"] = 100
    assert second.parameters == {}


def test_a_plane(tmp_path):
    """ArduCopter would fly a plane, with its frames, or ask for steps that only its own main loop needs."""
    folder = source_tree(tmp_path / "ardupilot")
    made = Multirotor("plane")
    made.environment, made.physics_rate = Environment(), 250.0
    backend = ArduPilot(folder, instance=free_instance())
    backend.run_folder = tmp_path / "run"
    with pytest.raises(
        ConfigError, match=r"contains no build/sitl/bin/arduplane; build it there: .*waf plane"
    ):
        backend.bind(made)
    (folder / "build" / "sitl" / "bin" / "arducopter").rename(folder / "build" / "sitl" / "bin" / "arduplane")
    (folder / "Tools" / "autotest" / "models").mkdir()
    (folder / "Tools" / "autotest" / "models" / "plane.parm").write_text("")
    backend.bind(made)
    backend.start()
    (arguments,) = (process.arguments for process in backend.processes)
    own = (backend.processes[0].directory / "own.parm").read_text().splitlines()
    backend.stop()
    assert arguments[0].endswith("bin/arduplane")
    assert (
        arguments[arguments.index("--defaults") + 1] == f"{folder}/Tools/autotest/models/plane.parm,own.parm"
    )
    assert {"SERVO1_FUNCTION 4", "SERVO3_FUNCTION 70", "ARSPD_TYPE 100"} <= set(own)
    assert not [line for line in own if line.startswith("FRAME_")]
    made.physics_rate = 80.0
    with pytest.raises(
        ConfigError, match="whose main loop runs at 50 Hz, does not arm with physics below 90 Hz"
    ):
        backend.bind(made)
