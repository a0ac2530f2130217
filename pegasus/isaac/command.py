"""The command `pegasus isaac`: find Isaac Sim, and fly in it; needs the standard library alone."""

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pegasus_multirotor
from pegasus.errors import ConfigError
from pegasus.isaac import process
from pegasus.isaac.extension_folder import EXTENSION_NAME, extension_folder, python_path
from pegasus.isaac.installation import find
from pegasus.isaac.kit_options import KitOptions, Parser, add_options, is_setting, options_of, split
from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from pegasus.isaac.packages import prepare, require_packages

_EXIT_INPUT = 2
_SCENARIO = "first_flight"
_ABOUT = "Fly a scenario in Isaac Sim; further options are those of pegasus run."


def main(line: Sequence[str]) -> int:
    """Run the command, and return its exit code; wrong input is one line on stderr.

    Args:
        line: The command line after `pegasus isaac`.
    """
    logging.basicConfig(format="pegasus: %(levelname)s: %(message)s")
    try:
        return run(line)
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        return _EXIT_INPUT


def run(line: Sequence[str]) -> int:
    """Run the command, and return its exit code.

    Args:
        line: The command line after `pegasus isaac`.

    Raises:
        ConfigError: If Isaac Sim is not found, or the command line is wrong.
    """
    own, further = split(line)
    known, rest = _parser().parse_known_args(own)
    settings = [word for word in rest if is_setting(word)]
    flight = [word for word in rest if not is_setting(word)]
    options = options_of(known, [*settings, *further])
    _require_what_counts(known, flight)
    installation = find(known.isaac_python)
    # A name that is wrong is told before Isaac Sim is started.
    if options.chosen_app is not None:
        installation.app_file(options.chosen_app)
    environment = dict(os.environ)
    if not known.gui:
        environment["PYTHONPATH"] = python_path()
    if known.prepare:
        print(prepare(installation, environment=environment))
        return 0
    if known.gui:
        window = installation.window(options.chosen_app)
        command = window_command(window, options, flight[0] if flight else _SCENARIO, play=known.play)
    else:
        headless = ["--headless"] if known.headless else []
        command = [*installation.python, "-m", "pegasus.isaac", *flight, *headless, *options.command_line()]
    if known.dry_run:
        print(shlex.join(command))
        return 0
    if (warning := pegasus_multirotor.other_package()) is not None:
        print("pegasus:", warning, file=sys.stderr)
    if not known.gui:
        # In the window Kit installs them by itself.
        require_packages(installation)
    return process.run(command, environment)


def window_command(window: Sequence[str], options: KitOptions, scenario: str, *, play: bool) -> list[str]:
    """Return the command that opens Isaac Sim's window with the extension.

    Args:
        window: Command that opens the app.
        options: Options of the application.
        scenario: Name of a scenario to load, or its file.
        play: Whether it flies at once.

    Raises:
        ConfigError: If the folder for the extension cannot be made.
    """
    # Isaac Sim's working folder is its own.
    path = Path(scenario).expanduser()
    return [
        *window,
        *("--ext-folder", str(extension_folder()), "--enable", EXTENSION_NAME),
        f"--{OUT_SETTING}={Path('runs').resolve()}",
        f"--{SCENARIO_SETTING}={path.resolve() if path.suffix else scenario}",
        *([f"--{PLAY_SETTING}=true"] if play else []),
        *options.kit_arguments(),
    ]


def _parser() -> Parser:
    usage = "pegasus isaac [SCENARIO] [OPTIONS] [OPTIONS OF pegasus run] [-- ARGUMENTS OF KIT]"
    parser = Parser(prog="pegasus isaac", usage=usage, description=_ABOUT, allow_abbrev=False)
    parser.add_argument("--gui", action="store_true", help="Open Isaac Sim's window with the panel.")
    parser.add_argument("--play", action="store_true", help="With --gui: fly at once.")
    parser.add_argument("--headless", action="store_true", help="Without a window.")
    parser.add_argument(
        "--isaac-python",
        "--isaac-sim",
        metavar="PATH",
        help="Folder of Isaac Sim, or a Python, environment or package that has it.",
    )
    parser.add_argument("--prepare", action="store_true", help="Install what Isaac Sim's Python lacks.")
    parser.add_argument("--dry-run", action="store_true", help="Only print the command.")
    add_options(parser)
    return parser


def _require_what_counts(known: argparse.Namespace, flight: Sequence[str]) -> None:
    """Refuse options that would be passed over."""
    if known.gui and known.headless:
        raise ConfigError("has no window", field="--headless", remedy="leave it or --gui out")
    further = flight[1:] if flight and not flight[0].startswith("-") else flight
    if known.gui and further:
        raise ConfigError(
            "is for a flight without the panel",
            field=further[0],
            remedy="leave it out, or write it into the scenario; arguments of Kit follow after --",
        )
    if known.play and not known.gui:
        raise ConfigError("is for the panel", field="--play", remedy="give --gui too; else it flies at once")
