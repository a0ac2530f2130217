"""Fly a scenario by Isaac Sim's Python: `python.sh -m pegasus.isaac SCENARIO [options of pegasus run]`."""

import os
import sys
import traceback

from pegasus.errors import ConfigError
from pegasus.isaac.launch import start


def main(arguments: list[str]) -> None:
    """Start Isaac Sim, then run the command `pegasus run`.

    Args:
        arguments: Those of `pegasus run`, and `--headless`.
    """
    # What stands there when it starts, Isaac Sim hands on to Kit, which takes options of its own.
    sys.argv = sys.argv[:1]
    try:
        start(headless="--headless" in arguments)
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        sys.exit(2)
    # Only now: it imports OpenUSD, which is that of Isaac Sim.
    from pegasus import cli

    sys.argv = ["pegasus", "run", *(argument for argument in arguments if argument != "--headless")]
    try:
        cli.main()
    except SystemExit as end:
        if isinstance(end.code, int) and end.code != 0:
            _leave(end.code)
        raise
    except Exception:
        traceback.print_exc()
        _leave(1)


def _leave(code: int) -> None:
    """End with an exit code, which Isaac Sim replaces by 0 where it is closed first."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
