"""Starting Isaac Sim within a script, and the manifest of the extension."""

import signal
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from pegasus import ConfigError
from pegasus.folders import resource
from pegasus.isaac import launch
from pegasus.version import __version__


@pytest.fixture
def python_of_isaac_sim(tmp_path, monkeypatch):
    """Make this the Python of an Isaac Sim; return what its application was started with."""
    calls = []

    class SimulationApp:
        def __init__(self, launch_config=None, experience=""):
            calls.append((launch_config, experience))
            # As NVIDIA's does: Ctrl-C ends the process with exit code 0.
            signal.signal(signal.SIGINT, lambda *_: sys.exit(0))

        def close(self):
            calls.append("closed")

    apps = tmp_path / "apps"
    apps.mkdir()
    for name in "isaacsim.exp.full", "isaacsim.exp.full.newton", "isaacsim.exp.full.streaming":
        (apps / f"{name}.kit").touch()
    module = types.ModuleType("isaacsim")
    module.SimulationApp = SimulationApp
    monkeypatch.setitem(sys.modules, "isaacsim", module)
    monkeypatch.delitem(sys.modules, "pxr", raising=False)
    monkeypatch.setattr(launch, "own_package", lambda: tmp_path)
    monkeypatch.delenv("EXP_PATH", raising=False)
    monkeypatch.setattr(launch.atexit, "register", lambda _: None)
    calls.append(apps)
    return calls


def test_the_command_line_loses_what_was_understood():
    """An example that reads its own arguments would stumble over the engine."""
    line = ["example.py", "5", "--engine", "mujoco", "--headless", "--folder", "x", "--app", "mine"]
    launch.start_if_asked(line)
    # Options of Isaac Sim count with Isaac Sim only.
    assert line == ["example.py", "5", "--folder", "x", "--app", "mine"]


def test_a_script_chooses_app_renderer_and_gpu(python_of_isaac_sim):
    """A script could not have what the command has."""
    apps = python_of_isaac_sim[0]
    line = ["example.py", "5", "--engine", "isaac", "--headless", "--newton", "--active-gpu", "1", "--/a/b=2"]
    launch.start_if_asked(line)
    assert line == ["example.py", "5"]
    launch.start(headless=False, app="isaacsim.exp.full", resolution=(640, 480), renderer="PathTracing")
    launch.start(livestream=True)
    launch.start()
    frames = f"--{launch.FRAME_RATE_SETTING}={launch.FRAME_RATE}"
    assert python_of_isaac_sim[1:] == [
        (
            {"headless": True, "active_gpu": 1, "extra_args": ["--/a/b=2"]},
            str(apps / "isaacsim.exp.full.newton.kit"),
        ),
        (
            {
                "headless": False,
                "extra_args": [frames],
                "width": 640,
                "height": 480,
                "renderer": "PathTracing",
            },
            str(apps / "isaacsim.exp.full.kit"),
        ),
        (
            {"headless": True, "hide_ui": False, "extra_args": ["--/app/window/drawMouse=true", frames]},
            str(apps / "isaacsim.exp.full.streaming.kit"),
        ),
        ({"headless": True, "extra_args": []}, ""),
    ]


def test_an_app_that_is_not_there(python_of_isaac_sim):
    """Isaac Sim 5.1 has no Newton: Kit would end the process with a message of its own."""
    (python_of_isaac_sim[0] / "isaacsim.exp.full.newton.kit").unlink()
    with pytest.raises(ConfigError, match=r"no such app; known are isaacsim\.exp\.full, "):
        launch.start(newton=True)
    with pytest.raises(TypeError, match="rendrer"):
        launch.start(rendrer="PathTracing")


@pytest.mark.usefixtures("python_of_isaac_sim")
def test_ctrl_c_is_heard_by_the_flight():
    """Isaac Sim would end the process at once and with exit code 0, before log and summary are written."""
    before = signal.getsignal(signal.SIGINT)
    launch.start()
    assert signal.getsignal(signal.SIGINT) is before


def test_another_python_cannot_start_it():
    """A script that is run by the wrong Python would fly on MuJoCo without a word."""
    with pytest.raises(ConfigError, match=r"not the Python of Isaac Sim.*python"):
        launch.start_if_asked(["example.py", "--engine", "isaac"])


@pytest.mark.usefixtures("python_of_isaac_sim")
def test_it_is_started_before_openusd(monkeypatch):
    """Two OpenUSDs in one process crash."""
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
