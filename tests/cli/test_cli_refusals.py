"""Tests of invalid input to the `pegasus` command: one line of error, and no incomplete output."""

import pytest
import yaml

from tests.cli_rig import (
    COMPONENTS,
    FLAT,
    GEOMETRIC,
    IRIS,
    SCENARIO,
    TEXTURED,
    command,
    flying,
    one_line,
    pegasus,
    with_vehicle,
    with_world,
    write,
)

__all__ = ["pegasus"]

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
    "negative mass": (with_vehicle(mass=-1.5), [" v.yaml: mass = -1.5", "must be above 0"]),
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
        [" v.yaml: motor.max_speed = 718", "raise it"],
    ),
    "cannot hover": (
        with_vehicle(mass=5.0),
        [" v.yaml: motor.max_speed = 718", "lift 32.48 N", "weighs 49.0", "16.6 N more", "lower the mass"],
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
    "sensor of the scenario too fast": (
        {
            "s__yaml": flying(
                {"backends": [GEOMETRIC], "sensors": {"eye": {"model": "camera", "rate_hz": 1000}}}
            )
        },
        ["s.yaml: vehicles.0.sensors.eye.rate_hz = 1000", "lower"],
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
    "speed": ({"s__yaml": flying(speed=0)}, ["s.yaml: speed = 0:", "must be above 0"]),
    "seed": ({"s__yaml": flying(seed=2**64)}, ["s.yaml: seed = 18446744073709551616", "must be below"]),
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
    "samples of a camera": (
        {"s__yaml": flying({"sensors": {"eye": {"model": "camera", "samples": 0}}})},
        ["s.yaml: vehicles.0.sensors.eye.samples = 0: must be a whole number from 1 up"],
    ),
    "renderer of a scenario": (
        {"s__yaml": flying(renderer="vulkan")},
        ["s.yaml: renderer: unknown field", "allowed here: dataset, "],
    ),
    "renderer of a dataset": (
        {"s__yaml": flying(dataset={"renderer": "vulkan"})},
        ["s.yaml: dataset.renderer = 'vulkan': must be one of embree, mitsuba"],
    ),
    "samples of a dataset": (
        {"s__yaml": flying(dataset={"samples": 0})},
        ["s.yaml: dataset.samples = 0: must be at least 1"],
    ),
    "GLB cut short": (
        {"s__yaml": flying(world="w.glb"), "w__glb": "glTF\2\0\0\0\xff\0\0\0"},
        ["w.glb: is not valid glTF: it is cut short", "export it again"],
    ),
    "no YAML": ({"s__yaml": "name: ["}, ["s.yaml", "not valid YAML"]),
    "no mapping": ({"s__yaml": "- a"}, ["s.yaml", "mapping"]),
    "empty": ({"s__yaml": ""}, ["s.yaml", "name", "required field is missing"]),
}


@pytest.mark.parametrize(("files", "parts"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(pegasus, tmp_path, files, parts):
    """A mistake in a file would cause a traceback, an error without the file's name, or an incomplete run."""
    write(tmp_path, **files)
    one_line(pegasus("run", "s.yaml", "--out", "out"), *parts)
    assert not (tmp_path / "out").exists()


BAD_OPTIONS = {
    "rate zero": (["--rate", "0"], ["--rate = 0", "must be above 0"]),
    "rate no number": (["--rate", "abc"], ["--rate = 'abc': must be a number"]),
    "seed no whole number": (["--seed", "1.5"], ["--seed = '1.5': must be a whole number"]),
    "rate negative": (["--rate", "-250"], ["--rate = -250"]),
    "rate NaN": (["--rate", "nan"], ["--rate = nan", "finite"]),
    "rate too high": (["--rate", "1e9"], ["--rate = 1000000000", "100000"]),
    "rate below a sensor's": (["--rate", "100"], ["iris.yaml: sensors.imu.rate_hz = 250", "100 Hz", "raise"]),
    "duration negative": (["--duration", "-1"], ["--duration = -1"]),
    "duration infinite": (["--duration", "inf"], ["--duration = inf"]),
    "speed no number": (["--speed", "abc"], ["--speed = 'abc'", "max"]),
    "speed zero": (["--speed", "0"], ["--speed = 0.0:"]),
    "seed negative": (["--seed", "-1"], ["--seed = -1"]),
    "port without a page": (["--port", "8081"], ["--port: requires --view; add --view"]),
    "host without a page": (["--host", "0.0.0.0"], ["--host: requires --view"]),
    "set nothing": (["--set", "seed"], ["--set = 'seed': must be PATH=VALUE; such as --set seed=3"]),
    "set no YAML": (["--set", "seed=[1"], ["--set = 'seed=[1': must be PATH=VALUE"]),
    "set an unknown field": (
        ["--set", "world.wnd.x=1"],
        ["--set world.wnd: unknown field; did you mean wind?"],
    ),
    "set a wrong value": (
        ["--set", "vehicles.iris.model.mass=x"],
        ["--set vehicles.iris.model.mass = 'x': must be a number"],
    ),
    "seed too large": (["--seed", str(10**30)], ["--seed = 1000", "must be below"]),
}


@pytest.mark.parametrize(("options", "parts"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(pegasus, tmp_path, options, parts):
    """A wrong option would be accepted, or be blamed on the scenario's file."""
    write(tmp_path, s__yaml=SCENARIO)
    one_line(pegasus("run", "s.yaml", "--out", "out", *options), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (["dataset.renderer=vulkan"], ["--set dataset.renderer = 'vulkan': must be one of embree, mitsuba"]),
        (["dataset.samples=0"], ["--set dataset.samples = 0: must be at least 1"]),
        (["vehicles.iris.sensors.eye={model: camera, samples: 0}"], ["samples = 0: must be a whole number"]),
    ],
)
def test_bad_settings_of_datasets(pegasus, tmp_path, settings, parts):
    """A wrong recipe would end in a traceback, or leave a folder."""
    write(tmp_path, s__yaml=SCENARIO)
    options = [word for setting in settings for word in ("--set", setting)]
    one_line(pegasus("dataset", "s.yaml", "--out", "out", "--photo", *options), *parts)
    assert not (tmp_path / "out").exists()


def test_files_of_settings_are_those_of_the_current_folder(pegasus, tmp_path, monkeypatch):
    """The scenario's folder would be searched, and the file that completion offered not be found."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    write(tmp_path / "there", s__yaml=SCENARIO, w__yaml={**FLAT, "name": "wrong"}, v__yaml=IRIS)
    write(tmp_path / "here", w__yaml={**FLAT, "name": "mine"}, v__yaml=IRIS | {"mass": 1.25})
    monkeypatch.chdir(tmp_path / "here")
    settings = ["--set", "world=w.yaml", "--set", "vehicles.0.model=v.yaml"]
    code, out, err = pegasus("show", "scenario", "../there/s.yaml", *settings)
    assert code == 0, err
    shown = yaml.safe_load(out)
    assert shown["world"] == str(tmp_path / "here" / "w.yaml")
    assert shown["vehicles"][0]["model"] == str(tmp_path / "here" / "v.yaml")
    code, out, err = pegasus("check", "scenario", "../there/s.yaml", *settings)
    assert code == 0, err
    assert "mine" in out
    write(tmp_path / "here", w__usda="#usda 1.0\ndef {{{\n")
    refused = pegasus("check", "scenario", "../there/s.yaml", "--set", "world={name: own, usd: w.usda}")
    one_line(refused, str(tmp_path / "here" / "w.usda"), "is not valid USD")


def test_names_of_settings_stay_names(pegasus, tmp_path):
    """Worlds and vehicles given by name would be searched as files."""
    write(tmp_path, s__yaml=SCENARIO)
    code, out, err = pegasus("show", "scenario", "s.yaml", "--set", "world=hangar")
    assert code == 0, err
    assert yaml.safe_load(out)["world"] == "hangar"


def test_unknown_kind(pegasus):
    """A misspelt kind would end in a list without the nearest one."""
    one_line(pegasus("list", "sensor"), "KIND = 'sensor': must be one of worlds, ", "did you mean sensors?")


@pytest.mark.parametrize("name", ["nowhere", "nowhere.yaml"])
def test_unknown_scenario(pegasus, tmp_path, name):
    """The error for a misspelt scenario would not list the existing ones."""
    one_line(pegasus("run", name), f"scenario = '{name}'", "path")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["file", "file/deeper", "/proc/runs"])
def test_out_that_cannot_be_written(pegasus, tmp_path, out):
    """A run would fly before it fails to write its log."""
    write(tmp_path, s__yaml=SCENARIO, file="in the way")
    one_line(pegasus("run", "s.yaml", "--out", out), f"out = '{out}'", "choose a writable folder")
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("arguments", [["fly"], ["run", "--fast"], ["plot"], ["show"]])
def test_usage_errors(pegasus, arguments):
    """A wrong command line would end in a traceback, or with another exit code than 2."""
    code, out, err = pegasus(*arguments)
    assert code == 2
    assert "Usage: pegasus" in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("fault", "at", "parts"),
    [
        ("nan", 0.0, ["Faulty", "'iris'", "t = 0 s", "rotor_2 = nan", "finite"]),
        ("shape", 0.0, ["Faulty", "'iris'", "(4,)", "(1, 4)"]),
    ],
)
def test_bad_first_command(pegasus, tmp_path, fault, at, parts):
    """A controller whose first command is invalid would leave an empty run folder."""
    faulty = {"model": "own:Faulty", "fault": fault, "at": at}
    write(tmp_path, s__yaml=flying({"backends": [faulty]}), own__py=COMPONENTS)
    one_line(pegasus("run", "s.yaml", "--out", "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_process_refuses_broken_usd(tmp_path):
    """Library messages would surround the error line, or the exit code differ from a call's."""
    write(tmp_path, **with_world(usd="bad.usda"), bad__usda="#usda 1.0\ndef Xform {{{\n")
    ended = command(tmp_path, "run", "s.yaml", "--out", "out")
    one_line((ended.returncode, ended.stdout, ended.stderr), "bad.usda", "usdview")
    assert ended.stdout == ""
    assert not (tmp_path / "out").exists()
