"""The folder that a run leaves its files in."""

import re
from datetime import datetime
from pathlib import Path

from pegasus.errors import ConfigError


def make_run_folder(out: Path | None, scenario: str) -> Path:
    """Make a new folder `<out>/<scenario>-<stamp>` and return it; an earlier run's is never used again.

    The stamp is the local time to the second, the one place where a run looks at the clock on the wall.

    Args:
        out: Folder that holds the runs; `runs` in the current one when None. It is made if it is missing.
        scenario: Name of the scenario.

    Raises:
        ConfigError: If the folder cannot be made.
    """
    parent = Path("runs") if out is None else out
    # A name is free text: what is awkward in a path is replaced, and what is too long for one cut.
    name = re.sub(r"[^\w.-]+", "-", scenario).strip("-.")[:80] or "run"
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder, number = parent / f"{name}-{stamp}", 1
    try:
        while True:
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                if not parent.is_dir():
                    raise
                number += 1
                folder = parent / f"{name}-{stamp}-{number}"
    except OSError as error:
        raise ConfigError(
            f"cannot hold a run: {error.strerror}",
            field="out",
            value=str(parent),
            remedy="give a folder that can be written",
        ) from None
