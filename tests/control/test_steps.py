"""Steps of the setpoint flown by every shipped vehicle with the gains derived from it."""

import math
from bisect import bisect_right

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.config.files import load_vehicle, load_world
from pegasus.control import (
    CascadedPIDController,
    GeometricController,
    GuidedController,
    GuidedPIDController,
    trajectories,
)
from pegasus.control.trajectories import Point, Trajectory
from pegasus.control.tuning import tuning_of
from pegasus.dynamics import FirstOrderMotor, IdealMotor

VEHICLES = (
    "coaxial_x8",
    "crazyflie",
    "heavy_octorotor",
    "iris",
    "octorotor",
    "pegasus",
    "racer",
    "tilted_hexarotor",
    "typhoon_h",
    "x500",
)
CONTROLLERS = (GeometricController, CascadedPIDController)
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
AT = 12.0
"""Time of the first step [s]: the integrals need it to forget the start."""
FAR, TURN = AT + 6.0, AT + 12.0
"""Times of a longer step and of a turn [s]."""
ANGLE = 3.14
"""Angle of the turn [rad]."""


class Steps(Trajectory):
    """Hold that jumps at several times.

    Args:
        place: Place until the first step [m].
        steps: Time [s], move [m] and heading [rad] of each step.
    """

    name = "steps"
    duration = math.inf

    def __init__(self, place, steps):
        moves = np.cumsum([place, *(move for _, move, _ in steps)], axis=0)
        self.times = [0.0, *(time for time, _, _ in steps)]
        self.points = [
            Point(tuple(there), yaw=yaw)
            for there, yaw in zip(moves, [0.0, *(yaw for _, _, yaw in steps)], strict=True)
        ]

    def sample(self, t):
        return self.points[bisect_right(self.times, t) - 1]


def response(steps, *, end, names=VEHICLES, world="flat", masses=(1.0,)):
    """Fly steps, and return what each vehicle does from the first one on.

    Args:
        steps: Time [s], moves of the copies (M, 3) [m] and heading [rad] of each step.
        end: Time at which the flight ends [s].
        names: Names of the vehicles.
        world: The world.
        masses: Masses with which each of them flies, as shares of that of its file.

    Returns:
        Times (K,), positions (K, vehicles, M, 3) and headings (K, vehicles, M).
    """
    # Vehicles of one kind are no neighbours: few rows run the code of other tests, many would need their own.
    kindred = [(name, kind, mass) for kind in CONTROLLERS for mass in masses for name in names]
    count = len(steps[0][1])
    with Simulation(world) as sim:
        flying = []
        for row, (name, kind, mass) in enumerate(kindred):
            spots = [(30.0 * k, 30.0 * row, 40.0) for k in range(count)]
            flights = [
                Steps(spot, [(time, moves[k], yaw) for time, moves, yaw in steps])
                for k, spot in enumerate(spots)
            ]
            file = load_vehicle(name)[0]
            vehicle = Multirotor(
                file.model_copy(update={"mass": mass * file.mass}),
                name=f"vehicle_{row}",
                count=count,
                position=spots,
                backends=[kind(flights, relative=False, spin_up=0.0)],
                sensors={},
            )
            flying.append(sim.add(vehicle))
        sim.run(AT)
        times, positions, headings = [], [], []
        while sim.time < end:
            sim.step()
            times.append(sim.time)
            positions.append(np.array([vehicle.state.position for vehicle in flying]))
            left = np.array([vehicle.state.rotation[:, :, 1] for vehicle in flying])
            headings.append(np.arctan2(-left[..., 0], left[..., 1]))
        positions = np.array(positions)
        positions -= [[(30.0 * k, 30.0 * row, 40.0) for k in range(count)] for row in range(len(flying))]
    return np.array(times), positions, np.array(headings)


def moved(positions, moves):
    """Return the moved distances as shares of the moves of all copies."""
    return (positions * moves).sum(axis=-1) / (moves * moves).sum(axis=1)


def settling(times, moved):
    """Return the last time outside 5 % of the step [s], and the overshoot as a share of it."""
    outside = np.abs(moved - 1.0) > 0.05
    last = np.where(outside, times[:, None, None], 0.0).max(axis=0)
    return last, moved.max(axis=0) - 1.0


@pytest.fixture(scope="module")
def flight():
    """Flight of every vehicle: a step of a metre, six seconds later one of five more, then half a turn."""
    return response([(AT, AXES, 0.0), (FAR, 5.0 * AXES, 0.0), (TURN, 0.0 * AXES, ANGLE)], end=TURN + 8.0)


def test_a_step_of_a_metre_settles_within_two_seconds(flight):
    """If this fails, a shipped vehicle overshoots, creeps to its setpoint, or its loops ring."""
    times, positions, _ = flight
    during = times < FAR
    last, overshoot = settling(times[during] - AT, moved(positions[during], AXES))
    assert last.max() < 2.0, last
    assert overshoot.max() < 0.05, overshoot


def test_a_step_of_five_metres_is_braked_in_time(flight):
    """If this fails, a far setpoint is approached faster than the thrust can brake."""
    times, positions, _ = flight
    during = (times > FAR) & (times < TURN)
    last, overshoot = settling(times[during] - FAR, moved(positions[during] - AXES, 5.0 * AXES))
    assert last.max() < 3.0, last
    assert overshoot.max() < 0.05, overshoot


def test_half_a_turn_is_braked_with_the_yaw_torque_there_is(flight):
    """If this fails, a vehicle turns faster than its yaw torque can stop, and swings back."""
    times, _, yaw = flight
    during = times > TURN
    turned = np.unwrap(yaw[during], axis=0) / ANGLE
    # The short way may be the other one.
    turned = np.where(turned[-1] > 0.0, turned, -turned * ANGLE / (2.0 * math.pi - ANGLE))
    last, overshoot = settling(times[during] - TURN, turned)
    assert overshoot.max() < 0.05, overshoot
    assert last.max() < 4.0, last


def test_other_masses_are_flown():
    """If this fails, a payload or a lighter battery makes the loops overshoot or unstable."""
    names = ("heavy_octorotor", "iris", "racer")
    times, positions, _ = response([(AT, AXES, 0.0)], end=AT + 6.0, names=names, masses=(0.8, 1.2))
    last, overshoot = settling(times - AT, moved(positions, AXES))
    assert overshoot.max() < 0.1, overshoot
    assert last.max() < 2.5, last


def test_wind_is_taken_out():
    """If this fails, the integral is too weak for steady wind, or a step in wind overshoots."""
    world = load_world("flat")[0].model_copy(
        update={"wind": {"model": "constant", "mean_velocity": [4.0, -3.0, 0.0]}}
    )
    names = ("coaxial_x8", "crazyflie", "heavy_octorotor", "iris", "racer")
    times, positions, _ = response([(AT, AXES, 0.0)], end=AT + 6.0, names=names, world=world)
    last, overshoot = settling(times - AT, moved(positions, AXES))
    assert overshoot.max() < 0.08, overshoot
    assert last.max() < 2.5, last


@pytest.mark.parametrize("kind", [GuidedController, GuidedPIDController])
def test_guided_vehicles_reach_a_point_within_two_seconds(kind):
    """If this fails, the reference of guided flight creeps to its target, or the vehicle overshoots it."""
    pilots = [kind() for _ in VEHICLES]
    with Simulation("flat") as sim:
        flying = [
            sim.add(
                Multirotor(
                    name,
                    count=3,
                    position=[(30.0 * k, 30.0 * row, 0.5) for k in range(3)],
                    backends=[pilot],
                    sensors={},
                )
            )
            for row, (name, pilot) in enumerate(zip(VEHICLES, pilots, strict=True))
        ]
        for pilot in pilots:
            pilot.takeoff(height=5.0)
        sim.run(AT)
        start = [pilot.reference.position.copy() for pilot in pilots]
        for pilot, place in zip(pilots, start, strict=True):
            pilot.goto(place + np.eye(3))
        times, moved = [], []
        begin = sim.time
        while sim.time < begin + 5.0:
            sim.step()
            times.append(sim.time - begin)
            away = [vehicle.state.position - place for vehicle, place in zip(flying, start, strict=True)]
            moved.append((np.array(away) * np.eye(3)).sum(axis=2))
    last, overshoot = settling(np.array(times), np.array(moved))
    assert last.max() < 2.0, last
    assert overshoot.max() < 0.05, overshoot


@pytest.mark.parametrize("lag", [0.03, 0.05, 0.12])
def test_gains_have_the_standard_form(lag):
    """If this fails, the gains are not those of the rule: stability indices of 2.5, 2, 2, 2 (Manabe 1998)."""
    motor = FirstOrderMotor(time_constant_up=0.01, time_constant_down=lag)
    tuning = tuning_of(motor.time_constant(500.0, 0.1, 0.0), (50.0, 50.0, 10.0))
    left = lag / (1.0 + tuning.torque_lead)
    attitude = [left, 1.0, tuning.rate, tuning.attitude]
    loop = [*attitude, tuning.attitude * tuning.velocity, tuning.attitude * tuning.position]
    a = np.array(loop)
    np.testing.assert_allclose(a[1:-1] ** 2 / (a[:-2] * a[2:]), [2.0, 2.0, 2.0, 2.5])
    assert np.roots(loop).real.max() < 0.0


def test_an_ideal_motor_gets_the_gains_of_a_fast_one():
    """If this fails, a motor without lag has infinite gains."""
    assert IdealMotor().time_constant(500.0, 0.1, 0.0) is None
    assert tuning_of(None, (50.0, 50.0, 10.0)) == tuning_of(0.01, (50.0, 50.0, 10.0))


def test_given_gains_are_kept():
    """If this fails, gains of a user are changed, or come with feedback that the user did not ask for."""
    pilot = GeometricController(
        trajectories.hold(height=1.0),
        position_gain=(3.0, 4.0, 5.0),
        integral_gain=(1.0, 1.0, 1.0),
        attitude_gain=(90.0, 90.0, 30.0),
    )
    with Simulation("flat") as sim:
        sim.add(Multirotor("octorotor", backends=[pilot], sensors={}))
        (flown,) = pilot.gains
        assert flown.position_gain == (3.0, 4.0, 5.0)
        assert flown.integral_lead == (0.0, 0.0, 0.0)
        assert flown.attitude_gain == (90.0, 90.0, 30.0)
        assert flown.torque_lead == 0.0
        assert min(flown.velocity_gain) > 0.0
        assert pilot.velocity_gain is None
