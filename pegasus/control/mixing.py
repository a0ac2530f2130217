"""Control allocation as step functions: wrench to rotor thrusts within the rotors' limits."""

from dataclasses import dataclass

from pegasus.base.step_math import (
    Real,
    Reals,
    Vec3,
    clamped,
    dot,
    length,
    magnitude,
    maximum,
    minimum,
    vector,
)

_TINY = 1e-12


@dataclass(frozen=True)
class Mixing:
    """Numbers of an allocation to R rotors; the tables hold six numbers for each rotor."""

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
    """1 for each rotor that is used, 0 for the others."""


def allocated(mixing: Mixing, force: Vec3, torque: Vec3, lower: Real, upper: Real) -> Reals:
    """Return the thrusts that produce a wrench, reduced in the order of `Allocation` where limits require it.

    Args:
        mixing: Numbers of the allocation.
        force: Force, body frame [N].
        torque: Torque about the centre of mass, body frame [N m].
        lower: Smallest thrust of a rotor [N]; unused rotors stop.
        upper: Largest thrust of a rotor [N].
    """
    rotors = range(length(mixing.carrying))
    thrust = [rotor_thrust(r, mixing.inverse, force, torque) for r in rotors]
    beyond = False
    for r in rotors:
        if thrust[r] < lower * mixing.carrying[r] or thrust[r] > upper:
            beyond = True
    if beyond:
        turning = Vec3(
            dot(vector(mixing.turning_x), torque),
            dot(vector(mixing.turning_y), torque),
            dot(vector(mixing.turning_z), torque),
        )
        lateral = Vec3(force[0], force[1], 0.0)
        thrust = tilting_and_lift(mixing.by_turning, force[2], turning, lower, upper)
        thrust = with_largest_share(thrust, mixing, Vec3(0.0, 0.0, 0.0), turning[2], lower, upper)
        thrust = with_largest_share(thrust, mixing, lateral, 0.0, lower, upper)
        # Rounding errors, and lower limits that no balance satisfies, are clipped.
        thrust = [clamped(thrust[r], lower * mixing.carrying[r], upper) for r in rotors]
    return tuple(thrust)


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


def tilting_and_lift(table: Reals, lift: Real, turning: Vec3, lower: Real, upper: Real) -> list[Real]:
    """Return the largest feasible share of roll and pitch thrusts, with the lift nearest to the desired."""
    rotors = range(length(table) // 6)
    tilting = [turning[0] * table[6 * r + 3] + turning[1] * table[6 * r + 4] for r in rotors]
    # The effort of a rotor: thrust for roll and pitch by thrust per lift.
    effort = [tilting[r] / table[6 * r + 2] if table[6 * r + 2] > 0.0 else 0.0 for r in rotors]
    # A share k allows lifts from max(low_a - k e_a) to min(high_b - k e_b): none if two rotors conflict.
    shares = [1.0]
    for a in rotors:
        for b in rotors:
            if a != b:
                spread = effort[b] - effort[a]
                apart = table[6 * a + 2] > 0.0 and table[6 * b + 2] > 0.0 and spread > _TINY
                room = upper / table[6 * b + 2] - lower / table[6 * a + 2] if apart else 1.0
                shares = [*shares, room / spread if apart else 1.0]
    share = maximum(smallest(shares), 0.0)
    least = [lower / table[6 * r + 2] - share * effort[r] if table[6 * r + 2] > 0.0 else lift for r in rotors]
    lift = maximum(lift, -smallest([-x for x in least]))
    most = [upper / table[6 * r + 2] - share * effort[r] if table[6 * r + 2] > 0.0 else lift for r in rotors]
    lift = minimum(lift, smallest(most))
    return [share * tilting[r] + lift * table[6 * r + 2] for r in rotors]


def with_largest_share(
    thrust: list[Real], mixing: Mixing, lateral: Vec3, yaw: Real, lower: Real, upper: Real
) -> list[Real]:
    """Return thrusts with the largest share, from 0 to 1, of those for lateral force and yaw added."""
    rotors = range(length(mixing.carrying))
    parts = [rotor_thrust(r, mixing.by_turning, lateral, Vec3(0.0, 0.0, yaw)) for r in rotors]
    shares = [1.0]
    for r in rotors:
        room = upper - thrust[r] if parts[r] > 0.0 else lower * mixing.carrying[r] - thrust[r]
        shares = [*shares, room / parts[r] if magnitude(parts[r]) > _TINY else 1.0]
    share = maximum(smallest(shares), 0.0)
    return [thrust[r] + share * parts[r] for r in rotors]


def smallest(values: list[Real]) -> Real:
    """Return the smallest of numbers: by pairs, for a compiler takes too long for a chain of choices."""
    while len(values) > 1:
        pairs = [minimum(values[k], values[k + 1]) for k in range(0, len(values) - 1, 2)]
        values = [*pairs, values[-1]] if len(values) % 2 else pairs
    return values[0]
