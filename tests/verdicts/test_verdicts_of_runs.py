"""Tests of expectations in scenarios: exit codes, lines, summary, log and plot."""

import json
import re

import pytest
import yaml
from cli_rig import pegasus

from pegasus import read_log
from pegasus.experiments import Flight
from pegasus.recording import Verdict
from pegasus.recording.plots import plot_flight

__all__ = ["pegasus"]

HOP = {
    "name": "hop",
    "world": "flat",
    "vehicles": [
        {
            "model": "iris",
            "backends": [{"model": "geometric", "trajectory": [{"takeoff": {"height": 1.0}}, "land"]}],
        }
    ],
}


def scenario(folder, expect, **changes):
    """Write a scenario that hops, with expectations, and return its path."""
    path = folder / "hop.yaml"
    path.write_text(yaml.safe_dump({**HOP, "expect": expect, **changes}))
    return path


def test_a_run_ends_with_its_verdict(pegasus, tmp_path):
    """A failure would pass with code 0, or be in none of lines, tables, summary and log."""
    scenario(
        tmp_path,
        [
            "height < 2",
            {"always": {"lowest": -1.0, "highest": 0.5}, "name": "stays low"},
            {"at_end": "landed"},
            {"eventually": "height > 3"},
        ],
    )
    code, out, err = pegasus("run", "hop.yaml")
    assert code == 1
    lines = [line for line in err.splitlines() if "expectation" in line]
    assert len(lines) == 2
    assert lines[0].startswith("pegasus: expectation failed: iris: stays low: failed at ")
    assert lines[1].startswith("pegasus: expectation failed: iris: eventually height > 3: did not come true")
    assert "stays low" in out
    (folder,) = (tmp_path / "runs").iterdir()
    verdicts = json.loads((folder / "summary.json").read_text())["verdicts"]
    assert [verdict["passed"] for verdict in verdicts] == [True, False, True, False]
    assert 0.9 < verdicts[0]["worst"] < 1.1
    messages = [message for _, message in log_messages(folder)]
    assert [message for message in messages if "expectation failed" in message] == [
        line.removeprefix("pegasus: ") for line in lines
    ]


def log_messages(folder):
    """Return time [s] and text of the messages of a log, by a reader of others."""
    from mcap_ros2.reader import read_ros2_messages

    with (folder / "flight.mcap").open("rb") as stream:
        found = read_ros2_messages(stream, topics=["/log"])
        return [(each.log_time_ns * 1e-9, each.ros_msg.message) for each in found]


def test_what_passes_ends_with_0(pegasus, tmp_path):
    scenario(tmp_path, ["height < 2", {"never": "crashed"}])
    code, out, err = pegasus("run", "hop.yaml", "--no-record")
    assert (code, err) == (0, "")
    assert out.count("passed") == 2


def test_a_flight_that_is_cut_short(pegasus, tmp_path):
    """A short look at a scenario would fail it, or hide what has failed already."""
    late = [{"eventually": "height > 0.9"}, {"at_end": "landed"}, {"always": "height < 2", "after": 5}]
    scenario(tmp_path, late)
    code, out, err = pegasus("run", "hop.yaml", "--duration", "1", "--no-record")
    assert (code, err) == (0, "")
    assert out.count("not judged") == 3
    scenario(tmp_path, [*late, "height < 0.05", {"eventually": "height > 9", "before": 0.5}])
    code, out, err = pegasus("run", "hop.yaml", "--duration", "1", "--no-record")
    assert code == 1
    assert err.count("expectation failed") == 2
    # A duration of the scenario's own is no cut.
    scenario(tmp_path, late, duration=1.0)
    code, _, err = pegasus("run", "hop.yaml", "--no-record")
    assert code == 1
    assert err.count("expectation failed") == 3


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        (["hieght < 2"], r"hop.yaml: expect.0 = 'hieght': .*did you mean height"),
        (
            [{"always": "height < 2", "never": "crashed"}],
            "expect.0 = 'always and never': must have exactly one",
        ),
        ([{}], "expect.0: must have exactly one of always, never, eventually, at_end"),
        ([{"always": "height"}, {"at_end": "height >"}], "expect.1 = 'height >': must compare a quantity"),
        ([{"always": {"box": [[0, 0, 0]]}}], "expect.0.always.box = .*must hold 2 entries, not 1"),
        ([{"always": {"boks": 1}}], "expect.0.always.boks: unknown field; allowed here: box, center"),
        ([{"always": "height < 2", "vehicle": "x500"}], "expect.0.vehicle = 'x500'"),
        ([{"always": "height < 2", "share": 2}], "expect.0.share = 2"),
        (
            [{"always": "height < 2", "after": 3, "before": 2}],
            "expect.0.before = 2.0: must not be earlier than after",
        ),
    ],
)
def test_wrong_expectations_are_told_before_the_flight(pegasus, tmp_path, expect, says):
    """A wrong name would be found after minutes of flight."""
    scenario(tmp_path, expect)
    code, out, err = pegasus("run", "hop.yaml")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(says, err), err
    assert not (tmp_path / "runs").exists()


def test_failures_are_drawn(tmp_path):
    """A failure would be drawn at another time, on another vehicle, or although it passed."""
    file = scenario(
        tmp_path, [{"always": "height < 0.5", "name": "low"}, {"always": "height < 9", "name": "high"}]
    )
    run = Flight(file, {"duration": 3.0}).fly(out=tmp_path)
    low, _ = run.summary.verdicts
    other = Verdict(vehicle="other", expected="else", passed=False, time=1.0)
    figure = plot_flight(read_log(run.folder), verdicts=[*run.summary.verdicts, other])
    axes = figure.axes[1]
    assert [text.get_text().strip() for text in axes.texts if "failed" in text.get_text()] == ["failed: low"]
    assert any(list(line.get_xdata()) == [low.time, low.time] for line in axes.lines)


def test_expectations_change_no_bits(tmp_path):
    """Looking at a flight would change it."""
    plain = Flight(scenario(tmp_path, []), {"duration": 2.0}).fly(record=False)
    looked = Flight(
        scenario(tmp_path, ["tracking_error < 1", "not in_contact", "sensors.imu.specific_force.z < 30"]),
        {"duration": 2.0},
    ).fly(record=False)
    first, second = plain.summary.outcomes["iris"], looked.summary.outcomes["iris"]
    assert first.position.tobytes() == second.position.tobytes()
