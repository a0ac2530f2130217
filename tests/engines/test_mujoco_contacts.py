"""Rigid contacts of the MuJoCo engine: sliding, impacts, energy, momentum, walls that fast bodies meet."""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus import Backend, Multirotor, Simulation
from pegasus.config.files import load_vehicle
from pegasus.engines import BodyState, RigidBody
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene import vehicle_scene
from pegasus.scene.colliders import lowest_point
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene

G = 9.81
DT = 0.004
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


def plane(friction=0.5, restitution=0.0, orientation=UPRIGHT):
    material = PhysicsMaterial(friction, friction, restitution)
    return Collider("/ground", ColliderShape.PLANE, (), np.zeros(3), np.asarray(orientation), material)


def solid(shape, size, position=(0, 0, 0), friction=0.5, restitution=0.0):
    material = PhysicsMaterial(friction, friction, restitution)
    return Collider("/solid", shape, size, np.array(position, dtype=float), UPRIGHT, material)


class Kind:
    """Mass properties and colliders of a kind of body."""

    def __init__(self, mass, center, inertia, colliders):
        self.mass, self.center, self.inertia = mass, np.asarray(center), np.asarray(inertia)
        self.colliders = colliders

    def body(self, name, position, orientation=UPRIGHT):
        at = np.array(position, dtype=float), np.array(orientation, dtype=float)
        return RigidBody(name, self.mass, self.center, self.inertia, self.colliders, *at)

    def energy(self, state):
        """Kinetic and potential energy of each body [J]."""
        turned = Rotation.from_quat(state.orientation)
        spin = state.angular_velocity
        velocity = state.velocity + turned.apply(np.cross(spin, self.center))
        height = (state.position + turned.apply(self.center))[:, 2]
        turning = ((spin @ self.inertia) * spin).sum(axis=1)
        return 0.5 * self.mass * (velocity**2).sum(axis=1) + 0.5 * turning + self.mass * G * height


@functools.cache
def vehicle(name):
    model = Multirotor(name)
    colliders = vehicle_scene(*load_vehicle(name)).colliders
    return Kind(float(model.mass), model.center_of_mass, model.inertia, colliders)


def box(friction=0.5, restitution=0.0):
    shape = solid(ColliderShape.BOX, (0.15, 0.1, 0.05), friction=friction, restitution=restitution)
    return Kind(1.5, np.zeros(3), np.diag([0.029125, 0.029125, 0.055225]), [shape])


def ball(restitution=0.0):
    shape = solid(ColliderShape.SPHERE, (0.1,), restitution=restitution)
    return Kind(1.0, np.zeros(3), 0.004 * np.eye(3), [shape])


def kind_named(name):
    return {"box": box, "ball": ball}[name]() if name in ("box", "ball") else vehicle(name)


def moving_energy(kind, state):
    """Kinetic energy of all bodies [J], weightless."""
    height = (state.position + Rotation.from_quat(state.orientation).apply(kind.center))[:, 2]
    return float((kind.energy(state) - kind.mass * G * height).sum())


def engine_with(world, bodies, *, weight=0.0):
    engine = MujocoEngine()
    engine.load(Scene("test", colliders=world))
    ids = engine.add_bodies(bodies)
    engine.apply(np.tile([0.0, 0.0, -weight], (len(bodies), 1)), np.zeros((len(bodies), 3)))
    return engine, ids


def state_of(engine, count=1):
    state = BodyState.zeros(count)
    engine.read(state)
    return state


def thrown(count, *, spread=100.0):
    """Return starts a metre above the ground: upward, level and tumbling at up to 25 rad/s."""
    rng = np.random.default_rng(0)
    state = BodyState.zeros(count)
    state.position[:, 0], state.position[:, 2] = spread * np.arange(count), 1.0
    state.orientation[:] = Rotation.random(count, random_state=1).as_quat()
    state.velocity[:] = rng.normal(size=(count, 3)) * [4, 4, 1] - [0, 0, 4]
    state.angular_velocity[:] = (
        rng.normal(size=(count, 3)) * np.array([0.0, 8.0, 15.0])[np.arange(count) % 3, None]
    )
    return state


def throw(kind, world, starts):
    count = len(starts.position)
    bodies = [kind.body(str(k), starts.position[k], starts.orientation[k]) for k in range(count)]
    engine, ids = engine_with(world, bodies, weight=kind.mass * G)
    engine.write(ids, starts)
    return engine


@pytest.mark.parametrize("name", ["box", "iris", "typhoon_h"])
@pytest.mark.parametrize("speed", [5.0, 10.0])
def test_a_sliding_body_neither_hops_nor_tilts(name, speed):
    """Friction would lift what slides: an Iris at 5 m/s by 4 cm, and tilt it by 24 degrees."""
    kind = kind_named(name)
    height = -lowest_point(list(kind.colliders))
    engine, ids = engine_with([plane()], [kind.body("a", (0, 0, height))], weight=kind.mass * G)
    start = BodyState.zeros(1)
    start.position[0, 2], start.velocity[0, 0] = height, speed
    engine.write(ids, start)
    for _ in range(750):
        engine.step(DT)
        state = state_of(engine)
        assert abs(state.position[0, 2] - height) < 1e-5
        assert Rotation.from_quat(state.orientation[0]).magnitude() < math.radians(0.01)
    assert state.position[0, 0] == pytest.approx(speed**2 / (2 * 0.5 * G), rel=1e-3)
    assert np.linalg.norm(state.velocity) < 1e-6


@pytest.mark.parametrize("name", ["box", "iris", "typhoon_h", "pegasus", "octorotor"])
def test_a_vehicle_slides_down_a_steep_slope_as_coulomb_says(name):
    """An Iris on a slope of 30 degrees would overturn."""
    kind, slope = kind_named(name), math.radians(30)
    tilt = np.array([0, math.sin(slope / 2), 0, math.cos(slope / 2)])
    normal, down = Rotation.from_quat(tilt).apply([[0, 0, 1], [1, 0, 0]])
    height = -lowest_point(list(kind.colliders))
    body = kind.body("a", normal * height, tilt)
    engine, _ = engine_with([plane(orientation=tilt)], [body], weight=kind.mass * G)
    for _ in range(500):
        engine.step(DT)
    state = state_of(engine)
    pull = G * (math.sin(slope) - 0.5 * math.cos(slope))
    assert state.velocity[0] @ down == pytest.approx(pull * 2.0, rel=1e-3)
    assert state.position[0] @ down == pytest.approx(pull * 2.0, rel=1e-3)
    assert abs(state.position[0] @ normal - height) < 1e-5


@pytest.mark.parametrize("name", ["box", "iris", "typhoon_h"])
def test_a_body_on_a_slope_does_not_creep(name):
    """A vehicle parked on a slope below the angle of friction would move downhill by centimetres an hour."""
    kind, slope = kind_named(name), math.radians(20)
    tilt = np.array([0, math.sin(slope / 2), 0, math.cos(slope / 2)])
    normal = Rotation.from_quat(tilt).apply([0, 0, 1])
    body = kind.body("a", normal * -lowest_point(list(kind.colliders)), tilt)
    engine, _ = engine_with([plane(orientation=tilt)], [body], weight=kind.mass * G)
    for _ in range(250):
        engine.step(DT)
    before = state_of(engine).position.copy()
    for _ in range(500):
        engine.step(DT)
    assert np.linalg.norm(state_of(engine).position - before) < 2 * 1e-6


@pytest.mark.parametrize(
    ("name", "friction", "restitution"),
    [
        *itertools.product(["box"], [0.0, 0.5, 2.0], [0.0, 0.5, 0.8, 1.0]),
        *itertools.product(["iris", "typhoon_h"], [0.0, 2.0], [0.0, 1.0]),
        *itertools.product(["iris", "typhoon_h"], [0.5], [0.8]),
    ],
)
def test_no_impact_gains_energy(name, restitution, friction):
    """Friction with a restitution above 0.5 would make energy in each impact: 19 % to 130 % at 0.8."""
    kind = kind_named(name)
    engine = throw(kind, [plane(friction, restitution)], thrown(9))
    energy = start = kind.energy(state_of(engine, 9))
    touched = np.zeros(9, dtype=bool)
    for _ in range(250):
        engine.step(DT)
        before, energy = energy, kind.energy(state_of(engine, 9))
        assert (energy - before < 1e-5 * start).all()
        touched |= np.isin(np.arange(9), engine.contacts().body)
    assert touched.all()
    assert (energy < start * (1 + 1e-6)).all()
    if friction == 0.0 and restitution == 1.0:
        assert (energy > 0.98 * start).all()


@pytest.mark.parametrize("rate", [100, 250, 1000])
def test_an_elastic_ball_keeps_its_energy(rate):
    """The instant of the impact within the step would make energy, or lose it."""
    kind = ball()
    engine, _ = engine_with([plane(0.5, 1.0)], [kind.body("a", (0, 0, 1.1))], weight=kind.mass * G)
    start = kind.energy(state_of(engine))
    for _ in range(10 * rate):
        engine.step(1 / rate)
    assert kind.energy(state_of(engine)) == pytest.approx(start, rel=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_colliding_bodies_keep_their_momentum(restitution, friction):
    """What one body receives, the other would not lose, also with spin and off the centres."""
    kind = box(friction, restitution)
    names = [kind.body("a", (-1.0, 0.0, 0.0)), kind.body("b", (1.0, 0.1, 0.03))]
    engine, ids = engine_with([], names)
    start = state_of(engine, 2)
    start.velocity[:] = [(6.0, 0.5, 0.0), (-5.0, 0.3, 0.2)]
    start.angular_velocity[:] = [(5.0, 2.0, -3.0), (-1.0, 4.0, 8.0)]
    engine.write(ids, start)
    energy, touched = kind.energy(start).sum(), 0
    for _ in range(200):
        engine.step(DT)
        touched += len(engine.contacts().body)
        state = state_of(engine, 2)
        np.testing.assert_allclose(state.velocity.sum(axis=0), start.velocity.sum(axis=0), atol=1e-9)
        level = kind.energy(state) - kind.mass * G * state.position[:, 2]
        assert level.sum() < (energy - kind.mass * G * start.position[:, 2].sum()) * (1 + 1e-6)
    assert touched
    assert not np.allclose(state.velocity, start.velocity, atol=0.5)


def velocity_of_centers(kind, state):
    """Velocities of the centres of mass [m/s], shape (M, 3)."""
    return state.velocity + Rotation.from_quat(state.orientation).apply(
        np.cross(state.angular_velocity, kind.center)
    )


def angular_momentum(kind, state):
    """Sum of the bodies' angular momentum about the origin of the world [N m s], shape (3,)."""
    turned = Rotation.from_quat(state.orientation)
    spin = turned.apply(state.angular_velocity @ kind.inertia)
    center = state.position + turned.apply(kind.center)
    return (spin + np.cross(center, kind.mass * velocity_of_centers(kind, state))).sum(axis=0)


def free_flight(kind, engine, state, dt):
    """State after a step in which weightless bodies touch nothing, to rounding."""
    turned = Rotation.from_quat(state.orientation)
    center, velocity = state.position + turned.apply(kind.center), velocity_of_centers(kind, state)
    momentum = turned.apply(state.angular_velocity @ kind.inertia)
    orientation = engine._motion._tumbling.turned(state.orientation, momentum, np.full(len(center), dt))
    turned = Rotation.from_quat(orientation)
    spin = turned.inv().apply(momentum) @ np.linalg.inv(kind.inertia)
    origin = center + dt * velocity - turned.apply(kind.center)
    return BodyState(origin, orientation, velocity - turned.apply(np.cross(spin, kind.center)), spin)


def fly_into_each_other(kind, starts, seconds, dt=DT):
    """Yield the states of weightless bodies that meet, and whether they have touched."""
    engine = throw(kind, [], starts)
    state, none = starts, np.zeros((len(starts.position), 3))
    touched = False
    for _ in range(round(seconds / dt)):
        engine.apply(none, none, free_flight(kind, engine, state, dt))
        engine.step(dt)
        state = state_of(engine, len(none))
        touched |= len(engine.contacts().body) > 0
        yield state, touched


def with_surface(kind, friction, restitution, offset=(0, 0, 0)):
    """Return a kind with another surface and with its centre of mass moved."""
    material = PhysicsMaterial(friction, friction, restitution)
    colliders = [replace(collider, material=material) for collider in kind.colliders]
    return Kind(kind.mass, kind.center + offset, kind.inertia, colliders)


def flying_together(sides, *, speed, spin, seed):
    """Return starts from which turning bodies fly towards a point, each from its side, off the centres."""
    rng = np.random.default_rng(seed)
    state, away = BodyState.zeros(len(sides)), np.array(sides, dtype=float)
    state.position[:] = 0.7 * away + rng.uniform(-0.07, 0.07, size=away.shape)
    state.orientation[:] = Rotation.random(len(away), random_state=seed).as_quat()
    state.velocity[:] = speed * (rng.uniform(-0.1, 0.1, size=away.shape) - away)
    state.angular_velocity[:] = spin * rng.normal(size=away.shape)
    return state


@pytest.mark.parametrize(
    ("name", "friction", "restitution", "offset"),
    [
        ("box", 0.0, 1.0, (0, 0, 0)),
        ("box", 0.5, 0.0, (0, 0, 0)),
        ("box", 0.5, 0.5, (0.02, -0.03, 0.01)),
        ("box", 2.0, 0.0, (0.02, -0.03, 0.01)),
        ("box", 2.0, 1.0, (0, 0, 0)),
        ("iris", 0.5, 0.5, (0.02, -0.03, 0.01)),
        ("iris", 2.0, 1.0, (0, 0, 0)),
        ("typhoon_h", 0.0, 1.0, (0, 0, 0)),
        ("typhoon_h", 2.0, 0.0, (0.02, -0.03, 0.01)),
    ],
)
def test_colliding_bodies_keep_their_angular_momentum(name, friction, restitution, offset):
    """Impulses that act in one pose, while both bodies move on from another, lost up to a fifth of it."""
    kind, hits = with_surface(kind_named(name), friction, restitution, offset), 0
    for seed in range(4):
        start = flying_together([(1, 0, 0), (-1, 0, 0)], speed=3.0, spin=8.0, seed=seed)
        before, energy = angular_momentum(kind, start), moving_energy(kind, start)
        flight = list(fly_into_each_other(kind, start, 0.6))
        for state, _ in flight:
            change = np.linalg.norm(angular_momentum(kind, state) - before)
            assert change < 1e-11 * np.linalg.norm(before)
            assert moving_energy(kind, state) < energy * (1 + 1e-9)
        hits += flight[-1][1]
        if friction == 0.0:
            assert moving_energy(kind, state) > energy * (1 - 1e-6)
    assert hits >= 3


@pytest.mark.parametrize("speed", [1.0, 20.0])
@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 1.0), (0.5, 0.0), (0.7, 0.8)])
def test_a_swarm_that_meets_keeps_its_momentum(speed, friction, restitution):
    """A body that is hit by one that is hit, or pushed out of another, would not hand on what it received."""
    kind = with_surface(vehicle("iris"), friction, restitution)
    sides = np.vstack([np.eye(3), -np.eye(3)])
    start = flying_together(sides, speed=speed, spin=5.0, seed=1)
    before, energy = angular_momentum(kind, start), moving_energy(kind, start)
    scale = np.linalg.norm(before) + kind.mass * speed
    flight = list(fly_into_each_other(kind, start, 1.2 / speed + 0.4))
    for state, _ in flight:
        change = (velocity_of_centers(kind, state) - velocity_of_centers(kind, start)).sum(axis=0)
        np.testing.assert_allclose(change, 0.0, atol=1e-12 * speed)
        np.testing.assert_allclose(angular_momentum(kind, state), before, rtol=0, atol=1e-12 * scale)
        assert moving_energy(kind, state) < energy * (1 + 1e-9)
    assert flight[-1][1]


@pytest.mark.parametrize("name", ["ball", "box", "iris"])
@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.75])
def test_fast_bodies_that_meet_head_on_do_not_pass_through_each_other(name, phase):
    """In a step of 4 ms at 30 m/s each they approach by 24 cm: a body's size."""
    kind = kind_named(name)
    start = BodyState.zeros(2)
    start.position[:, 0] = -1.0 - phase * 0.24, 1.0
    start.velocity[:, 0] = 30.0, -30.0
    energy = moving_energy(kind, start)
    flight = list(fly_into_each_other(kind, start, 0.24))
    for state, _ in flight:
        apart = state.position[1] - state.position[0]
        # Vehicles may roll over each other: one is then above the other by more than both are high.
        assert apart[0] > 0.0 or np.hypot(*apart[1:]) > 0.25
        assert moving_energy(kind, state) < energy * (1 + 1e-6)
        np.testing.assert_allclose(state.velocity.sum(axis=0), 0.0, atol=1e-6)
    assert flight[-1][1]


@pytest.mark.parametrize("name", ["ball", "box", "iris", "crazyflie"])
@pytest.mark.parametrize("thickness", [0.02, 0.2])
def test_nothing_passes_a_wall(name, thickness):
    """Above 20 m/s at 250 Hz a vehicle would be through a wall of 20 cm before a contact is found."""
    kind = kind_named(name)
    speeds, phases = (5.0, 15.0, 25.0, 40.0, 60.0, 80.0, 100.0), (0.0, 0.2, 0.4, 0.6, 0.8)
    cases = list(itertools.product(speeds, phases))
    turns = Rotation.random(len(cases), random_state=2).as_quat()
    bodies, velocity = [], []
    for index, (speed, phase) in enumerate(cases):
        start = (-0.5 - phase * speed * DT, 2.0 * (index % 6) - 5.0, 2.0 * (index // 6) - 5.0)
        bodies.append(kind.body(str(index), start, turns[index] if index % 2 else UPRIGHT))
        velocity.append((speed, 0.1 * speed * (index % 3 - 1), 0.0))
    wall = solid(ColliderShape.BOX, (thickness / 2, 50, 50), (thickness / 2, 0, 0))
    engine, ids = engine_with([wall], bodies)
    state = state_of(engine, len(cases))
    state.velocity[:] = velocity
    state.angular_velocity[1::2] = (9.0, -20.0, 14.0)
    engine.write(ids, state)
    energy = kind.energy(state) - kind.mass * G * state.position[:, 2]
    reached = np.zeros(len(cases), dtype=bool)
    for _ in range(60):
        engine.step(DT)
        state = state_of(engine, len(cases))
        assert (state.position[:, 0] < 0.0).all()
        now = kind.energy(state) - kind.mass * G * state.position[:, 2]
        assert (now < energy * (1 + 1e-5)).all()
        reached |= np.isin(ids, engine.contacts().body)
    assert reached.all()


def test_the_number_of_bodies_changes_no_bit_of_an_impact():
    """A solver or a search shared by all bodies would let a far body change another's last digits."""
    kind, starts = vehicle("typhoon_h"), thrown(9)
    fields = ("position", "orientation", "velocity", "angular_velocity")

    def fly(rows):
        chosen = BodyState(*(getattr(starts, field)[rows] for field in fields))
        engine = throw(kind, [plane(0.5, 0.5)], chosen)
        found = []
        for _ in range(250):
            engine.step(DT)
            state = state_of(engine, len(rows))
            found.append(np.hstack([getattr(state, field) for field in fields]))
        return np.array(found)

    together = fly(np.arange(9))
    # One that does not turn, one that turns and one that turns fast.
    for row in (0, 4, 8):
        np.testing.assert_array_equal(fly(np.array([row]))[:, 0], together[:, row])


def test_other_collisions_change_no_bit_of_a_collision():
    """Sums over all bodies that collide would let a far pair change another's last digits."""
    kind = with_surface(vehicle("typhoon_h"), 0.5, 0.5)
    start = flying_together([(1, 0, 0), (-1, 0, 0)], speed=3.0, spin=8.0, seed=1)
    other = flying_together([(0, 1, 0), (0, -1, 0)], speed=5.0, spin=12.0, seed=2)
    other.position += 50.0
    both = BodyState(*(np.vstack([vars(other)[name], vars(start)[name]]) for name in vars(start)))
    alone, together = (list(fly_into_each_other(kind, case, 0.6)) for case in (start, both))
    assert alone[-1][1]
    for (one, _), (two, _) in zip(alone, together, strict=True):
        for name, values in vars(one).items():
            np.testing.assert_array_equal(vars(two)[name][2:], values)


@pytest.mark.parametrize("gap", [0.001, 0.01])
def test_a_fast_body_that_misses_an_edge_is_not_disturbed(gap):
    """A contact with the edge that is ahead would brake a vehicle that flies over it."""
    edge = solid(ColliderShape.BOX, (0.5, 5.0, 0.5), (0.5, 0.0, -0.5))
    kind = ball()
    engine, _ = engine_with([edge], [kind.body("a", (-0.11, 0.0, 0.1 + gap))])
    free = BodyState.zeros(1)
    free.velocity[0] = (30.0, 0.0, 0.0)
    position = state_of(engine).position
    for _ in range(6):
        position = position + np.array([0.12, 0.0, 0.0])
        free.position[:] = position
        engine.apply(np.zeros((1, 3)), np.zeros((1, 3)), free)
        engine.step(DT)
        np.testing.assert_array_equal(state_of(engine).position, position)
        assert len(engine.contacts().body) == 0


def test_a_body_passes_between_flight_and_contact_without_loss():
    """On taking off or landing a body would lose a part of its motion along the ground."""
    kind = ball()
    engine, ids = engine_with([plane(0.0)], [kind.body("a", (0.0, 0.0, 0.3))])
    start = state_of(engine)
    start.velocity[0] = (20.0, 3.0, -1.0)
    start.angular_velocity[0] = (5.0, -7.0, 9.0)
    engine.write(ids, start)
    lift = np.array([[0.0, 0.0, -kind.mass * G], [0.0, 0.0, kind.mass]])
    touched = 0
    for step in range(500):
        engine.apply(lift[None, int(step > 250)], np.zeros((1, 3)))
        engine.step(DT)
        touched += len(engine.contacts().body)
    state = state_of(engine)
    assert touched > 100
    assert state.position[0, 2] > 0.4
    # MuJoCo's least coefficient of friction is 1e-5: it acts for a second, with a lever arm of 0.1 m.
    slip = 1.1e-5 * G
    np.testing.assert_allclose(state.velocity[0, :2], (20.0, 3.0), atol=slip)
    np.testing.assert_allclose(state.angular_velocity[0], (5.0, -7.0, 9.0), atol=slip * 0.1 / 0.004)


class Landing(Backend):
    """Driver that lifts its vehicle, tilts it and lets it fall."""

    drives = True

    def __init__(self, speed, end):
        self._speed, self._end = speed, end

    def bind(self, vehicle):
        self._shape = vehicle.count, vehicle.rotor_count

    def publish(self, t, state, readings):
        self._time = t

    def command(self, t):
        speeds = np.full(self._shape, self._speed if self._time < self._end else 0.2 * self._speed)
        speeds[:, 0] += 12.0 * np.sin(9.0 * self._time)
        return speeds


def landings(chosen):
    """Return the paths of vehicles that land in one world."""
    kinds = [("iris", 520.0), ("x500", 850.0), ("crazyflie", 2350.0), ("typhoon_h", 670.0), ("iris", 525.0)]
    path = []
    with Simulation("flat") as sim:
        for k in chosen:
            model, speed = kinds[k]
            driver = Landing(speed, 0.7 + 0.05 * k)
            sim.add(
                Multirotor(model, name=f"v{k}", position=(30.0 * k, 0.0, 0.35), backends=[driver], sensors={})
            )
        for _ in range(550):
            sim.step()
            path.append([vehicle.position[0].copy() for vehicle in sim.vehicles])
    return np.array(path)


def test_landings_do_not_depend_on_each_other():
    """A vehicle that touches the ground would move another one that does so elsewhere, by up to 0.2 mm."""
    together = landings(range(5))
    assert together[-1, :, 2].max() < 0.3
    for k in range(5):
        np.testing.assert_array_equal(landings([k])[:, 0], together[:, k])


def test_contacts_of_resting_vehicles_are_computed_once():
    """Whatever reads the contacts in each step would pay for them again while vehicles stand still."""
    with Simulation("flat") as simulation:
        iris = simulation.add(Multirotor("iris", count=2, position=[(0.0, 0.0, 0.09), (2.0, 0.0, 0.09)]))
        simulation.run(1.0)
        before = simulation.engine.contacts()
        simulation.step(3)
        assert len(before.body) > 0
        assert simulation.engine.contacts() is before
        iris.reset([1], position=(2.0, 0.0, 3.0))
        simulation.step(1)
        after = simulation.engine.contacts()
        assert set(after.body.tolist()) < set(before.body.tolist())
