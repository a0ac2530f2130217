"""Force and torque of the elements and the drag of a machine at an instant."""

from collections.abc import Sequence
from dataclasses import dataclass

from pegasus.base.step_math import NOTHING, Quat, Real, Reals, Vec3, cross, dot, rotate, rotate_inverse
from pegasus.dynamics.ground_effect import ceiling_gain, ceiling_ratio, hover_share, thrust_ratio
from pegasus.dynamics.slipstream import stream_speed
from pegasus.model.machine import Element, Machine, Proximity, Surface
from pegasus.step.values import Air, Effects, Planes, VariedAir

NO_VECTOR = Vec3(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class Flow:
    """Motion of a machine relative to the air, in the body frame."""

    through: Vec3
    """Velocity of the centre of mass relative to the wind, world [m/s]."""
    velocity: Vec3
    """The same in the body frame, relative to air that turns [m/s]."""
    gust_rate: Vec3
    """Angular velocity of the air [rad/s]."""
    wake: tuple[Vec3, ...]
    """Velocity of the air at each element beyond that [m/s]."""
    density: Real
    """Air density [kg/m^3]."""


@dataclass(frozen=True)
class Loads:
    """Wrench of the elements, that of drag and surfaces, and the powers of the shafts."""

    rotor_force: Vec3
    """Force of the elements, body frame [N]."""
    rotor_torque: Vec3
    """Their torque about the centre of mass, body frame [N m]."""
    drag_force: Vec3
    """Force of drag and surfaces, body frame [N]."""
    drag_torque: Vec3
    """Their torque about the centre of mass, body frame [N m]."""
    shaft_torque: Reals
    """Torque of the air against the turning of each shaft [N m]."""
    shaft_power: Real
    """Power that the air takes from all shafts [W]."""


def flow_of(machine: Machine, air: Air, effects: Effects, q: Quat, v: Vec3) -> Flow:
    """Return the motion of a machine relative to the air.

    Args:
        machine: The machine.
        air: Air of the step.
        effects: What faults do to the machine.
        q: Attitude.
        v: Velocity of the centre of mass, world [m/s].
    """
    through = v - (air.wind + effects.wind_shock)
    velocity = rotate_inverse(q, through)
    if not isinstance(air, VariedAir):
        wake = tuple(NO_VECTOR for _ in machine.elements)
        return Flow(through, velocity, NO_VECTOR, wake, air.air_density)
    rate = rotate_inverse(q, air.gust_rate)
    wake = tuple(rotate_inverse(q, blown) for blown in air.wake)
    velocity = velocity - cross(rate, machine.body.center_of_mass)
    return Flow(through, velocity, rate, wake, air.air_density)


def loads_of(
    machine: Machine,
    thrust_share: Reals,
    torque_share: Reals,
    planes: Planes | None,
    flow: Flow,
    x: Vec3,
    q: Quat,
    w: Vec3,
    speeds: Reals,
    angles: Reals,
) -> Loads:
    """Return the loads at an instant.

    Args:
        machine: The machine, as its joints have turned its parts.
        thrust_share: Shares of the force and the torque of each element.
        torque_share: Likewise.
        planes: Planes below and above the elements, for a machine with `proximity`.
        flow: Its motion relative to the air.
        x: Centre of mass in the world [m].
        q: Attitude.
        w: Angular velocity, body frame [rad/s].
        speeds: Speeds of the shafts [rad/s].
        angles: Angles of the joints [rad].
    """
    force = NO_VECTOR
    moment = NO_VECTOR
    power: Real = NOTHING
    shaft_torque = []
    thrusts = []
    heights: Reals = ()
    gaps: Reals = ()
    if planes is not None:
        heights = heights_over(machine, x, q, planes.ground_normal, planes.ground_offset)
        gaps = heights_over(machine, x, q, planes.ceiling_normal, planes.ceiling_offset)
    for j in range(len(machine.elements)):
        element = machine.elements[j]
        pushed, turned = element_wrench(element, speeds[j], flow, flow.wake[j], w)
        pushed = pushed * thrust_share[j]
        turned = turned * torque_share[j]
        if planes is not None:
            ratio = surface_ratio(machine, planes, flow, heights, gaps, q, j, pushed[2])
            pushed = Vec3(pushed[0], pushed[1], pushed[2] * ratio)
        power = power + turned[2] * speeds[j]
        shaft_torque.append(turned[2])
        thrusts.append(pushed[2])
        pull = in_body(element, pushed)
        force = force + pull
        # The body feels the reaction to the torque that turns the shaft.
        reaction = Vec3(turned[0], turned[1], -(element.sense * turned[2]))
        moment = moment + cross(element.position, pull) + in_body(element, reaction)
    resistance, damping = drag_wrench(machine, flow, w, speeds)
    for surface in machine.surfaces:
        lift, bend = surface_wrench(machine, surface, flow, w, angles, thrusts)
        resistance = resistance + lift
        damping = damping + cross(surface.position, lift) + bend
    return Loads(force, moment, resistance, damping, tuple(shaft_torque), power)


def in_body(part: Element | Surface, v: Vec3) -> Vec3:
    """Return a vector of a part's frame in the body frame."""
    return part.x * v[0] + part.y * v[1] + part.z * v[2]


def in_frame(part: Element | Surface, v: Vec3) -> Vec3:
    """Return a vector of the body frame in a part's frame."""
    return Vec3(dot(part.x, v), dot(part.y, v), dot(part.z, v))


def element_wrench(element: Element, speed: Real, flow: Flow, wake: Vec3, w: Vec3) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque [N m] of an element in its frame."""
    velocity = flow.velocity + cross(w - flow.gust_rate, element.position) - wake
    through = in_frame(element, velocity)
    force, torque = element.air.law(element.air.parameters, speed, through, flow.density)
    return force, torque


def surface_wrench(
    machine: Machine, surface: Surface, flow: Flow, w: Vec3, angles: Reals, thrusts: Sequence[Real]
) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque about its reference point [N m] of a surface, body frame.

    The velocity of the air is the mean at the elements, as far as it differs between them, and that of the
    streams in which the surface stands.
    """
    turning = w - flow.gust_rate
    velocity = flow.velocity + cross(turning, surface.position) - mean_wake(flow)
    for stream in surface.streams:
        element, thrust = machine.elements[stream.element], thrusts[stream.element]
        inflow = dot(element.z, flow.velocity + cross(turning, element.position))
        added = stream_speed(thrust, inflow, flow.density, stream.radius, stream.distance)
        velocity = velocity + element.z * added
    air, deflections = surface.air, tuple(angles[k] for k in surface.controls)
    force, torque = air.law(
        air.parameters, in_frame(surface, velocity), in_frame(surface, turning), deflections, flow.density
    )
    return in_body(surface, force), in_body(surface, torque)


def drag_wrench(machine: Machine, flow: Flow, w: Vec3, speeds: Reals) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque about the centre of mass [N m] of the drag, body frame.

    The velocity of the air is the mean at the elements, as far as it differs between them.
    """
    if machine.drag is None:
        return NO_VECTOR, NO_VECTOR
    velocity = flow.velocity - cross(flow.gust_rate, machine.middle - machine.body.center_of_mass)
    velocity = velocity - mean_wake(flow)
    force, torque = machine.drag.law(machine.drag.parameters, velocity, w, speeds, flow.density)
    return force, torque


def mean_wake(flow: Flow) -> Vec3:
    """Return the mean of the air's velocity at the elements beyond that of the flow [m/s]."""
    mean = NO_VECTOR
    for blown in flow.wake:
        mean = mean + blown
    return mean * (1.0 / len(flow.wake)) if flow.wake else mean


def heights_over(
    machine: Machine, x: Vec3, q: Quat, normals: tuple[Vec3, ...], offsets: Reals
) -> tuple[Real, ...]:
    """Return the distances of the elements from planes [m]."""
    heights = []
    for j in range(len(machine.elements)):
        center = x + rotate(q, machine.elements[j].position)
        heights.append(dot(center, normals[j]) - offsets[j])
    return tuple(heights)


def surface_ratio(
    machine: Machine, planes: Planes, flow: Flow, heights: Reals, gaps: Reals, q: Quat, j: int, thrust: Real
) -> Real:
    """Return the ratio of a rotor's thrust with to its thrust without ground and ceiling effect."""
    near = machine.proximity
    assert near is not None
    axis = rotate(q, machine.elements[j].z)
    p = near.upwash.parameters
    count = len(machine.elements)
    upwash = near.upwash.law(p, heights, near.apart, j, count, near.radius, near.span)
    share = share_along(near, flow.through, planes.ground_normal[j], thrust, flow.density)
    ratio = thrust_ratio(upwash, dot(axis, planes.ground_normal[j]), share)
    if p.ceilings:
        normal = planes.ceiling_normal[j]
        gain = ceiling_gain(gaps[j], near.radius, p.least_gap)
        share = share_along(near, flow.through, normal, thrust, flow.density)
        ratio = ratio * ceiling_ratio(gain, -dot(axis, normal), share)
    return ratio


def share_along(near: Proximity, through_air: Vec3, normal: Vec3, thrust: Real, density: Real) -> Real:
    """Return the fraction of the effect of a surface that is left at the speed along it."""
    climb = dot(through_air, normal)
    level = dot(through_air, through_air) - climb * climb
    return hover_share(thrust, level, density, near.radius)
