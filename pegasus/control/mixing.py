"""Control allocation as step functions: wrench to rotor thrusts within the rotors' limits."""

from dataclasses import dataclass

from pegasus.base.step_math import Real, Reals, Table, Vec3, clamped, dot, length, maximum, minimum, vector

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


def allocate(
    i: int, thrust: Table[Real], mixing: Mixing, force: Vec3, torque: Vec3, lower: Real, upper: Real
) -> None:
    """Write the thrusts that produce a wrench, reduced in the order of `Allocation` where limits require it.

    Args:
        i: Row of the thrusts.
        thrust: Thrust of each rotor [N].
        mixing: Numbers of the allocation.
        force: Force, body frame [N].
        torque: Torque about the centre of mass, body frame [N m].
        lower: Smallest thrust of a rotor [N]; unused rotors stop.
        upper: Largest thrust of a rotor [N].
    """
    beyond = 0
    for r in range(length(mixing.carrying)):
        thrust[i, r] = rotor_thrust(r, mixing.inverse, force, torque)
        if thrust[i, r] < lower * mixing.carrying[r] or thrust[i, r] > upper:
            beyond = 1
    if beyond == 1:
        turning = Vec3(
            dot(vector(mixing.turning_x), torque),
            dot(vector(mixing.turning_y), torque),
            dot(vector(mixing.turning_z), torque),
        )
        write_tilting_and_lift(i, thrust, mixing.by_turning, force[2], turning, lower, upper)
        add_largest_share(i, thrust, mixing, Vec3(0.0, 0.0, 0.0), turning[2], lower, upper)
        add_largest_share(i, thrust, mixing, Vec3(force[0], force[1], 0.0), 0.0, lower, upper)
        for r in range(length(mixing.carrying)):
            # Rounding errors, and lower limits that no balance satisfies, are clipped.
            thrust[i, r] = clamped(thrust[i, r], lower * mixing.carrying[r], upper)


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


def write_tilting_and_lift(
    i: int, thrust: Table[Real], table: Reals, lift: Real, turning: Vec3, lower: Real, upper: Real
) -> None:
    """Write the largest feasible share of roll and pitch thrusts, with the lift nearest to the desired."""
    count = length(table) // 6
    for r in range(count):
        if table[6 * r + 2] > 0.0:
            # The effort of a rotor: thrust for roll and pitch by thrust per lift.
            thrust[i, r] = tilting_thrust(r, table, turning) / table[6 * r + 2]
    # A share k allows lifts from max(low_a - k e_a) to min(high_b - k e_b): none if two rotors conflict.
    share = 1.0
    for a in range(count):
        for b in range(count):
            if table[6 * a + 2] > 0.0 and table[6 * b + 2] > 0.0:
                spread = thrust[i, b] - thrust[i, a]
                if spread > _TINY:
                    room = upper / table[6 * b + 2] - lower / table[6 * a + 2]
                    share = minimum(share, room / spread)
    share = maximum(share, 0.0)
    for r in range(count):
        if table[6 * r + 2] > 0.0:
            lift = maximum(lift, lower / table[6 * r + 2] - share * thrust[i, r])
    for r in range(count):
        if table[6 * r + 2] > 0.0:
            lift = minimum(lift, upper / table[6 * r + 2] - share * thrust[i, r])
    for r in range(count):
        thrust[i, r] = share * tilting_thrust(r, table, turning) + lift * table[6 * r + 2]


def tilting_thrust(r: int, table: Reals, turning: Vec3) -> Real:
    """Return the thrust of a rotor for roll and pitch."""
    return turning[0] * table[6 * r + 3] + turning[1] * table[6 * r + 4]


def add_largest_share(
    i: int, thrust: Table[Real], mixing: Mixing, lateral: Vec3, yaw: Real, lower: Real, upper: Real
) -> None:
    """Add the largest share, from 0 to 1, of the thrusts for lateral force and yaw that the limits allow."""
    turning = Vec3(0.0, 0.0, yaw)
    share = 1.0
    for r in range(length(mixing.carrying)):
        part = rotor_thrust(r, mixing.by_turning, lateral, turning)
        if part > _TINY:
            share = minimum(share, (upper - thrust[i, r]) / part)
        if part < -_TINY:
            share = minimum(share, (lower * mixing.carrying[r] - thrust[i, r]) / part)
    share = maximum(share, 0.0)
    for r in range(length(mixing.carrying)):
        thrust[i, r] = thrust[i, r] + share * rotor_thrust(r, mixing.by_turning, lateral, turning)
