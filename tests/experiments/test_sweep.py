"""Tests of sweeps: every flight has its row, whatever ends a process."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest
import yaml

from pegasus.base.errors import ConfigError
from pegasus.base.workers import run_in_processes
from pegasus.experiments import sweep
from pegasus.experiments.sweep import equal_flights
from pegasus.experiments.table import columns_of, write_table
from pegasus.recording import OutcomeAudit
from tests.cli_rig import environment, one_line, pegasus
from tests.waits import LIMIT, wait_until

__all__ = ["pegasus"]

FLIGHT = [{"takeoff": {"height": 1.0}}, {"hold": {"duration": 0.5}}, "land"]
HOP = {
    "name": "hop",
    "world": "flat",
    "vehicles": [{"model": "iris", "backends": [{"model": "geometric", "trajectory": FLIGHT}]}],
}
GUSTS = {"world.wind.model": "gusts", "world.wind.mean_velocity": [[2.0, 0.0, 0.0]]}


@pytest.fixture
def hop(tmp_path):
    path = tmp_path / "hop.yaml"
    path.write_text(yaml.safe_dump(HOP))
    return path


def square(job):
    """A task: the square of a number, whose process dies at -1 once, at -2 always, and fails at 0."""
    number, folder = job
    mark = Path(folder) / f"died{number}"
    if number == -2 or (number == -1 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 0:
        raise ConfigError("must not be zero", field="number")
    return number * number


def squares(numbers, folder, **options):
    done = []
    run_in_processes(square, [(n, str(folder)) for n in numbers], count=2, finished=done.append, **options)
    return sorted(done)


def test_jobs_of_killed_processes(tmp_path):
    """A killed process would cost its job, or that of another one, or end all."""
    assert squares([1, -1, 3, 4], tmp_path, lost=str) == [1, 1, 9, 16]
    done = []
    jobs = [(n, str(tmp_path)) for n in (1, -2, 3)]
    run_in_processes(square, jobs, count=2, finished=done.append, lost=lambda job: ("lost", job[0]))
    assert sorted(done, key=str) == [("lost", -2), 1, 9]
    with pytest.raises(ConfigError, match=r"workers = 2: a worker process was ended from outside"):
        squares([1, -2], tmp_path)


@pytest.mark.parametrize("number", [1, 2])
def test_ctrl_c_while_a_process_starts(number, tmp_path, monkeypatch):
    """Ctrl-C would do nothing while a process starts, or leave that process behind."""
    begin, started = BaseProcess.start, []

    def start(process):
        started.append(process)
        if len(started) == number:
            signal.raise_signal(signal.SIGINT)
        begin(process)

    monkeypatch.setattr(BaseProcess, "start", start)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        squares(range(1, 100), tmp_path)
    assert len(started) == number
    assert all(process.exitcode is not None for process in started)
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_an_error_of_a_task(tmp_path):
    """An error in a process would be lost, or end in a traceback."""
    with pytest.raises(ConfigError, match=r"^number: must not be zero$"):
        squares([1, 0], tmp_path)


def test_rows(hop):
    """A combination would be left out, or its row hold other values than were flown."""
    settings = GUSTS | {"vehicles.iris.model.mass": [1.4, 1.6], "world.wind.intensity": "uniform(0.5, 1.5)"}
    rows = sweep(hop, seeds=2, settings=settings, jobs=1)
    flown = [(row["run"], row["vehicles.iris.model.mass"], row["seed"]) for row in rows]
    assert flown == [(0, 1.4, 0), (1, 1.4, 1), (2, 1.6, 0), (3, 1.6, 1)]
    drawn = [row["world.wind.intensity"] for row in rows]
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]
    assert all(0.5 <= value <= 1.5 for value in drawn)
    for row in rows:
        assert row["failure"] is None
        assert row["iris.outcome"] == "landed"
        assert row["iris.impact_speed"] < 1.0
        assert row["simulated_time"] / row["step_time"] == pytest.approx(row["real_time_factor"])
        assert 0.0 < row["iris.tracking_rms"] < row["iris.tracking_max"] < 0.5
        assert abs(row["iris.x"]) < 0.5
    assert len({row["iris.x"] for row in rows}) == 4


def test_a_failure_has_its_row(hop):
    """A flight that cannot be built would end the sweep, or be missing in the table."""
    rows = sweep(hop, settings={"vehicles.iris.model.mass": [1.5, 9.0]}, jobs=1)
    assert rows[0]["failure"] is None
    assert "cannot hover" in rows[1]["failure"]
    assert "vehicles.0.model.motor.max_speed" in rows[1]["failure"]
    assert "iris.outcome" not in rows[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"settings": {"vehicles.iris.mass": [1, 2]}},
            "iris.mass: unknown field; it is a field of the",
        ),
        ({"settings": {"duration": []}}, r"duration = \[\]: must hold at least one value"),
        ({"settings": {"duration": "normal(1,x)"}}, "must have two numbers; such as uniform"),
        ({"settings": {"seed": [1]}}, "settings = 'seed': must not hold the seed; give seeds"),
        ({"seeds": 0}, "seeds = 0: must be at least 1, or a list of seeds"),
        ({"jobs": 0}, "jobs = 0: must be at least 1"),
        ({"out": "table.txt"}, "out = 'table.txt': must end in .csv or .parquet"),
        ({"out": "/none/table.csv"}, "out = '/none/table.csv': cannot be written: no such folder"),
    ],
)
def test_wrong_sweeps(hop, options, message):
    """A hundred rows would have the same error."""
    with pytest.raises(ConfigError, match=message):
        sweep(hop, **options)


def test_equal_seeds_are_told(hop, caplog):
    """A user would take twenty copies of one flight for statistics."""
    sweep(hop, seeds=2, settings={"duration": [0.2, 0.3]}, jobs=1)
    assert "2 seeds gave the same flight: nothing random acts on it" in caplog.text
    caplog.clear()
    sweep(hop, seeds=2, settings=GUSTS | {"duration": 4.0}, jobs=1)
    assert caplog.text == ""
    assert equal_flights([{"run": 0, "seed": 0, "x": 1.0, "step_time": 1.0}], {}) == 1


def test_a_crash_is_told(hop):
    """A vehicle that falls from the sky would count as landed."""
    settings = {
        "duration": 3.0,
        "vehicles.0.position": [[0.0, 0.0, 8.0]],
        "vehicles.0.backends": [[]],
    }
    (row,) = sweep(hop, settings=settings)
    assert row["iris.outcome"] == "crashed"
    assert row["iris.impact_speed"] == pytest.approx(np.sqrt(2 * 9.8 * 8.0), rel=0.1)

    (row,) = sweep(hop, settings={"duration": 0.5, "vehicles.0.backends": [[]]})
    assert row["iris.outcome"] == "grounded"
    (row,) = sweep(hop, settings={"duration": 3.0})
    assert row["iris.outcome"] == "flying"
    assert OutcomeAudit().outcomes() == {}


def turned(simulation):
    """Columns of one's own: rotor speeds at the end."""
    (iris,) = simulation.vehicles
    speed = iris.state.rotor_speed
    return {"rotors": speed.max(), "speeds": speed[0]}


def wrong(_):
    raise ValueError("no such column")


def test_columns_means_and_copies(hop, tmp_path, caplog):
    """Results of one's own, means of several seeds, and the hint to copies would be missing."""
    settings = GUSTS | {"duration": [2.0, 2.5]}
    out = tmp_path / "t.csv"
    rows = sweep(hop, seeds=5, settings=settings, jobs=1, out=out, columns=turned)
    assert all(len(row["speeds"]) == 4 and row["rotors"] == max(row["speeds"]) for row in rows)
    assert "copies" not in caplog.text
    found = {(row["duration"], row["column"]): row for row in table(tmp_path / "t_means.csv")}
    for duration in (2.0, 2.5):
        numbers = [row["rotors"] for row in rows if row["duration"] == duration]
        row = found[str(duration), "rotors"]
        assert int(row["flights"]) == 5
        assert float(row["mean"]) == pytest.approx(np.mean(numbers), rel=1e-12)
        assert float(row["deviation"]) == pytest.approx(np.std(numbers, ddof=1), rel=1e-9)
    assert not {name for _, name in found} & {"seed", "run", "step_time", "iris.outcome", "speeds"}

    sweep(hop, seeds=10, settings=GUSTS | {"duration": 2.0}, jobs=1)
    assert "vehicles.0.count=10" in caplog.text
    (row,) = sweep(hop, settings={"duration": 0.1}, jobs=1, columns=wrong)
    assert row["failure"] == "ValueError: no such column"


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def sleeping(tmp_path, hop):
    """Return the scenario with a backend that takes 0.2 s of wall time for each flight."""
    (tmp_path / "own.py").write_text(
        "import time\nfrom dataclasses import dataclass\nfrom pegasus import Backend\n\n\n"
        "@dataclass\nclass Slow(Backend):\n    def start(self):\n        time.sleep(0.3)\n"
    )
    slow = HOP | {"duration": 0.1}
    slow["vehicles"] = [{"model": "iris", "backends": [{"model": "own:Slow"}]}]
    hop.write_text(yaml.safe_dump(slow))


def children(pid):
    """Return the processes that a process has started to do jobs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z" and b"spawn_main" in command:
            found.append(int(stat.parent.name))
    return found


def test_killed_interrupted_and_resumed(pegasus, hop, tmp_path):
    """A killed worker, or the end of the whole sweep, would lose a row or fly a flight twice."""
    sleeping(tmp_path, hop)
    out = tmp_path / "table.csv"
    command = [sys.executable, "-m", "pegasus", "sweep", hop, "--seeds", "16", "--jobs", "2", "--out", out]

    def begin(*more):
        return subprocess.Popen(
            [*map(str, command), *more],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finished():
        journal = tmp_path / "table.csv.jsonl"
        return len(journal.read_text().splitlines()) - 1 if journal.exists() else 0

    run = begin()
    try:
        wait_until(lambda: finished() >= 2)
        os.kill(children(run.pid)[0], signal.SIGKILL)
        wait_until(lambda: finished() >= 5)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=LIMIT)
        assert run.returncode == 130
        assert errors.endswith(f"pegasus: interrupted; continue with --resume --out {out}\n")
        there = finished()
        assert 5 <= there < 16
        assert len(table(out)) == there
        one_line(pegasus("sweep", hop, "--seeds", 16, "--out", out), "table.csv", "exists already; resume it")
        run = begin("--resume")
        wait_until(lambda: finished() >= there + 3)
        run.kill()
        run.communicate(timeout=LIMIT)
        there = finished()
        with (tmp_path / "table.csv.jsonl").open("a") as journal:
            journal.write('{"key": "cut o')
    finally:
        run.kill()
    code, printed, errors = pegasus(*command[3:], "--jobs", "1", "--resume")
    assert code == 0, errors
    rows = table(out)
    assert [row["seed"] for row in rows] == [str(seed) for seed in range(16)]
    assert all(row["failure"] == "" for row in rows)
    assert "16 flights, 0 failed" in printed
    keys = [json.loads(line)["key"] for line in (tmp_path / "table.csv.jsonl").read_text().splitlines()[1:]]
    assert len(keys) == len(set(keys)) == 16
    # More seeds extend the table; another scenario is refused.
    assert len(sweep(hop, seeds=17, jobs=1, out=out, resume=True)) == 17
    hop.write_text(yaml.safe_dump(HOP))
    with pytest.raises(ConfigError, match="was begun with another scenario"):
        sweep(hop, seeds=17, jobs=1, out=out, resume=True)


def test_a_script_without_a_guard(hop, tmp_path):
    """A script that calls a sweep at its top would start processes without end."""
    script = tmp_path / "script.py"
    script.write_text(f"from pegasus.experiments import sweep\nsweep({str(hop)!r}, seeds=2, jobs=2)\n")
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert ended.returncode == 1
    assert time.monotonic() - began < LIMIT
    assert 'below `if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]


def test_tables(tmp_path):
    """Columns of later rows would be lost, or lists be written as text that no program reads."""
    rows = [{"run": 0, "wind": [1, 0, 0]}, {"run": 1, "wind": [2, 0, 0], "failure": "a, b"}]
    assert columns_of(rows) == ["run", "wind", "failure"]
    write_table(tmp_path / "t.csv", rows)
    first, second = table(tmp_path / "t.csv")
    assert (json.loads(first["wind"]), first["failure"], second["failure"]) == ([1, 0, 0], "", "a, b")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_parquet(tmp_path, monkeypatch):
    """Without pyarrow the error would come after the flights; with it, types would be lost."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        ConfigError, match=r"needs the package pyarrow.*pip install 'pegasus-multirotor\[parquet\]'"
    ):
        sweep("first_flight", out=tmp_path / "t.parquet")
    monkeypatch.undo()
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    rows = [{"run": 0, "wind": [1.0, 0.0], "mixed": 1}, {"run": 1, "wind": [2.0, 0.0], "mixed": "x"}]
    write_table(tmp_path / "t.parquet", rows)
    read = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert read == [
        {"run": 0, "wind": [1.0, 0.0], "mixed": "1"},
        {"run": 1, "wind": [2.0, 0.0], "mixed": '"x"'},
    ]
