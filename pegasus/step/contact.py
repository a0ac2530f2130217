"""Contact of a machine with surfaces: springs and dampers along the normal, Coulomb's friction across it.

A machine touches at points, each a small sphere. After a step of free flight, the impulses of one step are
found by sweeps over the points (projected Gauss-Seidel). Along the normal an impulse is that of a spring and
a damper at the end of the step, by the implicit Euler method, which takes energy at any stiffness; it never
pulls. Across it, an impulse stops the point if friction can, else it is friction times the normal one,
against the slip. A point touches one surface, the one in which it is deepest: ground, or the shape nearest
to the middle of the machine. The energy that a turn within the step would add is taken from the motion.
"""

from dataclasses import dataclass

from pegasus.base.step_math import (
    NOTHING,
    Quat,
    Real,
    Vec3,
    cross,
    dot,
    magnitude,
    maximum,
    minimum,
    normalized,
    rotate,
    rotate_inverse,
    sqrt,
)
from pegasus.model.machine import Body
from pegasus.step.integrator import attitude_rate, body_momentum, body_rate
from pegasus.step.shapes import TINY
from pegasus.step.surroundings import (
    Nearest,
    Solids,
    away_from,
    clearance,
    ground_below,
    lowest,
    nearest_shape,
    reach_on_slope,
)

SWEEPS = 5
"""Number of times that the impulses of all points are improved."""
CARRIERS = 4.0
"""Number of points by which the stiffness of a whole machine is divided."""


@dataclass(frozen=True)
class Touch:
    """Point at which a machine touches: a sphere."""

    place: Vec3
    """Its middle in the body frame [m]."""
    radius: Real
    """Radius [m]."""


@dataclass(frozen=True)
class ContactLaw:
    """Stiffness and damping of surfaces by the mass of the machine, and where it touches."""

    frequency: Real
    """Angular frequency at which a machine on its feet would swing undamped [rad/s]."""
    damping_ratio: Real
    """Damping by the critical one."""
    touches: tuple[Touch, ...]
    """Points of the machine."""
    reach: Real
    """Largest distance of these points from the origin of the body frame [m]."""


@dataclass(frozen=True)
class Flight:
    """Motion of the body frame at the end of a step."""

    position: Vec3
    """Origin in the world [m]."""
    orientation: Quat
    velocity: Vec3
    """Velocity of the origin in the world [m/s]."""
    angular_velocity: Vec3
    """Angular velocity in the body frame [rad/s]."""


@dataclass(frozen=True)
class Landed:
    """Motion at the end of a step with contact."""

    flight: Flight
    contact_force: Vec3
    """Mean force of all contacts over the step, world [N]."""
    clearance: Real
    """Distance of the body's origin from the nearest surface [m]."""


@dataclass(frozen=True)
class _Point:
    """Point of a machine at a surface, in the body frame."""

    depth: Real
    """Depth below the surface if nothing held the point up [m]."""
    normal: Vec3
    along: Vec3
    """Two directions along the surface."""
    across: Vec3
    turns: tuple[Vec3, Vec3, Vec3]
    """Torques by unit impulses in these directions [m]."""
    spins: tuple[Vec3, Vec3, Vec3]
    """Changes of the angular velocity by them [rad/s by N s]."""
    give: tuple[Real, Real]
    """Changes of the point's velocity by them, along the normal and at most across it [1/kg]."""
    speed: Real
    """Velocity along the normal if nothing held the point up [m/s]."""


def landed(
    law: ContactLaw,
    solids: Solids,
    friction: Real,
    body: Body,
    gravity: Vec3,
    start: Flight,
    end: Flight,
    dt: Real,
) -> Landed:
    """Return the motion at the end of a step with contact.

    Args:
        law: Stiffness, damping and points.
        solids: What stands around.
        friction: Coefficient of friction.
        body: Mass properties.
        gravity: Acceleration of free fall in the world [m/s^2].
        start: Motion at the start of the step.
        end: Motion at its end in free flight.
        dt: Length of the step [s].
    """
    offset = body.center_of_mass
    q, w = end.orientation, end.angular_velocity
    velocity = end.velocity + rotate(q, cross(w, offset))
    # Where the implicit Euler method would go in free flight.
    before = start.position + rotate(start.orientation, offset)
    middle = before + velocity * dt
    shape = nearest_shape(solids, end.position)
    near = False
    if solids.shapes:
        near = shape.distance < law.reach
    if solids.level is not None:
        heights = tuple(
            middle[2] + rotate(q, touch.place - offset)[2] - touch.radius - solids.level
            for touch in law.touches
        )
        near = near or lowest(heights) < 0.0
    if solids.terrain is not None:
        below = ground_below(solids, end.position)[0]
        near = near or below < reach_on_slope(solids.terrain, law.reach)
    change, turned = Vec3(NOTHING, NOTHING, NOTHING), Vec3(NOTHING, NOTHING, NOTHING)
    held = held_up(law, solids, shape, friction, body, middle, q, velocity, w, dt)
    if near:
        change, turned = held.velocity, held.angular_velocity
    new = normalized(q + attitude_rate(q, turned) * dt)
    place, moved, spin = middle + change * dt, velocity + change, w + turned
    touching = dot(change, change) + dot(turned, turned) > 0.0
    # What the turn of the machine within the step has made of energy is taken from its motion.
    work = body.mass * dot(gravity, place - (end.position + rotate(q, offset)))
    springs = stored(law, solids, shape, body, place, new)
    springs = springs - stored(law, solids, shape, body, before, start.orientation)
    left = motion_energy(body, moved, spin)
    made = left - motion_energy(body, velocity, w) - work + springs
    share = 1.0
    if made > 0.0:
        share = sqrt(maximum(1.0 - made / maximum(left, TINY), 0.0))
    flight = end
    force = Vec3(NOTHING, NOTHING, NOTHING)
    if touching:
        spin, moved = spin * share, moved * share
        arm = rotate(new, offset)
        flight = Flight(place - arm, new, moved - rotate(new, cross(spin, offset)), spin)
        force = change * (body.mass / dt)
    return Landed(flight, force, clearance(solids, shape, flight.position))


def motion_energy(body: Body, v: Vec3, w: Vec3) -> Real:
    """Return the kinetic energy [J].

    Args:
        body: Mass properties.
        v: Velocity of the centre of mass [m/s].
        w: Angular velocity, body frame [rad/s].
    """
    return 0.5 * (body.mass * dot(v, v) + dot(w, body_momentum(body, w)))


def stiffness_of(law: ContactLaw, body: Body) -> Real:
    """Return the stiffness of a point [N/m]."""
    return body.mass * law.frequency * law.frequency * (1.0 / CARRIERS)


def stored(law: ContactLaw, solids: Solids, shape: Nearest, body: Body, middle: Vec3, q: Quat) -> Real:
    """Return the energy of the springs of all points [J].

    Args:
        law: Stiffness and points.
        solids: What stands around.
        shape: Shape nearest to the machine.
        body: Mass properties.
        middle: Centre of mass in the world [m].
        q: Orientation.
    """
    total: Real = NOTHING
    for touch in law.touches:
        gap, _ = surface_at(solids, shape, middle + rotate(q, touch.place - body.center_of_mass))
        depth = maximum(touch.radius - gap, 0.0)
        total = total + depth * depth
    return 0.5 * stiffness_of(law, body) * total


def surface_at(solids: Solids, shape: Nearest, place: Vec3) -> tuple[Real, Vec3]:
    """Return the signed distance of a place from the surface in which it is deepest, and the way out of it.

    Args:
        solids: What stands around.
        shape: Shape nearest to the machine.
        place: The place in the world [m].
    """
    gap, away = ground_below(solids, place)
    if solids.shapes:
        other, out = away_from(solids, shape, place)
        if other < gap:
            gap, away = other, out
    return gap, away


@dataclass(frozen=True)
class Held:
    """Changes of a motion by contact."""

    velocity: Vec3
    """Change of the velocity of the centre of mass, world [m/s]."""
    angular_velocity: Vec3
    """Change of the angular velocity, body frame [rad/s]."""


def held_up(
    law: ContactLaw,
    solids: Solids,
    shape: Nearest,
    friction: Real,
    body: Body,
    middle: Vec3,
    q: Quat,
    velocity: Vec3,
    w: Vec3,
    dt: Real,
) -> Held:
    """Return what contact changes.

    Args:
        law: Stiffness, damping and points.
        solids: What stands around.
        shape: Shape nearest to the machine.
        friction: Coefficient of friction.
        body: Mass properties.
        middle: Centre of mass in the world if nothing held it up [m].
        q: Orientation.
        velocity: Velocity of the centre of mass, world [m/s].
        w: Angular velocity, body frame [rad/s].
        dt: Length of the step [s].
    """
    by_mass = 1.0 / body.mass
    stiffness = stiffness_of(law, body)
    damping = 2.0 * law.damping_ratio * law.frequency * body.mass * (1.0 / CARRIERS)
    spring, damper = dt * stiffness, dt * damping
    v = rotate_inverse(q, velocity)
    points = tuple(_point(touch, solids, shape, body, middle, q, v, w) for touch in law.touches)
    firm = tuple(1.0 / (1.0 + (dt * spring + damper) * point.give[0]) for point in points)
    pushes = [(0.0, 0.0, 0.0) for _ in points]
    before = v
    spin = w
    for _ in range(SWEEPS):
        for k in range(len(points)):
            point, (push, along, across) = points[k], pushes[k]
            speed = dot(point.normal, v) + dot(point.turns[0], spin)
            wanted = spring * (point.depth - dt * (speed - point.speed)) - damper * speed
            new = maximum(push + (wanted - push) * firm[k], 0.0)
            if point.depth <= 0.0:
                new = 0.0
            v = v + point.normal * ((new - push) * by_mass)
            spin = spin + point.spins[0] * (new - push)
            slip = dot(point.along, v) + dot(point.turns[1], spin)
            aside = dot(point.across, v) + dot(point.turns[2], spin)
            first, second = along - slip * point.give[1], across - aside * point.give[1]
            share = minimum(1.0, friction * new / maximum(sqrt(first * first + second * second), TINY))
            first, second = first * share, second * share
            v = v + (point.along * (first - along) + point.across * (second - across)) * by_mass
            spin = spin + point.spins[1] * (first - along) + point.spins[2] * (second - across)
            pushes[k] = (new, first, second)
    return Held(rotate(q, v - before), spin - w)


def _point(
    touch: Touch, solids: Solids, shape: Nearest, body: Body, middle: Vec3, q: Quat, v: Vec3, w: Vec3
) -> _Point:
    """Return a point at the surface in which it is deepest."""
    arm = touch.place - body.center_of_mass
    place = middle + rotate(q, arm)
    gap, away = surface_at(solids, shape, place)
    normal = rotate_inverse(q, away)
    arm = arm - normal * touch.radius
    along, across = tangents(normal)
    directions = normal, along, across
    turns = tuple(cross(arm, direction) for direction in directions)
    spins = tuple(body_rate(body, turn) for turn in turns)
    by_mass = 1.0 / body.mass
    give = tuple(by_mass + dot(turn, spin) for turn, spin in zip(turns, spins, strict=True))
    most = maximum(give[1], give[2]) + magnitude(dot(turns[1], spins[2]))
    return _Point(
        touch.radius - gap,
        normal,
        along,
        across,
        (turns[0], turns[1], turns[2]),
        (spins[0], spins[1], spins[2]),
        (give[0], 1.0 / most),
        dot(normal, v) + dot(turns[0], w),
    )


def tangents(n: Vec3) -> tuple[Vec3, Vec3]:
    """Return two unit vectors across a unit vector and each other.

    Source: Duff et al. 2017, "Building an orthonormal basis, revisited".

    Args:
        n: The unit vector.
    """
    sign = 1.0
    if n[2] < 0.0:
        sign = -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return Vec3(1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), Vec3(b, sign + n[1] * n[1] * a, -n[1])
