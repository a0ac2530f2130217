"""Tests of batches whose copies differ: flights against those of single vehicles, plans, resets, errors."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3, cross, rotate_inverse, scaled, vector
from pegasus.control import (
    Body,
    CascadedPIDController,
    Controller,
    GeometricController,
    GuidedController,
    Setpoint,
    torque_of,
    trajectories,
)
from pegasus.control.mission import Course
from tests.control.batch_flights import InNumpy, flown

PLACES = [(9.0 * k, -4.0 * k, 0.08) for k in range(4)]
STEPS = 3250


@dataclass(eq=False)
class Stiff(Controller):
    """Custom law with numbers and vectors of each copy, without a word about copies."""

    stiffness: float = 6.0
    damping: tuple[float, float, float] = (5.0, 5.0, 5.0)

    @staticmethod
    def law(own: "Stiff", body: Body, setpoint: Setpoint) -> tuple[Vec3, Vec3]:
        push = setpoint.acceleration - body.gravity + own.stiffness * (setpoint.position - body.position)
        push = push + scaled(vector(own.damping), setpoint.velocity - body.velocity)
        push = rotate_inverse(body.orientation, push)
        tilt = cross(Vec3(0.0, 0.0, 1.0), push * (1.0 / push[2]))
        turning = 120.0 * tilt - 18.0 * body.angular_velocity
        return Vec3(0.0, 0.0, body.mass * push[2]), torque_of(body, turning)


KINDS = {"geometric": GeometricController, "pid": CascadedPIDController, "numpy": InNumpy, "stiff": Stiff}


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


def batch(kind, **given):
    backends = [KINDS[kind](given.pop("flights", flights()), **given)]
    return Multirotor("iris", name=kind, count=len(PLACES), position=PLACES, backends=backends, sensors={})


def single(kind, k, flight, **given):
    backends = [KINDS[kind](flight, **given)]
    return Multirotor("iris", name=f"{kind}{k}", position=PLACES[k], backends=backends, sensors={})


@pytest.mark.parametrize("kind", ["geometric", "pid", "numpy"])
def test_a_copy_flies_its_trajectory_with_the_bits_of_a_single_vehicle(kind):
    """If this fails, a batch flies other paths, or one copy's landing disturbs another."""
    together = flown("flat", [batch(kind)], STEPS)
    alone = flown("flat", [single(kind, k, flight) for k, flight in enumerate(flights())], STEPS)
    assert (np.ptp(together[:, :, 2], axis=0) > 0.45).all()
    assert together[-1, :, 2].max() > 1.0 > 0.3 > together[-1, 0, 2]
    for k in range(len(PLACES)):
        np.testing.assert_array_equal(together[:, k], alone[:, k], err_msg=f"copy {k}")


SHARES = np.array([0.8, 0.9, 1.0, 1.1])
GAINS = {
    "geometric": {
        "position_gain": np.outer(SHARES, (6.7, 6.0, 6.7)),
        "attitude_gain": np.outer(SHARES, (120.0, 110.0, 60.0)),
        "integral_limit": 3.0 * SHARES,
        "tilt_limit": 0.5 * SHARES,
    },
    "pid": {
        "velocity_integral_gain": np.outer(SHARES, (1.0, 1.0, 2.0)).tolist(),
        "attitude_gain": 120.0 * SHARES,
        "spin_up": (SHARES - 0.5).tolist(),
        "idle_ratio": 0.15 * SHARES,
    },
    "numpy": {"velocity_gain": np.outer(SHARES, (5.7, 5.7, 5.0)), "idle_ratio": 0.15 * SHARES},
    "stiff": {"stiffness": 6.0 * SHARES, "damping": np.outer(SHARES, (5.0, 4.0, 5.0))},
}


@pytest.mark.parametrize("kind", GAINS)
def test_a_copy_flies_with_its_gains_with_the_bits_of_a_single_vehicle(kind):
    """If this fails, a tuning of many gains in one batch measures those of other copies."""
    gains = GAINS[kind]
    together = flown("flat", [batch(kind, flights=[flights()[0]] * 4, **gains)], 1500)
    given = [{name: rows[k] for name, rows in gains.items()} for k in range(4)]
    alone = flown("flat", [single(kind, k, flights()[0], **own) for k, own in enumerate(given)], 1500)
    for k in range(4):
        np.testing.assert_array_equal(together[:, k], alone[:, k], err_msg=f"copy {k}")
    near = together[:, :, :3] - np.array(PLACES)
    assert all(np.ptp(near[:, [k, k + 1]], axis=1).max() > 1e-4 for k in range(3))


def test_gains_that_differ_fly_one_mission_for_all():
    """If this fails, a batch of one trajectory pays for one mission per copy."""
    pilot = GeometricController(flights()[0], integral_limit=3.0 * SHARES)
    assert len(pilot.missions) == 1
    assert len(CascadedPIDController(flights()[0], spin_up=SHARES).missions) == 4


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
    calls, advance = [0], Course.advance

    def counted(self, times, state):
        calls[-1] += 1
        return advance(self, times, state)

    monkeypatch.setattr(Course, "advance", counted)
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
        (
            lambda: flights()[:3],
            "number of values of trajectory = 3: must be 4 as of the vehicle: one for each copy",
        ),
        (lambda: [*flights()[:3], lambda t: t], "trajectory.3 = 0.0: must give three or four finite numbers"),
    ],
)
def test_a_list_that_does_not_fit_is_one_clear_line(given, message):
    """If this fails, a wrong list flies something else, or ends in an error of NumPy."""
    with Simulation("flat", engine="mujoco") as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(batch("geometric", flights=given()))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (
            GeometricController,
            {"position_gain": [(6.0, 6.0, 6.0), (6.0, 0.0, 6.0)]},
            "position_gain of copy 1 = (6.0, 0.0, 6.0): all three must be above 0",
        ),
        (
            CascadedPIDController,
            {"tilt_limit": np.array([0.5, 0.6, 1.2])},
            "tilt_limit of copy 2 = 1.2: must be above 0 and at most 1 rad",
        ),
        (
            GeometricController,
            {"integral_limit": [3.0, 2.0], "spin_up": [1.0, 1.0, 1.0]},
            "number of values of integral_limit = 2: must be 3 as of spin_up: one for each copy",
        ),
        (
            GeometricController,
            {"attitude_gain": [1.0, 2.0, 3.0, 4.0]},
            "attitude_gain = [1.0, 2.0, 3.0, 4.0]: must hold 3 finite numbers",
        ),
        (
            GuidedController,
            {"trajectory": None, "spin_up": [1.0, 2.0]},
            "spin_up = [1.0, 2.0]: must be one number, for all copies",
        ),
    ],
)
def test_gains_that_are_not_allowed_name_field_and_copy(kind, given, message):
    """If this fails, one wrong row among 256 is a riddle, or flies."""
    with pytest.raises(ConfigError) as caught:
        kind(**{"trajectory": flights()[0], **given})
    assert str(caught.value).startswith(message)


def one_more_start(pilot, vehicle, copy=1):
    """Put a copy onto the ground elsewhere, and restart its mission."""
    place = (PLACES[copy][0], PLACES[copy][1] + 3.0, 0.08)
    vehicle.place(place, copies=copy)
    pilot.reset_copies(np.array([copy]))
    return place


@pytest.mark.parametrize(("kind", "given"), [("geometric", "one"), ("numpy", "each")])
def test_a_reset_copy_starts_anew_and_the_others_keep_their_bits(kind, given):
    """If this fails, the end of one episode disturbs all others, or the copy flies its old plan on."""
    flight = trajectories.lemniscate(1.0, height=1.2, laps=math.inf)
    runs = []
    for resets in ((), (1000, 1100)):
        vehicle = batch(kind, flights=flight if given == "one" else [flights()[0], flight, *flights()[2:]])
        pilot, rows = vehicle.backends.driver, []
        with Simulation("flat", engine="mujoco") as simulation:
            simulation.add(vehicle)
            for step in range(2600):
                if step in resets:
                    x, y, _ = one_more_start(pilot, vehicle)
                simulation.step()
                state = vehicle.state.position, vehicle.state.orientation, vehicle.command
                rows.append(np.concatenate([*state, vehicle.reference.position], axis=1))
                if resets and step == 1110:
                    assert vehicle.reference.segment == "mixed"
                    assert vehicle.reference.idle.tolist() == [False, True, False, False]
                    assert pilot.missions[1].reference.segment == "idle"
            assert len(pilot.missions) == (4 if resets or given == "each" else 1)
        runs.append(np.array(rows))
    others = [0, 2, 3]
    np.testing.assert_array_equal(runs[1][:, others], runs[0][:, others])
    path = runs[1][1100:, 1, :3]
    np.testing.assert_allclose(path[:250, :2], [[x, y]] * 250, atol=0.1)
    assert path[:250, 2].max() < 0.2
    assert path[-400:, 2].min() > 0.5
    assert np.abs(path[-400:, :2] - (x, y)).max() < 1.3


def test_a_reset_flight_is_that_of_a_fresh_vehicle():
    """If this fails, integrals or a plan of the last episode act in the next."""
    hold = trajectories.sequence(trajectories.takeoff(0.8), trajectories.circle(0.5, height=0.8))
    vehicle = batch("geometric", flights=hold, spin_up=0.5)
    pilot, rows = vehicle.backends.driver, []
    with Simulation("flat", engine="mujoco") as simulation:
        simulation.add(vehicle)
        for step in range(2800):
            if step == 1000:
                place = one_more_start(pilot, vehicle)
            simulation.step()
            rows.append(vehicle.reference.position[1] - vehicle.state.position[1])
    fresh = Multirotor("iris", position=place, backends=[GeometricController(hold, spin_up=0.5)], sensors={})
    with Simulation("flat", engine="mujoco") as simulation:
        simulation.add(fresh)
        lag = []
        for _ in range(1800):
            simulation.step()
            lag.append(fresh.reference.position[0] - fresh.state.position[0])
    # The rotors of the copy still turn when it is put down.
    np.testing.assert_allclose(rows[1000 + 300 :], lag[300:], atol=2e-3)


def test_reset_copies_of_a_guided_batch_wait_for_the_next_take_off():
    """If this fails, a copy that was put on the ground leaves it by itself, or the others come down."""
    pilot = GuidedController(spin_up=0.2)
    with Simulation("flat", engine="mujoco") as simulation:
        vehicle = simulation.add(Multirotor("iris", count=4, position=PLACES, backends=[pilot], sensors={}))
        pilot.takeoff(height=1.0).wait(simulation)
        one_more_start(pilot, vehicle)
        simulation.run(1.0)
        np.testing.assert_array_equal(vehicle.command[1], 0.0)
        np.testing.assert_array_equal(vehicle.state.position[:, 2] > 0.8, [True, False, True, True])
        pilot.land().wait(simulation)
        pilot.takeoff(height=1.0).wait(simulation)
        assert vehicle.state.position[:, 2].min() > 0.8
