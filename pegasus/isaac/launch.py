"""Start Isaac Sim within a script that its Python runs."""

import argparse
import atexit
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pegasus.errors import ConfigError
from pegasus.isaac.installation import find_app, own_package
from pegasus.isaac.kit_options import KitOptions, take_options

FRAME_RATE = 30.0
"""Frames drawn per simulated second where a script has a window [Hz]."""

FRAME_RATE_SETTING, SCENARIO_SETTING, PLAY_SETTING, OUT_SETTING = (
    f"/pegasus/{name}" for name in ("frameRate", "scenario", "play", "out")
)
"""Settings of Kit by which a start says what it wants."""


def inside_isaac_sim() -> bool:
    """Return whether this process runs in Isaac Sim."""
    return "omni.usd" in sys.modules


def start(*, headless: bool = True, **options: Any) -> Any:
    """Start Isaac Sim in this process, which its Python runs, and return its application.

    To be called before anything of OpenUSD is imported; `import pegasus` imports nothing of it.

    Args:
        headless: Whether it has no window.
        options: Fields of `KitOptions`: app, newton, livestream, renderer, resolution, active_gpu,
            physics_gpu, multi_gpu, and arguments, which go to Kit as they are.

    Raises:
        ConfigError: If this is not Isaac Sim's Python, it is too late, or an option is wrong.
    """
    kit = KitOptions(**options)
    if inside_isaac_sim():
        return None
    package = own_package()
    if package is None:
        raise ConfigError(
            "this is not the Python of Isaac Sim",
            field="engine",
            value="isaac",
            remedy="run the script by Isaac Sim's Python (python.sh), or a scenario by pegasus isaac",
        )
    if "pxr" in sys.modules:
        raise ConfigError(
            "OpenUSD was imported before Isaac Sim was started",
            field="engine",
            value="isaac",
            remedy="start it before worlds and vehicles are made",
        )
    from isaacsim import SimulationApp

    # The import has set this variable where python.sh has not.
    apps = Path(os.environ.get("EXP_PATH") or package / "apps")
    app = "" if kit.chosen_app is None else str(find_app(kit.chosen_app, apps))
    config = kit.launch_config(headless=headless)
    if kit.livestream or not headless:
        config["extra_args"].append(f"--{FRAME_RATE_SETTING}={FRAME_RATE}")
    interrupt = signal.getsignal(signal.SIGINT)
    application = SimulationApp(config, experience=app)
    # Isaac Sim would end the process with exit code 0 in the middle of a step.
    signal.signal(signal.SIGINT, interrupt)
    atexit.register(application.close)
    return application


def start_if_asked(arguments: list[str] | None = None) -> None:
    """Start Isaac Sim if the command line of a script asks for it, and take that out of the command line.

    It knows `--engine isaac` and, for Isaac Sim without a window, `--headless`; with them the options of
    Isaac Sim's application, such as `--newton` and `--app`, as `pegasus isaac --help` lists them. `--engine
    mujoco` and `auto` start nothing.

    Args:
        arguments: The command line, which is changed; that of this process when None.

    Raises:
        ConfigError: If Isaac Sim is asked for and this is not its Python, or an option is wrong.
    """
    line = sys.argv if arguments is None else arguments
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--engine", choices=("auto", "mujoco", "isaac"), default="auto")
    parser.add_argument("--headless", action="store_true")
    known, line[1:] = parser.parse_known_args(line[1:])
    if known.engine == "isaac":
        options, line[1:] = take_options(line[1:])
        start(headless=known.headless, **options.keywords())
