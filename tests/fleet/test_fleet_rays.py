"""Tests of rays and depth images of fleets: beside equations, distances, and the renderer's images."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import Quat, Vec3
from pegasus.contracts.renderer import View
from pegasus.fleet import Boxes, DepthCamera, Fleet, Frames, Rays, Spheres, Terrain, World, world_of_file
from pegasus.fleet.rays import Cast
from pegasus.optics.lens import Pinhole
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.kept_scene import scene_of_file
from pegasus.step.rays import RAYS, to_terrain
from pegasus.step.shapes import KINDS
from pegasus.step.surroundings import FAR, height_at

SIZES = {
    "boxes": (0.5, 0.3, 0.8),
    "spheres": (0.7, 0.0, 0.0),
    "cylinders": (0.4, 0.6, 0.0),
    "frames": (0.6, 0.4, 0.07),
    "rings": (0.8, 0.1, 0.0),
}
WORLD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Cube "Floor" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 1
        double3 xformOp:translate = (0, 0, -0.5)
        double3 xformOp:scale = (60, 60, 1)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }
    def Cube "Box" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 1
        double3 xformOp:translate = (5, 1, 1)
        double xformOp:rotateZ = 30
        double3 xformOp:scale = (1, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ", "xformOp:scale"]
    }
    def Sphere "Ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 0.6
        double3 xformOp:translate = (4, -1, 1.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Cylinder "Mast" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        uniform token axis = "Z"
        double radius = 0.3
        double height = 4
        double3 xformOp:translate = (7, -2.5, 2)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"""


@pytest.mark.parametrize("kind", list(RAYS))
def test_rays_end_at_the_first_surface(kind):
    """A ray ends where the distance from the shape is first zero; one that misses stays away from it."""
    rng, size = np.random.default_rng(3), Vec3(*SIZES[kind])
    hits = 0
    for _ in range(300):
        start = rng.uniform(-2.0, 2.0, 3)
        way = rng.uniform(-0.6, 0.6, 3) - start
        way /= np.linalg.norm(way)
        distance = RAYS[kind](Vec3(*start), Vec3(*way), size)
        along = np.linspace(0.0, distance if distance < FAR else 6.0, 400)
        gaps = np.array([KINDS[kind](Vec3(*(start + way * t)), size)[0] for t in along])
        if distance < FAR:
            hits += 1
            assert abs(gaps[-1]) < 2e-4
            # Nothing was met before: the sign does not change on the way.
            assert (np.sign(gaps[0]) * gaps[:-1] > -2e-4).all()
        else:
            assert gaps.min() > -1e-3
    assert hits > 50


def test_sphere_by_its_equation():
    """The distance to a sphere is that of the quadratic equation, in double precision, in a fleet."""
    rng = np.random.default_rng(4)
    centers = rng.uniform(-6.0, 6.0, (5, 3, 3))
    fleet = Fleet("iris", 5, dtype="float64", world=World(spheres=Spheres(position=centers, radius=1.5)))
    turn = rng.normal(size=(5, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    place = rng.uniform(-1.0, 1.0, (5, 3))
    fleet.reset(position=place, orientation=turn)
    rays = Rays(fleet, rng.normal(size=(200, 3)), origin=(0.1, 0.0, -0.05), max_range=30.0)
    found = rays.measure()
    for k in range(5):
        rotation = matrix_from_quaternion(turn[k])
        eye, ways = place[k] + rotation @ (0.1, 0.0, -0.05), rays.directions @ rotation.T
        nearest = np.full(200, 30.0)
        for center in centers[k]:
            b, c = ways @ (eye - center), ((eye - center) ** 2).sum() - 2.25
            with np.errstate(invalid="ignore"):
                near, far = -b - np.sqrt(b * b - c), -b + np.sqrt(b * b - c)
            first = np.where(near > 0, near, far)
            nearest = np.where(first > 0, np.fmin(nearest, first), nearest)
        assert (nearest < 30.0).sum() > 3
        assert np.abs(found[k] - nearest).max() < 1e-9


def test_rays_to_terrain():
    """A ray ends where it first crosses the triangles of terrain, found by fine steps."""
    rng = np.random.default_rng(8)
    law = Terrain(heights=rng.uniform(0.0, 1.0, (12, 12)), spacing=(1.0, 1.0), origin=(-5.5, -5.5)).law()
    errors = []
    for _ in range(60):
        start = rng.uniform((-3.0, -3.0, 1.2), (3.0, 3.0, 3.0))
        way = rng.uniform((-1.0, -1.0, -1.0), (1.0, 1.0, -0.3))
        way /= np.linalg.norm(way)
        along = np.linspace(0.0, 12.0, 2401)
        heights = np.array([height_at(law, *(start + way * t)[:2])[0] for t in along])
        below = np.flatnonzero(start[2] + way[2] * along < heights)
        errors.append(to_terrain(law, Vec3(*start), Vec3(*way)) - along[below[0]])
    assert np.abs(errors).max() < 0.01


def test_depth_equals_the_renderer(tmp_path):
    """Depth images of a fleet are those of the renderer of the same file, but for edges of its triangles."""
    file = tmp_path / "solids.usda"
    file.write_text(WORLD)
    world = world_of_file(file)
    fleet = Fleet("iris", 2, world=world)
    turn = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.06, 0.1, 0.9931768]])
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    place = np.array([[0.0, 0.0, 1.5], [0.5, -1.0, 2.0]])
    fleet.reset(position=place, orientation=turn)
    lens = Pinhole(horizontal_fov=1.4)
    images = DepthCamera(fleet, lens=lens, position=(0.1, 0.0, 0.0), max_depth=25.0).image()
    assert images.shape == (2, 48, 64)
    renderer = EmbreeRenderer(threads=1, bounces=0)
    renderer.load(scene_of_file(file))
    optical = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    x, y = np.meshgrid(np.arange(64) + 0.5, np.arange(48) + 0.5)
    forward = lens.directions(np.stack([x, y], axis=-1), (64, 48))[..., 2]
    for k in range(2):
        rotation = matrix_from_quaternion(turn[k])
        view = View(lens, (64, 48), place[k] + rotation @ (0.1, 0.0, 0.0), rotation @ optical)
        distance = renderer.render(view, ["distance"]).distance
        expected = np.minimum(distance * forward, 25.0)
        error = np.abs(images[k] - expected)
        # Round shapes are prisms of 32 sides there: 0.5 % of the radius, more at their outlines.
        assert np.median(error) < 1e-4
        assert (error < 0.02).mean() > 0.985
        assert (expected < 8.0).sum() > 300
    renderer.close()


def test_rows_have_their_own_worlds():
    """Each row sees its own shapes, as they are when it looks; others do not change its image."""
    place = np.tile((4.0, 0.0, 1.0), (20, 1, 1))
    place[:, 0, 0] += np.arange(20) * 0.1
    fleet = Fleet("iris", 20, world=World(ground=0.0, boxes=Boxes(position=place, lengths=(1.0, 1.0, 2.0))))
    fleet.reset(position=(0.0, 0.0, 1.0))
    rays = Rays(fleet, [(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)], max_range=9.0)
    first = rays.measure().copy()
    assert first[:, 0] == pytest.approx(3.5 + 0.1 * np.arange(20), abs=1e-5)
    assert first[:, 1] == pytest.approx(1.0, abs=1e-6)
    assert (first[:, 2] == 9.0).all()
    fleet.columns["boxes.position"][0, 3] = 7.0
    again = rays.measure()
    assert again[3, 0] == pytest.approx(6.5, abs=1e-5)
    assert np.array_equal(np.delete(again, 3, axis=0), np.delete(first, 3, axis=0))


def test_python_casts_the_same_rays():
    """A ray in Python has the bits of the compiled one in double precision."""
    rng = np.random.default_rng(9)
    place = rng.uniform(-2.0, 2.0, (1, 3))
    world = World(frames=Frames(position=place, width=1.0, height=0.8, heading=0.4))
    fleet = Fleet("iris", 1, dtype="float64", world=world)
    fleet.reset(position=(-3.0, 0.2, 0.1))
    rays = Rays(fleet, place - (-3.0, 0.2, 0.1) + rng.uniform(-0.6, 0.6, (64, 3)))
    numbers = np.concatenate([place, world.frames.orientation(), world.frames.size()], axis=1)[0].tolist()
    at = Vec3(*fleet.state.position[0].tolist()), Quat(0.0, 0.0, 0.0, 1.0), Vec3(0.0, 0.0, 0.0)
    found = [Cast("frames")(Vec3(*d), 20.0, *at, numbers) for d in rays.directions.tolist()]
    assert rays.measure()[0].tolist() == found
    assert sum(reach < 20.0 for reach in found) > 3


def test_bad_rays():
    """Rays without a world, a direction or a range are named."""
    with pytest.raises(ConfigError, match="must be in a world"):
        Rays(Fleet("iris", 1), [(1.0, 0.0, 0.0)])
    fleet = Fleet("iris", 1, world=World(ground=0.0))
    for wrong in ({"directions": [(0.0, 0.0, 0.0)]}, {"directions": [(1.0, 0.0, 0.0)], "max_range": 0.0}):
        with pytest.raises(ConfigError, match="must be"):
            Rays(fleet, **wrong)
    with pytest.raises(ConfigError, match="resolution"):
        DepthCamera(fleet, resolution=(0, 4))
