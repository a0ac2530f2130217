"""Tests of flights at an attitude: machines whose rotors push sideways, and those that cannot."""

from unittest.mock import MagicMock

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.backends.mavlink.offboard import _Autopilot
from pegasus.base.errors import ConfigError
from pegasus.base.frames import euler_from_quaternion, matrix_from_quaternion, quaternion_from_rotation_vector
from pegasus.base.step_math import Quat, Vec3
from pegasus.control import CascadedPIDController, GeometricController, GuidedController, trajectories
from pegasus.control.full_pose import nearest_attitude
from pegasus.control.mixing import allocated
from pegasus.environment import ConstantWind
from tests.flyers import PLAIN_IRIS

TWENTY = np.radians(20.0)


def tilted(attitude, duration=8.0):
    """Return a flight that holds an attitude from the start on, 3 m above the ground."""
    return trajectories.hold(position=(0.0, 0.0, 3.0), attitude=attitude, duration=duration)


def flown(name, flight, seconds, wind=(0.0, 0.0, 0.0), seed=1):
    """Return errors of position [m] and attitude [rad], positions and attitudes of a flight at each step."""
    controller = GeometricController(flight, spin_up=0.0)
    with Simulation("flat", seed=seed) as sim:
        sim.environment.wind = ConstantWind(mean_velocity=wind)
        vehicle = sim.add(Multirotor(name, position=(0.0, 0.0, 3.0), backends=[controller]))
        rows = []
        for _ in range(round(seconds * sim.rate)):
            sim.step()
            asked, state = vehicle.reference, vehicle.state
            nearness = min(abs(float((state.orientation * asked.attitude).sum())), 1.0)
            off = float(np.linalg.norm(state.position - asked.position))
            rows.append([off, 2.0 * np.arccos(nearness), *state.position[0], *state.orientation[0]])
    return np.array(rows)


@pytest.mark.parametrize("name", ["omnicopter", "tilt_hexarotor"])
@pytest.mark.parametrize("attitude", [(TWENTY, 0.0, 0.0), (0.0, -TWENTY, 0.7)])
def test_holds_a_position_at_twenty_degrees(name, attitude):
    """If this fails, a machine that pushes sideways drifts where it is asked to lean."""
    rows = flown(name, tilted(attitude), 6.0)
    last = rows[rows.shape[0] * 5 // 6 :]
    assert last[:, 0].max() < 0.02
    assert last[:, 1].max() < np.radians(0.5)


@pytest.mark.parametrize("name", ["omnicopter", "tilt_hexarotor"])
def test_holds_it_in_wind(name):
    """If this fails, a wind of 4 m/s turns or carries away what leans by 20 degrees."""
    rows = flown(name, tilted((0.0, TWENTY, 0.0)), 8.0, wind=(4.0, 0.0, 0.0))
    assert rows[:, 0].max() < 0.25
    assert rows[len(rows) * 7 // 8 :, 0].max() < 0.05
    assert rows[len(rows) // 2 :, 1].max() < np.radians(2.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_omnicopter_turns_on_the_spot(axis):
    """If this fails, a full turn leaves its place: thrust is lost in some attitude."""
    rows = flown("omnicopter", trajectories.turn(axis=axis, rate=1.5), 6.5)
    turned = quaternion_from_rotation_vector(np.pi * np.array([axis]))[0]
    assert np.abs(rows[:, 5:] @ turned).max() > 0.9999
    assert rows[:, 0].max() < 0.05
    assert rows[:, 1].max() < np.radians(3.0)


def test_flies_upside_down_along_points():
    """If this fails, an attitude is lost where a trajectory moves."""
    points = ((0.0, 0.0, 3.0), (1.0, 0.0, 3.0), (1.0, 1.0, 3.5))
    first = trajectories.turn(axis=(1.0, 0.0, 0.0), angle=np.pi, rate=2.0, acceleration=3.0)
    path = trajectories.waypoints(points=points, attitude=(np.pi, 0.0, 0.0))
    flight = trajectories.sequence(first, path)
    rows = flown("omnicopter", flight, flight.duration)
    along = rows[round(len(rows) * first.duration / flight.duration) + 50 :]
    assert along[:, 0].max() < 0.05
    assert along[:, 1].max() < np.radians(3.0)
    assert np.linalg.norm(along[-1, 2:5] - points[-1]) < 0.05


def test_an_attitude_gives_way_to_the_force():
    """If this fails, a hexarotor with too little lateral force flies away to keep its attitude."""
    rows = flown("tilted_hexarotor", tilted((0.0, 2.0 * TWENTY, 0.0)), 6.0)
    roll, pitch, yaw = np.degrees(euler_from_quaternion(rows[-1, 5:]))
    assert 5.0 < pitch < 10.0
    assert abs(roll) < 0.1
    assert abs(yaw) < 0.1
    assert rows[-1, 0] < 0.02


def test_same_seed_same_bits():
    """If this fails, a flight at an attitude cannot be repeated."""
    first, second = (flown("tilt_hexarotor", tilted((TWENTY, 0.0, 0.0)), 1.0) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(
    ("make", "name", "said"),
    [
        (
            GeometricController,
            PLAIN_IRIS,
            "trajectory: asks for an attitude, but the rotors cannot produce force",
        ),
        (
            CascadedPIDController,
            "omnicopter",
            "trajectory: asks for an attitude, which a CascadedPIDController",
        ),
    ],
)
def test_who_cannot_says_so(make, name, said):
    """If this fails, an attitude is ignored in silence."""
    with Simulation("flat", seed=1) as sim, pytest.raises(ConfigError) as caught:
        sim.add(Multirotor(name, backends=[make(tilted((TWENTY, 0.0, 0.0)))]))
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attitude": (0.1, 0.2)}, "attitude = (0.1, 0.2)"),
        ({"attitude": (0.0, 0.0, 0.0, 2.0)}, "length 1"),
        ({"attitude": (0.0, 0.0, 45.0)}, "45 degrees are 0.7854 rad"),
        ({"attitude": (0.1, 0.0, 0.0), "yaw": 1.0}, "an attitude has a heading"),
    ],
)
def test_bad_attitudes_are_named(given, said):
    """If this fails, a wrong attitude is flown, or gives an error that names nothing."""
    with pytest.raises(ConfigError, match=said.replace("(", r"\(").replace(")", r"\)")):
        trajectories.hold(height=2.0, **given)


def allocation_of(name):
    """Return the allocation of a shipped machine, and its rotors."""
    controller = GeometricController(trajectories.hold(height=2.0))
    with Simulation("flat", seed=1) as sim:
        vehicle = sim.add(Multirotor(name, backends=[controller]))
    return controller, vehicle


def test_tilting_rotors_give_the_wrench_of_their_places():
    """If this fails, a tilted rotor pushes elsewhere than its allocation assumes: hub and axis turn."""
    controller, vehicle = allocation_of("tilt_hexarotor")
    allocation, layout = controller.allocation, vehicle.layout
    hinges = vehicle.parameters[0].airframe.hinges
    rng = np.random.default_rng(3)
    wanted = rng.uniform(-1.0, 1.0, (20, 6)) * (8.0, 8.0, 3.0, 0.3, 0.3, 0.3) + (0, 0, 31.0, 0, 0, 0)
    thrusts = allocation.allocate(wanted, np.zeros((20, 1)), np.full((20, 1), 11.0))
    for asked, row in zip(wanted, thrusts, strict=True):
        total = np.zeros(6)
        for r, hinge in enumerate(hinges.values()):
            aside = row[6 + r]
            by = quaternion_from_rotation_vector(np.arctan2(aside, row[r]) * np.array([hinge.axis]))
            turn = matrix_from_quaternion(by[0])
            place = hinge.position + turn @ (layout.position[r] - hinge.position)
            force = np.hypot(row[r], aside) * (turn @ layout.axis[r])
            lever = np.cross(place - vehicle.center_of_mass, force)
            moment = lever - layout.spin[r] * controller._airframe.moment_ratio * force
            total += np.concatenate([force, moment])
        # Places and axes of the file are rounded to 1e-5.
        np.testing.assert_allclose(total, asked, atol=1e-6)


@pytest.mark.parametrize("name", ["omnicopter", "tilt_hexarotor", "tilted_hexarotor"])
def test_forces_in_the_cone_are_within_the_limits(name):
    """If this fails, an attitude is asked of rotors that cannot carry the weight at it."""
    controller, vehicle = allocation_of(name)
    push, limits = controller.push, controller._limits
    rng, widest = np.random.default_rng(4), np.arccos(push.cosine)
    assert push.reach > vehicle.mass * 9.81
    for _ in range(200):
        tilt, azimuth = widest * rng.uniform(), rng.uniform(0.0, 2.0 * np.pi)
        way = np.array([np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth), np.cos(tilt)])
        size = push.reach / (np.cos(tilt) + push.slope * np.sin(tilt)) if push.cosine > 0.0 else push.reach
        wrench = np.array([[*(0.99 * size * way), 0.0, 0.0, 0.0]])
        thrust = controller.allocation.allocate(wrench, limits["lower"][:, None], limits["upper"][:, None])
        np.testing.assert_allclose(controller.allocation.matrix @ thrust[0], wrench[0], atol=1e-9)


def test_vertical_lift_outlives_the_rest_when_saturated():
    """If this fails, an omnicopter on its side drops when it is asked to push and turn too hard."""
    controller, _ = allocation_of("omnicopter")
    allocation = controller.allocation
    up = Vec3(1.0, 0.0, 0.0)
    thrust = allocated(allocation.mixing, Vec3(10.0, 0.0, 40.0), Vec3(20.0, 0.05, 0.0), -8.0, 8.0, up)
    got = allocation.matrix @ np.array(thrust)
    np.testing.assert_allclose(got[[0, 4, 5]], [10.0, 0.05, 0.0], atol=1e-9)
    assert np.abs(thrust).max() <= 8.0
    assert 0.0 < got[3] < 20.0
    assert 0.0 <= got[2] < 40.0


def test_the_nearest_attitude_is_at_the_side_of_the_cone():
    """If this fails, an attitude is turned further than the force asks for, or not far enough."""
    controller, _ = allocation_of("tilted_hexarotor")
    push = controller.push
    rng = np.random.default_rng(5)
    for _ in range(50):
        q = quaternion_from_rotation_vector(rng.uniform(-2.0, 2.0, (1, 3)))[0]
        force = rng.normal(size=3)
        found = nearest_attitude(Quat(*q), Vec3(0, 0, 0), Vec3(*force), push)
        x, y, z = (np.array([v[k] for k in range(3)]) for v in found[:3])
        np.testing.assert_allclose(np.cross(x, y), z, atol=1e-9)
        asked = matrix_from_quaternion(q)[:, 2]
        before, after = (np.arccos(np.clip(v @ force / np.linalg.norm(force), -1, 1)) for v in (asked, z))
        widest = np.arccos(push.cosine)
        assert after == pytest.approx(min(before, widest), abs=1e-7)
        # The least rotation between them.
        assert np.arccos(np.clip(asked @ z, -1, 1)) == pytest.approx(max(before - widest, 0.0), abs=1e-6)


def test_bits_of_allocation_are_those_of_python():
    """If this fails, the compiled allocation is another one than that in Python."""
    controller, _ = allocation_of("omnicopter")
    rng = np.random.default_rng(6)
    wrench = rng.normal(size=(40, 6)) * (8.0, 8.0, 8.0, 0.6, 0.6, 0.6)
    compiled = controller.allocation.allocate(wrench, np.full((40, 1), -8.0), np.full((40, 1), 8.0))
    python = [
        allocated(controller.allocation.mixing, Vec3(*w[:3]), Vec3(*w[3:]), -8.0, 8.0)
        for w in wrench.tolist()
    ]
    assert np.array(python).tobytes() == compiled.tobytes()


def guided(name, **options):
    """Return a simulation, a vehicle and its pilot."""
    pilot = GuidedController(spin_up=0.1)
    sim = Simulation("flat", seed=1)
    return sim, sim.add(Multirotor(name, backends=[pilot], **options)), pilot


def test_pilots_command_attitudes():
    """If this fails, `goto` loses the attitude on its way, or after it, or keeps it when it should not."""
    sim, vehicle, pilot = guided("omnicopter", count=2, spacing=4.0)
    with sim:
        pilot.takeoff(height=1.5).wait(sim)
        inverted = (1.0, 0.0, 0.0, 0.0)
        pilot.goto([1.0, 0.0, 2.0], attitude=inverted, copies=0)
        pilot.goto([1.0, 4.0, 2.0], attitude=(0.0, TWENTY, 0.5), copies=1).wait(sim)
        sim.run(duration=3.0)
        pilot.velocity([0.5, 0.0, 0.0])
        sim.run(duration=1.0)
        angles = euler_from_quaternion(vehicle.state.orientation)
        np.testing.assert_allclose(angles[1], [0.0, TWENTY, 0.5], atol=0.02)
        np.testing.assert_allclose(abs(angles[0, 0]), np.pi, atol=0.02)
        np.testing.assert_allclose(vehicle.state.velocity, [[0.5, 0.0, 0.0]] * 2, atol=0.03)
        pilot.goto([1.0, 0.0, 2.0], copies=0)
        sim.run(duration=2.0)
        assert abs(euler_from_quaternion(vehicle.state.orientation)[0, :2]).max() < 0.02
        pilot.land().wait(sim)


def test_a_moderated_attitude_is_reached():
    """If this fails, a script waits forever for an attitude that the rotors cannot hold."""
    sim, vehicle, pilot = guided("tilted_hexarotor")
    with sim:
        pilot.takeoff().wait(sim)
        pilot.goto([0.5, 0.0, 1.5], attitude=(0.0, 2.0 * TWENTY, 0.0)).wait(sim, timeout=10.0)
        assert vehicle.state.position[0] == pytest.approx([0.5, 0.0, 1.5], abs=0.15)


def test_pilots_of_others_refuse_attitudes():
    """If this fails, a quadrotor is sent off with an attitude that it ignores."""
    sim, _, pilot = guided(PLAIN_IRIS)
    with sim:
        pilot.takeoff().wait(sim)
        with pytest.raises(ConfigError, match="goto: asks for an attitude, but the rotors cannot produce"):
            pilot.goto([0.0, 0.0, 2.0], attitude=(0.1, 0.0, 0.0))


def test_attitudes_of_a_sequence():
    """If this fails, a machine flips back on the way between two parts at one attitude."""
    upside_down = (np.pi, 0.0, 0.0)
    turn = trajectories.turn(axis=(2.0, 0.0, 0.0), angle=-np.pi)
    parts = (
        trajectories.takeoff(height=2.0),
        turn,
        trajectories.hold(position=(3.0, 0.0, 2.0), attitude=upside_down, duration=1.0),
        trajectories.land(),
    )
    flight = trajectories.sequence(*parts)
    times = np.linspace(0.0, flight.duration, 2001)
    rows, names = flight.attitudes(times), [flight.segment(t) for t in times.tolist()]
    asked = rows[:, :4].any(axis=1)
    assert [names[k] for k in np.flatnonzero(np.diff(asked))] == ["takeoff", "hold"]
    way = np.array([name == "transfer" for name in names]) & asked
    assert way.any()
    np.testing.assert_allclose(np.abs(rows[way, 0]), 1.0, atol=1e-9)
    # Rates are those of the attitude: by central differences about the turn's axis.
    turning = np.flatnonzero([name == "turn" for name in names])
    angle = -2.0 * np.arctan2(-rows[turning, 0], rows[turning, 3])
    assert rows[turning, 4].min() == pytest.approx(-1.0, abs=1e-6)
    slope = np.gradient(angle, times[turning])
    np.testing.assert_allclose(slope[1:-1], rows[turning[1:-1], 4], atol=1e-3)
    assert turn.starting_at(trajectories.Point((0.0, 0.0, 1.0), yaw=1.0)).samples(times[:1])[0][
        0, 12
    ] == pytest.approx(1.0)


def test_autopilots_refuse_attitudes():
    """If this fails, an autopilot flies a trajectory without the attitude that it asks for."""
    with pytest.raises(ConfigError, match="asks for an attitude, which a MAVLink autopilot does not follow"):
        _Autopilot(tilted((TWENTY, 0.0, 0.0)), MagicMock(), 0)
