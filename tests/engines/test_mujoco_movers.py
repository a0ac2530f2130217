"""Tests of moving parts of the scene: they carry and push bodies, and are hit by rays where they are."""

import math

import numpy as np
import pytest

from pegasus.contracts.engine import BodyState, MovingBody, RigidBody
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene

G = 9.81
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])


def box(size, *, position=(0.0, 0.0, 0.0), friction=0.8, restitution=0.0, path="/World/box"):
    """Return a box collider."""
    return Collider(
        path,
        ColliderShape.BOX,
        tuple(0.5 * length for length in size),
        np.array(position),
        LEVEL,
        PhysicsMaterial(friction, friction, restitution),
    )


class Moved:
    """Engine with one free box and moving boxes that follow functions of time."""

    dt = 0.004

    def __init__(self, parts, *, position, ground=False, mass=1.5, friction=0.8, restitution=0.0):
        self.engine = MujocoEngine()
        floor = [box((100, 100, 1), position=(0, 0, -0.5), path="/World/ground")] if ground else []
        self.engine.load(Scene(source="", colliders=floor))
        size = (0.2, 0.2, 0.1)
        self.body = RigidBody(
            name="a/0",
            mass=mass,
            center_of_mass=np.zeros(3),
            inertia=np.diag([0.006, 0.006, 0.01]),
            colliders=[box(size)],
            position=np.array(position),
            orientation=LEVEL,
        )
        self.ids = self.engine.add_bodies([self.body])
        self.parts, self.time = parts, 0.0
        self.engine.add_movers(
            [
                MovingBody(
                    f"m/{k}",
                    [
                        box(
                            size,
                            position=offset,
                            friction=friction,
                            restitution=restitution,
                            path=f"/World/m/{k}",
                        )
                    ],
                    *map(np.array, path(0.0)[:2]),
                )
                for k, (size, offset, path) in enumerate(parts)
            ]
        )
        self.engine.move(self.at(0.0), self.at(0.0))
        self.state = BodyState.zeros(1)

    def at(self, t):
        """Return the motion of the parts."""
        rows = [path(t) for _, _, path in self.parts]
        return BodyState(*(np.array([row[k] for row in rows], dtype=np.float64) for k in range(4)))

    def step(self, count=1):
        """Advance, and return the state of the box."""
        for _ in range(count):
            weight = np.array([[0.0, 0.0, -G * self.body.mass]])
            self.engine.apply(weight, np.zeros((1, 3)))
            end = self.time + self.dt
            self.engine.move(self.at(self.time), self.at(end))
            self.engine.step(self.dt)
            self.time = end
        self.engine.read(self.state)
        return self.state


def sliding(position, velocity):
    """Return a motion at constant velocity."""
    return lambda t: (np.array(position) + np.array(velocity) * t, LEVEL, velocity, (0.0, 0.0, 0.0))


def swinging(amplitude, period, position):
    """Return a motion to and fro."""
    w = 2 * math.pi / period

    def at(t):
        a = np.array(amplitude)
        return np.array(position) + a * math.sin(w * t), LEVEL, a * w * math.cos(w * t), (0.0, 0.0, 0.0)

    return at


def turning(rate, position):
    """Return a rotation about the vertical at constant rate."""

    def at(t):
        half = 0.5 * rate * t
        return position, (0.0, 0.0, math.sin(half), math.cos(half)), (0.0, 0.0, 0.0), (0.0, 0.0, rate)

    return at


PLATE = (4.0, 4.0, 0.2)
BELOW = (0.0, 0.0, -0.1)
"""The upper face of a plate at its origin."""


@pytest.mark.parametrize("speed", [0.5, 3.0, 20.0])
def test_a_plate_carries_what_stands_on_it(speed):
    """A plate at constant velocity would slip away below the box, or sweep it off when it is fast."""
    plate = (200.0, 4.0, 0.2)
    moved = Moved([(plate, BELOW, sliding((0, 0, 0), (speed, 0.3, 0.0)))], position=(0.3, 0.2, 0.05))
    # Coulomb's friction brings it to the speed of the plate within v / (mu g).
    moved.step(math.ceil(1.5 * speed / (0.8 * G) / moved.dt) + 10)
    before = moved.state.position[0] - moved.at(moved.time).position[0]
    state = moved.step(250)
    # A contact settles with up to 0.005 m/s^2 times the step.
    np.testing.assert_allclose(state.velocity[0], [speed, 0.3, 0.0], atol=2.5e-5)
    drift = state.position[0] - moved.at(moved.time).position[0] - before
    assert np.abs(drift).max() < 2.5e-5


def test_friction_brings_it_to_speed_at_its_limit():
    """The box would stick to a plate that starts at once, or be accelerated by another force than mu m g."""
    moved = Moved(
        [((40, 4, 0.2), BELOW, sliding((0, 0, 0), (5.0, 0, 0)))], position=(0, 0, 0.05), friction=0.4
    )
    times = np.arange(1, 250) * moved.dt
    speeds = np.array([moved.step().velocity[0, 0] for _ in times])
    np.testing.assert_allclose(speeds, np.minimum(0.4 * G * times, 5.0), atol=0.02)


def test_a_heaving_plate_neither_throws_nor_loses_what_it_carries():
    """A deck that accelerates by less than gravity would lose its load, or let it sink in."""
    heave = swinging((0.0, 0.0, 0.5), 3.0, (0, 0, 1))
    moved = Moved([(PLATE, BELOW, heave)], position=(0, 0, 1.05))
    moved.step(25)
    for _ in range(30):
        state, plate = moved.step(25), moved.at(moved.time)
        assert abs(state.position[0, 2] - plate.position[0, 2] - 0.05) < 1e-4
        assert abs(state.velocity[0, 2] - plate.velocity[0, 2]) < 1e-4


def test_a_deck_that_falls_faster_than_gravity_leaves_its_load():
    """A contact would pull: the load would follow a deck that accelerates downwards by more than g."""
    moved = Moved(
        [(PLATE, BELOW, lambda t: ((0, 0, 5 - 10 * t * t), LEVEL, (0, 0, -20 * t), (0, 0, 0)))],
        position=(0, 0, 5.05),
    )
    state = moved.step(100)
    fallen = 0.5 * G * moved.time**2
    np.testing.assert_allclose(state.position[0, 2], 5.05 - fallen, atol=2e-3)


def test_a_turntable_turns_what_stands_on_it():
    """Points of a rotating plate would move along tangents: the load would creep outwards."""
    moved = Moved([(PLATE, BELOW, turning(1.0, (0, 0, 0)))], position=(0.5, 0, 0.05))
    moved.step(100)
    radius = np.linalg.norm(moved.state.position[0, :2])
    state = moved.step(1000)
    assert abs(np.linalg.norm(state.position[0, :2]) - radius) < 1e-3
    np.testing.assert_allclose(np.linalg.norm(state.velocity[0, :2]), radius, rtol=2e-3)
    np.testing.assert_allclose(state.angular_velocity[0], [0, 0, 1], atol=2e-3)


def test_a_ram_pushes_what_stands_in_its_way():
    """A moving wall would pass through a box on the ground, or be stopped by it."""
    moved = Moved(
        [((0.2, 2, 1), (0, 0, 0.5), sliding((-1.0, 0, 0), (0.8, 0, 0)))], position=(0, 0, 0.05), ground=True
    )
    state = moved.step(500)
    face = moved.at(moved.time).position[0, 0] + 0.1
    assert abs(state.position[0, 0] - 0.1 - face) < 1e-3
    np.testing.assert_allclose(state.velocity[0], [0.8, 0, 0], atol=0.02)


def test_a_fast_thin_mover_does_not_pass_through_a_body_at_rest():
    """A body that sleeps on the ground would not wake, or a wall of 2 cm at 15 m/s jump over it."""
    moved = Moved(
        [((0.02, 2, 1), (0, 0, 0.5), sliding((-15.0, 0, 0), (15.0, 0, 0)))],
        position=(0, 0, 0.05),
        ground=True,
    )
    moved.step(200)
    assert abs(moved.state.velocity[0, 0]) < 1e-6
    state = moved.step(125)
    assert state.position[0, 0] - 0.1 > moved.at(moved.time).position[0, 0] - 0.02
    assert state.velocity[0, 0] > 10.0


def test_a_cage_takes_along_what_is_in_it():
    """Inside a fast cage a body would be swept against the wall where it was."""
    v = (15.0, 0, 0)
    walls = [
        (PLATE, BELOW, sliding((0, 0, 1), v)),
        ((0.05, 4, 1), (0.2, 0, 0.5), sliding((0, 0, 1), v)),
        ((0.05, 4, 1), (-0.2, 0, 0.5), sliding((0, 0, 1), v)),
    ]
    moved = Moved(walls, position=(0, 0, 1.05))
    moved.state.position[0] = 0, 0, 1.05
    moved.state.velocity[0] = v
    moved.engine.write(moved.ids, moved.state)
    state = moved.step(500)
    np.testing.assert_allclose(state.velocity[0], v, atol=1e-4)
    assert abs(state.position[0, 0] - moved.at(moved.time).position[0, 0]) < 1e-3


def test_a_racket_gives_back_the_relative_speed():
    """Restitution would count the body's own speed, not that towards the moving plate: e v_rel."""
    up = sliding((0, 0, 0), (0, 0, 1.0))
    moved = Moved([(PLATE, BELOW, up)], position=(0, 0, 2.0), restitution=0.6)
    speeds = [moved.step().velocity[0, 2] for _ in range(160)]
    hit = int(np.argmax(np.diff(speeds)))
    approach, departure = 1.0 - speeds[hit], speeds[hit + 2] - 1.0
    np.testing.assert_allclose(departure, 0.6 * approach, rtol=0.02)


def test_rays_and_contacts_name_the_scene_where_the_mover_is():
    """A ray would hit a mover where it was, or report it as a vehicle; a contact would have no name."""
    moved = Moved([(PLATE, BELOW, sliding((0, 0, 0), (1.0, 0, 0)))], position=(0, 0, 0.05))
    moved.step(100)
    down = np.array([[0.0, 0.0, -1.0]])

    def hits(x):
        return moved.engine.raycast(np.array([[x, 1.5, 2.0]]), down, 5.0, skip=np.array([-1]))

    edge = 2.0 + moved.time
    assert hits(edge - 1e-6).distance[0] == pytest.approx(2.0, abs=1e-12)
    assert hits(edge - 1e-6).body[0] == -1
    assert not hits(edge + 1e-6).hit[0]
    found = moved.engine.contacts()
    assert set(found.surface) == {"/World/m/0"}
    assert set(found.other) == {-1}
    np.testing.assert_allclose(found.force.sum(axis=0), [0, 0, G * 1.5], atol=1e-3)


def test_what_is_squeezed_is_not_shot_away():
    """A body between a moving and a fixed wall would gain speed without bound as the gap closes."""
    walls = [
        ((0.2, 2, 1), (0, 0, 0.5), sliding((-0.5, 0, 0), (0.5, 0, 0))),
        ((0.2, 2, 1), (0, 0, 0.5), sliding((0.5, 0, 0), (0, 0, 0))),
    ]
    moved = Moved(walls, position=(0, 0, 0.05), ground=True)
    speeds = [np.abs(moved.step().velocity).max() for _ in range(750)]
    assert 0.49 < max(speeds) < 1.1


def test_what_was_struck_slides_on_when_the_mover_has_gone():
    """A body that slept before would sleep again in the middle of its way, once the mover is far."""

    def strike(t):
        x, v = (-1.0 + 2.0 * t, 2.0) if t < 0.5 else (-40.0 * (t - 0.5), -40.0)
        return (x, 0.0, 0.0), LEVEL, (v, 0.0, 0.0), (0.0, 0.0, 0.0)

    moved = Moved([((0.2, 0.4, 1), (0, 0, 0.5), strike)], position=(0, 0, 0.05), ground=True)
    moved.step(125)
    state = moved.state
    start, speed = state.position[0, 0], state.velocity[0, 0]
    assert speed == pytest.approx(2.0, abs=0.1)
    moved.step(250)
    assert state.position[0, 0] - start == pytest.approx(speed**2 / (2 * 0.8 * G), rel=0.05)


def test_a_mover_that_is_put_elsewhere_is_met_there():
    """After a reset a body would fall through a plate that was far away before."""
    moved = Moved([(PLATE, BELOW, sliding((0, 0, -50.0), (0, 0, 0)))], position=(0, 0, 0.2))
    moved.step(2)
    moved.parts = [(PLATE, BELOW, sliding((0, 0, 0.0), (0, 0, 0)))]
    state = moved.step(250)
    np.testing.assert_allclose(state.position[0, 2], 0.05, atol=1e-4)
