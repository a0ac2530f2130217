# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that choose suns and lamps for surface points, and generate shadow rays."""

import warp as wp

from pegasus.render.embree.irradiance_kernels import (
    Rows,
    Volume,
    Weights,
    ambient_toward,
    lamp_seen,
    probes_at,
)
from pegasus.render.embree.reflection import SkyLight, luminance
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.struct
class Lamp:
    """Light source: 0 distant, 1 sphere, 2 flat and emitting along its axis."""

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
    """Return the irradiance of a surface per unit of a lamp's strength, by the shading normal only.

    A surface that faces the lamp gets exactly pi L r^2 / d^2 from a sphere, and L A / (d^2 + A / pi) from a
    disk on its axis.
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
def lamp_value(
    lamp: Lamp, point: wp.vec3f, normal: wp.vec3f, facing: wp.vec3f, passes: wp.float32
) -> wp.float32:
    """Return the irradiance of a surface per unit of a lamp's strength.

    A lamp behind the surface counts by the part that the surface passes on.
    """
    way = lamp.axis
    if lamp.kind != 0:
        way = lamp.position - point
    if wp.dot(facing, way) > 0.0:
        return lamp_onto(lamp, point, normal)
    if passes > 0.0:
        return passes * lamp_onto(lamp, point, -normal)
    return 0.0


@wp.func
def ranked(names: Names, values: Values, name: wp.int32, value: wp.float32):
    """Insert a lamp into the sorted list of the brightest lamps and their values."""
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
    lamps: wp.array(dtype=Lamp),
    volume: Volume,
    rows: Rows,
    weights: Weights,
    inside: wp.float32,
    point: wp.vec3f,
    normal: wp.vec3f,
    facing: wp.vec3f,
    passes: wp.float32,
    mirrored_way: wp.vec3f,
):
    """Return the lamps with the strongest light at a point, and their values.

    Lamps count by the part that probes see of them; those whose mirror reflection is visible on a glossy
    surface take precedence. Also return the light of all lamps together as probes see it, and the squared
    distance to the nearest one.
    """
    names = Names(-1)
    values = Values(0.0)
    total = wp.vec3f(0.0, 0.0, 0.0)
    nearest = wp.float32(1.0e30)
    for k in range(lamps.shape[0]):
        lamp = lamps[k]
        if lamp.kind != 0:
            nearest = wp.min(nearest, wp.length_sq(lamp.position - point))
        share = lamp_value(lamp, point, normal, facing, passes)
        if share > 0.0:
            seen = lamp_seen(volume, rows, weights, inside, k)
            total += lamp.strength * (share * seen)
            # Probes may miss what a gap lets through.
            value = luminance(lamp.strength) * share * (0.1 + 0.9 * seen)
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
    """Return whether the normals of two points have nearly the same direction."""
    bend = wp.min(wp.dot(surface.normal[i], surface.normal[k]), wp.dot(surface.facing[i], surface.facing[k]))
    return bend > 0.98


@wp.func
def choose_at(
    materials: wp.array(dtype=SurfaceMaterial),
    lamps: wp.array(dtype=Lamp),
    sky: SkyLight,
    volume: Volume,
    surface: Surface,
    i: wp.int32,
    point: wp.vec3f,
    v: wp.vec3f,
):
    """Return the lamps to trace (-1 for none), all other light, and the distance to the nearest lamp.

    The other light is the irradiance by the other lamps, the sky and surfaces, and that of the mirrored
    direction with its visible part of the sky.
    """
    normal = surface.normal[i]
    passes = materials[surface.material[i]].passes
    mirrored_way = v - normal * (2.0 * wp.dot(normal, v))
    rows = Rows(0)
    weights = Weights(0.0)
    inside = wp.float32(0.0)
    if volume.spacing > 0.0:
        rows, weights, inside = probes_at(volume, point, surface.facing[i])
    names, values, total, nearest = rank_lamps(
        lamps, volume, rows, weights, inside, point, normal, surface.facing[i], passes, mirrored_way
    )
    if volume.spacing > 0.0:
        # As close to each other as probes must be to differ little.
        close = 0.25 * volume.spacing / SMALL
        nearest = wp.min(nearest, close * close)
    # Lamps with a small contribution are not traced.
    least = 0.02 * luminance(total)
    for slot in range(RANKS):
        if names[slot] >= 0 and values[slot] < least:
            names[slot] = -1
    # Sorted by index, so that neighbours with the same lamps have them in the same slots.
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
            seen = lamp_seen(volume, rows, weights, inside, names[slot])
            total -= lamp.strength * (lamp_value(lamp, point, normal, surface.facing[i], passes) * seen)
    total = wp.max(total, wp.vec3f(0.0, 0.0, 0.0))
    onto = ambient_toward(volume, sky, rows, weights, inside, normal)
    if passes > 0.0:
        onto += ambient_toward(volume, sky, rows, weights, inside, -normal) * passes
    around = ambient_toward(volume, sky, rows, weights, inside, mirrored_way)
    return names, total + wp.vec3f(onto[0], onto[1], onto[2]), around, nearest


@wp.func
def write_choice(
    chosen: wp.array2d(dtype=wp.int32),
    rest: wp.array(dtype=wp.vec3f),
    around: wp.array(dtype=wp.vec4f),
    i: wp.int32,
    names: Names,
    total: wp.vec3f,
    aside: wp.vec4f,
):
    """Write the lamps chosen for a point."""
    for slot in range(chosen.shape[1]):
        chosen[i, slot] = names[slot]
    rest[i] = total
    around[i] = aside


@wp.kernel
def choose_lamps(
    materials: wp.array(dtype=SurfaceMaterial),
    lamps: wp.array(dtype=Lamp),
    sky: SkyLight,
    volume: Volume,
    middle: wp.vec3d,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    chosen: wp.array2d(dtype=wp.int32),
    rest: wp.array(dtype=wp.vec3f),
    around: wp.array(dtype=wp.vec4f),
):
    """Choose the lamps with the strongest light at points (-1 for none), and sum up all other light.

    Two points that have nearly the same normal, are close to each other relative to the distances of all
    lamps and choose the same lamps determine the points between them: these choose the same lamps, and their
    sums are interpolated, with a relative error of some SMALL^2.
    """
    first = wp.tid() * GROUP
    end = wp.min(first + GROUP, chosen.shape[0])
    names = Names(-1)
    total = wp.vec3f(0.0, 0.0, 0.0)
    aside = wp.vec4f(0.0, 0.0, 0.0, 0.0)
    known = wp.int32(-1)
    place = wp.vec3f(0.0, 0.0, 0.0)
    reach = wp.float32(0.0)
    for i in range(first, end):
        if surface.material[i] < 0:
            known = -1
            write_choice(
                chosen, rest, around, i, Names(-1), wp.vec3f(0.0, 0.0, 0.0), wp.vec4f(0.0, 0.0, 0.0, 0.0)
            )
        else:
            point = wp.vec3f(origins[i * origin_step] + directions[i] * surface.distance[i] - middle)
            # The last point near the reference point ends the interval.
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
                own, light, shine, nearest = choose_at(
                    materials, lamps, sky, volume, surface, i, point, wp.vec3f(directions[i])
                )
                write_choice(chosen, rest, around, i, own, light, shine)
                if near:
                    same = wp.bool(True)
                    for slot in range(RANKS):
                        if own[slot] != names[slot]:
                            same = False
                    for k in range(known + 1, i):
                        if same:
                            part = wp.float32(k - known) / wp.float32(i - known)
                            mean = total * (1.0 - part) + light * part
                            write_choice(
                                chosen, rest, around, k, own, mean, aside * (1.0 - part) + shine * part
                            )
                        else:
                            between = wp.vec3f(
                                origins[k * origin_step] + directions[k] * surface.distance[k] - middle
                            )
                            its, others, gleam, _distance = choose_at(
                                materials, lamps, sky, volume, surface, k, between, wp.vec3f(directions[k])
                            )
                            write_choice(chosen, rest, around, k, its, others, gleam)
                known = i
                place = point
                reach = SMALL * SMALL * nearest
                names = own
                total = light
                aside = shine


@wp.kernel
def share_shadows(
    chosen: wp.array2d(dtype=wp.int32),
    surface: Surface,
    width: wp.int32,
    asked: wp.array2d(dtype=wp.int32),
):
    """Mark the lamps (1, else 0) to which points cast a ray.

    Where a pixel and both its neighbours in the row have the same material and lamps, and no step in depth,
    even and odd pixels skip the second and the third lamp alternately: `visible_at` uses the visibility of
    the neighbours.
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
    asked: wp.array2d(dtype=wp.int32), visible: wp.array2d(dtype=wp.float32), i: wp.int32, slot: wp.int32
) -> wp.float32:
    """Return the visible fraction of a lamp at a point; the mean of its neighbours if it cast no ray."""
    if asked[i, slot] != 0:
        return visible[i, slot]
    return 0.5 * (visible[i - 1, slot] + visible[i + 1, slot])


@wp.kernel
def leave_for_lamps(
    lamps: wp.array(dtype=Lamp),
    middle: wp.vec3d,
    picks: wp.array(dtype=wp.int32),
    slots: wp.int32,
    chosen: wp.array2d(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    jitter: wp.vec2f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
):
    """Write rays from surface points to their chosen lamps."""
    j = wp.tid()
    i = picks[j] / slots
    lamp = lamps[chosen[i, picks[j] % slots]]
    point = origins[i * origin_step] + directions[i] * surface.distance[i]
    lift = 2.0e-4 + 2.0e-6 * wp.float32(surface.distance[i])
    side = surface.facing[i]
    toward = lamp_toward(lamp, wp.vec3f(point - middle))
    if wp.dot(side, wp.vec3f(toward[0], toward[1], toward[2])) < 0.0:
        # Light from behind a leaf.
        side = -side
    start = point + wp.vec3d(side * lift)
    toward = lamp_toward(lamp, wp.vec3f(start - middle))
    way = wp.vec3f(toward[0], toward[1], toward[2])
    if lamp.kind == 0:
        # Samples on the disc of a sun, from its centre outwards.
        aside = wp.normalize(wp.cross(way, wp.vec3f(way[1], way[2], way[0] + 0.5)))
        way = wp.normalize(way + (aside * jitter[0] + wp.cross(way, aside) * jitter[1]) * lamp.radius)
    next_origins[j] = start
    next_directions[j] = wp.normalize(wp.vec3d(way))
    next_reach[j] = wp.max(toward[3] * 0.999 - lamp.radius * wp.where(lamp.kind == 1, 1.02, 0.0) - lift, 0.0)
    if lamp.kind == 0:
        next_reach[j] = 1.0e30
