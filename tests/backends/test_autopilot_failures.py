"""Tests of failing autopilots: messages, summary and exit code of `pegasus run`."""

import json

import pytest
from ardupilot_rig import SLOW_LOOP, source_tree
from px4_rig import PX4Tree, iris, processes

from pegasus import AutopilotError, Simulation
from pegasus.backends import PX4
from tests.cli_rig import flying, pegasus, write

__all__ = ["pegasus"]
pytestmark = pytest.mark.usefixtures("own_settings")


@pytest.fixture(autouse=True)
def no_process_left(tmp_path):
    """Assert that no process of the test remains after it; peers of other tests may keep running."""
    before = processes(tmp_path)
    yield
    assert processes(tmp_path) == before


@pytest.mark.parametrize(
    ("fault", "problem", "status"),
    [
        ("kill@0.5s", "was killed by SIGKILL", -9),
        ("exit@0.5s:7", "has ended with status 7", 7),
        ("exit@0.5s:0", "has ended with status 0", 0),
        ("silence@0.5s-", "has not answered within 0.3 s", None),
    ],
)
def test_px4_fails_in_flight(pegasus, tree, tmp_path, fault, problem, status):
    """A run whose PX4 has died would end with exit code 0 and without a message."""
    tree.say(f"--controller none --fault {fault}")
    backend = {"model": "px4", "directory": str(tree.folder), "step_timeout": 0.3}
    write(tmp_path, s__yaml=flying({"backends": [backend]}, duration=1.5))
    code, out, err = pegasus("run", "s.yaml", "--out", "out")
    assert code == 3
    (folder,) = (tmp_path / "out").iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    (failure,) = summary["failures"]
    assert failure["time"] == pytest.approx(0.5, abs=0.1)
    # Nothing flies any more once the only autopilot has ended; a silent one may answer again.
    end = 1.5 if status is None else failure["time"] + 0.2
    assert failure["time"] < summary["simulated_time"] <= end
    assert (summary["simulated_time"] == 1.5) is (status is None)
    number = failure["autopilot"].removeprefix("PX4 ")
    assert failure == {
        **{"vehicle": "iris", "autopilot": f"PX4 {number}", "problem": problem, "exit_status": status},
        "time": failure["time"],
    }
    said = f"pegasus: PX4 {number} of vehicle 'iris' {problem} at t = {failure['time']:.3f} s"
    assert err.splitlines()[-1] == said
    (row,) = [line for line in out.splitlines() if "PX4" in line]
    assert problem in row
    assert "iris" in row


@pytest.mark.parametrize(
    ("script", "problem", "status"),
    [
        ("echo no such model >&2; exit 255", "has ended with status 255", 255),
        ("echo booting; kill -9 $$", "was killed by SIGKILL", -9),
        ("exec sleep 600", "has not connected within 1 s", None),
    ],
)
def test_px4_does_not_start(pegasus, tree, tmp_path, script, problem, status):
    """A run without an autopilot would be reported as wrong input, and delete PX4's log."""
    tree.binary.write_text(f"#!/bin/sh\n{script}\n")
    backend = {"model": "px4", "directory": str(tree.folder), "start_timeout": 1.0}
    write(tmp_path, s__yaml=flying({"backends": [backend]}))
    code, _, err = pegasus("run", "s.yaml", "--out", "out")
    assert code == 3
    (folder,) = (tmp_path / "out").iterdir()
    (failure,) = json.loads((folder / "summary.json").read_text())["failures"]
    assert (failure["problem"], failure["exit_status"], failure["time"]) == (problem, status, 0.0)
    (line,) = err.splitlines()
    (log,) = folder.glob("px4_*.log")
    assert line.startswith(f"pegasus: {failure['autopilot']}: {problem}; its last words: ")
    assert f"see {log}" in line
    assert line.endswith(f"the autopilot's log is in {folder.relative_to(tmp_path)}")


@pytest.mark.parametrize(
    ("trick", "problem", "status", "seconds"),
    [
        ("kill@100", "was killed by SIGKILL", -9, 0.25),
        ("exit@100=7", "has ended with status 7", 7, 0.25),
        ("silence@100=600", "has not answered within 0.3 s", None, 0.25),
        ("exit@0=1", "has ended with status 1", 1, None),
        ("silence@0=600", "has not connected within 3 s", None, None),
    ],
)
def test_ardupilot_fails(pegasus, tmp_path, trick, problem, status, seconds):
    """A run whose ArduPilot ends, dies or does not answer would last to its end and look like a flight."""
    folder = source_tree(tmp_path / "ardupilot", "--pilot", "echo", "--do", trick)
    limits = {"step_timeout": 0.3, "start_timeout": 3.0}
    backend = {"model": "ardupilot", "directory": str(folder), "parameters": SLOW_LOOP, **limits}
    write(tmp_path, s__yaml=flying({"backends": [backend]}, rate=400.0, duration=1.5))
    code, out, err = pegasus("run", "s.yaml", "--out", "out")
    assert code == 3
    (run,) = (tmp_path / "out").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    (failure,) = summary["failures"]
    assert (failure["vehicle"], failure["problem"], failure["exit_status"]) == ("iris", problem, status)
    said = f"{failure['autopilot']} of vehicle 'iris'"
    if seconds is None:
        assert err.startswith(f"pegasus: {said}: {problem}; its last words: ")
        assert failure["time"] == summary["simulated_time"] == 0.0
    else:
        assert err.splitlines()[-1] == f"pegasus: {said} {problem} at t = {failure['time']:.3f} s"
        assert failure["time"] == pytest.approx(seconds, abs=0.01)
        assert [problem in line for line in out.splitlines() if "ArduPilot" in line] == [True]


def test_others_fly_on(pegasus, tree, tmp_path):
    """A run would end with the first of several autopilots."""
    tree.say("--controller none --fault exit@0.3s:7")
    backend = {"model": "px4", "directory": str(tree.folder)}
    dying, other = (
        {"backends": [backend]},
        {"name": "other", "backends": [{**backend, "directory": str(tmp_path / "two")}]},
    )
    PX4Tree(tmp_path / "two").say("--controller none")
    scenario = flying(dying, duration=1.0)
    scenario["vehicles"].append({**scenario["vehicles"][0], **other})
    write(tmp_path, s__yaml=scenario)
    assert pegasus("run", "s.yaml", "--out", "out")[0] == 3
    (folder,) = (tmp_path / "out").iterdir()
    assert json.loads((folder / "summary.json").read_text())["simulated_time"] == 1.0


def test_failures_in_python(tree):
    """A script that steps a simulation could not detect that an autopilot has failed."""
    tree.say("--controller none --fault exit@0.2s:3")
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder)))
        assert simulation.failures == []
        simulation.run(5.0)
        (failure,) = simulation.failures
        simulation.stop()
        assert simulation.failures == [failure]
    assert (failure.vehicle, failure.problem, failure.exit_status) == ("iris", "has ended with status 3", 3)
    assert failure.time == pytest.approx(0.2, abs=0.05)


def test_a_reset_forgets_failures(tree):
    """A run after a reset would report failures of the run before."""
    backend = PX4(tree.folder)
    with Simulation() as simulation:
        simulation.add(iris(backend))
        tree.say("--controller none --fault exit@0.2s:3")
        simulation.run(5.0)
        assert len(simulation.failures) == 1
        tree.say("--controller none")
        simulation.reset()
        simulation.run(0.5)
        assert simulation.failures == []


def test_an_autopilot_that_does_not_start_is_its_own_error(tree):
    """A script could not distinguish a failed autopilot from a wrong argument."""
    tree.binary.write_text("#!/bin/sh\nexit 3\n")
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder)))
        with pytest.raises(AutopilotError, match="has ended with status 3"):
            simulation.run(1.0)
        assert [failure.exit_status for failure in simulation.failures] == [3]
