"""Tests of missions: start, landing, fleets, and smooth references."""

import math

import numpy as np
import pytest

from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.contracts.state import VehicleState
from pegasus.control import Mission, trajectories
from pegasus.control.trajectories import Point, Trajectory, trajectory_from_spec

DT = 0.01


def standing(position, yaw=0.0):
    """Return the state of vehicles at rest."""
    position = np.atleast_2d(np.asarray(position, dtype=float))
    state = VehicleState.at_rest(len(position), 4)
    state.position[:] = position
    state.orientation[:] = quaternion_from_euler(0.0, 0.0, np.broadcast_to(yaw, len(position)))
    state.rotation[:] = matrix_from_quaternion(state.orientation)
    return state


def perfect_flight(mission, state, duration, *, floor=-math.inf):
    """Let the vehicles be where the reference is, but never below the floor; return all references."""
    references = []
    for k in range(round(duration / DT)):
        mission.update(k * DT, state)
        reference = mission.reference.copy()
        references.append(reference)
        if mission.airborne:
            state.position[:], state.velocity[:] = reference.position, reference.velocity
            below = state.position[:, 2] < floor
            state.position[below, 2] = floor
            state.velocity[below] = 0.0
            state.orientation[:] = quaternion_from_euler(0.0, 0.0, reference.yaw)
            state.rotation[:] = matrix_from_quaternion(state.orientation)
    return references


def make(trajectory, *, count=1, relative=True, spin_up=1.0):
    return Mission(trajectory, count=count, relative=relative, spin_up=spin_up)


def test_stands_then_climbs_then_goes_to_the_beginning():
    """If this fails, a vehicle leaves the ground at once, or sideways."""
    mission, state = make(trajectories.circle(4.0, height=3.0)), standing((0, 0, 0.06))
    references = perfect_flight(mission, state, mission.duration + 1.0)
    names = list(dict.fromkeys(r.segment for r in references))
    assert names == ["idle", "takeoff", "transfer", "circle", "hold"]
    idle = [r for r in references if r.segment == "idle"]
    assert len(idle) == round(1.0 / DT)
    assert all(r.idle.all() for r in idle)
    assert not any(r.idle.any() for r in references[len(idle) :])
    climb = np.array([r.position[0] for r in references if r.segment == "takeoff"])
    np.testing.assert_allclose(climb[:, :2], 0.0, atol=1e-12)
    assert climb[0, 2] == pytest.approx(0.06, abs=1e-4)
    assert climb[-1, 2] == pytest.approx(3.0, abs=1e-4)
    assert mission.finished
    np.testing.assert_allclose(references[-1].position, [[4.0, 0.0, 3.0]], atol=1e-9)


def test_duration_is_known_before_and_exact_after_the_start():
    """If this fails, a run ends before its mission, or long after."""
    mission, state = make(trajectories.circle(4.0, height=3.0)), standing((0, 0, 0.06))
    assert mission.duration == pytest.approx(
        1.0 + trajectories.sequence(trajectories.takeoff(3.0), trajectories.circle(4.0, height=3.0)).duration
    )
    perfect_flight(mission, state, 1.5)
    before_end = perfect_flight(mission, state, mission.duration - DT)
    assert before_end[-1].segment == "circle"
    assert make(trajectories.hold(height=2.0)).duration == math.inf


def test_reference_is_smooth_from_take_off_on():
    """If this fails, the reference jumps where the flight begins or its parts meet."""
    trajectory = trajectories.sequence(
        trajectories.circle(4.0, height=3.0, yaw=1.0), trajectories.hold(height=2.0)
    )
    references = perfect_flight(make(trajectory), standing((1, 2, 0.06), yaw=-1.0), 40.0)[round(1.0 / DT) :]
    motion = [
        np.array([getattr(r, name)[0] for r in references])
        for name in ("position", "velocity", "acceleration", "jerk")
    ]
    # The trapezoid is off by h^3/12 of the second derivative, and by h^2/8 of the corner that a smooth step
    # leaves in the jerk: 60 v / T^3 with v = 0.72 m/s and T = 0.68 s on the last metre down.
    corner = 60 * 0.72 / 0.68**3 * DT**2 / 8
    for k, tolerance in enumerate((1e-5, 1e-5, corner)):
        grown = 0.5 * DT * (motion[k + 1][1:] + motion[k + 1][:-1])
        np.testing.assert_allclose(np.diff(motion[k], axis=0), grown, rtol=0, atol=tolerance)
    yaw = np.array([r.yaw[0] for r in references])
    rate = np.array([r.yaw_rate[0] for r in references])
    np.testing.assert_allclose(np.diff(yaw), 0.5 * DT * (rate[1:] + rate[:-1]), atol=1e-4)
    assert yaw[0] == pytest.approx(-1.0, abs=1e-9)
    assert yaw[-1] == pytest.approx(1.0, abs=1e-9)


def test_relative_flights_are_copies_and_absolute_ones_meet():
    """If this fails, a fleet collides, or cannot be sent to one place."""
    starts = np.array([[0, 0, 0.06], [5, 0, 0.06], [-3, 7, 0.06]])
    last = perfect_flight(make(trajectories.lemniscate(2.0), count=3), standing(starts), 12.0)[-1]
    np.testing.assert_allclose(last.position - last.position[0], starts - starts[0], atol=1e-9)
    np.testing.assert_allclose(last.velocity - last.velocity[0], 0.0, atol=1e-12)
    trajectory = trajectories.hold(position=(1.0, 2.0, 3.0))
    last = perfect_flight(make(trajectory, count=3, relative=False), standing(starts), 20.0)[-1]
    np.testing.assert_allclose(last.position, [[1.0, 2.0, 3.0]] * 3, atol=1e-9)


def test_unequal_ground_and_heading_fade():
    """If this fails, vehicles of a fleet on a slope start with a jump."""
    starts = np.array([[0, 0, 0.1], [5, 0, 1.1], [0, 5, -0.4]])
    references = perfect_flight(
        make(trajectories.hold(height=3.0, yaw=0.5), count=3), standing(starts, [0.0, 1.0, 3.0]), 15.0
    )
    first = references[round(1.0 / DT)]
    np.testing.assert_allclose(first.position, starts, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * first.yaw), np.exp(1j * np.array([0.0, 1.0, 3.0])), atol=1e-9)
    np.testing.assert_allclose(references[-1].position[:, 2], 3.0, atol=1e-9)
    np.testing.assert_allclose(references[-1].yaw, 0.5, atol=1e-9)
    step = np.diff([r.position for r in references[round(1.0 / DT) :]], axis=0)
    assert np.abs(step).max() < 2.5 * DT


def test_without_a_heading_every_vehicle_keeps_its_own():
    """If this fails, a fleet turns to the heading of its first vehicle."""
    references = perfect_flight(
        make(trajectories.circle(2.0), count=3),
        standing([[0, 0, 0], [9, 0, 0], [0, 9, 0]], [0.2, -2.0, 3.0]),
        12.0,
    )
    for reference in references:
        np.testing.assert_allclose(reference.yaw, [0.2, -2.0, 3.0])


def test_landing_ends_when_the_ground_is_felt():
    """If this fails, rotors turn on after a landing, or stop in the air."""
    trajectory = trajectories.sequence(trajectories.takeoff(2.0), trajectories.land(height=0.0))
    mission, state = make(trajectory), standing((0, 0, 0.06))
    perfect_flight(mission, state, mission.duration + 2.0, floor=0.06)
    assert mission.finished
    assert mission.landed.all()
    assert not mission.airborne
    assert mission.reference.segment == "idle"
    np.testing.assert_allclose(mission.reference.position, state.position)

    mission, state = make(trajectory), standing((0, 0, 0.06))
    references = perfect_flight(mission, state, mission.duration + 2.0)
    assert not mission.finished
    assert references[-1].velocity[0, 2] < 0
    references = perfect_flight(mission, state, mission.duration + 12.0, floor=-1.0)
    assert mission.finished
    assert state.position[0, 2] == -1.0


def test_vehicles_land_one_by_one():
    """If this fails, the first vehicle on the ground stops all, or the last keeps all running."""
    mission = make(trajectories.sequence(trajectories.takeoff(2.0), trajectories.land(height=0.0)), count=2)
    state = standing([[0, 0, 0.06], [5, 0, 0.06]])
    floor = np.array([0.06, -0.2])
    landed = []
    for k in range(round((mission.duration + 5.0) / DT)):
        mission.update(k * DT, state)
        landed.append(mission.landed.copy())
        if mission.airborne:
            state.position[:], state.velocity[:] = mission.reference.position, mission.reference.velocity
            below = state.position[:, 2] < floor
            state.position[below, 2] = floor[below]
            state.velocity[below] = 0.0
    landed = np.array(landed)
    first, second = landed.argmax(axis=0)
    assert 0 < first < second
    assert (second - first) * DT > 1.0
    assert mission.finished


def test_a_vehicle_in_the_air_does_not_stand():
    """If this fails, a vehicle placed in the air falls through the whole spin-up."""
    mission, state = make(trajectories.hold(height=10.0)), standing((0, 0, 10.0))
    for k in range(100):
        t = k * DT
        state.position[:, 2], state.velocity[:, 2] = 10.0 - 4.9 * t * t, -9.8 * t
        mission.update(t, state)
        if mission.airborne:
            break
    assert state.position[0, 2] == pytest.approx(9.7, abs=0.03)
    assert mission.reference.position[0, 2] == pytest.approx(state.position[0, 2])
    ready = make(trajectories.hold(height=10.0), spin_up=0.0)
    ready.update(0.0, standing((0, 0, 10.0)))
    assert ready.airborne


def test_idles_between_a_landing_and_the_next_take_off():
    """If this fails, a delivery that lands on the way keeps pushing into the ground."""
    trajectory = trajectories.sequence(
        trajectories.takeoff(1.0), trajectories.land(), trajectories.idle(2.0), trajectories.takeoff(1.0)
    )
    mission, state = make(trajectory), standing((0, 0, 0.06))
    references = perfect_flight(mission, state, mission.duration + 0.5, floor=0.06)
    names = [r.segment for r in references]
    changes = [name for k, name in enumerate(names) if k == 0 or name != names[k - 1]]
    assert changes == ["idle", "takeoff", "land", "idle", "takeoff", "hold"]
    second_idle = names[names.index("land") :].count("idle")
    assert second_idle * DT == pytest.approx(2.0, abs=2 * DT)


def test_may_end_idle():
    """If this fails, a mission that ends with idling on the ground is never over."""
    mission = make(
        trajectories.sequence(trajectories.takeoff(1.0), trajectories.land(), trajectories.idle(1.0))
    )
    state = standing((0, 0, 0.06))
    perfect_flight(mission, state, mission.duration - 1.0, floor=0.06)
    assert not mission.finished
    for k in range(200):
        mission.update(mission.duration - 1.0 + k * DT, state)
    assert mission.finished
    assert not mission.airborne


def test_a_trajectory_that_ends_in_motion_is_stopped_at_its_end():
    """If this fails, a vehicle flies away when its trajectory is over."""

    class Dash(Trajectory):
        duration = 2.0

        def sample(self, t):
            return Point((t, 0.0, 1.0), velocity=(1.0, 0.0, 0.0))

    mission = make(Dash(), spin_up=0.0)
    references = perfect_flight(mission, standing((0, 0, 1.0)), 20.0)
    np.testing.assert_allclose(references[-1].position, [[2.0, 0.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose(references[-1].velocity, 0.0)
    assert references[-1].segment == "hold"
    assert "trajectory" in {r.segment for r in references}


def test_a_vehicles_reference_does_not_depend_on_the_others():
    """If this fails, a fleet flies another path than a single vehicle, or rounds it otherwise."""
    trajectory = trajectories.sequence(
        trajectories.takeoff(2.0),
        trajectories.lemniscate(3.0, yaw="forward"),
        trajectories.waypoints(((0, 0, 2), (3, 1, 3), (5, 4, 2)), yaw="forward"),
        trajectories.land(),
    )
    starts = np.array([[1.3, -0.7, 0.06], [9.1, 0, 0.06], [0, 9.2, 0.06]])
    alone, together = (
        perfect_flight(
            make(trajectory, count=n), standing(starts[:n], [0.4, -2.0, 3.0][:n]), 60.0, floor=0.06
        )
        for n in (1, 3)
    )
    for one, three in zip(alone, together, strict=True):
        assert one.segment == three.segment
        for name in ("position", "velocity", "acceleration", "jerk", "yaw", "yaw_rate", "idle"):
            np.testing.assert_array_equal(getattr(one, name), getattr(three, name)[:1], name)


def test_points_made_ahead_are_those_of_each_time():
    """Set-points of an autopilot would be of other times where its pilot paused, or where a phase begins."""
    parts = [
        {"takeoff": {"height": 2.0}},
        {"waypoints": {"points": [[0.0, 0.0, 2.0], [3.0, 1.0, 2.0]]}},
        {"land": {}},
    ]
    missions = [Mission(trajectory_from_spec(parts), count=1, relative=True, spin_up=1.0) for _ in range(2)]
    state = VehicleState.at_rest(1, 4)
    times = 0.052 * np.arange(400)
    times[150:] += 0.0123
    for t in times:
        for mission, interval in zip(missions, (0.0, 0.052), strict=True):
            mission.interval = interval
            mission.update(t, state)
        each, ahead = (mission.reference for mission in missions)
        for name in ("position", "velocity", "acceleration", "yaw"):
            np.testing.assert_allclose(getattr(ahead, name), getattr(each, name), atol=1e-9)
        assert (ahead.idle == each.idle).all()
        state.position[...] = each.position
    assert all(mission.finished for mission in missions)
