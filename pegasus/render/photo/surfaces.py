"""Surface points of compiled paths, and their materials."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.render.photo.hits import Hits, Place
from pegasus.render.photo.materials import LEAST_ROUGHNESS, NONE, MaterialTables, uploaded
from pegasus.render.photo.reflection import Look
from pegasus.render.photo.shapes import Tables

# Offset of ray origins from a surface: at least [m], and relative to the largest coordinate.
_LEAST_LIFT, _LIFT = 1e-4, 2e-5
# Maximum sum of reflectance and transmittance of a leaf.
_MOST_SCATTERED = 0.9


class NearestHits(NamedTuple):
    """Nearest hits of rays, by indices."""

    t: Any
    """Distance along the ray [m]; infinite without a hit."""
    u: Any
    """Weight of the triangle's second corner."""
    v: Any
    """Weight of its third corner."""
    face: Any
    """Number of the triangle."""
    place: Any
    """Number of the shape that it belongs to."""


class Found(NamedTuple):
    """Surface points of hits."""

    point: Any
    """Position in the world [m]."""
    facing: Any
    """Unit normal of the triangle, on the side of the ray's origin."""
    uv: Any
    """Texture coordinates."""
    material: Any
    """Number of the material."""
    weights: Any
    """Weights of the triangle's second and third corners."""
    face: Any
    """Number of the triangle."""
    place: Any
    """Number of the shape that it belongs to."""


class Surfaces:
    """Lookup of surface properties in tables.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self.materials = MaterialTables(mitsuba, drjit)

    def update(self, places: Sequence[Place], hits: Hits, tables: Tables) -> None:
        """Update to the present shapes and materials."""
        mi = self._mi
        self._faces = uploaded(
            mi.UInt32, np.concatenate([tables.faces, tables.material[:, None].astype(np.uint32)], axis=1)
        )
        vertices = np.concatenate([tables.vertices, tables.uvs[:, :1], tables.normals, tables.uvs[:, 1:]], 1)
        self._vertices = uploaded(mi.Float, np.asarray(vertices, np.float32))
        self._see_through = uploaded(mi.Bool, self.materials.see_through[tables.material])
        self._colors = None if tables.colors is None else uploaded(mi.Float, tables.colors)
        self.has_lamps = bool(hits.shines.any())
        self._shines = uploaded(mi.Bool, hits.shines)
        self._is_lamp = uploaded(mi.Bool, hits.is_lamp)
        own = np.array([place.first_faces[0] if place.first_faces else 0 for place in places], np.uint32)
        self._own_faces = uploaded(mi.UInt32, own)
        self._registered = uploaded(mi.UInt32, hits.registered)
        self.move(places)

    def move(self, places: Sequence[Place]) -> None:
        """Update the poses.

        Args:
            places: The same places, their transforms changed.
        """
        rows = np.array([place.transform[:3] for place in places], np.float32)
        self._transforms = uploaded(self._mi.Float, rows)

    def found(self, met: NearestHits, ray: Any, active: Any) -> Found:
        """Return the surface points of hits."""
        mi, dr = self._mi, self._dr
        corners = dr.gather(mi.Vector4u, self._faces, met.face, active)
        a, b, c = (
            dr.gather(mi.Vector4f, self._vertices, 2 * corner, active)
            for corner in (corners.x, corners.y, corners.z)
        )
        w = (1.0 - met.u - met.v, met.u, met.v)
        rows = self._rows(met.place, active)
        local = _three(mi, a) * w[0] + _three(mi, b) * w[1] + _three(mi, c) * w[2]
        point = mi.Point3f(*(_dot(row, local) + row.w for row in rows))
        edges = [mi.Vector3f(*(_dot(row, _three(mi, end) - _three(mi, a)) for row in rows)) for end in (b, c)]
        up = dr.normalize(dr.cross(*edges))
        facing = mi.Normal3f(dr.mulsign(up, -dr.dot(up, ray.d)))
        v = [
            dr.gather(mi.Float, self._vertices, 8 * k + 7, active) for k in (corners.x, corners.y, corners.z)
        ]
        uv = mi.Point2f(a.w * w[0] + b.w * w[1] + c.w * w[2], v[0] * w[0] + v[1] * w[1] + v[2] * w[2])
        return Found(point, facing, uv, corners.w, mi.Point2f(met.u, met.v), met.face, met.place)

    def see_through(self, face: Any, active: Any) -> Any:
        """Return whether rays can pass through triangles.

        Args:
            face: Numbers of the triangles.
            active: Mask of the rays to process.
        """
        return self._dr.gather(self._mi.Bool, self._see_through, face, active)

    def shines(self, place: Any, active: Any) -> Any:
        """Return whether shapes are emissive.

        Args:
            place: Numbers of the shapes.
            active: Mask of the rays to process.
        """
        return self._dr.gather(self._mi.Bool, self._shines, place, active)

    def is_lamp(self, place: Any, active: Any) -> Any:
        """Return whether shapes are lamps; see `shines`."""
        return self._dr.gather(self._mi.Bool, self._is_lamp, place, active)

    def lamp(self, met: NearestHits, active: Any) -> Any:
        """Return hits of emissive shapes as Mitsuba intersections.

        Args:
            met: Intersections.
            active: Mask of the intersections with emitters.
        """
        mi, dr = self._mi, self._dr
        lamp = dr.zeros(mi.PreliminaryIntersection3f)
        lamp.t, lamp.prim_uv, lamp.valid = met.t, mi.Point2f(met.u, met.v), active
        lamp.prim_index = met.face - dr.gather(mi.UInt32, self._own_faces, met.place, active)
        shape = dr.gather(mi.UInt32, self._registered, met.place, active)
        lamp.shape = dr.reinterpret_array(mi.ShapePtr, shape)
        return lamp

    def opacity(self, found: Found, jitter: Any, active: Any) -> Any:
        """Return the opacity of surfaces."""
        dr = self._dr
        opacity = self.materials.numbers(found.material, 2, active).w
        threshold = self.materials.numbers(found.material, 3, active).x
        texture = self.materials.textures(found.material, 1, active).x
        drawn = active & (texture != NONE)
        value = self.materials.number(texture, found.uv, jitter, drawn)
        cut = dr.select(value >= threshold, 1.0, 0.0)
        return dr.select(drawn, dr.select(threshold > 0.0, cut, value), opacity)

    def look(self, found: Found, ray: Any, jitter: Any, active: Any) -> Look:
        """Return the reflection parameters of surfaces."""
        mi, dr = self._mi, self._dr
        tables = self.materials
        one, two, three, four = (tables.numbers(found.material, part, active) for part in range(4))
        names, more = (tables.textures(found.material, part, active) for part in range(2))
        base = self._color(names.x, _three(mi, one), found.uv, jitter, active)
        if self._colors is not None:
            base *= self._vertex_color(found, active)
        roughness = self._number(names.y, one.w, found.uv, jitter, active)
        metal = self._number(names.z, two.w, found.uv, jitter, active)
        mirror = self._color(more.y, _three(mi, two), found.uv, jitter, active)
        plain = mi.Color3f(three.x * (1.0 - metal))
        through = four.y
        # Energy conservation: reflected plus transmitted light is less than the incident light.
        share = dr.minimum(1.0, _MOST_SCATTERED / dr.maximum(dr.max(base) * (1.0 + through), 1e-6))
        diffuse = base * (1.0 - metal) * dr.select(through > 0.0, share, 1.0)
        return Look(
            self._normal(found, names.w, ray, jitter, active),
            found.facing,
            base,
            mi.Color3f(diffuse),
            mirror + plain + base * metal,
            dr.square(dr.maximum(roughness, LEAST_ROUGHNESS)),
            three.y,
            dr.square(three.z),
            mi.Color3f(diffuse * through),
        )

    def lifted(self, found: Found, direction: Any) -> Any:
        """Return ray origins offset from surfaces."""
        dr = self._dr
        lift = _LEAST_LIFT + _LIFT * dr.max(dr.abs(found.point))
        return found.point + dr.mulsign(found.facing * lift, dr.dot(found.facing, direction))

    def _rows(self, place: Any, active: Any) -> tuple[Any, Any, Any]:
        mi, dr = self._mi, self._dr
        one, two, three = (dr.gather(mi.Vector4f, self._transforms, 3 * place + k, active) for k in range(3))
        return one, two, three

    def _color(self, texture: Any, constant: Any, uv: Any, jitter: Any, active: Any) -> Any:
        mi, dr = self._mi, self._dr
        drawn = active & (texture != NONE)
        value = _three(mi, self.materials.color(texture, uv, jitter, drawn))
        return mi.Color3f(dr.select(drawn, dr.clip(value, 0.0, 1.0), constant))

    def _number(self, texture: Any, constant: Any, uv: Any, jitter: Any, active: Any) -> Any:
        drawn = active & (texture != NONE)
        return self._dr.select(drawn, self.materials.number(texture, uv, jitter, drawn), constant)

    def _vertex_color(self, found: Found, active: Any) -> Any:
        mi, dr = self._mi, self._dr
        corners = dr.gather(mi.Vector4u, self._faces, found.face, active)
        x, y = found.weights.x, found.weights.y
        weights = (1.0 - x - y, x, y)
        colors = [
            dr.gather(mi.Color3f, self._colors, corner, active)
            for corner in (corners.x, corners.y, corners.z)
        ]
        return colors[0] * weights[0] + colors[1] * weights[1] + colors[2] * weights[2]

    def _normal(self, found: Found, texture: Any, ray: Any, jitter: Any, active: Any) -> Any:
        """Return shading normals: interpolated, normal-mapped, facing the ray."""
        mi, dr = self._mi, self._dr
        corners = dr.gather(mi.Vector4u, self._faces, found.face, active)
        ends = [corners.x, corners.y, corners.z]
        w = (1.0 - found.weights.x - found.weights.y, found.weights.x, found.weights.y)
        normals = [_three(mi, dr.gather(mi.Vector4f, self._vertices, 2 * k + 1, active)) for k in ends]
        local = normals[0] * w[0] + normals[1] * w[1] + normals[2] * w[2]
        rows = self._rows(found.place, active)
        axes = [_three(mi, row) for row in rows]
        # The cofactors turn normals as the inverse transpose does, but for the determinant.
        turned = mi.Vector3f(
            dr.dot(dr.cross(axes[1], axes[2]), local),
            dr.dot(dr.cross(axes[2], axes[0]), local),
            dr.dot(dr.cross(axes[0], axes[1]), local),
        )
        length = dr.norm(turned)
        smooth = dr.select(length > 1e-12, turned / dr.maximum(length, 1e-12), found.facing)
        smooth = dr.mulsign(smooth, dr.dot(smooth, found.facing))
        bent = active & (texture != NONE)
        a, b, c = (dr.gather(mi.Vector4f, self._vertices, 2 * k, bent) for k in ends)
        v = [dr.gather(mi.Float, self._vertices, 8 * k + 7, bent) for k in ends]
        along, up = self.materials.layout(texture, bent)
        u_one, u_two = (along.x * (p.w - a.w) + along.y * (q - v[0]) for p, q in ((b, v[1]), (c, v[2])))
        v_one, v_two = (up.x * (p.w - a.w) + up.y * (q - v[0]) for p, q in ((b, v[1]), (c, v[2])))
        one, two = (_three(mi, p) - _three(mi, a) for p in (b, c))
        area = u_one * v_two - u_two * v_one
        sign = dr.sign(area)
        tangent, other = (
            mi.Vector3f(*(_dot(row, way * sign) for row in rows))
            for way in (one * v_two - two * v_one, two * u_one - one * u_two)
        )
        tangent = dr.normalize(tangent - smooth * dr.dot(tangent, smooth))
        bitangent = dr.cross(smooth, tangent)
        bitangent = dr.mulsign(bitangent, dr.dot(bitangent, other))
        value = self.materials.color(texture, found.uv, jitter, bent)
        normal = dr.normalize(tangent * value.x + bitangent * value.y + smooth * dr.maximum(value.z, 0.05))
        use = bent & (dr.abs(area) > 1e-20) & (dr.dot(normal, normal) > 0.5)
        normal = dr.select(use, normal, smooth)
        # A perturbed normal that faces away from the ray would take light from the wrong side.
        back = dr.dot(normal, ray.d)
        tilted = dr.normalize(normal - ray.d * (dr.maximum(back, 0.0) + 0.01))
        return mi.Normal3f(dr.select(back > -0.01, tilted, normal))


def _three(mitsuba: Any, four: Any) -> Any:
    return mitsuba.Vector3f(four.x, four.y, four.z)


def _dot(row: Any, vector: Any) -> Any:
    return row.x * vector.x + row.y * vector.y + row.z * vector.z
