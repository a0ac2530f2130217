"""Step of a vehicle in free flight: rotors and body integrated together by the classical Runge-Kutta method.

The state is that of the centre of mass: position x, attitude q, velocity v, and the angular momentum L of
body and rotors together in the body frame. With the wrench (F, M) of rotors, drag and disturbance

    x' = v,  v' = R F / m + g,  q' = q (w, 0) / 2,  L' = M - w x L,  w = J^-1 (L - h)

where h is the angular momentum of the rotors about their axes. Their acceleration and the gyroscopic torque
follow from L, so that both conserve energy and angular momentum. F and M are evaluated at each of the four
stages; the rotor speeds at the beginning, middle and end of the step come from the motor's law, or, of
motors that give a torque, from the same integration; see `pegasus.dynamics.driven_rotors`. Wind, density,
gravity and wakes are held over the step: it is of fourth order in uniform air, of first order in wind that
varies.
"""

from pegasus.base.step_math import (
    Quat,
    Real,
    Reals,
    Vec3,
    cross,
    dot,
    matrix_of,
    maximum,
    minimum,
    normalized,
    rotate,
    rotate_inverse,
    vector,
)
from pegasus.dynamics.plant_rows import (
    HELD,
    Airframe,
    MotionRows,
    PlantRows,
    drag_wrench,
    motor_response,
)
from pegasus.dynamics.rotor_wrenches import (
    air_at,
    motion_in_air,
    rotor_wrench,
    stage_speed,
    turn_blades,
)
from pegasus.dynamics.surfaces import find_heights, ground_ratio

FASTEST = 1e5
"""Speed [m/s] or rate [rad/s] above which motion counts as diverged."""


def times(x: Vec3, y: Vec3, z: Vec3, v: Vec3) -> Vec3:
    """Return the product of a matrix, given by its rows, and a vector."""
    return Vec3(dot(x, v), dot(y, v), dot(z, v))


def turn_motors(i: int, rows: PlantRows, dt: Real) -> None:
    """Set the rotor speeds at the beginning, the middle and the end of the step."""
    kind = rows.kind[i]
    model = rows.airframe[kind].motor
    voltage = rows.voltage[i]
    for j in range(rows.airframe[kind].rotor_count):
        command = minimum(maximum(rows.command[i, j], rows.lowest_speed[i]), rows.highest_speed[i])
        command = command * rows.drive[i, j]
        rows.limited_command[i, j] = command
        if model != HELD:
            speed = rows.rotor_speed[i, j]
            state = rows.motor_state[i, j]
            first, at_once = motor_response(rows, kind, model, speed, state, command, voltage, 0.0)
            middle, halfway = motor_response(rows, kind, model, first, at_once, command, voltage, 0.5 * dt)
            last, done = motor_response(rows, kind, model, middle, halfway, command, voltage, 0.5 * dt)
            rows.speed_first[i, j] = first
            rows.speed_middle[i, j] = middle
            rows.speed_last[i, j] = last
            rows.motor_state_last[i, j] = done


def take_torque(i: int, rows: PlantRows, j: int, torque: Real) -> None:
    """Do nothing: speeds by the motor's law do not depend on the aerodynamic torque [N m]."""


def carry(i: int, rows: PlantRows, number: int, change: Vec3, spin: Vec3, dt: Real) -> Vec3:
    """Return the angular momentum of the rotors after a stage [N m s]: by the motor's law, that given.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        number: Number of the stage, 1 to 4.
        change: Rate of the angular momentum of body and rotors at this stage, body frame [N m].
        spin: Angular momentum of the rotors at the next stage, by the motor's law.
        dt: Length of the step [s].
    """
    return spin


def spin_momentum(i: int, rows: PlantRows, speeds: Reals) -> Vec3:
    """Return the angular momentum of the rotors about their axes, body frame [N m s]."""
    kind = rows.kind[i]
    total = Vec3(0.0, 0.0, 0.0)
    for j in range(rows.airframe[kind].rotor_count):
        total += rows.rotor_z[kind, j] * (rows.rotor_spin[kind, j] * speeds[j])
    return total * rows.airframe[kind].rotor_inertia


def rotors(
    i: int, rows: PlantRows, number: int, x: Vec3, q: Quat, through_air: Vec3, w: Vec3
) -> tuple[Vec3, Vec3, Real]:
    """Return force [N], torque about the centre of mass [N m] and shaft power [W] of the rotors, body frame.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        number: Number of the stage, 1 to 4, whose rotor speeds are taken.
        x: Centre of mass in the world [m].
        q: Attitude.
        through_air: Velocity of the centre of mass relative to the air, world [m/s].
        w: Angular velocity, body frame [rad/s].
    """
    kind = rows.kind[i]
    frame = rows.airframe[kind]
    body_velocity, turning = motion_in_air(i, rows, q, through_air, w)
    total = Vec3(0.0, 0.0, 0.0)
    moment = Vec3(0.0, 0.0, 0.0)
    power = 0.0
    if frame.ground_effect != HELD:
        find_heights(i, rows, x, q)
    turn_blades(i, rows, number, q, body_velocity, turning)
    for j in range(frame.rotor_count):
        speed = stage_speed(i, rows, number, j)
        arm = rows.rotor_position[kind, j]
        axis_x = rows.rotor_x[kind, j]
        axis_y = rows.rotor_y[kind, j]
        axis_z = rows.rotor_z[kind, j]
        force, torque = rotor_wrench(i, rows, j, speed, q, body_velocity, turning)
        force = force * rows.thrust_share[i, j]
        torque = torque * rows.torque_share[i, j]
        if frame.ground_effect != HELD:
            ratio = ground_ratio(i, rows, j, q, through_air, force[2])
            force = Vec3(force[0], force[1], force[2] * ratio)
        power += torque[2] * speed
        take_torque(i, rows, j, torque[2])
        pull = axis_x * force[0] + axis_y * force[1] + axis_z * force[2]
        total += pull
        # The airframe feels the reaction to the torque that turns the rotor.
        reaction = -rows.rotor_spin[kind, j] * torque[2]
        moment += cross(arm, pull) + axis_x * torque[0] + axis_y * torque[1] + axis_z * reaction
    return total, moment, power


def drag(i: int, rows: PlantRows, q: Quat, through_air: Vec3, w: Vec3) -> tuple[Vec3, Vec3]:
    """Return force [N] and torque about the centre of mass [N m] of the drag, body frame."""
    kind = rows.kind[i]
    frame = rows.airframe[kind]
    if frame.drag == HELD:
        return rows.held_drag_force[i], rows.held_drag_torque[i]
    air = rotate_inverse(q, through_air)
    if rows.gust_step[i] != 0:
        air = air - cross(rotate_inverse(q, rows.gust_rate[i]), vector(frame.rotor_center))
    if rows.in_wake[i] == 1:
        mean = Vec3(0.0, 0.0, 0.0)
        for j in range(frame.rotor_count):
            mean += rows.wake[i, j]
        air = air - rotate_inverse(q, mean * (1.0 / Real(frame.rotor_count)))
    return drag_wrench(rows, kind, frame.drag, air, w, rows.speed_middle[i], rows.air_density[i])


def attitude_rate(q: Quat, w: Vec3) -> Quat:
    """Return q (w, 0) / 2, the rate of a quaternion turning with a body rate w [1/s]."""
    return Quat(
        0.5 * (q[3] * w[0] + q[1] * w[2] - q[2] * w[1]),
        0.5 * (q[3] * w[1] + q[2] * w[0] - q[0] * w[2]),
        0.5 * (q[3] * w[2] + q[0] * w[1] - q[1] * w[0]),
        -0.5 * (q[0] * w[0] + q[1] * w[1] + q[2] * w[2]),
    )


def body_rate(frame: Airframe, momentum: Vec3) -> Vec3:
    """Return the angular velocity that belongs to an angular momentum without the rotors' [rad/s]."""
    return times(
        Vec3(frame.inverse_x[0], frame.inverse_x[1], frame.inverse_x[2]),
        Vec3(frame.inverse_y[0], frame.inverse_y[1], frame.inverse_y[2]),
        Vec3(frame.inverse_z[0], frame.inverse_z[1], frame.inverse_z[2]),
        momentum,
    )


def body_momentum(frame: Airframe, w: Vec3) -> Vec3:
    """Return J w [N m s]."""
    return times(
        Vec3(frame.inertia_x[0], frame.inertia_x[1], frame.inertia_x[2]),
        Vec3(frame.inertia_y[0], frame.inertia_y[1], frame.inertia_y[2]),
        Vec3(frame.inertia_z[0], frame.inertia_z[1], frame.inertia_z[2]),
        w,
    )


def stage(
    i: int,
    rows: PlantRows,
    number: int,
    spin: Vec3,
    x: Vec3,
    q: Quat,
    v: Vec3,
    momentum: Vec3,
) -> tuple[Vec3, Vec3, Vec3, Vec3, Vec3, Vec3, Vec3, Real]:
    """Return angular velocity, acceleration, rate of the angular momentum, and the wrench.

    The wrench is force (world) [N] and torque (body frame) [N m] of the rotors and of the drag, and the shaft
    power [W].

    Args:
        i: Row of the vehicle.
        rows: The rows.
        number: Number of the stage, 1 to 4.
        spin: Angular momentum of the rotors [N m s].
        x: Centre of mass in the world [m].
        q: Attitude.
        v: Velocity of the centre of mass, world [m/s].
        momentum: Angular momentum of body and rotors, body frame [N m s].
    """
    frame = rows.airframe[rows.kind[i]]
    w = body_rate(frame, momentum - spin)
    through_air = v - rows.wind[i]
    lift, moment, power = rotors(i, rows, number, x, q, through_air, w)
    resistance, damping = drag(i, rows, q, through_air, w)
    rotor_force = rotate(q, lift)
    drag_force = rotate(q, resistance)
    acceleration = (rotor_force + drag_force + rows.push[i]) * (1.0 / frame.mass) + rows.gravity[i]
    change = moment + damping + rows.twist[i] - cross(w, momentum)
    return w, acceleration, change, rotor_force, moment - cross(w, spin), drag_force, damping, power


def moderate(velocity: Vec3, angular_velocity: Vec3) -> bool:
    """Return whether motion is finite and below `FASTEST`."""
    return dot(velocity, velocity) + dot(angular_velocity, angular_velocity) < FASTEST * FASTEST


def foresee(i: int, rows: PlantRows, dt: Real) -> None:
    """Set the rotor speeds of a step and the inflow at its beginning, for a thrust curve by Python.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        dt: Length of the step [s].
    """
    turn_motors(i, rows, dt)
    frame = rows.airframe[rows.kind[i]]
    offset = vector(frame.center_of_mass)
    q = rows.orientation[i]
    w = rows.angular_velocity[i]
    through_air, turning = motion_in_air(i, rows, q, rows.velocity[i] - rows.wind[i], w)
    body_velocity = through_air + cross(w, offset)
    for j in range(frame.rotor_count):
        rows.inflow[i, j] = dot(rows.rotor_z[rows.kind[i], j], air_at(i, rows, j, q, body_velocity, turning))


def fault_of(force: Vec3, torque: Vec3, velocity: Vec3, angular_velocity: Vec3) -> int:
    """Return 1 for a wrench that is not finite, 2 for motion beyond `FASTEST`, else 0."""
    total = (dot(force, force) + dot(torque, torque)) * 0.0
    # An infinite number times 0 is not a number, which is not equal to itself.
    if total != total:
        return 1
    if moderate(velocity, angular_velocity):
        return 0
    return 2


def advance(i: int, rows: PlantRows, dt: Real) -> None:
    """Integrate one vehicle over a step, and bring its motors to the end of it.

    Args:
        i: Row of the vehicle.
        rows: The rows; the state at the end, and the means over the step, are written to them.
        dt: Length of the step [s].
    """
    integrate(i, rows, dt)
    frame = rows.airframe[rows.kind[i]]
    for j in range(frame.rotor_count):
        rows.rotor_speed[i, j] = rows.speed_last[i, j]
        if frame.motor != HELD:
            rows.motor_state[i, j] = rows.motor_state_last[i, j]


def integrate(i: int, rows: PlantRows, dt: Real) -> None:
    """Integrate one vehicle over a step; see the module's docstring.

    The state at the start of the step is kept, so that gradients through the step are right.

    Args:
        i: Row of the vehicle.
        rows: The rows; the state at the end, and the means over the step, are written to them.
        dt: Length of the step [s].
    """
    kind = rows.kind[i]
    frame = rows.airframe[kind]
    offset = Vec3(frame.center_of_mass[0], frame.center_of_mass[1], frame.center_of_mass[2])
    before = spin_momentum(i, rows, rows.rotor_speed[i])
    turn_motors(i, rows, dt)
    h1 = spin_momentum(i, rows, rows.speed_first[i])
    h2 = spin_momentum(i, rows, rows.speed_middle[i])
    h3 = spin_momentum(i, rows, rows.speed_last[i])

    q = rows.orientation[i]
    w = rows.angular_velocity[i]
    x = rows.position[i] + rotate(q, offset)
    v = rows.velocity[i] + rotate(q, cross(w, offset))
    momentum = body_momentum(frame, w) + before
    half = 0.5 * dt

    rotor_force = Vec3(0.0, 0.0, 0.0)
    rotor_torque = Vec3(0.0, 0.0, 0.0)
    drag_force = Vec3(0.0, 0.0, 0.0)
    drag_torque = Vec3(0.0, 0.0, 0.0)
    power = 0.0
    stage_x = x
    stage_q = q
    stage_v = v
    stage_momentum = momentum
    spin = h1
    middle_x = v
    middle_v = v
    middle_q = q
    middle_momentum = momentum
    sum_x = v
    sum_v = v
    sum_q = q
    sum_momentum = momentum
    for number in range(1, 5):
        w, a, m, f, t, d, r, p = stage(i, rows, number, spin, stage_x, stage_q, stage_v, stage_momentum)
        turn = attitude_rate(stage_q, w)
        weight = 1.0 / 6.0
        ahead = half
        spin = h2
        if number == 2 or number == 3:
            weight = 1.0 / 3.0
        if number >= 3:
            ahead = dt
            spin = h3
        rotor_force = rotor_force + f * weight
        rotor_torque = rotor_torque + t * weight
        drag_force = drag_force + d * weight
        drag_torque = drag_torque + r * weight
        power = power + p * weight
        if number == 1:
            sum_x = stage_v
            sum_v = a
            sum_q = turn
            sum_momentum = m
        elif number == 2:
            middle_x = stage_v
            middle_v = a
            middle_q = turn
            middle_momentum = m
        elif number == 3:
            sum_x = sum_x + (middle_x + stage_v) * 2.0
            sum_v = sum_v + (middle_v + a) * 2.0
            sum_q = sum_q + (middle_q + turn) * 2.0
            sum_momentum = sum_momentum + (middle_momentum + m) * 2.0
        else:
            sum_x = sum_x + stage_v
            sum_v = sum_v + a
            sum_q = sum_q + turn
            sum_momentum = sum_momentum + m
        spin = carry(i, rows, number, m, spin, dt)
        stage_x = x + stage_v * ahead
        stage_v = v + a * ahead
        stage_q = normalized(q + turn * ahead)
        stage_momentum = momentum + m * ahead

    s = dt / 6.0
    x = x + sum_x * s
    v = v + sum_v * s
    q = normalized(q + sum_q * s)
    momentum = momentum + sum_momentum * s
    w = body_rate(frame, momentum - spin)

    rotor_torque = rotor_torque - (spin - before) * (1.0 / dt)
    force = rotor_force + drag_force + rows.push[i]
    torque = rotor_torque + drag_torque + rows.twist[i]
    load = force + rows.gravity[i] * frame.mass
    rows.rotor_force[i] = rotor_force
    rows.rotor_torque[i] = rotor_torque
    rows.drag_force[i] = drag_force
    rows.drag_torque[i] = drag_torque
    rows.shaft_power[i] = power
    rows.force[i] = force
    rows.torque[i] = torque
    rows.load[i] = load
    rows.fault[i] = fault_of(load, torque, v, w)
    if not moderate(rows.velocity[i], rows.angular_velocity[i]):
        rows.fault[i] = 2
    for j in range(frame.rotor_count):
        command = rows.command[i, j]
        # Neither an infinite number less itself nor one that is not a number is 0.
        if command - command != 0.0:
            rows.fault[i] = 3
    if rows.fault[i] != 0:
        rows.alarm[0] = 1
    rows.free_orientation[i] = q
    rows.free_angular_velocity[i] = w
    rows.free_position[i] = x - rotate(q, offset)
    rows.free_velocity[i] = v - rotate(q, cross(w, offset))


def observe(i: int, rows: MotionRows, rate: Real) -> None:
    """Set rotation matrix and accelerations of a vehicle after a step.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        rate: Steps per second [Hz].
    """
    v = rows.velocity[i]
    w = rows.angular_velocity[i]
    rows.acceleration[i] = (v - rows.last_velocity[i]) * rate
    rows.angular_acceleration[i] = (w - rows.last_angular_velocity[i]) * rate
    rows.last_velocity[i] = v
    rows.last_angular_velocity[i] = w
    rows.rotation[i] = matrix_of(rows.orientation[i])
