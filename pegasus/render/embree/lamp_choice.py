# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that choose the suns and lamps that light surface points most."""

import warp as wp

from pegasus.render.embree.irradiance_kernels import Probes, Volume, ambient_toward, probes_at
from pegasus.render.embree.lamp_kernels import Lamp
from pegasus.render.embree.lamp_ranking import rank_lamps
from pegasus.render.embree.reflection import SkyLight, luminance
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})

GROUP = wp.constant(64)
STEP = wp.constant(4)
SPAN = wp.constant(128)
"""Number of points of one task: Warp copies all arguments for each."""
SMALL = wp.constant(wp.float32(0.06))
GLOSS = wp.constant(wp.float32(10.0))
RANKS = wp.constant(3)
Names = wp.types.vector(length=3, dtype=wp.int32)


@wp.func
def level(surface: Surface, i: wp.int32, k: wp.int32) -> wp.bool:
    """Return whether the normals of two points have nearly the same direction."""
    bend = wp.min(wp.dot(surface.normal[i], surface.normal[k]), wp.dot(surface.facing[i], surface.facing[k]))
    return bend > 0.98


@wp.struct
class Lights:
    """Lights of a scene: suns and lamps as rows and as columns for their ranking, sky, and probes."""

    lamps: wp.array(dtype=Lamp)
    columns: wp.array2d(dtype=wp.float32)
    sky: SkyLight
    volume: Volume
    middle: wp.vec3d


@wp.struct
class Choice:
    """Lamps chosen for points (-1 for none), all other light, and how far it can be interpolated, squared.

    The other light is the irradiance by the other lamps, the sky and surfaces, and that of the mirrored
    direction with its visible part of the sky.
    """

    lamps: wp.array2d(dtype=wp.int32)
    rest: wp.array(dtype=wp.vec3f)
    around: wp.array(dtype=wp.vec4f)
    reach: wp.array(dtype=wp.float32)


@wp.func
def place_of(
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    i: wp.int32,
) -> wp.vec3f:
    """Return a surface point relative to the middle of the lamps."""
    return wp.vec3f(origins[i * origin_step] + directions[i] * surface.distance[i] - lights.middle)


@wp.func
def choose_at(
    materials: wp.array(dtype=SurfaceMaterial),
    lights: Lights,
    surface: Surface,
    i: wp.int32,
    point: wp.vec3f,
    v: wp.vec3f,
    choice: Choice,
):
    """Write the choice of a point, and return its lamps."""
    normal = surface.normal[i]
    facing = surface.facing[i]
    passes = materials[surface.material[i]].passes
    mirrored_way = v - normal * (2.0 * wp.dot(normal, v))
    probes = Probes(0.0)
    if lights.volume.spacing > 0.0:
        probes = probes_at(lights.volume, point, facing)
    ranking = rank_lamps(
        lights.columns, lights.volume, probes, point, normal, facing, passes, mirrored_way, GLOSS
    )
    total = wp.vec3f(ranking[6], ranking[7], ranking[8])
    nearest = ranking[9]
    if lights.volume.spacing > 0.0:
        # As close to each other as probes must be to differ little.
        close = 0.5 * lights.volume.spacing / SMALL
        nearest = wp.min(nearest, close * close)
    # Lamps with a small contribution are not traced.
    names = Names(-1)
    rest = total
    least = 0.02 * luminance(total)
    for slot in range(RANKS):
        if ranking[3 + slot] > 0.0 and ranking[3 + slot] >= least:
            names[slot] = wp.int32(ranking[slot])
            rest -= lights.lamps[names[slot]].strength * ranking[10 + slot]
    # Sorted by index, so that neighbours with the same lamps have them in the same slots.
    for _ in range(RANKS - 1):
        for slot in range(RANKS - 1):
            before = names[slot]
            after = names[slot + 1]
            if after >= 0 and (before < 0 or after < before):
                names[slot] = after
                names[slot + 1] = before
    rest = wp.max(rest, wp.vec3f(0.0, 0.0, 0.0))
    onto = ambient_toward(lights.volume, lights.sky, probes, normal)
    if passes > 0.0:
        onto += ambient_toward(lights.volume, lights.sky, probes, -normal) * passes
    for slot in range(choice.lamps.shape[1]):
        choice.lamps[i, slot] = names[slot]
    choice.rest[i] = rest + wp.vec3f(onto[0], onto[1], onto[2])
    choice.around[i] = ambient_toward(lights.volume, lights.sky, probes, mirrored_way)
    choice.reach[i] = SMALL * SMALL * nearest


@wp.func
def same_lamps(choice: Choice, i: wp.int32, k: wp.int32) -> wp.bool:
    """Return whether two points have chosen the same lamps."""
    same = wp.bool(True)
    for slot in range(choice.lamps.shape[1]):
        if choice.lamps[i, slot] != choice.lamps[k, slot]:
            same = False
    return same


@wp.func
def interpolate(choice: Choice, i: wp.int32, a: wp.int32, b: wp.int32, part: wp.float32):
    """Write the choice of a point between two others that have chosen the same lamps."""
    for slot in range(choice.lamps.shape[1]):
        choice.lamps[i, slot] = choice.lamps[a, slot]
    choice.rest[i] = choice.rest[a] * (1.0 - part) + choice.rest[b] * part
    choice.around[i] = choice.around[a] * (1.0 - part) + choice.around[b] * part
    choice.reach[i] = choice.reach[a]


@wp.func
def between_rows(
    materials: wp.array(dtype=SurfaceMaterial),
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
    i: wp.int32,
    point: wp.vec3f,
    a: wp.int32,
    b: wp.int32,
    part: wp.float32,
) -> wp.bool:
    """Write the choice of a point between one above and one below if these determine it."""
    if surface.material[a] < 0 or surface.material[b] < 0 or not same_lamps(choice, a, b):
        return False
    passes = materials[surface.material[i]].passes
    if materials[surface.material[a]].passes != passes or materials[surface.material[b]].passes != passes:
        return False
    if not level(surface, i, a) or not level(surface, a, b):
        return False
    one = place_of(lights, origins, origin_step, directions, surface, a)
    two = place_of(lights, origins, origin_step, directions, surface, b)
    if wp.max(wp.length_sq(point - one), wp.length_sq(two - one)) > choice.reach[a]:
        return False
    interpolate(choice, i, a, b, part)
    return True


@wp.kernel
def choose_lamps(
    materials: wp.array(dtype=SurfaceMaterial),
    lights: Lights,
    width: wp.int32,
    between: wp.int32,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
):
    """Choose the lamps with the strongest light at the points of some rows, and sum up all other light.

    Two points that have nearly the same normal, are close to each other relative to the distances of all
    lamps and choose the same lamps determine the points between them: these choose the same lamps, and their
    sums are interpolated, with a relative error of some SMALL^2. Rows 0, STEP, 2 STEP, ... and the last one
    come first; then, if `between` is 1, the others, whose points may lie between points above and below.
    """
    groups = (width + GROUP - 1) / GROUP
    last = choice.rest.shape[0] / width - 1
    row = wp.tid() / groups
    if between == 0:
        row = wp.min(row * STEP, last)
    below = wp.min((row / STEP + 1) * STEP, last)
    if between != 0 and (row % STEP == 0 or row == last):
        return
    part = wp.float32(row % STEP) / wp.float32(wp.max(below - row + row % STEP, 1))
    column = wp.tid() % groups * GROUP
    first = row * width + column
    end = row * width + wp.min(column + GROUP, width)
    known = wp.int32(-1)
    place = wp.vec3f(0.0, 0.0, 0.0)
    for i in range(first, end):
        if surface.material[i] < 0:
            known = -1
            for slot in range(choice.lamps.shape[1]):
                choice.lamps[i, slot] = -1
        else:
            point = place_of(lights, origins, origin_step, directions, surface, i)
            done = wp.bool(False)
            if between != 0:
                a = i - row % STEP * width
                b = i + (below - row) * width
                done = between_rows(
                    materials,
                    lights,
                    origins,
                    origin_step,
                    directions,
                    surface,
                    choice,
                    i,
                    point,
                    a,
                    b,
                    part,
                )
            # The last point near the reference point ends the interval.
            near = wp.bool(False)
            open_still = wp.bool(False)
            if known >= 0 and level(surface, i, known):
                near = wp.length_sq(point - place) < choice.reach[known]
                if near and not done and i + 1 < end and surface.material[i + 1] >= 0:
                    after = place_of(lights, origins, origin_step, directions, surface, i + 1)
                    open_still = (
                        level(surface, i + 1, known) and wp.length_sq(after - place) < choice.reach[known]
                    )
            if not open_still:
                if not done:
                    choose_at(materials, lights, surface, i, point, wp.vec3f(directions[i]), choice)
                if near:
                    same = same_lamps(choice, i, known)
                    for k in range(known + 1, i):
                        if same:
                            along = wp.float32(k - known) / wp.float32(i - known)
                            interpolate(choice, k, known, i, along)
                        else:
                            inner = place_of(lights, origins, origin_step, directions, surface, k)
                            choose_at(materials, lights, surface, k, inner, wp.vec3f(directions[k]), choice)
                known = i
                place = point
