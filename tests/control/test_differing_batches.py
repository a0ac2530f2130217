"""Tests of batches whose copies differ: flights against those of single vehicles, plans, resets, errors."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.control import CascadedPIDController, GeometricController, trajectories
from pegasus.control.mission import Mission

PLACES = [(9.0 * k, -4.0 * k, 0.08) for k in range(4)]
STEPS = 3250


class InNumpy(GeometricController):
    def wrench(self, state, reference, dt):
        force, torque = super().wrench(state, reference, dt)
        return 1.0 * force, torque


KINDS = {"geometric": GeometricController, "pid": CascadedPIDController, "numpy": InNumpy}


def flights():
    """Return trajectories that land, idle on the way, go on for ever, and come from a function."""
    hop = trajectories.sequence(
        *(trajectories.takeoff(0.5), trajectories.land(), trajectories.idle(0.5), trajectories.takeoff(0.7))
    )
    round_trip = trajectories.sequence(
        *(trajectories.takeoff(0.6), trajectories.circle(0.3, height=0.6, yaw="forward"), trajectories.land())
    )
    eight = trajectories.lemniscate(1.0, height=1.2, laps=math.inf)
    return [round_trip, hop, eight, lambda t: (math.sin(t), 0.3 * t, 1.5)]


def flown(vehicles, steps=STEPS):
    """Add vehicles to a simulation, fly, and return the motion and command of each in all steps, by copy."""
    with Simulation("flat", engine="mujoco") as simulation:
        added = [simulation.add(vehicle) for vehicle in vehicles]
        rows = []
        for _ in range(steps):
            simulation.step()
            parts = []
            for vehicle in added:
                state, wanted = vehicle.state, vehicle.reference
                columns = [state.position, state.orientation, state.velocity, vehicle.command]
                columns += [wanted.position, wanted.velocity, wanted.acceleration, wanted.jerk]
                columns += [wanted.yaw[:, None], wanted.yaw_rate[:, None], wanted.idle[:, None]]
                parts.append(np.concatenate(columns, axis=1))
            rows.append(np.concatenate(parts))
    return np.array(rows)


def batch(kind, **given):
    backends = [KINDS[kind](given.pop("flights", flights()), **given)]
    return Multirotor("iris", name=kind, count=len(PLACES), position=PLACES, backends=backends, sensors={})


def single(kind, k, flight, **given):
    backends = [KINDS[kind](flight, **given)]
    return Multirotor("iris", name=f"{kind}{k}", position=PLACES[k], backends=backends, sensors={})


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_flies_its_trajectory_with_the_bits_of_a_single_vehicle(kind):
    """If this fails, a batch flies other paths, or one copy's landing disturbs another."""
    together = flown([batch(kind)])
    alone = flown([single(kind, k, flight) for k, flight in enumerate(flights())])
    assert (np.ptp(together[:, :, 2], axis=0) > 0.45).all()
    assert together[-1, :, 2].max() > 1.0 > 0.3 > together[-1, 0, 2]
    for k in range(len(PLACES)):
        np.testing.assert_array_equal(together[:, k], alone[:, k], err_msg=f"copy {k}")


def test_each_copy_has_its_mission_and_its_path_ahead():
    """If this fails, the panel draws the first path for all, or a run ends with the shortest flight."""
    pilot = GeometricController(flights())
    assert math.isinf(pilot.mission.duration)
    with Simulation("flat", engine="mujoco") as simulation:
        vehicle = simulation.add(Multirotor("iris", count=4, position=PLACES, backends=[pilot], sensors={}))
        assert vehicle.plan(simulation.time) is None
        simulation.run(5.6)
        assert vehicle.reference.segment == "mixed"
        assert [mission.reference.segment for mission in pilot.missions[:2]] == ["circle", "idle"]
        plan = vehicle.plan(simulation.time)
        paths = np.array([plan.path(copy, horizon=1.0, interval=0.25)[:5] for copy in (0, 2, 3)])
        for k in range(5):
            np.testing.assert_allclose(paths[:, k], vehicle.reference.position[[0, 2, 3]], atol=0.02)
            simulation.run(0.25)
        simulation.run(8.0)
        assert [mission.finished for mission in pilot.missions] == [True, True, False, False]
        assert not pilot.mission.finished
        np.testing.assert_array_equal(pilot.mission.landed, [True, False, False, False])
        here = vehicle.state.position[0]
        np.testing.assert_allclose(vehicle.plan(simulation.time).path(0), [here, here], atol=1e-3)


def test_the_law_is_reset_for_the_copies_that_leave_the_ground():
    """If this fails, one copy's lift-off forgets the integrals of all others in flight."""
    resets = []

    class Counted(GeometricController):
        def reset(self, copies):
            super().reset(copies)
            resets.append(copies.tolist())

    hold = trajectories.hold(height=1.0)
    late = trajectories.sequence(trajectories.idle(1.0), hold)
    with Simulation("flat", engine="mujoco") as simulation:
        pilot = Counted([hold, late, hold], spin_up=0.2)
        simulation.add(Multirotor("iris", count=3, backends=[pilot], sensors={}))
        simulation.run(1.0)
        before = pilot.columns["integral"].copy()
        assert np.abs(before[[0, 2]]).min() > 0
        simulation.run(1.0)
    assert resets == [[0, 2], [1]]


def test_points_of_many_missions_are_not_made_in_one_step(monkeypatch):
    """If this fails, one step in a few hundred takes as long as all others together."""
    calls, advance = [0], Mission.advance

    def counted(self, times, state):
        calls[-1] += 1
        return advance(self, times, state)

    monkeypatch.setattr(Mission, "advance", counted)
    count = 64
    rings = [trajectories.circle(1.0 + k / count, height=0.3, laps=math.inf) for k in range(count)]
    with Simulation("flat", engine="mujoco") as simulation:
        pilot = GeometricController(rings, spin_up=0.1)
        places = [(6.0 * (k % 8), 6.0 * (k // 8), 0.08) for k in range(count)]
        simulation.add(Multirotor("iris", count=count, position=places, backends=[pilot], sensors={}))
        simulation.run(6.0)
        assert {mission.reference.segment for mission in pilot.missions} == {"circle"}
        for _ in range(1100):
            calls.append(0)
            simulation.step()
    assert sum(calls[1:]) > 2 * count
    assert max(calls[1:]) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: [flights()[0], "land"], "trajectory.1 = 'land': must be a trajectory or a function of time"),
        (lambda: flights()[:3], "number of values of trajectory = 3: must have one value for each of the 4"),
        (lambda: [*flights()[:3], lambda t: t], "trajectory.3 = 0.0: must give three or four finite numbers"),
    ],
)
def test_a_list_that_does_not_fit_is_one_clear_line(given, message):
    """If this fails, a wrong list flies something else, or ends in an error of NumPy."""
    with (
        Simulation("flat", engine="mujoco") as simulation,
        pytest.raises(ConfigError, match=f"(?s)^{message}.*$"),
    ):
        simulation.add(batch("geometric", flights=given()))
