"""glTF meshes that morph targets and skins deform."""

import numpy as np
import pytest
from gltf_model import SQUARE, Model

from pegasus import ConfigError
from pegasus.scene.translation import translate

UP = np.array([0.0, 0.0, 1.0])
# glTF's x, y and z are our x, z and -y.
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def corners(scene, part=""):
    """Return points and normals of an instance in glTF's axes."""
    (item,) = (item for item in scene.instances if part in item.path)
    shape = scene.geometries[item.geometry]
    points = shape.vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
    return points @ AXES, shape.normals @ item.transform[:3, :3].T @ AXES


def skinned(matrices, weights, **skin):
    """Return a model of a square that follows two joints."""
    model = Model()
    part = model.part()
    followed = np.tile(np.array([0, 1, 0, 0], np.uint16), (4, 1))
    part["attributes"] |= {
        "NORMAL": model.accessor(np.tile(UP, (4, 1)).astype(np.float32)),
        "JOINTS_0": model.accessor(followed),
        "WEIGHTS_0": model.accessor(np.array(weights, np.float32)),
    }
    columns = np.stack(matrices).transpose(0, 2, 1).reshape(-1, 16).astype(np.float32)
    skin = {"joints": [2, 3], "inverseBindMatrices": model.accessor(columns)} | skin
    model.mesh(part)
    model.document["skins"] = [skin]
    half = float(np.sqrt(0.5))
    model.document["nodes"] = [
        {"mesh": 0, "skin": 0, "name": "cloth", "translation": [9, 9, 9], "scale": [3, 3, 3]},
        {"children": [2], "translation": [0, 0, 1]},
        {"children": [3]},
        {"rotation": [half, 0, 0, half], "translation": [0, 1, 0], "scale": [1, 1, 2]},
    ]
    model.document["scenes"] = [{"nodes": [0, 1]}]
    return model


def test_skins_move_meshes_to_their_joints(tmp_path):
    """A figure would stand apart from its skeleton, or be placed by its node a second time."""
    bind = np.eye(4)
    bind[1, 3] = -1.0
    weights = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0.25, 0.25, 0, 0]]
    points, normals = corners(translate(skinned([np.eye(4), bind], weights).glb(tmp_path / "m.glb")))
    # The first joint lifts by z; the second turns about x after its bind matrix, which is at its hinge.
    still = SQUARE + UP
    turned = np.stack([SQUARE[:, 0], np.ones(4), SQUARE[:, 1] - 1.0], axis=1) + UP
    expected = np.array([still[0], still[1], turned[2], (still[3] + turned[3]) / 2])
    order = np.lexsort(np.round(points, 3).T), np.lexsort(np.round(expected, 3).T)
    np.testing.assert_allclose(points[order[0]], expected[order[1]], atol=1e-6)
    hung = normals[np.abs(points - turned[2]).max(axis=1) < 1e-5]
    np.testing.assert_allclose(hung, [[0.0, -1.0, 0.0]], atol=1e-6)


def test_points_without_weights_follow_the_first_joint(tmp_path):
    """Such points would be drawn at the origin, with spikes to it."""
    points, _ = corners(translate(skinned([np.eye(4)] * 2, [[0] * 4] * 4).glb(tmp_path / "m.glb")))
    np.testing.assert_allclose(points.min(axis=0), [0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(points.max(axis=0), [1.0, 1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"joints": []}, "skin 0 has no joints"),
        ({"joints": [2]}, "skin 0 has 1 joints, but a point follows another"),
        ({"joints": [2, 3, 1]}, "skin 0 has 2 bind matrices for 3 joints"),
        ({"joints": [2, 30]}, "there is no number 30 of nodes"),
    ],
)
def test_wrong_skins(change, message, tmp_path):
    """A damaged skeleton would end in a traceback."""
    model = skinned([np.eye(4)] * 2, [[0.5, 0.5, 0, 0]] * 4, **change)
    with pytest.raises(ConfigError, match="is not valid glTF: ") as caught:
        translate(model.glb(tmp_path / "m.glb"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_morph_targets_by_mesh_and_by_node(tmp_path):
    """An opened door would be drawn shut, or both copies of it alike."""
    model = Model()
    part = model.part()
    moves = [np.tile(np.array(offset, np.float32), (4, 1)) for offset in ([0, 0, 2], [4, 0, 0])]
    part["targets"] = [{"POSITION": model.accessor(move)} for move in moves]
    model.mesh(part)
    model.document["meshes"][0]["weights"] = [0.5, 0.0]
    model.document["nodes"] = [
        {"mesh": 0, "name": "first"},
        {"mesh": 0, "name": "second", "weights": [0.0, 0.25]},
    ]
    model.document["scenes"] = [{"nodes": [0, 1]}]
    scene = translate(model.glb(tmp_path / "m.glb"))
    for name, offset in (("first", [0, 0, 1]), ("second", [1, 0, 0])):
        points, _ = corners(scene, name)
        np.testing.assert_allclose(points.min(axis=0), SQUARE.min(axis=0) + offset, atol=1e-6)
        np.testing.assert_allclose(points.max(axis=0), SQUARE.max(axis=0) + offset, atol=1e-6)
    model.document["meshes"][0]["weights"] = [0.5]
    with pytest.raises(ConfigError, match="a mesh has 2 morph targets, but 1 weights"):
        translate(model.glb(tmp_path / "wrong.glb"))
