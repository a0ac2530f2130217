"""Tests of MaterialX: documents beside a stage, surfaces in a stage, what is left out."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from pegasus.base.errors import ConfigError
from pegasus.scene.kept_scene import scene_of_file
from pegasus.scene.scene import Material, Scene, Texture
from pegasus.scene.translation import translate

Types = Sdf.ValueTypeNames

DOCUMENT = """<?xml version="1.0"?>
<materialx version="1.38" colorspace="lin_rec709" fileprefix="maps/">
  <nodegraph name="Stone">
    <image name="color" type="color3">
      <input name="file" type="filename" value="stone.png" colorspace="srgb_texture" />
      <input name="uaddressmode" type="string" value="mirror" />
    </image>
    <image name="rough" type="float">
      <input name="file" type="filename" value="stone.png" />
    </image>
    <image name="bumps" type="vector3">
      <input name="file" type="filename" value="stone.png" />
    </image>
    <normalmap name="bent" type="vector3"><input name="in" type="vector3" nodename="bumps" /></normalmap>
    <output name="out_color" type="color3" nodename="color" />
    <output name="out_rough" type="float" nodename="rough" />
    <output name="out_normal" type="vector3" nodename="bent" />
  </nodegraph>
  <standard_surface name="surface" type="surfaceshader">
    <input name="base" type="float" value="0.5" />
    <input name="base_color" type="color3" nodegraph="Stone" output="out_color" />
    <input name="metalness" type="float" value="%s" />
    <input name="specular_roughness" type="float" nodegraph="Stone" output="out_rough" />
    <input name="normal" type="vector3" nodegraph="Stone" output="out_normal" />
  </standard_surface>
  <surfacematerial name="Wall" type="material">
    <input name="surfaceshader" type="surfaceshader" nodename="surface" />
  </surfacematerial>
</materialx>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a cube whose material is in a MaterialX document."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "maps").mkdir()
    Image.new("RGB", (2, 2), (200, 100, 50)).save(tmp_path / "maps" / "stone.png")
    (tmp_path / "stone.mtlx").write_text(DOCUMENT % "0.25")
    stage = Usd.Stage.CreateNew(str(tmp_path / "wall.usda"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    cube = UsdGeom.Cube.Define(stage, "/Wall")
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    stage.DefinePrim("/Looks", "Scope").GetReferences().AddReference("./stone.mtlx", "/MaterialX/Materials")
    relation = UsdShade.MaterialBindingAPI.Apply(cube.GetPrim()).GetPrim()
    relation.CreateRelationship("material:binding").SetTargets(["/Looks/Wall"])
    stage.Save()
    return tmp_path


def only(scene: Scene) -> Material:
    return scene.materials[scene.instances[0].material]


def test_a_document_beside_a_stage_is_read(folder: Path) -> None:
    """Assets of the MaterialX world would be grey, with a reference that is not found."""
    scene = translate(folder / "wall.usda")
    found = only(scene)
    color, rough, normal = found.diffuse_color, found.roughness, found.normal
    assert isinstance(color, Texture)
    assert color.path.resolve() == (folder / "maps" / "stone.png").resolve()
    assert (color.srgb, color.channel, color.wrap) == (True, "rgb", ("mirror", "repeat"))
    assert color.scale == (0.5, 0.5, 0.5, 0.5)
    assert isinstance(rough, Texture)
    assert (rough.srgb, rough.channel) == (False, "r")
    assert isinstance(normal, Texture)
    assert (normal.scale[:3], normal.bias[:3], normal.srgb) == ((2.0,) * 3, (-1.0,) * 3, False)
    assert found.metallic == 0.25
    assert not any("mtlx" in line or "left out" in line for line in scene.warnings)


def test_the_files_of_a_stage_are_not_changed(folder: Path) -> None:
    """Reading a world would rewrite it."""
    before = (folder / "wall.usda").read_text()
    translate(folder / "wall.usda")
    assert (folder / "wall.usda").read_text() == before


def test_a_changed_document_is_read_again(folder: Path) -> None:
    """An edited material would show only after a restart."""
    assert only(scene_of_file(folder / "wall.usda")).metallic == 0.25
    (folder / "stone.mtlx").write_text(DOCUMENT % "0.75 ")
    assert only(scene_of_file(folder / "wall.usda")).metallic == 0.75


def test_a_missing_image_names_its_document(folder: Path) -> None:
    """The error would name a file of the cache, which the user never wrote."""
    (folder / "maps" / "stone.png").unlink()
    with pytest.raises(ConfigError, match="texture does not exist") as caught:
        translate(folder / "wall.usda")
    assert str(caught.value).startswith(str(folder / "stone.mtlx"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DOCUMENT[:300], "not valid MaterialX"),
        ("<scene/>", "its root is 'scene'"),
        (DOCUMENT.replace('<image name="rough"', '<image name="other"') % "1", "it has no element 'rough'"),
    ],
)
def test_a_broken_document_is_one_line(folder: Path, text: str, problem: str) -> None:
    """A document cut short would be a traceback, or a reference that is not found."""
    (folder / "stone.mtlx").write_text(text)
    with pytest.raises(ConfigError, match=problem) as caught:
        translate(folder / "wall.usda")
    line = str(caught.value)
    assert line.startswith(str(folder / "stone.mtlx"))
    assert line.endswith("; export it again")
    assert "\n" not in line


def surface(stage: Usd.Stage, kind: str, **inputs: float | tuple[float, ...]) -> Scene:
    """Translate a cube with a surface in the render context of MaterialX."""
    node = UsdShade.Shader.Define(stage, "/Looks/Paint/Surface")
    node.CreateIdAttr(f"ND_{kind}_surfaceshader")
    for name, value in inputs.items():
        if isinstance(value, tuple):
            node.CreateInput(name, Types.Color3f).Set(Gf.Vec3f(*value))
        else:
            node.CreateInput(name, Types.Float).Set(value)
    paint = UsdShade.Material.Define(stage, "/Looks/Paint")
    paint.CreateSurfaceOutput("mtlx").ConnectToSource(node.CreateOutput("out", Types.Token))
    cube = UsdGeom.Cube.Define(stage, "/Box")
    UsdShade.MaterialBindingAPI.Apply(cube.GetPrim()).Bind(paint)
    return translate(stage)


def test_standard_surface_and_openpbr_agree(stage: Usd.Stage) -> None:
    """The same paint would look different by the names of its inputs."""
    standard = only(
        surface(
            stage,
            "standard_surface",
            base=0.5,
            base_color=(0.8, 0.4, 0.2),
            metalness=0.75,
            specular_roughness=0.25,
            coat=0.5,
            coat_roughness=0.125,
            emission=2.0,
            emission_color=(0.5, 0.25, 0.0),
            opacity=(0.5, 0.5, 0.5),
        )
    )
    assert standard.diffuse_color == pytest.approx((0.4, 0.2, 0.1))
    assert standard.emissive_color == pytest.approx((1.0, 0.5, 0.0))
    assert (standard.metallic, standard.roughness) == (0.75, 0.25)
    assert (standard.clearcoat, standard.clearcoat_roughness) == (0.5, 0.125)
    assert (standard.opacity, standard.ior) == (0.5, 1.5)
    stage.RemovePrim("/Looks")
    assert standard == only(
        surface(
            stage,
            "open_pbr_surface",
            base_weight=0.5,
            base_color=(0.8, 0.4, 0.2),
            base_metalness=0.75,
            specular_roughness=0.25,
            coat_weight=0.5,
            coat_roughness=0.125,
            emission_luminance=2000.0,
            emission_color=(0.5, 0.25, 0.0),
            geometry_opacity=0.5,
        )
    )


def test_weights_mix_colours(stage: Usd.Stage) -> None:
    """Wax, lacquer and glass would have the colour below them."""
    wax = only(surface(stage, "standard_surface", subsurface=0.5, subsurface_color=(0.0, 0.0, 0.0)))
    assert wax.diffuse_color == pytest.approx((0.4, 0.4, 0.4))
    stage.RemovePrim("/Looks")
    brass = only(surface(stage, "standard_surface", coat=1.0, coat_color=(0.5, 0.25, 0.0)))
    assert brass.diffuse_color == pytest.approx((0.4, 0.2, 0.0))
    stage.RemovePrim("/Looks")
    scene = surface(stage, "open_pbr_surface", transmission_weight=1.0, transmission_color=(0.0, 1.0, 0.0))
    assert only(scene).diffuse_color == pytest.approx((0.0, 1.0, 0.0))
    assert only(scene).opacity == pytest.approx(0.2)
    assert "/Looks/Paint: transmission drawn as thin glass" in scene.warnings


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_weight_of_reflection_scales_it(stage: Usd.Stage, weight: float) -> None:
    """Surfaces without gloss would shine: reflection at normal incidence is ((n - 1) / (n + 1))^2."""
    ior = only(surface(stage, "standard_surface", specular=weight, specular_IOR=1.6)).ior
    assert ((ior - 1) / (ior + 1)) ** 2 == pytest.approx(weight * (0.6 / 2.6) ** 2)


def test_unknown_nodes_and_surfaces_are_one_line(stage: Usd.Stage) -> None:
    """A node or surface that is not translated would be left out without a warning."""
    surface(stage, "standard_surface", metalness=1.0)
    noise = UsdShade.Shader.Define(stage, "/Looks/Paint/Noise")
    noise.CreateIdAttr("ND_fractal3d_color3")
    color = UsdShade.Shader.Get(stage, "/Looks/Paint/Surface").CreateInput("base_color", Types.Color3f)
    color.ConnectToSource(noise.CreateOutput("out", Types.Color3f))
    scene = translate(stage)
    assert np.allclose(only(scene).diffuse_color, 0.8)
    assert "/Looks/Paint: input left out: it comes from a MaterialX fractal3d_color3" in scene.warnings
    stage.RemovePrim("/Looks")
    scene = surface(stage, "toon")
    assert any(
        line.startswith("/Looks/Paint: surface 'ND_toon_surfaceshader' drawn grey") for line in scene.warnings
    )
