"""The shipped scenario on the real ArduPilot: it arms, flies the square and lands by itself."""

import os

import numpy as np
import pytest

from pegasus.recording import read_log
from pegasus.run import Flight, Overrides


@pytest.mark.ardupilot
@pytest.mark.skipif(
    "ARDUPILOT_DIR" not in os.environ, reason="needs ArduPilot: set ARDUPILOT_DIR to a built one"
)
def test_ardupilot_flies_the_square_of_its_scenario(tmp_path):
    """ArduPilot would not arm, not follow its set-points, or not land and stop its rotors."""
    flight = Flight("ardupilot_square", Overrides(vehicles=2))
    vehicle = flight.simulation.vehicles["iris"]
    run = flight.fly(out=tmp_path)
    errors = run.summary.tracking["iris"].segments
    assert {"takeoff", "square", "land"} <= errors.keys()
    # ArduPilot's own GPS and barometer err by some decimetres, and so does the flight.
    assert errors["square"].maximum < 2.0
    assert (vehicle.state.position[:, 2] < 0.2).all()
    estimate = read_log(run.folder)["iris/estimate"]
    flown = estimate.time > 30.0
    assert np.abs(estimate.position_error[flown]).max() < 3.0
    assert np.degrees(estimate.attitude_error[flown]).max() < 10.0
    assert not vehicle.rotor_command.any()
