"""Finding Isaac Sim, and how it is started."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from shlex import quote

import pytest
from typer.testing import CliRunner

from pegasus import ConfigError
from pegasus.cli import app
from pegasus.isaac import launch
from pegasus.settings import resource
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
    assert called[:-1] == ["-m", "pegasus.isaac", "first_flight", "--headless", "--duration", "3"]
    assert called[-1].startswith(f"PYTHONPATH={Path(launch.__file__).parents[2]}")


@posix
def test_its_failure_is_ours(installation, monkeypatch):
    """A script that starts flights would take a failed one for a good one."""
    monkeypatch.setenv("ISAACSIM_PATH", str(installation))
    monkeypatch.setenv("ENDS", "7")
    monkeypatch.setattr(launch, "require_packages", lambda _: None)
    assert CliRunner().invoke(app, ["isaac"]).exit_code == 7


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
