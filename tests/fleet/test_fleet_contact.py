"""Tests of contact in fleets: rest, friction, energy, shapes against oracles, and the bits of Python."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import Quat, Vec3
from pegasus.environment import Environment, UniformGravity
from pegasus.fleet import Boxes, Cylinders, Fleet, Frames, Rings, Spheres, Terrain, World
from pegasus.fleet.world import WorldArguments, solids_of
from pegasus.step.contact import Flight, Touch, landed
from pegasus.step.shapes import KINDS
from pegasus.step.surroundings import height_at

G = 9.81
STILL = np.zeros(4)


def iris_in(world, count=1, dtype="float64", **more):
    """Return a fleet in uniform gravity."""
    return Fleet(
        "iris", count, dtype=dtype, world=world, environment=Environment(gravity=UniformGravity(G)), **more
    )


def feet_of(fleet):
    """Return the points at which a fleet touches [m], shape (K, 3)."""
    return np.array([(t.place.x, t.place.y, t.place.z) for t in fleet._model.around.touches])


def test_stands_on_its_feet():
    """At rest a vehicle is as high as its feet, less the compression of their springs by its weight."""
    fleet = iris_in(World(ground=0.3, frequency=300.0), 3)
    fleet.reset(position=[(0.0, 0.0, 0.5), (3.0, 1.0, 0.45), (-1.0, 2.0, 0.42)])
    fleet.step(STILL, 1000)
    rest = 0.3 - feet_of(fleet)[:, 2].min() - G / 300.0**2
    assert np.abs(fleet.state.position[:, 2] - rest).max() < 1e-6
    assert np.abs(fleet.state.velocity).max() < 1e-5
    assert np.abs(fleet.state.contact_force[:, 2] - 1.5 * G).max() < 1e-4
    assert np.abs(fleet.state.clearance - (rest - 0.3)).max() < 1e-6


@pytest.mark.parametrize("friction", [0.3, 0.6])
def test_friction_holds_up_to_its_angle(friction):
    """Below the friction angle a vehicle creeps by less than 0.1 mm/s; above it, it slides by Coulomb."""
    steep = math.atan(friction)
    slopes = np.array([steep - 0.03, steep + 0.05])
    turns = np.stack([0 * slopes, np.sin(slopes / 2), 0 * slopes, np.cos(slopes / 2)], axis=1)
    # The box turns about its own middle, 10 m below the surface.
    place = np.stack([-10 * np.sin(slopes), 0 * slopes, -10 * np.cos(slopes)], axis=1)
    fleet = iris_in(
        World(
            boxes=Boxes(position=place[:, None], lengths=(400.0, 400.0, 20.0), turn=turns[:, None]),
            friction=friction,
        ),
        2,
    )
    normal = np.stack([np.sin(slopes), 0 * slopes, np.cos(slopes)], axis=1)
    height = -feet_of(fleet)[:, 2].min() - 1e-4
    fleet.reset(position=normal * height, orientation=turns)
    fleet.step(STILL, 250)
    first = fleet.state.velocity.copy()
    fleet.step(STILL, 250)
    down = np.stack([np.cos(slopes), 0 * slopes, -np.sin(slopes)], axis=1)
    speed, gained = (fleet.state.velocity * down).sum(1), ((fleet.state.velocity - first) * down).sum(1)
    assert abs(speed[0]) < 1e-4
    slide = G * (math.sin(slopes[1]) - friction * math.cos(slopes[1]))
    # Drag of the air is below a percent at this speed.
    assert gained[1] / 0.5 == pytest.approx(slide, rel=0.02)


def energies(fleet, world):
    """Return motion, height and springs of rows as energies [J]."""
    s, body = fleet.state, fleet._model.machines[0].body
    turn = matrix_from_quaternion(s.orientation.copy())
    inertia = np.array(
        [[row[k] for k in range(3)] for row in (body.inertia_x, body.inertia_y, body.inertia_z)]
    )
    middle = np.array([body.center_of_mass[k] for k in range(3)])
    w = s.angular_velocity
    velocity = s.velocity + np.einsum("nij,nj->ni", turn, np.cross(w, middle))
    heights = np.einsum("nij,kj->nki", turn, feet_of(fleet))[:, :, 2] + s.position[:, None, 2]
    springs = 0.125 * body.mass * world.frequency**2 * (np.minimum(heights, 0.0) ** 2).sum(axis=1)
    motion = 0.5 * body.mass * (velocity**2).sum(axis=1) + 0.5 * np.einsum("ni,ij,nj->n", w, inertia, w)
    return motion + springs + body.mass * G * (s.position + turn @ middle)[:, 2]


@pytest.mark.parametrize("hardness", [(300.0, 1.0), (1000.0, 0.05)])
def test_contact_never_adds_energy(hardness):
    """In no step of 1000 random drops does the energy of motion, height and springs rise by 1e-8 J."""
    frequency, damping_ratio = hardness
    world = World(ground=0.0, frequency=frequency, damping_ratio=damping_ratio)
    fleet, rng = iris_in(world, 1000), np.random.default_rng(1)
    turn = rng.normal(size=(1000, 4))
    fleet.reset(
        position=rng.uniform((-1.0, -1.0, 0.6), (1.0, 1.0, 1.5), (1000, 3)),
        orientation=turn / np.linalg.norm(turn, axis=1, keepdims=True),
        velocity=rng.normal(0.0, 3.0, (1000, 3)),
        angular_velocity=rng.normal(0.0, 10.0, (1000, 3)),
    )
    before = energies(fleet, world)
    first, touched = before, np.zeros(1000, dtype=bool)
    for _ in range(1200):
        fleet.step(STILL)
        after = energies(fleet, world)
        assert (after - before).max() < 1e-8
        before, touched = after, touched | (fleet.state.contact_force != 0).any(axis=1)
    assert touched.all()
    assert before.mean() < 0.1 * first.mean()
    assert not fleet.state.fault.any()


def random_solids(rng, count):
    """Return a world of all kinds of shapes, other ones for each row."""
    place = lambda: rng.uniform(-3.0, 3.0, (count, 2, 3))  # noqa: E731
    turn = rng.normal(size=(count, 2, 4))
    turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
    return World(
        ground=rng.uniform(-2.0, -1.0, count),
        boxes=Boxes(position=place(), lengths=rng.uniform(0.2, 1.0, (count, 2, 3)), turn=turn),
        spheres=Spheres(position=place(), radius=rng.uniform(0.2, 0.6, (count, 2))),
        cylinders=Cylinders(position=place(), radius=0.3, height=rng.uniform(0.5, 2.0, (count, 2))),
        frames=Frames(
            position=place(), width=1.0, height=0.8, bar=0.1, heading=rng.uniform(-3, 3, (count, 2))
        ),
        rings=Rings(position=place(), radius=0.6, bar=0.1, heading=rng.uniform(-3, 3, (count, 2))),
        friction=rng.uniform(0.2, 0.9, count),
    )


def test_python_has_the_same_bits():
    """Contact in Python has the bits of the compiled step, near shapes of all kinds and in open air."""
    rng, count = np.random.default_rng(4), 24
    world = random_solids(rng, count)
    fleet = iris_in(world, count)
    turn = rng.normal(size=(count, 4))
    middles = np.concatenate([world.sets()[kind].position for kind in KINDS], axis=1)
    start = {
        "position": middles[np.arange(count), np.arange(count) % 10] + rng.normal(0.0, 0.3, (count, 3)),
        "orientation": turn / np.linalg.norm(turn, axis=1, keepdims=True),
        "velocity": rng.normal(0.0, 2.0, (count, 3)),
        "angular_velocity": rng.normal(0.0, 3.0, (count, 3)),
    }
    fleet.reset(**start)
    open_air = iris_in(None, count)
    open_air.reset(**start)
    fleet.step(STILL)
    open_air.step(STILL)
    arguments = fleet._model.around
    body, touched = fleet._model.machines[0].body, 0
    for k in range(count):
        given = []
        for name, value in arguments._parts().items():
            if not isinstance(value, np.ndarray):
                given.append(value)
                continue
            if name in ("ground", "friction"):
                given.append(float(value[k, 0]))
                continue
            kind = Quat if name.endswith("orientation") else Vec3
            width = 4 if kind is Quat else 3
            given.append(tuple(kind(*row) for row in value[k].reshape(-1, width).tolist()))
        solids, friction = solids_of(tuple(world.sets()), None, tuple(given))
        flights = [
            Flight(Vec3(*p), Quat(*q), Vec3(*v), Vec3(*w))
            for p, q, v, w in (
                (start[n][k].tolist() for n in start),
                (getattr(open_air.state, n)[k].tolist() for n in start),
            )
        ]
        found = landed(arguments.law, solids, friction, body, Vec3(0.0, 0.0, -G), *flights, 1.0 / 500.0)
        for name in start:
            value, length = getattr(found.flight, name), 4 if name == "orientation" else 3
            assert [value[i] for i in range(length)] == getattr(fleet.state, name)[k].tolist(), (k, name)
        assert found.clearance == fleet.state.clearance[k]
        touched += bool((fleet.state.contact_force[k] != 0).any())
    assert 6 < touched < count


def surface_points(kind, size, rng, count=4000):
    """Return points on the surface of a shape in its own frame."""
    a, b = rng.uniform(0.0, 2 * np.pi, (2, count))
    if kind == "spheres":
        v = rng.normal(size=(count, 3))
        return size[0] * v / np.linalg.norm(v, axis=1, keepdims=True)
    if kind == "boxes":
        p = rng.uniform(-1.0, 1.0, (count, 3))
        axis = rng.integers(0, 3, count)
        p[np.arange(count), axis] = np.sign(p[np.arange(count), axis])
        return p * size
    if kind == "cylinders":
        r = size[0] * np.sqrt(rng.uniform(0, 1, count))
        caps = np.stack([r * np.cos(a), r * np.sin(a), size[1] * np.sign(b - np.pi)], axis=1)
        side = np.stack([size[0] * np.cos(a), size[0] * np.sin(a), size[1] * (b / np.pi - 1)], axis=1)
        return np.where((rng.uniform(size=count) < 0.5)[:, None], caps, side)
    if kind == "rings":
        r = size[0] + size[1] * np.cos(b)
        return np.stack([size[1] * np.sin(b), r * np.cos(a), r * np.sin(a)], axis=1)
    t = np.concatenate([np.linspace(-1, 1, count // 4)] * 4)
    one = np.ones(count // 4)
    y = np.concatenate([t[: count // 4], t[: count // 4], one, -one]) * size[0]
    z = np.concatenate([one, -one, t[: count // 4], t[: count // 4]]) * size[1]
    return np.stack([0 * y, y, z], axis=1)


@pytest.mark.parametrize("kind", list(KINDS))
def test_distances(kind):
    """The distance of a place is that of the nearest of many points of the surface, along its direction."""
    rng = np.random.default_rng(5)
    size = {
        "boxes": (0.5, 0.3, 0.8),
        "spheres": (0.7, 0, 0),
        "cylinders": (0.4, 0.6, 0),
        "rings": (0.8, 0.1, 0),
    }
    extent = np.array(size.get(kind, (0.6, 0.4, 0.07)))
    surface = surface_points(kind, extent, rng, 40000)
    bar = extent[2] if kind == "frames" else 0.0
    for place in rng.uniform(-1.5, 1.5, (60, 3)):
        distance, away = KINDS[kind](Vec3(*place), Vec3(*extent))
        out = np.array([away.x, away.y, away.z])
        nearest = np.sqrt(((surface - place) ** 2).sum(axis=1)).min() - bar
        assert abs(distance) == pytest.approx(abs(nearest), abs=0.02)
        assert np.linalg.norm(out) == pytest.approx(1.0, abs=1e-9)
        # Back along it is the surface.
        foot, _ = KINDS[kind](Vec3(*(place - distance * out)), Vec3(*extent))
        assert abs(foot) < 1e-9


def test_terrain():
    """Heights and slopes of terrain are those of its triangles; a vehicle comes to rest on it."""
    rng = np.random.default_rng(6)
    heights = rng.uniform(0.0, 1.0, (4, 5))
    law = Terrain(heights=heights, spacing=(2.0, 1.5), origin=(-4.0, -2.0)).law()
    for x, y in rng.uniform((-4.0, -2.0), (4.0, 2.5), (50, 2)):
        u, v = (x + 4.0) / 2.0, (y + 2.0) / 1.5
        i, j = int(u), int(v)
        u, v = u - i, v - j
        third = (i + 1, j) if u >= v else (i, j + 1)
        corners = np.array([(i, j), third, (i + 1, j + 1)])
        plane = np.linalg.solve(np.c_[corners, np.ones(3)], [heights[b, a] for a, b in corners])
        found = height_at(law, x, y)
        assert found[0] == pytest.approx(plane @ (i + u, j + v, 1.0), abs=1e-9)
        assert found[1:] == pytest.approx((plane[0] / 2.0, plane[1] / 1.5), abs=1e-9)
    bowl = 0.05 * ((np.arange(9)[:, None] - 4.0) ** 2 + (np.arange(9)[None] - 4.0) ** 2)
    fleet = iris_in(
        World(terrain=Terrain(heights=bowl, spacing=(1.0, 1.0), origin=(-4.0, -4.0)), friction=0.1), 2
    )
    fleet.reset(position=[(1.5, 0.5, 0.6), (0.0, -2.0, 0.5)])
    fleet.step(STILL, 3000)
    assert np.abs(fleet.state.position[:, :2]).max() < 0.5
    assert np.abs(fleet.state.velocity).max() < 1e-2


def test_single_precision_rests_too():
    """In single precision a vehicle rests at the same height within a tenth of a millimetre, and stays."""
    fleet = iris_in(World(ground=0.0), 2, "float32")
    fleet.reset(position=(0.0, 0.0, 0.2))
    fleet.step(STILL, 1500)
    rest = -feet_of(fleet)[:, 2].min() - G / 300.0**2
    assert np.abs(fleet.state.position[:, 2] - rest).max() < 1e-4
    assert np.abs(fleet.state.velocity).max() < 1e-3


def test_shapes_of_rows_are_columns():
    """Shapes that differ between rows are columns: reset places them anew, snapshots hold them."""
    place = np.tile((0.0, 0.0, -50.0), (4, 1, 1))
    fleet = iris_in(World(spheres=Spheres(position=place, radius=1.0)), 4)
    fleet.reset([1, 2], **{"spheres.position": [(0.0, 0.0, -1.2), (0.0, 0.0, -3.0)]})
    before = fleet.snapshot()
    fleet.step(STILL)
    assert fleet.state.clearance == pytest.approx([49.0, 0.2, 2.0, 49.0], abs=1e-3)
    fleet.reset([1])
    fleet.step(STILL)
    assert fleet.state.clearance[1] == pytest.approx(49.0, abs=1e-3)
    fleet.restore(before)
    fleet.step(STILL)
    assert fleet.state.clearance[1] == pytest.approx(0.2, abs=1e-3)
    assert fleet.fork([1, 1]).columns["spheres.position"][2, 1] == -1.2


def test_bad_worlds():
    """A world that cannot be is named by its field."""
    for wrong, field in (
        ({"ground": 0.0, "terrain": Terrain(heights=np.zeros((2, 2)), spacing=(1, 1))}, "terrain"),
        ({"friction": -1.0}, "friction"),
        ({"frequency": 0.0}, "frequency"),
        ({"boxes": Spheres(position=[(0, 0, 0)], radius=1.0)}, "boxes"),
        ({"spheres": Spheres(position=[(0, 0, 0)], radius=0.0)}, "spheres.size"),
        ({"spheres": Spheres(position=[(0, 0)], radius=1.0)}, "spheres"),
        ({"spheres": Spheres(position=np.zeros((200, 3)), radius=1.0)}, "shapes"),
    ):
        with pytest.raises(ConfigError, match=field):
            World(**wrong)
    with pytest.raises(ConfigError, match=r"ground.*must have 4 rows"):
        Fleet("iris", 4, world=World(ground=np.zeros(3)))
    assert WorldArguments(World(), 1, (Touch(Vec3(1.0, 0.0, 0.0), 0.5),)).law.reach == 1.5
