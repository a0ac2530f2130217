"""Rotors whose speeds follow from torques, integrated together with the body.

In the plant's kernel of vehicles with a `DrivenMotor`, these functions stand in place of those of the same
purpose in `pegasus.dynamics.plant`. Each Runge-Kutta stage gives the aerodynamic torque Q of a rotor, and the
motor's law its torque M there, so that with the rotor's inertia J_r, its spin s and its axis a

    J_r (w' + s a . omega') = M - Q,   J omega' = L' - J_r sum_k s_k a_k w_k'

which follow from the angular momentum about each axis and that of the whole vehicle. The second is solved
with the inertia of the vehicle without that of its rotors about their axes, J - J_r sum_k a_k a_k^T.
"""

from dataclasses import dataclass

from pegasus.base.step_math import Column, Real, Table, Vec3, dot, maximum, minimum, vector
from pegasus.dynamics.plant import times
from pegasus.dynamics.plant import turn_motors as turn_motors_by_law
from pegasus.dynamics.plant_rows import PlantRows, Triple
from pegasus.dynamics.rotor_wrenches import stage_speed


@dataclass(frozen=True)
class Drive:
    """Parameters of driven rotors of a kind of vehicle."""

    model: int
    """Number of the motor's law, 0 for vehicles whose motors give speeds."""
    by_inertia: float
    """Inverse of the inertia of a rotor, its motor's included, about its axis [1/(kg m^2)]."""
    has_state: int
    """1 if the law has a state of its own."""
    hub_x: Triple
    """Rows of the inverse of the vehicle's inertia without that of its rotors about their axes
    [1/(kg m^2)]."""
    hub_y: Triple
    hub_z: Triple


NO_DRIVE = Drive(0, 1.0, 0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
"""Parameters of a vehicle whose motors give speeds."""


@dataclass
class DrivenRows(PlantRows):
    """Columns of the plant with those of driven rotors."""

    driven: Column[Drive]
    shaft_torque: Table[Real]
    """Torque of the air on each rotor, then that of motor and air together, at the present stage [N m]."""
    rotor_rate: Table[Real]
    """Weighted sum of the accelerations of each rotor at the stages [rad/s^2]."""
    motor_rate: Table[Vec3]
    """Weighted sum of the rates of each motor's state at the stages."""
    electrical_power: Column[Real]
    """Mean power that the motors draw over the step [W]."""


def drive_torque(
    rows: PlantRows, kind: int, model: int, speed: Real, state: Vec3, command: Real, voltage: Real
) -> tuple[Real, Vec3, Real]:
    """Return torque [N m], rate of the state and electrical power [W] of a motor: none without a law."""
    return 0.0, Vec3(0.0, 0.0, 0.0), 0.0


def turn_driven(i: int, rows: DrivenRows, dt: Real) -> None:
    """Set the rotor speeds at the beginning of the step, and clear the sums over its stages."""
    kind = rows.kind[i]
    if rows.driven[kind].model == 0:
        turn_motors_by_law(i, rows, dt)
    else:
        for j in range(rows.airframe[kind].rotor_count):
            command = minimum(maximum(rows.command[i, j], rows.lowest_speed[i]), rows.highest_speed[i])
            rows.limited_command[i, j] = command * rows.drive[i, j]
            speed = rows.rotor_speed[i, j]
            rows.speed_first[i, j] = speed
            rows.speed_middle[i, j] = speed
            rows.speed_last[i, j] = speed
            rows.motor_state_last[i, j] = rows.motor_state[i, j]
            rows.rotor_rate[i, j] = 0.0
            if rows.driven[kind].has_state == 1:
                rows.motor_rate[i, j] = Vec3(0.0, 0.0, 0.0)
    rows.electrical_power[i] = 0.0


def take_shaft_torque(i: int, rows: DrivenRows, j: int, torque: Real) -> None:
    """Keep the torque of the air on a rotor at this stage [N m]."""
    rows.shaft_torque[i, j] = torque


def carry_driven(i: int, rows: DrivenRows, number: int, change: Vec3, spin: Vec3, dt: Real) -> Vec3:
    """Set the rotor speeds of the next stage, after the last one those at the end of the step.

    Arguments and result are those of `pegasus.dynamics.plant.carry`.
    """
    kind = rows.kind[i]
    model = rows.driven[kind].model
    if model == 0:
        return spin
    count = rows.airframe[kind].rotor_count
    by_inertia = rows.driven[kind].by_inertia
    has_state = rows.driven[kind].has_state
    weight = 1.0
    ahead = 0.5 * dt
    if number == 2 or number == 3:
        weight = 2.0
    if number == 3:
        ahead = dt
    if number == 4:
        ahead = dt / 6.0
    air_and_body = change
    power = 0.0
    for j in range(count):
        state = Vec3(0.0, 0.0, 0.0)
        if has_state == 1:
            state = rows.motor_state_last[i, j]
        speed = stage_speed(i, rows, number, j)
        torque, rate, drawn = drive_torque(
            rows, kind, model, speed, state, rows.limited_command[i, j], rows.voltage[i]
        )
        turning = torque - rows.shaft_torque[i, j]
        rows.shaft_torque[i, j] = turning
        power += drawn
        air_and_body = air_and_body - rows.rotor_z[kind, j] * (rows.rotor_spin[kind, j] * turning)
        if has_state == 1:
            total = rows.motor_rate[i, j] + rate * weight
            rows.motor_rate[i, j] = total
            if number == 4:
                rate = total
            rows.motor_state_last[i, j] = rows.motor_state[i, j] + rate * ahead
    rows.electrical_power[i] = rows.electrical_power[i] + power * (weight / 6.0)
    body = times(
        vector(rows.driven[kind].hub_x),
        vector(rows.driven[kind].hub_y),
        vector(rows.driven[kind].hub_z),
        air_and_body,
    )
    turned = Vec3(0.0, 0.0, 0.0)
    for j in range(count):
        axis = rows.rotor_z[kind, j]
        sense = rows.rotor_spin[kind, j]
        rise = rows.shaft_torque[i, j] * by_inertia - sense * dot(axis, body)
        summed = rows.rotor_rate[i, j] + rise * weight
        rows.rotor_rate[i, j] = summed
        if number == 4:
            rise = summed
        speed = rows.speed_first[i, j] + rise * ahead
        if number >= 3:
            rows.speed_last[i, j] = speed
        else:
            rows.speed_middle[i, j] = speed
        turned += axis * (sense * speed)
    return turned * rows.airframe[kind].rotor_inertia
