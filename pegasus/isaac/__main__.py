"""Fly a scenario by Isaac Sim's Python: `python.sh -m pegasus.isaac SCENARIO [options of pegasus run]`."""

import os
import sys
import traceback
from typing import NoReturn

from pegasus.errors import ConfigError
from pegasus.isaac.kit_options import take_options
from pegasus.isaac.launch import start
from pegasus.isaac.process import hand_over

_EXIT_INPUT, _EXIT_INTERRUPTED = 2, 130


def main(arguments: list[str]) -> None:
    """Start Isaac Sim, then run the command `pegasus run`.

    Args:
        arguments: Those of `pegasus run`, `--headless`, and the options of Isaac Sim's application.
    """
    # What stands there when it starts, Isaac Sim hands on to Kit, which takes options of its own.
    sys.argv = sys.argv[:1]
    try:
        options, flight = take_options(arguments)
        start(headless="--headless" in flight, **options.keywords())
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        _leave(_EXIT_INPUT)
    # Only now: it imports OpenUSD, which is that of Isaac Sim.
    from pegasus import cli

    sys.argv = ["pegasus", "run", *(argument for argument in flight if argument != "--headless")]
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = _EXIT_INTERRUPTED
    except Exception:
        traceback.print_exc()
        code = 1
    hand_over(code)
    if code:
        _leave(code)


def _leave(code: int) -> NoReturn:
    """End with an exit code, which Isaac Sim replaces by 0 where it is closed first."""
    hand_over(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
