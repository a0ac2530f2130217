# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that compute surface points from hits.

Embree identifies the triangle; the distance is computed in float64.
"""

import warp as wp

from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.ray_kernels import GROUP
from pegasus.render.embree.surface_tables import Surface, Tables

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.func_native(native_code("distances"))
def write_distances(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    items: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float64),
    materials: wp.array(dtype=wp.int32),
    entities: wp.array(dtype=wp.int32),
    first: wp.int32,
    end: wp.int32,
    found: wp.int32,
):
    """Write distances, materials and entities of hits `first` to `end`; those up to `found` are known."""


@wp.func_native(native_code("surfaces"))
def write_surfaces(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
    passed: wp.array(dtype=wp.float32),
    cone: wp.float32,
    with_texture: wp.int32,
    out: Surface,
    first: wp.int32,
    end: wp.int32,
    found: wp.int32,
):
    """Write the surface points of hits `first` to `end`; those up to `found` are known."""


@wp.kernel
def find_distance(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    items: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float64),
    materials: wp.array(dtype=wp.int32),
    entities: wp.array(dtype=wp.int32),
):
    """Compute distances in float64, materials and entities of hits."""
    first = wp.tid() * GROUP
    end = wp.min(first + GROUP, faces.shape[0])
    write_distances(
        tables,
        origins,
        origin_step,
        directions,
        start,
        limits,
        faces,
        items,
        distances,
        materials,
        entities,
        first,
        end,
        faces.shape[0],
    )


@wp.kernel
def find_surface(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
    passed: wp.array(dtype=wp.float32),
    cone: wp.float32,
    with_texture: wp.int32,
    out: Surface,
):
    """Compute surface points of hits: distance in float64, normals, and texture coordinates."""
    first = wp.tid() * GROUP
    end = wp.min(first + GROUP, faces.shape[0])
    write_surfaces(
        tables,
        origins,
        origin_step,
        directions,
        start,
        limits,
        faces,
        u,
        v,
        items,
        passed,
        cone,
        with_texture,
        out,
        first,
        end,
        faces.shape[0],
    )
