"""Materials of glTF extensions, vertex colours and placed textures."""

import io

import numpy as np
import pytest
from gltf_model import UV, Model, png
from PIL import Image

from pegasus import ConfigError
from pegasus.scene.scene import Texture
from pegasus.scene.translation import translate


def material_of(model, tmp_path):
    """Return the only material of a model, and the scene."""
    scene = translate(model.glb(tmp_path / "m.glb"))
    (material,) = scene.materials.values()
    return material, scene


def sampled(texture, uv):
    """Return texture coordinates with v down after a texture's own transform."""
    scaled = np.stack([uv[:, 0], 1.0 - uv[:, 1]], axis=1) * texture.uv_scale
    cos, sin = np.cos(texture.uv_rotation), np.sin(texture.uv_rotation)
    turned = scaled @ np.array([[cos, sin], [-sin, cos]]) + texture.uv_translation
    return np.stack([turned[:, 0], 1.0 - turned[:, 1]], axis=1)


@pytest.mark.parametrize("textured", [False, True])
def test_vertex_colors_multiply_the_base_color(textured, tmp_path):
    """A painted mesh with a material would be plain, as Khronos's BoxVertexColors."""
    model = Model()
    body = {"baseColorFactor": [0.5, 1.0, 0.25, 1.0]}
    if textured:
        body["baseColorTexture"] = model.texture(png((1, 2, 3)))
    model.document["materials"] = [{"pbrMetallicRoughness": body}]
    model.mesh(model.part(material=0, uv=True, colors=[[0.2, 0.4, 0.6, 1.0]] * 4))
    material, scene = material_of(model, tmp_path)
    (geometry,) = scene.geometries.values()
    if textured:
        assert isinstance(material.diffuse_color, Texture)
        assert material.diffuse_color.scale[:3] == (0.5, 1.0, 0.25)
        expected = [0.2, 0.4, 0.6]
    else:
        assert material.diffuse_color == (1.0, 1.0, 1.0)
        expected = [0.1, 0.4, 0.15]
    np.testing.assert_allclose(geometry.colors, np.tile(expected, (len(geometry.colors), 1)), rtol=1e-6)
    assert scene.warnings == []


@pytest.mark.parametrize(
    ("change", "matrix"),
    [
        ({"offset": [0.5, 0.25]}, [[1, 0, 0.5], [0, 1, 0.25]]),
        ({"scale": [2.0, 3.0]}, [[2, 0, 0], [0, 3, 0]]),
        # Counter-clockwise as seen in the image, whose v points down.
        ({"rotation": np.pi / 2}, [[0, 1, 0], [-1, 0, 0]]),
        ({"rotation": np.pi / 2, "scale": [2.0, 3.0], "offset": [0.1, 0.2]}, [[0, 3, 0.1], [-2, 0, 0.2]]),
    ],
)
def test_placed_textures(change, matrix, tmp_path):
    """A part of an atlas would show another part, as in Khronos's TextureTransformTest."""
    model = Model()
    image = model.texture(png((1, 2, 3))) | {"extensions": {"KHR_texture_transform": change}}
    model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": image}}]
    model.document["extensionsUsed"] = model.document["extensionsRequired"] = ["KHR_texture_transform"]
    model.mesh(model.part(material=0, uv=True))
    material, scene = material_of(model, tmp_path)
    expected = np.column_stack([UV, np.ones(4)]) @ np.array(matrix).T
    np.testing.assert_allclose(sampled(material.diffuse_color, UV), expected, atol=1e-6)
    assert scene.warnings == []


def test_second_set_of_coordinates(tmp_path):
    """A texture on its own coordinates would be drawn by those of another."""
    model = Model()
    transform = {"extensions": {"KHR_texture_transform": {"texCoord": 1}}}
    image = model.texture(png((1, 2, 3))) | {"texCoord": 0} | transform
    model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": image}}]
    part = model.part(material=0, uv=True)
    part["attributes"]["TEXCOORD_1"] = model.accessor(UV * np.float32(0.25))
    model.mesh(part)
    _, scene = material_of(model, tmp_path)
    (geometry,) = scene.geometries.values()
    np.testing.assert_allclose(np.unique(geometry.uvs, axis=0).max(axis=0), [0.25, 1.0])
    np.testing.assert_allclose(np.unique(geometry.uvs, axis=0).min(axis=0), [0.0, 0.75])


def test_specular_colors_and_gloss(tmp_path):
    """A file of the older workflow would be drawn as rough white metal."""
    model = Model()
    image = model.texture(png((255, 128, 0, 64), mode="RGBA"))
    look = {
        "diffuseFactor": [0.5, 0.25, 1.0, 1.0],
        "specularFactor": [0.1, 0.2, 0.3],
        "glossinessFactor": 0.75,
        "specularGlossinessTexture": image,
    }
    name = "KHR_materials_pbrSpecularGlossiness"
    model.document |= {"materials": [{"extensions": {name: look}}], "extensionsRequired": [name]}
    model.mesh(model.part(material=0, uv=True))
    material, scene = material_of(model, tmp_path)
    np.testing.assert_allclose(material.diffuse_color, (0.5, 0.25, 1.0))
    np.testing.assert_allclose(material.specular_color.scale[:3], (0.1, 0.2, 0.3), rtol=1e-6)
    rough = material.roughness
    assert (rough.channel, rough.scale[3], rough.bias[3]) == ("a", -0.75, 1.0)
    assert scene.warnings == []


def test_transmission_is_thin_glass(tmp_path):
    """A window would be opaque, or see-through parts of an opaque thing drawn so without a word."""
    model = Model()
    through = {"KHR_materials_transmission": {"transmissionFactor": 0.5}}
    model.document["materials"] = [{"extensions": through}]
    model.mesh(model.part(material=0))
    material, scene = material_of(model, tmp_path)
    assert material.opacity == pytest.approx(0.6)
    assert any("transmission drawn as thin glass" in line for line in scene.warnings)


def test_clear_coats_with_textures(tmp_path):
    """Coated and bare parts of a surface would shine alike."""
    model = Model()
    image = model.texture(png((255, 128, 0)))
    coat = {"clearcoatFactor": 0.5, "clearcoatTexture": image, "clearcoatRoughnessTexture": image}
    coat["clearcoatNormalTexture"] = image
    model.document["materials"] = [{"extensions": {"KHR_materials_clearcoat": coat}}]
    model.mesh(model.part(material=0, uv=True))
    material, scene = material_of(model, tmp_path)
    assert (material.clearcoat.channel, material.clearcoat.scale[0]) == ("r", 0.5)
    assert (material.clearcoat_roughness.channel, material.clearcoat_roughness.scale[1]) == ("g", 0.0)
    assert any("normal textures of clear coats left out" in line for line in scene.warnings)


def test_webp_images(tmp_path):
    """Images in WebP would be refused, or handed to renderers that do not read them."""
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), (10, 200, 30)).save(stream, format="WEBP", lossless=True)
    model = Model()
    image = model.texture(stream.getvalue())
    model.document["textures"] = [{"extensions": {"EXT_texture_webp": {"source": 0}}}]
    model.document["extensionsRequired"] = ["EXT_texture_webp"]
    model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": image}}]
    model.mesh(model.part(material=0, uv=True))
    material, _ = material_of(model, tmp_path)
    assert material.diffuse_color.path.suffix == ".png"
    with Image.open(material.diffuse_color.path) as read:
        assert read.convert("RGB").getpixel((0, 0)) == (10, 200, 30)


def test_compression_is_named(tmp_path):
    """Compressed points would be read as zeros, and the mesh be invisible."""
    model = Model()
    part = model.part()
    del model.document["accessors"][part["attributes"]["POSITION"]]["bufferView"]
    model.mesh(part | {"extensions": {"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {}}}})
    with pytest.raises(ConfigError, match="needs KHR_draco_mesh_compression, which is not supported"):
        translate(model.glb(tmp_path / "m.glb"))
    for texture, content, message in (
        ({"extensions": {"KHR_texture_basisu": {"source": 0}}}, png((1, 2, 3)), "needs KHR_texture_basisu"),
        ({"source": 0}, b"\xabKTX 20\xbb" + bytes(80), "needs images in KTX 2.0"),
    ):
        model = Model()
        image = model.texture(content)
        model.document["textures"] = [texture]
        model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": image}}]
        model.mesh(model.part(material=0, uv=True))
        with pytest.raises(ConfigError, match=message):
            translate(model.glb(tmp_path / "m.glb"))


def test_quantized_points(tmp_path):
    """Points in integers, which gltfpack and glTF-Transform write, would be refused."""
    model = Model()
    part = model.part()
    points = np.array([[0, 0, 0, 0], [127, 0, 0, 0], [127, 127, 0, 0], [0, 127, 0, 0]], np.int8)
    view = model.view(points.tobytes())
    model.document["bufferViews"][view]["byteStride"] = 4
    entry = {"bufferView": view, "componentType": 5120, "count": 4, "type": "VEC3", "normalized": True}
    model.document["accessors"].append(entry)
    part["attributes"]["POSITION"] = len(model.document["accessors"]) - 1
    model.mesh(part)
    model.document["extensionsRequired"] = ["KHR_mesh_quantization"]
    (geometry,) = translate(model.glb(tmp_path / "m.glb")).geometries.values()
    np.testing.assert_allclose(geometry.vertices.max(axis=0), [1.0, 1.0, 0.0])
