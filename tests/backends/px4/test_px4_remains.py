"""Tests of what a PX4 is given and leaves: its own ports, its logs, and files outside of its folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from px4_rig import iris, processes, started_with

from pegasus import Simulation
from pegasus.recording.audits import EnergyAudit, TrackingAudit
from pegasus.recording.outcome import OutcomeAudit
from pegasus.recording.summary import summarize
from tests.cli_rig import flying, write

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_instances_above_nine_have_their_own_port(px4, tree):
    """Programs of several vehicles would share UDP 14549, to which PX4 sends from instance 10 on."""
    scripts = tree.folder / "build" / "px4_sitl_default" / "etc" / "init.d-posix"
    (scripts / "px4-rc.mavlink").write_text(
        "remote=$((14540+px4_instance))\n[ $px4_instance -gt 9 ] && remote=14549 # shared\n"
    )
    backend = px4()
    path = started_with(backend)["PATH"]
    number = backend.first_instance
    script = Path(path.partition(":")[0]) / "px4-rc.mavlink"
    said = subprocess.run(
        ["sh", "-c", f"px4_instance={number}; . {script}; echo $remote"], capture_output=True, check=True
    )
    assert number > 9
    assert int(said.stdout) == 14840 + number


def test_the_summary_names_the_ulog(px4):
    """A user would have to search the run for PX4's log, which would grow by 20 MB a minute."""
    backend = px4()
    with Simulation() as simulation:
        tracking, energy, outcomes = TrackingAudit(), EnergyAudit(), OutcomeAudit()
        simulation.add(iris(backend))
        simulation.step()
        log = backend.run_folder / f"px4_{backend.first_instance}" / "log" / "today" / "1.ulg"
        log.parent.mkdir(parents=True)
        log.touch()
        for audit in (tracking, energy, outcomes):
            simulation.add_observer(audit)
        summary = summarize(simulation, tracking, energy, outcomes, wall_time=1.0)
        assert summary.autopilot_logs == [str(log)]
        (health,) = summary.estimator_health
        assert (health.vehicle, health.autopilot) == ("iris", f"PX4 {backend.first_instance}")
    topics = Path("etc", "logging", "logger_topics.txt")
    assert "vehicle_attitude 20 0\n" in (log.parents[2] / topics).read_text()


@pytest.mark.parametrize("kept", [True, False])
def test_own_topics_of_the_log(px4, tmp_path, kept):
    """PX4 would log few topics although the user has chosen others, or its scripts would be missing."""
    folder = tmp_path / "kept" if kept else None
    for parameters in ({}, {"SDLOG_PROFILE": 131}):
        backend = px4(parameters=parameters, working_directory=folder)
        with Simulation() as simulation:
            simulation.add(iris(backend))
            simulation.step()
        own = (folder or backend.run_folder) / f"px4_{backend.first_instance}" / "etc"
        assert (own / "init.d-posix").is_dir()
        assert not own.is_symlink()
        chosen = (own / "logging" / "logger_topics.txt").read_text()
        assert bool(chosen) == (not parameters)


def test_files_outside_of_the_run_are_removed(px4):
    """The command socket and lock of each PX4 would stay in /tmp."""
    backend = px4()
    with Simulation() as simulation:
        simulation.add(iris(backend))
        simulation.step()
        remains = [Path(f"/tmp/px4{name}-{backend.first_instance}") for name in ("-sock", "_lock")]
        for file in remains:
            file.touch()
    assert not any(file.exists() for file in remains)


def test_a_terminated_run_leaves_nothing(tree, tmp_path):
    """PX4 would outlive a run that SIGTERM ends."""
    tree.say("--controller none --linger")
    backend = {"model": "px4", "directory": str(tree.folder)}
    write(tmp_path, s__yaml=flying({"backends": [backend]}, duration=600.0))
    command = [sys.executable, "-m", "pegasus", "run", "s.yaml", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE) as run:
        deadline = time.monotonic() + 300.0
        while not list(tmp_path.glob("out/*/px4_*.log")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.0)
        run.send_signal(signal.SIGTERM)
        assert run.wait(300.0) == 143
    assert not any("px4_peer" in line for line in processes(tmp_path))
    (folder,) = (tmp_path / "out").iterdir()
    assert (folder / "summary.json").is_file()
