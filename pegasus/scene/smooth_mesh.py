"""Write meshes that are shaded smooth, and faces of them that look different."""

import math
from collections.abc import Sequence

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdShade, Vt

from pegasus.arrays import Array
from pegasus.scene.authoring import Surface, mesh
from pegasus.scene.lofting import Faces, corner_normals, point_normals

CREASE = math.radians(50)
"""Edges of turned parts are sharper than this [rad]."""


def smooth_mesh(
    stage: Usd.Stage,
    path: str,
    points: Array,
    faces: Faces,
    surface: Surface,
    *,
    crease: float | None = None,
) -> UsdGeom.Mesh:
    """Return a mesh that is shaded smooth.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        points: Points [m], shape (P, 3).
        faces: Points of each face, counter-clockwise seen from outside.
        surface: Look and contact.
        crease: Angle between faces from which on an edge stays sharp [rad]; none does when None.
    """
    schema = mesh(stage, path, points, faces, surface)
    primvars = UsdGeom.PrimvarsAPI(schema)
    kind = UsdGeom.Tokens.vertex if crease is None else UsdGeom.Tokens.faceVarying
    normals = primvars.CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, kind)
    if crease is None:
        normals.Set(Vt.Vec3fArray.FromNumpy(point_normals(points, faces).astype(np.float32)))
        return schema
    values, indices = corner_normals(points, faces, crease)
    normals.Set(Vt.Vec3fArray.FromNumpy(values.astype(np.float32)))
    normals.SetIndices(Vt.IntArray.FromNumpy(indices.astype(np.int32)))
    return schema


def paint(schema: UsdGeom.Mesh, name: str, faces: Sequence[int], look: UsdShade.Material) -> None:
    """Give some faces of a mesh a material of their own.

    Args:
        schema: The mesh.
        name: Name of the subset.
        faces: Indices of the faces.
        look: Their material.
    """
    subset = UsdShade.MaterialBindingAPI(schema).CreateMaterialBindSubset(name, Vt.IntArray(list(faces)))
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(look)
