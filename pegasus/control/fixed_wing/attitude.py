"""Attitude, rates and deflections of a plane, as a step function, and the gains of its law."""

from dataclasses import dataclass

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    asin,
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
    vector,
)
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.mission_step import Motion

SLOWEST = 0.3
"""Airspeed by the least one of level flight below which the surfaces and the rotors rest."""
HIGHEST_LIFT = 0.9
"""Share of the largest lift that is commanded."""
_UPRIGHT = 1.2
"""Largest bank whose turn is coordinated [rad]."""
_PULL = 0.7
"""Largest change of the lift by the weight, up and down, by which the path is bent."""
_KEPT = 0.5
"""Share of the authority about an axis that the integral of the rate has at most."""


@dataclass(frozen=True)
class PlaneGains:
    """Gains and limits of `plane_law`."""

    reach_time: float
    """Distance of the reference point by the speed over the ground [s]."""
    bank_limit: float
    """Largest bank [rad]."""
    least_airspeed: float
    """Least airspeed that is commanded [m/s]."""
    height_gain: float
    """Climb by height error, and acceleration by airspeed error [1/s]."""
    climb_limit: float
    """Largest commanded climb [m/s]."""
    sink_limit: float
    """Largest commanded sink rate [m/s]."""
    energy_gain: float
    """Rate of the correction of the energy rate by its error [1/s]."""
    balance_gain: float
    """Climb angle by error of the rate of the energy balance, by that which it asks for."""
    balance_integral_gain: float
    """Rate of the same [1/s]."""
    roll_gain: float
    """Roll rate by bank error [1/s]."""
    pitch_gain: float
    """Pitch rate by pitch error [1/s]."""
    slip_gain: float
    """Yaw rate by sideslip angle [1/s]."""
    roll_rate_limit: float
    """Largest commanded rates of bank and pitch [rad/s]."""
    pitch_rate_limit: float
    rate_gain: float
    """Angular acceleration by rate error [1/s]."""
    rate_integral_gain: float
    """Its rate [1/s^2]."""
    run_acceleration: float
    """Acceleration of a run on wheels [m/s^2]."""
    run_press: float
    """Share of the pitch authority that holds a steered tail wheel down in a run."""
    flare_time: float
    """Time constant of the height in the flare [s]."""


def attitude_control(
    own: PlaneGains,
    p: PlaneFigures,
    motion: Motion,
    through: Vec3,
    air_density: Real,
    g: Real,
    bank: Real,
    pitch: Real,
    integral: Vec3,
    elapsed: Real,
) -> tuple[list[Real], Vec3]:
    """Return the deflections of the joints [rad] and the integral of the rate error [rad/s^2].

    Rates of bank and pitch, and the rate g tan(bank) / V of a coordinated turn, become body rates (Beard and
    McLain 2012, eq. 3.3); slip turns the nose into the flow. The angular acceleration of the rate errors,
    less that of the air by the model, becomes deflections, which scale with 1 / dynamic pressure.

    Args:
        own: Gains.
        p: Figures of the plane.
        motion: State of the plane.
        through: Velocity through the air [m/s].
        air_density: Air density [kg/m^3].
        g: Acceleration of free fall [m/s^2].
        bank: Commanded bank, right side down [rad].
        pitch: Commanded pitch, nose up [rad].
        integral: Integral of the rate error [rad/s^2].
        elapsed: Time since the previous call [s].
    """
    q: Quat = motion.orientation
    airspeed = maximum(norm(through), SLOWEST * p.least_airspeed)
    pressure = 0.5 * air_density * airspeed * airspeed
    flow = rotate_inverse(q, through)
    forward = rotate(q, Vec3(1.0, 0.0, 0.0))
    left = rotate(q, Vec3(0.0, 1.0, 0.0))
    up = rotate(q, Vec3(0.0, 0.0, 1.0))
    rolled, pitched = atan2(left[2], up[2]), asin(clamped(forward[2], -1.0, 1.0))
    s, c = sin(rolled), cos(rolled)
    sine, cosine = forward[2], sqrt(maximum(1.0 - forward[2] * forward[2], 0.0))
    held = clamped(rolled, -_UPRIGHT, _UPRIGHT)
    turn = g * sin(held) / (cos(held) * airspeed)
    roll_rate = clamped(own.roll_gain * (bank - rolled), -own.roll_rate_limit, own.roll_rate_limit)
    pitch_rate = clamped(own.pitch_gain * (pitch - pitched), -own.pitch_rate_limit, own.pitch_rate_limit)
    slip = flow[1] / airspeed
    alpha = atan2(-flow[2], flow[0])
    # Pitch rates of the loads that the lift bears, and those back to the angle of attack of the turn.
    weight, most_lift = p.mass * g, HIGHEST_LIFT * p.lift[length(p.lift) - 1]
    load = 1.0 / cos(bank)
    highest = minimum(load + _PULL, most_lift * pressure / weight)
    missing = interpolate(minimum(load * weight / pressure, most_lift), p.lift, p.alpha) - alpha
    raising = maximum(missing, 0.0) - maximum(alpha - HIGHEST_LIFT * p.stall_alpha, 0.0)
    nose_up = clamped(
        pitch_rate * c + turn * s * cosine,
        g / airspeed * (load - _PULL - c * cosine) + own.pitch_gain * minimum(missing, 0.0),
        maximum(g / airspeed * (highest - c * cosine) + own.pitch_gain * raising, -own.pitch_rate_limit),
    )
    # The book's axes y and z point to the right and down.
    rates = Vec3(
        roll_rate - turn * sine,
        -nose_up,
        pitch_rate * s - turn * c * cosine + own.slip_gain * slip,
    )
    error = rates - motion.angular_velocity
    w = motion.angular_velocity * (1.0 / airspeed)
    by_air = (
        vector(p.turning)
        + vector(p.turning_by_alpha) * (alpha - p.alpha_0)
        + vector(p.turning_by_slip) * slip
        + Vec3(dot(vector(p.damping_x), w), dot(vector(p.damping_y), w), dot(vector(p.damping_z), w))
    )
    wanted = error * own.rate_gain + integral
    most = vector(p.authority) * (_KEPT * pressure)
    grown = integral + error * (own.rate_integral_gain * elapsed)
    integral = Vec3(
        clamped(grown[0], -most[0], most[0]),
        clamped(grown[1], -most[1], most[1]),
        clamped(grown[2], -most[2], most[2]),
    )
    asked = wanted * (1.0 / pressure) - by_air
    deflections = [
        p.idle[k]
        + p.mixing[3 * k] * asked[0]
        + p.mixing[3 * k + 1] * asked[1]
        + p.mixing[3 * k + 2] * asked[2]
        for k in range(length(p.idle))
    ]
    return deflections, integral
