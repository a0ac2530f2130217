"""The command `pegasus isaac`: find Isaac Sim, and fly in it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

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
    installation = launch.find(isaac_sim)
    if gui:
        folder = launch.extension_folder()
        command = launch.window_command(installation, folder, scenario=scenario, play=play)
    else:
        options = ["--headless"] if headless else []
        command = launch.script_command(installation, [scenario, *options, *context.args])
    if dry_run:
        print(" ".join(command))
        return
    if not gui:
        # In the window Kit installs them by itself.
        launch.require_packages(installation)
    environment = os.environ | {"PYTHONPATH": launch.python_path()}
    try:
        ended = subprocess.run(command, env=environment, check=False)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except OSError as error:
        print(f"pegasus: {command[0]}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(2) from None
    raise typer.Exit(ended.returncode)
