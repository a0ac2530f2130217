"""Fly a scenario by Isaac Sim's Python: `python.sh -m pegasus.isaac SCENARIO [options of pegasus run]`."""

import sys

from pegasus.errors import ConfigError
from pegasus.isaac.launch import start


def main(arguments: list[str]) -> None:
    """Start Isaac Sim, then run the command `pegasus run`.

    Args:
        arguments: Those of `pegasus run`, and `--headless`.
    """
    headless = "--headless" in arguments
    try:
        start(headless=headless)
    except ConfigError as error:
        print("pegasus:", error, file=sys.stderr)
        sys.exit(2)
    # Only now: it imports OpenUSD, which is that of Isaac Sim.
    from pegasus import cli

    sys.argv = ["pegasus", "run", *(argument for argument in arguments if argument != "--headless")]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
