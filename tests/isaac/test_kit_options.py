"""Options of Isaac Sim's application: for a script, for the window, and through the command."""

import pytest

from pegasus.errors import ConfigError
from pegasus.isaac.kit_options import NEWTON_APP, STREAMING_APP, KitOptions, take_options

ALL = KitOptions(
    newton=True,
    renderer="PathTracing",
    resolution=(1920, 1080),
    active_gpu=0,
    physics_gpu=1,
    multi_gpu=False,
    arguments=("--/app/window/title=Two words", "--enable", "isaacsim.ros2.bridge"),
)


@pytest.mark.parametrize(
    "options",
    [ALL, KitOptions(), KitOptions(livestream=True, multi_gpu=True), KitOptions(app="/a folder/my.kit")],
)
def test_options_survive_the_command_line(options):
    """An option of the command would be lost on its way to Isaac Sim's Python."""
    flight = ["first_flight", "--duration", "3"]
    line = [*flight, "--headless", *options.command_line()]
    assert take_options(line) == (options, [*flight, "--headless"])


def test_a_script_gets_them_as_simulation_app_names_them():
    """SimulationApp passes over a key that it does not know, without a word."""
    assert ALL.launch_config(headless=True) == {
        "headless": True,
        "renderer": "PathTracing",
        "width": 1920,
        "height": 1080,
        "active_gpu": 0,
        "physics_gpu": 1,
        "multi_gpu": False,
        "extra_args": list(ALL.arguments),
    }
    # Nothing that the user did not say: SimulationApp has defaults of its own for each version.
    assert KitOptions().launch_config(headless=False) == {"headless": False, "extra_args": []}
    assert ALL.chosen_app == NEWTON_APP


def test_the_window_gets_them_as_simulation_app_passes_them():
    """The window would render on another GPU, or by another renderer, than a script with the same options."""
    assert ALL.kit_arguments() == [
        "--/rtx-defaults/rendermode=PathTracing",
        "--/rtx/rendermode=PathTracing",
        "--/app/renderer/resolution/width=1920",
        "--/app/renderer/resolution/height=1080",
        "--/renderer/activeGpu=0",
        "--/physics/cudaDevice=1",
        "--/renderer/multiGpu/enabled=false",
        *ALL.arguments,
    ]
    assert KitOptions().kit_arguments() == []


def test_a_stream_shows_the_window_that_is_not_there():
    """What is streamed would be an application without its user interface, or a window would open too."""
    options = KitOptions(livestream=True)
    assert options.chosen_app == STREAMING_APP
    config = options.launch_config(headless=False)
    assert (config["headless"], config["hide_ui"]) == (True, False)
    assert options.kit_arguments() == ["--no-window"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--newton", "--app", "isaacsim.exp.full"], "newton: chooses an app, and so does app"),
        (["--newton", "--livestream"], "livestream: chooses an app, and so does newton"),
        (["--renderer", "Pathtracing"], "--renderer: invalid choice: 'Pathtracing'"),
        (["--resolution", "1920"], "'1920' is no resolution such as 1920x1080"),
        (["--resolution", "0x10"], "resolution = .*two numbers of pixels"),
        (["--active-gpu", "first"], "--active-gpu: invalid int value"),
        (["--app"], "--app: expected one argument"),
    ],
)
def test_what_is_wrong_is_said(line, said):
    """Isaac Sim would take half a minute to start, and then do something else."""
    with pytest.raises(ConfigError, match=said):
        take_options(line)
    with pytest.raises(ConfigError, match="renderer = 'Fast': must be one of"):
        KitOptions(renderer="Fast")
