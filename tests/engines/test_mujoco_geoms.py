"""How meshes collide in the MuJoCo engine, against distances and rays computed from their triangles."""

import gc
import logging
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import mesh_shapes
import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from pegasus.config.files import load_vehicle
from pegasus.engines import BodyState, RigidBody
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene import decomposition, vehicle_scene
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene

RADIUS = 0.1
NOWHERE = np.array([50.0, 50.0, 50.0])
FACED = ["l_shape", "wedge_star", "room", "arch", "torus", "terrain"]


def collider(shape, size=(), **kwargs):
    kwargs = {"position": np.zeros(3), "orientation": np.array([0, 0, 0, 1.0])} | kwargs
    return Collider("/collider", shape, size, **kwargs)


def mesh(vertices, faces, approximation="none", **kwargs):
    return collider(
        ColliderShape.MESH,
        vertices=np.asarray(vertices, dtype=float),
        faces=np.asarray(faces, dtype=np.int32),
        approximation=approximation,
        **kwargs,
    )


def ball():
    return collider(ColliderShape.SPHERE, (RADIUS,))


def flat_box():
    return collider(ColliderShape.BOX, (0.2, 0.2, 0.04))


def engine_with(*colliders, shapes=None, at=NOWHERE):
    engine = MujocoEngine()
    engine.load(Scene("test", colliders=list(colliders)))
    body = RigidBody(
        "probe",
        1.0,
        np.zeros(3),
        0.004 * np.eye(3),
        shapes or [ball()],
        np.array(at, dtype=float),
        np.array([0, 0, 0, 1.0]),
    )
    return engine, engine.add_bodies([body])


def put(engine, ids, position, velocity=(0, 0, 0), *, weight=0.0, orientation=(0, 0, 0, 1)):
    state = BodyState.zeros(1)
    state.position[0], state.velocity[0], state.orientation[0] = position, velocity, orientation
    engine.write(ids, state)
    engine.apply(np.array([[0, 0, -weight]]), np.zeros((1, 3)))


def state_of(engine):
    state = BodyState.zeros(1)
    engine.read(state)
    return state


def probes(vertices, faces, count, *, closed=True):
    """Centres of balls outside a mesh whose gaps to it lie between -0.07 and 0.05 m, and these gaps."""
    rng = np.random.default_rng(7)
    points, normals = mesh_shapes.surface_points(vertices, faces, count, rng)
    centers = points + normals * rng.uniform(0.3 * RADIUS, 1.5 * RADIUS, size=(count, 1))
    gaps = mesh_shapes.distance(centers, vertices, faces) - RADIUS
    aside = np.array([0.83, 0.41, 0.37])
    outside = [
        gap > -0.75 * RADIUS and not (closed and mesh_shapes.crossings(center, aside, vertices, faces) % 2)
        for center, gap in zip(centers, gaps, strict=True)
    ]
    return centers[outside], gaps[outside]


def worst_gap(engine, ids, centers, gaps):
    """How far the distance of contacts is from the true one; where there is none, how deep it should be."""
    worst = 0.0
    for center, gap in zip(centers, gaps, strict=True):
        put(engine, ids, center)
        engine.step(1e-5)
        found = engine.contacts().distance
        worst = max(worst, abs(found.min() - gap) if len(found) else -gap)
    return worst


@pytest.mark.parametrize("name", FACED)
def test_contacts_are_those_of_the_triangles(name):
    """A doorway or the hole of a ring would be filled, or parts stick out of the mesh that is drawn."""
    vertices, faces = getattr(mesh_shapes, name)()
    engine, ids = engine_with(mesh(vertices, faces))
    centers, gaps = probes(vertices, faces, 150, closed=name != "terrain")
    assert len(gaps) > 75
    assert (gaps < -0.01).any()
    assert (gaps > 0.01).any()
    assert worst_gap(engine, ids, centers, gaps) < 1e-5


@pytest.mark.parametrize("name", ["l_shape", "wedge_star", "room", "arch"])
def test_contacts_of_a_decomposed_mesh_keep_to_the_stated_distance(name):
    """`convexDecomposition` would be off by more than a fortieth of the longest side, or be the hull."""
    vertices, faces = getattr(mesh_shapes, name)()
    engine, ids = engine_with(mesh(vertices, faces, "convexDecomposition"))
    centers, gaps = probes(vertices, faces, 150)
    assert worst_gap(engine, ids, centers, gaps) < np.ptp(vertices, axis=0).max() / 40


@pytest.mark.parametrize(
    ("name", "approximation"), [*((name, "none") for name in FACED), ("arch", "convexDecomposition")]
)
def test_rays_meet_the_mesh_itself(name, approximation):
    """A rangefinder would measure the parts that stand for a mesh, or a normal that points inside."""
    vertices, faces = getattr(mesh_shapes, name)()
    orientation = np.array([0.1, -0.3, 0.2, 0.9]) / np.sqrt(0.95)
    turned = mesh(
        vertices, faces, approximation, position=np.array([3.0, -2.0, 1.0]), orientation=orientation
    )
    engine, _ = engine_with(turned)
    placed = Rotation.from_quat(orientation).apply(vertices) + turned.position
    rng = np.random.default_rng(3)
    middle = placed.mean(axis=0)
    origins = middle + 6 * rng.normal(size=(200, 3))
    targets, _ = mesh_shapes.surface_points(placed, faces, 200, rng)
    directions = targets + 0.2 * rng.normal(size=(200, 3)) - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = engine.raycast(origins, directions, 100.0, skip=np.full(200, -1))
    assert hits.hit.sum() > 100
    for k in range(200):
        distance, normal = mesh_shapes.ray(origins[k], directions[k], placed, faces)
        assert hits.distance[k] == pytest.approx(distance, abs=1e-5)
        if normal is not None:
            facing = abs(normal @ directions[k]) > 1e-3
            assert not facing or abs(normal @ hits.normal[k]) == pytest.approx(1.0, abs=1e-4)
            assert hits.body[k] == -1


def test_the_nearer_of_body_mesh_and_primitive_is_met():
    """What stands before a mesh would be looked through, or a mesh before it."""
    engine, ids = engine_with(
        mesh(*mesh_shapes.l_shape()),
        collider(ColliderShape.BOX, (0.1, 0.1, 0.1), position=np.array([5, 0.5, 0.5])),
    )
    ray = np.array([[9, 0.5, 0.5]]), np.array([[-1.0, 0, 0]])
    assert engine.raycast(*ray, 20.0, skip=np.array([-1])).distance[0] == pytest.approx(3.9)
    put(engine, ids, (7, 0.5, 0.5))
    hit = engine.raycast(*ray, 20.0, skip=np.array([-1]))
    assert (hit.distance[0], hit.body[0]) == (pytest.approx(1.9), ids[0])
    assert engine.raycast(*ray, 20.0, skip=ids).distance[0] == pytest.approx(3.9)
    put(engine, ids, (1.5, 0.5, 2.0))
    up = np.array([[1.5, 0.5, 1.5]]), np.array([[0, 0, -1.0]])
    assert engine.raycast(*up, 20.0, skip=np.array([-1])).distance[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("main", [True, False])
@pytest.mark.parametrize("facing", ["up", "along y"])
def test_a_height_field_is_the_mesh_whatever_its_diagonals(main, facing):
    """A cell cut along the other diagonal is off by centimetres; a terrain on its side would be mirrored."""
    vertices, faces = mesh_shapes.terrain(13, 17, main=main)
    if facing == "along y":
        vertices = vertices[:, [1, 2, 0]]
    engine, ids = engine_with(mesh(vertices, faces))
    assert engine._model.nhfield == 1
    centers, gaps = probes(vertices, faces, 150, closed=False)
    assert worst_gap(engine, ids, centers, gaps) < 1e-5


def test_an_irregular_terrain_is_sampled_to_the_stated_distance():
    """A surveyed terrain, whose points lie on no grid, would collide by its hull."""
    vertices, faces = mesh_shapes.terrain(80, 80, spacing=0.2)
    rng = np.random.default_rng(2)
    inner = (vertices[:, :2] > 0).all(axis=1) & (vertices[:, :2] < vertices[:, :2].max(axis=0)).all(axis=1)
    vertices[inner, :2] += rng.uniform(-0.05, 0.05, size=(inner.sum(), 2))
    engine, ids = engine_with(mesh(vertices, faces))
    assert engine._model.nhfield == 1
    centers, gaps = probes(vertices, faces, 100, closed=False)
    assert worst_gap(engine, ids, centers, gaps) < decomposition.THINNEST


def test_a_ball_stays_on_the_hollow_of_a_field_that_it_falls_into():
    """Prisms below a field, each with sides of its own, would hold a rolling ball up or let it through."""
    vertices, faces = mesh_shapes.terrain()
    engine, ids = engine_with(mesh(vertices, faces, material=PhysicsMaterial(0.8, 0.8, 0.0)))
    put(engine, ids, (4.9, 10.2, 1.0), weight=9.81)
    for _ in range(1000):
        engine.step(0.004)
        gap = mesh_shapes.distance(state_of(engine).position, vertices, faces)[0] - RADIUS
        assert gap > -0.04
    assert gap == pytest.approx(0.0, abs=5e-3)


def sheet():
    vertices = np.array([[0, -2, -2], [0, 2, -2], [0, 2, 2], [0, -2, 2]], dtype=float)
    return vertices, np.array([[0, 2, 1], [0, 3, 2]])


def thin_wall():
    low, high = (0.0, -2.0, -2.0), (0.02, 2.0, 2.0)
    # An opening makes it a mesh that is not convex.
    y = [(-2, -2), (0.5, -2), (0.5, 0), (1, 0), (1, -2), (2, -2), (2, 2), (1, 2), (0.5, 2), (-2, 2)]
    pieces = [(0, 1, 2, 8, 9), (2, 3, 7, 8), (3, 4, 5, 6, 7)]
    flat, faces = mesh_shapes.prism(y, pieces, high[0] - low[0])
    return flat[:, [2, 0, 1]], faces


@pytest.mark.parametrize("wall", [sheet, thin_wall])
@pytest.mark.parametrize("shape", ["ball", "flat box"])
@pytest.mark.parametrize("start", [-1.0, -1.013, -1.031, -1.057])
def test_nothing_tunnels_through_a_thin_wall_or_gains_energy(wall, shape, start):
    """At 20 m/s and 250 Hz a body moves 8 cm a step: four times the thickness of the wall."""
    edge_on = np.array([0, np.sqrt(0.5), 0, np.sqrt(0.5)])
    shapes, orientation, thickness = [ball()], (0, 0, 0, 1), RADIUS
    if shape == "flat box":
        shapes, orientation, thickness = [flat_box()], edge_on, 0.04
    engine, ids = engine_with(mesh(*wall()), shapes=shapes)
    put(engine, ids, (start, -0.6, 0.3), (20, 0, 0), orientation=orientation)
    for _ in range(100):
        engine.step(0.004)
        state = state_of(engine)
        # Half a centimetre between two checks of its path.
        assert state.position[0, 0] + thickness < 0.005
        energy = 0.5 * state.velocity[0] @ state.velocity[0]
        energy += 0.5 * 0.004 * state.angular_velocity[0] @ state.angular_velocity[0]
        assert energy <= 200 * (1 + 1e-9)
    assert energy < 20
    assert state.position[0, 0] + thickness < 2e-5


@pytest.mark.parametrize("wall", [sheet, thin_wall])
def test_a_tumbling_iris_does_not_tunnel(wall):
    """A corner that is stopped would swing the rest of the vehicle through a wall of 2 cm."""
    colliders = vehicle_scene(*load_vehicle("iris")).colliders
    engine = MujocoEngine()
    engine.load(Scene("test", colliders=[mesh(*wall())]))
    inertia = np.diag([0.029, 0.029, 0.055])
    level = np.array([0, 0, 0, 1.0])
    ids = engine.add_bodies([RigidBody("iris", 1.5, np.zeros(3), inertia, colliders, NOWHERE, level)])
    rng = np.random.default_rng(0)
    for attitude in Rotation.random(30, rng=rng).as_quat():
        start = (-1 + rng.uniform(0, 0.08), -0.6, 0.3)
        put(engine, ids, start, (20, *rng.uniform(-5, 5, 2)), orientation=attitude)
        for _ in range(60):
            engine.step(0.004)
        assert state_of(engine).position[0, 0] < 0.0


@pytest.mark.parametrize(
    ("name", "start", "velocity"),
    [("room", (-2, 2, 1), (20, 0, 0)), ("arch", (0, -3, 0.5), (0, 20, 0)), ("torus", (0, 0, 2), (0, 0, -20))],
)
def test_openings_are_free(name, start, velocity):
    """A vehicle could not fly through a door, under an arch or through a ring."""
    engine, ids = engine_with(mesh(*getattr(mesh_shapes, name)()))
    put(engine, ids, start, velocity)
    for _ in range(40):
        engine.step(0.004)
        assert len(engine.contacts().body) == 0
    np.testing.assert_allclose(state_of(engine).velocity[0], velocity)


def test_a_body_of_parts_leaves_its_opening_free():
    """A ring that flies would collide as a disc, or by triangles, which no engine has for moving bodies."""
    vertices, faces = mesh_shapes.arch()
    peg = collider(ColliderShape.SPHERE, (0.2,), position=np.array([0.0, 0.0, 0.5]))
    for approximation, touches in (("convexDecomposition", False), ("none", True), ("convexHull", True)):
        engine, ids = engine_with(peg, shapes=[mesh(vertices, faces, approximation)])
        put(engine, ids, (0, 0, 0))
        engine.step(1e-5)
        assert bool(len(engine.contacts().body)) == touches


def test_contacts_name_the_mesh_of_their_part():
    """A box behind a mesh of several parts would have the name of the mesh, or a part that of the box."""
    before = replace(flat_box(), path="/before", position=np.array([-30.0, 0.0, 0.0]))
    parts = replace(mesh(*mesh_shapes.arch(), "convexDecomposition"), path="/arch")
    behind = replace(flat_box(), path="/behind", position=np.array([30.0, 0.0, 0.0]))
    engine, ids = engine_with(before, parts, behind)
    assert engine._model.nbody == 2
    assert engine._model.body_geomnum[0] > 4
    top = mesh_shapes.arch()[0][:, 2].max()
    places = {"/before": (-30, 0, 0.04), "/arch": (0, 0, top), "/behind": (30, 0, 0.04)}
    for path, (x, y, z) in places.items():
        put(engine, ids, (x, y, z + 0.999 * RADIUS))
        engine.step(1e-5)
        assert set(engine.contacts().surface) == {path}


def instances(scales):
    vertices, faces = mesh_shapes.arch()
    faces = faces.astype(np.int32)
    return [
        mesh(
            vertices * s,
            faces,
            "none",
            prototype=vertices,
            scale=s * np.eye(3),
            position=np.array([10.0 * k, 0, 0]),
        )
        for k, s in enumerate(scales)
    ]


def test_instances_share_their_parts(monkeypatch):
    """A forest would be decomposed tree by tree."""
    calls = []
    make = decomposition.plates
    monkeypatch.setattr(decomposition, "plates", lambda *a, **k: calls.append(a) or make(*a, **k))
    monkeypatch.setattr("pegasus.engines.mujoco_geoms.DecompositionCache", lambda: None)
    engine, ids = engine_with(*instances([1.0] * 20))
    assert len(calls) == 1
    same_scale = engine._model.nmesh - 1  # without the box about the body
    engine, ids = engine_with(*instances([1.0, 1.5, 1.9] * 7))
    assert len(calls) == 2
    assert engine._model.nmesh - 1 == 3 * same_scale
    vertices, faces = mesh_shapes.arch()
    centers, gaps = probes(1.5 * vertices, faces, 60)
    assert worst_gap(engine, ids, centers + np.array([10.0, 0, 0]), gaps) < 1e-5


def test_removed_bodies_leave_no_arrays_behind():
    """Memory would grow with every vehicle that joins and leaves, such as in a panel that is never closed."""
    engine = MujocoEngine()
    engine.load(Scene("test", colliders=[]))
    kept = []
    for _ in range(3):
        vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
        faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32)
        shape = mesh(vertices, faces, "convexHull")
        kept.append(weakref.ref(shape.vertices))
        at = np.zeros(3), np.array([0, 0, 0, 1.0])
        ids = engine.add_bodies([RigidBody("probe", 1.0, np.zeros(3), 0.004 * np.eye(3), [shape], *at)])
        engine.step(0.004)
        engine.remove_bodies(ids)
        del vertices, faces, shape
    gc.collect()
    assert [array() for array in kept] == [None] * 3
    assert len(engine._spec.meshes) == 2  # with the box about the body


def test_too_many_faces_are_said_and_kept_close(caplog, monkeypatch):
    """A mesh that is coarsened in silence would be hit before it is reached."""
    monkeypatch.setattr("pegasus.engines.mujoco_geoms.PLATE_LIMIT", 500)
    vertices, faces = mesh_shapes.torus(5.0, 2.0, 60, 30)
    with caplog.at_level(logging.WARNING):
        engine, ids = engine_with(mesh(vertices, faces))
    (line,) = [record.getMessage() for record in caplog.records if "too many faces" in record.getMessage()]
    stated = float(line.split()[-2])
    centers, gaps = probes(vertices, faces, 60)
    assert worst_gap(engine, ids, centers, gaps) < stated


def test_worlds_without_such_meshes_have_one_model():
    """Rays would be cast twice where once is enough."""
    hull = mesh(*mesh_shapes.box((0, 0, 0), (1, 2, 3)))
    engine, _ = engine_with(hull, collider(ColliderShape.PLANE))
    assert engine._surfaces is None
    assert engine._model.ngeom == 4  # with the box about the body


def test_a_crowded_world_costs_no_contact():
    """Looking ahead among many shapes, a single body could miss the one that it hits."""
    boxes = [
        collider(ColliderShape.BOX, (0.1, 0.1, 0.1), position=np.array([x, y, 0.1]))
        for x in range(36)
        for y in range(30)
    ]
    engine, ids = engine_with(*boxes)
    put(engine, ids, (3.0, 4.0, 3.0), weight=9.81)
    for _ in range(750):
        engine.step(0.004)
    assert state_of(engine).position[0, 2] == pytest.approx(0.2 + RADIUS, abs=2e-3)


def test_the_decomposer_is_not_imported_by_worlds_that_do_without():
    """Opening a plain world would load a library of 13 MB."""
    import subprocess

    code = "import sys, pegasus.engines.mujoco_engine, pegasus.scene;sys.exit('coacd' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode
        == 0
    )


def rounded_stones(count, seed, *, points=300):
    """Return colliders of stones that all differ, 3 m apart."""
    rng = np.random.default_rng(seed)
    stones = []
    for k in range(count):
        spread = rng.normal(size=(points, 3))
        vertices = spread / np.linalg.norm(spread, axis=1, keepdims=True) * rng.uniform(0.3, 1.0, 3)
        hull = ConvexHull(vertices)
        stones.append(mesh(vertices, hull.simplices, "convexHull", position=np.array([3.0 * k, 0.0, 0.0])))
    return stones


def test_a_mesh_is_compiled_from_its_own_vertices_and_faces():
    """MuJoCo's store of compiled meshes, common to all worlds, would return the mesh of another world."""
    for seed in (1, 2):
        stones = rounded_stones(3, seed)
        engine, _ = engine_with(*stones)
        expected = mujoco.MjSpec()
        for stone in stones:
            expected.add_mesh(
                name=f"mesh{len(expected.meshes)}",
                uservert=stone.vertices.ravel(),
                userface=stone.faces.ravel(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
            )
            expected.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_MESH, meshname=expected.meshes[-1].name, pos=stone.position
            )
        compiled = expected.compile()
        for name in ("mesh_vert", "mesh_face", "mesh_normal", "mesh_graph", "mesh_pos", "mesh_quat"):
            wanted = getattr(compiled, name)
            assert len(wanted)
            np.testing.assert_array_equal(getattr(engine._model, name)[: len(wanted)], wanted, err_msg=name)


def test_deviations_of_many_meshes_are_one_line(caplog, monkeypatch):
    """A world of a thousand such meshes would print a thousand lines."""
    monkeypatch.setattr("pegasus.engines.mujoco_geoms.PLATE_LIMIT", 500)
    tori = [mesh(*mesh_shapes.torus(5.0 + k, 2.0, 60, 30)) for k in range(3)]
    tori = [replace(torus, path=f"/World/torus_{k}") for k, torus in enumerate(tori)]
    with caplog.at_level(logging.WARNING):
        engine_with(*tori)
    (line,) = [record.getMessage() for record in caplog.records if "too many faces" in record.getMessage()]
    assert line.startswith("/World/torus_0 and 2 more: ")
