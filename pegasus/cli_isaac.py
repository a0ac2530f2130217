"""The command `pegasus isaac`: find Isaac Sim, and fly in it."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pegasus.errors import ConfigError
from pegasus.isaac import launch


def isaac(
    context: typer.Context,
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or a YAML file.")] = "first_flight",
    gui: Annotated[bool, typer.Option("--gui", help="Open Isaac Sim's window with the panel.")] = False,
    play: Annotated[bool, typer.Option("--play", help="With --gui: fly at once.")] = False,
    headless: Annotated[bool, typer.Option("--headless", help="Without a window.")] = False,
    isaac_sim: Annotated[Path | None, typer.Option(help="Folder of Isaac Sim.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the command.")] = False,
) -> None:
    """Fly a scenario in Isaac Sim; further options are those of pegasus run."""
    # Where no scenario is given, the first option of `pegasus run` stands in its place.
    options = [scenario, *context.args]
    _require_what_counts(gui=gui, play=play, headless=headless, options=options)
    installation = launch.find(isaac_sim)
    if gui:
        folder = launch.extension_folder()
        command = launch.window_command(installation, folder, scenario=scenario, play=play)
        environment = dict(os.environ)
    else:
        command = launch.script_command(installation, [*options, *["--headless"] * headless])
        environment = os.environ | {"PYTHONPATH": launch.python_path()}
    if dry_run:
        print(shlex.join(command))
        return
    if not gui:
        # In the window Kit installs them by itself.
        launch.require_packages(installation)
    raise typer.Exit(_run(command, environment))


def _require_what_counts(*, gui: bool, play: bool, headless: bool, options: list[str]) -> None:
    """Refuse options that would be passed over."""
    further = [option for option in options if option.startswith("-")]
    if gui and headless:
        raise ConfigError("has no window", field="--headless", remedy="leave it or --gui out")
    if gui and further:
        raise ConfigError(
            "is for a flight without the panel",
            field=further[0],
            remedy="leave it out, or write it into the scenario; or leave out --gui",
        )
    if play and not gui:
        raise ConfigError("is for the panel", field="--play", remedy="give --gui too; else it flies at once")


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a command, and return its exit code; whoever ends this one ends that one, which takes its time."""
    process: subprocess.Popen[bytes] | None = None
    told: int | None = None

    def hand_on(number: int, _: Any) -> None:
        nonlocal told
        told = number
        if process is not None:
            process.send_signal(number)

    # Ctrl-C in a terminal comes to both: what was flown until then is kept by the one that flies.
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, hand_on),
    }
    try:
        process = subprocess.Popen(command, env=environment)
        if told is not None:
            process.send_signal(told)
        code = process.wait()
    except OSError as error:
        print(f"pegasus: {command[0]}: {error.strerror}", file=sys.stderr)
        return 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
