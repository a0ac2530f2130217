"""Command `pegasus isaac`: find Isaac Sim and fly in it; imports the standard library only."""

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pegasus_multirotor
from pegasus.base.errors import ConfigError
from pegasus.isaac import process, selftest
from pegasus.isaac.installation import find
from pegasus.isaac.launch import (
    OUT_SETTING,
    PLAY_SETTING,
    SCENARIO_SETTING,
    KitOptions,
    Parser,
    add_options,
    is_setting,
    options_of,
    split,
)
from pegasus.isaac.packages import EXTENSION_NAME, extension_folder, prepare, python_path, require_packages

_EXIT_INPUT = 2
_SCENARIO = "first_flight"
_REPORT = "isaac_selftest.json"
_ABOUT = "Fly a scenario in Isaac Sim; further options are those of pegasus run."


def main(line: Sequence[str]) -> int:
    """Run the command line after `pegasus isaac`, and return its exit code; print an error in one line."""
    logging.basicConfig(format="pegasus: %(levelname)s: %(message)s")
    try:
        return run(line)
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        return _EXIT_INPUT


def run(line: Sequence[str]) -> int:
    """Run the command line after `pegasus isaac`, and return its exit code.

    Raises:
        ConfigError: If Isaac Sim is not found, or the command line is wrong.
    """
    own, further = split(line)
    known, rest = _parser().parse_known_args(own)
    settings = [word for word in rest if is_setting(word)]
    flight = [word for word in rest if not is_setting(word)]
    options = options_of(known, [*settings, *further])
    _validate(known, flight)
    installation = find(known.isaac_python)
    # Report a wrong name before Isaac Sim is started.
    if options.chosen_app is not None:
        installation.app_file(options.chosen_app)
    environment = dict(os.environ)
    if not known.gui:
        environment["PYTHONPATH"] = python_path()
    if known.prepare:
        print(prepare(installation, environment=environment))
        return 0
    if known.selftest:
        command = [*installation.python, "-m", "pegasus.isaac.selftest_in_kit"]
        command += [*(["--headless"] if known.headless else []), *options.command_line()]
    elif known.gui:
        window = installation.window(options.chosen_app)
        command = window_command(window, options, flight[0] if flight else _SCENARIO, play=known.play)
    else:
        headless = ["--headless"] if known.headless else []
        command = [
            *installation.python,
            "-m",
            "pegasus.cli.isaac_flight",
            *flight,
            *headless,
            *options.command_line(),
        ]
    if known.dry_run:
        print(shlex.join(command))
        return 0
    if (warning := pegasus_multirotor.other_package()) is not None:
        print("pegasus:", warning, file=sys.stderr)
    if not known.gui:
        # For the window, Kit installs them.
        require_packages(installation)
    if known.selftest:
        return selftest.run(command, environment, Path(known.report))
    return process.run(command, environment)


def window_command(window: Sequence[str], options: KitOptions, scenario: str, *, play: bool) -> list[str]:
    """Return the command that opens Isaac Sim's window with the extension.

    Args:
        window: Command that opens the app.
        options: Options of the application.
        scenario: Name of a scenario, or path of its file.
        play: Start the flight at once.

    Raises:
        ConfigError: If the folder of the extension cannot be created.
    """
    # Absolute paths, since Isaac Sim changes the working folder.
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
    parser.add_argument("--play", action="store_true", help="With --gui: start the flight at once.")
    parser.add_argument("--headless", action="store_true", help="Run without a window.")
    parser.add_argument(
        "--isaac-python",
        "--isaac-sim",
        metavar="PATH",
        help="Folder of Isaac Sim, or a Python, environment or package with it.",
    )
    parser.add_argument("--prepare", action="store_true", help="Install what Isaac Sim's Python lacks.")
    parser.add_argument("--selftest", action="store_true", help="Test Pegasus in Isaac Sim in five minutes.")
    parser.add_argument(
        "--report", metavar="FILE", default=_REPORT, help=f"File of the report of --selftest: {_REPORT}."
    )
    parser.add_argument("--dry-run", action="store_true", help="Only print the command.")
    add_options(parser)
    return parser


def _validate(known: argparse.Namespace, flight: Sequence[str]) -> None:
    """Reject options that would have no effect."""
    if known.gui and known.headless:
        raise ConfigError("means no window", field="--headless", remedy="omit it or --gui")
    if known.selftest and (known.gui or flight):
        raise ConfigError(
            "is for flights", field="--gui" if known.gui else flight[0], remedy="omit it or --selftest"
        )
    if known.report != _REPORT and not known.selftest:
        raise ConfigError("is for the self-test", field="--report", remedy="add --selftest, or omit it")
    further = flight[1:] if flight and not flight[0].startswith("-") else flight
    if known.gui and further:
        raise ConfigError(
            "is for flights without the panel",
            field=further[0],
            remedy="omit it, or set it in the scenario; arguments of Kit follow --",
        )
    if known.play and not known.gui:
        raise ConfigError(
            "is for the panel",
            field="--play",
            remedy="add --gui, or omit it: without the panel the flight starts at once",
        )
