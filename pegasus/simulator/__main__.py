"""Runs a script of Pegasus Simulator: `python.sh -m pegasus.simulator SCRIPT [ARGUMENT ...]`.

Its scripts import `omni.isaac.core`, which Isaac Sim 6 has as `isaacsim.core.api`. This command gives that
package its old names, where they are missing, and runs the script unchanged.
"""

import runpy
import sys
from pathlib import Path

from pegasus.simulator.old_names import install


def main() -> None:
    """Run the script that the command line names."""
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        raise SystemExit("usage: python.sh -m pegasus.simulator SCRIPT [ARGUMENT ...]")
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    install()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
