"""Subdivision surfaces: refined meshes by Catmull and Clark (1978) and Loop (1987), with creases.

Sharp edges and points follow DeRose, Kass and Truong (1998), "Subdivision Surfaces in Character Animation";
points of the last level are moved onto the limit surface (Halstead, Kass and DeRose 1993).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray

INFINITE = 10.0
"""Sharpness that never wears off, as in OpenUSD."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Faces over points, with sharp edges and points."""

    indices: IntArray
    """Point of each face corner, shape (C,)."""
    counts: IntArray
    """Corners of each face, shape (F,)."""
    edge_sharpness: Array
    """Sharpness of the edge from each corner to the next of its face, shape (C,)."""
    point_sharpness: Array
    """Sharpness of each point, shape (P,)."""
    loop: bool = False
    """True: triangles are refined by Loop's rules; False: any faces by those of Catmull and Clark."""
    sharp_tips: bool = True
    """True if a point at the boundary that belongs to one face only stays where it is."""

    @cached_property
    def faces(self) -> IntArray:
        """Face of each corner, shape (C,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def next(self) -> IntArray:
        """Next corner of the face of each corner, shape (C,)."""
        following = np.arange(1, len(self.indices) + 1)
        last = np.cumsum(self.counts) - 1
        following[last] = last - self.counts + 1
        return following

    @cached_property
    def previous(self) -> IntArray:
        """Previous corner of the face of each corner, shape (C,)."""
        before = np.empty_like(self.next)
        before[self.next] = np.arange(len(self.next))
        return before

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray, Array]:
        """Edge of each corner, points of each edge, shape (E, 2), and sharpness of each edge."""
        ends = np.sort(np.stack([self.indices, self.indices[self.next]], axis=1), axis=1)
        keys = ends[:, 0] * len(self.point_sharpness) + ends[:, 1]
        _, first, edge, uses = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        sharpness = np.zeros(len(first))
        np.maximum.at(sharpness, edge.reshape(-1), self.edge_sharpness)
        return edge.reshape(-1), ends[first], np.where(uses == 2, sharpness, INFINITE)

    @cached_property
    def _sharp_points(self) -> Array:
        """Sharpness of each point, that of tips included, shape (P,)."""
        faces = np.bincount(self.indices, minlength=len(self.point_sharpness))
        tips = (faces == 1) & self.sharp_tips
        return np.where(tips, INFINITE, self.point_sharpness)

    def refined(self) -> "Topology":
        """Return the next level, whose points are those of this one, then of its edges, then of its faces."""
        edge, ends, _ = self.edges
        points, edges = len(self.point_sharpness), len(ends)
        own, ahead, behind = self.indices, points + edge, points + edge[self.previous]
        sharp, sharp_behind, none = (
            self.edge_sharpness,
            self.edge_sharpness[self.previous],
            np.zeros(len(edge)),
        )
        if self.loop:
            corner, corner_sharp = np.stack([own, ahead, behind], 1), np.stack([sharp, none, sharp_behind], 1)
            middle = ahead.reshape(-1, 3)
            corner = np.concatenate([corner.reshape(-1, 3, 3), middle[:, None]], axis=1)
            corner_sharp = np.concatenate(
                [corner_sharp.reshape(-1, 3, 3), np.zeros((len(middle), 1, 3))], axis=1
            )
            counts, faces = np.full(4 * len(middle), 3), 0
        else:
            center = points + edges + self.faces
            corner = np.stack([own, ahead, center, behind], axis=1)
            corner_sharp = np.stack([sharp, none, none, sharp_behind], axis=1)
            counts, faces = np.full(len(edge), 4), len(self.counts)
        return replace(
            self,
            indices=corner.reshape(-1),
            counts=counts,
            edge_sharpness=_worn(corner_sharp.reshape(-1)),
            point_sharpness=np.concatenate([_worn(self.point_sharpness), np.zeros(edges + faces)]),
        )

    def parents(self) -> IntArray:
        """Return the face that each face of the next level is a part of."""
        return np.repeat(np.arange(len(self.counts)), 4) if self.loop else self.faces

    def values(self, points: Array) -> Array:
        """Return values at points of the next level from those at points of this one, shape (P, K)."""
        edge, ends, sharpness = self.edges
        sides = points[ends]
        middle = sides.mean(axis=1)
        if self.loop:
            centers = np.zeros((0, points.shape[1]))
            opposite = _summed(edge, points[self.indices[self.previous]], len(ends))
            smooth = 0.375 * sides.sum(axis=1) + 0.125 * opposite
        else:
            centers = self._centers(points)
            smooth = 0.25 * (sides.sum(axis=1) + _summed(edge, centers[self.faces], len(ends)))
        share = np.minimum(sharpness, 1.0)[:, None]
        moved = self._moved(points, centers, sharpness > 0.0, self._sharp_points > 0.0)
        fading_edges = (sharpness > 0.0) & (sharpness < 1.0)
        fading_points = (self._sharp_points > 0.0) & (self._sharp_points < 1.0)
        if fading_edges.any() or fading_points.any():
            # Sharpness below one blends the rule with that of the next level, without these edges and points.
            after = self._moved(points, centers, sharpness >= 1.0, self._sharp_points >= 1.0)
            count, total = fading_points.astype(np.float64), np.where(fading_points, self._sharp_points, 0.0)
            for side in (0, 1):
                at = ends[fading_edges, side]
                count += np.bincount(at, minlength=len(count))
                total += np.bincount(at, weights=sharpness[fading_edges], minlength=len(count))
            weight = np.where(count > 0, total / np.maximum(count, 1.0), 1.0)[:, None]
            moved = weight * moved + (1.0 - weight) * after
        return np.concatenate([moved, share * middle + (1.0 - share) * smooth, centers])

    def limit(self, points: Array) -> Array:
        """Return the values at points on the limit surface, shape (P, K); faces are quads or triangles."""
        _, ends, sharpness = self.edges
        neighbours, count = self._neighbours(points, np.ones(len(ends), dtype=np.bool_))
        n = np.maximum(count, 1.0)[:, None]
        if self.loop:
            weight = 1.0 / (n + 0.375 / _loop_weight(n))
            smooth = (1.0 - n * weight) * points + weight * neighbours
        else:
            opposite = _summed(self.indices, points[self.indices[self.next[self.next]]], len(points))
            smooth = (n * n * points + 4.0 * neighbours + opposite) / (n * (n + 5.0))
        return self._ruled(points, smooth, sharpness > 0.0, self._sharp_points > 0.0, own=2.0 / 3.0)

    def _centers(self, points: Array) -> Array:
        return _summed(self.faces, points[self.indices], len(self.counts)) / self.counts[:, None]

    def _moved(self, points: Array, centers: Array, sharp: BoolArray, fixed: BoolArray) -> Array:
        """Return the values of this level's points on the next level."""
        neighbours, count = self._neighbours(points, np.ones(len(sharp), dtype=np.bool_))
        n = np.maximum(count, 1.0)[:, None]
        if self.loop:
            weight = _loop_weight(n)
            smooth = (1.0 - n * weight) * points + weight * neighbours
        else:
            around = _summed(self.indices, centers[self.faces], len(points))
            smooth = (n - 2.0) / n * points + (neighbours + around) / (n * n)
        return self._ruled(points, smooth, sharp, fixed, own=0.75)

    def _ruled(
        self, points: Array, smooth: Array, sharp: BoolArray, fixed: BoolArray, *, own: float
    ) -> Array:
        """Return values by the rule of each point: smooth, on a crease of two sharp edges, or fixed."""
        along, count = self._neighbours(points, sharp)
        crease = own * points + 0.5 * (1.0 - own) * along
        used = np.bincount(self.indices, minlength=len(points)) > 0
        ruled: Array = np.where((count == 2)[:, None], crease, smooth)
        return np.where((fixed | (count > 2) | ~used)[:, None], points, ruled)

    def _neighbours(self, points: Array, chosen: BoolArray) -> tuple[Array, Array]:
        """Return the sum over the other ends of chosen edges at each point, and their number."""
        ends = self.edges[1][chosen]
        here, there = ends.ravel(), ends[:, ::-1].ravel()
        return _summed(here, points[there], len(points)), np.bincount(here, minlength=len(points)).astype(
            float
        )


@dataclass(frozen=True, eq=False)
class Refinement:
    """Refined mesh, and the interpolation of values that belong to its cage."""

    cage: Topology
    level: int
    uv_rule: str
    """Boundary rule of face-varying values, as UsdGeomMesh.faceVaryingLinearInterpolation names it."""

    @cached_property
    def levels(self) -> list[Topology]:
        """The cage and its refinements."""
        return _levels(self.cage, self.level)

    @property
    def topology(self) -> Topology:
        """The refined topology."""
        return self.levels[-1]

    @cached_property
    def parents(self) -> IntArray:
        """Face of the cage of each refined face."""
        parents = np.arange(len(self.cage.counts))
        for level in self.levels[:-1]:
            parents = parents[level.parents()]
        return parents

    def interpolated(self, values: Array, interpolation: str) -> Array:
        """Return values at refined points, faces or corners from those of the cage, shape (N, K).

        Args:
            values: One row for each point, face or corner of the cage.
            interpolation: `vertex`, `varying`, `uniform`, `faceVarying` or `constant`.
        """
        if interpolation == "vertex":
            return self.vertex(values)
        if interpolation == "varying":
            return self.varying(values)
        if interpolation == "faceVarying":
            return self.face_varying(values)
        return values[self.parents] if interpolation == "uniform" else values

    def vertex(self, values: Array) -> Array:
        """Return smooth values at refined points, from those at the cage's points, shape (P, K)."""
        return _interpolated(self.levels, values)

    def varying(self, values: Array) -> Array:
        """Return linearly interpolated values at refined points, from those at the cage's points, (P, K)."""
        sharp = replace(self.cage, point_sharpness=np.full(len(values), INFINITE),
                        edge_sharpness=np.full(len(self.cage.indices), INFINITE))  # fmt: skip
        return _interpolated(_levels(sharp, self.level), values)

    def face_varying(self, values: Array) -> Array:
        """Return values at refined corners from those at the cage's corners, shape (C, K).

        Corners of one point with equal values are joined; a seam between them is a boundary.
        """
        joined = np.concatenate([self.cage.indices[:, None], values], axis=1)
        rows, indices = np.unique(joined, axis=0, return_inverse=True)
        indices, owner = indices.reshape(-1), rows[:, 0].astype(np.int64)
        point_sharpness = self.cage.point_sharpness[owner]
        if self.uv_rule in ("cornersPlus1", "cornersPlus2"):
            point_sharpness = np.where(np.bincount(owner)[owner] > 2, INFINITE, point_sharpness)
        edge_sharpness = self.cage.edge_sharpness
        if self.uv_rule == "all":
            point_sharpness, edge_sharpness = (
                np.full_like(part, INFINITE) for part in (point_sharpness, edge_sharpness)
            )
        topology = Topology(
            indices, self.cage.counts, edge_sharpness, point_sharpness, self.cage.loop, self.uv_rule != "none"
        )
        if self.uv_rule == "boundaries":
            _, ends, sharpness = topology.edges
            fixed = point_sharpness.copy()
            fixed[ends[sharpness >= INFINITE].ravel()] = INFINITE
            topology = replace(topology, point_sharpness=fixed)
        levels = _levels(topology, self.level)
        return _interpolated(levels, rows[:, 1:])[levels[-1].indices]


def _levels(cage: Topology, count: int) -> list[Topology]:
    levels = [cage]
    for _ in range(count):
        levels.append(levels[-1].refined())
    return levels


def _interpolated(levels: list[Topology], values: Array) -> Array:
    for level in levels[:-1]:
        values = level.values(values)
    return levels[-1].limit(values)


def _worn(sharpness: Array) -> Array:
    """Return the sharpness on the next level."""
    return np.where(sharpness >= INFINITE, sharpness, np.maximum(sharpness - 1.0, 0.0))


def _loop_weight(n: Array) -> Array:
    """Return the weight of each of n neighbours (Loop 1987)."""
    weight: Array = (0.625 - (0.375 + 0.25 * np.cos(2.0 * np.pi / n)) ** 2) / n
    return weight


def _summed(at: IntArray, values: Array, count: int) -> Array:
    """Return the sums of rows with the same index, shape (count, K)."""
    columns = [np.bincount(at, weights=column, minlength=count) for column in values.T]
    return np.stack(columns, axis=1)
