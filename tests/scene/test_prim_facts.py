"""Tests of prim facts: read once for shared prims, and complete."""

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdSemantics, UsdShade

from pegasus.scene.prim_facts import PrimReader
from pegasus.scene.translation import translate


def test_instances_share_their_facts_and_keep_their_places(stage: Usd.Stage) -> None:
    """Each instance would be read separately, or all would share pose, material or label."""
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
    """A shape or a lamp in a scope of materials would be skipped."""
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


def old_label(prim: Usd.Prim, instance: str, kind: str, data: str) -> None:
    """Write a label in Isaac Sim's former format, older than OpenUSD's schema."""
    for name, value in (("semanticType", kind), ("semanticData", data)):
        attribute = prim.CreateAttribute(f"semantic:{instance}:params:{name}", Sdf.ValueTypeNames.String)
        attribute.Set(value)


def new_label(prim: Usd.Prim, taxonomy: str, *labels: str) -> None:
    UsdSemantics.LabelsAPI.Apply(prim, taxonomy).CreateLabelsAttr(list(labels))


def test_the_nearest_label_of_each_taxonomy_wins(stage: Usd.Stage) -> None:
    """A door would get the label of its house, or lose its other labels."""
    house = UsdGeom.Xform.Define(stage, "/House").GetPrim()
    new_label(house, "class", "building")
    old_label(house, "Semantics_use", "use", "dwelling")
    UsdGeom.Cube.Define(stage, "/House/Wall")
    door = UsdGeom.Cube.Define(stage, "/House/Door").GetPrim()
    old_label(door, "Semantics", "class", "door")
    lock = UsdGeom.Cube.Define(stage, "/House/Door/Lock").GetPrim()
    new_label(lock, "class", "lock", "metal")
    labels = {instance.path: instance.labels for instance in translate(stage).instances}
    assert labels == {
        "/House/Wall": {"class": "building", "use": "dwelling"},
        "/House/Door": {"class": "door", "use": "dwelling"},
        "/House/Door/Lock": {"class": "lock,metal", "use": "dwelling"},
    }


def test_the_schema_of_openusd_wins_over_the_older_one(stage: Usd.Stage) -> None:
    """An asset that was updated would keep its outdated label."""
    prim = UsdGeom.Cube.Define(stage, "/Box").GetPrim()
    old_label(prim, "Semantics", "class", "old")
    new_label(prim, "class", "new")
    assert translate(stage).instances[0].labels == {"class": "new"}


def test_instances_take_the_label_of_where_they_stand(stage: Usd.Stage) -> None:
    """All instances of a prototype would carry the label of the first."""
    stage.CreateClassPrim("/Proto")
    UsdGeom.Cube.Define(stage, "/Proto/Box")
    for name in ("crate", "step"):
        copy = UsdGeom.Xform.Define(stage, f"/{name}").GetPrim()
        copy.GetReferences().AddInternalReference("/Proto")
        copy.SetInstanceable(True)
        new_label(copy, "class", name)
    labels = {instance.path: instance.labels["class"] for instance in translate(stage).instances}
    assert labels == {"/crate/Box": "crate", "/step/Box": "step"}
