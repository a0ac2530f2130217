"""Flight in Isaac Sim's Python: `python.sh -m pegasus.cli.isaac_flight SCENARIO [options of pegasus run]`."""

import os
import sys
import traceback
from typing import NoReturn

from pegasus.base.errors import ConfigError
from pegasus.isaac.launch import start, take_options
from pegasus.isaac.process import hand_over

_EXIT_INPUT, _EXIT_INTERRUPTED = 2, 130


def main(arguments: list[str]) -> None:
    """Start Isaac Sim, then run the command `pegasus run`.

    Args:
        arguments: Arguments of `pegasus run`, `--headless`, and options of Isaac Sim's application.
    """
    # Isaac Sim passes sys.argv to Kit, which has its own options.
    sys.argv = sys.argv[:1]
    try:
        options, flight = take_options(arguments)
        start(headless="--headless" in flight, **options.keywords())
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        _leave(_EXIT_INPUT)
    # Imported after the start, since it imports OpenUSD, which must be that of Isaac Sim.
    from pegasus.cli import main as cli

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
    """Exit with a code at once: Isaac Sim's own shutdown would replace it by 0."""
    hand_over(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
