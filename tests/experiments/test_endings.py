"""Tests of the ends of flights: on the ground, or with a crash that is told."""

import json

import pytest
import yaml

from pegasus.experiments import Flight
from tests.cli_rig import pegasus

__all__ = ["pegasus"]

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")


def written(tmp_path, **fields):
    """Return the file of a short flight of an Iris that ends with a landing."""
    trajectory = [{"takeoff": {"height": 5.0}}, {"hold": {"duration": 3.0}}, "land"]
    vehicle = {"model": "iris", "backends": [{"model": "geometric", "trajectory": trajectory}]}
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump({"name": "s", "world": "flat", "vehicles": [vehicle]} | fields))
    return path


@pytest.mark.parametrize("seed", [1, 2])
def test_a_flight_on_estimates_ends_on_the_ground(tmp_path, seed):
    """A run would end while the vehicle is still in the air: its mission begins once the estimator does."""
    flight = Flight(written(tmp_path), {"seed": seed, "vehicles.0.estimator": {"model": "ekf"}})
    summary = flight.fly(record=False).summary
    assert summary.outcomes["iris"].word() == "landed"
    assert summary.outcomes["iris"].position[0, 2] < 0.1


def test_a_landing_that_does_not_end_is_waited_for_with_a_limit(tmp_path):
    """A vehicle that is blown away from the ground would be flown for ever."""
    flight = Flight(written(tmp_path))
    planned = flight.duration
    iris = flight.simulation.vehicles["iris"]
    iris.disturb(force=(0.0, 0.0, 16.0))
    summary = flight.fly(record=False).summary
    assert summary.outcomes["iris"].word() == "flying"
    assert planned + 29.0 < summary.simulated_time < planned + 32.0


def test_a_crash_does_not_pass(pegasus, tmp_path):
    """A batch job would take the crash of a vehicle that loses a motor for a success."""
    path = written(tmp_path, faults=[{"model": "motor_loss", "rotor": 2, "start": 7.0}], duration=9.0)
    code, out, err = pegasus("run", str(path), "--out", str(tmp_path / "out"))
    assert code == 4
    assert "pegasus: iris crashed: at " in err
    assert "crashed" in out
    (folder,) = (tmp_path / "out").iterdir()
    assert json.loads((folder / "summary.json").read_bytes())["outcomes"]["iris"]["outcome"] == "crashed"
