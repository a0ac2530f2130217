"""Flights of the shipped scenario with the real ArduPilot: arming, square and landing."""

import os

import numpy as np
import pytest
from offboard_rig import part_ways

from pegasus import Multirotor, Simulation
from pegasus.backends import ArduPilot, GuidedArduPilot
from pegasus.config.files import load_scenario, load_vehicle
from pegasus.experiments import Flight
from pegasus.recording import read_log

pytestmark = [
    pytest.mark.ardupilot,
    pytest.mark.skipif(
        "ARDUPILOT_DIR" not in os.environ, reason="needs ArduPilot: set ARDUPILOT_DIR to a built one"
    ),
]


def test_ardupilot_flies_the_square_of_its_scenario(tmp_path):
    """ArduPilot would not arm, not follow its set-points, or not land and stop its rotors."""
    flight = Flight("ardupilot_square", {"vehicles.*.count": 2})
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


@pytest.mark.parametrize("name", ["tilted_hexarotor", "typhoon_h", "crazyflie"])
def test_a_vehicle_without_a_map_of_its_outputs(name, tmp_path):
    """A vehicle whose ArduPilot section has no scale would oscillate, turn over, or not leave the ground."""
    spec, _ = load_vehicle(name)
    scenario, _ = load_scenario("ardupilot_square")
    options = {key: value for key, value in scenario.vehicles[0].backends[0].items() if key != "model"}
    backend = ArduPilot(**options)
    backend.run_folder = tmp_path
    assert spec.ardupilot.model_fields_set <= {"parameters"}
    path, upright = [], []
    with Simulation("flat", seed=1) as simulation:
        vehicle = simulation.add(Multirotor(spec, backends=[backend]))
        for _ in simulation.stepping(scenario.duration):
            path.append(vehicle.state.position[0].copy())
            upright.append(vehicle.state.rotation[0, 2, 2])
        assert not vehicle.rotor_command.any()
    flown = np.array(path)
    assert flown[:, 2].max() == pytest.approx(5.0, abs=1.5)
    for corner in [(-2.5, -2.5), (2.5, -2.5), (2.5, 2.5), (-2.5, 2.5)]:
        high = flown[flown[:, 2] > 3.0, :2]
        assert np.sqrt(((high - corner) ** 2).sum(axis=1)).min() < 1.0
    assert flown[-1, 2] < 0.4
    assert min(upright) > np.cos(np.radians(25.0))


def test_guided_copies(tmp_path):
    """A command for one copy would move another, or ArduPilot land in spite of a later command."""
    pilot = GuidedArduPilot(parameters={"SCHED_LOOP_RATE": 138, "GPS1_TYPE": 100, "EK3_YAW_M_NSE": 0.05})
    pilot.run_folder = tmp_path
    with Simulation("flat", seed=9) as simulation:
        place = [[0.0, 0.0, 0.1], [0.0, 6.0, 0.1]]
        vehicle = simulation.add(Multirotor("iris", count=2, position=place, backends=[pilot]))
        pilot.takeoff(height=4.0).wait(simulation, timeout=90.0)
        height = part_ways(simulation, vehicle, pilot)
        np.testing.assert_allclose(vehicle.state.position[0], [4.0, 0.0, 3.0], atol=1.5)
        np.testing.assert_allclose(vehicle.state.position[1], [0.0, 6.0, height], atol=1.5)
        pilot.land().wait(simulation)
        assert vehicle.in_contact.all()
        assert not vehicle.rotor_command.any()


def test_arduplane_flies_its_scenario(tmp_path):
    """ArduPlane would not arm, take off, fly its waypoints, or land at the end of its approach."""
    scenario, _ = load_scenario("ardupilot_plane")
    options = {key: value for key, value in scenario.vehicles[0].backends[0].items() if key != "model"}
    backend = ArduPilot(**options)
    backend.run_folder = tmp_path
    path = []
    with Simulation("flat", seed=1) as simulation:
        vehicle = simulation.add(Multirotor("plane", backends=[backend]))
        for _ in simulation.stepping(scenario.duration):
            path.append(vehicle.state.position[0].copy())
        # It does not report the landing.
        assert backend.reached == [len(options["waypoints"]) - 1]
        assert vehicle.in_contact.all()
        assert np.linalg.norm(vehicle.state.velocity[0]) < 0.1
        assert not vehicle.rotor_command[0, 0]
    for entry in options["waypoints"][1:-1]:
        assert np.linalg.norm(np.array(path) - entry["waypoint"]["position"], axis=1).min() < 60.0
    assert abs(path[-1][1]) < 5.0
    assert abs(path[-1][0]) < 40.0


def test_a_quadplane_flies_its_scenario(tmp_path):
    """ArduPlane would not take off upright, fly on the wings, or land upright where it started."""
    scenario, _ = load_scenario("ardupilot_quadplane")
    options = {key: value for key, value in scenario.vehicles[0].backends[0].items() if key != "model"}
    backend = ArduPilot(**options)
    backend.run_folder = tmp_path
    path, lift, pusher = [], [], []
    with Simulation("flat", seed=1) as simulation:
        vehicle = simulation.add(Multirotor("standard_vtol", backends=[backend]))
        for _ in simulation.stepping(scenario.duration):
            path.append(vehicle.state.position[0].copy())
            lift.append(float(vehicle.rotor_command[0, :4].max()))
            pusher.append(float(vehicle.rotor_command[0, 4]))
        # It does not report the landing.
        assert backend.reached == [len(options["waypoints"]) - 1]
        assert vehicle.in_contact.all()
        assert not vehicle.rotor_command[0, :5].any()
        assert float(vehicle.state.rotation[0, 2, 2]) > 0.99
    flown, lift, pusher = np.array(path), np.array(lift), np.array(pusher)
    for entry in options["waypoints"][1:-1]:
        assert np.linalg.norm(flown - entry["waypoint"]["position"], axis=1).min() < 60.0
    # It leaves the ground and the waypoints upright, and flies on its wings for half a minute between.
    climbing = np.linalg.norm(flown[:, :2], axis=1)[(flown[:, 2] > 1.0) & (flown[:, 2] < 18.0)]
    assert climbing.max() < 3.0
    assert ((lift == 0.0) & (pusher > 500.0)).sum() > 30.0 * 250.0
    assert np.linalg.norm(flown[-1, :2]) < 3.0
