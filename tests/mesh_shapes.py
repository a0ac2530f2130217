"""Non-convex meshes, and their properties computed from their triangles."""

import numpy as np

BOX_QUADS = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))


def fan(*polygons):
    """Return the triangles of convex polygons."""
    return np.array([(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)])


def box(low, high):
    """Return a closed box."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    return np.asarray(low) + corners * (np.asarray(high) - low), fan(*BOX_QUADS)


def prism(outline, quads, height):
    """Extrude an outline to a height; it is counter-clockwise from above and divided into convex pieces."""
    outline = np.asarray(outline, dtype=float)
    n = len(outline)
    vertices = np.concatenate([np.c_[outline, np.zeros(n)], np.c_[outline, np.full(n, height)]])
    sides = [(k, (k + 1) % n, (k + 1) % n + n, k + n) for k in range(n)]
    caps = [tuple(c + n for c in q) for q in quads] + [tuple(q[::-1]) for q in quads]
    return vertices, fan(*sides, *caps)


def l_shape():
    """Return an L of 3 x 3 x 1 m with arms 1 m wide."""
    outline = [(0, 0), (1, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3), (0, 1)]
    return prism(outline, [(1, 2, 3, 4), (0, 1, 4, 7), (7, 4, 5, 6)], 1.0)


def wedge_star():
    """Return a star with four points sharper than 50 degrees, 1 m high."""
    angle = np.arange(8) * np.pi / 4
    radius = np.where(np.arange(8) % 2 == 0, 2.0, 0.6)
    outline = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return prism(outline, [(0, 1, 7), (2, 3, 1), (4, 5, 3), (6, 7, 5), (1, 3, 5, 7)], 1.0)


def room(thickness=0.1):
    """Return a room of 4 x 4 x 2.5 m without a ceiling, with a door of 1 x 2 m in its wall at x = 0."""
    t = thickness
    # The wall with the door is a separate mesh, so that both meshes are closed.
    outer = [(0, 0), (4, 0), (4, 4), (0, 4), (0, 4 - t), (4 - t, 4 - t), (4 - t, t), (0, t)]
    walls = prism(outer, [(0, 1, 6, 7), (1, 2, 5, 6), (2, 3, 4, 5)], 2.5)
    # The outline is in the wall's plane (y across, z up), then rotated so that the thickness is along x.
    frame = [
        (t, 0),
        (1.5, 0),
        (1.5, 2),
        (2.5, 2),
        (2.5, 0),
        (4 - t, 0),
        (4 - t, 2),
        (4 - t, 2.5),
        (t, 2.5),
        (t, 2),
    ]
    flat, faces = prism(frame, [(0, 1, 2, 9), (4, 5, 6, 3), (8, 9, 2, 3, 6, 7)], t)
    return joined(walls, (flat[:, [2, 0, 1]], faces))


def arch(segments=12):
    """Return a round arch 3 m wide outside, 2 m inside, 1 m deep along y, open below."""
    angle = np.linspace(0, np.pi, segments + 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    outline = np.concatenate([1.5 * ring, ring[::-1]])
    n = segments + 1
    pieces = [(k, k + 1, 2 * n - 2 - k, 2 * n - 1 - k) for k in range(segments)]
    flat, faces = prism(outline, pieces, 1.0)
    return flat[:, [2, 0, 1]][:, [1, 0, 2]] * [1, -1, 1] + [0, 0.5, 0], faces


def torus(major=1.0, minor=0.3, around=16, across=8):
    """Return a torus in the x, y plane."""
    u, w = np.meshgrid(
        np.arange(around) * 2 * np.pi / around, np.arange(across) * 2 * np.pi / across, indexing="ij"
    )
    rho = major + minor * np.cos(w)
    vertices = np.stack([rho * np.cos(u), rho * np.sin(u), minor * np.sin(w)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    at = [((i + a) % around * across + (j + b) % across).ravel() for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return vertices, fan(*np.stack(at, axis=1))


def terrain(columns=25, rows=31, *, spacing=0.4, main=True):
    """Return hills on a grid; cells are split along the diagonal from the lowest x and y, or the other."""
    x, y = np.meshgrid(np.arange(columns) * spacing, np.arange(rows) * spacing)
    z = 0.8 * np.sin(0.9 * x) * np.cos(0.6 * y) + 0.1 * x
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    a, b, c, d = first, first + 1, first + columns + 1, first + columns
    pairs = [(a, b, c), (a, c, d)] if main else [(a, b, d), (b, c, d)]
    faces = np.concatenate([np.stack(pair, axis=1) for pair in pairs])
    return np.stack([x, y, z], axis=-1).reshape(-1, 3), faces


def joined(*meshes):
    """Join several meshes into one."""
    starts = np.cumsum([0, *(len(v) for v, _ in meshes)])
    return np.concatenate([v for v, _ in meshes]), np.concatenate(
        [f + start for (_, f), start in zip(meshes, starts, strict=False)]
    )


def normals(vertices, faces):
    """Return the unit normals of triangles."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def surface_points(vertices, faces, count, rng):
    """Return random points, uniform over a mesh, and their normals."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = rng.choice(len(faces), size=count, p=area / area.sum())
    weights = rng.dirichlet((1, 1, 1), size=count)
    points = np.einsum("kw,kwi->ki", weights, vertices[faces[chosen]])
    return points, normals(vertices, faces)[chosen]


def distance(points, vertices, faces):
    """Return distances of points to a mesh: to a face if the projection lies inside it, else to its edges."""
    a, b, c = (vertices[faces[:, k]][None] for k in range(3))
    n = normals(vertices, faces)[None]
    p = np.asarray(points)[:, None]
    inside = np.ones((p.shape[0], len(faces)), dtype=bool)
    edges = np.full(inside.shape, np.inf)
    for s, e in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(n, e - s) * (p - s)).sum(axis=2) >= 0
        t = np.clip(((p - s) * (e - s)).sum(axis=2) / ((e - s) ** 2).sum(axis=2), 0, 1)
        edges = np.minimum(edges, np.linalg.norm(p - s - t[..., None] * (e - s), axis=2))
    plane = np.abs(((p - a) * n).sum(axis=2))
    return np.where(inside, plane, edges).min(axis=1)


def _met(origin, direction, vertices, faces):
    """Return the distances along a ray to the planes of triangles, whether it hits each, and the normals.

    A triangle is hit if the intersection with its plane lies on the inner side of each edge.
    """
    n = normals(vertices, faces)
    slope = n @ direction
    t = ((vertices[faces[:, 0]] - origin) * n).sum(axis=1) / np.where(slope == 0, np.nan, slope)
    foot = origin + t[:, None] * direction
    met = t > 0
    for k in range(3):
        s, e = vertices[faces[:, k]], vertices[faces[:, (k + 1) % 3]]
        met &= (np.cross(n, e - s) * (foot - s)).sum(axis=1) >= -1e-12
    return t, met, n


def ray(origin, direction, vertices, faces):
    """Return distance and normal of the first triangle that a ray hits; infinite and None if none."""
    t, met, n = _met(origin, direction, vertices, faces)
    if not met.any():
        return np.inf, None
    nearest = np.where(met, t, np.inf).argmin()
    return t[nearest], n[nearest]


def crossings(origin, direction, vertices, faces):
    """Return the number of triangles that a ray hits; it is odd from inside a closed mesh."""
    return int(_met(origin, direction, vertices, faces)[1].sum())
