"""Facts of prims: read once for what is shared, and nothing passed over that can be seen or hit."""

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

from pegasus.scene.prim_facts import PrimReader
from pegasus.scene.translation import translate


def test_instances_share_their_facts_and_keep_their_places(stage: Usd.Stage) -> None:
    """A town would be read house by house, or all houses have the place, material or label of the first."""
    stage.CreateClassPrim("/House")
    for name, color in (("Wall", (0.5, 0.1, 0.1)), ("Roof", (0.1, 0.1, 0.5))):
        cube = UsdGeom.Cube.Define(stage, f"/House/{name}")
        UsdGeom.Xformable(cube).AddTranslateOp().Set((0.0, 0.0, 3.0 if name == "Roof" else 1.0))
        UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
        look = UsdShade.Material.Define(stage, f"/House/Looks/{name}")
        shader = UsdShade.Shader.Define(stage, f"/House/Looks/{name}/Surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(color))
        look.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        UsdShade.MaterialBindingAPI.Apply(cube.GetPrim()).Bind(look)
    for k in range(3):
        prim = UsdGeom.Xform.Define(stage, f"/Town/House{k}").GetPrim()
        prim.GetReferences().AddInternalReference("/House")
        prim.SetInstanceable(True)
        UsdGeom.Xformable(prim).AddTranslateOp().Set((10.0 * k, 0.0, 0.0))
    reader = PrimReader()
    roofs = [stage.GetPrimAtPath(f"/Town/House{k}/Roof") for k in range(3)]
    assert len({id(reader.facts(prim)) for prim in roofs}) == 1
    names = [child.GetName() for child, _ in reader.children(roofs[0].GetParent(), Usd.PrimDefaultPredicate)]
    assert names == ["Wall", "Roof"]
    scene = translate(stage)
    places = {item.path: item.transform[:3, 3].tolist() for item in scene.instances}
    assert places == {
        f"/Town/House{k}/{part}": [10.0 * k, 0.0, z]
        for k in range(3)
        for part, z in (("Wall", 1.0), ("Roof", 3.0))
    }
    assert [item.position.tolist() for item in scene.colliders] == list(places.values())
    looks = {scene.materials[item.material].diffuse_color[2] for item in scene.instances}
    np.testing.assert_allclose(sorted(looks), [0.1, 0.5], rtol=1e-6)


def test_what_lies_among_materials_is_seen(stage: Usd.Stage) -> None:
    """A shape or a lamp in a folder of materials would be passed over with them."""
    UsdShade.Material.Define(stage, "/Looks/Paint")
    UsdGeom.Cube.Define(stage, "/Looks/Sample")
    UsdLux.SphereLight.Define(stage, "/Looks/More/Lamp")
    UsdShade.Material.Define(stage, "/Looks/More/Glass")
    UsdShade.Material.Define(stage, "/Other/Empty/Stone")
    scene = translate(stage)
    assert [item.path for item in scene.instances] == ["/Looks/Sample"]
    assert [item.path for item in scene.lights] == ["/Looks/More/Lamp"]
    below = PrimReader().children(stage.GetPseudoRoot(), Usd.PrimDefaultPredicate)
    assert "Other" not in [child.GetName() for child, _ in below]
