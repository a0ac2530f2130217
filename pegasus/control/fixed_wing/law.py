"""Law of a plane: guidance, total energy, attitude, rates and deflections, as one step function."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import (
    Real,
    Reals,
    Vec3,
    asin,
    atan2,
    clamped,
    cos,
    interpolate,
    length,
    magnitude,
    maximum,
    minimum,
    norm,
    rotate,
    sin,
    sqrt,
    wrapped,
)
from pegasus.base.tracing import Signal
from pegasus.control.fixed_wing.attitude import HIGHEST_LIFT, SLOWEST, PlaneGains, attitude_control
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.fixed_wing.legs import (
    CIRCLE,
    CLIMB,
    GLIDE,
    LAUNCH,
    LINE,
    RUN,
    STANDING,
    Leg,
    Track,
    along_circle,
    along_line,
)
from pegasus.control.mission_step import Motion, Setpoint

_FILTER = 0.3
"""Time constant of the airspeed whose rate is used [s]."""
_STEEPEST = 0.7
"""Largest flight-path angle that is commanded [rad]."""
_SINK = 0.3
"""Sink rate at touch-down [m/s]."""
_LEVEL = 0.1
"""Largest bank while flaring and climbing out [rad]."""
_STOPPED = 1.0
"""Speed over the ground below which a plane has landed [m/s]."""
_ON_THE_WAY = 0.05
"""Pitch error beyond which the integral of the energy balance rests [rad]."""
_STEERED = 0.7
"""Least airspeed by that of the end of a run for which its surfaces are steered."""
_TAIL_UP, _TAIL_FADES = 0.9, 0.15
"""Airspeed by that of the end of a run at which the tail is no longer held down, and from which less."""
_HURRIED = 8.0
"""Acceleration of a run beyond that asked for, by the wind across its line [1/s]."""
_LED, _LED_AT_MOST = 0.05, 0.2
"""Heading of a run by the distance from its line [rad/m], and the largest one [rad]."""
_LEFT = 0.9
"""Cosine of the angle about the centre before and behind the place where a circle is left."""


@dataclass(frozen=True)
class PlaneState:
    """State of the law of a copy."""

    airspeed: Real
    """Filtered airspeed [m/s]; 0 before the first step in the air."""
    energy: Real
    """Integral of the error of the energy rate by mass [m^2/s^3]."""
    balance: Real
    """Integral of the error of the energy balance [m^2/s^3]."""
    rates: Vec3
    """Integral of the error of the angular velocity [rad/s^2]."""


NOTHING_YET = PlaneState(0.0, 0.0, 0.0, Vec3(0.0, 0.0, 0.0))


def plane_law(
    own: PlaneGains,
    p: PlaneFigures,
    leg: Leg,
    motion: Motion,
    wind: Vec3,
    air_density: Real,
    gravity: Vec3,
    state: PlaneState,
    elapsed: Real,
) -> tuple[Reals, Setpoint, PlaneState, Real, Signal, Signal]:
    """Return commands by channel, reference, state, whether the leg is over or a command not finite.

    Args:
        own: Gains.
        p: Figures of the plane.
        leg: Present leg.
        motion: State of the plane.
        wind: Velocity of the air [m/s].
        air_density: Air density [kg/m^3].
        gravity: Acceleration of free fall [m/s^2].
        state: State of the law.
        elapsed: Time since the previous call [s].
    """
    through = motion.velocity - wind
    airspeed = norm(through)
    rotors = range(length(p.rotor_speed))
    braking = 0.0 if leg.kind == LAUNCH or leg.kind == RUN else 1.0
    brakes: Any = [braking for _ in range(p.brakes)]
    command: Any = [0.0 for _ in rotors] + brakes + [p.idle[k] for k in range(length(p.idle))]
    track = tracked(own, leg, motion)
    made = state
    if leg.kind == STANDING or airspeed < SLOWEST * p.least_airspeed:
        made = NOTHING_YET
    else:
        before = airspeed if state.airspeed == 0.0 else state.airspeed
        share, bank, pitch, made = energy_control(
            own, p, leg, track, motion, through, air_density, -gravity[2], replaced(state, before), elapsed
        )
        deflections, rates = attitude_control(
            own, p, motion, through, air_density, -gravity[2], bank, pitch, made.rates, elapsed
        )
        made = PlaneState(made.airspeed, made.energy, made.balance, rates)
        command = [*speeds_of(p, share), *[0.0 for _ in brakes], *pitched(p, share, deflections)]
    if leg.kind == RUN:
        share, deflections = run_control(own, p, leg, motion, through, air_density)
        made = NOTHING_YET
        command = [*speeds_of(p, share), *[0.0 for _ in brakes], *pitched(p, share, deflections)]
    over = is_over(own, p, leg, track, motion, airspeed)
    fault = False
    for value in command:
        if value - value != 0.0:
            fault = True
    heading = atan2(through[1], through[0])
    still = Vec3(0.0, 0.0, 0.0)
    place = motion.position if leg.kind == STANDING else track.place
    setpoint = Setpoint(place, still, still, still, heading, 0.0)
    return tuple(command), setpoint, made, over, Signal(over), Signal(fault)


def speeds_of(p: PlaneFigures, share: Real) -> list[Real]:
    """Return the speeds of the rotors at a share of the throttle [rad/s]."""
    root = sqrt(share)
    return [
        p.rotor_speed[k] if p.governed[k] == 1 else p.rotor_speed[k] * root
        for k in range(length(p.rotor_speed))
    ]


def pitched(p: PlaneFigures, share: Real, angles: list[Real]) -> list[Real]:
    """Return the angles of the joints [rad] with those of blades at a share of the throttle."""
    if 1 not in p.governed:
        return angles
    return [angles[k] + share * p.blades[k] for k in range(length(p.blades))]


def run_control(
    own: PlaneGains, p: PlaneFigures, leg: Leg, motion: Motion, through: Vec3, air_density: Real
) -> tuple[Real, list[Real]]:
    """Return the share of the throttle and the deflections of a run along the line of a leg.

    The surface that yaws, and a wheel that turns with it, leads back to the line; what rolls keeps it level.
    Both hold the moments of the air that comes from the side. A steered wheel behind the centre of mass is
    kept on the ground by the elevator until shortly before the end of the run. Wind across the line shortens
    the run, since no rudder holds the line for long where wheels carry little.

    Args:
        own: Gains.
        p: Figures of the plane.
        leg: Present leg.
        motion: State of the plane.
        through: Velocity through the air [m/s].
        air_density: Air density [kg/m^3].
    """
    airspeed = norm(through)
    x, y = leg.end[0] - leg.start[0], leg.end[1] - leg.start[1]
    size = distance(leg.start, leg.end)
    across = (x * (motion.position[1] - leg.start[1]) - y * (motion.position[0] - leg.start[0])) / size
    forward = rotate(motion.orientation, Vec3(1.0, 0.0, 0.0))
    left = rotate(motion.orientation, Vec3(0.0, 1.0, 0.0))
    off = wrapped(
        atan2(y, x) - clamped(_LED * across, -_LED_AT_MOST, _LED_AT_MOST) - atan2(forward[1], forward[0])
    )
    w, gain = motion.angular_velocity, own.roll_gain
    turning = gain * (gain * off - 2.0 * w[2])
    rolling = gain * (-gain * left[2] - 2.0 * w[0])
    speed = maximum(airspeed, _STEERED * leg.airspeed)
    by_pressure = 2.0 / (air_density * speed * speed)
    # Slip of a plane that heads along the line; at low speed its wheels hold it.
    slip = (x * through[1] - y * through[0]) / (size * speed) * (airspeed * airspeed / (speed * speed))
    raised = clamped((_TAIL_UP * leg.airspeed - airspeed) / (_TAIL_FADES * leg.airspeed), 0.0, 1.0)
    asked = (
        rolling * by_pressure - p.turning_by_slip[0] * slip,
        -own.run_press * raised * p.authority[1],
        turning * by_pressure - p.turning_by_slip[2] * slip,
    )
    deflections = [
        p.idle[k]
        + p.mixing[3 * k] * asked[0]
        + p.mixing[3 * k + 1] * asked[1]
        + p.mixing[3 * k + 2] * asked[2]
        for k in range(length(p.idle))
    ]
    pressure = 0.5 * air_density * airspeed * airspeed
    wind = motion.velocity - through
    aside = magnitude(x * wind[1] - y * wind[0]) / size
    thrust = p.mass * (own.run_acceleration + _HURRIED * aside) + pressure * interpolate(0.0, p.lift, p.drag)
    return interpolate(thrust, p.thrust, p.share), deflections


def replaced(state: PlaneState, airspeed: Real) -> PlaneState:
    """Return a state with another filtered airspeed."""
    return PlaneState(airspeed, state.energy, state.balance, state.rates)


def tracked(own: PlaneGains, leg: Leg, motion: Motion) -> Track:
    """Return the guidance along a leg."""
    x, y = motion.velocity[0], motion.velocity[1]
    reach = own.reach_time * maximum(sqrt(x * x + y * y), 0.3 * own.least_airspeed)
    line = along_line(leg.start, leg.end, motion.position, motion.velocity, reach)
    if leg.kind == CIRCLE:
        return along_circle(leg.start, leg.radius, motion.position, motion.velocity, reach)
    return line


def is_over(own: PlaneGains, p: PlaneFigures, leg: Leg, track: Track, motion: Motion, airspeed: Real) -> Real:
    """Return 1 if a leg is over, else 0."""
    over = 0.0
    if (leg.kind == LAUNCH or leg.kind == RUN) and airspeed >= leg.airspeed:
        over = 1.0
    if leg.kind == CLIMB and motion.position[2] >= leg.end[2] - 1.0:
        over = 1.0
    if leg.kind == CIRCLE and leg.lead > 0.0:
        off = motion.position[2] - leg.start[2]
        outward = motion.position - leg.start
        ahead = leg.end - leg.start
        # Height and place at which the circle is left.
        if (
            -leg.lead < off
            and off < leg.lead
            and outward[0] * ahead[0] + outward[1] * ahead[1] > (_LEFT * leg.radius * leg.radius)
        ):
            over = 1.0
    if leg.kind == LINE and track.left <= minimum(leg.lead, track.ahead):
        over = 1.0
    if leg.kind == GLIDE and norm(motion.velocity) < _STOPPED:
        over = 1.0
    return over


def energy_control(
    own: PlaneGains,
    p: PlaneFigures,
    leg: Leg,
    track: Track,
    motion: Motion,
    through: Vec3,
    air_density: Real,
    g: Real,
    state: PlaneState,
    elapsed: Real,
) -> tuple[Real, Real, Real, PlaneState]:
    """Return the share of the throttle, bank and pitch (right side and nose up) [rad], and the state.

    The throttle controls the rate of the total energy by mass, g h' + V V', the pitch that of the balance
    g h' - V V' (Lambregts 1983, "Vertical Flight Path and Speed Control Autopilot Design Using Total Energy
    Principles"). Near the least airspeed the balance passes from the height to the airspeed, and the angle of
    attack stays below that of the largest lift.

    Args:
        own: Gains.
        p: Figures of the plane.
        leg: Present leg.
        track: What it asks for.
        motion: State of the plane.
        through: Velocity through the air [m/s].
        air_density: Air density [kg/m^3].
        g: Acceleration of free fall [m/s^2].
        state: State of the law.
        elapsed: Time since the previous call [s].
    """
    airspeed = maximum(norm(through), SLOWEST * p.least_airspeed)
    pressure = 0.5 * air_density * airspeed * airspeed
    weight = p.mass * g
    most_lift = p.lift[length(p.lift) - 1]
    # Bank: as far as the lift carries the plane.
    spare = clamped(weight / (HIGHEST_LIFT * most_lift * pressure), 0.0, 1.0)
    limit = minimum(own.bank_limit, atan2(sqrt(1.0 - spare * spare), spare))
    flares = False
    if leg.kind == GLIDE:
        sinking = maximum(airspeed * (leg.start[2] - leg.end[2]) / distance(leg.start, leg.end), _SINK)
        flares = motion.position[2] - leg.end[2] < own.flare_time * sinking
    if flares or leg.kind == LAUNCH:
        limit = minimum(limit, _LEVEL)
    if leg.kind == CLIMB:
        limit = minimum(limit, 3.0 * _LEVEL)
    bank = clamped(-atan2(track.sideways, g), -limit, limit)
    load = 1.0 / cos(bank)
    needed = load * weight / pressure
    alpha = interpolate(minimum(needed, HIGHEST_LIFT * most_lift), p.lift, p.alpha)
    drag = pressure * interpolate(needed, p.lift, p.drag)

    change = (airspeed - state.airspeed) * (1.0 / _FILTER)
    filtered = state.airspeed + change * elapsed
    wanted = maximum(leg.airspeed, own.least_airspeed * sqrt(load))
    climb = own.height_gain * (track.place[2] - motion.position[2]) + track.climb
    if leg.kind == CLIMB or leg.kind == LAUNCH:
        climb = own.climb_limit
    if flares:
        climb = -maximum((motion.position[2] - leg.end[2]) / own.flare_time, _SINK)
    most_thrust = p.thrust[length(p.thrust) - 1]
    # Rates of the energy by mass that thrust and drag allow.
    highest = (most_thrust - drag) * airspeed / p.mass
    lowest = -drag * airspeed / p.mass
    faster = clamped(airspeed * own.height_gain * (wanted - airspeed), 0.5 * lowest, 0.5 * highest)
    rise = g * clamped(climb, -own.sink_limit, own.climb_limit)
    rise = clamped(rise, lowest, maximum(highest - maximum(faster, 0.0), 0.0))
    gained, sped = g * through[2], airspeed * change

    total_error = (rise + faster) - (gained + sped)
    thrust = drag + (rise + faster + own.energy_gain * total_error + state.energy) * p.mass / airspeed
    energy = state.energy + own.energy_gain * own.energy_gain * total_error * elapsed
    if (thrust > most_thrust and total_error > 0.0) or (thrust < p.thrust[0] and total_error < 0.0):
        energy = state.energy
    share = interpolate(clamped(thrust, p.thrust[0], most_thrust), p.thrust, p.share)
    # On the ground it sinks no more.
    if (
        flares
        and motion.velocity[2] > -0.5 * _SINK
        and motion.position[2] - leg.end[2] < own.flare_time * _SINK
    ):
        share, energy = 0.0, state.energy

    low = p.least_airspeed * sqrt(load)
    by_height = clamped((airspeed - low) / maximum(own.least_airspeed * sqrt(load) - low, 0.01), 0.0, 1.0)
    if flares:
        by_height = 2.0
    by_speed = 2.0 - by_height
    asked = by_height * rise - by_speed * faster
    balance_error = asked - (by_height * gained - by_speed * sped)
    slope = asked + own.balance_gain * balance_error + state.balance
    slope = slope / (g * airspeed * maximum(by_height, 1.0))
    pitch = asin(clamped(slope, -sin(_STEEPEST), sin(_STEEPEST))) + alpha * cos(bank)
    # The integral rests while the pitch is on its way.
    forward = rotate(motion.orientation, Vec3(1.0, 0.0, 0.0))
    off = pitch - asin(clamped(forward[2], -1.0, 1.0))
    balance = state.balance + own.balance_integral_gain * balance_error * elapsed
    if off * balance_error > 0.0 and (off > _ON_THE_WAY or off < -_ON_THE_WAY):
        balance = state.balance
    return share, bank, pitch, PlaneState(filtered, energy, balance, state.rates)


def distance(a: Vec3, b: Vec3) -> Real:
    """Return the horizontal distance of two points, above 0 [m]."""
    x, y = b[0] - a[0], b[1] - a[1]
    return maximum(sqrt(x * x + y * y), 1e-6)
