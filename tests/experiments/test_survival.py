"""Tests of fault campaigns: every flight has its row, and the report counts each."""

import math

import numpy as np
import pytest
import yaml

from pegasus.experiments import survival, sweep

HOVER = [{"hold": {"height": 8.0}}]
SCENARIO = {
    "name": "campaign",
    "world": "flat",
    "duration": 3.0,
    "vehicles": [
        {
            "model": "iris",
            "position": [0, 0, 8],
            "backends": [{"model": "geometric", "trajectory": HOVER}],
        }
    ],
    "faults": [{"model": "thrust_loss", "rotor": 0, "share": 1.0, "start": 0.5}],
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return the rows of a campaign over share and rotor, one of which does not exist."""
    path = tmp_path_factory.mktemp("campaign") / "campaign.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    settings = {
        "faults.0.share": [1.0, 0.0],
        "faults.0.rotor": [1, 7],
        "faults.0.start": "uniform(0.4,0.8)",
    }
    return sweep(path, seeds=2, settings=settings, jobs=1)


def test_every_flight_of_a_campaign_has_its_row(rows):
    """A flight that is lost, or whose fault does not begin when drawn, would spoil the statistics."""
    assert len(rows) == 8
    for row in rows:
        if row["faults.0.rotor"] == 7:
            assert "must be a rotor of 'iris'" in row["failure"]
            assert "iris.survived" not in row
            continue
        assert row["failure"] is None
        assert row["iris.fault_time"] == pytest.approx(row["faults.0.start"], abs=0.004)
        if row["faults.0.share"] == 1.0:
            assert row["iris.survived"] == 1.0
            assert row["iris.crash_time"] is None
        else:
            # It falls from 8 m without control.
            assert row["iris.survived"] == 0.0
            lasted = row["iris.crash_time"] - row["iris.fault_time"]
            assert row["iris.time_to_crash"] == pytest.approx(lasted)
            assert 1.0 < lasted < 2.5
            assert row["iris.largest_deviation"] > 5.0
    starts = {row["faults.0.start"] for row in rows}
    assert len(starts) == 2


def test_the_report_counts_every_row(rows):
    """A group that leaves out failed flights, or counts them as survived, would flatter the vehicle."""
    found = {entry.settings: entry for entry in survival(rows, ["faults.0.share", "faults.0.rotor"])}
    assert sum(entry.flights for entry in found.values()) == 8
    whole, lost, wrong = found[1.0, 1], found[0.0, 1], found[0.0, 7]
    assert (whole.vehicle, whole.flights, whole.failed, whole.survived) == ("iris", 2, 0, 1.0)
    assert math.isnan(whole.time_to_crash)
    assert (lost.flights, lost.failed, lost.survived) == (2, 0, 0.0)
    assert 1.0 < lost.time_to_crash < 2.5
    assert (wrong.vehicle, wrong.flights, wrong.failed) == ("", 2, 2)
    assert math.isnan(wrong.survived)


def test_vehicles_of_other_flights_are_not_counted_as_failed():
    """Rows of two scenarios in one report must not count for the vehicles of the other."""
    one = {"a.survived": 1.0, "a.time_to_crash": None, "a.largest_deviation": 0.1}
    two = {"b.survived": 0.0, "b.time_to_crash": 2.0, "b.largest_deviation": 9.0}
    found = {entry.vehicle: entry for entry in survival([one, two, two, {"failure": "lost"}])}
    assert (found["a"].flights, found["a"].failed) == (2, 1)
    assert (found["b"].flights, found["b"].failed) == (3, 1)
    np.testing.assert_allclose([found["b"].survived, found["b"].time_to_crash], [0.0, 2.0])
