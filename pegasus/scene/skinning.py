"""Meshes deformed by skeletons and blend shapes (UsdSkel), at the time at which stages are read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdSkel, Vt

from pegasus.base.arrays import Array
from pegasus.scene.stage import TIME, Notices

_PREDICATE = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)


@dataclass(frozen=True, eq=False)
class Pose:
    """A deformed mesh, in its own frame."""

    points: Array
    """Points in the stage's units, shape (P, 3)."""
    turns: Array | None = None
    """Matrices that act on the normals at each point, up to their lengths, shape (P, 3, 3); None for none."""


class Skins:
    """Meshes of a stage that skeletons deform.

    Args:
        notices: Receives skeletons and deformations that are left out.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._cache = UsdSkel.Cache()
        self._targets: dict[Sdf.Path, tuple[Any, Any]] = {}
        self._transforms: dict[Sdf.Path, Any] = {}

    def add(self, prim: Usd.Prim) -> None:
        """Collect the skinned meshes below a SkelRoot."""
        root = UsdSkel.Root(prim)
        self._cache.Populate(root, _PREDICATE)
        for binding in self._cache.ComputeSkelBindings(root, _PREDICATE):
            skeleton = self._cache.GetSkelQuery(binding.GetSkeleton())
            for target in binding.GetSkinningTargets():
                self._targets[target.GetPrim().GetPath()] = skeleton, target

    def pose(self, prim: Usd.Prim) -> Pose | None:
        """Return a mesh as its skeleton deforms it, or None if none does."""
        skeleton, target = self._targets.get(prim.GetPath(), (None, None))
        points = UsdGeom.PointBased(prim).GetPointsAttr().Get(TIME) if skeleton else None
        if not points:
            return None
        is_shaped = target.HasBlendShapes() and self._shape(skeleton, target, points)
        posed = self._skin(prim, skeleton, target, points) if target.HasJointInfluences() else None
        if posed is None:
            return Pose(np.asarray(points, np.float64)) if is_shaped else None
        return posed

    def _skin(self, prim: Usd.Prim, skeleton: Any, target: Any, points: Any) -> Pose | None:
        """Return points and normals moved by the joints, or None if that is not possible."""
        path = skeleton.GetSkeleton().GetPath()
        transforms = skeleton.ComputeSkinningTransforms(TIME)
        if not transforms:
            what = "joints without bind or rest transforms" if skeleton.GetJointOrder() else "no joints"
            self._notices.add(f"skeleton with {what}: its meshes are as modelled; export it again", path)
            return None
        frames = UsdGeom.XformCache(TIME)
        to_mesh = np.asarray(
            frames.GetLocalToWorldTransform(skeleton.GetPrim())
            * frames.GetLocalToWorldTransform(prim).GetInverse()
        )
        rest, moved = np.asarray(points), []
        # Skinning is affine at each point, so its matrix is found from the images of three neighbours.
        for step in np.vstack([np.zeros(3), np.eye(3)]).astype(np.float32):
            neighbours = Vt.Vec3fArray.FromNumpy(rest + step)
            if not target.ComputeSkinnedPoints(transforms, neighbours, TIME):
                problem = "mesh as modelled: its joint influences do not fit; export it again"
                self._notices.add(problem, prim.GetPath())
                return None
            moved.append(np.asarray(neighbours, np.float64) @ to_mesh[:3, :3] + to_mesh[3, :3])
        x, y, z = (image - moved[0] for image in moved[1:])
        return Pose(moved[0], np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=2))

    def _shape(self, skeleton: Any, target: Any, points: Any) -> bool:
        """Move points by the blend shapes, in place; return whether any applies."""
        animation = skeleton.GetAnimQuery()
        weights = animation.ComputeBlendShapeWeights(TIME) if animation else None
        mapper = target.GetBlendShapeMapper()
        if not weights or mapper is None:
            return False
        shapes = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(target.GetPrim()))
        own = mapper.Remap(weights)
        parts = shapes.ComputeSubShapeWeights(own)
        return bool(
            shapes.ComputeDeformedPoints(
                *parts,
                shapes.ComputeBlendShapePointIndices(),
                shapes.ComputeSubShapePointOffsets(),
                points,
            )
        )
