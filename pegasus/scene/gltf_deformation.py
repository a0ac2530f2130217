"""Morph targets and skins of glTF 2.0, applied to meshes as the file's nodes stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray, sum_along
from pegasus.scene.gltf_reader import Gltf, local_transform


@dataclass(frozen=True, eq=False)
class Shape:
    """Points of a primitive after its deformation."""

    points: Array
    """Points, shape (P, 3)."""
    normals: Array | None
    """Normals up to their lengths, shape (P, 3); None if it has none."""
    is_placed: bool
    """Whether they are in the scene's frame, as a skin places them, else in the node's."""


class Deformer:
    """Deformation of the meshes of a file.

    Args:
        gltf: The file.
        notices: Receives what is left out, as keys.
    """

    def __init__(self, gltf: Gltf, notices: dict[str, None]) -> None:
        self._gltf, self._notices = gltf, notices
        self._skins: dict[int, Array] = {}

    def deformed(
        self,
        primitive: Mapping[str, Any],
        points: Array,
        normals: Array | None,
        weights: Sequence[float],
        skin: int | None,
    ) -> Shape:
        """Return points and normals moved by morph targets, then by joints.

        Source: glTF 2.0 Specification, sections 3.7.2.2 and 3.7.3.3.

        Args:
            primitive: The primitive.
            points: Its points, shape (P, 3).
            normals: Its normals, shape (P, 3), or None.
            weights: Weights of the morph targets; empty for zeros.
            skin: Number of the node's skin, if it has one.

        Raises:
            ValueError: If weights, targets, joints or their influences do not fit.
        """
        points = np.asarray(points, np.float64)
        normals = None if normals is None else np.asarray(normals, np.float64)
        targets = primitive.get("targets", ())
        if weights and targets and len(weights) != len(targets):
            raise ValueError(f"a mesh has {len(targets)} morph targets, but {len(weights)} weights")
        for weight, target in zip(weights, targets, strict=False):
            if weight:
                points = points + weight * self._offsets(target, "POSITION", len(points))
                if normals is not None:
                    normals = normals + weight * self._offsets(target, "NORMAL", len(points))
                if not set(target) <= {"POSITION", "NORMAL", "TANGENT"}:
                    self._notices["colours and texture coordinates of morph targets left out"] = None
        if skin is None or "JOINTS_0" not in primitive["attributes"]:
            return Shape(points, normals, is_placed=False)
        return self._skinned(primitive["attributes"], points, normals, skin)

    def _offsets(self, target: Mapping[str, int], name: str, count: int) -> Array:
        if name not in target:
            return np.zeros((count, 3))
        offsets = self._gltf.array(target[name])
        if offsets.shape != (count, 3):
            raise ValueError(f"a morph target has {len(offsets)} values for {count} points")
        return np.asarray(offsets, np.float64)

    def _skinned(
        self, attributes: Mapping[str, int], points: Array, normals: Array | None, skin: int
    ) -> Shape:
        matrices = self._matrices(skin)
        mixed, total = np.zeros((len(points), 3, 4)), np.zeros(len(points))
        sets = sum(name.startswith("JOINTS_") for name in attributes)
        for number in range(sets):
            joints = self._gltf.array(attributes[f"JOINTS_{number}"]).astype(np.int64)
            shares = self._gltf.array(attributes[f"WEIGHTS_{number}"]).astype(np.float64)
            if joints.shape != (len(points), 4) or shares.shape != joints.shape:
                raise ValueError(f"skin {skin} has joints or weights that are not four for each point")
            for column in range(4):
                self._add(mixed, total, matrices, joints[:, column], shares[:, column], skin)
        # Rounded weights are scaled to a sum of 1; a point without any follows the first joint.
        bare = total <= 0.0
        mixed[bare], total[bare] = matrices[0], 1.0
        mixed /= total[:, None, None]
        moved = sum_along(mixed[:, :, :3] * points[:, None, :], 2) + mixed[:, :, 3]
        if not np.isfinite(moved).all():
            raise ValueError(f"skin {skin} moves points to no finite place")
        if normals is not None:
            x, y, z = (mixed[:, :, k] for k in range(3))
            cofactors = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=2)
            normals = sum_along(cofactors * normals[:, None, :], 2)
        return Shape(moved, normals, is_placed=True)

    def _add(
        self, mixed: Array, total: Array, matrices: Array, joints: IntArray, shares: Array, skin: int
    ) -> None:
        """Add one influence of each point."""
        if ((shares > 0.0) & (joints >= len(matrices))).any():
            raise ValueError(f"skin {skin} has {len(matrices)} joints, but a point follows another")
        used = np.where(joints < len(matrices), joints, 0)
        mixed += shares[:, None, None] * matrices[used]
        total += shares

    def _matrices(self, number: int) -> Array:
        """Return the matrix of each joint of a skin, from the mesh to the scene, shape (J, 3, 4)."""
        if number not in self._skins:
            skin = self._gltf.item("skins", number)
            joints = skin["joints"]
            if not joints:
                raise ValueError(f"skin {number} has no joints")
            bind = np.tile(np.eye(4), (len(joints), 1, 1))
            if "inverseBindMatrices" in skin:
                given = self._gltf.array(skin["inverseBindMatrices"])
                if given.shape[1] != 16 or len(given) < len(joints):
                    raise ValueError(f"skin {number} has {len(given)} bind matrices for {len(joints)} joints")
                bind = given[: len(joints)].astype(np.float64).reshape(-1, 4, 4).transpose(0, 2, 1)
            places = np.stack([self._place(joint) for joint in joints])
            self._skins[number] = _product(places, bind)[:, :3]
        return self._skins[number]

    @cached_property
    def _parents(self) -> dict[int, int]:
        nodes = enumerate(self._gltf.items("nodes"))
        return {child: number for number, node in nodes for child in node.get("children", ())}

    def _place(self, number: int) -> Array:
        """Return the transform of a node to the scene, shape (4, 4)."""
        place, seen = local_transform(self._gltf.item("nodes", number)), {number}
        while (number := self._parents.get(number, -1)) >= 0:
            if number in seen:
                raise ValueError(f"node {number} is a part of itself")
            seen.add(number)
            place = _product(local_transform(self._gltf.item("nodes", number)), place)
        return place


def _product(one: Array, other: Array) -> Array:
    """Return products of matrices, shape (..., 4, 4)."""
    return sum_along(one[..., :, :, None] * other[..., None, :, :], -2)
