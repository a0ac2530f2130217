"""Bodies that tangle while they fall: momentum, fall of the common centre of mass, energy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.engines import BodyState
from pegasus.scene.scene import ColliderShape
from tests.engines.test_mujoco_contacts import (
    DT,
    G,
    angular_momentum,
    flying_together,
    free_flight,
    plane,
    solid,
    state_of,
    throw,
    vehicle,
    velocity_of_centers,
)

SIDES = {2: [(1, 0, 0), (-1, 0, 0)], 3: [(1, 0, 0), (-0.5, 0.87, 0), (-0.5, -0.87, 0)]}
FIELDS = ("position", "orientation", "velocity", "angular_velocity")


def rows_of(state, rows):
    return BodyState(*(getattr(state, name)[rows] for name in FIELDS))


def tangles(size, count, seed):
    """Return starts of groups of bodies that meet at 3 and at 10 m/s, far from each other."""
    groups = []
    for k in range(count):
        group = flying_together(SIDES[size], speed=(3.0, 10.0)[k % 2], spin=3.0, seed=seed + k)
        group.position += [100.0 * (k % 10), 100.0 * (k // 10), 0.0]
        groups.append(group)
    return BodyState(*(np.vstack([getattr(group, name) for group in groups]) for name in FIELDS))


def fall(kind, world, start, seconds, push=0.0):
    """Yield the states of falling bodies, which have touched anything, and impulses of contacts [N s], (M,).

    Args:
        kind: Kind of the bodies.
        world: Colliders.
        start: State at the start.
        seconds: Duration [s].
        push: Forces besides the weight [N], shape (M, 3).
    """
    engine, count = throw(kind, world, start), len(start.position)
    force = np.zeros((count, 3)) + push - [0.0, 0.0, kind.mass * G]
    state, touched = start, np.zeros(count, dtype=bool)
    for _ in range(round(seconds / DT)):
        free = free_flight(kind, engine, state, DT)
        free.position += 0.5 * DT**2 * force / kind.mass
        free.velocity += DT * force / kind.mass
        engine.apply(force, np.zeros((count, 3)), free)
        engine.step(DT)
        state = state_of(engine, count)
        contacts = engine.contacts()
        touched = touched | np.isin(np.arange(count), [contacts.body, contacts.other])
        pushes, two = np.zeros((count, 3)), contacts.other >= 0
        np.add.at(pushes, contacts.body, contacts.force)
        np.subtract.at(pushes, contacts.other[two], contacts.force[two])
        yield state, touched, DT * np.linalg.norm(pushes, axis=1)


def centers(kind, state, size):
    """Centre of mass and its velocity of each group of bodies [m, m/s], shape (N, 3) each."""
    center = state.position + Rotation.from_quat(state.orientation).apply(kind.center)
    return center.reshape(-1, size, 3).mean(axis=1), velocity_of_centers(kind, state).reshape(
        -1, size, 3
    ).mean(axis=1)


def of_groups(function, kind, state, size):
    """A function of a kind and the state of each group of bodies, shape (N, ...)."""
    count = len(state.position)
    return np.array([function(kind, rows_of(state, slice(k, k + size))) for k in range(0, count, size)])


def spin_about_center(kind, group):
    """Angular momentum of bodies about their common centre of mass [N m s], shape (3,)."""
    center, velocity = (value[0] for value in centers(kind, group, len(group.position)))
    return angular_momentum(kind, group) - len(group.position) * kind.mass * np.cross(center, velocity)


def check_fall(kind, size, count, *, seed=0, seconds=0.8):
    """Compare falling tangles with the free fall of their centres of mass. Return how many have touched."""
    start = tangles(size, count, seed)
    place, velocity = centers(kind, start, size)
    energy = kind.energy(start).reshape(-1, size).sum(axis=1)
    moving = energy - size * kind.mass * G * place[:, 2]
    spin = of_groups(spin_about_center, kind, start, size)
    flight = list(fall(kind, [], start, seconds))
    for step, (state, *_) in enumerate(flight, start=1):
        t = step * DT
        at, now = centers(kind, state, size)
        np.testing.assert_allclose(now, velocity - np.array([0, 0, G * t]), rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            at, place + velocity * t - np.array([0, 0, 0.5 * G * t**2]), rtol=0, atol=1e-9
        )
        gained = kind.energy(state).reshape(-1, size).sum(axis=1) - energy
        assert (gained < 1e-6 * moving).all()
    np.testing.assert_allclose(
        of_groups(spin_about_center, kind, state, size), spin, rtol=0, atol=1e-9 * np.abs(spin).max()
    )
    return int(flight[-1][1].reshape(-1, size).any(axis=1).sum())


@pytest.mark.parametrize(("name", "size"), [("iris", 3), ("x500", 2)])
def test_bodies_that_tangle_fall_freely(name, size):
    """Bodies that overlap were stopped as if by the ground: an X500 fell 5 of 19.6 m in 2 s."""
    assert check_fall(vehicle(name), size, 20) >= 12


@pytest.mark.parametrize("size", [2, 3])
def test_bodies_that_tangle_take_the_whole_force(size):
    """Forces of a step that ended early were dropped, for all bodies or for one of two."""
    kind, start = vehicle("iris"), tangles(size, 20, 50)
    push = 8.0 * np.random.default_rng(3).normal(size=start.position.shape)
    velocity = centers(kind, start, size)[1]
    common = push.reshape(-1, size, 3).mean(axis=1) / kind.mass - [0.0, 0.0, G]
    before, energy = start, kind.energy(start)
    moving = (energy - kind.mass * G * centers(kind, start, 1)[0][:, 2]).reshape(-1, size).sum(axis=1)
    flight = list(fall(kind, [], start, 0.8, push))
    for step, (state, *_) in enumerate(flight, start=1):
        now = centers(kind, state, size)[1]
        np.testing.assert_allclose(now, velocity + common * step * DT, rtol=0, atol=1e-9)
        way = centers(kind, state, 1)[0] - centers(kind, before, 1)[0]
        before, last, energy = state, energy, kind.energy(state)
        gained = (energy - last - (push * way).sum(axis=1)).reshape(-1, size).sum(axis=1)
        assert (gained < 2e-5 * moving).all()
    assert flight[-1][1].reshape(-1, size).any(axis=1).sum() >= 12


def test_bodies_that_tangle_land_on_the_ground():
    """Bodies fell through thin ground, and jammed ones gained a sixth of their energy in a step.

    Contacts of jammed bodies reported greater impulses than all their energy could give.
    """
    kind, start = vehicle("x500"), tangles(2, 20, 0)
    start.position[:, 2] += 1.0
    start.velocity[:, 2] -= 8.0
    ground = solid(ColliderShape.BOX, (2000.0, 2000.0, 0.01), (0.0, 0.0, -0.01))
    energy = kind.energy(start).reshape(-1, 2).sum(axis=1)
    most, before = energy, start
    flight = list(fall(kind, [ground], start, 1.5))
    for state, _, impulse in flight:
        height, velocity = centers(kind, before, 1)[0][:, 2], velocity_of_centers(kind, before)
        moving = (kind.energy(before) - kind.mass * G * height).reshape(-1, 2).sum(axis=1)
        fastest = np.linalg.norm(velocity, axis=1) + np.sqrt(2.0 * moving / kind.mass).repeat(2)
        assert (impulse < kind.mass * (fastest + 3.0 * G * DT)).all()
        before = state
        last, energy = energy, kind.energy(state).reshape(-1, 2).sum(axis=1)
        assert (energy - last < 3e-4 * most).all()
        assert (state.position[:, 2] > 0.05).all()
    assert flight[-1][1].all()


def test_other_tangles_change_no_bit_of_a_tangle():
    """Jammed bodies took impulses of rounds that only others needed, or were pushed apart only in company."""
    kind, size, start = vehicle("iris"), 3, tangles(3, 4, 0)
    start.position[:, 2] += 1.0
    start.velocity[:, 2] -= 4.0

    def fly(rows):
        flight = fall(kind, [plane(0.5, 0.3)], rows_of(start, rows), 1.2)
        return np.array([np.hstack([getattr(state, name) for name in FIELDS]) for state, *_ in flight])

    together = fly(slice(None))
    for k in range(0, len(start.position), size):
        rows = slice(k, k + size)
        np.testing.assert_array_equal(fly(rows), together[:, rows])
