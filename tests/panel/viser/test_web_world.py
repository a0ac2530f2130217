"""Tests of the world files that browsers load."""

import json
import struct

import numpy as np

from pegasus.base.frames import matrix_from_quaternion
from pegasus.core.simulation import Simulation
from pegasus.panel.viser.world import decomposed, web_world
from pegasus.scene.scene import Geometry, Instance, Material, Scene


def scene_of(counts, *, triangles=100, size=1.0):
    """Return a scene with one shape for each count, instanced that many times."""
    vertices = np.array([[0, 0, 0], [size, 0, 0], [0, size, 0]], np.float32)
    faces = np.tile(np.array([[0, 1, 2]], np.uint32), (triangles, 1))
    normals = np.tile(np.array([0, 0, 1], np.float32), (3, 1))
    scene = Scene("test")
    scene.materials["m"] = Material("m")
    for number, count in enumerate(counts):
        scene.geometries[f"g{number}"] = Geometry(vertices, faces, normals)
        for index in range(count):
            transform = np.eye(4)
            transform[:3, 3] = index, number, 0
            scene.instances.append(Instance(f"/{number}/{index}", f"g{number}", "m", transform, {}, "e"))
    return scene


def drawn(data):
    """Return the number of triangles in a file."""
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + length])
    return sum(
        document["accessors"][primitive["indices"]]["count"] // 3
        for primitive in document["meshes"][0]["primitives"]
    )


def test_many_copies_are_sent_once():
    """If this fails, each tree of a forest is sent separately."""
    world = web_world(scene_of([1, 500]))
    (batch,) = world.batches
    assert batch.position.shape == (500, 3)
    assert drawn(batch.data) == 100
    assert drawn(world.fixed) == 100
    assert world.triangle_count == 501 * 100


def test_the_smallest_things_are_left_out_above_the_limit():
    """If this fails, a browser gets too many triangles, or large objects are left out."""
    scene = scene_of([10], size=0.1)
    large = scene_of([10], size=20.0)
    scene.geometries["large"] = large.geometries["g0"]
    scene.instances.extend(
        Instance(f"/l{i}", "large", "m", item.transform, {}, "e") for i, item in enumerate(large.instances)
    )
    world = web_world(scene, most_triangles=1500)
    assert (world.triangle_count, world.left_out_count) == (1000, 1000)
    assert web_world(scene, most_triangles=2000).left_out_count == 0


def test_transforms_come_apart_and_together():
    """If this fails, copies are rotated or scaled wrongly in the browser."""
    rng = np.random.default_rng(3)
    quaternion = rng.normal(size=(20, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    scale, place = rng.uniform(0.2, 3.0, (20, 3)), rng.normal(size=(20, 3))
    transforms = np.tile(np.eye(4), (20, 1, 1))
    transforms[:, :3, :3] = matrix_from_quaternion(quaternion) * scale[:, None, :]
    transforms[:, :3, 3] = place
    position, orientation, sizes = decomposed(transforms)
    np.testing.assert_allclose(position, place)
    np.testing.assert_allclose(sizes, scale)
    np.testing.assert_allclose(
        matrix_from_quaternion(orientation), matrix_from_quaternion(quaternion), atol=1e-12
    )


def test_a_whole_world_keeps_all_of_its_triangles():
    """If this fails, part of a world is not shown."""
    with Simulation("courtyard") as simulation:
        scene = simulation.scene
        world = web_world(scene)
    total = sum(len(scene.geometries[item.geometry].faces) for item in scene.instances)
    assert drawn(world.fixed) + sum(drawn(b.data) * len(b.position) for b in world.batches) == total
    assert world.left_out_count == 0
