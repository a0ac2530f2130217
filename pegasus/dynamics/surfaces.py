"""Ground and ceiling effect on the rotors of a vehicle, as functions of its step."""

from pegasus.base.step_math import Quat, Real, Vec3, dot, rotate
from pegasus.dynamics.ground_effect import ceiling_gain, ceiling_ratio, hover_share, thrust_ratio
from pegasus.dynamics.plant_rows import PlantRows, ground_upwash


def find_heights(i: int, rows: PlantRows, x: Vec3, q: Quat) -> None:
    """Set the distances of the rotors from the surfaces below and above them."""
    kind = rows.kind[i]
    for j in range(rows.airframe[kind].rotor_count):
        center = x + rotate(q, rows.rotor_position[kind, j])
        rows.height[i, j] = dot(center, rows.ground_normal[i, j]) - rows.ground_offset[i, j]
        rows.gap[i, j] = dot(center, rows.ceiling_normal[i, j]) - rows.ceiling_offset[i, j]


def ground_ratio(i: int, rows: PlantRows, j: int, q: Quat, through_air: Vec3, thrust: Real) -> Real:
    """Return the ratio of a rotor's thrust with to its thrust without ground and ceiling effect."""
    kind = rows.kind[i]
    frame = rows.airframe[kind]
    upwash = ground_upwash(
        rows,
        kind,
        frame.ground_effect,
        rows.height[i],
        rows.rotor_apart[kind],
        j,
        frame.rotor_count,
        frame.rotor_radius,
        frame.span,
    )
    normal = rows.ground_normal[i, j]
    facing = dot(rotate(q, rows.rotor_z[kind, j]), normal)
    climb = dot(through_air, normal)
    level = dot(through_air, through_air) - climb * climb
    share = hover_share(thrust, level, rows.air_density[i], frame.rotor_radius)
    ratio = thrust_ratio(upwash, facing, share)
    if rows.image_sources[kind].ceilings:
        normal = rows.ceiling_normal[i, j]
        gain = ceiling_gain(rows.gap[i, j], frame.rotor_radius, rows.image_sources[kind].least_gap)
        climb = dot(through_air, normal)
        level = dot(through_air, through_air) - climb * climb
        share = hover_share(thrust, level, rows.air_density[i], frame.rotor_radius)
        ratio = ratio * ceiling_ratio(gain, -dot(rotate(q, rows.rotor_z[kind, j]), normal), share)
    return ratio
