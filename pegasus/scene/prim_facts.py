"""What prims say of themselves, read once for all instances that share them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

from pegasus.arrays import Array
from pegasus.scene.colliders import is_collider
from pegasus.scene.labels import own_labels
from pegasus.scene.stage import TIME

PROTOTYPE = Usd.PrimIsActive & Usd.PrimIsLoaded
"""What counts below the prototype of a point instancer: often an `over` or a class, not drawn by itself."""


@dataclass(frozen=True, eq=False, slots=True)
class PrimFacts:
    """What a prim is, and what it says about where and how it is seen."""

    path: Sdf.Path
    """Path of what all its instances share."""
    name: str
    local: Array | None
    """Its frame to that of its parent, shape (4, 4); None where it has none of its own."""
    resets_transform: bool
    """Whether its frame counts from the stage's, whatever its parents are."""
    labels: Mapping[str, str]
    """Labels of its own by taxonomy."""
    is_hidden: bool
    """Whether it is authored invisible."""
    purpose: str | None
    """Its authored purpose, or None."""
    collides: bool
    is_mesh: bool
    is_primitive: bool
    """Whether it is drawn and no mesh."""
    is_light: bool
    is_camera: bool
    is_instancer: bool
    is_physics_scene: bool
    is_joint: bool
    is_rigid_body: bool
    is_bare: bool
    """Whether it is a material, or holds nothing but materials."""


class PrimReader:
    """Reads prims; what an instance shares with others is read at the first of them."""

    def __init__(self) -> None:
        self._facts: dict[Sdf.Path, PrimFacts] = {}

    def facts(self, prim: Usd.Prim) -> PrimFacts:
        """Return what a prim says of itself.

        Args:
            prim: A prim.
        """
        path = shared(prim).GetPath()
        known = self._facts.get(path)
        if known is None:
            known = self._facts[path] = _read(prim, path, is_bare=self._is_bare(prim))
        return known

    def children(self, prim: Usd.Prim, predicate: object) -> list[tuple[Usd.Prim, PrimFacts]]:
        """Return the children of a prim, also within an instance, without those that hold materials only.

        Args:
            prim: A prim.
            predicate: Which children count.
        """
        found = prim.GetFilteredChildren(Usd.TraverseInstanceProxies(predicate))
        return [(child, facts) for child in found if not (facts := self.facts(child)).is_bare]

    def _is_bare(self, prim: Usd.Prim) -> bool:
        """Return whether there are only materials at a prim and below it."""
        return bool(prim.IsA(UsdShade.Material)) or (
            prim.GetTypeName() in ("", "Scope")
            and not prim.GetAppliedSchemas()
            and not prim.IsInstance()
            and bool(below := prim.GetFilteredChildren(Usd.TraverseInstanceProxies(PROTOTYPE)))
            and all(self.facts(child).is_bare for child in below)
        )


def shared(prim: Usd.Prim) -> Usd.Prim:
    """Return the prim that all instances of a prim share, or the prim itself.

    Args:
        prim: A prim.
    """
    return prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim


def column_matrix(matrix: object) -> Array:
    """Return a Gf matrix, which acts on row vectors, as one that acts on column vectors, shape (4, 4).

    Args:
        matrix: A Gf matrix.
    """
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
        is_bare=is_bare,
    )
