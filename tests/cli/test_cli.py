"""Tests of the `pegasus` command: its output, its exit codes and its files."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import yaml

from pegasus import read_log
from pegasus.cli import doctor
from pegasus.version import __version__
from tests.cli_rig import (
    COMPONENTS,
    GEOMETRIC,
    IRIS,
    SCENARIO,
    TEXTURED,
    command,
    environment,
    flying,
    one_line,
    pegasus,
    write,
)
from tests.waits import LIMIT, wait_until

__all__ = ["pegasus"]


def test_nan_command_in_flight(pegasus, tmp_path):
    """A diverging controller would end the run without a message, or without its log."""
    faulty = {"model": "own:Faulty", "fault": "nan", "at": 0.5}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    result = pegasus("run", "s.yaml", "--out", "out")
    (folder,) = (tmp_path / "out").iterdir()
    one_line(result, "Faulty", "'iris'", "t = 0.5 s", "rotor_2 = nan", "recorded so far", folder.name)
    log = read_log(folder)
    assert log.complete
    assert 0.48 < log["iris/state"].time[-1] < 0.5
    assert json.loads((folder / "summary.json").read_bytes())["simulated_time"] == 0.5
    assert (folder / "flight.png").stat().st_size > 10_000


def test_fault_of_the_users_code(tmp_path):
    """An error in the user's code would be shortened to one line, or cost the flight's log."""
    faulty = {"model": "own:Faulty", "fault": "bug", "at": 0.5}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    ended = command(tmp_path, "run", "s.yaml", "--out", "out")
    assert ended.returncode == 1
    assert 'own.py", line' in ended.stderr
    assert "ZeroDivisionError: a fault of the user's own" in ended.stderr
    assert read_log(next((tmp_path / "out").iterdir())).complete


def test_flight(pegasus, tmp_path):
    """A run would leave other files than it reports, or print progress where no terminal is."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC], "count": 2}))
    code, out, err = pegasus("run", "s.yaml", "--out", "out", "--duration", "2.5", "--seed", "3")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    (folder,) = (tmp_path / "out").iterdir()
    assert out.splitlines()[-1] == f"out/{folder.name}: flight.mcap, flight.png, foxglove.json, summary.json"
    assert "takeoff" in out
    assert "energy" in out
    summary = json.loads((folder / "summary.json").read_bytes())
    assert (summary["seed"], summary["world"], summary["simulated_time"]) == (3, "flat", 2.5)
    assert list(read_log(folder).vehicles.items()) == [("iris", 2)]


def test_set(pegasus, tmp_path):
    """A field that is set by its path would not reach the run."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC]}))
    options = ["--duration", "3", "--set", "vehicles.iris.model.mass=1.7"]
    wind = ["--set", "world.wind.mean_velocity=[4, 0, 0]"]
    assert pegasus("run", "s.yaml", "--out", "out", *options, *wind)[0] == 0
    assert pegasus("run", "s.yaml", "--out", "plain", *options)[0] == 0
    (changed,), (plain,) = ((tmp_path / name).glob("*") for name in ("out", "plain"))
    position = [read_log(folder)["iris/state"].position[-1, 0] for folder in (changed, plain)]
    assert position[0][0] > position[1][0] + 0.01


def test_no_record(pegasus, tmp_path):
    """A run without recording would leave files."""
    write(tmp_path, s__yaml=SCENARIO)
    code, out, err = pegasus("run", "s.yaml", "--out", "out", "--no-record")
    assert (code, err) == (0, "")
    assert "simulated [s]" in out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("worlds", {"courtyard", "flat"}),
        ("vehicles", {"iris", "typhoon_h", "x500", "crazyflie", "pegasus"}),
        ("scenarios", {"first_flight"}),
        ("backends", {"geometric", "cascaded_pid", "px4", "ros2"}),
        ("controllers", {"geometric", "cascaded_pid"}),
        ("trajectories", {"takeoff", "square", "race_line"}),
        ("sensors", {"imu", "gps", "camera", "lidar"}),
        ("generators", {"town", "flat"}),
        ("winds", {"constant", "gusts", "none"}),
    ],
)
def test_list(pegasus, kind, known):
    """A shipped item would be missing, or a line be wrapped in a pipe."""
    code, out, err = pegasus("list", kind)
    assert (code, err) == (0, "")
    rows = [line.split(maxsplit=1) for line in out.splitlines()[1:]]
    assert known <= {name for name, _ in rows}
    assert all(description.strip() for _, description in rows)
    assert "\x1b" not in out


def test_controllers_are_backends_that_control(pegasus):
    """An autopilot would be listed as a controller."""
    _, out, _ = pegasus("list", "controllers")
    assert not {"px4", "ardupilot", "ros2"} & {line.split()[0] for line in out.splitlines()[1:]}


def test_list_beside_a_broken_file(pegasus, tmp_path, monkeypatch):
    """One broken user file would hide everything else."""
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(tmp_path))
    (tmp_path / "vehicles").mkdir()
    write(tmp_path / "vehicles", broken__yaml="name: [", mine__yaml=IRIS | {"name": "mine"})
    code, out, err = pegasus("list", "vehicles")
    assert (code, err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines()[1:])
    assert {"broken", "mine", "iris", "x500"} <= rows.keys()
    assert "broken.yaml: is not valid YAML" in rows["broken"]


def test_show_vehicle(pegasus, tmp_path):
    """A vehicle's sheet would differ from its file."""
    write(tmp_path, own__yaml=IRIS | {"name": "mine", "mass": 1.25})
    code, out, err = pegasus("show", "vehicle", "own.yaml")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    rows = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in lines)
    assert rows["name"] == "mine"
    assert rows["mass"] == "1.25 kg"
    one_line(pegasus("show", "vehicle", "irsi"), "vehicle = 'irsi'", "iris")


def test_show_calibration(pegasus, tmp_path):
    """The printed calibration would not be a YAML file that Kalibr could read."""
    write(tmp_path, own__yaml=IRIS | {"sensors": {"imu": {"model": "imu"}, "front": {"model": "camera"}}})
    code, out, err = pegasus("show", "vehicle", "own.yaml", "--kalibr", "imu")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out)["update_rate"] == 250.0
    code, out, err = pegasus("show", "vehicle", "own.yaml", "--kalibr", "camchain")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out)["cam0"]["camera_model"] == "pinhole"
    one_line(pegasus("show", "vehicle", "iris", "--kalibr", "camchain"), "has no camera", "sensors")


def test_plot(pegasus, tmp_path):
    """The plot of a run could not be drawn again from its folder or its log."""
    write(tmp_path, s__yaml=SCENARIO)
    assert pegasus("run", "s.yaml", "--out", "out", "--duration", "0.2")[0] == 0
    (folder,) = (tmp_path / "out").iterdir()
    picture = folder / "flight.png"
    for run in folder, folder / "flight.mcap":
        picture.unlink()
        assert pegasus("plot", run) == (0, f"{picture}\n", "")
        assert picture.is_file()
    one_line(pegasus("plot", "nowhere"), "nowhere", "flight.mcap")
    write(tmp_path, note__mcap="no log")
    one_line(pegasus("plot", "note.mcap"), "note.mcap", "not an MCAP file")


def test_doctor(pegasus):
    """`pegasus doctor` would fail on this machine, or wrap its lines in a pipe."""
    code, out, _ = pegasus("doctor")
    assert code == 0
    assert out.splitlines()[-1].startswith(f"Pegasus {__version__}: ready to fly")
    code, out, _ = pegasus("doctor", "--json")
    assert code == 0
    found = {finding["subject"]: finding for finding in json.loads(out)}
    assert found["Python"]["status"] == "ok"
    assert {"mujoco", "extra [dev]", "NVIDIA GPU", "PX4", "ROS 2", "PX4 link, TCP 4560"} <= found.keys()


def test_doctor_tells_optional_parts_in_a_pipe(pegasus, monkeypatch):
    """`ready to fly` without PX4 would send a user of PX4 to the log of a failed run."""
    lacking = doctor.Finding(doctor.Status.OPTIONAL, "PX4", "not found", "clone it")
    monkeypatch.setattr(doctor, "examine", lambda: [lacking])
    code, out, _ = pegasus("doctor")
    assert code == 0
    last = f"Pegasus {__version__}: ready to fly, without PX4"
    assert out.splitlines() == ["optional: PX4: not found; clone it", last]


def test_a_sheet_in_a_pipe_has_short_lines(pegasus):
    """A vehicle's sheet in a pipe would have lines of 420 columns, most of them blanks."""
    _, out, _ = pegasus("show", "vehicle", "iris")
    assert max(map(len, out.splitlines())) <= 110
    assert all(line == line.rstrip() for line in out.splitlines())


def test_doctor_misses_a_package(pegasus, monkeypatch):
    """A missing part would drown in the list, or not fail a script."""
    lacking = doctor.Finding(doctor.Status.MISSING, "mujoco", "not installed", 'pip install "mujoco"')
    monkeypatch.setattr(doctor, "examine", lambda: [lacking])
    code, out, _ = pegasus("doctor")
    assert code == 1
    first = 'missing: mujoco: not installed; pip install "mujoco"'
    assert out == f"{first}\nPegasus {__version__}: 1 parts are missing\n"


@pytest.mark.parametrize("command", [[], ["run"], ["show", "vehicle"], ["check", "scenario"], ["sweep"]])
def test_short_help(pegasus, command):
    """`-h`, which most commands have, would be an error."""
    code, out, err = pegasus(*command, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: pegasus {' '.join(command)}".strip())
    assert out == pegasus(*command, "--help")[1]


def test_verbose(pegasus, tmp_path):
    """The place of an error in the code would be out of reach, or show without being asked for."""
    write(tmp_path, s__yaml=flying({"model": "irsi"}))
    code, _, err = pegasus("-v", "run", "s.yaml")
    assert code == 2
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("pegasus: s.yaml: vehicles.0.model = 'irsi': no such vehicle")
    one_line(pegasus("run", "s.yaml"), "irsi")


@pytest.mark.parametrize("module", ["pegasus.cli.main", "pegasus.experiments"])
def test_only_what_a_command_needs_is_imported(module):
    """Each completion by the shell, and the start of a sweep's processes, would wait for parts not used."""
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    parts = ["pegasus.core", "pegasus.panel", "pegasus.backends", "mujoco", "warp", "pxr", "array_api_compat"]
    assert not set(parts) & set(loaded.split())


@pytest.mark.parametrize(
    ("shell", "words", "known"),
    [
        ("bash", "pegasus run first", "first_flight"),
        ("bash", "pegasus show vehicle x5", "x500"),
        ("bash", "pegasus list traj", "trajectories"),
        ("zsh", "pegasus check world cou", "courtyard"),
        ("fish", "pegasus swe", "sweep"),
    ],
)
def test_completion(tmp_path, monkeypatch, shell, words, known):
    """The shell would complete no command, or no name of a scenario, a vehicle or a world."""
    # By default typer looks for a shell among the parents of the process.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    script = command(tmp_path, "--show-completion", shell)
    assert "_PEGASUS_COMPLETE" in script.stdout
    last = str(len(words.split()) - 1)
    given = {"bash": {"COMP_WORDS": words, "COMP_CWORD": last}}.get(shell, {"_TYPER_COMPLETE_ARGS": words})
    if shell == "fish":
        given["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    ended = subprocess.run(
        [sys.executable, "-m", "pegasus"],
        env=environment() | given | {"_PEGASUS_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert known in ended.stdout


def test_show_scenario(pegasus, tmp_path):
    """The printed fields would differ from those flown, or could not be saved as a scenario file."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC]}) | {"seed": 3})
    code, out, err = pegasus("show", "scenario", "s.yaml", "--set", "vehicles.iris.model.mass=1.7")
    assert (code, err) == (0, "")
    content = yaml.safe_load(out)
    assert (content["seed"], content["rate"], content["vehicles"][0]["model"]["mass"]) == (3, 250.0, 1.7)
    write(tmp_path, again__yaml=out)
    assert pegasus("show", "scenario", "again.yaml")[1].splitlines()[1:] == out.splitlines()[1:]
    code, out, _ = pegasus("show", "world", "courtyard")
    assert yaml.safe_load(out)["generator"] == {"model": "courtyard"}


def test_check_vehicle(pegasus):
    """Stall, trim and modes of an aircraft would be unknown before it flies, or those of a multirotor."""
    code, out, err = pegasus("check", "vehicle", "aerosonde")
    assert (code, err) == (0, "")
    rows = [line.split("  ", 2) for line in (line.strip() for line in out.splitlines()[1:])]
    found = {line[1].strip(): line[2].strip() for line in (row for row in rows if len(row) == 3)}
    assert float(found["stall speed"].removesuffix(" m/s")) == pytest.approx(15.0, abs=0.1)
    assert "22.5" in found["trim in cruise"]
    assert "elevator -0.14" in found["commands in cruise"]
    assert [found[f"mode {k}"].split()[0] for k in range(1, 6)] == [
        "roll",
        "Dutch",
        "short",
        "phugoid",
        "spiral",
    ]
    assert "hover" in pegasus("check", "vehicle", "iris")[1]


def test_check_scenario(pegasus, tmp_path):
    """A mistake would come to light in a flight only."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC]}))
    code, out, err = pegasus("check", "scenario", "s.yaml", "--set", "duration=3")
    assert (code, err) == (0, "")
    rows = [line.strip().split(maxsplit=2) for line in out.splitlines()[1:]]
    assert rows[0] == ["ok", "world", "flat"]
    assert rows[1] == ["ok", "duration", "3.0 s"]
    assert rows[2][:2] == ["ok", "vehicle"]
    assert "GeometricController" in rows[2][2]
    one_line(
        pegasus("check", "scenario", "s.yaml", "--set", "world=falt"), "--set world = 'falt'", "mean flat?"
    )


def test_process_warns(tmp_path):
    """Parts of a world that are left out would cause no warning."""
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "brick.png").write_bytes(b"an image")
    write(tmp_path, s__yaml=flying({"position": [0, 0, 5]}, world="w.usda"), w__usda=TEXTURED)
    ended = command(tmp_path, "run", "s.yaml", "--no-record", "--duration", "0.1")
    assert ended.returncode == 0
    scene, light = ended.stderr.splitlines()
    assert scene == "pegasus: WARNING: /World/second: ignored: the physics scene is /World/first"
    assert "w.usda: no light: lit by a sun and a sky; " in light


@pytest.mark.parametrize(
    ("signals", "code"), [([signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGINT] * 2, 130)]
)
def test_interrupt(tmp_path, signals, code):
    """Ctrl-C would lose the flight so far, hang, or exit with the code of success."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC]}, duration=600.0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pegasus", "run", "s.yaml", "--speed", "1", "--out", "out"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # The file begins before the first step, and a run without a step leaves nothing.
        wait_until(lambda: any(log.stat().st_size > 10_000 for log in tmp_path.glob("out/*/flight.mcap")))
        (folder,) = tmp_path.glob("out/*")
        for number in signals:
            process.send_signal(number)
            if len(signals) > 1:
                wait_until(lambda: process.poll() is not None or (folder / "summary.json").exists())
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    log = read_log(folder)
    assert log.complete
    times = log["iris/state"].time
    np.testing.assert_allclose(np.diff(times), 0.008, atol=1e-9)
    assert json.loads((folder / "summary.json").read_bytes())["simulated_time"] < 60.0
    if len(signals) > 1:
        # The second interrupt cancels the drawing.
        assert process.returncode in (code, -signal.SIGINT)
        return
    assert (process.returncode, err) == (code, "pegasus: interrupted\n")
    assert out.splitlines()[-1].endswith(": flight.mcap, flight.png, foxglove.json, summary.json")
