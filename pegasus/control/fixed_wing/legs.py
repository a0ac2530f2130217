"""Legs of the flight of a plane, and guidance along them."""

from dataclasses import dataclass

from pegasus.base.step_math import Real, Vec3, clamped, maximum, minimum, norm, sqrt

STANDING, LAUNCH, CLIMB, LINE, CIRCLE, GLIDE = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
"""Kinds of legs: at rest, pushed by a catapult or a hand, climb after it, straight on, circle, approach."""
RUN = 10.0
"""Kind of the leg of a take-off run on wheels."""
HOVER, TRANSITION, BACK, DESCENT = 6.0, 7.0, 8.0, 9.0
"""Kinds of legs of VTOL: on the rotors to a place and a heading, onto the wings, back, and down."""

_NEAR = 1e-6
"""Least length of a direction [m]."""


@dataclass(frozen=True)
class Leg:
    """Part of the path of a plane."""

    kind: Real
    """Kind, such as `LINE`."""
    start: Vec3
    """Its start in the world [m]; the centre of a circle, at its height."""
    end: Vec3
    """Its end [m]."""
    radius: Real
    """Radius of a circle, above 0 counter-clockwise [m]."""
    lead: Real
    """Distance from its end at which the next one begins, at most that of the reference point [m]."""
    airspeed: Real
    """Airspeed to hold [m/s]; that of the end of a launch."""


@dataclass(frozen=True)
class Track:
    """Set-points of a plane on a leg at an instant."""

    place: Vec3
    """Nearest place of the path, at the height to hold [m]."""
    climb: Real
    """Rate of the height [m/s]."""
    sideways: Real
    """Acceleration to the left [m/s^2]."""
    left: Real
    """Distance that is left of a line [m]."""
    ahead: Real
    """Distance of the reference point along the line [m]."""


def along_line(start: Vec3, end: Vec3, position: Vec3, velocity: Vec3, reach: Real) -> Track:
    """Return the guidance along a line, whose height changes evenly from its start to its end.

    Args:
        start: Start [m].
        end: End [m].
        position: Position of the plane [m].
        velocity: Its velocity over the ground [m/s].
        reach: Distance of the reference point [m].
    """
    way = Vec3(end[0] - start[0], end[1] - start[1], 0.0)
    size = maximum(norm(way), _NEAR)
    ahead = way * (1.0 / size)
    x, y = position[0] - start[0], position[1] - start[1]
    along = x * ahead[0] + y * ahead[1]
    across = ahead[0] * y - ahead[1] * x
    lookahead = sqrt(maximum(reach * reach - across * across, 0.0))
    share = clamped(along / size, 0.0, 1.0)
    rise = end[2] - start[2]
    place = Vec3(start[0] + along * ahead[0], start[1] + along * ahead[1], start[2] + share * rise)
    point = place + ahead * lookahead
    speed = velocity[0] * ahead[0] + velocity[1] * ahead[1]
    climb = rise * speed / size if share == along / size else 0.0
    return Track(place, climb, toward(point, position, velocity, reach), size - along, lookahead)


def along_circle(center: Vec3, radius: Real, position: Vec3, velocity: Vec3, reach: Real) -> Track:
    """Return the guidance along a level circle, counter-clockwise for a radius above 0.

    Args:
        center: Centre, at the height of the circle [m].
        radius: Radius [m].
        position: Position of the plane [m].
        velocity: Its velocity over the ground [m/s].
        reach: Distance of the reference point [m].
    """
    size, sense = maximum(radius, -radius), 1.0 if radius > 0.0 else -1.0
    reach = minimum(reach, size)
    x, y = position[0] - center[0], position[1] - center[1]
    distance = maximum(sqrt(x * x + y * y), _NEAR)
    out_x, out_y = x / distance, y / distance
    # Place of the circle at the reach from the plane; from afar its nearest place.
    cosine = (size * size + distance * distance - reach * reach) / (2.0 * size * distance)
    cosine = clamped(cosine, -1.0, 1.0)
    sine = sense * sqrt(1.0 - cosine * cosine)
    point = Vec3(
        center[0] + size * (cosine * out_x - sine * out_y),
        center[1] + size * (cosine * out_y + sine * out_x),
        center[2],
    )
    place = Vec3(center[0] + size * out_x, center[1] + size * out_y, center[2])
    return Track(place, 0.0, toward(point, position, velocity, reach), 1e9, 0.0)


def toward(point: Vec3, position: Vec3, velocity: Vec3, reach: Real) -> Real:
    """Return the acceleration to the left that leads to a point on the path, 2 V^2 sin(eta) / L [m/s^2].

    With the point at a constant distance L it is the centripetal acceleration of the circle through it, and
    the deviation from a line has the frequency sqrt(2) V / L and the damping 0.707. Beyond a right angle the
    turn is the tightest one. Source: Park, Deyst and How 2004, "A New Nonlinear Guidance Logic for
    Trajectory Tracking".

    Args:
        point: The point [m].
        position: Position of the plane [m].
        velocity: Its velocity over the ground [m/s].
        reach: L of farther points [m].
    """
    x, y = point[0] - position[0], point[1] - position[1]
    square = maximum(x * x + y * y, _NEAR)
    size = sqrt(square)
    speed = sqrt(maximum(velocity[0] * velocity[0] + velocity[1] * velocity[1], _NEAR))
    # Sine and cosine of the angle, by speed and distance.
    across = velocity[0] * y - velocity[1] * x
    ahead = velocity[0] * x + velocity[1] * y
    if ahead < 0.0:
        across = speed * size if across >= 0.0 else -speed * size
    return 2.0 * speed * across / (size * minimum(size, reach))
