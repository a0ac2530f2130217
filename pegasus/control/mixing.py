"""Control allocation as step functions: wrench to rotor thrusts within the rotors' limits."""

from dataclasses import dataclass, field

from pegasus.base.step_math import (
    NOTHING,
    Known,
    Real,
    Reals,
    Vec3,
    atan2,
    clamped,
    dot,
    length,
    magnitude,
    maximum,
    minimum,
    sqrt,
    vector,
)

_TINY = 1e-12
_LIFTING = 1e-6
"""Thrust per lift from which a rotor counts as lifting."""

Z_AXIS = Vec3(NOTHING, NOTHING, Known(1.0))
"""The body's z axis."""


@dataclass(frozen=True)
class Mixing:
    """Numbers of an allocation to R rotors; the tables hold six numbers for each of their C thrusts.

    A rotor on a joint has two thrusts: one along its axis at angle 0, and one at a right angle, by its tilt.
    The second ones stand after those of the R rotors.
    """

    inverse: tuple[float, ...]
    """Thrust per force and torque."""
    by_turning: tuple[float, ...]
    """Thrust per force and angular acceleration, the latter as the torque about its own axis."""
    turning_x: tuple[float, float, float]
    """Angular acceleration about x per torque, as the torque about x that it needs."""
    turning_y: tuple[float, float, float]
    """The same about y."""
    turning_z: tuple[float, float, float]
    """The same about z."""
    carrying: tuple[float, ...]
    """1 for each rotor that is used, 0 for the others, shape (R,)."""
    tilted: tuple[int, ...] = field(default=(), metadata={"literal": True})
    """Rotors on joints, in the order of the joints."""


def allocated(
    mixing: Mixing, force: Vec3, torque: Vec3, lower: Real, upper: Real, up: Vec3 = Z_AXIS
) -> Reals:
    """Return the thrusts that produce a wrench, reduced in the order of `Allocation` where limits require it.

    Args:
        mixing: Numbers of the allocation.
        force: Force, body frame [N].
        torque: Torque about the centre of mass, body frame [N m].
        lower: Smallest thrust of a rotor [N]; unused rotors stop.
        upper: Largest thrust of a rotor [N].
        up: Unit direction of the lift, body frame.
    """
    lows = [lower * mixing.carrying[r] for r in range(length(mixing.carrying))]
    lows = [*lows, *[-upper for _ in mixing.tilted]]
    rotors = range(len(lows))
    thrust = [rotor_thrust(r, mixing.inverse, force, torque) for r in rotors]
    beyond = False
    for r in rotors:
        if thrust[r] < lows[r] or thrust[r] > upper:
            beyond = True
    if beyond:
        turning = Vec3(
            dot(vector(mixing.turning_x), torque),
            dot(vector(mixing.turning_y), torque),
            dot(vector(mixing.turning_z), torque),
        )
        lift = dot(force, up)
        about = dot(turning, up)
        table = mixing.by_turning
        thrust = tilting_and_lift(table, up, lift, turning - up * about, lows, upper)
        thrust = with_largest_share(thrust, table, Vec3(0.0, 0.0, 0.0), up * about, lows, upper)
        thrust = with_largest_share(thrust, table, force - up * lift, Vec3(0.0, 0.0, 0.0), lows, upper)
        # Rounding errors, and lower limits that no balance satisfies, are clipped.
        thrust = [clamped(thrust[r], lows[r], upper) for r in rotors]
    return tuple(thrust)


def thrusts_and_angles(mixing: Mixing, thrust: Reals, upper: Real) -> tuple[Reals, Reals]:
    """Return the thrusts of the R rotors [N], and the angles of their joints [rad].

    Both thrusts of a rotor on a joint are the components of one (Kamel et al. 2018, "The Voliro
    Omniorientational Hexacopter", IEEE Robotics and Automation Magazine 25).

    Args:
        mixing: Numbers of the allocation.
        thrust: Its C thrusts, by `allocated` [N].
        upper: Largest thrust of a rotor [N].
    """
    count = length(mixing.carrying)
    own = [thrust[r] for r in range(count)]
    angles = [0.0 for _ in mixing.tilted]
    for k, r in enumerate(mixing.tilted):
        aside = thrust[count + k]
        angles[k] = atan2(aside, own[r])
        own[r] = minimum(sqrt(own[r] * own[r] + aside * aside), upper)
    return tuple(own), tuple(angles)


def rotor_thrust(r: int, table: Reals, force: Vec3, turning: Vec3) -> Real:
    """Return the thrust of a rotor by a table of six numbers for each."""
    k = 6 * r
    return (
        force[0] * table[k]
        + force[1] * table[k + 1]
        + force[2] * table[k + 2]
        + turning[0] * table[k + 3]
        + turning[1] * table[k + 4]
        + turning[2] * table[k + 5]
    )


def tilting_and_lift(
    table: Reals, up: Vec3, lift: Real, turning: Vec3, lows: list[Real], upper: Real
) -> list[Real]:
    """Return the largest feasible share of tilting thrusts, with the lift nearest to the desired."""
    rotors = range(len(lows))
    tilting = [rotor_turn(r, table, turning) for r in rotors]
    by_lift = [dot(Vec3(table[6 * r], table[6 * r + 1], table[6 * r + 2]), up) for r in rotors]
    lifts = [magnitude(x) > _LIFTING for x in by_lift]
    # The effort of a rotor: thrust for tilting by thrust per lift.
    effort = [tilting[r] / by_lift[r] if lifts[r] else 0.0 for r in rotors]
    low = [lows[r] if by_lift[r] > 0.0 else upper for r in rotors]
    high = [upper if by_lift[r] > 0.0 else lows[r] for r in rotors]
    # A share k allows lifts from max(low_a - k e_a) to min(high_b - k e_b): none if two rotors conflict.
    shares = [1.0]
    for a in rotors:
        for b in rotors:
            if a != b:
                spread = effort[b] - effort[a]
                apart = lifts[a] and lifts[b] and spread > _TINY
                room = high[b] / by_lift[b] - low[a] / by_lift[a] if apart else 1.0
                shares = [*shares, room / spread if apart else 1.0]
    share = maximum(smallest(shares), 0.0)
    least = [low[r] / by_lift[r] - share * effort[r] if lifts[r] else lift for r in rotors]
    lift = maximum(lift, -smallest([-x for x in least]))
    most = [high[r] / by_lift[r] - share * effort[r] if lifts[r] else lift for r in rotors]
    lift = minimum(lift, smallest(most))
    return [share * tilting[r] + lift * by_lift[r] for r in rotors]


def rotor_turn(r: int, table: Reals, turning: Vec3) -> Real:
    """Return the thrust of a rotor for an angular acceleration, by a table of six numbers for each."""
    k = 6 * r + 3
    return turning[0] * table[k] + turning[1] * table[k + 1] + turning[2] * table[k + 2]


def with_largest_share(
    thrust: list[Real], table: Reals, force: Vec3, turning: Vec3, lows: list[Real], upper: Real
) -> list[Real]:
    """Return thrusts with the largest share, from 0 to 1, of those for a force and turning added."""
    rotors = range(len(lows))
    parts = [rotor_thrust(r, table, force, turning) for r in rotors]
    shares = [1.0]
    for r in rotors:
        room = upper - thrust[r] if parts[r] > 0.0 else lows[r] - thrust[r]
        shares = [*shares, room / parts[r] if magnitude(parts[r]) > _TINY else 1.0]
    share = maximum(smallest(shares), 0.0)
    return [thrust[r] + share * parts[r] for r in rotors]


def smallest(values: list[Real]) -> Real:
    """Return the smallest of numbers: by pairs, for a compiler takes too long for a chain of choices."""
    while len(values) > 1:
        pairs = [minimum(values[k], values[k + 1]) for k in range(0, len(values) - 1, 2)]
        values = [*pairs, values[-1]] if len(values) % 2 else pairs
    return values[0]
