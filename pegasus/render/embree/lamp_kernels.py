# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Light of suns and lamps as Warp functions, and rays from probes to them."""

import warp as wp

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.struct
class Lamp:
    """Light source: 0 distant, 1 sphere or cylinder, 2 flat and emitting along its axis.

    From its middle to its edges go `across` and `down`, a cylinder's half length and nothing, or nothing. The
    extent is the radius of a disc with its area, at a distance of 1 if it is distant. `cone` holds the factor
    and the offset that make the cosine to the axis 0 at the edge of a spot and 1 where it is whole.
    """

    kind: wp.int32
    round: wp.int32
    across: wp.vec3f
    down: wp.vec3f
    half_extent: wp.float32
    position: wp.vec3f
    axis: wp.vec3f
    strength: wp.vec3f
    softness: wp.float32
    radius: wp.float32
    cone: wp.vec2f


@wp.func
def lamp_toward(lamp: Lamp, point: wp.vec3f) -> wp.vec4f:
    """Return the unit direction to a lamp, and its distance."""
    if lamp.kind == 0:
        return wp.vec4f(lamp.axis[0], lamp.axis[1], lamp.axis[2], 1.0e30)
    way = lamp.position - point
    length = wp.max(wp.length(way), 1.0e-6)
    return wp.vec4f(way[0] / length, way[1] / length, way[2] / length, length)


@wp.kernel
def leave_probes(
    lamps: wp.array(dtype=Lamp),
    middle: wp.vec3d,
    places: wp.array(dtype=wp.vec3d),
    origins: wp.array(dtype=wp.vec3d),
    directions: wp.array(dtype=wp.vec3d),
    reach: wp.array(dtype=wp.float32),
):
    """Write rays from probes to all lamps."""
    j = wp.tid()
    place = places[j / lamps.shape[0]]
    lamp = lamps[j % lamps.shape[0]]
    toward = lamp_toward(lamp, wp.vec3f(place - middle))
    origins[j] = place
    directions[j] = wp.normalize(wp.vec3d(wp.vec3f(toward[0], toward[1], toward[2])))
    reach[j] = wp.max(toward[3] * 0.999 - lamp.radius * wp.where(lamp.kind == 1, 1.02, 0.0), 0.0)
    if lamp.kind == 0:
        reach[j] = 1.0e30
