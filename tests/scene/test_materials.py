"""Tests of materials: preview surfaces, textures with their transforms, MDL, fallbacks."""

import math
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdShade, UsdUtils, Vt

from pegasus.base.errors import ConfigError
from pegasus.scene.scene import Material, Texture
from pegasus.scene.translation import translate
from pegasus.scene.udim import tile_paths

Types = Sdf.ValueTypeNames


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Write a placeholder for an image file: only its path is used."""
    path = tmp_path / "bricks.png"
    path.write_bytes(b"image")
    return path


def shader(
    stage: Usd.Stage, path: str, kind: str, **inputs: tuple[Sdf.ValueTypeName, object]
) -> UsdShade.Shader:
    """Write a node with values, or with the outputs of other nodes, on its inputs."""
    node = UsdShade.Shader.Define(stage, path)
    node.CreateIdAttr(kind)
    for name, (value_type, value) in inputs.items():
        if isinstance(value, UsdShade.Output):
            node.CreateInput(name, value_type).ConnectToSource(value)
        else:
            node.CreateInput(name, value_type).Set(value)
    return node


def bind(stage: Usd.Stage, surface: UsdShade.Shader, context: str = "") -> UsdShade.Material:
    """Bind a material with a surface to a new cube."""
    schema = UsdShade.Material.Define(stage, "/Looks/Paint")
    schema.CreateSurfaceOutput(context).ConnectToSource(surface.CreateOutput("surface", Types.Token))
    cube = UsdGeom.Cube.Define(stage, "/Box")
    UsdShade.MaterialBindingAPI.Apply(cube.GetPrim()).Bind(schema)
    return schema


def sheet(stage: Usd.Stage, paint: UsdShade.Material) -> UsdGeom.Mesh:
    """Replace the cube by a triangle with a material."""
    stage.RemovePrim("/Box")
    mesh = UsdGeom.Mesh.Define(stage, "/Sheet")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(paint)
    return mesh


def translated(stage: Usd.Stage) -> Material:
    scene = translate(stage)
    return scene.materials[scene.instances[0].material]


def textured(stage: Usd.Stage, image: Path | str, output: str = "rgb", **inputs: object) -> UsdShade.Output:
    node = shader(stage, "/Looks/Paint/Image", "UsdUVTexture", file=(Types.Asset, str(image)), **inputs)
    return node.CreateOutput(output, Types.Float3 if output == "rgb" else Types.Float)


def test_constants_are_taken_as_authored(stage: Usd.Stage) -> None:
    """Authored colours and constants would be ignored."""
    surface = shader(
        stage,
        "/Looks/Paint/Surface",
        "UsdPreviewSurface",
        diffuseColor=(Types.Color3f, Gf.Vec3f(0.25, 0.5, 0.75)),
        emissiveColor=(Types.Color3f, Gf.Vec3f(1.0, 0.5, 0.0)),
        metallic=(Types.Float, 1.0),
        roughness=(Types.Float, 0.25),
        clearcoat=(Types.Float, 0.5),
        clearcoatRoughness=(Types.Float, 0.125),
        opacity=(Types.Float, 0.75),
        opacityThreshold=(Types.Float, 0.5),
        ior=(Types.Float, 1.25),
    )
    bind(stage, surface)
    assert translated(stage) == Material(
        path="/Looks/Paint",
        diffuse_color=(0.25, 0.5, 0.75),
        emissive_color=(1.0, 0.5, 0.0),
        metallic=1.0,
        roughness=0.25,
        clearcoat=0.5,
        clearcoat_roughness=0.125,
        opacity=0.75,
        opacity_threshold=0.5,
        ior=1.25,
    )


def test_what_is_not_authored_is_as_the_specification_has_it(stage: Usd.Stage) -> None:
    """Defaults of inputs would differ from the specification."""
    bind(stage, shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface"))
    assert translated(stage) == Material(path="/Looks/Paint")


def test_the_specular_workflow_is_kept_apart(stage: Usd.Stage) -> None:
    """A specular colour would be used in the metallic workflow, or lost in its own."""
    surface = shader(
        stage,
        "/Looks/Paint/Surface",
        "UsdPreviewSurface",
        specularColor=(Types.Color3f, Gf.Vec3f(0.5, 0.25, 0.125)),
        useSpecularWorkflow=(Types.Int, 0),
    )
    bind(stage, surface)
    assert translated(stage).specular_color is None
    surface.GetInput("useSpecularWorkflow").Set(1)
    assert translated(stage).specular_color == (0.5, 0.25, 0.125)


def test_a_texture_keeps_its_placement_and_scale(stage: Usd.Stage, image: Path) -> None:
    """Textures would be of the wrong size, turned, shifted, tinted or repeated."""
    reader = shader(stage, "/Looks/Paint/Reader", "UsdPrimvarReader_float2", varname=(Types.String, "UVMap"))
    placed = shader(
        stage,
        "/Looks/Paint/Placed",
        "UsdTransform2d",
        **{"in": (Types.Float2, reader.CreateOutput("result", Types.Float2))},
        scale=(Types.Float2, Gf.Vec2f(2.0, 4.0)),
        rotation=(Types.Float, 90.0),
        translation=(Types.Float2, Gf.Vec2f(0.5, 0.25)),
    )
    output = textured(
        stage,
        image,
        st=(Types.Float2, placed.CreateOutput("result", Types.Float2)),
        wrapS=(Types.Token, "clamp"),
        wrapT=(Types.Token, "useMetadata"),
        scale=(Types.Float4, Gf.Vec4f(0.5, 0.25, 0.125, 1.0)),
        bias=(Types.Float4, Gf.Vec4f(0.125, 0.0, 0.0, 0.0)),
    )
    bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    assert translated(stage).diffuse_color == Texture(
        path=image,
        wrap=("clamp", "repeat"),
        scale=(0.5, 0.25, 0.125, 1.0),
        bias=(0.125, 0.0, 0.0, 0.0),
        uv_scale=(2.0, 4.0),
        uv_rotation=math.pi / 2,
        uv_translation=(0.5, 0.25),
        uv_set="UVMap",
    )


@pytest.mark.parametrize(
    ("name", "output", "color_space", "channel", "srgb"),
    [
        ("diffuseColor", "rgb", None, "rgb", True),
        ("diffuseColor", "rgb", "raw", "rgb", False),
        ("roughness", "g", None, "g", False),
        ("roughness", "rgb", None, "r", False),
        ("opacity", "a", None, "a", False),
        ("metallic", "b", "sRGB", "b", True),
        ("normal", "rgb", None, "rgb", False),
    ],
)
def test_channel_and_colour_space(
    stage: Usd.Stage,
    image: Path,
    name: str,
    output: str,
    color_space: str | None,
    channel: str,
    srgb: bool,
) -> None:
    """Roughness would be read from the wrong channel, or normals decoded as colours."""
    inputs = {"sourceColorSpace": (Types.Token, color_space)} if color_space else {}
    result = textured(stage, image, output, **inputs)
    surface = shader(
        stage, "/Looks/Paint/Surface", "UsdPreviewSurface", **{name: (result.GetTypeName(), result)}
    )
    bind(stage, surface)
    field = {"diffuseColor": "diffuse_color"}.get(name, name)
    texture = getattr(translated(stage), field)
    assert (texture.path, texture.channel, texture.srgb) == (image, channel, srgb)
    if name == "normal":
        assert texture.scale == (2.0, 2.0, 2.0, 1.0)
        assert texture.bias == (-1.0, -1.0, -1.0, 0.0)


def test_the_texture_coordinates_a_material_names_are_used(stage: Usd.Stage, image: Path) -> None:
    """A texture with a second set of coordinates would use the first."""
    reader = shader(stage, "/Looks/Paint/Reader", "UsdPrimvarReader_float2", varname=(Types.String, "second"))
    output = textured(stage, image, st=(Types.Float2, reader.CreateOutput("result", Types.Float2)))
    paint = bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    mesh = sheet(stage, paint)
    for name, values in (("st", [(9, 9)] * 3), ("second", [(0, 0), (1, 0), (0, 1)])):
        primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, Types.TexCoord2fArray, "vertex")
        primvar.Set(Vt.Vec2fArray([Gf.Vec2f(*value) for value in values]))
    (geometry,) = translate(stage).geometries.values()
    np.testing.assert_allclose(geometry.uvs, geometry.vertices[:, :2])


def test_an_input_of_the_material_reaches_its_surface(stage: Usd.Stage) -> None:
    """Assets with parameters on the material would be grey."""
    surface = shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface")
    paint = bind(stage, surface)
    promoted = paint.CreateInput("tint", Types.Color3f)
    promoted.Set(Gf.Vec3f(0.5, 0.25, 0.75))
    surface.CreateInput("diffuseColor", Types.Color3f).ConnectToSource(promoted)
    assert translated(stage).diffuse_color == (0.5, 0.25, 0.75)


def test_a_missing_texture_is_one_line_with_file_attribute_and_remedy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A missing image would give a grey world without an error."""
    path = tmp_path / "world.usda"
    stage = Usd.Stage.CreateNew(str(path))
    output = textured(stage, "./textures/lost.png")
    bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    stage.Save()
    with pytest.raises(ConfigError) as caught:
        translate(path)
    message = str(caught.value)
    assert message.startswith(
        f"{path}: /Looks/Paint/Image.inputs:file = './textures/lost.png': texture does not exist"
    )
    assert "; put the image there" in message
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")


def test_a_missing_texture_of_a_material_that_is_not_used_does_not_matter(stage: Usd.Stage) -> None:
    """An unused material would keep a world from loading."""
    output = textured(stage, "lost.png")
    bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    UsdShade.MaterialBindingAPI(stage.GetPrimAtPath("/Box")).UnbindAllBindings()
    assert translated(stage).path.startswith("displayColor")


def test_an_empty_texture_path_is_noted_and_its_fallback_used(stage: Usd.Stage) -> None:
    """An empty path would resolve to the file's folder and be opened as an image."""
    output = textured(stage, "", fallback=(Types.Float4, Gf.Vec4f(0.5, 0.25, 0.75, 1.0)))
    bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    scene = translate(stage)
    assert scene.materials["/Looks/Paint"].diffuse_color == (0.5, 0.25, 0.75)
    assert "/Looks/Paint/Image: texture without an image" in scene.warnings


def test_images_inside_a_package_are_unpacked(
    tmp_path: Path, image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images in .usdz packages could not be opened by renderers."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    stage = Usd.Stage.CreateNew(str(tmp_path / "model.usda"))
    output = textured(stage, "./bricks.png")
    bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    stage.Save()
    package = tmp_path / "model.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "model.usda"), str(package))
    image.unlink()
    scene = translate(package)
    texture = scene.materials[scene.instances[0].material].diffuse_color
    assert isinstance(texture, Texture)
    assert texture.path.parent == tmp_path / "cache" / "textures"
    assert texture.path.suffix == ".png"
    assert texture.path.read_bytes() == b"image"


def test_omnipbr_is_approximated_and_noted(stage: Usd.Stage, image: Path) -> None:
    """Worlds made in Omniverse would be grey."""
    surface = UsdShade.Shader.Define(stage, "/Looks/Paint/Surface")
    surface.SetSourceAsset("OmniPBR.mdl", "mdl")
    surface.SetSourceAssetSubIdentifier("OmniPBR", "mdl")
    for name, value_type, value in (
        ("diffuse_texture", Types.Asset, str(image)),
        ("diffuse_tint", Types.Color3f, Gf.Vec3f(0.5, 1.0, 0.25)),
        ("reflection_roughness_constant", Types.Float, 0.5),
        ("reflection_roughness_texture_influence", Types.Float, 0.25),
        ("reflectionroughness_texture", Types.Asset, str(image)),
        ("metallic_constant", Types.Float, 0.75),
        ("texture_scale", Types.Float2, Gf.Vec2f(3.0, 3.0)),
        ("enable_emission", Types.Bool, True),
        ("emissive_color", Types.Color3f, Gf.Vec3f(1.0, 0.5, 0.25)),
    ):
        surface.CreateInput(name, value_type).Set(value)
    bind(stage, surface, "mdl")
    scene = translate(stage)
    found = scene.materials["/Looks/Paint"]
    assert isinstance(found.diffuse_color, Texture)
    assert (found.diffuse_color.srgb, found.diffuse_color.scale[:3]) == (True, (0.5, 1.0, 0.25))
    assert found.diffuse_color.uv_scale == (3.0, 3.0)
    # roughness = influence * texture + (1 - influence) * constant, as OmniPBR mixes them.
    assert isinstance(found.roughness, Texture)
    assert (found.roughness.channel, found.roughness.scale[0], found.roughness.bias[0]) == ("r", 0.25, 0.375)
    assert found.metallic == 0.75
    assert found.emissive_color == (1.0, 0.5, 0.25)
    assert "/Looks/Paint: MDL OmniPBR approximated by a preview surface" in scene.warnings


def test_an_unknown_surface_is_grey_and_noted(stage: Usd.Stage) -> None:
    """A material of another renderer would raise, or be ignored without a message."""
    bind(stage, shader(stage, "/Looks/Paint/Surface", "ArnoldStandard"))
    scene = translate(stage)
    assert scene.materials["/Looks/Paint"].diffuse_color == (0.5, 0.5, 0.5)
    assert any(
        line.startswith("/Looks/Paint: surface 'ArnoldStandard' drawn grey") for line in scene.warnings
    )


def test_instances_share_their_material(stage: Usd.Stage) -> None:
    """Every tree of a forest would bring its own copy of bark."""
    stage.CreateClassPrim("/Proto")
    surface = shader(stage, "/Proto/Looks/Bark/Surface", "UsdPreviewSurface")
    bark = UsdShade.Material.Define(stage, "/Proto/Looks/Bark")
    bark.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", Types.Token))
    UsdShade.MaterialBindingAPI.Apply(UsdGeom.Cube.Define(stage, "/Proto/Trunk").GetPrim()).Bind(bark)
    for k in range(3):
        copy = UsdGeom.Xform.Define(stage, f"/Tree{k}").GetPrim()
        copy.GetReferences().AddInternalReference("/Proto")
        copy.SetInstanceable(True)
    scene = translate(stage)
    assert len(scene.instances) == 3
    assert {instance.material for instance in scene.instances} == set(scene.materials)
    assert len(scene.materials) == 1


def test_a_material_may_read_the_display_colour(stage: Usd.Stage) -> None:
    """Scans whose material reads the colour of each vertex would be white."""
    reader = shader(
        stage, "/Looks/Paint/Reader", "UsdPrimvarReader_float3", varname=(Types.String, "displayColor")
    )
    output = reader.CreateOutput("result", Types.Float3)
    paint = bind(
        stage,
        shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, output)),
    )
    mesh = sheet(stage, paint)
    mesh.CreateDisplayColorPrimvar("vertex").Set(Vt.Vec3fArray([(0, 0, 0), (1, 0, 0), (0, 1, 0)]))
    scene = translate(stage)
    (geometry,) = scene.geometries.values()
    np.testing.assert_allclose(geometry.colors, geometry.vertices)
    assert scene.materials["/Looks/Paint"].diffuse_color == (1.0, 1.0, 1.0)


def test_udim_tiles_cover_their_coordinates(stage: Usd.Stage, tmp_path: Path) -> None:
    """All tiles would show the first one, stretched or repeated."""
    for number in (1002, 1003, 1012):
        (tmp_path / f"skin.{number}.png").write_bytes(b"image")
    color = textured(stage, tmp_path / "skin.<UDIM>.png")
    bind(
        stage, shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, color))
    )
    texture = translated(stage).diffuse_color
    assert isinstance(texture, Texture)
    assert texture.path == tmp_path / "skin.<UDIM>.png"
    # u from 1 to 3 and v from 0 to 2 become 0 to 1.
    for u, v, x, y in ((1.0, 0.0, 0.0, 0.0), (3.0, 2.0, 1.0, 1.0), (2.5, 0.5, 0.75, 0.25)):
        assert u * texture.uv_scale[0] + texture.uv_translation[0] == pytest.approx(x)
        assert v * texture.uv_scale[1] + texture.uv_translation[1] == pytest.approx(y)
    for path in tmp_path.glob("skin.*.png"):
        path.unlink()
    with pytest.raises(ConfigError, match="texture does not exist"):
        translate(stage)


def test_packaged_udim_tiles_are_unpacked(
    stage: Usd.Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles inside a package could not be read."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    for number in (1001, 1011):
        (tmp_path / f"skin.{number}.png").write_bytes(b"image %d" % number)
    color = textured(stage, tmp_path / "skin.<UDIM>.png")
    bind(
        stage, shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=(Types.Color3f, color))
    )
    stage.Export(str(tmp_path / "skin.usda"))
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "skin.usda"), str(tmp_path / "skin.usdz"))
    scene = translate(tmp_path / "skin.usdz")
    texture = scene.materials["/Looks/Paint"].diffuse_color
    assert isinstance(texture, Texture)
    assert [tile_paths(texture.path)[place].read_bytes() for place in ((0, 0), (0, 1))] == [
        b"image 1001",
        b"image 1011",
    ]


@pytest.mark.parametrize("kind", ["preview", "mdl", "dome"])
@pytest.mark.parametrize("address", ["https://example.invalid/a.png", "omniverse://host/a.<UDIM>.png"])
def test_remote_textures_are_left_out(kind: str, address: str) -> None:
    """A file would be refused for an image out of reach."""
    stage = Usd.Stage.CreateInMemory()
    if kind == "dome":
        UsdGeom.Cube.Define(stage, "/Box")
        UsdLux.DomeLight.Define(stage, "/Sky").CreateTextureFileAttr(address)
    elif kind == "mdl":
        surface = UsdShade.Shader.Define(stage, "/Looks/Paint/Surface")
        surface.SetSourceAsset(Sdf.AssetPath("OmniPBR.mdl"), "mdl")
        surface.CreateInput("diffuse_texture", Types.Asset).Set(address)
        surface.CreateInput("diffuse_color_constant", Types.Color3f).Set((0.1, 0.2, 0.3))
        bind(stage, surface, "mdl")
    else:
        image = shader(stage, "/Looks/Image", "UsdUVTexture", file=(Types.Asset, address))
        image.CreateInput("fallback", Types.Float4).Set((0.1, 0.2, 0.3, 1.0))
        color = (Types.Color3f, image.CreateOutput("rgb", Types.Float3))
        bind(stage, shader(stage, "/Looks/Paint/Surface", "UsdPreviewSurface", diffuseColor=color))
    scene = translate(stage)
    assert any("remote address" in line for line in scene.warnings)
    if kind == "dome":
        assert scene.lights[0].texture is None
    else:
        assert scene.materials["/Looks/Paint"].diffuse_color == pytest.approx((0.1, 0.2, 0.3))
