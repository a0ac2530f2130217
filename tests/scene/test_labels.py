"""Semantic labels of both schemas."""

from pxr import Sdf, Usd, UsdGeom, UsdSemantics

from pegasus.scene.translation import translate


def old_label(prim: Usd.Prim, instance: str, kind: str, data: str) -> None:
    """Write a label as Isaac Sim did before OpenUSD had a schema for it."""
    for name, value in (("semanticType", kind), ("semanticData", data)):
        attribute = prim.CreateAttribute(f"semantic:{instance}:params:{name}", Sdf.ValueTypeNames.String)
        attribute.Set(value)


def new_label(prim: Usd.Prim, taxonomy: str, *labels: str) -> None:
    UsdSemantics.LabelsAPI.Apply(prim, taxonomy).CreateLabelsAttr(list(labels))


def test_the_nearest_label_of_each_taxonomy_wins(stage: Usd.Stage) -> None:
    """A door would be labelled as the house that it belongs to, or lose its other labels."""
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
