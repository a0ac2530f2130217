"""Part of the self-test in Isaac Sim's Python: `python.sh -m pegasus.isaac.selftest_in_kit [OPTIONS]`."""

import asyncio
import os
import sys
import time
import traceback
import unittest
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.isaac.launch import start, take_options
from pegasus.isaac.packages import EXTENSION_NAME, extension_folder
from pegasus.isaac.selftest import EVENTS_VARIABLE, START, events_of, note

_LIMIT = 240.0
"""Longest time of a check that still lets frames go on [s]."""


def main(line: Sequence[str]) -> None:
    """Start Isaac Sim with the extension, and run the tests for Kit that the file does not have yet.

    Args:
        line: Options of Isaac Sim's application, and `--headless`.
    """
    began = time.monotonic()
    # Isaac Sim passes sys.argv to Kit, which has its own options.
    sys.argv = sys.argv[:1]
    options, rest = take_options(line)
    file = Path(os.environ[EVENTS_VARIABLE])
    own = ("--ext-folder", str(extension_folder()), "--enable", "omni.kit.test", "--enable", EXTENSION_NAME)
    options = replace(options, arguments=(*own, *options.arguments))
    start(headless="--headless" in rest, **options.keywords())
    run(file, began)


def run(file: Path, began: float) -> None:
    """Run the tests for Kit that have not begun, and note them."""
    import omni.kit.app

    app = omni.kit.app.get_app()
    while not app.is_app_ready():
        app.update()
    known = {event["check"] for event in events_of(file) if "check" in event}
    note(
        file, about={"isaac_sim": app.get_app_version(), "kit": app.get_kit_version(), "python": sys.version}
    )
    if START not in known:
        note(file, check=START, result="pass", seconds=round(time.monotonic() - began, 1))
    cases = dict(_cases())
    note(file, plan=list(cases))
    for name, case in cases.items():
        if name not in known:
            note(file, check=name)
            note(file, check=name, **_outcome(app, name, case))
    note(file, closing=True)


def _cases() -> Iterator[tuple[str, Any]]:
    """Return the tests for Kit by name, in the order of the file."""
    from pegasus.isaac import tests

    for kind in (getattr(tests, name) for name in tests.__all__):
        for name in vars(kind):
            if name.startswith("test_"):
                yield name.removeprefix("test_"), kind(name)


def _outcome(app: Any, name: str, case: Any) -> dict[str, Any]:
    """Run a test while frames go on; return its result, duration [s], figures and message."""
    began = time.monotonic()
    task = asyncio.ensure_future(_test(case, f"test_{name}"))
    while not task.done():
        # Once, so that it can clean up.
        if time.monotonic() - began > _LIMIT and not task.cancelling():
            task.cancel(f"did not end within {_LIMIT:g} s")
        app.update()
    told = {"seconds": round(time.monotonic() - began, 1), "figures": getattr(case, "figures", {})}
    try:
        task.result()
    except unittest.SkipTest as reason:
        return {"result": "skip", **told, "message": str(reason)}
    except (Exception, asyncio.CancelledError) as error:
        text = traceback.format_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = (
            f"{type(error).__name__}: {str(error) or place.line} ({Path(place.filename).name}:{place.lineno})"
        )
        return {"result": "fail", **told, "message": message, "traceback": text}
    return {"result": "pass", **told}


async def _test(case: Any, method: str) -> None:
    await case.setUp()
    try:
        await getattr(case, method)()
    finally:
        await case.tearDown()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ConfigError as error:
        sys.exit(f"pegasus: {error}")
