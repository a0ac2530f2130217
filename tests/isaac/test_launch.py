"""Tests of starting Isaac Sim from a script, the options of its application, and the manifest."""

import signal
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from pegasus import ConfigError, start_host
from pegasus.base.system import resource
from pegasus.core.host import HOSTS
from pegasus.isaac import launch
from pegasus.isaac.launch import NEWTON_APP, STREAMING_APP, KitOptions, take_options
from pegasus.version import __version__


@pytest.fixture
def python_of_isaac_sim(tmp_path, monkeypatch):
    """Act as Isaac Sim's Python; return the options that its application was started with."""
    calls = []

    class SimulationApp:
        DEFAULT_LAUNCHER_CONFIG = {"active_gpu": None, "active_cuda_gpus": None}

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
    # The fakes of other tests unload modules, so the host may have imported this one again.
    for names in vars(launch), HOSTS["isaac"].start.__globals__["start"].__globals__:
        monkeypatch.setitem(names, "own_package", lambda: tmp_path)
    monkeypatch.delenv("EXP_PATH", raising=False)
    monkeypatch.setattr(launch.atexit, "register", lambda _: None)
    calls.append(apps)
    return calls


def test_the_command_line_loses_what_was_understood():
    """Pegasus options would remain on the command line of an example with its own arguments."""
    line = ["example.py", "5", "--engine", "mujoco", "--headless", "--folder", "x", "--app", "mine"]
    start_host(line)
    # Options of Isaac Sim count with Isaac Sim only.
    assert line == ["example.py", "5", "--folder", "x", "--app", "mine"]


def test_a_script_chooses_app_renderer_and_gpu(python_of_isaac_sim):
    """A script could not set the options of the command."""
    apps = python_of_isaac_sim[0]
    line = ["example.py", "5", "--engine", "isaac", "--headless", "--newton", "--active-gpu", "1", "--/a/b=2"]
    start_host(line)
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
    """A missing app, such as Newton's in 5.1, would end the process with a message of Kit."""
    (python_of_isaac_sim[0] / "isaacsim.exp.full.newton.kit").unlink()
    with pytest.raises(ConfigError, match=r"no such app; there are isaacsim\.exp\.full, "):
        launch.start(newton=True)
    with pytest.raises(TypeError, match="rendrer"):
        launch.start(rendrer="PathTracing")


def test_gpus_as_cuda_counts_them(python_of_isaac_sim, monkeypatch):
    """SimulationApp before 6.1 would ignore the option, and render on another GPU."""
    start_host(["example.py", "--engine", "isaac", "--headless", "--active-cuda-gpus", "2,0"])
    (config, _) = python_of_isaac_sim[1]
    assert config == {"headless": True, "active_cuda_gpus": [2, 0], "extra_args": []}
    simulation_app = sys.modules["isaacsim"].SimulationApp
    monkeypatch.delitem(simulation_app.DEFAULT_LAUNCHER_CONFIG, "active_cuda_gpus")
    with pytest.raises(ConfigError, match=r"active_cuda_gpus = \(0,\): this Isaac Sim, before 6\.1"):
        launch.start(active_cuda_gpus=(0,))
    launch.start(active_gpu=0)


@pytest.mark.usefixtures("python_of_isaac_sim")
def test_ctrl_c_is_heard_by_the_flight():
    """Ctrl-C would end the process with exit code 0 before log and summary are written."""
    before = signal.getsignal(signal.SIGINT)
    launch.start()
    assert signal.getsignal(signal.SIGINT) is before


def test_another_python_cannot_start_it():
    """A script run by the wrong Python would fly on MuJoCo without a message."""
    with pytest.raises(ConfigError, match=r"not that of Isaac Sim.*python"):
        start_host(["example.py", "--engine", "isaac"])


@pytest.mark.usefixtures("python_of_isaac_sim")
def test_it_is_started_before_openusd(monkeypatch):
    """Two OpenUSD libraries in one process would crash it."""
    monkeypatch.setitem(sys.modules, "pxr", sys)
    with pytest.raises(ConfigError, match="OpenUSD was imported before"):
        launch.start()


def test_openusd_is_imported_by_its_users_only():
    """A script could not start Isaac Sim after its imports."""
    modules = "pegasus.cameras, pegasus.control, pegasus.recording, pegasus.cli.main, pegasus.isaac.launch"
    code = f"import sys, {modules}; print('pxr' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_the_manifest_is_that_of_this_version():
    """The extension manager would show a wrong version or missing images."""
    with resource("config", "extension.toml").open("rb") as file:
        manifest = tomllib.load(file)
    package = manifest["package"]
    assert package["version"] == __version__
    root = Path(launch.__file__).parents[2]
    for name in "changelog", "readme", "preview_image", "icon":
        assert (root / package[name]).is_file()
    dependencies = list(manifest["dependencies"])
    assert dependencies == sorted(dependencies)


ALL = KitOptions(
    newton=True,
    renderer="PathTracing",
    resolution=(1920, 1080),
    active_gpu=0,
    physics_gpu=1,
    multi_gpu=False,
    limit_cpu_threads=8,
    arguments=("--/app/window/title=Two words", "--enable", "isaacsim.ros2.bridge"),
)


@pytest.mark.parametrize(
    "options",
    [
        ALL,
        KitOptions(),
        KitOptions(livestream=True, multi_gpu=True),
        KitOptions(app="/a folder/my.kit", active_cuda_gpus=(2, 0)),
    ],
)
def test_options_survive_the_command_line(options):
    """An option of the command would be lost on its way to Isaac Sim's Python."""
    flight = ["first_flight", "--duration", "3"]
    line = [*flight, "--headless", *options.command_line()]
    assert take_options(line) == (options, [*flight, "--headless"])


def test_a_script_gets_them_as_simulation_app_names_them():
    """SimulationApp would ignore a wrong key without an error."""
    assert ALL.launch_config(headless=True) == {
        "headless": True,
        "renderer": "PathTracing",
        "width": 1920,
        "height": 1080,
        "active_gpu": 0,
        "physics_gpu": 1,
        "multi_gpu": False,
        "limit_cpu_threads": 8,
        "extra_args": list(ALL.arguments),
    }
    # Only the user's options: SimulationApp's defaults depend on its version.
    assert KitOptions().launch_config(headless=False) == {"headless": False, "extra_args": []}
    assert ALL.chosen_app == NEWTON_APP


def test_the_window_gets_them_as_simulation_app_passes_them():
    """The window would use another GPU or renderer than a script with equal options."""
    assert ALL.kit_arguments() == [
        "--/rtx-defaults/rendermode=PathTracing",
        "--/rtx/rendermode=PathTracing",
        "--/app/renderer/resolution/width=1920",
        "--/app/renderer/resolution/height=1080",
        "--/renderer/activeGpu=0",
        "--/physics/cudaDevice=1",
        "--/renderer/multiGpu/enabled=false",
        "--/plugins/carb.tasking.plugin/threadCount=8",
        "--/plugins/omni.tbb.globalcontrol/maxThreadCount=8",
        *ALL.arguments,
    ]
    cuda = KitOptions(active_cuda_gpus=(1,))
    assert cuda.kit_arguments() == ["--/renderer/multiGpu/activeCudaGpus=1,"]
    assert KitOptions().kit_arguments() == []


def test_a_stream_shows_the_window_that_is_not_there():
    """The stream would lack the user interface, or a window open as well."""
    options = KitOptions(livestream=True)
    assert options.chosen_app == STREAMING_APP
    config = options.launch_config(headless=False)
    assert (config["headless"], config["hide_ui"]) == (True, False)
    assert options.kit_arguments() == ["--no-window"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--newton", "--app", "isaacsim.exp.full"], "newton: chooses an app, as app does"),
        (["--newton", "--livestream"], "livestream: chooses an app, as newton does"),
        (["--renderer", "Pathtracing"], "--renderer: invalid choice: 'Pathtracing'"),
        (["--resolution", "1920"], "'1920' is not a resolution such as 1920x1080"),
        (["--resolution", "0x10"], "resolution = .*two numbers of pixels"),
        (["--active-gpu", "first"], "--active-gpu: invalid int value"),
        (["--active-cuda-gpus", "0,-1"], "'0,-1' is not a list of numbers such as 0,1"),
        (["--active-cuda-gpus", "0", "--active-gpu", "0"], "active_cuda_gpus: chooses the rendering GPUs"),
        (["--limit-cpu-threads", "0"], "limit_cpu_threads = 0: must be at least 1"),
        (["--app"], "--app: expected one argument"),
    ],
)
def test_what_is_wrong_is_said(line, said):
    """A wrong option would only show after Isaac Sim's long start."""
    with pytest.raises(ConfigError, match=said):
        take_options(line)
    with pytest.raises(ConfigError, match="renderer = 'Fast': must be one of"):
        KitOptions(renderer="Fast")
