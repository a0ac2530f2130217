"""Finding Isaac Sim, and how it is started."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from shlex import quote

import pytest
from typer.testing import CliRunner

from pegasus import ConfigError
from pegasus.cli import app
from pegasus.folders import resource
from pegasus.isaac import launch
from pegasus.version import __version__

posix = pytest.mark.skipif(os.name == "nt", reason="the scripts of Windows are others")


@pytest.fixture
def installation(tmp_path):
    """Return a folder that looks like Isaac Sim; its Python notes what it is called with."""
    folder = tmp_path / "isaac sim"
    folder.mkdir()
    for name in "python.sh", "isaac-sim.sh":
        (folder / name).write_text(
            f'#!/bin/sh\nif [ "$1" = "-c" ]; then exec {sys.executable} "$@"; fi\n'
            f'printf "%s\\n" "$@" PYTHONPATH="$PYTHONPATH" >"{folder}/called"\nexit ${{ENDS:-0}}\n'
        )
        (folder / name).chmod(0o755)
    return folder


@posix
def test_it_is_found_where_it_is_said_to_be(installation, tmp_path):
    """The option counts before the variables, and the first variable before the second."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "python.sh").touch()
    both = {"ISAACSIM_PATH": str(installation), "ISAAC_SIM_PATH": str(other)}
    assert launch.find(other, environment=both).place == str(other)
    found = launch.find(environment=both)
    assert found.python == (str(installation / "python.sh"),)
    assert found.window == (str(installation / "isaac-sim.sh"),)
    assert launch.find(environment={"ISAAC_SIM_PATH": str(other)}).place == str(other)


def test_a_wrong_folder_is_said(tmp_path):
    """A misspelt variable would be passed over, and another Isaac Sim started."""
    with pytest.raises(ConfigError, match=r"ISAACSIM_PATH = .*no Isaac Sim is there"):
        launch.find(environment={"ISAACSIM_PATH": str(tmp_path)})


def test_none_is_said(monkeypatch):
    """A user without Isaac Sim would get a traceback."""
    monkeypatch.setattr(launch, "_USUAL", ())
    monkeypatch.setattr(launch, "_LAUNCHER_FOLDER", "/nowhere")
    with pytest.raises(ConfigError, match="set ISAACSIM_PATH"):
        launch.find(environment={})


@posix
def test_a_scenario_is_flown_by_its_python(installation, monkeypatch):
    """Isaac Sim's Python would not find this Pegasus, or not hear of an option."""
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    monkeypatch.setattr(launch, "require_packages", lambda _: None)
    result = CliRunner().invoke(app, ["isaac", "first_flight", "--headless", "--duration", "3"])
    assert result.exit_code == 0, result.output
    called = (installation / "called").read_text().splitlines()
    assert called[:-1] == ["-m", "pegasus.isaac", "first_flight", "--duration", "3", "--headless"]
    assert called[-1].startswith(f"PYTHONPATH={Path(launch.__file__).parents[2]}")


@posix
def test_its_failure_is_ours(installation, monkeypatch):
    """A script that starts flights would take a failed one for a good one."""
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    monkeypatch.setenv("ENDS", "7")
    monkeypatch.setattr(launch, "require_packages", lambda _: None)
    assert CliRunner().invoke(app, ["isaac"]).exit_code == 7


@posix
def test_options_without_a_scenario(installation, monkeypatch):
    """The first option would be taken for the name of a scenario."""
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    monkeypatch.setattr(launch, "require_packages", lambda _: None)
    result = CliRunner().invoke(app, ["isaac", "--duration", "3", "--seed", "2"])
    assert result.exit_code == 0, result.output
    called = (installation / "called").read_text().splitlines()
    assert called[:-1] == ["-m", "pegasus.isaac", "--duration", "3", "--seed", "2"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["first_flight", "--gui", "--duration", "3"], "--duration"),
        (["--gui", "--seed", "3"], "--seed"),
        (["--gui", "--headless"], "--headless"),
        (["--play"], "--play"),
    ],
)
def test_options_that_would_not_count_are_refused(arguments, field):
    """Somebody would wait for the end of a flight that was to last three seconds."""
    result = CliRunner().invoke(app, ["isaac", *arguments, "--dry-run"])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).startswith(f"{field}: ")


@posix
def test_a_command_can_be_copied(installation, monkeypatch):
    """A folder with a blank in its name would fall into two words."""
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    result = CliRunner().invoke(app, ["isaac", "--dry-run"])
    assert shlex.split(result.output) == [
        str(installation / "python.sh"),
        "-m",
        "pegasus.isaac",
        "first_flight",
    ]


SLOW = """#!/bin/sh
if [ "$1" = "-c" ]; then exit 0; fi
end() { trap "" INT TERM; sleep 0.7; echo kept >"$0.kept"; exit $1; }
trap "end 130" INT
trap "end 143" TERM
: >"$0.flies"
while true; do sleep 0.05; done
"""


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_is_told_to_end_leaves_what_was_flown(installation, number, code):
    """Ctrl-C would kill Isaac Sim before log and summary are written, or SIGTERM leave it running."""
    script = installation / "python.sh"
    script.write_text(SLOW)
    command = [sys.executable, "-m", "pegasus", "isaac", "--isaac-sim", str(installation)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        wait_until((installation / "python.sh.flies").exists, "the flight")
        # The terminal sends Ctrl-C to both, who else ends a command only to the one that it knows.
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        assert process.wait(timeout=20) == code
    finally:
        process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (installation / "python.sh.kept").is_file()


def wait_until(condition, what):
    """Wait for a condition, for half a minute at most."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def test_nothing_beside_pegasus_gets_into_its_python(monkeypatch, tmp_path):
    """Packages of another Python, a second OpenUSD among them, would come before those of Isaac Sim."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert launch.python_path() == str(Path(launch.__file__).parents[2])
    # As pip installs it.
    place = tmp_path / "site-packages"
    shutil.copytree(
        Path(launch.__file__).parents[1], place / "pegasus", ignore=shutil.ignore_patterns("*.pyc")
    )
    for name in "config", "data":
        (place / "pegasus" / "_resources" / name).mkdir(parents=True)
    (place / "pxr.py").touch()
    code = "from pegasus.isaac.launch import python_path; print(python_path())"
    environment = os.environ | {"PYTHONPATH": str(place), "PEGASUS_CACHE_DIR": str(tmp_path / "cache")}
    asked = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    own, rest = asked.stdout.strip().split(os.pathsep)
    assert rest == str(place)
    assert not (Path(own) / "pxr.py").exists()
    assert (Path(own) / "pegasus" / "isaac" / "__main__.py").is_file()


@posix
def test_the_window_gets_the_extension(installation, monkeypatch, tmp_path):
    """Kit names an extension by its folder: it would look for one that is called as the clone is."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    scenario = tmp_path / "mine.yaml"
    scenario.touch()
    for _ in range(2):
        result = CliRunner().invoke(app, ["isaac", str(scenario), "--gui", "--play", "--dry-run"])
        assert result.exit_code == 0, result.output
    folder = tmp_path / "cache" / "isaac_sim" / "extensions"
    assert f"--ext-folder {folder} --enable {launch.EXTENSION_NAME}" in result.output
    assert f"--{launch.SCENARIO_SETTING}={scenario}" in result.output
    # Not into the folder of Isaac Sim, which may belong to somebody else.
    assert f"--{launch.OUT_SETTING}={Path.cwd() / 'runs'}" in result.output
    assert f"--{launch.PLAY_SETTING}=true" in result.output
    extension = folder / launch.EXTENSION_NAME
    assert (extension / "config" / "extension.toml").is_file()
    assert (extension / "pegasus" / "isaac" / "extension.py").is_file()


@posix
def test_missing_packages_are_named(installation):
    """The flight would end in a traceback of an import."""
    (installation / "python.sh").write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -S -E -I "$@"\n')
    with pytest.raises(ConfigError, match=r"lacks .*pydantic.*pip install .*'pydantic>="):
        launch.require_packages(launch.find(installation))


@posix
def test_a_python_that_does_not_run(installation):
    """A broken installation would count as one that has all packages."""
    (installation / "python.sh").write_text("#!/bin/sh\necho no driver >&2\nexit 3\n")
    with pytest.raises(ConfigError, match="does not run: no driver"):
        launch.require_packages(launch.find(installation))


def test_present_packages_are_fine():
    """A Python that has all would be refused."""
    launch.require_packages(launch.Installation("here", (sys.executable,), ()))


ENDS = """
import atexit, os, sys
from pegasus.isaac import __main__ as begin

def start(headless):
    # As Isaac Sim is closed: whatever the code of the program, the process ends with 0.
    atexit.register(lambda: os._exit(0))
    print(sys.argv, headless, flush=True)

begin.start = start
begin.main(%r)
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["irsi", "--headless"], 2, "scenario = 'irsi'"),
        (["own.yaml"], 1, "ZeroDivisionError"),
        (["flat.yaml", "--no-record"], 0, ""),
    ],
)
def test_its_exit_code_outlives_isaac_sim(tmp_path, arguments, code, said):
    """A script that starts flights would take a failed one for a good one."""
    scenario = {"name": "flat", "world": "flat", "duration": 0.1, "vehicles": [{"model": "iris"}]}
    (tmp_path / "flat.yaml").write_text(json.dumps(scenario))
    (tmp_path / "own.py").write_text("1 / 0")
    faulty = {"model": "iris", "backends": [{"model": "own:Backend"}]}
    (tmp_path / "own.yaml").write_text(json.dumps(scenario | {"vehicles": [faulty]}))
    ended = subprocess.run(
        [sys.executable, "-c", ENDS % arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    # Options of ours are none of Kit's.
    assert ended.stdout.splitlines()[0] == f"['-c'] {'--headless' in arguments}"


def test_the_command_line_loses_what_was_understood():
    """An example that reads its own arguments would stumble over the engine."""
    line = ["example.py", "5", "--engine", "mujoco", "--headless", "--folder", "x"]
    launch.start_if_asked(line)
    assert line == ["example.py", "5", "--folder", "x"]


def test_another_python_cannot_start_it():
    """A script that is run by the wrong Python would fly on MuJoCo without a word."""
    with pytest.raises(ConfigError, match=r"not the Python of Isaac Sim.*python"):
        launch.start_if_asked(["example.py", "--engine", "isaac"])


def test_it_is_started_before_openusd(monkeypatch):
    """Two OpenUSDs in one process crash."""
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setitem(sys.modules, "pxr", sys)
    with pytest.raises(ConfigError, match="OpenUSD was imported before"):
        launch.start()


def test_openusd_is_imported_by_its_users_only():
    """A script could not start Isaac Sim any more once it has imported what it flies with."""
    modules = (
        "pegasus.cameras, pegasus.control, pegasus.recording, pegasus.run, pegasus.cli, pegasus.isaac.launch"
    )
    code = f"import sys, {modules}; print('pxr' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_the_manifest_is_that_of_this_version():
    """The extension manager would show another version, or pictures that are not there."""
    with resource("config", "extension.toml").open("rb") as file:
        manifest = tomllib.load(file)
    package = manifest["package"]
    assert package["version"] == __version__
    root = Path(launch.__file__).parents[2]
    for name in "changelog", "readme", "preview_image", "icon":
        assert (root / package[name]).is_file()
    dependencies = list(manifest["dependencies"])
    assert dependencies == sorted(dependencies)
    assert not any(line.startswith("usd-core") for line in manifest["python"]["pipapi"]["requirements"])
    assert (root / "extension.toml").resolve() == (root / "config" / "extension.toml").resolve()
