# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels for the lighting of surface points by suns, lamps and the sky."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights
from pegasus.render.embree.lamp_kernels import lamp_onto, lamp_toward
from pegasus.render.embree.reflection import (
    PI,
    Look,
    mirrored,
    reflected,
    sky_toward,
)
from pegasus.render.embree.surface_tables import Surface, Tables
from pegasus.render.embree.texture_kernels import texture_color, texture_number, texture_vector

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.func
def color_of(
    tables: Tables, constant: wp.vec3f, row: wp.int32, uv: wp.vec2f, footprint: wp.float32
) -> wp.vec3f:
    """Return a colour parameter of a material, with its texture."""
    if row < 0:
        return constant
    return texture_color(tables, row, uv, footprint)


@wp.func
def number_of(
    tables: Tables, constant: wp.float32, row: wp.int32, uv: wp.vec2f, footprint: wp.float32
) -> wp.float32:
    """Return a scalar parameter of a material, with its texture."""
    if row < 0:
        return constant
    return texture_number(tables, row, uv, footprint)


@wp.func
def bumped(
    tables: Tables,
    row: wp.int32,
    uv: wp.vec2f,
    footprint: wp.float32,
    normal: wp.vec3f,
    tangent: wp.vec4f,
) -> wp.vec3f:
    """Return a normal perturbed by a normal map; the tangent is zero if the texture has no direction."""
    along = wp.vec3f(tangent[0], tangent[1], tangent[2])
    value = texture_vector(tables, row, uv, footprint)
    aside = wp.cross(normal, along) * tangent[3]
    bent = wp.normalize(along * value[0] + aside * value[1] + normal * wp.max(value[2], 0.05))
    if not (wp.dot(bent, bent) > 0.5):
        return normal
    return bent


@wp.func
def radiance_of(
    tables: Tables,
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
    visible: wp.array2d(dtype=wp.float32),
    discs: wp.int32,
    i: wp.int32,
) -> wp.vec3f:
    """Return the radiance along a ray."""
    direction = directions[i]
    v = wp.vec3f(direction)
    if surface.material[i] < 0:
        value = wp.vec3f(0.0, 0.0, 0.0)
        if wp.dot(direction, direction) > wp.float64(0.5):
            value = sky_toward(lights.sky, v)
            for k in range(lights.lamps.shape[0]):
                lamp = lights.lamps[k]
                # For small angles the sine is accurate where the cosine is not.
                aside = wp.length(wp.cross(v, lamp.axis))
                if discs != 0 and lamp.kind == 0 and wp.dot(v, lamp.axis) > 0.0 and aside < lamp.radius:
                    value += lamp.strength * lamp.softness
        return value
    material = tables.materials[surface.material[i]]
    uv = surface.uv[i]
    footprint = surface.footprint[i]
    look = Look()
    look.normal = surface.normal[i]
    if material.normal_map >= 0:
        look.normal = bumped(tables, material.normal_map, uv, footprint, look.normal, surface.tangent[i])
    base = color_of(tables, material.diffuse, material.diffuse_map, uv, footprint)
    if tables.colors.shape[0] > 0:
        base = wp.cw_mul(base, surface.tint[i])
    metallic = number_of(tables, material.metallic, material.metallic_map, uv, footprint)
    look.roughness = wp.clamp(
        number_of(tables, material.roughness, material.roughness_map, uv, footprint), 0.0, 1.0
    )
    if material.has_specular != 0:
        look.mirror = color_of(tables, material.specular, material.specular_map, uv, footprint)
        look.base = base
    else:
        f = material.reflectance * (1.0 - metallic)
        look.mirror = wp.vec3f(f, f, f) + base * metallic
        look.base = base * (1.0 - metallic)
    look.clearcoat = material.clearcoat
    look.clearcoat_roughness = material.clearcoat_roughness
    # A blended surface contributes its own colour times its opacity, and its full reflections.
    opacity = surface.opacity[i]
    look.base = look.base * opacity
    value = wp.cw_mul(choice.rest[i], look.base) / PI
    value += mirrored(lights.sky, choice.around[i], look, v, look.mirror, look.roughness)
    if look.clearcoat > 0.0:
        coat = wp.vec3f(0.04, 0.04, 0.04) * look.clearcoat
        value += mirrored(lights.sky, choice.around[i], look, v, coat, look.clearcoat_roughness)
    emissive = color_of(tables, material.emissive, material.emissive_map, uv, footprint)
    value += emissive * (lights.sky.emission * opacity)
    point = wp.vec3f(origins[i * origin_step] + direction * surface.distance[i] - lights.middle)
    for slot in range(choice.lamps.shape[1]):
        k = choice.lamps[i, slot]
        if k >= 0:
            shown = visible[i, slot]
            if shown > 0.0:
                lamp = lights.lamps[k]
                toward = lamp_toward(lamp, point)
                way = wp.vec3f(toward[0], toward[1], toward[2])
                # At normal incidence; the reflection model applies the cosine.
                light = lamp.strength * lamp_onto(lamp, point, way)
                value += wp.cw_mul(light, reflected(look, v, way)) * shown
                if material.passes > 0.0:
                    behind = wp.max(-wp.dot(look.normal, way), 0.0) * material.passes / PI
                    value += wp.cw_mul(light, look.base) * (behind * shown)
    return value


@wp.kernel
def light_surface(
    tables: Tables,
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
    visible: wp.array2d(dtype=wp.float32),
    discs: wp.int32,
    radiance: wp.array(dtype=wp.vec3f),
):
    """Write the radiance along each ray."""
    first = wp.tid() * SPAN
    for i in range(first, wp.min(first + SPAN, radiance.shape[0])):
        radiance[i] = radiance_of(
            tables, lights, origins, origin_step, directions, surface, choice, visible, discs, i
        )
