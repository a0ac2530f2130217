"""Code of traces kept on disk: found again, made anew where anything changed, never trusted when damaged."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pegasus.base.step_math import Real
from pegasus.base.tracing import codes, column, launches, uniform

GAIN = 2.0


def helper(x: Real) -> Real:
    return GAIN * x


def law(x: Real, shift: Real) -> Real:
    return helper(x) + shift


def other_helper(x: Real) -> Real:
    return 3.0 * x


@pytest.fixture
def fly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[float, int]]:
    """Return a function that gives the law at 1.5 as a new process does, and how often it was traced."""
    monkeypatch.setattr(codes, "user_cache", lambda: tmp_path)
    traced: list[Any] = []
    trace = launches.trace
    monkeypatch.setattr(launches, "trace", lambda *a, **k: [traced.append(a), trace(*a, **k)][1])

    def run() -> tuple[float, int]:
        monkeypatch.setattr(launches, "_CODES", {})
        traced.clear()
        arrays = {"x": np.array([1.5]), "shift": np.array([0.25]), "result": np.zeros(1)}
        program = launches.program_of(law, column("x"), uniform("shift", 0.0), count=1)
        program.launch(arrays, 1)()
        return float(arrays["result"][0]), len(traced)

    return run


def test_a_later_start_does_not_trace(fly: Callable[[], tuple[float, int]]) -> None:
    """Half a second of each start went into tracing the same laws."""
    assert fly() == (3.25, 1)
    assert fly() == (3.25, 0)


@pytest.mark.parametrize(("name", "value"), [("GAIN", 4.0), ("helper", other_helper), ("law", other_helper)])
def test_a_change_is_traced(
    fly: Callable[[], tuple[float, int]], monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    """The code of what was flies nothing else."""
    before = fly()
    if name == "law":
        monkeypatch.setattr(law, "__code__", (lambda x, shift: x - shift).__code__)
    else:
        monkeypatch.setitem(globals(), name, value)
    after, count = fly()
    assert count == 1
    assert after == law(1.5, 0.25)
    monkeypatch.undo()
    assert before == (3.25, 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:0],
        lambda content: content[:-20],
        lambda content: content[:70] + content[70:].replace(b"i0_0", b"i1_0"),
        lambda content: b"\0" * len(content),
    ],
    ids=["empty", "cut", "changed", "zeros"],
)
def test_a_damaged_file_is_made_anew(
    fly: Callable[[], tuple[float, int]], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """A full disk or a crash leaves parts of files."""
    fly()
    (file,) = (tmp_path / "traces").iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert fly() == (3.25, 1)
    assert file.read_bytes() == content
    assert fly() == (3.25, 0)


def test_a_folder_that_cannot_be_written_takes_time_only(
    fly: Callable[[], tuple[float, int]], tmp_path: Path
) -> None:
    """Homes of services are read-only."""
    (tmp_path / "traces").write_text("a file", encoding="utf-8")
    assert fly() == (3.25, 1)
    assert fly() == (3.25, 1)


def test_the_folder_is_bounded(
    fly: Callable[[], tuple[float, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was used last stays."""
    monkeypatch.setattr(codes, "MOST_FILES", 8)
    fly()
    folder = tmp_path / "traces"
    (kept,) = folder.iterdir()
    for k in range(8):
        (folder / f"{k}").write_text("old", encoding="utf-8")
        os.utime(folder / f"{k}", (k, k))
    os.utime(kept, (0, 0))
    assert fly() == (3.25, 0)
    monkeypatch.setitem(globals(), "GAIN", 5.0)
    fly()
    names = {file.name for file in folder.iterdir()}
    assert kept.name in names
    assert len(names) == 8
    assert not names & {"0", "1"}


FLIGHT = """
import json
from pegasus.base.tracing import codes
from pegasus.experiments.flight import Flight
found, inner = [], codes.fingerprint
codes.fingerprint = lambda *sources: [found.append(inner(*sources)), found[-1]][1]
Flight("first_flight", {"duration": 0.05}).fly(record=False)
print(json.dumps(found))
"""


def test_every_law_of_a_flight_is_found_again_in_each_process() -> None:
    """The order of sets differs between processes; and a part that cannot be told is traced at each start."""
    found = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", FLIGHT], env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(run.stdout))
    assert len(found[0]) >= 15
    assert None not in found[0]
    assert found[0] == found[1]
