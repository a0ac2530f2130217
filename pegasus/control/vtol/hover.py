"""Flight of a VTOL on its rotors: targets of hover, attitude and forces of transitions, ends of legs."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    atan2,
    clamped,
    cos,
    dot,
    interpolate,
    length,
    maximum,
    minimum,
    norm,
    rotate,
    rotate_inverse,
    sin,
    sqrt,
    wrapped,
)
from pegasus.control.control_step import Body, lead_compensation
from pegasus.control.fixed_wing.attitude import HIGHEST_LIFT
from pegasus.control.fixed_wing.legs import BACK, DESCENT, HOVER, LINE, TRANSITION, Leg, Track
from pegasus.control.geometric import attitude_torque
from pegasus.control.mission_step import Motion
from pegasus.control.vtol.figures import VtolFigures
from pegasus.control.vtol.states import VtolGains, VtolState

DONE, TIMED_OUT = 1.0, 2.0
"""How a leg ends."""
_AIMED = 0.15
"""Heading error at which a hover ends [rad]."""
_STILL = 1.0
"""Speed at which it ends [m/s]."""
_DEPTH, _GROUNDED = 1.0, 0.2
"""Largest depth of the target below a copy [m], and speed of one that has landed [m/s]."""
_LOW = 5.0
"""Height from which a descent is slow [m]."""
_FASTER = 1.15
"""Airspeed for which what stands on its tail pitches, by that of the transition: its rotors push it on."""
_UPRIGHT = 0.3
"""Least vertical component of the rotors' axis by which their lift is found."""
_BRAKING = 1.5
"""Deceleration by which a hover is planned to stop [m/s^2]."""
_LEASH = 2.0
"""Largest distance of the target of a hover [m]."""
_TINY = 1e-6


def transition_pitch(
    own: VtolGains, p: VtolFigures, leg: Leg, forward: Real, share: Real, air_density: Real, g: Real
) -> Real:
    """Return the pitch of a transition [rad], at which the wings carry the weight as soon as they can.

    On the way back the angle of attack rises as the airspeed falls; what stands on its tail turns up to it.

    Args:
        own: Gains.
        p: Figures.
        leg: Present leg.
        forward: Airspeed along the axis of flight [m/s].
        share: Progress to flight on the wings.
        air_density: Air density [kg/m^3].
        g: Acceleration of free fall [m/s^2].
    """
    wings, last = p.plane, length(p.plane.lift) - 1
    speed = maximum(forward, _FASTER * own.transition_airspeed if p.tail else own.transition_airspeed)
    if leg.kind == BACK:
        speed = maximum(forward, 0.1 * own.transition_airspeed)
    needed = wings.mass * g / (0.5 * air_density * speed * speed)
    level = interpolate(needed, wings.lift, wings.alpha)
    if needed > wings.lift[last]:
        # The rotors hold a pitch that the surfaces do not.
        slope = (wings.alpha[last] - wings.alpha[0]) / (wings.lift[last] - wings.lift[0])
        level = minimum(level + slope * (needed - wings.lift[last]), HIGHEST_LIFT * wings.stall_alpha)
    return level + p.tail * (1.0 - share) * (p.upright - level)


def surface_force(p: VtolFigures, orientation: Quat, flow: Vec3, air_density: Real) -> Vec3:
    """Return the force of the surfaces at rest, without slip, in the world [N].

    Args:
        p: Figures.
        orientation: Attitude of the axes of flight.
        flow: Velocity through the air along them [m/s].
        air_density: Air density [kg/m^3].
    """
    alpha = atan2(-flow[2], flow[0])
    pressure = 0.5 * air_density * (flow[0] * flow[0] + flow[2] * flow[2])
    force = Vec3(interpolate(alpha, p.alpha, p.ahead), 0.0, interpolate(alpha, p.alpha, p.above))
    return rotate(orientation, force * pressure)


def carrying_forces(
    own: VtolGains,
    p: VtolFigures,
    leg: Leg,
    flying: Motion,
    by_air: Vec3,
    g: Real,
    height: Real,
    throttle: Real,
) -> tuple[Real, Real]:
    """Return the forces of the rotors along the body's z and x axes that carry what the wings do not [N].

    Args:
        own: Gains.
        p: Figures.
        leg: Present leg.
        flying: Motion of the axes of flight.
        by_air: Force of the surfaces, world [N].
        g: Acceleration of free fall [m/s^2].
        height: Height to hold [m].
        throttle: Share of the throttle of flight on the wings.
    """
    wings, q = p.plane, flying.orientation
    climbing = own.hover.position_gain[2] * (height - flying.position[2])
    climbing = clamped(climbing, -0.5 * g, 0.5 * g) - own.hover.velocity_gain[2] * flying.velocity[2]
    vertical = wings.mass * (g + clamped(climbing, -0.5 * g, 0.5 * g)) - by_air[2]
    up = rotate(q, Vec3(sin(p.upright), 0.0, cos(p.upright)))
    drive = 0.0
    if p.tail == 0.0 and leg.kind != BACK:
        nose = rotate(q, Vec3(1.0, 0.0, 0.0))
        drive = interpolate(throttle, wings.share, wings.thrust)
        if leg.kind == TRANSITION:
            level = 1.0 / sqrt(maximum(nose[0] * nose[0] + nose[1] * nose[1], 0.01))
            ahead = Vec3(nose[0] * level, nose[1] * level, 0.0)
            wanted = wings.mass * own.transition_acceleration - dot(by_air, ahead)
            drive = maximum(wanted * dot(nose, ahead) + vertical * nose[2], 0.0)
        vertical = vertical - drive * nose[2]
    return maximum(vertical, 0.0) / maximum(up[2], _UPRIGHT), drive


def turning_torque(
    own: VtolGains,
    p: VtolFigures,
    body: Body,
    heading: Real,
    bank: Real,
    pitch: Real,
    progress: Real,
    turned: Vec3,
    elapsed: Real,
) -> Vec3:
    """Return the torque of the rotors that holds an attitude of the axes of flight [N m].

    Args:
        own: Gains.
        p: Figures.
        body: The vehicle.
        heading: Heading [rad].
        bank: Bank, right side down [rad].
        pitch: Pitch, nose up [rad].
        progress: Change of `VtolState.share` in this step.
        turned: Angular velocity at the previous call [rad/s].
        elapsed: Time since the previous call [s].
    """
    c, s, up, level = cos(heading), sin(heading), sin(pitch), cos(pitch)
    x = Vec3(level * c, level * s, up)
    left, top = Vec3(-s, c, 0.0), Vec3(-up * c, -up * s, level)
    y = left * cos(bank) + top * sin(bank)
    z = top * cos(bank) - left * sin(bank)
    # From the axes of flight to those of the body.
    over, along = sin(p.upright), cos(p.upright)
    ahead, above = x * along - z * over, x * over + z * along
    rate = 0.0
    if elapsed > 0.0:
        rate = p.tail * p.upright * progress / elapsed
    q = body.orientation
    torque = attitude_torque(
        *(own.hover, body, rotate_inverse(q, ahead), rotate_inverse(q, y), rotate_inverse(q, above)),
        Vec3(0.0, rate, 0.0),
    )
    return lead_compensation(own.hover.torque_lead, body, torque, turned, elapsed)


def approached(
    own: VtolGains, leg: Leg, motion: Motion, state: VtolState, elapsed: Real
) -> tuple[Vec3, Vec3]:
    """Return target [m] and velocity [m/s] of a hover: it moves to the place of the leg, and stops there.

    It stays near the vehicle, which so flies no faster than the target after a disturbance.

    Args:
        own: Gains.
        leg: Present leg.
        motion: State of the vehicle.
        state: State of the law.
        elapsed: Time since the previous call [s].
    """
    here = state.target
    off = leg.start - here
    apart = sqrt(off[0] * off[0] + off[1] * off[1])
    speed = minimum(own.hover_speed, sqrt(2.0 * _BRAKING * apart)) / maximum(apart, _TINY)
    sinking = own.climb_speed
    if leg.kind == DESCENT and here[2] - leg.end[2] < _LOW:
        sinking = own.landing_speed
    slowing = sqrt(2.0 * _BRAKING * maximum(off[2], -off[2]))
    rise = clamped(slowing, 0.0, own.climb_speed) if off[2] > 0.0 else -clamped(slowing, 0.0, sinking)
    velocity = Vec3(speed * off[0], speed * off[1], rise)
    moved = here + velocity * elapsed - motion.position
    far = sqrt(moved[0] * moved[0] + moved[1] * moved[1])
    near = minimum(1.0, _LEASH / maximum(far, _TINY))
    leashed = Vec3(near * moved[0], near * moved[1], clamped(moved[2], -_DEPTH, _LEASH))
    return motion.position + leashed, velocity


def ended(
    own: VtolGains,
    leg: Leg,
    track: Track,
    motion: Motion,
    target: Vec3,
    nose: Vec3,
    aim: Real,
    forward: Real,
    share: Real,
    time: Real,
) -> Real:
    """Return how a leg of hover or of a transition, or the last line before one ends; 0 while it goes on.

    Args:
        own: Gains.
        leg: Present leg.
        track: Guidance along it.
        motion: State of the vehicle.
        target: Target of the hover [m].
        nose: Axis of flight in the world.
        aim: Heading of the leg [rad].
        forward: Airspeed along the axis of flight [m/s].
        share: Progress to flight on the wings.
        time: Time on this leg [s].
    """
    over = 0.0
    speed = norm(motion.velocity)
    if leg.kind == HOVER and leg.lead > 0.0 and time >= leg.radius:
        x_axis = rotate(motion.orientation, Vec3(1.0, 0.0, 0.0))
        off = wrapped(atan2(x_axis[1], x_axis[0]) - aim)
        near = norm(leg.start - motion.position) < leg.lead
        if near and speed < _STILL and off < _AIMED and off > -_AIMED:
            over = DONE
    if leg.kind == DESCENT and motion.position[2] - target[2] > 0.95 * _DEPTH and speed < _GROUNDED:
        over = DONE
    if leg.kind == TRANSITION:
        if forward >= own.transition_airspeed and share >= 1.0:
            over = DONE
        elif time > own.transition_timeout:
            over = TIMED_OUT
    level = sqrt(motion.velocity[0] * motion.velocity[0] + motion.velocity[1] * motion.velocity[1])
    if leg.kind == LINE and leg.radius > 0.0 and track.left < 0.5 * level * level / own.back_deceleration:
        over = DONE
    slow = level < own.hover_speed or forward < 0.5 * own.blend_airspeed
    if leg.kind == BACK and share <= 0.0 and (slow or time > own.transition_timeout):
        over = DONE
    return over
