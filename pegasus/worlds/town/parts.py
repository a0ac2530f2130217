"""Triangles grouped by surface: boxes, sheets, bodies of revolution; one mesh per surface."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from pxr import Usd

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.scene.authoring import Surface, label, mesh
from pegasus.scene.faces import BOX_FACES, box_uvs

_SIDES = ("-z", "+z", "-y", "+y", "-x", "+x")


@dataclass(frozen=True, eq=False)
class Frame:
    """Frame of a shape: right, up (unit vectors) and towards the viewer."""

    origin: ArrayLike = (0.0, 0.0, 0.0)
    right: ArrayLike = (1.0, 0.0, 0.0)
    up: ArrayLike = (0.0, 1.0, 0.0)

    def __call__(self, points: ArrayLike) -> Array:
        """Return points of this frame in the parent frame, shape (..., 3)."""
        moved: Array = np.asarray(points, dtype=np.float64) @ self._axes + np.asarray(self.origin)
        return moved

    @cached_property
    def _axes(self) -> Array:
        right, up = np.asarray(self.right, dtype=np.float64), np.asarray(self.up, dtype=np.float64)
        return np.stack([right, up, np.cross(right, up)])


WHOLE = Frame()


class Parts:
    """Triangles of an object by surface name."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[tuple[Array, IntArray, Array | None, Array | None]]] = {}

    def quads(
        self, key: str, corners: ArrayLike, *, uvs: ArrayLike | None = None, frame: Frame = WHOLE
    ) -> None:
        """Add flat quads.

        Args:
            key: Name of their surface.
            corners: Corners, counter-clockwise seen from outside [m], shape (Q, 4, 3).
            uvs: Texture coordinates [m], shape (Q, 4, 2); by default by position.
            frame: Frame of the corners.
        """
        corners = np.asarray(corners, dtype=np.float64)
        first = 4 * np.arange(len(corners))[:, None]
        faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
        coordinates = None if uvs is None else np.asarray(uvs, dtype=np.float64).reshape(-1, 2)
        self._add(key, frame(corners.reshape(-1, 3)), faces, None, coordinates)

    def triangles(self, key: str, corners: ArrayLike, *, frame: Frame = WHOLE) -> None:
        """Add flat triangles, shape (T, 3, 3), counter-clockwise seen from outside."""
        corners = np.asarray(corners, dtype=np.float64)
        self._add(key, frame(corners.reshape(-1, 3)), np.arange(3 * len(corners)).reshape(-1, 3), None, None)

    def boxes(
        self, key: str, low: ArrayLike, high: ArrayLike, *, frame: Frame = WHOLE, omit: tuple[str, ...] = ()
    ) -> None:
        """Add boxes along the axes of a frame.

        Args:
            key: Name of their surface.
            low: Least corner of each [m], shape (3,) or (K, 3).
            high: Greatest corner of each, likewise.
            frame: Frame of the corners.
            omit: Omitted sides: -x, +x, -y, +y, -z, +z.
        """
        least, most = (np.atleast_2d(np.asarray(corner, dtype=np.float64)) for corner in (low, high))
        ends = np.stack(np.broadcast_arrays(least, most))
        which = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)])
        corners = np.stack([ends[which[:, axis], :, axis] for axis in range(3)], axis=-1)
        kept = BOX_FACES[[side not in omit for side in _SIDES]]
        self.quads(key, corners[kept].transpose(2, 0, 1, 3).reshape(-1, 4, 3), frame=frame)

    def sheet(
        self,
        key: str | Mapping[str, BoolArray],
        grid: Array,
        *,
        uvs: Array | None = None,
        frame: Frame = WHOLE,
    ) -> None:
        """Add a smooth surface through a grid of points.

        Args:
            key: Name of its surface, or a mask of cells per surface, shape (R - 1, C - 1).
            grid: Points [m], shape (R, C, 3); columns run counter-clockwise seen along growing rows.
            uvs: Texture coordinates [m], shape (R, C, 2); by default by position.
            frame: Frame of the points.
        """
        rows, columns = grid.shape[:2]
        number = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
        cells = np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2)
        points = frame(grid.reshape(-1, 3))
        normals = smooth_normals(points, cells.reshape(-1, 3))
        coordinates = None if uvs is None else uvs.reshape(-1, 2)
        for name, mask in (
            {key: np.ones(a.shape, dtype=np.bool_)}.items() if isinstance(key, str) else key.items()
        ):
            chosen = cells[mask].reshape(-1, 3)
            # Degenerate cells have no face.
            p, q, r = (points[chosen[:, k]] for k in range(3))
            area = np.cross(q - p, r - p)
            chosen = chosen[(area * area).sum(axis=1) > 1e-14]
            if len(chosen):
                used, faces = np.unique(chosen, return_inverse=True)
                self._add(
                    name,
                    points[used],
                    faces.reshape(-1, 3),
                    normals[used],
                    None if coordinates is None else coordinates[used],
                )

    def lathe(
        self,
        key: str,
        profile: ArrayLike,
        *,
        sides: int = 12,
        frame: Frame = WHOLE,
        smooth: bool = False,
    ) -> None:
        """Add a body of revolution about z.

        Args:
            key: Name of its surface.
            profile: Radius and z along its outline [m], shape (P, 2), outside on the right.
            sides: Faces around.
            frame: Frame of the profile's axis.
            smooth: Whether to smooth its outline.
        """
        outline = np.asarray(profile, dtype=np.float64)
        angle = np.linspace(0.0, 2 * np.pi, sides + 1)
        around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        grid = np.empty((len(outline), sides + 1, 3))
        grid[..., :2] = outline[:, None, :1] * around
        grid[..., 2] = outline[:, None, 1]
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(outline, axis=0).T))])
        uvs = np.empty((len(outline), sides + 1, 2))
        uvs[..., 0] = angle * outline[:, 0].max()
        uvs[..., 1] = along[:, None]
        for k in range(1) if smooth else range(len(outline) - 1):
            part = slice(None) if smooth else slice(k, k + 2)
            self.sheet(key, grid[part], uvs=uvs[part], frame=frame)

    def tube(self, key: str, line: ArrayLike, radius: ArrayLike, *, sides: int = 8) -> None:
        """Add a pipe along a line of points, shape (P, 3), with a radius [m] at all or at each of them."""
        points = np.asarray(line, dtype=np.float64)
        along = np.gradient(points, axis=0)
        along /= np.sqrt((along * along).sum(axis=1, keepdims=True))
        guide = np.eye(3)[int(np.abs(along).max(axis=0).argmin())]
        side = np.cross(along, guide)
        side /= np.sqrt((side * side).sum(axis=1, keepdims=True))
        other = np.cross(along, side)
        angle = np.linspace(0.0, 2 * np.pi, sides + 1)[None, :, None]
        reach = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(points))[:, None, None]
        grid = points[:, None] + reach * (np.cos(angle) * side[:, None] + np.sin(angle) * other[:, None])
        self.sheet(key, grid)
        for end, order in ((0, -1), (-1, 1)):
            ring = grid[end, :-1][::order]
            self.triangles(
                key, np.stack([np.stack([ring[0], ring[k], ring[k + 1]]) for k in range(1, sides - 1)])
            )

    def turned(self, count: int) -> None:
        """Repeat all parts about z to a total of `count`."""
        for pieces in self._pieces.values():
            for points, faces, normals, uvs in list(pieces):
                for k in range(1, count):
                    c, s = np.cos(2 * np.pi * k / count), np.sin(2 * np.pi * k / count)
                    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
                    pieces.append((points @ turn, faces, None if normals is None else normals @ turn, uvs))

    def join(self, other: "Parts", frame: Frame) -> None:
        """Add another object's parts in a frame; texture coordinates are kept."""
        origin = np.asarray(frame.origin, dtype=np.float64)
        for key, pieces in other._pieces.items():
            for points, faces, normals, uvs in pieces:
                turned = None if normals is None else frame(normals) - origin
                self._pieces.setdefault(key, []).append((frame(points), faces, turned, uvs))

    def shape(self, key: str) -> tuple[Array, IntArray]:
        """Return points (P, 3) and triangles (T, 3) of a surface."""
        pieces = self._pieces[key]
        first = np.cumsum([0] + [len(piece[0]) for piece in pieces])
        points = np.concatenate([piece[0] for piece in pieces])
        return points, np.concatenate([piece[1] + start for piece, start in zip(pieces, first, strict=False)])

    @property
    def keys(self) -> list[str]:
        """Names of the surfaces in use."""
        return list(self._pieces)

    def write(
        self,
        stage: Usd.Stage,
        path: str,
        surfaces: Mapping[str, Surface],
        *,
        classes: Mapping[str, str] | None = None,
    ) -> None:
        """Write a mesh for each surface below a prim."""
        for key, pieces in self._pieces.items():
            points, faces = self.shape(key)
            name = "".join(word.capitalize() for word in key.split("_"))
            rounded = any(piece[2] is not None for piece in pieces)
            normals = np.concatenate([_normals(*piece[:3]) for piece in pieces]) if rounded else None
            uvs = np.zeros((len(points), 2))
            uvs[faces.reshape(-1)] = box_uvs(points, faces)
            first = 0
            for piece in pieces:
                if piece[3] is not None:
                    uvs[first : first + len(piece[0])] = piece[3]
                first += len(piece[0])
            surface = surfaces[key]
            prim = mesh(
                stage,
                f"{path}/{name}",
                points,
                faces,
                surface,
                uvs=uvs,
                normals=normals,
            ).GetPrim()
            if classes and key in classes:
                label(prim, classes[key])

    def _add(
        self, key: str, points: Array, faces: IntArray, normals: Array | None, uvs: Array | None
    ) -> None:
        self._pieces.setdefault(key, []).append((points, faces, normals, uvs))


def smooth_normals(points: Array, faces: IntArray) -> Array:
    """Return unit normals of points, weighted by area, shape (P, 3); coincident points share one.

    Args:
        points: Points, shape (P, 3).
        faces: Triangles, shape (T, 3).
    """
    _, same = np.unique(np.round(points, 5), axis=0, return_inverse=True)
    same = same.reshape(-1)
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    summed = np.zeros((int(same.max(initial=-1)) + 1, 3))
    for k in range(3):
        np.add.at(summed, same[faces[:, k]], area)
    length = np.sqrt((summed * summed).sum(axis=1, keepdims=True))
    unit: Array = (summed / np.where(length > 0, length, 1.0))[same]
    return unit


def _normals(points: Array, faces: IntArray, normals: Array | None) -> Array:
    """Return the normals of points; by default those of their face."""
    if normals is not None:
        return normals
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    flat = np.zeros_like(points)
    flat[faces.reshape(-1)] = np.repeat(area, 3, axis=0)
    length = np.sqrt((flat * flat).sum(axis=1, keepdims=True))
    return np.asarray(flat / np.where(length > 0, length, 1.0))
