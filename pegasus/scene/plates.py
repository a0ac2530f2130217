"""Convex plates of a mesh: flat faces cut into convex polygons and thickened backwards."""

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.surfaces import FLAT, Faces, areas, ray_distances

# The back of a plate narrows at edges sharper than a right angle, so that it does not pierce the neighbouring
# face; below this angle [rad] it would vanish.
_SHARPEST = 0.05


def plates(
    vertices: Array, faces: Faces, *, depth: float, least_depth: float, limit: int
) -> list[Array] | None:
    """Return a mesh as convex plates, or None if it needs more than `limit`.

    The front of each plate is part of the mesh. Its back is `depth` behind, or at the other side of the wall:
    a plate does not pierce walls thicker than `least_depth`.

    Args:
        vertices: Welded vertices, shape (V, 3).
        faces: Triangles with an area, counter-clockwise seen from outside, shape (F, 3).
        depth: Largest thickness of a plate.
        least_depth: Least thickness of a plate.
        limit: Largest number of plates.

    Returns:
        Vertices of each plate, shape (K, 3).
    """
    surface = _Surface(vertices, faces)
    patch = surface.patches(limit)
    if patch is None:
        return None
    by_length, by_direction = (surface.polygons(patch, order) for order in surface.orders())
    polygons = min(by_length, by_direction, key=len)
    if len(polygons) > limit:
        return None
    found: dict[object, Array] = {}
    for number, loop in polygons:
        plate = surface.plate(loop, number, patch, depth=depth, least_depth=least_depth)
        # Both sides of a thin wall have the same plate.
        grid = np.rint(plate / (10 * FLAT * surface.extent)).astype(np.int64)
        found.setdefault(frozenset(map(tuple, grid.tolist())), plate)
    return list(found.values())


class _Surface:
    """A mesh with its edge adjacency."""

    def __init__(self, vertices: Array, faces: Faces) -> None:
        self.vertices, self.faces = vertices, faces
        self.corners = vertices[faces]
        area = areas(vertices, faces)
        self.doubled = np.sqrt((area * area).sum(axis=1))
        self.normals = area / self.doubled[:, None]
        self.extent = float(np.ptp(vertices[np.unique(faces)], axis=0).max())
        # The triangles at each directed edge.
        self.at: dict[tuple[int, int], list[int]] = {}
        for triangle, (a, b, c) in enumerate(faces.tolist()):
            for edge in ((a, b), (b, c), (c, a)):
                self.at.setdefault(edge, []).append(triangle)

    def across(self, edge: tuple[int, int]) -> int | None:
        """Return the triangle across an edge, or None if there is none or more than one."""
        if len(self.at[edge]) != 1:
            return None
        others = self.at.get(edge[::-1], [])
        return others[0] if len(others) == 1 else None

    def patches(self, limit: int) -> IntArray | None:
        """Return the index of each triangle's flat patch, shape (F,); None for more than a limit."""
        patch = np.full(len(self.faces), -1)
        faces = self.faces.tolist()
        count = 0
        # The largest triangle of a patch defines its plane best.
        for seed in np.argsort(-self.doubled, kind="stable").tolist():
            if patch[seed] >= 0:
                continue
            normal = self.normals[seed]
            level, room = float(self.corners[seed, 0] @ normal), FLAT * self.extent
            patch[seed], waiting = count, [seed]
            while waiting:
                a, b, c = faces[waiting.pop()]
                for edge in ((a, b), (b, c), (c, a)):
                    other = self.across(edge)
                    if other is None or patch[other] >= 0 or self.normals[other] @ normal < 0.99:
                        continue
                    if np.abs(self.corners[other] @ normal - level).max() <= room:
                        patch[other] = count
                        waiting.append(other)
            count += 1
            if count > limit:
                return None
        return patch

    def orders(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return all inner edges, sorted by length and by direction."""
        edges = [edge for edge in self.at if edge[0] < edge[1] and self.across(edge) is not None]
        if not edges:
            return [], []
        ends = self.vertices[np.array(edges)]
        along = ends[:, 1] - ends[:, 0]
        length = np.round(np.sqrt((along * along).sum(axis=1)) / self.extent, 6)
        direction = np.round(np.abs(along) / (length * self.extent + 1e-30)[:, None], 4)
        by_length = np.lexsort([*direction.T, -length])
        # Slanted edges first: they are diagonals of rectangles.
        slanted = -np.round(1.0 - direction.max(axis=1), 4)
        by_direction = np.lexsort([-length, *direction.T, slanted])
        return [edges[k] for k in by_length], [edges[k] for k in by_direction]

    def polygons(self, patch: IntArray, order: list[tuple[int, int]]) -> list[tuple[int, list[int]]]:
        """Return convex polygons of the patches (Hertel and Mehlhorn 1983): patch and vertices of each.

        Args:
            patch: Patch of each triangle, shape (F,).
            order: Inner edges in the order of joining.
        """
        loops: dict[int, list[int]] = dict(enumerate(self.faces.tolist()))
        owner = list(range(len(loops)))  # union-find parents of the triangles
        for edge in order:
            triangles = [self.at[edge][0], self.at[edge[::-1]][0]]
            if patch[triangles[0]] != patch[triangles[1]]:
                continue
            first, second = (_root(owner, triangle) for triangle in triangles)
            if first == second:
                continue
            joined = _join(loops[first], loops[second], edge)
            if joined is not None and self._is_convex(joined, self.normals[triangles[0]]):
                loops[first], owner[second] = joined, first
                del loops[second]
        return [(int(patch[triangle]), loop) for triangle, loop in loops.items()]

    def plate(
        self, loop: list[int], number: int, patch: IntArray, *, depth: float, least_depth: float
    ) -> Array:
        """Return the vertices of the plate behind a convex polygon, shape (K, 3)."""
        front = self.vertices[loop]
        inside = patch == number
        normal = (self.normals[inside] * self.doubled[inside, None]).sum(axis=0)
        normal /= np.sqrt(normal @ normal)
        narrowing, sharp = self._narrowing(loop, normal, patch)
        middle = front.mean(axis=0)
        samples = np.concatenate([front, (front + np.roll(front, -1, axis=0)) / 2, middle[None]])
        samples = middle + 0.98 * (samples - middle)
        behind = ray_distances(samples, -normal, self.corners, ~inside & ~np.isin(patch, list(sharp)))
        behind = behind[behind > FLAT * self.extent]
        depth = min(depth, max(float(behind.min(initial=np.inf)), least_depth))
        back = _narrowed(front, normal, narrowing, depth)
        return np.concatenate([front, back])

    def _narrowing(self, loop: list[int], normal: Array, patch: IntArray) -> tuple[Array, set[int]]:
        """Return the inward shift of each edge per depth, and the patches at sharp edges."""
        narrowing, sharp = np.zeros(len(loop)), set()
        for k, edge in enumerate(zip(loop, loop[1:] + loop[:1], strict=True)):
            other = self.across(edge) if edge in self.at else None
            if other is None:
                continue
            start, end = self.vertices[edge[0]], self.vertices[edge[1]]
            along = (end - start) / np.sqrt((end - start) @ (end - start))
            inwards = np.cross(normal, along)
            # Direction in the neighbouring triangle, perpendicular to the edge.
            slope = np.cross(self.normals[other], -along)
            sink, run = float(-slope @ normal), float(slope @ inwards)
            if sink > np.sin(_SHARPEST) and run > 1e-6:
                narrowing[k] = run / sink
                sharp.add(int(patch[other]))
        return narrowing, sharp

    def _is_convex(self, loop: list[int], normal: Array) -> bool:
        points = self.vertices[loop]
        edges = np.roll(points, -1, axis=0) - points
        turns = np.cross(np.roll(edges, 1, axis=0), edges) @ normal
        return bool(turns.min() >= -1e-9 * self.extent * self.extent)


def _root(owner: list[int], item: int) -> int:
    while owner[item] != item:
        owner[item] = owner[owner[item]]
        item = owner[item]
    return item


def _join(first: list[int], second: list[int], edge: tuple[int, int]) -> list[int] | None:
    """Return the union of two polygons along a shared edge, or None if they do not share it."""
    a, b = edge
    if a not in first or a not in second:
        return None
    i, j = first.index(a), second.index(b)
    if first[(i + 1) % len(first)] != b or second[(j + 1) % len(second)] != a:
        return None
    loop = first[i + 1 :] + first[: i + 1] + (second[j + 1 :] + second[: j + 1])[1:-1]
    # If they share several edges, the loop goes out and back along the others.
    while len(loop) > 3:
        back = next((k for k in range(len(loop)) if loop[k - 1] == loop[(k + 1) % len(loop)]), None)
        if back is None:
            return loop if len(set(loop)) == len(loop) else None
        gone = {back, (back + 1) % len(loop)}
        loop = [vertex for k, vertex in enumerate(loop) if k not in gone]
    return None


def _narrowed(front: Array, normal: Array, narrowing: Array, depth: float) -> Array:
    """Return a polygon moved back by a depth, its edges inwards; by less where nothing would remain."""
    if not narrowing.any():
        return front - depth * normal
    edges = np.roll(front, -1, axis=0) - front
    inwards = np.cross(normal, edges)
    inwards /= np.maximum(np.sqrt((inwards * inwards).sum(axis=1, keepdims=True)), 1e-30)
    for _ in range(12):
        left = front
        for start, direction, rate in zip(front, inwards, narrowing, strict=True):
            left = _cut(left, direction, float(direction @ start) + rate * depth)
            if not len(left):
                break
        if len(left):
            return left - depth * normal
        depth /= 2
    tip: Array = front.mean(axis=0)[None] - depth * normal
    return tip


def _cut(polygon: Array, direction: Array, level: float) -> Array:
    """Return the part of a convex polygon beyond a level (Sutherland and Hodgman 1974)."""
    height = polygon @ direction - level
    kept: list[Array] = []
    for k in range(len(polygon)):
        before, here = height[k - 1], height[k]
        if (before >= 0) != (here >= 0):
            kept.append(polygon[k - 1] + before / (before - here) * (polygon[k] - polygon[k - 1]))
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 3)
