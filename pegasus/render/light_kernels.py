# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that light surface points: suns, lamps and the sky."""

import warp as wp

from pegasus.render.reflection import PI, Look, SkyLight, luminance, mirrored, reflected, sky_onto, sky_toward
from pegasus.render.surface_tables import (
    Surface,
    Tables,
    look_up,
    look_up_nearest,
    look_up_nearest_number,
)

wp.set_module_options({"enable_backward": False})


@wp.struct
class Lamp:
    """A light: 0 a distant one, 1 a ball, 2 a flat one that shines along its axis."""

    kind: wp.int32
    position: wp.vec3f
    axis: wp.vec3f
    strength: wp.vec3f
    softness: wp.float32
    radius: wp.float32


GROUP = wp.constant(64)
SMALL = wp.constant(wp.float32(0.03))
GLOSS = wp.constant(wp.float32(10.0))
RANKS = wp.constant(3)
Names = wp.types.vector(length=3, dtype=wp.int32)
Values = wp.types.vector(length=3, dtype=wp.float32)


@wp.func
def lamp_toward(lamp: Lamp, point: wp.vec3f) -> wp.vec4f:
    """Return the unit direction to a lamp, and its distance."""
    if lamp.kind == 0:
        return wp.vec4f(lamp.axis[0], lamp.axis[1], lamp.axis[2], 1.0e30)
    way = lamp.position - point
    length = wp.max(wp.length(way), 1.0e-6)
    return wp.vec4f(way[0] / length, way[1] / length, way[2] / length, length)


@wp.func
def lamp_onto(lamp: Lamp, point: wp.vec3f, normal: wp.vec3f) -> wp.float32:
    """Return the irradiance of a surface for each unit of a lamp's strength.

    A ball gives pi L r^2 / d^2 exactly, a disk on its axis L A / (d^2 + A / pi).
    """
    if lamp.kind == 0:
        return wp.max(wp.dot(normal, lamp.axis), 0.0)
    way = lamp.position - point
    cosine = wp.dot(normal, way)
    if cosine <= 0.0:
        return 0.0
    square = wp.max(wp.dot(way, way), lamp.radius * lamp.radius)
    if lamp.kind == 2:
        return cosine * wp.max(-wp.dot(way, lamp.axis), 0.0) / (square * (square + lamp.softness))
    return cosine / (square * wp.sqrt(square))


@wp.func
def lamp_value(lamp: Lamp, point: wp.vec3f, normal: wp.vec3f, facing: wp.vec3f) -> wp.float32:
    """Return the irradiance of a surface for each unit of a lamp's strength; none from behind."""
    share = lamp_onto(lamp, point, normal)
    if share > 0.0:
        way = lamp.axis
        if lamp.kind != 0:
            way = lamp.position - point
        if wp.dot(facing, way) <= 0.0:
            return 0.0
    return share


@wp.func
def ranked(names: Names, values: Values, name: wp.int32, value: wp.float32):
    """Return the brightest lamps and their values, in order, with one more put in."""
    for slot in range(RANKS):
        if value > values[slot]:
            held = values[slot]
            holder = names[slot]
            values[slot] = value
            names[slot] = name
            value = held
            name = holder
    return names, values


@wp.func
def rank_lamps(
    lamps: wp.array[Lamp], point: wp.vec3f, normal: wp.vec3f, facing: wp.vec3f, mirrored_way: wp.vec3f
):
    """Return the lamps that light a point most were nothing in the way, and their values.

    Lamps whose reflection a glossy surface would show go before others. Beside them the light of all lamps
    together, and the square of the distance to the nearest one.
    """
    names = Names(-1)
    values = Values(0.0)
    total = wp.vec3f(0.0, 0.0, 0.0)
    nearest = wp.float32(1.0e30)
    for k in range(lamps.shape[0]):
        lamp = lamps[k]
        if lamp.kind != 0:
            nearest = wp.min(nearest, wp.length_sq(lamp.position - point))
        share = lamp_value(lamp, point, normal, facing)
        if share > 0.0:
            total += lamp.strength * share
            value = luminance(lamp.strength) * share
            if value * (1.0 + GLOSS) > values[RANKS - 1]:
                toward = lamp_toward(lamp, point)
                aligned = wp.max(wp.dot(mirrored_way, wp.vec3f(toward[0], toward[1], toward[2])), 0.0)
                square = aligned * aligned
                narrow = square * square * square * square
                value *= 1.0 + GLOSS * narrow * narrow
            if value > values[RANKS - 1]:
                names, values = ranked(names, values, k, value)
    return names, values, total, nearest


@wp.func
def level(surface: Surface, i: wp.int32, k: wp.int32) -> wp.bool:
    """Return whether two points face the same way."""
    bend = wp.min(wp.dot(surface.normal[i], surface.normal[k]), wp.dot(surface.facing[i], surface.facing[k]))
    return bend > 0.98


@wp.func
def choose_at(lamps: wp.array[Lamp], surface: Surface, i: wp.int32, point: wp.vec3f, v: wp.vec3f):
    """Return the lamps that are worth a ray, -1 for none, the light of the others, and how near one is."""
    normal = surface.normal[i]
    mirrored_way = v - normal * (2.0 * wp.dot(normal, v))
    names, values, total, nearest = rank_lamps(lamps, point, normal, surface.facing[i], mirrored_way)
    # A lamp that hardly adds to the others is not worth a ray.
    least = 0.02 * luminance(total)
    for slot in range(RANKS):
        if names[slot] >= 0 and values[slot] < least:
            names[slot] = -1
    # In the order of the lamps, so that neighbours with the same ones have them in the same slots.
    for _ in range(RANKS - 1):
        for slot in range(RANKS - 1):
            before = names[slot]
            after = names[slot + 1]
            if after >= 0 and (before < 0 or after < before):
                names[slot] = after
                names[slot + 1] = before
    for slot in range(RANKS):
        if names[slot] >= 0:
            lamp = lamps[names[slot]]
            total -= lamp.strength * lamp_onto(lamp, point, normal)
    return names, wp.max(total, wp.vec3f(0.0, 0.0, 0.0)), nearest


@wp.func
def write_choice(
    chosen: wp.array2d[wp.int32], rest: wp.array[wp.vec3f], i: wp.int32, names: Names, total: wp.vec3f
):
    """Write what was chosen for a point."""
    for slot in range(chosen.shape[1]):
        chosen[i, slot] = names[slot]
    rest[i] = total


@wp.kernel
def choose_lamps(
    lamps: wp.array[Lamp],
    middle: wp.vec3d,
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    surface: Surface,
    chosen: wp.array2d[wp.int32],
    rest: wp.array[wp.vec3f],
):
    """Choose the lamps that light points most were nothing in the way (-1 for none), and sum up the rest.

    Points between two that face the same way, lie near each other for their distance to all lamps and choose
    the same ones, choose these too; their sums are interpolated, which is off by some SMALL^2 of them.
    """
    first = wp.tid() * GROUP
    end = wp.min(first + GROUP, chosen.shape[0])
    names = Names(-1)
    total = wp.vec3f(0.0, 0.0, 0.0)
    known = wp.int32(-1)
    place = wp.vec3f(0.0, 0.0, 0.0)
    reach = wp.float32(0.0)
    for i in range(first, end):
        if surface.material[i] < 0:
            known = -1
            write_choice(chosen, rest, i, Names(-1), wp.vec3f(0.0, 0.0, 0.0))
        else:
            point = wp.vec3f(origins[i * origin_step] + directions[i] * surface.distance[i] - middle)
            # The last point that lies near the known one closes the stretch.
            near = wp.bool(False)
            open_still = wp.bool(False)
            if known >= 0 and level(surface, i, known):
                near = wp.length_sq(point - place) < reach
                if near and i + 1 < end and surface.material[i + 1] >= 0:
                    after = wp.vec3f(
                        origins[(i + 1) * origin_step] + directions[i + 1] * surface.distance[i + 1] - middle
                    )
                    open_still = level(surface, i + 1, known) and wp.length_sq(after - place) < reach
            if not open_still:
                own, light, nearest = choose_at(lamps, surface, i, point, wp.vec3f(directions[i]))
                write_choice(chosen, rest, i, own, light)
                if near:
                    same = wp.bool(True)
                    for slot in range(RANKS):
                        if own[slot] != names[slot]:
                            same = False
                    for k in range(known + 1, i):
                        if same:
                            part = wp.float32(k - known) / wp.float32(i - known)
                            write_choice(chosen, rest, k, own, total * (1.0 - part) + light * part)
                        else:
                            between = wp.vec3f(
                                origins[k * origin_step] + directions[k] * surface.distance[k] - middle
                            )
                            its, others, _aside = choose_at(
                                lamps, surface, k, between, wp.vec3f(directions[k])
                            )
                            write_choice(chosen, rest, k, its, others)
                known = i
                place = point
                reach = SMALL * SMALL * nearest
                names = own
                total = light


@wp.kernel
def share_shadows(
    chosen: wp.array2d[wp.int32],
    surface: Surface,
    width: wp.int32,
    asked: wp.array2d[wp.int32],
):
    """Mark the lamps (1, else 0) that points cast a ray to.

    Where a pixel and both its neighbours in the row see one material, no step in depth and the same lamps,
    every second one casts none to the second lamp and the others none to the third: `visible_at` takes what
    their neighbours see.
    """
    i = wp.tid()
    column = i % width
    count = chosen.shape[1]
    same = wp.int32(0)
    if count > 2 and column > 0 and column < width - 1:
        same = wp.int32(1)
        for side in range(2):
            k = i - 1 + 2 * side
            step = wp.abs(surface.distance[k] - surface.distance[i])
            if surface.material[k] != surface.material[i] or step > wp.float64(0.02) * surface.distance[i]:
                same = 0
            else:
                for slot in range(count):
                    if chosen[k, slot] != chosen[i, slot]:
                        same = 0
    spared = 1 + (column + i / width) % 2
    for slot in range(count):
        asked[i, slot] = 0
        if chosen[i, slot] >= 0:
            asked[i, slot] = 1
            if same != 0 and slot == spared:
                asked[i, slot] = 0


@wp.func
def visible_at(
    asked: wp.array2d[wp.int32], visible: wp.array2d[wp.float32], i: wp.int32, slot: wp.int32
) -> wp.float32:
    """Return how much of a lamp a point sees; the mean of its neighbours where it cast no ray."""
    if asked[i, slot] != 0:
        return visible[i, slot]
    return 0.5 * (visible[i - 1, slot] + visible[i + 1, slot])


@wp.kernel
def leave_for_lamps(
    lamps: wp.array[Lamp],
    middle: wp.vec3d,
    picks: wp.array[wp.int32],
    slots: wp.int32,
    chosen: wp.array2d[wp.int32],
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    surface: Surface,
    jitter: wp.vec2f,
    next_origins: wp.array[wp.vec3d],
    next_directions: wp.array[wp.vec3d],
    next_reach: wp.array[wp.float32],
):
    """Write rays from surface points to the lamps that were chosen for them."""
    j = wp.tid()
    i = picks[j] / slots
    lamp = lamps[chosen[i, picks[j] % slots]]
    point = origins[i * origin_step] + directions[i] * surface.distance[i]
    lift = 2.0e-4 + 2.0e-6 * wp.float32(surface.distance[i])
    start = point + wp.vec3d(surface.facing[i] * lift)
    toward = lamp_toward(lamp, wp.vec3f(start - middle))
    way = wp.vec3f(toward[0], toward[1], toward[2])
    if lamp.kind == 0:
        # The disc of a sun, from its middle outwards.
        aside = wp.normalize(wp.cross(way, wp.vec3f(way[1], way[2], way[0] + 0.5)))
        way = wp.normalize(way + (aside * jitter[0] + wp.cross(way, aside) * jitter[1]) * lamp.radius)
    next_origins[j] = start
    next_directions[j] = wp.normalize(wp.vec3d(way))
    next_reach[j] = wp.max(toward[3] * 0.999 - lamp.radius * wp.where(lamp.kind == 1, 1.02, 0.0) - lift, 0.0)
    if lamp.kind == 0:
        next_reach[j] = 1.0e30


@wp.kernel
def leave_for_sky(
    picks: wp.array[wp.int32],
    count: wp.int32,
    first: wp.int32,
    width: wp.int32,
    turn: wp.int32,
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    surface: Surface,
    reach: wp.float32,
    next_origins: wp.array[wp.vec3d],
    next_directions: wp.array[wp.vec3d],
    next_reach: wp.array[wp.float32],
):
    """Write rays over the hemisphere above surface points, by the cosine; neighbours look different ways."""
    j = wp.tid()
    i = picks[j / count]
    pixel = first + i
    cell = (pixel % width) % 4 * 4 + (pixel / width) % 4
    # Even and odd cells of the 4 by 4 pattern are far apart in the sequence.
    k = ((cell * 7 + turn * 5) % 16) * count + j % count
    # The R2 sequence (Roberts 2018).
    a = wp.float32(k) * 0.7548776662
    b = wp.float32(k) * 0.5698402910 + 0.5
    a = a - wp.floor(a)
    b = b - wp.floor(b)
    n = surface.normal[i]
    aside = wp.normalize(
        wp.cross(n, wp.where(wp.abs(n[2]) < 0.9, wp.vec3f(0.0, 0.0, 1.0), wp.vec3f(1.0, 0.0, 0.0)))
    )
    radius = wp.sqrt(a)
    angle = 2.0 * PI * b
    way = (
        aside * (radius * wp.cos(angle))
        + wp.cross(n, aside) * (radius * wp.sin(angle))
        + n * wp.sqrt(1.0 - a)
    )
    lift = 2.0e-4 + 2.0e-6 * wp.float32(surface.distance[i])
    next_origins[j] = (
        origins[i * origin_step] + directions[i] * surface.distance[i] + wp.vec3d(surface.facing[i] * lift)
    )
    next_directions[j] = wp.normalize(wp.vec3d(way))
    next_reach[j] = reach


@wp.func
def color_of(
    tables: Tables, constant: wp.vec3f, row: wp.int32, uv: wp.vec2f, footprint: wp.float32
) -> wp.vec3f:
    """Return a colour of a material."""
    if row < 0:
        return constant
    value = look_up(tables, row, uv, footprint)
    return wp.vec3f(value[0], value[1], value[2])


@wp.func
def number_of(
    tables: Tables, constant: wp.float32, row: wp.int32, uv: wp.vec2f, footprint: wp.float32
) -> wp.float32:
    """Return a number of a material."""
    if row < 0:
        return constant
    return look_up_nearest_number(tables, row, uv, footprint)


@wp.func
def bumped(
    tables: Tables,
    row: wp.int32,
    uv: wp.vec2f,
    footprint: wp.float32,
    normal: wp.vec3f,
    tangent: wp.vec4f,
) -> wp.vec3f:
    """Return a normal bent by a normal map; the tangent is zero where the texture has no direction."""
    along = wp.vec3f(tangent[0], tangent[1], tangent[2])
    value = look_up_nearest(tables, row, uv, footprint)
    aside = wp.cross(normal, along) * tangent[3]
    bent = wp.normalize(along * value[0] + aside * value[1] + normal * wp.max(value[2], 0.05))
    if not (wp.dot(bent, bent) > 0.5):
        return normal
    return bent


@wp.kernel
def light_surface(
    tables: Tables,
    sky: SkyLight,
    lamps: wp.array[Lamp],
    middle: wp.vec3d,
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    surface: Surface,
    chosen: wp.array2d[wp.int32],
    asked: wp.array2d[wp.int32],
    visible: wp.array2d[wp.float32],
    rest: wp.array[wp.vec3f],
    openness: wp.array[wp.float32],
    radiance: wp.array[wp.vec3f],
):
    """Write the radiance that comes along each ray."""
    i = wp.tid()
    direction = directions[i]
    v = wp.vec3f(direction)
    if surface.material[i] < 0:
        value = wp.vec3f(0.0, 0.0, 0.0)
        if wp.dot(direction, direction) > wp.float64(0.5):
            value = sky_toward(sky, v)
            for k in range(lamps.shape[0]):
                lamp = lamps[k]
                # Of a small angle the sine is exact where the cosine is not.
                aside = wp.length(wp.cross(v, lamp.axis))
                if lamp.kind == 0 and wp.dot(v, lamp.axis) > 0.0 and aside < lamp.radius:
                    value += lamp.strength * lamp.softness
        radiance[i] = value
        return
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
    # A blended surface shows as much of its own colour as it is opaque, and all of its reflections.
    opacity = surface.opacity[i]
    look.base = look.base * opacity
    openly = openness[i % openness.shape[0]]
    ambient = wp.cw_mul(sky_onto(sky, look.normal), look.base) / PI
    ambient += mirrored(sky, look, v, look.mirror, look.roughness)
    if look.clearcoat > 0.0:
        coat = wp.vec3f(0.04, 0.04, 0.04) * look.clearcoat
        ambient += mirrored(sky, look, v, coat, look.clearcoat_roughness)
    value = ambient * openly
    emissive = color_of(tables, material.emissive, material.emissive_map, uv, footprint)
    value += emissive * (sky.emission * opacity)
    point = wp.vec3f(origins[i * origin_step] + direction * surface.distance[i] - middle)
    seen = wp.float32(0.0)
    known = wp.float32(0.0)
    for slot in range(chosen.shape[1]):
        k = chosen[i, slot]
        if k >= 0:
            lamp = lamps[k]
            toward = lamp_toward(lamp, point)
            way = wp.vec3f(toward[0], toward[1], toward[2])
            # Straight at the lamp; the reflection counts the slant of the surface.
            light = lamp.strength * lamp_onto(lamp, point, way)
            known += luminance(light)
            shown = visible_at(asked, visible, i, slot)
            seen += luminance(light) * shown
            if shown > 0.0:
                value += wp.cw_mul(light, reflected(look, v, way)) * shown
    # Of lamps that no rays were cast to as much is taken for visible as of the others.
    if seen > 0.0:
        value += wp.cw_mul(rest[i], look.base) * (seen / (known * PI))
    radiance[i] = value
