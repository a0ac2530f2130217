"""The MuJoCo engine against closed forms, an independent integrator, and its contract."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from pegasus.base.errors import ConfigError
from pegasus.engines import BodyState, RigidBody, mujoco_engine
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.engines.mujoco_proximity import Proximity
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene

G = 9.81
INERTIA = np.diag([0.029125, 0.029125, 0.055225])
NO_SKIP = np.array([-1])


def collider(
    shape, size, *, position=(0, 0, 0), orientation=(0, 0, 0, 1), friction=0.5, restitution=0.0, **mesh
):
    return Collider(
        "/collider",
        shape,
        size,
        np.array(position, dtype=float),
        np.array(orientation, dtype=float),
        PhysicsMaterial(friction, friction, restitution),
        **mesh,
    )


def ground(**kwargs):
    return collider(ColliderShape.PLANE, (), **kwargs)


def body(
    name="body", *, position=(0, 0, 1), orientation=(0, 0, 0, 1), colliders=(), inertia=INERTIA, com=(0, 0, 0)
):
    return RigidBody(
        name,
        1.5,
        np.array(com, dtype=float),
        np.asarray(inertia, dtype=float),
        list(colliders),
        np.array(position, dtype=float),
        np.array(orientation, dtype=float),
    )


def box(size=(0.15, 0.1, 0.05)):
    return collider(ColliderShape.BOX, size)


def engine_with(*colliders, bodies=(), gravity=G):
    engine = MujocoEngine()
    engine.load(Scene("test", colliders=list(colliders)))
    ids = engine.add_bodies(bodies)
    weigh(engine, len(bodies), gravity)
    return engine, ids


def weigh(engine, count, gravity=G):
    """Let gravity act on all bodies; an engine has none of its own."""
    engine.apply(np.tile([0, 0, -1.5 * gravity], (count, 1)), np.zeros((count, 3)))


def state_of(engine, count=1):
    out = BodyState.zeros(count)
    engine.read(out)
    return out


def set_motion(engine, ids, **fields):
    state = state_of(engine, len(ids))
    for name, value in fields.items():
        getattr(state, name)[...] = value
    engine.write(ids, state)


def test_free_fall_is_exact():
    """An integrator of first order would be off by 2 cm after a second at 250 Hz."""
    engine, _ = engine_with(bodies=[body(position=(0, 0, 100))])
    for _ in range(500):
        engine.step(0.004)
    state = state_of(engine)
    assert state.position[0, 2] == pytest.approx(100 - 0.5 * G * 4, abs=1e-10)
    assert state.velocity[0, 2] == pytest.approx(-G * 2, abs=1e-11)


def test_constant_force_and_torque_about_a_principal_axis():
    """A wrench applied elsewhere than at the centre of mass, or held in the body frame, would differ."""
    engine, _ = engine_with(bodies=[body()], gravity=0.0)
    for _ in range(250):
        engine.apply(np.array([[3.0, 0, 0]]), np.array([[0, 0, 0.055225]]))
        engine.step(0.004)
    state = state_of(engine)
    assert state.position[0, 0] == pytest.approx(0.5 * 2.0, abs=1e-12)
    assert state.angular_velocity[0, 2] == pytest.approx(1.0, abs=1e-12)
    assert Rotation.from_quat(state.orientation[0]).magnitude() == pytest.approx(0.5, abs=1e-9)


def test_torque_free_tumble_agrees_with_dop853():
    """Euler's equations integrated wrongly lose or gain energy within a second of tumbling."""
    inertia = np.diag([0.01, 0.02, 0.03])
    spin = np.array([8.0, 0.3, 12.0])
    engine, ids = engine_with(bodies=[body(inertia=inertia)], gravity=0.0)
    set_motion(engine, ids, angular_velocity=spin)

    def euler(_, y):
        (qx, qy, qz, qw), w = y[:4], y[4:]
        rates = np.array([[qw, -qz, qy], [qz, qw, -qx], [-qy, qx, qw], [-qx, -qy, -qz]])
        return np.concatenate([0.5 * rates @ w, np.linalg.solve(inertia, -np.cross(w, inertia @ w))])

    truth = solve_ivp(euler, (0, 5), [0, 0, 0, 1, *spin], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    for _ in range(5000):
        engine.step(0.001)
    state = state_of(engine)
    np.testing.assert_allclose(state.angular_velocity[0], truth[4:], atol=1e-6)
    error = Rotation.from_quat(truth[:4]).inv() * Rotation.from_quat(state.orientation[0])
    assert error.magnitude() < 1e-6
    energy = [float(w @ inertia @ w) for w in (spin, state.angular_velocity[0])]
    assert energy[1] == pytest.approx(energy[0], rel=1e-8)


def test_bodies_that_touch_nothing_end_in_the_given_state():
    """The step's own integration of free flight would be lost, or the ground would not carry a body."""
    engine, _ = engine_with(
        ground(),
        bodies=[
            body("lying", position=(0, 0, 0.0499), colliders=[box()]),
            body("flying", position=(3, 0, 2), colliders=[box()]),
        ],
    )
    free = BodyState.zeros(2)
    free.position[...] = [(0, 0, 0.04), (3.1, 0.2, 2.0)]
    free.orientation[1] = (0.1, 0.2, 0.05, 0.9731906)
    free.velocity[...] = [(0, 0, -2), (30, 1, 0)]
    free.angular_velocity[1] = (1, 2, 3)
    engine.apply(np.tile([0, 0, -1.5 * G], (2, 1)), np.zeros((2, 3)), free)
    engine.step(0.004)
    state = state_of(engine, 2)
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(state, name)[1], getattr(free, name)[1])
    assert state.position[0, 2] > 0.0495


def test_mass_properties_are_exactly_those_given():
    """Inertia of the colliders, or products of inertia with the wrong sign, would accelerate otherwise."""
    inertia = np.array([[0.05, 0.004, -0.006], [0.004, 0.06, 0.008], [-0.006, 0.008, 0.07]])
    com = np.array([0.02, -0.03, 0.01])
    engine, _ = engine_with(bodies=[body(inertia=inertia, com=com, colliders=[box()])], gravity=0.0)
    force, torque, dt = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.1]), 1e-6
    engine.apply(force[None], torque[None])
    engine.step(dt)
    state = state_of(engine)
    expected = np.linalg.solve(inertia, torque)
    np.testing.assert_allclose(state.angular_velocity[0] / dt, expected, rtol=1e-5)
    np.testing.assert_allclose(state.velocity[0] / dt, force / 1.5 - np.cross(expected, com), rtol=1e-5)


@pytest.mark.parametrize("rate", [250, 1000])
def test_rest_on_the_ground(rate):
    """A body at rest must stay, carried by a contact force equal to its weight."""
    engine, ids = engine_with(ground(), bodies=[body(position=(0, 0, 0.05), colliders=[box()])])
    for _ in range(rate):
        engine.step(1 / rate)
    before = state_of(engine).position.copy()
    for _ in range(rate):
        engine.step(1 / rate)
    state = state_of(engine)
    np.testing.assert_allclose(state.position, before, atol=1e-7)
    assert abs(state.position[0, 2] - 0.05) < 1e-3
    contacts = engine.contacts()
    np.testing.assert_allclose(contacts.force.sum(axis=0), [0, 0, 1.5 * G], atol=1e-5)
    np.testing.assert_allclose(
        contacts.normal, np.tile([0.0, 0.0, 1.0], (len(contacts.normal), 1)), atol=1e-9
    )
    assert (contacts.body == ids[0]).all()
    assert (contacts.other == -1).all()


def landed_and_flying(names, wrenches, steps=150):
    """Return the engine with boxes of which the wrench of some changes, and their states and contacts."""
    places = {"landed": (0, 0, 0.05), "turned": (5, 0, 0.05), "thrown": (-1.2, 0, 0.06), "high": (0, 9, 50)}
    engine, ids = engine_with(
        ground(), bodies=[body(name, position=places[name], colliders=[box()]) for name in names]
    )
    if "thrown" in names:
        motion = np.zeros((len(names), 3))
        motion[names.index("thrown")] = (4.0, 0.0, 0.0)
        set_motion(engine, ids, velocity=motion)
    found = {name: [] for name in names}
    for step in range(steps):
        force = np.tile([0.0, 0.0, -1.5 * G], (len(names), 1))
        for name, change in wrenches.items():
            if name in names:
                force[names.index(name)] += change(step)
        engine.apply(force, np.zeros((len(names), 3)))
        engine.step(0.004)
        state, contacts = state_of(engine, len(names)), engine.contacts()
        for k, name in enumerate(names):
            here = contacts.body == ids[k]
            order = np.lexsort(contacts.position[here].T)
            forces, points = contacts.force[here][order], contacts.position[here][order]
            found[name].append(np.concatenate([*(v[k] for v in vars(state).values()), *forces, *points]))
    return engine, found


def test_bodies_at_rest_are_left_out_of_the_step_without_a_difference():
    """A landed body would keep its rest under another wrench, or lose its contacts while others move."""
    wrenches = {
        "turned": lambda step: np.array([0.0, 0.0, 20.0 if 60 <= step < 75 else 0.0]),
        "high": lambda step: np.array([0.01 * step, 0.0, 0.0]),
    }
    engine, together = landed_and_flying(["landed", "turned", "high"], wrenches)
    assert engine._motion._asleep.tolist() == [True, True, False]
    for name in ("landed", "turned"):
        for one, two in zip(landed_and_flying([name], wrenches)[1][name], together[name], strict=True):
            np.testing.assert_array_equal(one, two)
    assert together["turned"][80][2] > 0.055
    np.testing.assert_allclose(
        together["landed"][-1][13:25].reshape(4, 3).sum(axis=0), [0, 0, 1.5 * G], atol=1e-4
    )


def test_a_body_at_rest_is_moved_by_one_that_hits_it():
    """A body that is left out of the step because it rests would be an obstacle, or be passed through."""
    _, found = landed_and_flying(
        ["landed", "thrown", "high"], {"high": lambda step: np.array([0.1 * step, 0, 0])}, 400
    )
    path = np.array([state[:3] for state in found["landed"]])
    np.testing.assert_array_equal(path[30:50], path[30:31].repeat(20, axis=0))
    assert path[-1, 0] > 0.02
    assert np.array([state[0] for state in found["thrown"]]).max() < path[-1, 0]


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("rate", [100, 250, 1000])
def test_a_body_comes_to_rest_on_any_material(restitution, rate):
    """A body on a surface with restitution would bounce by a few micrometres in each step, for ever."""
    engine, _ = engine_with(
        ground(restitution=restitution), bodies=[body(position=(0, 0, 0.1), colliders=[box()])]
    )
    for _ in range(6 * rate):
        engine.step(1 / rate)
    velocities = []
    for _ in range(rate):
        engine.step(1 / rate)
        velocities.append(state_of(engine).velocity[0, 2])
    assert np.abs(np.diff(velocities)).max() * rate < 1e-5


@pytest.mark.parametrize("degrees", [20, 26, 30, 35])
def test_friction_on_a_slope(degrees):
    """Below the friction angle (26.57 degrees for 0.5) a body rests; above it, it slides as Coulomb says."""
    slope, friction = math.radians(degrees), 0.5
    tilt = (0, math.sin(slope / 2), 0, math.cos(slope / 2))
    normal = np.array([math.sin(slope), 0, math.cos(slope)])
    flat_box = box((0.15, 0.15, 0.05))
    engine, _ = engine_with(
        ground(orientation=tilt, friction=friction),
        bodies=[body(position=normal * 0.05, orientation=tilt, colliders=[flat_box])],
    )
    for _ in range(500):
        engine.step(0.001)
    start = state_of(engine).position.copy()
    for _ in range(1000):
        engine.step(0.001)
    moved = float(np.linalg.norm(state_of(engine).position - start))
    pull = G * (math.sin(slope) - friction * math.cos(slope))
    if pull < 0:
        assert moved < 1e-5
    else:
        assert moved == pytest.approx(pull * (1.5**2 - 0.5**2) / 2, rel=0.01)


@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.8])
def test_restitution(restitution):
    """The rebound speed over the impact speed is the material's coefficient, not that of a two-way spring."""
    ball = collider(ColliderShape.SPHERE, (0.1,))
    engine, _ = engine_with(
        ground(restitution=restitution), bodies=[body(position=(0, 0, 1.1), colliders=[ball])]
    )
    speeds = []
    for _ in range(1000):
        engine.step(0.001)
        speeds.append(float(state_of(engine).velocity[0, 2]))
    impact = int(np.argmin(speeds))
    assert max(speeds[impact:]) / -min(speeds) == pytest.approx(restitution, abs=0.02)


def test_contact_gains_no_energy():
    """A tumbling box thrown onto the ground must never come up with more energy than it had."""
    engine, ids = engine_with(
        ground(), bodies=[body(position=(0, 0, 1), orientation=(0.1, 0.2, 0.05, 0.973), colliders=[box()])]
    )
    set_motion(engine, ids, velocity=(4, -2, -5), angular_velocity=(8, -5, 3))
    energies = []
    for _ in range(1500):
        s = state_of(engine)
        w = s.angular_velocity[0]
        energies.append(
            0.75 * float(s.velocity[0] @ s.velocity[0])
            + 0.5 * float(w @ INERTIA @ w)
            + 1.5 * G * s.position[0, 2]
        )
        engine.step(0.004)
    energies = np.array(energies)
    # A contact's spring stores energy and gives it back: what counts is that the start is never topped.
    assert energies.max() <= energies[0] * (1 + 1e-6)
    assert energies[-1] < 0.1 * energies[0]


def test_fast_body_does_not_tunnel_through_a_wall():
    """At 15 m/s and 250 Hz a body moves 6 cm a step; a 20 cm wall must still stop it."""
    wall = collider(ColliderShape.BOX, (0.1, 5, 5), position=(3, 0, 0))
    engine, ids = engine_with(wall, bodies=[body(position=(0, 0, 0), colliders=[box()])], gravity=0.0)
    set_motion(engine, ids, velocity=(15, 0, 0))
    for _ in range(250):
        engine.step(0.004)
        assert state_of(engine).position[0, 0] < 3.0


def flat_triangles():
    vertices = np.array([[-5, -5, 0], [5, -5, 0], [5, 5, 0], [-5, 5, 0]], dtype=float)
    return collider(
        ColliderShape.MESH, (), vertices=vertices, faces=np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    )


def test_flat_mesh_carries():
    """Four points in a plane have no hull; a ground authored like that must still carry."""
    engine, _ = engine_with(flat_triangles(), bodies=[body(position=(0, 0, 0.3), colliders=[box()])])
    for _ in range(500):
        engine.step(0.004)
    assert state_of(engine).position[0, 2] == pytest.approx(0.05, abs=2e-3)


@pytest.mark.parametrize(
    ("shape", "size", "expected"),
    [
        (ColliderShape.SPHERE, (0.5,), 1.5),
        (ColliderShape.BOX, (0.5, 0.4, 0.3), 1.5),
        (ColliderShape.ELLIPSOID, (0.25, 1.0, 1.0), 1.75),
        (ColliderShape.CYLINDER, (0.5, 1.0), 1.5),
        (ColliderShape.CAPSULE, (0.5, 1.0), 1.5),
    ],
)
def test_primitives_are_exact(shape, size, expected):
    """A size taken for a diameter, or axes mixed up, would move the surface."""
    engine, _ = engine_with(collider(shape, size, position=(2, 0, 0)))
    hits = engine.raycast(np.zeros((1, 3)), np.array([[1.0, 0, 0]]), 10.0, skip=NO_SKIP)
    assert hits.distance[0] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(hits.normal[0], [-1, 0, 0], atol=1e-12)


def test_rays_skip_the_asking_body_and_end_at_their_range():
    """A ray that starts inside its own vehicle must not hit it; others' must."""
    engine, ids = engine_with(
        ground(),
        bodies=[
            body("a", position=(0, 0, 5), colliders=[box()]),
            body("b", position=(0, 0, 3), colliders=[box()]),
        ],
    )
    down = np.array([[0, 0, -1.0]])
    from_a = engine.raycast(np.array([[0, 0, 5.0]]), down, 10.0, skip=ids[:1])
    assert from_a.distance[0] == pytest.approx(1.95)
    assert from_a.body[0] == ids[1]
    from_b = engine.raycast(np.array([[0, 0, 3.0]]), down, 10.0, skip=ids[1:])
    assert from_b.distance[0] == pytest.approx(3.0)
    assert from_b.body[0] == -1
    short = engine.raycast(np.array([[0, 0, 3.0]]), down, 2.9, skip=ids[1:])
    assert not short.hit[0]
    assert math.isinf(short.distance[0])


def test_rays_follow_moved_bodies():
    """Rays cast against the poses of the step before would miss what has moved."""
    engine, ids = engine_with(
        bodies=[body(position=(0, 0, 0), colliders=[collider(ColliderShape.SPHERE, (0.5,))])], gravity=0.0
    )
    set_motion(engine, ids, position=(4, 0, 0), velocity=(1, 0, 0))
    x = np.array([[1.0, 0, 0]])
    assert engine.raycast(np.zeros((1, 3)), x, 10.0, skip=NO_SKIP).distance[0] == pytest.approx(3.5)
    engine.apply(np.array([[15.0, 0, 0]]), np.zeros((1, 3)))
    engine.step(0.1)
    assert engine.raycast(np.zeros((1, 3)), x, 10.0, skip=NO_SKIP).distance[0] == pytest.approx(3.65)


def trajectory(engine, row=0, steps=400, count=1):
    rows = []
    for _ in range(steps):
        engine.step(0.004)
        s = state_of(engine, count)
        rows.append(
            np.concatenate([s.position[row], s.orientation[row], s.velocity[row], s.angular_velocity[row]])
        )
    return np.array(rows)


def bouncing(name, x, *, inertia=INERTIA):
    tilted = (0.1, 0.2, 0.05, 0.9731906)
    return body(name, position=(x, 0, 1.1), orientation=tilted, colliders=[box()], inertia=inertia)


@pytest.mark.parametrize("others", [1, 30])
def test_bodies_far_away_change_no_bit(others):
    """A solver shared by all bodies would let a far contact change another's last digits."""
    alone, _ = engine_with(ground(), bodies=[bouncing("one", 0)])
    many, _ = engine_with(
        ground(),
        bodies=[
            bouncing("one", 0),
            *(bouncing(f"far{i}", 20 + i, inertia=9 * INERTIA) for i in range(others)),
        ],
    )
    np.testing.assert_array_equal(trajectory(many, count=1 + others), trajectory(alone))


def test_adding_and_removing_while_running_changes_no_bit():
    """A state lost or reordered when the model is rebuilt would make a vehicle jump."""
    alone, _ = engine_with(ground(), bodies=[bouncing("one", 0)])
    expected = trajectory(alone, steps=600)
    engine, ids = engine_with(ground(), bodies=[bouncing("one", 0)])
    first = trajectory(engine, steps=100)
    added = engine.add_bodies([bouncing("two", 30), bouncing("three", 40)])
    weigh(engine, 3)
    assert len({*ids.tolist(), *added.tolist()}) == 3
    second = trajectory(engine, steps=100, count=3)
    engine.remove_bodies(added[:1])
    weigh(engine, 2)
    third = trajectory(engine, steps=200, count=2)
    later = engine.add_bodies([bouncing("two", 30)])
    weigh(engine, 3)
    assert later[0] not in {*ids.tolist(), *added.tolist()}
    fourth = trajectory(engine, steps=200, count=3)
    np.testing.assert_array_equal(np.concatenate([first, second, third, fourth]), expected)


def test_removal_keeps_the_others_rows_in_order():
    """Rows mixed up after a removal would hand one vehicle another's state."""
    engine, ids = engine_with(bodies=[body(str(i), position=(i, 0, 0)) for i in range(4)])
    engine.remove_bodies(ids[1:2])
    np.testing.assert_array_equal(state_of(engine, 3).position[:, 0], [0, 2, 3])
    set_motion_to = BodyState.zeros(1)
    set_motion_to.position[...] = (7, 0, 0)
    engine.write(ids[3:], set_motion_to)
    np.testing.assert_array_equal(state_of(engine, 3).position[:, 0], [0, 2, 7])


def test_a_body_that_cannot_be_added_leaves_nothing_behind():
    """A half-added body would break every later step."""
    engine, _ = engine_with(ground(), bodies=[body("one", position=(0, 0, 5))])
    with pytest.raises(ValueError, match="one"):
        engine.add_bodies([body("two"), body("one")])
    engine.step(0.004)
    assert state_of(engine).position[0, 2] < 5
    engine.add_bodies([body("two")])


def test_a_mujoco_without_speculative_contacts_is_refused(monkeypatch):
    """The MuJoCo of Isaac Sim 6.0.1, 3.8.0, would end in an AttributeError when the world is loaded."""
    monkeypatch.setattr(mujoco_engine.mujoco, "mjtEnableBit", SimpleNamespace())
    monkeypatch.setattr(mujoco_engine.mujoco, "__version__", "3.8.0")
    with pytest.raises(ConfigError, match=r"engine = 'mujoco 3\.8\.0': needs MuJoCo 4\.0 or newer"):
        MujocoEngine()


def test_more_bodies_than_memory_are_refused_at_once(monkeypatch):
    """MuJoCo would give up minutes later with "Could not allocate memory"."""
    engine, _ = engine_with(ground(), bodies=[body(position=(0, 0, 1), colliders=[box()])])
    monkeypatch.setattr(mujoco_engine, "free_memory", lambda: 50e6)
    crowd = [body(f"crowd/{k}", position=(k, 5, 1), colliders=[box()]) for k in range(400)]
    with pytest.raises(ConfigError, match=r"vehicles = 401: needs 0\.1 GB of memory, but only 0\.1 GB"):
        engine.add_bodies(crowd)
    assert len(engine._ids) == 1
    monkeypatch.setattr(mujoco_engine, "free_memory", lambda: 1e9)
    engine.add_bodies(crowd)
    assert engine._model.narena < 0.2e9
    engine.step(0.004)


def test_part_of_a_batch_and_then_the_rest_can_be_removed():
    """What a batch shares would go with its first body, or stay behind for ever."""
    engine, first = engine_with(ground(), bodies=[body(position=(0, 0, 1), colliders=[box()])])
    batch = engine.add_bodies([body(f"b/{k}", position=(k, 5, 1), colliders=[box()]) for k in range(3)])
    engine.remove_bodies(batch[1:2])
    engine.step(0.004)
    np.testing.assert_allclose(state_of(engine, 3).position[:, 0], [0, 0, 2])
    engine.remove_bodies(np.concatenate([first, batch[2:]]))
    np.testing.assert_allclose(state_of(engine, 1).position[:, :2], [[0, 5]])
    engine.remove_bodies(batch[:1])
    engine.step(0.004)
    assert len(engine._ids) == 0


def test_close_twice():
    """Closing must be safe to repeat, whatever came before."""
    engine, _ = engine_with(ground())
    engine.close()
    engine.close()


@pytest.mark.parametrize("seed", range(3))
def test_looking_ahead_for_collisions_changes_no_bit(seed, monkeypatch):
    """Collision detection is skipped while nothing can touch; skipped too long, bodies would pass through."""
    rng = np.random.default_rng(seed)
    starts = np.stack(np.meshgrid(np.arange(6), np.arange(6), [1.0]), axis=-1).reshape(-1, 3) * [1.5, 1.5, 1]
    velocity = rng.normal(scale=6, size=(len(starts), 3))
    spin = rng.normal(scale=10, size=(len(starts), 3))

    def fly():
        bodies = [body(str(i), position=p, colliders=[box()]) for i, p in enumerate(starts)]
        wall = collider(ColliderShape.BOX, (0.1, 20, 5), position=(12, 0, 0))
        engine, ids = engine_with(ground(), wall, bodies=bodies)
        set_motion(engine, ids, velocity=velocity, angular_velocity=spin)
        contact_count, rows = 0, []
        for _ in range(250):
            engine.step(0.004)
            contact_count += len(engine.contacts().body)
            rows.append(state_of(engine, len(starts)).position.copy())
        return np.array(rows), contact_count

    looking, contact_count = fly()
    far, near = Proximity.far, Proximity.near

    def never_far(proximity, dt, drift):
        proximity.forget(slice(None))
        return far(proximity, dt, drift)

    monkeypatch.setattr(Proximity, "far", never_far)
    monkeypatch.setattr(Proximity, "near", lambda *a, **k: near(*a, **k) | True)
    always, _ = fly()
    assert contact_count > 100
    np.testing.assert_array_equal(looking, always)


def test_rays_in_an_empty_world_meet_nothing():
    """A ray cast where nothing collides would end in an index error."""
    engine = MujocoEngine()
    engine.load(Scene(source="empty"))
    hits = engine.raycast(np.zeros((2, 3)), np.array([[0, 0, -1.0], [1.0, 0, 0]]), 10.0, skip=np.full(2, -1))
    assert not hits.hit.any()
    assert (hits.body == -1).all()
    engine.close()
