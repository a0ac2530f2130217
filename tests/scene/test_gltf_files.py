"""glTF files as worlds and vehicles: shapes, places, materials and errors."""

import io
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml
from gltf_model import SQUARE, Model, png
from PIL import Image

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.system import resource
from pegasus.scene.gltf import usd_file
from pegasus.scene.kept_scene import scene_of_file
from pegasus.scene.scene import Texture
from pegasus.scene.translation import translate


def squares(scene):
    """Return the corners of each instance in the world, by path."""
    return {
        item.entity: scene.geometries[item.geometry].vertices @ item.transform[:3, :3].T
        + item.transform[:3, 3]
        for item in scene.instances
    }


@pytest.mark.parametrize("kind", ["glb", "embedded", "beside"])
def test_shapes_are_where_their_nodes_are(kind, tmp_path):
    """A part would be mirrored, of another size or elsewhere, or have no collider."""
    model = Model()
    model.mesh(model.part())
    half = np.sqrt(0.5)
    model.document["nodes"] = [
        {"name": "a b", "children": [1, 2], "translation": [1, 2, 3], "rotation": [0, half, 0, half]},
        {"mesh": 0, "scale": [2, 1, 1]},
        {"mesh": 0, "name": "second", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 5, 1]},
    ]
    if kind == "glb":
        file = model.glb(tmp_path / "m.glb")
    else:
        file = model.gltf(tmp_path / "m.gltf", inside=kind == "embedded")
    scene = translate(file)
    # Turned by 90 degrees about glTF's y, which is our z: its x is its -z, our y.
    found = squares(scene)
    second = found["/World/a_b/second/mesh/shape"]
    np.testing.assert_allclose(second.min(axis=0), [6.0, -3.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(second.max(axis=0), [6.0, -2.0, 3.0], atol=1e-6)
    (other,) = (corners for path, corners in found.items() if "second" not in path)
    np.testing.assert_allclose(other.min(axis=0), [1.0, -3.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(other.max(axis=0), [1.0, -1.0, 3.0], atol=1e-6)
    assert len(scene.colliders) == 2
    assert len(scene.geometries) == 1
    assert scene.warnings == []
    assert scene.source == str(file)


def test_materials_are_those_of_the_file(tmp_path):
    """Colours would be rounded to bytes, or an image, a channel or a cut-out be lost."""
    model = Model()
    bright = model.texture(png((255, 0, 0, 255), (0, 255, 0, 0), mode="RGBA"))
    gloss = model.texture(png((0, 51, 255)))
    model.document["samplers"] = [{"wrapS": 33071}]
    model.document["textures"][1]["sampler"] = 0
    model.document["materials"] = [
        {"pbrMetallicRoughness": {"baseColorFactor": [0.013, 0.5, 0.25, 1.0], "metallicFactor": 0.0}},
        {
            "name": "0",
            "alphaMode": "MASK",
            "alphaCutoff": 0.3,
            "emissiveFactor": [0.1, 0.0, 0.2],
            "normalTexture": gloss | {"scale": 0.5},
            "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 5.0}},
            "pbrMetallicRoughness": {
                "baseColorTexture": bright,
                "baseColorFactor": [0.5, 1.0, 1.0, 1.0],
                "metallicRoughnessTexture": gloss,
                "roughnessFactor": 0.5,
            },
        },
    ]
    model.mesh(model.part(material=0), model.part(material=1, uv=True))
    scene = translate(model.glb(tmp_path / "m.glb"))
    plain, rich = sorted(scene.materials.values(), key=lambda item: isinstance(item.diffuse_color, Texture))
    np.testing.assert_allclose(plain.diffuse_color, (0.013, 0.5, 0.25), rtol=1e-6)
    assert (plain.metallic, plain.roughness) == (0.0, 1.0)
    color, rough, metal = rich.diffuse_color, rich.roughness, rich.metallic
    assert (color.channel, color.srgb, color.scale[:3]) == ("rgb", True, (0.5, 1.0, 1.0))
    assert (rough.channel, rough.scale[1], metal.channel) == ("g", 0.5, "b")
    assert not rough.srgb
    assert rich.opacity.channel == "a"
    assert rich.opacity_threshold == pytest.approx(0.3)
    np.testing.assert_allclose(rich.emissive_color, (0.5, 0.0, 1.0), rtol=1e-6)
    assert (rich.normal.scale, rich.normal.wrap) == ((1.0, 1.0, 2.0, 1.0), ("clamp", "repeat"))
    with Image.open(color.path) as image:
        assert [image.getpixel((x, 0)) for x in (0, 1)] == [(255, 0, 0, 255), (0, 255, 0, 0)]


def test_vertex_colors(tmp_path):
    """A painted mesh would be grey."""
    model = Model()
    model.mesh(model.part(colors=[[0.2, 0.4, 0.6, 1.0]] * 4))
    scene = translate(model.glb(tmp_path / "m.glb"))
    (geometry,) = scene.geometries.values()
    np.testing.assert_allclose(geometry.colors, np.full(geometry.colors.shape, (0.2, 0.4, 0.6)), rtol=1e-6)


def test_arrays_of_all_kinds(tmp_path):
    """Points that a sparse array moves, or coordinates in integers, would be elsewhere."""
    model = Model()
    part = model.part(uv=True)
    rows, moved = np.array([2], np.uint16), np.array([[3, 3, 0]], np.float32)
    model.document["accessors"][part["attributes"]["POSITION"]]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": model.view(rows.tobytes()), "componentType": 5123},
        "values": {"bufferView": model.view(moved.tobytes())},
    }
    integers = np.array([[0, 65535], [65535, 65535], [65535, 0], [0, 13107]], np.uint16)
    entry = {"bufferView": model.view(integers.tobytes()), "componentType": 5123, "count": 4}
    model.document["accessors"].append(entry | {"type": "VEC2", "normalized": True})
    part["attributes"]["TEXCOORD_0"] = len(model.document["accessors"]) - 1
    image = model.texture(png((1, 2, 3)))
    model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": image}}]
    model.mesh(part | {"material": 0})
    scene = translate(model.glb(tmp_path / "m.glb"))
    (geometry,) = scene.geometries.values()
    assert geometry.vertices.max() == 3.0
    uv = np.unique(np.round(geometry.uvs, 4), axis=0)
    np.testing.assert_allclose(uv, [[0.0, 0.0], [0.0, 0.8], [1.0, 0.0], [1.0, 1.0]], atol=1e-4)


@pytest.mark.parametrize(("mode", "order"), [(5, [0, 1, 3, 2]), (6, [0, 1, 2, 3])])
def test_strips_and_fans(mode, order, tmp_path):
    """A strip or fan would have holes, or triangles that look the other way."""
    model = Model()
    model.mesh(model.part(mode=mode, faces=np.array(order, np.uint16)))
    (geometry,) = translate(model.glb(tmp_path / "m.glb")).geometries.values()
    corners = geometry.vertices[geometry.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert normals.shape == (2, 3)
    np.testing.assert_allclose(normals, [[0.0, 0.0, 1.0]] * 2, atol=1e-6)


def test_names_and_nodes(tmp_path, monkeypatch):
    """Names would differ from one computer to the next, or nodes below a camera be lost."""
    model = Model()
    model.mesh(model.part(), model.part())
    model.document |= {"cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}]}
    model.document["nodes"] = [
        {"camera": 0, "name": "eye", "mesh": 0, "children": [1, 2]},
        {"mesh": 0, "name": "part"},
        {"mesh": 0, "name": "part"},
    ]
    del model.document["scenes"], model.document["scene"]
    file, found = model.glb(tmp_path / "m.glb"), []
    for number in range(2):
        monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / f"cache{number}"))
        found.append([item.entity for item in translate(file).instances])
    assert found[0] == found[1]
    assert found[0] == [
        f"/World/eye{node}/{mesh}/shape" for node in ("", "/part", "/part_2") for mesh in ("mesh", "mesh_2")
    ]


def test_conversions_at_the_same_time(tmp_path, monkeypatch):
    """Two threads that open a file at once would fail, or leave their temporary folders."""
    model = Model()
    model.mesh(model.part())
    file = model.glb(tmp_path / "m.glb")
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: usd_file(file), range(16)))
    assert len(made) == 1
    assert [path.name for path in (tmp_path / "cache" / "gltf").iterdir()] == [made.pop().parent.name]


def test_what_is_left_out_is_said(tmp_path):
    """A file would be drawn otherwise than elsewhere without a word."""
    model = Model()
    lines = model.part() | {"mode": 1}
    model.mesh(model.part(), lines)
    model.document |= {
        "animations": [{"channels": [], "samplers": []}],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}],
        "extensionsUsed": ["KHR_audio_emitter"],
    }
    warnings = translate(model.glb(tmp_path / "m.glb")).warnings
    for said in (
        "lines, points and empty meshes",
        "animations",
        "cameras",
        "extension KHR_audio_emitter",
    ):
        assert any(f"{said} left out" in line for line in warnings), said


def test_a_changed_part_is_read_again(tmp_path):
    """The last scene would be flown after its binary file has changed."""
    model = Model()
    model.mesh(model.part())
    file = model.gltf(tmp_path / "m.gltf", inside=False)
    before = scene_of_file(file)
    assert scene_of_file(file) is before
    part = tmp_path / "parts of it.bin"
    points = np.frombuffer(part.read_bytes(), np.float32, 12) * 3
    part.write_bytes(points.tobytes() + part.read_bytes()[48:] + bytes(4))
    (corners,) = squares(scene_of_file(file)).values()
    assert corners.max() == pytest.approx(3.0)


def damaged(tmp_path, change):
    """Return a file of a square after a change of its document, or of its bytes."""
    model = Model()
    model.mesh(model.part())
    change(model.document)
    return model.glb(tmp_path / "m.glb")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["asset"].update(version="1.0"), "is not valid glTF: its version is 1.0, not 2.0"),
        (
            lambda d: d.update(extensionsRequired=["KHR_draco_mesh_compression"]),
            "needs KHR_draco_mesh_compression, which is not supported; export it without compression",
        ),
        (lambda d: d["accessors"][0].update(bufferView=7), "is not valid glTF: "),
        (lambda d: d["accessors"][0].update(count=5), "an accessor goes beyond buffer view 0"),
        (lambda d: d["nodes"][0].update(children=[0]), "node 0 has two parents, or is a part of itself"),
        (lambda d: d.update(images=3), "is not valid glTF: "),
        (lambda d: d["nodes"][0].update(matrix=[math.nan] * 16), "the transform of a node is not finite"),
        (lambda d: d["nodes"][0].update(rotation=[0, 0, 0, 0]), "the rotation of a node is zero"),
        (lambda d: d["meshes"][0]["primitives"][0].update(mode=0), "holds no triangles"),
        (lambda d: d.update(images=[{"uri": "no.png"}]), "images = 'no.png': no such file"),
    ],
)
def test_wrong_files(change, message, tmp_path):
    """A wrong file would end in a traceback, or in a world without ground."""
    with pytest.raises(ConfigError) as caught:
        translate(damaged(tmp_path, change))
    assert message in str(caught.value)
    assert "m.glb" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_files(tmp_path):
    """A file cut short, or an image that is none, would end in a traceback."""
    whole = damaged(tmp_path, lambda _: None).read_bytes()
    file = tmp_path / "cut.glb"
    for size in (0, 3, 15, 30, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(ConfigError, match=r"cut\.glb: is not valid glTF: "):
            translate(file)
    deep = tmp_path / "deep.gltf"
    deep.write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="it has no JSON of glTF"):
        translate(deep)
    file.write_bytes(b"x" * 100)
    with pytest.raises(ConfigError, match="it does not begin as a GLB file"):
        translate(file)
    model = Model()
    model.document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": model.texture(b"none")}}]
    model.mesh(model.part(material=0, uv=True))
    with pytest.raises(ConfigError, match=r"image\.glb: is not valid glTF: image 0 cannot be read"):
        translate(model.glb(tmp_path / "image.glb"))
    with pytest.raises(ConfigError, match=r"no\.glb: no such glTF file"):
        translate(tmp_path / "no.glb")


def test_a_world_and_a_vehicle(tmp_path):
    """A vehicle would fall through the file's ground, or keep its drawn airframe."""
    model = Model()
    model.mesh(model.part())
    # A level square of 20 m, 2 m up, and a pyramid of 0.2 m.
    turned = [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    model.document["nodes"] = [
        {"mesh": 0, "translation": [-10, 2, 10], "rotation": turned, "scale": [20, 20, 1]}
    ]
    world = model.glb(tmp_path / "ground.glb")
    body = Model()
    tip = np.array([[0.5, 0.5, 1.0]], np.float32)
    sides = [0, 2, 1, 0, 3, 2, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4]
    body.mesh(body.part(points=np.concatenate([SQUARE, tip]), faces=np.array(sides, np.uint16)))
    body.document["nodes"] = [
        {"mesh": 0, "scale": [0.2, 0.2, 0.2], "rotation": turned, "translation": [-0.1, -0.1, 0.1]}
    ]
    body.glb(tmp_path / "body.glb")
    content = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
    content.pop("body", None)
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(content | {"name": "own", "usd": "body.glb"}))
    with Simulation(world) as sim:
        drone = sim.add(Multirotor(own, position=(0.0, 0.0, 3.0)))
        sim.run(2.0)
        assert drone.state.position[0, 2] == pytest.approx(2.1, abs=0.005)
        assert drone.in_contact.all()


def test_images_stand_upright(tmp_path):
    """A texture would be mirrored, or upside down."""
    pytest.importorskip("embreex", reason="pip install pegasus-multirotor[render]")
    from pegasus.optics.lens import Pinhole
    from pegasus.render import View
    from pegasus.render.embree.renderer import EmbreeRenderer

    colors = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], np.uint8)
    stream = io.BytesIO()
    Image.fromarray(colors.repeat(8, axis=0).repeat(8, axis=1)).save(stream, format="PNG")
    model = Model()
    image = model.texture(stream.getvalue())
    emission = {"emissiveTexture": image, "emissiveFactor": [1, 1, 1]}
    model.document["materials"] = [emission | {"pbrMetallicRoughness": {"baseColorFactor": [0, 0, 0, 1]}}]
    model.mesh(model.part(material=0, uv=True))
    renderer = EmbreeRenderer(threads=1, bounces=0)
    renderer.load(translate(model.glb(tmp_path / "m.glb")))
    # The square's front looks along glTF's z, our -y; seen from there its x is to the right.
    optical = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    view = View(Pinhole(horizontal_fov=0.5), (32, 32), np.array([0.5, -2.0, 0.5]), optical)
    seen = renderer.render(view, ["radiance"]).radiance
    renderer.close()
    quarters = [seen[y, x] / seen[y, x].max() for y, x in ((8, 8), (8, 24), (24, 8), (24, 24))]
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_allclose(quarters, expected, atol=0.05)


def test_remote_image_is_left_out(tmp_path):
    """A file would be refused for an image that no simulation may download."""
    model = Model()
    model.document |= {"images": [{"uri": "https://example.invalid/a.png"}], "textures": [{"source": 0}]}
    paint = {"baseColorTexture": {"index": 0}, "baseColorFactor": [0.1, 0.2, 0.3, 1.0]}
    model.document["materials"] = [{"pbrMetallicRoughness": paint}]
    model.mesh(model.part(material=0, uv=True))
    scene = translate(model.glb(tmp_path / "m.glb"))
    assert any("remote address" in line for line in scene.warnings)
    (material,) = scene.materials.values()
    assert material.diffuse_color == pytest.approx((0.1, 0.2, 0.3))


def lights_of(tmp_path, *lights):
    """Return the scene of a file with one node for each light, 2 m above the origin, -z turned down."""
    model = Model()
    model.mesh(model.part())
    half = np.sqrt(0.5)
    model.document["extensions"] = {"KHR_lights_punctual": {"lights": list(lights)}}
    model.document["extensionsUsed"] = model.document["extensionsRequired"] = ["KHR_lights_punctual"]
    model.document["nodes"] += [
        {
            "name": f"lamp{k}",
            "translation": [0, 2, 0],
            "rotation": [-half, 0, 0, half],
            "extensions": {"KHR_lights_punctual": {"light": k}},
        }
        for k in range(len(lights))
    ]
    model.document["scenes"] = [{"nodes": list(range(len(lights) + 1))}]
    return translate(model.glb(tmp_path / "m.glb"))


def test_lights_of_a_file_shine(tmp_path):
    """A world would be black, or its lamps of another strength, place or direction."""
    sun = {"type": "directional", "intensity": 1e5, "color": [1.0, 0.5, 0.25]}
    scene = lights_of(
        tmp_path,
        sun,
        {"type": "point", "intensity": 800.0},
        {"type": "spot", "spot": {"innerConeAngle": 0.2, "outerConeAngle": 0.5}},
    )
    sun, lamp, spot = scene.lights
    assert (sun.kind, lamp.kind, spot.kind) == ("DistantLight", "SphereLight", "SphereLight")
    # 100,000 lx are the sun of the shipped worlds; glTF's -z is turned down.
    np.testing.assert_allclose(sun.color, (3000.0, 1500.0, 750.0), rtol=1e-6)
    for light in (sun, spot):
        np.testing.assert_allclose(
            light.transform[:3, 2] / np.linalg.norm(light.transform[:3, 2]), (0, 0, 1), atol=1e-12
        )
    np.testing.assert_allclose(lamp.transform[:3, 3], (0, 0, 2), atol=1e-6)
    # 800 cd give 800 lx at 1 m: radiance of the sphere by its projected area.
    radiance = lamp.color[0] / (4.0 * math.pi * lamp.parameters["radius"] ** 2)
    assert radiance * math.pi * lamp.parameters["radius"] ** 2 == pytest.approx(800.0 * 0.03)
    cone = spot.parameters["cone_angle"], spot.parameters["cone_softness"]
    assert cone == pytest.approx((math.degrees(0.5), 0.6))
    assert not any("KHR_lights_punctual" in line for line in scene.warnings)


@pytest.mark.parametrize(
    "light",
    [{"type": "area"}, {"type": "point", "intensity": -1.0}, {"type": "point", "color": 3}, {}, []],
)
def test_damaged_lights_are_refused_in_one_line(tmp_path, light):
    """A damaged file would end in a traceback."""
    with pytest.raises(ConfigError, match="is not valid glTF"):
        lights_of(tmp_path, light)
