"""Tests of progress messages and Ctrl-C while the script of a clone installs."""

import os
import pty
import re
import signal
import subprocess

import pytest

from tests.test_packaging import clone
from tests.waits import LIMIT, wait_until

__all__ = ["clone"]


def started(clone, folder, **options):
    """Start the script in a clone that has no environment yet."""
    temporary = folder / "temporary"
    temporary.mkdir()
    (folder / "calls").touch()
    environment = {
        "PATH": "/usr/bin:/bin",
        "CALLS": str(folder / "calls"),
        "FITS": "True",
        "PYTHON": str(folder / "a python"),
        "TMPDIR": str(temporary),
    } | options.pop("environment", {})
    return subprocess.Popen(
        [clone.root / "pegasus.sh", "list", "worlds"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **{"stderr": subprocess.PIPE, "text": True} | options,
    )


def members(session):
    """Return the running processes of a session, without zombies, which process 1 reaps."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(session)], capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if not line.split()[1].startswith("Z")]


@pytest.mark.parametrize("call", range(1, 4))
def test_ctrl_c_at_each_call(clone, tmp_path, call):
    """Ctrl-C during an installation would cause a traceback, or leave pip or temporary files behind."""
    process = started(clone, tmp_path, environment={"INTERRUPT_AT": str(call)})
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, "")
    said = err.splitlines()
    assert said[-1] == "pegasus.sh: interrupted"
    assert all(line.endswith(" ...") for line in said[:-1])
    wait_until(lambda: not members(process.pid))
    assert list((tmp_path / "temporary").iterdir()) == []
    assert len((tmp_path / "calls").read_text().splitlines()) == call


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_to_the_script_alone(clone, tmp_path, number, code):
    """A signal to the script's process alone would take effect only after pip ends, or leave pip running."""
    held = tmp_path / "held"
    held.touch()
    process = started(clone, tmp_path, environment={"PIP_WAITS_FOR": str(held)})
    wait_until(lambda: "pip install" in (tmp_path / "calls").read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == code
    assert err.splitlines()[-1] == "pegasus.sh: interrupted"
    wait_until(lambda: not members(process.pid))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_progress_in_a_terminal(clone, tmp_path):
    """The installation at the first start would show no progress in a terminal."""
    held = tmp_path / "held"
    held.touch()
    terminal, far = pty.openpty()
    shown = b""
    try:
        process = started(clone, tmp_path, environment={"PIP_WAITS_FOR": str(held)}, stderr=far)
        os.close(far)
        while b"Collecting numpy" not in shown:
            shown += os.read(terminal, 1000)
        held.unlink()
        assert process.wait(timeout=LIMIT) == 0
    finally:
        os.close(terminal)
    lines = shown.decode().split("\r\x1b[K")
    assert any(re.match(r"pegasus.sh: making .venv, \d+ s: ", line) for line in lines)
    assert lines[-1].startswith("pegasus.sh: installing into .venv, ")
    assert "\n" not in shown.decode()
