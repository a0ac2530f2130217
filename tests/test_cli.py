"""The `pegasus` command as its user meets it: what it prints, how it ends, and what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml

from pegasus import read_log
from pegasus.cli import main
from pegasus.settings import resource

SCENARIO = {"name": "test", "world": "flat", "duration": 1.0, "vehicles": [{"model": "iris"}]}
GEOMETRIC = {"model": "geometric", "trajectory": [{"takeoff": {"height": 2.0}}]}
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
FLAT = {"name": "mine", "generator": {"model": "flat"}}
TEXTURED = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Cube "wall" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]
    )
    {
        rel material:binding = </World/Brick>
    }
    def Material "Brick"
    {
        token outputs:surface.connect = </World/Brick/Shader.outputs:surface>
        def Shader "Shader"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </World/Brick/Image.outputs:rgb>
            token outputs:surface
        }
        def Shader "Image"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @textures/brick.png@
            float3 outputs:rgb
        }
    }
    def PhysicsScene "first"
    {
    }
    def PhysicsScene "second"
    {
    }
}
"""
COMPONENTS = """
from dataclasses import dataclass

import numpy as np

from pegasus import Backend


@dataclass
class Faulty(Backend):
    fault: str
    at: float = 0.0

    drives = True

    def bind(self, vehicle):
        self.shape = vehicle.count, vehicle.rotor_count

    def command(self, t):
        speed = np.full(self.shape, 300.0)
        if t < self.at:
            return speed
        match self.fault:
            case "nan":
                speed[0, 2] = np.nan
                return speed
            case "shape":
                return speed[0]
        raise ZeroDivisionError("a fault of the user's own")
"""


@pytest.fixture
def pegasus(tmp_path, monkeypatch, capfd):
    """Run the command in a folder of the test's own; return its exit code, stdout and stderr.

    It runs in this process, with nothing imported by an earlier test; stderr includes that of OpenUSD.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own", raising=False)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["pegasus", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return code, *capfd.readouterr()

    return command


def write(folder, **files):
    """Write files, `__` standing for the dot in their names; what is no text becomes YAML."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / name.replace("__", ".")).write_text(text)


def flying(vehicle=None, **changes):
    """Return a scenario with changes, of itself and of its vehicle."""
    return SCENARIO | {"vehicles": [{"model": "iris"} | (vehicle or {})]} | changes


def with_vehicle(**changes):
    """Return a scenario and the file of its vehicle, an Iris with changes."""
    return {"s__yaml": flying({"model": "v.yaml"}), "v__yaml": IRIS | changes}


def with_world(**changes):
    """Return a scenario and the file of its world, a flat one with changes."""
    scene = {"usd": None, "generator": None} if "usd" in changes else {}
    world = {key: value for key, value in (FLAT | scene | changes).items() if value is not None}
    return {"s__yaml": flying(world="w.yaml"), "w__yaml": world}


def one_line(result, *parts):
    """Assert that a command refused its input in one line that holds these parts."""
    code, out, err = result
    assert code == 2, err
    assert re.fullmatch(r"pegasus: [^\n]+\n", err), err
    for part in parts:
        assert part in err
    assert "Traceback" not in out + err


BAD_FILES = {
    "unknown vehicle": (
        {"s__yaml": flying({"model": "irsi"})},
        ["s.yaml", "vehicles.0.model = 'irsi'", "iris"],
    ),
    "unknown world": ({"s__yaml": flying(world="falt")}, ["s.yaml", "world = 'falt'", "courtyard"]),
    "vehicle file missing": (
        {"s__yaml": flying({"model": "v.yaml"})},
        ["s.yaml", "vehicles.0.model = 'v.yaml'"],
    ),
    "field of scenario": ({"s__yaml": flying(colour="red")}, ["s.yaml: colour", "unknown", "duration"]),
    "field of entry": (
        {"s__yaml": flying({"colour": 1})},
        ["s.yaml: vehicles.0.colour", "unknown", "heading"],
    ),
    "field of vehicle": (with_vehicle(colour="red"), [" v.yaml: colour", "unknown", "mass"]),
    "field of world": (with_world(colour="red"), [" w.yaml: colour", "unknown", "gravity"]),
    "unknown motor": (with_vehicle(motor={"model": "steam"}), [" v.yaml: motor.model = 'steam'", "ideal"]),
    "unknown wind": (with_world(wind={"model": "storm"}), [" w.yaml: wind.model = 'storm'", "gusts"]),
    "unknown backend": (
        {"s__yaml": flying({"backends": [{"model": "px5"}]})},
        ["s.yaml: vehicles.0.backends.0.model = 'px5'", "geometric"],
    ),
    "module missing": (
        {"s__yaml": flying({"backends": [{"model": "nowhere:Backend"}]})},
        ["s.yaml: vehicles.0.backends.0.model = 'nowhere:Backend'", "No module"],
    ),
    "class missing": (
        {"s__yaml": flying({"backends": [{"model": "own:Missing"}]}), "own__py": COMPONENTS},
        ["s.yaml: vehicles.0.backends.0.model = 'own:Missing'", "Missing"],
    ),
    "negative mass": (with_vehicle(mass=-1.5), [" v.yaml: mass = -1.5", "greater than"]),
    "NaN mass": (with_vehicle(mass=float("nan")), [" v.yaml: mass = nan", "finite"]),
    "NaN parameter": (
        with_vehicle(
            thrust_curve={"model": "quadratic", "thrust_constant": float("nan"), "moment_ratio": 0.1}
        ),
        [" v.yaml: thrust_curve.thrust_constant = nan", "finite"],
    ),
    "inertia": (
        with_vehicle(inertia=[0.03, 0.03, 0.07]),
        [" v.yaml: inertia = (0.03", "triangle inequality"],
    ),
    "inertia too small": (with_vehicle(inertia=[1e-20] * 3), [" v.yaml: inertia = (1e-20"]),
    "too heavy": (
        {"s__yaml": flying({"model": "v.yaml", "backends": [GEOMETRIC]}), "v__yaml": IRIS | {"mass": 15.0}},
        [" v.yaml: motor.max_speed = 1100", "raise it"],
    ),
    "cannot hover": (
        with_vehicle(mass=5.0),
        [" v.yaml: motor.max_speed = 1100", "lift 41.38 N", "weighs 49.0", "7.66 N more", "lower the mass"],
    ),
    "rotors overlap": (
        with_vehicle(rotors={"count": 4, "radius": 0.17}),
        [" v.yaml: rotors.1.position = (-0.1202", "rotor 0 overlap by 0.0136 m", "move them apart"],
    ),
    "rotor below the body": (
        with_vehicle(rotors=[*IRIS["rotors"][:3], {"position": [-0.124, -0.222, -0.2], "direction": "cw"}]),
        [" v.yaml: rotors.3.position = (-0.124, -0.222, -0.2)", "strike the ground first", "raise the rotor"],
    ),
    "rotor prim without a model": (
        with_vehicle(rotors=[{"prim": "rotor_0", "direction": "ccw"}]),
        [" v.yaml: rotors.0.prim = 'rotor_0'", "no USD model", "usd"],
    ),
    "rotor prim missing": (
        with_vehicle(rotors=[{"prim": "rotr", "direction": "ccw"}], usd="w.usda") | {"w__usda": TEXTURED},
        [" v.yaml: rotors.0.prim = 'rotr'", "no such prim", "named like rotors are none", "position"],
    ),
    "sensor too fast": (
        with_vehicle(sensors={"imu": {"model": "imu", "rate_hz": 400.0}}),
        [" v.yaml: sensors.imu.rate_hz = 400", "lower"],
    ),
    "two drivers": (
        {"s__yaml": flying({"backends": [GEOMETRIC, GEOMETRIC | {"model": "cascaded_pid"}]})},
        ["s.yaml: vehicles.0.backends", "Geometric", "CascadedPID", "remove"],
    ),
    "name taken": (
        {"s__yaml": flying(vehicles=[{"model": "iris", "name": "a"}] * 2)},
        ["s.yaml: vehicles.1.name = 'a'", "taken", "another"],
    ),
    "one place": (
        {"s__yaml": flying(vehicles=[{"model": "iris", "position": [0, 0, 1]}] * 2)},
        ["s.yaml: vehicles.1.position = [[0.0, 0.0, 1.0]]", "move it"],
    ),
    "spacing": ({"s__yaml": flying({"count": 2, "spacing": 0.1})}, ["s.yaml: vehicles.0.spacing = 0.1"]),
    "speed": ({"s__yaml": flying(speed=0)}, ["s.yaml: speed = 0:", "greater than"]),
    "seed": ({"s__yaml": flying(seed=2**64)}, ["s.yaml: seed = 18446744073709551616", "less than"]),
    "no end": (
        {"s__yaml": {k: v for k, v in SCENARIO.items() if k != "duration"}},
        ["s.yaml: duration", "--duration"],
    ),
    "world without a scene": (with_world(generator=None), ["w.yaml: usd: exactly one of usd and generator"]),
    "unknown generator": (
        with_world(generator={"model": "tonw"}),
        ["w.yaml: generator.model = 'tonw': must be one of ", "courtyard"],
    ),
    "world too large": (
        with_world(generator={"model": "town", "size": 1e6}),
        ["w.yaml: generator.size = 1000000.0: must be from 50 to 1000 m"],
    ),
    "USD missing": (with_world(usd="no.usda"), [" w.yaml: usd = '", "no.usda': no such file"]),
    "USD of scenario missing": ({"s__yaml": flying(world="no.usda")}, ["s.yaml: world = 'no.usda'"]),
    "USD broken": (
        with_world(usd="bad.usda") | {"bad__usda": "#usda 1.0\ndef Xform {{{\n"},
        ["bad.usda: is not valid USD", "usdview"],
    ),
    "USD no USD": (with_world(usd="bad.usd") | {"bad__usd": "hello"}, ["bad.usd: is not valid USD"]),
    "USD of vehicle broken": (
        with_vehicle(usd="bad.usda") | {"bad__usda": "#usda 1.0\ndef Xform {{{\n"},
        ["bad.usda: is not valid USD"],
    ),
    "USD of vehicle missing": (with_vehicle(usd="no.usda"), [" v.yaml: usd = '", "no.usda': no such file"]),
    "texture missing": (
        with_world(usd="w.usda") | {"w__usda": TEXTURED},
        ["w.usda: /World/Brick/Image.inputs:file = 'textures/brick.png'", "put the image there"],
    ),
    "no YAML": ({"s__yaml": "name: ["}, ["s.yaml", "not valid YAML"]),
    "no mapping": ({"s__yaml": "- a"}, ["s.yaml", "mapping"]),
    "empty": ({"s__yaml": ""}, ["s.yaml", "name", "required field is missing"]),
}


@pytest.mark.parametrize(("files", "parts"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(pegasus, tmp_path, files, parts):
    """A mistake in a file would give a traceback, no hint at the innermost file, or a half-made run."""
    write(tmp_path, **files)
    one_line(pegasus("run", "s.yaml", "--out", "out"), *parts)
    assert not (tmp_path / "out").exists()


BAD_OPTIONS = {
    "rate zero": (["--rate", "0"], ["--rate = 0", "greater than 0"]),
    "rate negative": (["--rate", "-250"], ["--rate = -250"]),
    "rate NaN": (["--rate", "nan"], ["--rate = nan", "finite"]),
    "rate too high": (["--rate", "1e9"], ["--rate = 1000000000", "100000"]),
    "rate below a sensor's": (["--rate", "100"], ["iris.yaml: sensors.imu.rate_hz = 250", "100 Hz", "raise"]),
    "duration negative": (["--duration", "-1"], ["--duration = -1"]),
    "duration infinite": (["--duration", "inf"], ["--duration = inf"]),
    "speed no number": (["--speed", "abc"], ["--speed = 'abc'", "max"]),
    "speed zero": (["--speed", "0"], ["--speed = 0.0:"]),
    "seed negative": (["--seed", "-1"], ["--seed = -1"]),
    "seed too large": (["--seed", str(10**30)], ["--seed = 1000", "less than"]),
}


@pytest.mark.parametrize(("options", "parts"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(pegasus, tmp_path, options, parts):
    """A wrong option would be taken, or be blamed on the scenario's file."""
    write(tmp_path, s__yaml=SCENARIO)
    one_line(pegasus("run", "s.yaml", "--out", "out", *options), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["nowhere", "nowhere.yaml"])
def test_unknown_scenario(pegasus, tmp_path, name):
    """A misspelt scenario would not be told from what there is."""
    one_line(pegasus("run", name), f"scenario = '{name}'", "path")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["file", "file/deeper", "/proc/runs"])
def test_out_that_cannot_be_written(pegasus, tmp_path, out):
    """A run would fly first and lose its log then."""
    write(tmp_path, s__yaml=SCENARIO, file="in the way")
    one_line(pegasus("run", "s.yaml", "--out", out), f"out = '{out}'", "give a folder")
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize(
    "arguments", [["fly"], ["run", "--fast"], ["run", "--rate", "abc"], ["list", "birds"], ["plot"], ["show"]]
)
def test_usage_errors(pegasus, arguments):
    """What the command line cannot be parsed as would end in a traceback, or with another code than 2."""
    code, out, err = pegasus(*arguments)
    assert code == 2
    assert "Usage: pegasus" in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("fault", "at", "parts"),
    [
        ("nan", 0.0, ["Faulty", "'iris'", "t = 0 s", "rotor 2 = nan", "finite"]),
        ("shape", 0.0, ["Faulty", "'iris'", "(4,)", "(1, 4)"]),
    ],
)
def test_bad_first_command(pegasus, tmp_path, fault, at, parts):
    """A controller that is wrong from the start would leave the folder of a run that never was."""
    faulty = {"model": "own:Faulty", "fault": fault, "at": at}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    one_line(pegasus("run", "s.yaml", "--out", "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_nan_command_in_flight(pegasus, tmp_path):
    """A controller that diverges would end without a word, or take the log of its flight along."""
    faulty = {"model": "own:Faulty", "fault": "nan", "at": 0.5}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    result = pegasus("run", "s.yaml", "--out", "out")
    (folder,) = (tmp_path / "out").iterdir()
    one_line(result, "Faulty", "'iris'", "t = 0.5 s", "rotor 2 = nan", "flown until then", folder.name)
    log = read_log(folder)
    assert log.complete
    assert 0.48 < log["iris/state"].time[-1] < 0.5
    assert json.loads((folder / "summary.json").read_bytes())["simulated_time"] == 0.5
    assert (folder / "flight.png").stat().st_size > 10_000


def test_fault_of_the_users_code(tmp_path):
    """A bug of the user's own would hide behind one line, or take the log of its flight along."""
    faulty = {"model": "own:Faulty", "fault": "bug", "at": 0.5}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    ended = command(tmp_path, "run", "s.yaml", "--out", "out")
    assert ended.returncode == 1
    assert 'own.py", line' in ended.stderr
    assert "ZeroDivisionError: a fault of the user's own" in ended.stderr
    assert read_log(next((tmp_path / "out").iterdir())).complete


def test_flight(pegasus, tmp_path):
    """A run would leave another set of files than it tells of, or write its progress where none reads it."""
    write(tmp_path, s__yaml=flying({"backends": [GEOMETRIC], "count": 2}))
    code, out, err = pegasus("run", "s.yaml", "--out", "out", "--duration", "2.5", "--seed", "3")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    (folder,) = (tmp_path / "out").iterdir()
    assert out.splitlines()[-1] == f"out/{folder.name}: flight.mcap, flight.png, summary.json"
    assert "takeoff" in out
    assert "energy" in out
    summary = json.loads((folder / "summary.json").read_bytes())
    assert (summary["seed"], summary["world"], summary["simulated_time"]) == (3, "flat", 2.5)
    assert list(read_log(folder).vehicles.items()) == [("iris", 2)]


def test_no_record(pegasus, tmp_path):
    """A run that is not to be recorded would leave files."""
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
        ("backends", {"geometric", "cascaded_pid"}),
    ],
)
def test_list(pegasus, kind, known):
    """Something shipped would be missing, or a line broken where a program reads it."""
    code, out, err = pegasus("list", kind)
    assert (code, err) == (0, "")
    rows = [line.split(maxsplit=1) for line in out.splitlines()[1:]]
    assert known <= {name for name, _ in rows}
    assert all(description.strip() for _, description in rows)
    assert "\x1b" not in out


def test_show_vehicle(pegasus, tmp_path):
    """A vehicle's sheet would not say what its file says."""
    write(tmp_path, own__yaml=IRIS | {"name": "mine", "mass": 1.25})
    code, out, err = pegasus("show", "vehicle", "own.yaml")
    assert (code, err) == (0, "")
    rows = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines())
    assert rows["name"] == "mine"
    assert rows["mass"] == "1.25 kg"
    one_line(pegasus("show", "vehicle", "irsi"), "vehicle = 'irsi'", "iris")


def test_plot(pegasus, tmp_path):
    """The picture of a run would not be drawn again, from its folder or from its log."""
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
    """A look at the machine would fail on it, or break lines where a program reads them."""
    code, out, _ = pegasus("doctor")
    assert code == 0
    for subject in "Python", "mujoco", "[dev]", "GPU", "PX4", "ROS 2", "4560":
        assert subject in out


def environment():
    """Return the environment of a terminal that no setting of the test's own narrows or colours."""
    dropped = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"}
    return {key: value for key, value in os.environ.items() if key not in dropped}


def command(folder, *arguments):
    """Run the command as a process of its own in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "pegasus", *map(str, arguments)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_process_refuses_broken_usd(tmp_path):
    """A library's own messages would stand beside the one line."""
    write(tmp_path, **with_world(usd="bad.usda"), bad__usda="#usda 1.0\ndef Xform {{{\n")
    ended = command(tmp_path, "run", "s.yaml", "--out", "out")
    one_line((ended.returncode, ended.stdout, ended.stderr), "bad.usda", "usdview")
    assert ended.stdout == ""
    assert not (tmp_path / "out").exists()


def test_process_warns(tmp_path):
    """What of a world is left out would be left out in silence."""
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "brick.png").write_bytes(b"an image")
    write(tmp_path, s__yaml=flying({"position": [0, 0, 5]}, world="w.usda"), w__usda=TEXTURED)
    ended = command(tmp_path, "run", "s.yaml", "--no-record", "--duration", "0.1")
    assert ended.returncode == 0
    assert ended.stderr == "pegasus: WARNING: /World/second: ignored: the physics scene is /World/first\n"


def test_process_refuses_unknown_vehicle(tmp_path):
    """The command as a process would end otherwise than in a test."""
    write(tmp_path, s__yaml=flying({"model": "irsi"}))
    ended = command(tmp_path, "run", "s.yaml", "--out", "out")
    one_line((ended.returncode, ended.stdout, ended.stderr), "s.yaml", "irsi", "iris")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("signals", "code"), [([signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGINT] * 2, 130)]
)
def test_interrupt(tmp_path, signals, code):
    """Ctrl-C would lose the flight until then, hang, or end with the code of a success."""
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
        wait_until(lambda: any(log.stat().st_size > 0 for log in tmp_path.glob("out/*/flight.mcap")))
        (folder,) = tmp_path.glob("out/*")
        for number in signals:
            process.send_signal(number)
            if len(signals) > 1:
                wait_until(lambda: process.poll() is not None or (folder / "summary.json").exists())
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    log = read_log(folder)
    assert log.complete
    times = log["iris/state"].time
    np.testing.assert_allclose(np.diff(times), 0.01, atol=0.005)
    assert json.loads((folder / "summary.json").read_bytes())["simulated_time"] < 60.0
    if len(signals) > 1:
        # The second one broke off the drawing.
        assert process.returncode in (code, -signal.SIGINT)
        return
    assert (process.returncode, err) == (code, "pegasus: interrupted\n")
    assert out.splitlines()[-1].endswith(": flight.mcap, flight.png, summary.json")


def wait_until(condition):
    """Wait for a condition, for half a minute at most."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        time.sleep(0.02)
