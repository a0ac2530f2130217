"""Tests of the summary of a run."""

import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pegasus import Simulation
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Failure
from pegasus.recording import (
    EnergyAudit,
    EnergyBalance,
    Outcome,
    OutcomeAudit,
    Summary,
    TrackingAudit,
    TrackingError,
    VehicleTracking,
    summarize,
)


def example() -> Summary:
    """Return a summary with distinct figures."""
    segments = {"square": TrackingError(12.5, 0.123, 0.456), "": TrackingError(1.0, 0.2, 0.3)}
    tracking = VehicleTracking(TrackingError(13.5, 0.13, 0.456), segments, 0.02, 0.05)
    balance = EnergyBalance(
        gained=1.25, rotors=9.5, drag=-2.25, others=0.0, contacts=6.0, residual=-3e-9, gross=60.0
    )
    return Summary("courtyard", 4, 250.0, 60.0, 2.5, {"iris[b]": tracking}, {"iris[b]": balance})


def shown(summary: Summary) -> str:
    """Return the output of a terminal of 100 columns."""
    console = Console(file=io.StringIO(), width=100)
    console.print(summary)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_terminal_shows_every_figure_with_its_unit() -> None:
    """A figure or a unit would be missing (rich takes units in brackets for markup)."""
    text = shown(example())
    rows = [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in text.splitlines()
    ]
    assert ["vehicle", "segment", "time [s]", "error RMS [m]", "maximum [m]"] in rows
    assert ["iris[b]", "square", "12.50", "0.123", "0.456"] in rows
    assert ["", "-", "1.00", "0.200", "0.300"] in rows
    assert ["", "overall", "13.50", "0.130", "0.456"] in rows
    columns = ["gained", "rotors", "drag", "others", "contacts", "residual", "of gross"]
    assert ["energy [J]", *columns] in rows
    assert ["iris[b]", "1.25", "9.50", "-2.25", "0.00", "6.00", "-3e-09", "5e-11"] in rows
    assert ["60.00", "2.50", "24.0", "courtyard", "4", "250"] in rows


def test_file_holds_every_figure(tmp_path: Path) -> None:
    """A script could not compare runs by their files."""
    example().write(tmp_path / "summary.json")
    content = json.loads((tmp_path / "summary.json").read_text())
    assert content["real_time_factor"] == 24.0
    assert (content["simulated_time"], content["wall_time"]) == (60.0, 2.5)
    tracking, energy = content["tracking"]["iris[b]"], content["energy"]["iris[b]"]
    assert tracking["segments"]["square"] == {"duration": 12.5, "rms": 0.123, "maximum": 0.456}
    assert tracking["overall"]["rms"] == 0.13
    assert energy["relative_residual"] == pytest.approx(5e-11)
    assert energy["drag"] == -2.25


def test_failed_autopilots_are_named() -> None:
    """A run whose autopilot has died would look like a flight."""
    failure = Failure("iris[b]", "PX4 0", 12.3456, "was killed by SIGKILL", -9)
    failed = replace(example(), failures=[failure])
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown(failed).splitlines()]
    assert ["iris[b]", "PX4 0", "12.346", "was killed by SIGKILL"] in rows
    assert json.loads(failed.to_json())["failures"] == [asdict(failure)]
    assert "failed" not in shown(example())


def test_crashes_are_named() -> None:
    """A run that ended in a crash would look like a flight that landed."""
    yes, no = np.array([True, False]), np.array([False, True])
    crash = Outcome(
        crashed=yes,
        touched=yes,
        landed=no,
        flown=np.array([True, True]),
        impact_speed=np.array([9.25, 0.5]),
        position=np.zeros((2, 3)),
        crash_time=np.array([7.328, np.nan]),
        fault_time=np.array([6.0, np.nan]),
        deviation=np.zeros(2),
    )
    summary = replace(example(), outcomes={"iris[b]": crash})
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown(summary).splitlines()]
    assert ["iris[b]", "1 crashed, 1 landed", "9.25", "7.33"] in rows
    content = json.loads(summary.to_json())["outcomes"]["iris[b]"]
    assert content["outcome"] == "crashed"
    assert content["copies"] == ["crashed", "landed"]
    assert content["crash_time"] == [7.328, None]
    assert crash.crash_line() == "at 7.33 s, with 9.2 m/s, 1 of 2 copies"


def test_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A missing folder would end a run with a traceback."""
    with pytest.raises(ConfigError, match=r"summary.json: cannot be written: No such file") as error:
        example().write(tmp_path / "gone" / "summary.json")
    assert "\n" not in str(error.value)


def test_summary_of_a_run_without_flight() -> None:
    """A run in which nothing flew would end with an error."""
    pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")
    tracking, energy, outcomes = TrackingAudit(), EnergyAudit(), OutcomeAudit()
    with Simulation("flat", seed=7, observers=[tracking, energy, outcomes]) as simulation:
        simulation.step(500)
        summary = summarize(simulation, tracking, energy, outcomes, wall_time=0.0)
    assert (summary.world, summary.seed, summary.rate, summary.simulated_time) == ("flat", 7, 250.0, 2.0)
    assert summary.real_time_factor == 0.0
    assert "simulated [s]" in shown(summary)
    assert "energy" not in shown(summary)
