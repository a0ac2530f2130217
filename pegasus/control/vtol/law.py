"""Law of a VTOL: hover, flight on the wings, and the transitions between them, as one step function."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Reals,
    Vec3,
    atan2,
    clamped,
    length,
    maximum,
    minimum,
    norm,
    quaternion_product,
    rotate,
    rotate_inverse,
    sqrt,
)
from pegasus.base.tracing import Signal
from pegasus.control.control_step import Body
from pegasus.control.fixed_wing.attitude import attitude_control
from pegasus.control.fixed_wing.law import PlaneState, energy_control, is_over, replaced, tracked
from pegasus.control.fixed_wing.legs import BACK, DESCENT, HOVER, LINE, STANDING, TRANSITION, Leg
from pegasus.control.geometric import geometric_law
from pegasus.control.mission_step import Motion, Setpoint
from pegasus.control.vtol.figures import WRENCH, VtolFigures
from pegasus.control.vtol.hover import (
    approached,
    carrying_forces,
    ended,
    surface_force,
    transition_pitch,
    turning_torque,
)
from pegasus.control.vtol.states import VtolGains, VtolState

_THINNEST = 0.01
"""Least air density [kg/m^3]."""
_SLOWEST = 0.2
"""Least share of the thrust that rotors are taken to have at an airspeed."""


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

    Rotors and surfaces hold the same attitude; by airspeed the commands pass from those of the rotors to
    those of a plane. The rotors lift what the wings do not, by the model of the surfaces. See `plane_law` for
    the arguments.
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
    by_air = surface_force(p, flying.orientation, flow, air_density)
    setpoint = Setpoint(target, velocity, by_air * (-1.0 / p.plane.mass), still, aim, 0.0)
    force, torque, hover, _ = geometric_law(own.hover, body, setpoint, state.hover, state.turned, elapsed)
    drive = 0.0
    if hovers == 0.0:
        heading = aim if changes == 1.0 else atan2(nose[1], nose[0])
        torque = turning_torque(
            own, p, body, heading, bank, pitch, share - state.share, state.turned, elapsed
        )
        lift, drive = carrying_forces(own, p, leg, flying, by_air, g, track.place[2], throttle)
        force, hover = Vec3(0.0, 0.0, lift), still
        setpoint = Setpoint(track.place, still, still, still, heading, 0.0)

    command = blended(p, force[2], torque, drive, forward, by_wings, throttle, deflections)
    made = VtolState(
        airspeed=energy.airspeed,
        energy=energy.energy,
        balance=energy.balance,
        rates=rates,
        hover=hover,
        turned=motion.angular_velocity,
        target=target,
        share=share,
        time=state.time + elapsed,
    )
    over = is_over(own.wings, p.plane, leg, track, motion, airspeed)
    if hovers + changes > 0.0 or (leg.kind == LINE and leg.radius > 0.0):
        over = ended(own, leg, track, motion, target, nose, aim, forward, share, state.time)
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
    speeds: list[Real] = []
    tilted = length(p.thrust)
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
