"""Law of a VTOL: hover, flight on the wings, and the transitions between them, as one step function."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import (
    Quat,
    Real,
    Reals,
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
    quaternion_product,
    rotate,
    rotate_inverse,
    sin,
    sqrt,
    wrapped,
)
from pegasus.base.tracing import Signal
from pegasus.control.control_step import Body, lead_compensation
from pegasus.control.fixed_wing.attitude import HIGHEST_LIFT, PlaneGains, attitude_control
from pegasus.control.fixed_wing.law import PlaneState, energy_control, is_over, replaced, tracked
from pegasus.control.fixed_wing.legs import BACK, DESCENT, HOVER, STANDING, TRANSITION, Leg
from pegasus.control.geometric import attitude_torque, geometric_law
from pegasus.control.mission_step import Motion, Setpoint
from pegasus.control.vtol.figures import WRENCH, VtolFigures

DONE, TIMED_OUT = 1.0, 2.0
"""How a leg ends."""
_AIMED = 0.15
"""Heading error at which a hover ends [rad]."""
_STILL = 1.0
"""Speed at which it ends [m/s]."""
_SUNK, _GROUNDED = 0.5, 0.2
"""Depth of the target below a copy that does not sink [m], and its speed [m/s], from which it has landed."""
_LOW = 5.0
"""Height from which a descent is slow [m]."""
_FASTER = 1.15
"""Airspeed for which what stands on its tail pitches, by that of the transition, so that its rotors push it on."""
_UPRIGHT = 0.3
"""Least vertical component of the rotors' axis by which their lift is found."""
_BRAKING = 1.5
"""Deceleration by which a hover is planned to stop [m/s^2]."""
_LEASH = 2.0
"""Largest distance of the target of a hover [m]."""
_TINY = 1e-6
_THINNEST = 0.01
"""Least air density [kg/m^3]."""
_SLOWEST = 0.2
"""Least share of the thrust that rotors are taken to have at an airspeed."""


@dataclass(frozen=True)
class VtolGains:
    """Gains and limits of `vtol_law`."""

    wings: PlaneGains
    """Those of flight on the wings."""
    hover: Any
    """Parameters of a geometric controller."""
    transition_airspeed: float
    """Airspeed from which the wings carry alone [m/s]."""
    blend_airspeed: float
    """Airspeed from which they begin to take over [m/s]."""
    transition_acceleration: float
    """Acceleration ahead [m/s^2]."""
    transition_time: float
    """Time in which it turns forward, and in which control passes between rotors and surfaces, at least [s]."""
    transition_timeout: float
    """Longest time of a transition [s]."""
    hover_speed: float
    """Largest speed over the ground in hover [m/s]."""
    climb_speed: float
    """Speed of climbs and descents in hover [m/s]."""
    landing_speed: float
    """Sink rate down to the ground [m/s]."""


@dataclass(frozen=True)
class VtolState(PlaneState):
    """State of the law of a copy."""

    hover: Vec3
    """Acceleration by the integral of the position error in hover [m/s^2]."""
    turned: Vec3
    """Angular velocity at the previous call [rad/s]."""
    target: Vec3
    """Place to be at in hover, on its way to that of the leg [m]."""
    share: Real
    """Progress from hover, 0, to flight on the wings, 1."""
    time: Real
    """Time on this leg [s]."""


def vtol_law(
    own: VtolGains,
    p: VtolFigures,
    leg: Leg,
    motion: Motion,
    wind: Vec3,
    air_density: Real,
    gravity: Vec3,
    state: VtolState,
    elapsed: Real,
) -> tuple[Reals, Setpoint, VtolState, Real, Signal, Signal]:
    """Return commands by channel, reference, state, how the leg ends, or a command not finite.

    Rotors and surfaces hold the same attitude; by airspeed the commands pass from those of the rotors to those
    of a plane. The rotors lift what the wings do not, by the model of the surfaces. See `plane_law` for the
    arguments.
    """
    # It is 0 before the first step.
    air_density = maximum(air_density, _THINNEST)
    g, still = -gravity[2], Vec3(0.0, 0.0, 0.0)
    q, frame = motion.orientation, Quat(p.frame[0], p.frame[1], p.frame[2], p.frame[3])
    # Motion of the axes of flight on the wings.
    turning = rotate_inverse(frame, motion.angular_velocity)
    flying = Motion(motion.position, quaternion_product(q, frame), motion.velocity, turning)
    through = motion.velocity - wind
    flow = rotate_inverse(flying.orientation, through)
    nose = rotate(flying.orientation, Vec3(1.0, 0.0, 0.0))
    airspeed = norm(through)
    forward = maximum(flow[0], 0.0)

    hovers, changes = 0.0, 0.0
    if leg.kind == HOVER or leg.kind == DESCENT:
        hovers = 1.0
    if leg.kind == TRANSITION or leg.kind == BACK:
        changes = 1.0
    aim = atan2(leg.end[1] - leg.start[1], leg.end[0] - leg.start[0])
    share = 0.0
    if hovers == 0.0:
        pace = elapsed / own.transition_time
        share = clamped((0.0 if leg.kind == BACK else 1.0) - state.share, -pace, pace) + state.share
    band = own.transition_airspeed - own.blend_airspeed
    by_wings = share * clamped((forward - own.blend_airspeed) / band, 0.0, 1.0)

    # Flight on the wings.
    track = tracked(own.wings, leg, motion)
    energy = PlaneState(state.airspeed, state.energy, state.balance, state.rates)
    if changes + hovers > 0.0:
        energy = PlaneState(state.airspeed, 0.0, 0.0, state.rates)
    energy = replaced(energy, airspeed if state.airspeed == 0.0 else state.airspeed)
    throttle, bank, pitch, energy = energy_control(
        own.wings, p.plane, leg, track, flying, through, air_density, g, energy, elapsed
    )
    if changes == 1.0:
        bank, pitch = 0.0, transition_pitch(own, p, leg, forward, share, air_density, g)
    deflections, rates = attitude_control(
        own.wings, p.plane, flying, through, air_density, g, bank, pitch, state.rates, elapsed
    )
    if by_wings == 0.0:
        rates = still

    # Flight on the rotors.
    target, velocity = motion.position, still
    if hovers == 1.0:
        target, velocity = approached(own, leg, motion, state, elapsed)
    dynamics = (gravity, p.max_lift, p.plane.mass, *p.inertia, 0.0, 0.0, 0.0, 0.0, 0.0)
    body = Body(motion.position, q, motion.velocity, motion.angular_velocity, *dynamics)
    setpoint = Setpoint(target, velocity, still, still, aim, 0.0)
    force, torque, hover, _ = geometric_law(own.hover, body, setpoint, state.hover, state.turned, elapsed)
    drive = 0.0
    if hovers == 0.0:
        heading = aim if changes == 1.0 else atan2(nose[1], nose[0])
        torque = turning_torque(
            own, p, body, heading, bank, pitch, share - state.share, state.turned, elapsed
        )
        lift, drive = carrying_forces(own, p, leg, flying, flow, air_density, g, track.place[2], throttle)
        force, hover = Vec3(0.0, 0.0, lift), still
        setpoint = Setpoint(track.place, still, still, still, heading, 0.0)

    command = blended(p, force[2], torque, drive, forward, by_wings, throttle, deflections)
    made = VtolState(
        *(energy.airspeed, energy.energy, energy.balance, rates),
        *(hover, motion.angular_velocity, target, share, state.time + elapsed),
    )
    over = is_over(own.wings, p.plane, leg, track, motion, airspeed)
    if hovers + changes > 0.0:
        over = ended(own, leg, motion, target, nose, aim, forward, share, state.time)
    if leg.kind == STANDING:
        over, setpoint = 0.0, Setpoint(motion.position, still, still, still, aim, 0.0)
        made = VtolState(0.0, 0.0, 0.0, still, still, still, motion.position, 0.0, 0.0)
        rotors, joints = range(length(p.thrust)), range(length(p.idle))
        command = [0.0 for _ in rotors] + [1.0 for _ in range(p.plane.brakes)] + [p.idle[k] for k in joints]
    fault = False
    for value in command:
        if value - value != 0.0:
            fault = True
    return tuple(command), setpoint, made, over, Signal(over), Signal(fault)


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


def carrying_forces(
    own: VtolGains,
    p: VtolFigures,
    leg: Leg,
    flying: Motion,
    flow: Vec3,
    air_density: Real,
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
        flow: Velocity through the air along them [m/s].
        air_density: Air density [kg/m^3].
        g: Acceleration of free fall [m/s^2].
        height: Height to hold [m].
        throttle: Share of the throttle of flight on the wings.
    """
    wings, q = p.plane, flying.orientation
    alpha = atan2(-flow[2], flow[0])
    pressure = 0.5 * air_density * (flow[0] * flow[0] + flow[2] * flow[2])
    by_air = Vec3(interpolate(alpha, p.alpha, p.ahead), 0.0, interpolate(alpha, p.alpha, p.above))
    by_air = rotate(q, by_air * pressure)
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


def blended(
    p: VtolFigures,
    lift: Real,
    torque: Vec3,
    drive: Real,
    forward: Real,
    by_wings: Real,
    throttle: Real,
    deflections: list[Real],
) -> list[Real]:
    """Return commands by channel between those of the rotors' wrench and those of flight on the wings.

    Args:
        p: Figures.
        lift: Force of the rotors along the body's z axis [N].
        torque: Their torque [N m].
        drive: Their force along its x axis [N].
        forward: Airspeed along the axis of flight [m/s].
        by_wings: Share of flight on the wings.
        throttle: Share of the throttle there.
        deflections: Angles of the joints there [rad].
    """
    wings, rotors = p.plane, range(length(p.thrust))
    yaw = clamped(torque[2], -p.yaw_limit, p.yaw_limit)
    wrench = torque[0], torque[1], yaw, lift, drive
    pushes = [
        sum_of([p.mixing[WRENCH * k + j] * wrench[j] for j in range(WRENCH)])
        for k in range(length(p.mixing) // WRENCH)
    ]
    rest = 1.0 - by_wings
    joints = [p.idle[k] + by_wings * (deflections[k] - p.idle[k]) for k in range(length(p.idle))]
    faster = forward / wings.thrust_airspeed
    speeds, tilted = [], length(p.thrust)
    for r in rotors:
        push = maximum(pushes[r], 0.0)
        k = p.tilt[r]
        if k >= 0:
            ahead = pushes[tilted]
            tilted = tilted + 1
            push = maximum(push, 0.02 * p.thrust[r])
            angle = atan2(ahead, push) * p.tilt_sense[k]
            joints[k] = p.idle[k] + rest * angle + by_wings * (wings.idle[k] - p.idle[k])
            push = sqrt(push * push + ahead * ahead)
        left = p.thrust[r] * maximum(1.0 - p.fading[r] * faster, _SLOWEST)
        lifting = minimum(push / left, 1.0) * p.rotor_speed[r] * p.rotor_speed[r]
        driving = throttle * wings.rotor_speed[r] * wings.rotor_speed[r]
        speeds = [*speeds, sqrt(rest * lifting + by_wings * driving)]
    return [*speeds, *[0.0 for _ in range(wings.brakes)], *joints]


def sum_of(values: list[Real]) -> Real:
    """Return the sum of numbers in their order."""
    total = values[0]
    for k in range(1, len(values)):
        total = total + values[k]
    return total


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
    leashed = Vec3(near * moved[0], near * moved[1], clamped(moved[2], -2.0 * _SUNK, _LEASH))
    return motion.position + leashed, velocity


def ended(
    own: VtolGains,
    leg: Leg,
    motion: Motion,
    target: Vec3,
    nose: Vec3,
    aim: Real,
    forward: Real,
    share: Real,
    time: Real,
) -> Real:
    """Return how a leg of hover or of a transition ends, 0 while it goes on.

    Args:
        own: Gains.
        leg: Present leg.
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
    if leg.kind == DESCENT and motion.position[2] - target[2] > _SUNK and speed < _GROUNDED:
        over = DONE
    if leg.kind == TRANSITION:
        if forward >= own.transition_airspeed and share >= 1.0:
            over = DONE
        elif time > own.transition_timeout:
            over = TIMED_OUT
    if leg.kind == BACK and share <= 0.0:
        level = sqrt(motion.velocity[0] * motion.velocity[0] + motion.velocity[1] * motion.velocity[1])
        if level < own.hover_speed or forward < 0.5 * own.blend_airspeed or time > own.transition_timeout:
            over = DONE
    return over
