"""Tests for writing geometry as glTF."""

import io
import json
import struct

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.panel.gltf import Part, encoded_image, glb, packed_sky
from pegasus.scene.scene import Geometry, Material, Texture

TRIANGLE = Geometry(
    vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32),
    faces=np.array([[0, 1, 2]], np.uint32),
    normals=np.tile(np.array([0, 0, 1], np.float32), (3, 1)),
    uvs=np.array([[0, 0], [1, 0], [0, 1]], np.float32),
)


def unpacked(data):
    """Return document and buffer of a binary glTF file (glTF 2.0, sec. 4.4)."""
    magic, version, total = struct.unpack_from("<4sII", data)
    assert (magic, version, total) == (b"glTF", 2, len(data))
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert length % 4 == 0
    document = json.loads(data[20 : 20 + length])
    size, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert kind == b"BIN\0"
    return document, data[28 + length : 28 + length + size]


def array(document, binary, index):
    """Return the values of an accessor."""
    accessor = document["accessors"][index]
    view = document["bufferViews"][accessor["bufferView"]]
    kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}[accessor["type"]]
    values = np.frombuffer(binary, kind, accessor["count"] * width, view["byteOffset"])
    return values.reshape(-1, width)


def test_copies_of_one_material_are_one_primitive_in_place():
    """If this fails, a world needs too many draw calls, or its objects are misplaced."""
    red = Material("red", diffuse_color=(1.0, 0.0, 0.0))
    there = np.eye(4)
    there[:3, 3] = 5.0, 6.0, 7.0
    document, binary = unpacked(glb([Part(TRIANGLE, red, [np.eye(4), there])]))
    (primitive,) = document["meshes"][0]["primitives"]
    points = array(document, binary, primitive["attributes"]["POSITION"])
    np.testing.assert_allclose(points[3:], TRIANGLE.vertices + np.array([5, 6, 7]))
    assert array(document, binary, primitive["indices"]).ravel().tolist() == [0, 1, 2, 3, 4, 5]
    surface = document["materials"][0]["pbrMetallicRoughness"]
    assert surface["baseColorFactor"] == [1.0, 0.0, 0.0, 1.0]


def test_a_mirror_keeps_triangles_facing_outwards():
    """If this fails, mirrored objects show their inside."""
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    document, binary = unpacked(glb([Part(TRIANGLE, Material("m"), [mirror])]))
    primitive = document["meshes"][0]["primitives"][0]
    a, b, c = array(document, binary, primitive["attributes"]["POSITION"])[
        array(document, binary, primitive["indices"]).ravel()
    ]
    assert np.cross(b - a, c - a)[2] > 0


def test_texture_coordinates_begin_at_the_top(tmp_path):
    """If this fails, all textures are upside down: glTF counts v downwards, USD upwards."""
    path = tmp_path / "image.png"
    Image.new("RGB", (2000, 10), (10, 20, 30)).save(path)
    textured = Material("t", diffuse_color=Texture(path, uv_scale=(2.0, 1.0)))
    document, binary = unpacked(glb([Part(TRIANGLE, textured, [np.eye(4)])], texture_size=100))
    primitive = document["meshes"][0]["primitives"][0]
    uvs = array(document, binary, primitive["attributes"]["TEXCOORD_0"])
    np.testing.assert_allclose(uvs, [[0, 1], [2, 1], [0, 0]])
    assert document["images"][0]["mimeType"] == "image/jpeg"


def test_a_cut_out_takes_its_alpha_from_another_image(tmp_path):
    """If this fails, leaves are drawn as opaque cards."""
    color, alpha = tmp_path / "color.png", tmp_path / "alpha.png"
    Image.new("RGB", (4, 4), (200, 0, 0)).save(color)
    Image.new("L", (4, 4), 77).save(alpha)
    data, kind = encoded_image(color, Texture(alpha, channel="r"), with_alpha=True, size=64)
    assert kind == "image/png"
    with Image.open(io.BytesIO(data)) as image:
        assert image.getpixel((1, 1)) == (200, 0, 0, 77)


def test_an_unreadable_texture_is_one_line(tmp_path):
    """If this fails, a broken image ends the view with a traceback."""
    path = tmp_path / "broken.png"
    path.write_bytes(b"no image")
    with pytest.raises(ConfigError, match="texture cannot be read"):
        encoded_image(path, None, with_alpha=False, size=64)


def test_the_sky_is_lit_by_itself_and_seen_from_within():
    """If this fails, the sky is black."""
    document, binary = unpacked(packed_sky(zenith=(0, 0, 1), horizon=(1, 1, 1), radius=10.0))
    primitive = document["meshes"][0]["primitives"][0]
    assert "KHR_materials_unlit" in document["materials"][0]["extensions"]
    points = array(document, binary, primitive["attributes"]["POSITION"])
    colors = array(document, binary, primitive["attributes"]["COLOR_0"])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 10.0, rtol=1e-6)
    np.testing.assert_allclose(colors[points[:, 2].argmax()], [0, 0, 1], atol=1e-6)
