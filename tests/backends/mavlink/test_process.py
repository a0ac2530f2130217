"""Tests of autopilot processes: start, end and cleaning up."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pegasus.backends.mavlink.process import AutopilotProcess, stop_all
from pegasus.base.errors import ConfigError
from tests.waits import LIMIT, wait_until

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, or what only Linux has")
# They print their process ids, and "ready" once they have set up the signals that they ignore.
STUBBORN = "trap '' TERM; echo $$ ready; while :; do sleep 0.05; done"
FAMILY = (
    "trap '' TERM; echo $$; sh -c 'trap \"\" TERM; echo $$; sleep 600 & echo $!; echo ready; wait' & wait"
)
OWNER = """
import os, sys, threading, time
from pathlib import Path
from pegasus.backends.mavlink.process import AutopilotProcess
folder = Path(sys.argv[1])
process = AutopilotProcess(
    ["sh", "-c", sys.argv[2]], environment={}, directory=folder, log=folder / "log", name="autopilot"
)
"""


@pytest.fixture
def program(tmp_path):
    """Return a function that makes a process of a shell script; all are stopped after the test."""
    made = []

    def make(script, **options):
        arguments = ["sh", "-c", script] if isinstance(script, str) else script
        number = len(made)
        options = {
            "environment": {},
            "directory": tmp_path / "work",
            "log": tmp_path / f"{number}.log",
        } | options
        made.append(AutopilotProcess(arguments, name=f"autopilot {number}", **options))
        return made[-1]

    yield make
    stop_all(made, timeout=0.0)


def state(pid):
    """Return the state of a process: Z for a zombie, "" when there is none."""
    if not Path("/proc/self/stat").exists():
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()[:1]
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def gone(pid):
    """Return whether a process has ended, as a zombie or entirely."""
    return state(pid) in ("", "Z")


def end_of(process):
    """Wait until a process has ended by itself, and return its end."""
    wait_until(lambda: process.poll() is not None)
    return process.poll()


def ready(log):
    """Return the process ids in a log once it says "ready"."""
    words = wait_until(
        lambda: (text := log.read_text() if log.exists() else "") and "ready" in text and text.split()
    )
    return [int(word) for word in words if word.isdigit()]


def started(process):
    """Start a process, and return the ids of itself and its children once it is ready."""
    process.start()
    return ready(process.log)


def children():
    """Return the process ids of the children of this process, zombies included."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def open_files():
    """Return the number of open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_surroundings(program, tmp_path, monkeypatch):
    """The autopilot would get this process's variables, or a wrong folder or log."""
    monkeypatch.setenv("PX4_SIM_MODEL", "of this process")
    monkeypatch.setenv("PYTHONPATH", "/of/this/process")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("TMPDIR", raising=False)
    given = {"PX4_PARAM_A": "1 = 2", "HOME": "/its/own"}
    process = program(["env"], environment=given, directory=tmp_path / "made" / "for it")
    process.start()
    assert end_of(process) == 0
    expected = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | given
    assert sorted(process.log.read_text().splitlines()) == sorted(f"{k}={v}" for k, v in expected.items())

    where = program("pwd; echo error >&2", directory=tmp_path / "made" / "for it")
    where.start()
    assert end_of(where) == 0
    assert where.log.read_text().splitlines() == [str(tmp_path / "made" / "for it"), "error"]


def test_apart_from_this_process(program):
    """A Ctrl-C in the terminal would reach the autopilot, or the autopilot would read terminal input."""
    process = program("read line; echo read $? ready; sleep 600")
    process.start()
    ready(process.log)
    assert "read 1" in process.log.read_text()
    assert os.getpgid(process.pid) == process.pid
    assert os.getsid(process.pid) != os.getsid(0)


@ON_LINUX
def test_signals_reach_it(program):
    """An autopilot of a background simulation, where Ctrl-C is ignored, would not end by SIGINT."""
    changed = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in changed}
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGCHLD])
        process = program(["sleep", "600"], signals=[signal.SIGINT])
        process.start()
        status = program(["grep", "Sig", "/proc/self/status"])
        status.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGCHLD])
        for number, handler in before.items():
            signal.signal(number, handler)
    assert end_of(status) == 0
    masks = dict(line.split(":\t") for line in status.last_lines(9))
    # The C library reserves other signals, and the parent process may have had some ignored.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert (int(masks["SigBlk"], 16), int(masks["SigIgn"], 16) & ours) == (0, 0)
    process.stop()
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 255", 255), ("kill -SEGV $$", -11)])
def test_end_of_its_own(program, script, code):
    """The end of an autopilot would go unnoticed, or be reported without its cause."""
    process = program(script)
    assert (process.poll(), process.alive, process.pid) == (None, False, None)
    process.start()
    assert end_of(process) == code
    assert (process.poll(), process.returncode, process.alive) == (code, code, False)
    process.stop()
    assert process.returncode == code


def test_stop(program):
    """An autopilot that ends on request would be killed, or be waited for longer than it takes."""
    process = program("trap 'echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
    started(process)
    assert process.alive
    begin = time.monotonic()
    process.stop(timeout=LIMIT)
    assert time.monotonic() - begin < LIMIT / 2
    assert (process.returncode, process.alive, process.last_lines(1)) == (3, False, ["saved"])
    process.stop()


def test_stop_before_start(program):
    """A backend that was bound but never started could not be stopped."""
    process = program("exit 0")
    process.stop()
    assert not process.log.exists()


def test_start_again(program):
    """A reset would fail, mix up the two runs' output, or start a second autopilot beside the first."""
    process = program("echo run $$; echo; echo ready; exec sleep 600")
    pids = []
    for _ in range(2):
        process.start()
        assert process.returncode is None
        wait_until(lambda: process.last_lines()[-1:] == ["ready"])
        assert process.last_lines() == [f"run {process.pid}", "ready"]
        with pytest.raises(RuntimeError, match="autopilot 0 is already running"):
            process.start()
        pids.append(process.pid)
        process.stop()
        assert process.returncode == -signal.SIGTERM
    assert pids[0] != pids[1]
    assert process.log.read_text().count("run") == 2


def test_stubborn_family(program):
    """A process that ignores SIGTERM would be waited for forever, or its children be left."""
    process = program(FAMILY)
    pids = started(process)
    assert len(pids) == 3
    begin = time.monotonic()
    process.stop(timeout=0.3)
    assert 0.3 <= time.monotonic() - begin < 0.3 + 2.0
    assert process.returncode == -signal.SIGKILL
    assert not any(state(pid) for pid in pids)


def test_second_signal(program):
    """A program that only obeys SIGINT, as ArduPilot while it waits, would be killed."""
    script = "trap '' TERM; trap 'echo saved; exit 4' INT; echo ready; while :; do sleep 0.05; done"
    process = program(script, signals=[signal.SIGTERM, signal.SIGINT])
    started(process)
    process.stop(timeout=0.4)
    assert process.returncode == 4
    assert process.last_lines(1) == ["saved"]


def test_leftovers_of_a_crash(program):
    """Children of an autopilot would keep running after it crashes."""
    process = program("sh -c 'trap \"\" TERM; echo $$ ready; sleep 600' & while :; do sleep 0.05; done")
    (left,) = started(process)
    os.kill(process.pid, signal.SIGKILL)
    assert end_of(process) == -signal.SIGKILL
    assert not state(left)


def test_several_end_together(program):
    """Ten unresponsive autopilots would take ten times as long as one."""
    processes = [program(STUBBORN) for _ in range(4)]
    pids = [pid for process in processes for pid in started(process)]
    processes.append(program("exit 0"))
    begin = time.monotonic()
    stop_all(processes, timeout=0.5)
    assert time.monotonic() - begin < 4 * 0.5
    assert [process.returncode for process in processes] == 4 * [-signal.SIGKILL] + [None]
    assert all(gone(pid) for pid in pids)


@ON_LINUX
def test_nothing_stays(program):
    """Each start would leak an open file or a zombie."""
    files, family = open_files(), children()
    for _ in range(3):
        process = program(FAMILY)
        started(process)
        assert open_files() == files + 1
        process.stop(timeout=0.0)
        ended = program("exit 1")
        ended.start()
        assert end_of(ended) == 1
        with pytest.raises(ConfigError):
            program(["/none"]).start()
        assert open_files() == files
        assert children() == family


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"program": "/none/px4"}, id="no such program"),
        pytest.param({"program": "no-such-program-on-the-path"}, id="not on the path"),
        pytest.param({"program": "{file}"}, id="not a program"),
        pytest.param({"program": "{garbage}"}, id="for another machine"),
        pytest.param({"directory": "{file}/below"}, id="directory below a file"),
        pytest.param({"log": "{file}/below/log"}, id="log below a file"),
        pytest.param({"log": "{folder}"}, id="log is a folder"),
    ],
)
def test_cannot_start(program, tmp_path, change):
    """The error would be a traceback, take two lines, lack the name, or be in the log only."""
    places = {name: tmp_path / name for name in ("file", "garbage", "folder")}
    places["file"].touch()
    places["garbage"].write_bytes(b"\x7fELFnone")
    places["garbage"].chmod(0o755)
    places["folder"].mkdir()
    ((field, template),) = change.items()
    value = template.format(**places)
    process = program([value]) if field == "program" else program("exit 0", **{field: Path(value)})
    with pytest.raises(ConfigError) as caught:
        process.start()
    assert str(caught.value).startswith(f"autopilot 0 {field} = {value!r}: cannot be used: ")
    assert "\n" not in str(caught.value)
    assert not process.alive
    process.stop()


def test_last_lines(program):
    """An error would quote the previous run or blank lines, or fail on undecodable output."""
    process = program(r"for i in 1 2 3 4 5 6; do echo line $i; done; echo; printf 'bad \377 byte\n\n'")
    assert process.last_lines() == []
    process.log.write_text("the run before\n")
    process.start()
    assert end_of(process) == 0
    assert process.last_lines(2) == ["line 6", "bad � byte"]
    assert process.last_lines(99)[0] == "line 1"


def owner(tmp_path, script, after):
    """Start a process that owns a program; return it and the program's process ids."""
    # Python's warning at the end of such an owner is the case under test.
    command = [sys.executable, "-W", "ignore", "-c", OWNER + after, str(tmp_path), script]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    return process, ready(tmp_path / "log")


@pytest.mark.parametrize("end", ["killed", "exits", "starter ended"])
def test_end_of_the_owner(tmp_path, end):
    """An autopilot would keep running after the simulation is killed or drops it."""
    after = {
        "killed": "process.start(); time.sleep(600)",
        "exits": "process.start()\nwhile 'ready' not in process.log.read_text(): time.sleep(0.01)",
        "starter ended": "t = threading.Thread(target=process.start); t.start(); t.join(); time.sleep(600)",
    }[end]
    script = "sleep 600 & echo $!; echo $$; echo ready; wait"
    simulation, pids = owner(tmp_path, script, after)
    try:
        assert len(pids) == 2
        if end != "exits":
            assert not any(gone(pid) for pid in pids)
            simulation.kill()
        simulation.wait(LIMIT)
        assert wait_until(lambda: all(gone(pid) for pid in pids))
    finally:
        simulation.kill()
        simulation.wait()


def test_stubborn_program_of_a_killed_owner(tmp_path):
    """An autopilot that ignores SIGTERM would outlive a killed simulation."""
    simulation, pids = owner(tmp_path, FAMILY, "process.start(); time.sleep(600)")
    simulation.kill()
    simulation.wait(LIMIT)
    assert wait_until(lambda: all(gone(pid) for pid in pids))


def test_owner_that_has_forked(tmp_path):
    """A forked worker process would keep the autopilot alive after the simulation."""
    after = "process.start()\nif os.fork() == 0: (folder / 'forked').touch()\ntime.sleep(600)"
    simulation, pids = owner(tmp_path, "echo $$ ready; exec sleep 600", after)
    try:
        wait_until((tmp_path / "forked").exists)
        simulation.kill()
        simulation.wait(LIMIT)
        assert wait_until(lambda: all(gone(pid) for pid in pids))
    finally:
        os.killpg(simulation.pid, signal.SIGKILL)


def test_thread_that_started_it_ends(program):
    """An autopilot would end with the thread that started it, as in a Jupyter kernel or a panel."""
    process = program("echo ready; exec sleep 600")
    starter = threading.Thread(target=started, args=(process,))
    starter.start()
    starter.join(LIMIT)
    with pytest.raises(subprocess.TimeoutExpired):
        process._supervisor.wait(0.2)
    assert process.alive


@ON_LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_end_of_the_supervisor(program, number):
    """An autopilot would keep running unsupervised when its supervisor is killed."""
    process = program("sleep 600 & echo $!; echo $$; echo ready; wait")
    pids = started(process)
    process._supervisor.send_signal(number)
    assert wait_until(lambda: gone(process.pid))
    assert end_of(process) == -number
    assert wait_until(lambda: all(gone(pid) for pid in pids))


@ON_LINUX
def test_supervisor_that_hangs(program, monkeypatch):
    """An unresponsive supervisor would block the simulation, or its autopilot keep running."""
    monkeypatch.setattr("pegasus.backends.mavlink.process._KILL_LIMIT", 0.2)
    process = program(FAMILY)
    pids = started(process)
    process._supervisor.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    process.stop(timeout=0.1)
    assert time.monotonic() - begin < 1.5
    assert wait_until(lambda: all(gone(pid) for pid in pids))
