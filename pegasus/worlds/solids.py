"""Solid shapes with texture coordinates in metres, which are joined into one mesh and written.

Shapes are created in place; flat faces have separate corners, curved ones share them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pxr import Usd

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, Vector, mesh, place, rotation_to
from pegasus.scene.authoring import box as _box
from pegasus.scene.authoring import cylinder as _cylinder


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles with normals and texture coordinates."""

    points: Array
    """Points [m], shape (P, 3)."""
    normals: Array
    """Unit normals of the points, shape (P, 3)."""
    uvs: Array
    """Texture coordinates of the points [m], shape (P, 2)."""
    faces: IntArray
    """Counter-clockwise triangles seen from outside, shape (F, 3)."""

    def moved(self, by: Vector, *, yaw: float = 0.0, rotation: Array | None = None) -> "Solid":
        """Return the shape rotated about the origin and then translated.

        Args:
            by: Translation [m], shape (3,).
            yaw: Rotation about z [deg].
            rotation: Rotation matrix, shape (3, 3); replaces `yaw`.
        """
        turn = yaw_matrix(yaw) if rotation is None else rotation
        return Solid(self.points @ turn.T + np.asarray(by), self.normals @ turn.T, self.uvs, self.faces)


def joined(solids: Iterable[Solid]) -> Solid:
    """Return several shapes as one.

    Args:
        solids: The shapes, at least one.
    """
    parts = list(solids)
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return Solid(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.uvs for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)]),
    )


def draw(
    stage: Usd.Stage,
    path: str,
    solids: Iterable[Solid],
    surface: Surface,
    *,
    approximation: str = "boundingCube",
) -> Usd.Prim:
    """Write shapes as one mesh.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        solids: The shapes.
        surface: Visual material and contact properties.
        approximation: Collision approximation if the surface collides; by default the bounding box.
    """
    whole = joined(solids)
    schema = mesh(
        stage,
        path,
        whole.points,
        whole.faces,
        surface,
        approximation=approximation,
        uvs=whole.uvs,
        normals=whole.normals,
    )
    return schema.GetPrim()


def obstacle(
    stage: Usd.Stage,
    path: str,
    center: Vector,
    size: Vector,
    surface: Surface,
    *,
    rotation: Array | None = None,
) -> None:
    """Write an invisible collision box, for a detailed mesh.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        center: Centre [m], shape (3,).
        size: Lengths along its x, y, z [m], shape (3,).
        surface: A surface that collides.
        rotation: Rotation matrix, shape (3, 3).
    """
    assert surface.physics is not None
    if rotation is None:
        prim = _box(stage, path, center, size, surface)
    else:
        prim = _box(stage, path, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), surface)
        place(prim, center, rotation=rotation, scale=size)
    prim.GetAttribute("purpose").Set("guide")


def round_obstacle(
    stage: Usd.Stage, path: str, start: Vector, end: Vector, radius: float, surface: Surface
) -> None:
    """Write an invisible collision cylinder.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        start: Centre of one end [m], shape (3,).
        end: Centre of the other [m], shape (3,).
        radius: Radius [m].
        surface: A surface that collides.
    """
    _cylinder(stage, path, start, end, radius, surface).GetAttribute("purpose").Set("guide")


def polygons(corners: Iterable[Array], *, towards: Vector | None = None) -> Solid:
    """Return flat convex polygons.

    Args:
        corners: Corners of each polygon in order [m], shape (K, 3).
        towards: Point that all polygons face away from [m], overriding the order of corners.
    """
    rings = [np.asarray(polygon, dtype=np.float64) for polygon in corners]
    parts = []
    for count in sorted({len(ring) for ring in rings}):
        ring = np.stack([ring for ring in rings if len(ring) == count])
        normal = _area_normals(ring)
        if towards is not None:
            inward = (normal * (ring.mean(axis=1) - np.asarray(towards))).sum(axis=1) < 0
            ring[inward], normal[inward] = ring[inward][:, ::-1], -normal[inward]
        points, normals = ring.reshape(-1, 3), np.repeat(normal, count, axis=0)
        fan = np.arange(1, count - 1)
        fans = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
        starts = count * np.arange(len(ring))
        faces = (fans + starts[:, None, None]).reshape(-1, 3)
        parts.append(Solid(points, normals, _level_uvs(points, normals), faces))
    return joined(parts)


def panel(center: Vector, size: tuple[float, float], *, yaw: float = 0.0) -> Solid:
    """Return an upright rectangle, visible from -y; at a yaw of 90 from +x.

    Args:
        center: Centre [m], shape (3,).
        size: Level length and height [m].
        yaw: Rotation about z [deg].
    """
    u, v = size[0] / 2, size[1] / 2
    ring = np.array([[-u, 0.0, -v], [u, 0.0, -v], [u, 0.0, v], [-u, 0.0, v]])
    return polygons([ring]).moved(center, yaw=yaw)


def cuboid(center: Vector, size: Vector, *, yaw: float = 0.0, bevel: float = 0.0) -> Solid:
    """Return a box with optionally bevelled edges.

    Args:
        center: Centre [m], shape (3,).
        size: Lengths along x, y, z [m], shape (3,).
        yaw: Rotation about z [deg].
        bevel: Width of the bevel [m].
    """
    half = np.asarray(size, dtype=np.float64) / 2
    signs = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    # Three points near each corner: point k is on the face normal to axis k.
    near = signs[:, None, :] * (half - bevel * (1.0 - np.eye(3)))
    rings: list[Array] = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for sign in (-1.0, 1.0):
            on = np.nonzero(signs[:, k] == sign)[0]
            order = np.argsort(np.arctan2(signs[on, j], signs[on, i]))
            rings.append(near[on[order], k])
            if bevel > 0:
                for other in (-1.0, 1.0):
                    a, b = on[signs[on, i] == other]
                    rings.append(np.array([near[a, k], near[b, k], near[b, i], near[a, i]]))
    if bevel > 0:
        rings.extend(near)
    base = polygons(rings, towards=(0.0, 0.0, 0.0))
    middle = np.asarray(center, dtype=np.float64)
    shifted = Solid(base.points, base.normals, _level_uvs(base.points + middle, base.normals), base.faces)
    return shifted.moved(middle, yaw=yaw)


def bar(start: Vector, end: Vector, width: float, height: float) -> Solid:
    """Return a bar of rectangular section between two points, textured lengthwise.

    Args:
        start: Centre of one end [m], shape (3,).
        end: Centre of the other [m], shape (3,).
        width: Horizontal size of the section [m].
        height: Other size of the section [m].
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    length = float(np.sqrt((b - a) @ (b - a)))
    return cuboid((0.0, 0.0, 0.0), (length, width, height)).moved((a + b) / 2, rotation=level_frame(b - a))


def tube(
    start: Vector, end: Vector, radius: float, *, sides: int = 16, end_radius: float | None = None
) -> Solid:
    """Return a closed cylinder, or a part of a cone, between two points.

    Args:
        start: Centre of one end [m], shape (3,).
        end: Centre of the other [m], shape (3,).
        radius: Radius at the start [m].
        sides: Number of flat sides; shading is smooth.
        end_radius: Radius at the end [m]; by default that at the start.
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    last = radius if end_radius is None else end_radius
    length = float(np.sqrt((b - a) @ (b - a)))
    angle = np.linspace(0.0, 2 * np.pi, sides + 1)
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides + 1)], axis=1)
    top = np.array([0.0, 0.0, length])
    sections = np.stack([circle * radius, circle * last + top])
    return loft(sections).moved(a, rotation=rotation_to(b - a))


def loft(sections: Array, *, capped: bool = True) -> Solid:
    """Return the smooth surface through sections; the caller splits it at sharp edges.

    Args:
        sections: Points of each section [m], counter-clockwise seen from the last one, the first point
            repeated at the end, shape (S, K, 3).
        capped: Whether flat faces close the first and last section.
    """
    rows, columns = sections.shape[:2]
    grid = np.asarray(sections, dtype=np.float64)
    around = np.concatenate([grid[:, -2:-1], grid, grid[:, 1:2]], axis=1)
    across = around[:, 2:] - around[:, :-2]
    along = np.concatenate([grid[1:2] - grid[:1], grid[2:] - grid[:-2], grid[-1:] - grid[-2:-1]])
    normal = np.cross(across, along)
    length = np.sqrt((normal * normal).sum(axis=2, keepdims=True))
    # A section of a single point takes its neighbour's normals.
    flat = length[..., 0] < 1e-12
    normal = normal / np.where(length < 1e-12, 1.0, length)
    if rows > 1:
        normal[0] = np.where(flat[0][:, None], normal[1], normal[0])
        normal[-1] = np.where(flat[-1][:, None], normal[-2], normal[-1])
    step_u = np.sqrt(((grid[:, 1:] - grid[:, :-1]) ** 2).sum(axis=2)).max(axis=0)
    step_v = np.sqrt(((grid[1:] - grid[:-1]) ** 2).sum(axis=2)).max(axis=1)
    u, v = np.concatenate([[0.0], np.cumsum(step_u)]), np.concatenate([[0.0], np.cumsum(step_v)])
    uvs = np.stack([np.tile(u, rows), np.repeat(v, columns)], axis=1)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([first, first + 1, first + columns + 1, first + columns], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    skin = Solid(grid.reshape(-1, 3), normal.reshape(-1, 3), uvs, faces)
    if not capped:
        return skin
    caps = [ring for ring in (grid[0, -2::-1], grid[-1, :-1]) if np.ptp(ring, axis=0).max() > 1e-9]
    return joined([skin, polygons(caps)]) if caps else skin


def sheet(grid: Array) -> Solid:
    """Return a smooth open surface through points; its front has columns to the right and rows upwards.

    Args:
        grid: Points [m], shape (R, K, 3).
    """
    rows, columns = grid.shape[:2]
    normal = np.cross(np.gradient(grid, axis=1), np.gradient(grid, axis=0))
    normal = normal / np.sqrt((normal * normal).sum(axis=2, keepdims=True))
    step_u = np.sqrt((np.diff(grid, axis=1) ** 2).sum(axis=2)).mean(axis=0)
    step_v = np.sqrt((np.diff(grid, axis=0) ** 2).sum(axis=2)).mean(axis=1)
    u, v = np.concatenate([[0.0], np.cumsum(step_u)]), np.concatenate([[0.0], np.cumsum(step_v)])
    uvs = np.stack([np.tile(u, rows), np.repeat(v, columns)], axis=1)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([first, first + 1, first + columns + 1, first + columns], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Solid(grid.reshape(-1, 3), normal.reshape(-1, 3), uvs, faces)


def extrusion(outline: Sequence[tuple[float, float]] | Array, start: Vector, end: Vector) -> Solid:
    """Return a prism over an outline, which may be concave, with flat sides.

    The outline's first axis is horizontal across the direction, its second one points up; for a vertical
    direction they are x and y.

    Args:
        outline: Corners [m], counter-clockwise seen from the end, shape (K, 2).
        start: Position of the outline's origin at the start [m], shape (3,).
        end: The same at the end [m], shape (3,).
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    frame = level_frame(b - a)
    flat = np.asarray(outline, dtype=np.float64)
    ring = flat[:, :1] * frame[:, 1] + flat[:, 1:] * frame[:, 2]
    near, far = ring + a, ring + b
    sides = [np.array([near[k - 1], near[k], far[k], far[k - 1]]) for k in range(len(ring))]
    triangles = ears(flat)
    return polygons([*sides, *(near[t[::-1]] for t in triangles), *(far[t] for t in triangles)])


def ears(outline: Array) -> IntArray:
    """Return the triangles of a polygon without holes by ear clipping (Meisters 1975), shape (K - 2, 3).

    Args:
        outline: Corners, counter-clockwise, shape (K, 2).
    """

    def turn(a: int, b: int, c: int) -> float:
        u, v = outline[b] - outline[a], outline[c] - outline[b]
        return float(u[0] * v[1] - u[1] * v[0])

    left = list(range(len(outline)))
    found: list[tuple[int, int, int]] = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = [p for p in left if p not in (a, b, c)]
            inside = any(turn(a, b, p) >= 0 and turn(b, c, p) >= 0 and turn(c, a, p) >= 0 for p in others)
            if turn(a, b, c) > 0 and not inside:
                break
        else:
            k = 0
        found.append((left[k - 1], left[k], left[(k + 1) % len(left)]))
        del left[k]
    return np.array([*found, tuple(left)], dtype=np.int64)


def yaw_matrix(yaw: float) -> Array:
    """Return the rotation about z, shape (3, 3).

    Args:
        yaw: Angle [deg].
    """
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def level_frame(direction: Vector) -> Array:
    """Return a rotation whose x axis is a direction and whose y axis is level, shape (3, 3).

    Args:
        direction: Direction, shape (3,).
    """
    x = np.asarray(direction, dtype=np.float64)
    x = x / np.sqrt(x @ x)
    y = np.array([-x[1], x[0], 0.0])
    y = y / np.sqrt(y @ y) if y @ y > 1e-12 else np.array([1.0, 0.0, 0.0])
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _area_normals(rings: Array) -> Array:
    """Return the unit normals of polygons by Newell's sum, shape (R, 3)."""
    total = np.cross(rings, np.roll(rings, -1, axis=1)).sum(axis=1)
    normals: Array = total / np.sqrt((total * total).sum(axis=1, keepdims=True))
    return normals


def _level_uvs(points: Array, normals: Array) -> Array:
    """Return texture coordinates projected along the nearest axis of each normal; v is z on upright faces."""
    normal = np.broadcast_to(normals, points.shape)
    axis = np.abs(normal).argmax(axis=1)
    sign = np.where(np.take_along_axis(normal, axis[:, None], axis=1)[:, 0] > 0, 1.0, -1.0)
    u = np.where(
        axis == 0, points[:, 1] * sign, np.where(axis == 1, -points[:, 0] * sign, points[:, 0] * sign)
    )
    return np.stack([u, np.where(axis == 2, points[:, 1], points[:, 2])], axis=1)


def tiles(x: Array, y: Array) -> tuple[Array, IntArray]:
    """Return horizontal ground cut along lines: points, shape (P, 3), and quads, shape (F, 4).

    Args:
        x: Positions of lines along y [m], ascending, shape (X,).
        y: Positions of lines along x [m], ascending, shape (Y,).
    """
    points = np.stack([np.tile(x, len(y)), np.repeat(y, len(x)), np.zeros(len(x) * len(y))], axis=1)
    first = (np.arange(len(y) - 1)[:, None] * len(x) + np.arange(len(x) - 1)).ravel()
    return points, np.stack([first, first + 1, first + len(x) + 1, first + len(x)], axis=1)
