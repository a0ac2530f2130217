"""Properties and labels of prims, read once for all instances that share them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade, UsdSkel

from pegasus.base.arrays import Array
from pegasus.scene.colliders import is_collider
from pegasus.scene.stage import TIME

PROTOTYPE = Usd.PrimIsActive & Usd.PrimIsLoaded
"""Predicate below the prototype of a point instancer, which is often an `over` or a class."""


@dataclass(frozen=True, eq=False, slots=True)
class PrimFacts:
    """Type, transform, visibility and labels of a prim."""

    path: Sdf.Path
    """Path of the prim shared by all instances."""
    name: str
    local: Array | None
    """Transform to the parent, shape (4, 4); None for prims without one."""
    resets_transform: bool
    """Whether the transform is relative to the stage instead of the parent."""
    labels: Mapping[str, str]
    """Labels authored on the prim, by taxonomy."""
    is_hidden: bool
    """Whether it is authored invisible."""
    purpose: str | None
    """Authored purpose, or None."""
    collides: bool
    is_mesh: bool
    is_primitive: bool
    """Whether it is a Gprim other than a mesh."""
    is_light: bool
    is_camera: bool
    is_instancer: bool
    is_physics_scene: bool
    is_joint: bool
    is_rigid_body: bool
    is_skinned: bool
    """True for a UsdSkelRoot: the meshes below it may be deformed by skeletons."""
    is_bare: bool
    """Whether it is a material, or contains materials only."""


class PrimReader:
    """Reader of prims; shared prims of instances are read once."""

    def __init__(self) -> None:
        self._facts: dict[Sdf.Path, PrimFacts] = {}

    def facts(self, prim: Usd.Prim) -> PrimFacts:
        """Return the properties of a prim."""
        path = shared(prim).GetPath()
        facts = self._facts.get(path)
        if facts is None:
            facts = self._facts[path] = _read(prim, path, is_bare=self._is_bare(prim))
        return facts

    def children(self, prim: Usd.Prim, predicate: object) -> list[tuple[Usd.Prim, PrimFacts]]:
        """Return the children of a prim, also within instances, without those that contain materials only."""
        found = prim.GetFilteredChildren(Usd.TraverseInstanceProxies(predicate))
        return [(child, facts) for child in found if not (facts := self.facts(child)).is_bare]

    def _is_bare(self, prim: Usd.Prim) -> bool:
        """Return whether a prim and its descendants are materials only."""
        return bool(prim.IsA(UsdShade.Material)) or (
            prim.GetTypeName() in ("", "Scope")
            and not prim.GetAppliedSchemas()
            and not prim.IsInstance()
            and bool(below := prim.GetFilteredChildren(Usd.TraverseInstanceProxies(PROTOTYPE)))
            and all(self.facts(child).is_bare for child in below)
        )


def shared(prim: Usd.Prim) -> Usd.Prim:
    """Return the prim shared by all instances, or the prim itself."""
    return prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim


def column_matrix(matrix: object) -> Array:
    """Return a Gf matrix, which acts on row vectors, as a matrix for column vectors, shape (4, 4)."""
    return np.asarray(matrix, dtype=np.float64).T


def _read(prim: Usd.Prim, path: Sdf.Path, *, is_bare: bool) -> PrimFacts:
    local, resets = None, False
    if prim.IsA(UsdGeom.Xformable):
        schema = UsdGeom.Xformable(prim)
        local, resets = column_matrix(schema.GetLocalTransformation(TIME)), schema.GetResetXformStack()
    hidden, purpose = False, None
    if prim.IsA(UsdGeom.Imageable):
        visibility, authored = prim.GetAttribute("visibility"), prim.GetAttribute("purpose")
        hidden = visibility.HasAuthoredValue() and visibility.Get(TIME) == UsdGeom.Tokens.invisible
        purpose = authored.Get(TIME) if authored.HasAuthoredValue() else None
    is_mesh, is_primitive = prim.IsA(UsdGeom.Mesh), prim.IsA(UsdGeom.Gprim)
    return PrimFacts(
        path=path,
        name=prim.GetName(),
        local=local,
        resets_transform=resets,
        labels=own_labels(prim),
        is_hidden=hidden,
        purpose=purpose,
        collides=is_collider(prim),
        is_mesh=is_mesh,
        is_primitive=is_primitive and not is_mesh,
        is_light=prim.HasAPI(UsdLux.LightAPI),
        is_camera=prim.IsA(UsdGeom.Camera),
        is_instancer=prim.IsA(UsdGeom.PointInstancer),
        is_physics_scene=prim.IsA(UsdPhysics.Scene),
        is_joint=prim.IsA(UsdPhysics.Joint),
        is_rigid_body=prim.HasAPI(UsdPhysics.RigidBodyAPI),
        is_skinned=prim.IsA(UsdSkel.Root),
        is_bare=is_bare,
    )


def labels_of(prim: Usd.Prim, inherited: dict[str, str]) -> dict[str, str]:
    """Return the labels of a prim by taxonomy; authored ones override inherited ones."""
    own = own_labels(prim)
    return {**inherited, **own} if own else inherited


def own_labels(prim: Usd.Prim) -> dict[str, str]:
    """Return the labels authored on a prim, by taxonomy (UsdSemantics, or the older schema of Isaac Sim)."""
    own: dict[str, str] = {}
    for attribute in prim.GetAuthoredPropertiesInNamespace("semantic"):
        # semantic:<instance>:params:semanticData holds the label, semanticType beside it the taxonomy.
        if (name := attribute.GetName()).endswith(":semanticData"):
            kind = prim.GetAttribute(name.removesuffix("Data") + "Type")
            own[(kind.Get(TIME) if kind else None) or "class"] = str(attribute.Get(TIME))
    for attribute in prim.GetAuthoredPropertiesInNamespace("semantics:labels"):
        own[attribute.GetBaseName()] = ",".join(attribute.Get(TIME) or ())
    return own
