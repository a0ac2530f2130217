"""Tests of Isaac Sim as another process: signals, exit codes, the terminal, and cleaning up."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pegasus.base.errors import ConfigError
from pegasus.isaac import process
from tests.isaac.installations import executable, unpacked
from tests.waits import LIMIT, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups")

LAUNCHER = """
import os, signal, sys
from pegasus.isaac import process
sys.exit(process.run(sys.argv[2:], os.environ, patience=float(sys.argv[1])))
"""
# Flies until told to end, ends after a delay, and passes on its exit code like pegasus.cli.isaac_flight.
FLIGHT = """
import os, pathlib, signal, sys, time
from pegasus.isaac.process import hand_over
here = pathlib.Path({folder!r})
def end(number, _):
    time.sleep(0.3)
    (here / "kept").write_text(str(number))
    hand_over(128 + number)
    os._exit(128 + number)
if {deaf}:
    end = signal.SIG_IGN
signal.signal(signal.SIGINT, end)
signal.signal(signal.SIGTERM, end)
(here / "flies").write_text(str(os.getpid()))
while True:
    time.sleep(0.02)
"""


@pytest.fixture
def isaac_sim(tmp_path):
    """Return a python.sh that runs this Python as a child, as NVIDIA's does."""
    return unpacked(tmp_path / "isaac sim", python=sys.executable) / "python.sh"


@pytest.fixture
def fly(tmp_path, isaac_sim):
    """Return a function that starts a flight in another process and returns it once it flies."""
    started = []

    def start(*, deaf=False, patience=20.0, **options):
        code = FLIGHT.format(folder=str(tmp_path), deaf=deaf)
        line = [sys.executable, "-c", LAUNCHER, str(patience), str(isaac_sim), "-c", code]
        started.append(subprocess.Popen(line, **options))
        wait_until((tmp_path / "flies").exists, "the flight")
        wait_until(lambda: (tmp_path / "flies").read_text(), "its number")
        return started[-1]

    yield start
    for launcher in started:
        launcher.kill()
        launcher.wait()
    if (tmp_path / "flies").exists() and alive(number := int((tmp_path / "flies").read_text())):
        os.kill(number, signal.SIGKILL)


def alive(number):
    """Return whether a process runs; zombies do not count."""
    try:
        return facts(number)[0] != "Z"
    except FileNotFoundError:
        return False


def facts(number):
    """Return state, parent and other fields of a process from /proc."""
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, None)]
)
def test_who_is_told_to_end_leaves_what_was_flown(fly, tmp_path, number, code):
    """python.sh would end alone and leave Isaac Sim running, or lose log and summary."""
    launcher = fly()
    flight = int((tmp_path / "flies").read_text())
    launcher.send_signal(number)
    ended = launcher.wait(timeout=LIMIT)
    assert not alive(flight)
    if code is not None:
        assert ended == code
        assert (tmp_path / "kept").read_text() == str(int(number))


def test_a_script_that_is_killed_ends_the_flight(fly, tmp_path):
    """Isaac Sim would outlive a killed python.sh."""
    launcher = fly()
    flight = int((tmp_path / "flies").read_text())
    script = int(facts(flight)[1])
    assert script != launcher.pid
    os.kill(script, signal.SIGKILL)
    assert launcher.wait(timeout=LIMIT) == 143
    assert not alive(flight)
    assert (tmp_path / "kept").is_file()


def test_who_does_not_end_is_killed(fly, tmp_path):
    """A hanging Isaac Sim would hold the GPU until a reboot."""
    launcher = fly(deaf=True, patience=0.5)
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=LIMIT) != 0
    assert not alive(int((tmp_path / "flies").read_text()))


def test_one_that_is_stopped_ends_too(fly, tmp_path):
    """An Isaac Sim stopped by Ctrl-Z or a debugger would not end."""
    launcher = fly(patience=60.0)
    flight = int((tmp_path / "flies").read_text())
    os.kill(flight, signal.SIGSTOP)
    wait_until(lambda: facts(flight)[0] == "T", "the stop")
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=LIMIT) == 143


def test_an_end_that_takes_too_long(isaac_sim):
    """An Isaac Sim that hangs while it closes would keep a finished flight from ending."""
    line = "import time; from pegasus.isaac.process import hand_over; hand_over(0); time.sleep(600)"
    assert process.run([str(isaac_sim), "-c", line], os.environ, patience=0.3) == 0


@pytest.mark.parametrize("code", [0, 2, 3, 130])
def test_exit_codes_pass_python_sh(isaac_sim, code):
    """python.sh would turn all codes into 1, and wrong input look like a crash."""
    line = f"import sys; from pegasus.isaac.process import hand_over; hand_over({code}); sys.exit({code})"
    assert process.run([str(isaac_sim), "-c", line], os.environ) == code


def test_a_crash_is_no_success(isaac_sim):
    """An Isaac Sim that ends without a code, or by a signal, would count as a flight."""
    assert process.run([str(isaac_sim), "-c", "import os; os.abort()"], os.environ) == 1
    assert process.run([sys.executable, "-c", "import os; os.abort()"], os.environ) == 134


def test_what_cannot_be_run_is_said(tmp_path):
    """A script without permission to execute would end in a traceback."""
    script = executable(tmp_path / "python.sh", "")
    script.chmod(0o644)
    with pytest.raises(ConfigError, match=r"python\.sh': cannot be run: Permission denied"):
        process.run([str(script)], os.environ)


def test_signals_are_handled_as_before():
    """A program that starts a flight would ignore Ctrl-C afterwards."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTTOU)]
    assert process.run([sys.executable, "-c", ""], os.environ) == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTTOU)] == before


class Terminal:
    """A program in the foreground of its own terminal."""

    def __init__(self, *line):
        self.number, self.screen = pty.fork()
        if self.number == 0:
            os.execv(line[0], line)
        self.status = None

    def type(self, text):
        os.write(self.screen, text)

    def wait_for(self, text):
        """Read the output until a text appears."""
        seen = ""

        def come():
            nonlocal seen
            if select.select([self.screen], [], [], 0.0)[0]:
                seen += os.read(self.screen, 1000).decode()
            return text in seen

        wait_until(come, text)

    def changed(self):
        """Return whether the program has stopped or ended, and store its status."""
        number, self.status = os.waitpid(self.number, os.WNOHANG | os.WUNTRACED)
        return number != 0

    def end(self):
        """Return the exit code."""
        wait_until(self.changed, "the end")
        return os.waitstatus_to_exitcode(self.status)


@pytest.fixture
def terminal(isaac_sim):
    """Return a function that runs a line of Python by Isaac Sim in its own terminal."""
    started = []

    def start(line):
        started.append(Terminal(sys.executable, "-c", LAUNCHER, "20", str(isaac_sim), "-c", line))
        return started[-1]

    yield start
    for one in started:
        # The last process with the terminal open is notified that it is closed.
        os.close(one.screen)
        if one.status is None or not (os.WIFEXITED(one.status) or os.WIFSIGNALED(one.status)):
            os.kill(one.number, signal.SIGTERM)
            os.kill(one.number, signal.SIGCONT)
            wait_until(one.changed, "the end")


def test_the_terminal_is_handed_on(terminal):
    """The licence question at the first start could not be answered, and Isaac Sim wait forever."""
    line = "print('agree?', flush=True); from pegasus.isaac.process import hand_over; hand_over(len(input()))"
    asked = terminal(line)
    asked.wait_for("agree?")
    asked.type(b"yes\n")
    assert asked.end() == 3


def test_ctrl_c_in_a_terminal(terminal, tmp_path):
    """Ctrl-C would end python.sh or the launcher alone, and leave Isaac Sim running."""
    flight = terminal(FLIGHT.format(folder=str(tmp_path), deaf=False))
    wait_until((tmp_path / "flies").exists, "the flight")
    flight.type(b"\x03")
    assert flight.end() == 130
    assert (tmp_path / "kept").read_text() == str(int(signal.SIGINT))


def test_ctrl_z_in_a_terminal(terminal, tmp_path):
    """The shell would not regain its terminal, and hang."""
    flight = terminal(FLIGHT.format(folder=str(tmp_path), deaf=False))
    wait_until((tmp_path / "flies").exists, "the flight")
    flight.type(b"\x1a")
    wait_until(flight.changed, "the shell's turn")
    assert os.WIFSTOPPED(flight.status)
    os.kill(flight.number, signal.SIGCONT)
    os.kill(flight.number, signal.SIGTERM)
    assert flight.end() == 143
