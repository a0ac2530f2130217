"""Tests of the airfield: its runway, its land, its windsock, and an aircraft on it."""

import math

import numpy as np
import pytest

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.config import WorldSpec
from pegasus.scene.scene import Scene
from pegasus.worlds.airfield import Airfield

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

LEVEL = 2000.0
"""Distance along x or y from which on hills may stand [m]."""


class Levers(Backend):
    """Commands that a test sets: throttle [rad/s], brake, and surfaces."""

    drives = True
    values = np.zeros((1, 8))

    def command(self, t):
        return self.values


def airfield(**parameters) -> WorldSpec:
    """Return the world with other parameters."""
    return WorldSpec(name="airfield", generator={"model": "airfield", "seed": 1, **parameters})


@pytest.fixture(scope="module")
def scene(unpainted) -> Scene:
    """The scene of an airfield."""
    return unpainted(Airfield(seed=1))


@pytest.mark.parametrize(
    ("compass", "numbers"),
    [(90, ("09", "27")), (0, ("36", "18")), (270, ("27", "09")), (184, ("18", "36")), (226, ("23", "05"))],
)
def test_the_numbers_are_those_of_the_heading(compass, numbers):
    """A pilot would read the number of another runway."""
    assert Airfield(heading=math.radians(90.0 - compass)).numbers == numbers


def test_the_ground_is_level_for_two_kilometres_and_closed_to_the_hills(scene):
    """A plane would meet a hill in its circuit, or see the sky through a gap between rings."""
    land = [item for item in scene.instances if item.path.startswith("/World/Airfield/Land/")]
    triangles = np.concatenate(
        [scene.geometries[item.geometry].vertices[scene.geometries[item.geometry].faces] for item in land]
    )
    reach = np.abs(triangles[..., :2]).max(axis=(1, 2))
    level = reach <= LEVEL
    assert np.abs(triangles[level][..., 2]).max() < 1e-3
    assert triangles[~level][..., 2].max() > 150.0
    assert reach.max() == pytest.approx(8 * LEVEL)
    # From above, the triangles cover the whole square once.
    u, v = (triangles[:, k, :2] - triangles[:, 0, :2] for k in (1, 2))
    area = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    assert area.min() >= 0.0
    assert area.sum() == pytest.approx((16 * LEVEL) ** 2, rel=1e-5)
    # Triangles grow with the distance.
    assert area[reach > 4 * LEVEL].max() == pytest.approx(64.0 * area[level].max(), rel=1e-3)
    # Every edge but those of the outer square belongs to two triangles, or lies along a coarser one.
    corners = np.round(triangles, 2)
    for start, end in ((LEVEL, 0), (2 * LEVEL, 1), (4 * LEVEL, 2)):
        rim = corners[(np.abs(np.abs(corners[..., 0]) - start) < 0.01) & (np.abs(corners[..., 1]) <= start)]
        rim = rim[rim[:, 0] > 0]
        coarse = corners[(reach > start)]
        coarse = coarse[(np.abs(coarse[..., 0] - start) < 0.01) & (np.abs(coarse[..., 1]) <= start)]
        order = np.unique(coarse[:, 1:], axis=0)
        np.testing.assert_allclose(np.interp(rim[:, 1], order[:, 0], order[:, 1]), rim[:, 2], atol=0.02), end


def test_few_shapes_are_near_the_runway(scene):
    """Every step of a take-off would cost contacts with far hills."""
    fields = [item for item in scene.colliders if "/Land/" in item.path]
    assert len(fields) == 12
    for item in fields:
        assert np.abs(item.vertices[:, :2]).max(axis=1).min() >= LEVEL - 0.01
    near = [
        item for item in scene.colliders if np.hypot(*item.position[:2]) < 0.5 * LEVEL and item not in fields
    ]
    assert len(near) < 50


def test_drawn_hills_are_where_they_collide_and_rays_meet_them():
    """An aircraft would hit hills that are not seen, or fly through those that are."""
    with Simulation(airfield(heading=0.6)) as sim:
        rng = np.random.default_rng(3)
        angle, distance = rng.uniform(0.0, 2 * np.pi, 50), rng.uniform(3000.0, 14_000.0, 50)
        above = np.column_stack([distance * np.cos(angle), distance * np.sin(angle), np.full(50, 2000.0)])
        hits = sim.engine.raycast(above, np.tile([0.0, 0.0, -1.0], (50, 1)), 3000.0, skip=np.full(50, -1))
        drawn = []
        parts = [item for item in sim.scene.instances if "/Airfield/Land/" in item.path]
        for place in above:
            found = []
            for item in parts:
                geometry = sim.scene.geometries[item.geometry]
                points = geometry.vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
                a, b, c = (points[geometry.faces[:, k]] for k in range(3))
                u, v, w = b[:, :2] - a[:, :2], c[:, :2] - a[:, :2], place[:2] - a[:, :2]
                det = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
                det = np.where(np.abs(det) < 1e-9, np.inf, det)
                s = (w[:, 0] * v[:, 1] - w[:, 1] * v[:, 0]) / det
                t = (u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]) / det
                inside = np.flatnonzero((s >= 0) & (t >= 0) & (s + t <= 1) & np.isfinite(det))
                found += [(a[k] + s[k] * (b[k] - a[k]) + t[k] * (c[k] - a[k]))[2] for k in inside]
            drawn.append(found[0])
        assert hits.hit.all()
        np.testing.assert_allclose(above[:, 2] - hits.distance, drawn, atol=0.03)
        assert np.max(drawn) > 50.0


@pytest.mark.parametrize(("surface", "friction"), [("asphalt", 0.7), ("grass", 0.6)])
def test_the_runway_has_the_contact_of_its_surface(surface, friction):
    """Brakes would grip on grass as on asphalt."""
    with Simulation(airfield(surface=surface, heading=1.0)) as sim:
        start = sim.world.spawn_points[0]
        assert (start.name, start.heading) == ("runway", 1.0)
        levers = Levers()
        levers.values = np.array([[0.0, 1.0, 0, 0, 0, 0, 0, 0]])
        plane = sim.add(Multirotor("plane", position="runway", sensors={}, backends=[levers]))
        sim.step(100)
        assert plane.in_contact[0]
        touched = {contact.other for contact in plane.contacts}
        [ground] = [item for item in sim.scene.colliders if item.path in touched]
        assert ground.material.dynamic_friction == pytest.approx(friction)


def test_a_plane_stands_on_the_runway_rolls_along_it_and_brakes():
    """A plane would creep before its take-off, tip over, or not follow the runway."""
    heading = 0.5
    with Simulation(airfield(heading=heading)) as sim:
        levers = Levers()
        levers.values = np.zeros((1, 8))
        plane = sim.add(Multirotor("plane", position="runway", sensors={}, backends=[levers]))
        along = np.array([math.cos(heading), math.sin(heading), 0.0])
        sim.step(round(2 * sim.rate))
        start = plane.position[0].copy()
        sim.step(round(2 * sim.rate))
        np.testing.assert_allclose(plane.position[0], start, atol=1e-6)
        levers.values[0, 0] = 900.0
        sim.step(round(2 * sim.rate))
        speed = plane.velocity[0] @ along
        gone = plane.position[0] - start
        assert speed > 3.0
        assert gone @ along > 3.0
        assert np.abs(np.cross(gone, along)[2]) < 0.1 * gone @ along
        levers.values[0, :2] = 0.0, 1.0
        sim.step(round(0.5 * sim.rate))
        assert plane.velocity[0] @ along < speed - 1.0


def test_the_windsock_shows_the_wind_and_costs_no_step():
    """It would point elsewhere, or slow each step though nothing touches it."""
    wind = {"model": "constant", "mean_velocity": [0.0, -3.0, 0.0]}
    with Simulation(airfield(), wind=wind) as sim:
        sock = sim.movers["windsock"]
        motion = sock.motion(0.0)
        x, y, z, w = motion.orientation[0]
        hang = -np.array([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)])
        np.testing.assert_allclose(hang, [0.0, -math.sqrt(0.5), -math.sqrt(0.5)], atol=1e-9)
        assert sim.engine._movers == {}
        assert any(item.path.startswith("/World/windsock") for item in sock.objects)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"length": 20.0}, "length.*150 to 3000 m"),
        ({"width": 100.0}, "width.*6 to 60 m"),
        ({"heading": 90.0}, "heading.*rad"),
        ({"surface": "ice"}, "surface.*asphalt"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, words):
    """A runway would be drawn beyond its ground, or a heading in degrees be taken for radians."""
    with pytest.raises(ConfigError, match=words), Simulation(airfield(**parameters)):
        pass
