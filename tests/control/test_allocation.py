"""Tests of rotor allocation: exact wrenches, saturation priorities, and errors."""

import numpy as np
import pytest
from scipy.optimize import linprog

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.control import Allocation
from pegasus.control.mixing import allocated

RATIO = 0.06


def wrench_of(layout, center_of_mass, thrust):
    """Sum forces and torques rotor by rotor: the reaction turns the airframe against the rotor."""
    forces = thrust[:, None] * layout.axis
    torques = np.cross(layout.position - center_of_mass, forces) - RATIO * layout.spin[:, None] * forces
    return np.concatenate([forces.sum(axis=0), torques.sum(axis=0)])


def airframe(rng, vehicles, tilt=0.1):
    """Return a random airframe: 4 to 12 rotors around the centre of mass, a little askew."""
    count = int(rng.integers(4, 13))
    angles = 2 * np.pi * (np.arange(count) + rng.uniform(-0.2, 0.2, count)) / count
    radius = rng.uniform(0.15, 0.4, count)
    position = np.stack(
        [radius * np.cos(angles), radius * np.sin(angles), rng.uniform(-0.05, 0.05, count)], axis=1
    )
    axis = np.array([0, 0, 1]) + tilt * rng.uniform(-1, 1, (count, 3))
    spin = np.where(np.arange(count) % 2, 1.0, -1.0)
    return vehicles.layout(position, axis, spin), rng.uniform(-0.02, 0.02, 3)


def bounds(count, low, high):
    return np.full((count, 1), low), np.full((count, 1), high)


def test_exact_within_the_limits(vehicles):
    """If this fails, the vehicle gets another thrust or torque than its controller asked for."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        layout, center = airframe(rng, vehicles)
        allocation = Allocation(layout, center, RATIO)
        wanted = np.concatenate(
            [np.zeros((20, 2)), rng.uniform([5] + [-0.1] * 3, [40] + [0.1] * 3, (20, 4))], 1
        )
        thrust = allocation.allocate(wanted, *bounds(20, -np.inf, np.inf))
        for asked, given in zip(wanted, thrust, strict=True):
            np.testing.assert_allclose(wrench_of(layout, center, given)[2:], asked[2:], atol=1e-9)
        smallest = allocation.allocate(wanted, *bounds(20, 0.0, np.inf))
        inside = (thrust >= 0).all(axis=1)
        np.testing.assert_array_equal(smallest[inside], thrust[inside])


def test_lateral_force_of_a_fully_actuated_vehicle_is_exact(vehicles):
    """If this fails, tilted rotors are not used for what they are tilted for."""
    angles = np.arange(6) * np.pi / 3
    position = 0.3 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    tilt = np.where(np.arange(6) % 2, 1.0, -1.0) * np.radians(25)
    axis = np.stack([-np.sin(angles) * np.sin(tilt), np.cos(angles) * np.sin(tilt), np.cos(tilt)], axis=1)
    layout = vehicles.layout(position, axis, np.where(np.arange(6) % 2, 1.0, -1.0))
    allocation = Allocation(layout, np.zeros(3), RATIO)
    assert allocation.fully_actuated
    wanted = np.array([[1.0, -0.5, 15.0, 0.1, -0.1, 0.05]])
    (thrust,) = allocation.allocate(wanted, *bounds(1, 0.0, 10.0))
    np.testing.assert_allclose(wrench_of(layout, np.zeros(3), thrust), wanted[0], atol=1e-12)
    # Asked for more than there is, lateral force gives way before anything else.
    wanted = np.array([[30.0, 0.0, 15.0, 0.1, -0.1, 0.05]])
    (thrust,) = allocation.allocate(wanted, *bounds(1, 0.0, 10.0))
    got = wrench_of(layout, np.zeros(3), thrust)
    np.testing.assert_allclose(got[1:], wanted[0, 1:], atol=1e-9)
    assert 1.0 < got[0] < 30.0
    flat = vehicles.StandIn()
    assert not Allocation(flat.layout, flat.center_of_mass, RATIO).fully_actuated


def plus_quad(vehicles):
    position = [[0.2, 0, 0], [-0.2, 0, 0], [0, 0.2, 0], [0, -0.2, 0]]
    layout = vehicles.layout(position, [[0, 0, 1]] * 4, [1, 1, -1, -1])
    return Allocation(layout, np.zeros(3), 0.05)


@pytest.mark.parametrize(
    ("wrench", "thrust"),
    [
        # Inside: 2 N each, 0.2 N m about x is 0.5 N more on the left and less on the right.
        ([8.0, 0.2, 0.0, 0.0], [2.0, 2.0, 2.5, 1.5]),
        # Yaw of 0.2 N m would take 1 N from the left and right rotors: the right one has 0.5 N to give.
        ([4.0, 0.2, 0.0, -0.2], [0.5, 0.5, 2.0, 1.0]),
        # Torque of 0.4 N m takes 1 N; at 3.5 N each the left would have 4.5 N: lift gives way by 0.5 N each.
        ([14.0, 0.4, 0.0, 0.0], [3.0, 3.0, 4.0, 2.0]),
        # The same from below: with a lift of 2 N the right rotor would pull; lift is added.
        ([2.0, 0.4, 0.0, 0.0], [1.0, 1.0, 2.0, 0.0]),
        # Torque of 1.6 N m takes 4 N either way; 2 N is half of it, at a lift of 8 N.
        ([3.0, 1.6, 0.0, 0.3], [2.0, 2.0, 4.0, 0.0]),
    ],
)
def test_what_gives_way_on_a_plus_quadrotor(vehicles, wrench, thrust):
    """If this fails, a saturated vehicle loses its attitude instead of its heading or height."""
    wanted = np.array([[0.0, 0.0, *wrench]])
    if wrench == [4.0, 0.2, 0.0, -0.2]:
        # Reaction of the counter-clockwise pair (front, rear) is negative: they speed up.
        thrust = [1.0 + 0.5, 1.0 + 0.5, 1.5 - 0.5, 0.5 - 0.5]
    got = plus_quad(vehicles).allocate(wanted, *bounds(1, 0.0, 4.0))
    np.testing.assert_allclose(got, [thrust], atol=1e-12)


def test_attitude_before_lift_before_yaw_on_any_airframe(vehicles):
    """If this fails, the order of what gives way holds for quadrotors only.

    Each step is compared with a linear programme over the same directions in the space of thrusts.
    """
    rng = np.random.default_rng(2)
    checked = {"exact": 0, "torque scaled": 0, "lift moved": 0, "yaw scaled": 0}
    for _ in range(60):
        layout, center = airframe(rng, vehicles, tilt=0.05)
        allocation = Allocation(layout, center, RATIO)
        count = len(layout.spin)
        low, high = 0.1, 8.0
        scale = rng.choice([0.3, 1.0, 4.0])
        wanted = np.concatenate(
            [[0, 0], rng.uniform([0, -3, -3, -1], [8 * count, 3, 3, 1]) * [1, *[scale] * 3]]
        )
        (thrust,) = allocation.allocate(wanted[None], *bounds(1, low, high))
        assert thrust.min() >= low
        assert thrust.max() <= high

        inverse = np.linalg.pinv(allocation.matrix[2:])
        if allocation.fully_actuated:
            inverse = np.linalg.pinv(allocation.matrix)[:, 2:]
        whole = inverse @ wanted[2:]
        if whole.min() >= low and whole.max() <= high:
            np.testing.assert_allclose(thrust, whole, atol=1e-9)
            checked["exact"] += 1
            continue
        tilting, lift, yaw = inverse[:, 1:3] @ wanted[3:5], inverse[:, 0], inverse[:, 3] * wanted[5]

        def best(columns, base, limits, cost, low=low, high=high):
            rows = np.stack(columns, axis=1)
            result = linprog(
                cost,
                A_ub=np.vstack([rows, -rows]),
                b_ub=np.concatenate([high - base, base - low]),
                bounds=limits,
            )
            assert result.success
            return result.x

        share, _ = best([tilting, lift], 0 * lift, [(0, 1), (None, None)], [-1, 0])
        (lowest,) = best([lift], share * (1 - 1e-9) * tilting, [(None, None)], [1])
        (highest,) = best([lift], share * (1 - 1e-9) * tilting, [(None, None)], [-1])
        force = min(max(wanted[2], lowest), highest)
        base = share * tilting + force * lift
        (turn,) = best([yaw], np.clip(base, low, high), [(0, 1)], [-1])
        np.testing.assert_allclose(thrust, base + turn * yaw, atol=1e-5)
        got = wrench_of(layout, center, thrust)
        np.testing.assert_allclose(got[3:5], share * wanted[3:5], atol=1e-6)
        checked["torque scaled"] += share < 0.999
        checked["lift moved"] += abs(force - wanted[2]) > 0.01
        checked["yaw scaled"] += 0.01 < turn < 0.99
    assert min(checked.values()) >= 5, checked


def random_airframe(rng, vehicles):
    """Return a random airframe that can be controlled, with limits: 4 to 12 rotors, some tilted."""
    while True:
        count = int(rng.integers(4, 13))
        angles = 2 * np.pi * (np.arange(count) + rng.uniform(-0.25, 0.25, count)) / count
        size = 10 ** rng.uniform(-1.5, 0.3)
        reach = size * rng.uniform(0.6, 1.2, count)
        height = 0.2 * size * rng.uniform(-1, 1, count)
        position = np.stack([reach * np.cos(angles), reach * np.sin(angles), height], axis=1)
        axis = np.array([0.0, 0.0, 1.0]) + rng.choice([0.0, 0.1, 0.5]) * rng.uniform(-1, 1, (count, 3))
        spin = np.where(np.arange(count) % 2, 1.0, -1.0)
        layout, center = vehicles.layout(position, axis, spin), 0.1 * size * rng.uniform(-1, 1, 3)
        try:
            allocation = Allocation(layout, center, RATIO * size)
        except ConfigError:
            continue
        high = 10 ** rng.uniform(-1, 2)
        low = high * rng.choice([0.0, 0.02])
        column = allocation._inverse[2]
        if (low / column).max() < (high / column).min():  # else it cannot even hover within its limits
            return allocation, size, low, high


def test_any_airframe_is_exact_inside_and_keeps_attitude_before_yaw_outside(vehicles):
    """If this fails, there are airframes that get another wrench than is possible, or turn over for yaw.

    Whether a wrench is inside, and how much roll and pitch torque is outside, a linear programme says; that
    yaw and lateral force take nothing from it shows when they are asked for as well.
    """
    rng = np.random.default_rng(5)
    seen = {"inside": 0, "outside": 0, "torque beyond": 0, "lift moved": 0, "yaw cut": 0, "fully actuated": 0}
    for _ in range(400):
        allocation, size, low, high = random_airframe(rng, vehicles)
        effect, n = allocation.matrix, allocation.matrix.shape[1]
        rows = slice(0 if allocation.fully_actuated else 2, 6)
        inverse = np.zeros((n, 6))
        inverse[:, rows] = np.linalg.pinv(effect[rows])
        lift, lever = high * effect[2].sum(), high * size
        level = rng.uniform(0.15, 0.85)
        wanted = np.zeros((12, 6))
        wanted[:, 2] = lift * np.clip(level + rng.normal(0, 0.2, 12), 0.0, 1.1)
        strength = 10 ** rng.uniform(-2, 0.5, (12, 1))
        wanted[:, 3:] = strength * lever * rng.normal(0, [1, 1, 0.1], (12, 3))
        if allocation.fully_actuated:
            wanted[:, :2] = 0.1 * strength * lift * rng.normal(0, 1, (12, 2))
            seen["fully actuated"] += 1
        limits = bounds(12, low, high)
        thrust = allocation.allocate(wanted, *limits)
        assert thrust.min() >= low - 1e-12 * high
        assert thrust.max() <= high * (1 + 1e-12)
        got, whole = thrust @ effect.T, wanted @ inverse.T
        unit = np.array([lift, lift, lift, lever, lever, lever])
        inside = ((whole >= low) & (whole <= high)).all(axis=1)
        assert np.abs((got - wanted) / unit)[inside][:, rows].max(initial=0.0) < 1e-9

        alone = wanted * [0, 0, 1, 1, 1, 0]
        without = allocation.allocate(alone, *limits) @ effect.T
        assert np.abs((got - without) / unit)[~inside, 2:5].max(initial=0.0) < 1e-9
        along = np.where(np.abs(wanted[:, 5]) > 1e-12 * lever, got[:, 5] / wanted[:, 5], 0.0)
        assert along.min() > -1e-6
        assert along.max() < 1 + 1e-6

        k = int(rng.integers(12))
        tilting = inverse[:, 3:5] @ wanted[k, 3:5]
        columns = np.stack([tilting, inverse[:, 2]], axis=1)
        share = 1.0
        if not inside[k]:
            best = linprog(
                [-1.0, 0.0],
                A_ub=np.concatenate([columns, -columns]) / high,
                b_ub=np.concatenate([np.ones(n), np.full(n, -low / high)]),
                bounds=[(0.0, 1.0), (None, None)],
            )
            assert best.success
            share = best.x[0]
        np.testing.assert_allclose(got[k, 3:5] / lever, share * wanted[k, 3:5] / lever, atol=1e-6)
        seen["inside"] += inside.sum()
        seen["outside"] += (~inside).sum()
        seen["torque beyond"] += share < 0.999
        seen["lift moved"] += share > 0.999 and abs(got[k, 2] - wanted[k, 2]) > 1e-3 * lift
        seen["yaw cut"] += ((along > 0.01) & (along < 0.99)).sum()
    assert min(seen.values()) > 25, seen


def test_yaw_gives_way_with_all_the_torque_that_it_takes(vehicles):
    """If this fails, a vehicle whose inertia has products tilts whenever its yaw torque is cut.

    What is met of roll, pitch and thrust is compared in angular accelerations, and the share of yaw with that
    at which the first rotor reaches a limit.
    """
    rng = np.random.default_rng(7)
    cut = 0
    for _ in range(400):
        layout, center = airframe(rng, vehicles, tilt=0.05)
        turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        inertia = turned @ np.diag(rng.uniform([0.02, 0.02, 0.03], [0.03, 0.03, 0.045])) @ turned.T
        allocation = Allocation(layout, center, RATIO, inertia)
        rows = slice(0 if allocation.fully_actuated else 2, 6)
        effect = np.stack([wrench_of(layout, center, f) for f in np.eye(len(layout.spin))], axis=1)
        inverse = np.linalg.pinv(effect[rows])
        low, high = 0.1, 8.0
        lift = rng.uniform(0.35, 0.65) * high * len(layout.spin)
        wanted, yaw = np.array([0, 0, lift, *rng.uniform(-4, 4, 2), 0]), np.zeros(6)
        yaw[5] = rng.choice([-1, 1]) * 10 ** rng.uniform(0.5, 2)
        base, more = (inverse @ np.concatenate([u[:3], inertia @ u[3:]])[rows] for u in (wanted, yaw))
        if base.min() < low or base.max() > high:
            continue
        room = np.where(more > 0, high - base, low - base)
        share = min(1.0, (room / more).min())
        asked = np.concatenate([[0, 0, lift], inertia @ (wanted + yaw)[3:]])
        (thrust,) = allocation.allocate(asked[None], *bounds(1, low, high))
        assert thrust.min() >= low
        assert thrust.max() <= high
        got = effect @ thrust
        turning = np.linalg.solve(inertia, got[3:])
        assert got[2] == pytest.approx(lift, rel=1e-9)
        np.testing.assert_allclose(turning[:2], wanted[3:5], atol=1e-7)
        assert turning[2] == pytest.approx(share * yaw[5], rel=1e-6, abs=1e-7)
        cut += share < 0.99
    assert cut > 60


def test_rows_do_not_touch_each_other(vehicles):
    """If this fails, one saturated vehicle of a fleet disturbs the others."""
    rng = np.random.default_rng(3)
    allocation = plus_quad(vehicles)
    wanted = np.concatenate([np.zeros((50, 2)), rng.uniform([0, -2, -2, -1], [20, 2, 2, 1], (50, 4))], axis=1)
    together = allocation.allocate(wanted, *bounds(50, 0.0, 4.0))
    for row, alone in zip(together, wanted, strict=True):
        np.testing.assert_allclose(allocation.allocate(alone[None], *bounds(1, 0.0, 4.0)), [row], atol=1e-14)


def test_unlimited_rotors(vehicles):
    """If this fails, a motor without a largest speed cannot be controlled."""
    got = plus_quad(vehicles).allocate(np.array([[0, 0, 2.0, 0.4, 0, 0]]), *bounds(1, 0.0, np.inf))
    np.testing.assert_allclose(got, [[1.0, 1.0, 2.0, 0.0]], atol=1e-12)


def test_a_pusher_takes_no_part(vehicles):
    """If this fails, an idling pusher propeller disturbs attitude control."""
    quad = vehicles.StandIn().layout
    layout = vehicles.layout(
        np.vstack([quad.position, [[-0.3, 0, 0]]]), np.vstack([quad.axis, [[1, 0, 0]]]), [*quad.spin, 1]
    )
    allocation = Allocation(layout, np.zeros(3), RATIO)
    wanted = np.array([[0.0, 0.0, 14.7, 0.3, -0.2, 0.0]])
    (thrust,) = allocation.allocate(wanted, *bounds(1, 0.2, 10.0))
    np.testing.assert_allclose(wrench_of(layout, np.zeros(3), thrust)[2:], wanted[0, 2:], atol=1e-9)
    assert thrust[-1] == 0.0


def test_python_and_compiled_code_give_the_same_bits(vehicles):
    """If this fails, debugging in Python shows other thrusts than the compiled step."""
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(40):
        allocation, size, low, high = random_airframe(rng, vehicles)
        count = allocation.matrix.shape[1]
        wanted = rng.normal(0.0, [0.1, 0.1, 0.5, size, size, 0.2 * size], (6, 6)) * high * count
        wanted[:, 2] = np.abs(wanted[:, 2])
        plain = [
            allocated(allocation.mixing, Vec3(x, y, z), Vec3(*torque), low, high)
            for x, y, z, *torque in wanted.tolist()
        ]
        thrust = allocation.allocate(wanted, *bounds(6, low, high))
        for i in range(6):
            np.testing.assert_array_equal(thrust[i], plain[i])
        seen += int(((thrust == low) | (thrust == high)).any(axis=1).sum())
    assert seen > 50


@pytest.mark.parametrize(
    ("position", "axis", "spin", "message"),
    [
        (
            [[0.2, 0, 0], [-0.2, 0, 0], [0, 0.2, 0], [0, -0.2, 0]],
            [[0, 0, 1]] * 4,
            [1, 1, 1, 1],
            "rotors: these 4 rotors cannot produce force along z and torque about z independently; "
            "spread them around the centre of mass and let their directions alternate",
        ),
        (
            [[0.2, 0, 0], [-0.2, 0, 0], [0.1, 0, 0], [-0.1, 0, 0]],
            [[0, 0, 1]] * 4,
            [1, 1, -1, -1],
            "rotors: these 4 rotors cannot produce torque about x independently; "
            "spread them around the centre of mass and let their directions alternate",
        ),
        (
            [[1.2, 0, 0], [0.8, 0, 0], [1, 0.2, 0], [1, -0.2, 0]],
            [[0, 0, 1]] * 4,
            [1, 1, -1, -1],
            "rotors: hover without torque requires a rotor with negative thrust; "
            "move the centre of mass between the rotors",
        ),
    ],
)
def test_refuses_what_cannot_be_flown(vehicles, position, axis, spin, message):
    """If this fails, a wrong airframe tumbles instead of being named."""
    with pytest.raises(ConfigError) as caught:
        Allocation(vehicles.layout(position, axis, spin), np.zeros(3), RATIO)
    assert str(caught.value) == message
