"""Tests of Ctrl-C at any instant of the `pegasus` command."""

import re
import signal
import subprocess
import sys

import pytest

from tests.cli_rig import environment
from tests.waits import LIMIT

# Python reports thousands of audit events: imports, opened files, created folders.
# Ctrl-C is sent at one of those after the command's first import.
COMMAND = """
import os, runpy, signal, sys

instant, seen = int(sys.argv[1]), -1

def watch(event, arguments):
    global seen
    if seen < 0 and (event, arguments[:1]) != ("import", ("pegasus.cli.main",)):
        return
    seen += 1
    if seen == instant:
        os.kill(os.getpid(), signal.SIGINT)

sys.argv[:] = ["pegasus", *sys.argv[2:]]
sys.addaudithook(watch)
try:
    runpy.run_module("pegasus", run_name="__main__", alter_sys=True)
finally:
    print("events", seen)
"""
RUN = ["run", "first_flight", "--duration", "0.1", "--out", "runs"]
PARTS = 8


def interrupted(folder, instant, *arguments, **options):
    """Run the command in a folder and send Ctrl-C at an audit event, or never if its number is negative."""
    temporary = folder / "temporary"
    temporary.mkdir()
    return subprocess.run(
        [sys.executable, "-c", COMMAND, str(instant), *arguments],
        cwd=folder,
        env=environment() | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        **options,
    )


def flown_with(folder, backend):
    """Run a scenario with the class `A` of a module as its backend."""
    (folder / "own.py").write_text(backend)
    (folder / "s.yaml").write_text(
        "{name: s, world: flat, vehicles: [{model: iris, backends: [{model: own:A}]}]}"
    )
    return interrupted(folder, -1, "run", "s.yaml")


@pytest.fixture(scope="module")
def background(tmp_path_factory):
    """A run with a Ctrl-C in the background of a script, which ignores it."""
    # The first run may compile, and has more audit events.
    first = interrupted(tmp_path_factory.mktemp("first"), -1, *RUN)
    assert first.returncode == 0, first.stderr
    ignored = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    return interrupted(tmp_path_factory.mktemp("whole"), 100, *RUN, **ignored)


@pytest.fixture(scope="module")
def event_count(background):
    """Number of audit events of a whole run."""
    return int(re.search(r"^events (\d+)$", background.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize("part", range(PARTS))
def test_any_instant(tmp_path, event_count, part):
    """Ctrl-C during start-up would end in a traceback, or leave files behind."""
    ended = interrupted(tmp_path, part * event_count // PARTS, *RUN)
    assert (ended.returncode, ended.stderr.splitlines()[1:]) == (130, []), ended.stderr
    assert ended.stderr in ("", "pegasus: interrupted\n")
    assert list((tmp_path / "temporary").iterdir()) == []
    # A run that has begun leaves its flight so far and nothing else.
    assert all(next(run.glob("summary.json"), None) for run in tmp_path.glob("runs/*"))


def test_swallowed_by_an_import(tmp_path):
    """A library that turns Ctrl-C during its import into another error would hide the interrupt."""
    ended = flown_with(
        tmp_path,
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n"
        "    raise ImportError('a part of the library') from None\n"
        "import time\nfrom dataclasses import dataclass\nfrom pegasus import Backend\n"
        "@dataclass\nclass A(Backend):\n    def __post_init__(self):\n        time.sleep(60.0)\n",
    )
    assert (ended.returncode, ended.stderr) == (130, "")


def test_swallowed_by_a_destructor(tmp_path):
    """A destructor or a callback of a weak reference during Ctrl-C would hide the interrupt."""
    ended = flown_with(
        tmp_path,
        "import signal\nimport time\nfrom dataclasses import dataclass\nfrom pegasus import Backend\n"
        "class Interrupting:\n    def __del__(self):\n        signal.raise_signal(signal.SIGINT)\n"
        "@dataclass\nclass A(Backend):\n    def __post_init__(self):\n"
        "        Interrupting()\n        time.sleep(30.0)\n",
    )
    assert (ended.returncode, ended.stderr) in ((130, ""), (130, "pegasus: interrupted\n"))


def test_background_of_a_script(background):
    """A background run of a shell script would be ended by a Ctrl-C for a foreground process."""
    assert background.returncode == 0, background.stderr


def test_blocked_until_it_is_answered(tmp_path):
    """A Ctrl-C sent while the shell script starts Python would be lost."""

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.raise_signal(signal.SIGINT)

    ended = interrupted(tmp_path, -1, *RUN, preexec_fn=blocked)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
