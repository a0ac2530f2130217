"""Step of a machine in free flight: shafts and body integrated together by the classical Runge-Kutta method.

The state is that of the centre of mass: position x, attitude q, velocity v, and the angular momentum L of
body and shafts together in the body frame. With the wrench (F, M) of elements, drag and disturbance

    x' = v,  v' = R F / m + g,  q' = q (w, 0) / 2,  L' = M - w x L,  w = J^-1 (L - h)

where h is the angular momentum of the shafts about their axes. Their acceleration and the gyroscopic torque
follow from L, so that both conserve energy and angular momentum. F and M are evaluated at each of the four
stages. The speeds of shafts whose drive gives a speed come from its law, at the beginning, middle and end of
the step. A shaft whose drive gives a torque T turns freely: its angular momentum about its axis a, in its
sense s, is l = I (u + s a . w) at the speed u relative to the body, and

    l' = T - Q,   w = (J - I sum a a^T)^-1 (L - sum s a l)

with the torque Q of the air. Wind, density, gravity and wakes are held over the step: it is of fourth order
in uniform air, of first order in wind that varies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from pegasus.base.step_math import (
    NOTHING,
    Quat,
    Real,
    Reals,
    Vec3,
    cross,
    dot,
    normalized,
    rotate,
)
from pegasus.base.tracing import Signal
from pegasus.model.machine import Body, Machine
from pegasus.step.drives import commanded, driven, served
from pegasus.step.loads import NO_VECTOR, Loads, flow_of, loads_of
from pegasus.step.pose import posed
from pegasus.step.values import Air, Effects, Held, Inputs, Planes, Result, State, no_effects

FASTEST = 1e5
"""Speed [m/s] or rate [rad/s] above which motion counts as diverged."""


@dataclass(frozen=True)
class Motion:
    """What is integrated, or its rate."""

    position: Vec3
    """Centre of mass in the world [m]."""
    orientation: Quat
    velocity: Vec3
    """Velocity of the centre of mass, world [m/s]."""
    momentum: Vec3
    """Angular momentum of body and shafts, body frame [N m s]."""
    shafts: Reals
    """Angular momentum of each free shaft about its axis [N m s]."""
    drives: tuple[Vec3, ...]
    """State of the drive of each."""


@dataclass(frozen=True)
class Instant:
    """Machine at an instant of a step."""

    machine: Machine
    """The machine, as its joints have turned its parts."""
    speeds: Reals
    """Speeds of the shafts that do not turn freely [rad/s]."""
    angles: Reals
    """Angles of the joints [rad]."""


@dataclass(frozen=True)
class Means:
    """What is averaged over a step."""

    rotor_force: Vec3
    """Forces in the world [N], torques in the body frame [N m], powers [W]; see `Result`."""
    rotor_torque: Vec3
    drag_force: Vec3
    drag_torque: Vec3
    other_force: Vec3
    other_torque: Vec3
    shaft_power: Real
    electrical_power: Real


M = TypeVar("M", Motion, Means)


def times(x: Vec3, y: Vec3, z: Vec3, v: Vec3) -> Vec3:
    """Return the product of a matrix, given by its rows, and a vector."""
    return Vec3(dot(x, v), dot(y, v), dot(z, v))


def attitude_rate(q: Quat, w: Vec3) -> Quat:
    """Return q (w, 0) / 2, the rate of a quaternion turning with a body rate w [1/s]."""
    return Quat(
        0.5 * (q[3] * w[0] + q[1] * w[2] - q[2] * w[1]),
        0.5 * (q[3] * w[1] + q[2] * w[0] - q[0] * w[2]),
        0.5 * (q[3] * w[2] + q[0] * w[1] - q[1] * w[0]),
        -0.5 * (q[0] * w[0] + q[1] * w[1] + q[2] * w[2]),
    )


def body_momentum(body: Body, w: Vec3) -> Vec3:
    """Return J w [N m s]."""
    return times(body.inertia_x, body.inertia_y, body.inertia_z, w)


def body_rate(body: Body, momentum: Vec3) -> Vec3:
    """Return the angular velocity of a body with an angular momentum, that of the shafts left out [rad/s]."""
    return times(body.inverse_x, body.inverse_y, body.inverse_z, momentum)


def advance(
    machine: Machine,
    state: State,
    inputs: Inputs,
    air: Air,
    effects: Effects | None,
    planes: Planes | None,
    held: Held | None,
    dt: Real,
) -> Result:
    """Return the state of a machine after a step, and the means over it.

    Args:
        machine: The machine.
        state: Its state at the start of the step.
        inputs: What acts on it during the step.
        air: Air around it, a `VariedAir` if that differs between its elements.
        effects: What faults do to it; None without faults.
        planes: Planes below and above its elements, for a machine with `proximity`.
        held: Wrench of its own that Python computes; None without one.
        dt: Length of the step [s].
    """
    body, offset = machine.body, machine.body.center_of_mass
    if effects is None:
        effects = no_effects(len(machine.elements), len(machine.channels))
    first_speeds = tuple(u * left for u, left in zip(state.rotor_speed, effects.kept_speed, strict=True))
    first_drives = tuple(s * left for s, left in zip(state.motor_state, effects.kept_speed, strict=True))
    commands = commanded(machine, inputs, effects)
    instants, drives = driven(machine, first_speeds, first_drives, commands, inputs.voltage, dt)
    angles = served(machine, state.joint_angle, commands, dt)
    first, middle, last = (
        Instant(posed(machine, turned), speeds, turned)
        for speeds, turned in zip(instants, angles, strict=True)
    )
    q, w = state.orientation, state.angular_velocity
    before = turning(first.machine, state.rotor_speed)
    start = Motion(
        state.position + rotate(q, offset),
        q,
        state.velocity + rotate(q, cross(w, offset)),
        body_momentum(body, w) + before,
        tuple(
            e.inertia * (u + e.sense * dot(e.z, w)) if e.drive.gives_torque else NOTHING
            for e, u in zip(first.machine.elements, first_speeds, strict=True)
        ),
        first_drives,
    )

    given = inputs, air, effects, planes, held, commands
    k1, m1 = rates_at(first, *given, start)
    k2, m2 = rates_at(middle, *given, moved(start, k1, 0.5 * dt))
    k3, m3 = rates_at(middle, *given, moved(start, k2, 0.5 * dt))
    k4, m4 = rates_at(last, *given, moved(start, k3, dt))
    end = moved(start, combined([k1, k2, k3, k4]), dt / 6.0)
    loads = combined([m1, m2, m3, m4])
    means = Means(*(getattr(loads, field.name) * (1.0 / 6.0) for field in fields(loads)))

    q, w = end.orientation, angular_velocity(last, end)
    speeds = shaft_speeds(last, end, w)
    rotor_torque = means.rotor_torque - (turning(last.machine, speeds) - before) * (1.0 / dt)
    others = means.other_force, means.other_torque
    if held is None:
        others = inputs.push + effects.fault_force, inputs.twist + effects.fault_torque
    force = means.rotor_force + means.drag_force + others[0]
    torque = rotor_torque + means.drag_torque + others[1]
    load = force + inputs.gravity * body.mass
    fault = fault_of(load, torque, end.velocity, w, state, inputs.command)
    return Result(
        free_position=end.position - rotate(q, offset),
        free_orientation=q,
        free_velocity=end.velocity - rotate(q, cross(w, offset)),
        free_angular_velocity=w,
        rotor_speed=speeds,
        motor_state=tuple(
            free if e.drive.gives_torque else driven_state
            for e, free, driven_state in zip(machine.elements, end.drives, drives, strict=True)
        ),
        joint_angle=last.angles,
        limited_command=commands,
        force=force,
        torque=torque,
        load=load,
        rotor_force=means.rotor_force,
        rotor_torque=rotor_torque,
        drag_force=means.drag_force,
        drag_torque=means.drag_torque,
        shaft_power=means.shaft_power,
        electrical_power=means.electrical_power,
        fault=fault,
        alarm=Signal(fault),
    )


def turning(machine: Machine, speeds: Reals) -> Vec3:
    """Return the angular momentum of shafts relative to the body, body frame [N m s]."""
    total = NO_VECTOR
    for e, speed in zip(machine.elements, speeds, strict=True):
        total = total + e.z * (e.sense * (e.inertia * speed))
    return total


def angular_velocity(at: Instant, y: Motion) -> Vec3:
    """Return the angular velocity of the body [rad/s].

    Args:
        at: The machine at the instant.
        y: Its motion.
    """
    known = NO_VECTOR
    for e, free, speed in zip(at.machine.elements, y.shafts, at.speeds, strict=True):
        amount = free if e.drive.gives_torque else e.inertia * speed
        known = known + e.z * (e.sense * amount)
    return body_rate(at.machine.body, y.momentum - known)


def shaft_speeds(at: Instant, y: Motion, w: Vec3) -> Reals:
    """Return the speeds of all shafts [rad/s]; see `angular_velocity`."""
    return tuple(
        free * (1.0 / e.inertia) - e.sense * dot(e.z, w) if e.drive.gives_torque else speed
        for e, free, speed in zip(at.machine.elements, y.shafts, at.speeds, strict=True)
    )


def rates_at(
    at: Instant,
    inputs: Inputs,
    air: Air,
    effects: Effects,
    planes: Planes | None,
    held: Held | None,
    commands: Reals,
    y: Motion,
) -> tuple[Motion, Means]:
    """Return the rates of a motion, and the loads that are averaged.

    Args:
        at: The machine at the instant.
        inputs: What acts on it during the step.
        air: Air around it.
        effects: What faults do to it.
        planes: Planes below and above its elements, for a machine with `proximity`.
        held: Wrench of its own that Python computes; None without one.
        commands: Commands by channel within their limits.
        y: The motion.
    """
    machine, q, w = at.machine, y.orientation, angular_velocity(at, y)
    speeds = shaft_speeds(at, y, w)
    flow = flow_of(machine, air, effects, q, y.velocity)
    shares = effects.thrust_share, effects.torque_share
    loads = loads_of(machine, *shares, planes, flow, y.position, q, w, speeds, at.angles)
    shafts, drives, drawn = free_rates(machine, inputs, commands, speeds, loads, y)
    rotor_force, drag_force = rotate(q, loads.rotor_force), rotate(q, loads.drag_force)
    force, torque = inputs.push + effects.fault_force, inputs.twist + effects.fault_torque
    if held is not None:
        force = force + rotate(q, held.held_force)
        torque = torque + held.held_torque
    acceleration = (rotor_force + drag_force + force) * (1.0 / machine.body.mass) + inputs.gravity
    change = loads.rotor_torque + loads.drag_torque + torque - cross(w, y.momentum)
    rotor_torque = loads.rotor_torque - cross(w, turning(machine, speeds))
    means = Means(
        rotor_force, rotor_torque, drag_force, loads.drag_torque, force, torque, loads.shaft_power, drawn
    )
    return Motion(y.velocity, attitude_rate(q, w), acceleration, change, shafts, drives), means


def free_rates(
    machine: Machine, inputs: Inputs, commands: Reals, speeds: Reals, loads: Loads, y: Motion
) -> tuple[Reals, tuple[Vec3, ...], Real]:
    """Return the rates of free shafts and of their drives' states, and the electrical power [W]."""
    shafts = []
    drives = []
    power: Real = NOTHING
    for j in range(len(machine.elements)):
        drive = machine.elements[j].drive
        rise: Real = NOTHING
        rate = NO_VECTOR
        if drive.gives_torque:
            state = y.drives[j] if drive.has_state else NO_VECTOR
            command = commands[machine.elements[j].channel]
            torque, rate, drawn = drive.law(drive.parameters, speeds[j], state, command, inputs.voltage)
            rise = torque - loads.shaft_torque[j]
            power = power + drawn
            if not drive.has_state:
                rate = NO_VECTOR
        shafts.append(rise)
        drives.append(rate)
    return tuple(shafts), tuple(drives), power


def moved(y: Motion, rate: Motion, dt: Real) -> Motion:
    """Return a motion after dt at a rate."""
    return Motion(
        y.position + rate.position * dt,
        normalized(y.orientation + rate.orientation * dt),
        y.velocity + rate.velocity * dt,
        y.momentum + rate.momentum * dt,
        tuple(a + b * dt for a, b in zip(y.shafts, rate.shafts, strict=True)),
        tuple(a + b * dt for a, b in zip(y.drives, rate.drives, strict=True)),
    )


def combined(stages: Sequence[M]) -> M:
    """Return a + 2 (b + c) + d of four stages, field by field: six times the mean over a step."""
    return type(stages[0])(*(_sum([getattr(k, field.name) for k in stages]) for field in fields(stages[0])))


def _sum(values: Sequence[Any]) -> Any:
    a, b, c, d = values
    if isinstance(a, tuple):
        return tuple(_sum(four) for four in zip(a, b, c, d, strict=True))
    return a + (b + c) * 2.0 + d


def is_bounded(velocity: Vec3, angular_velocity: Vec3) -> bool:
    """Return whether motion is finite and below `FASTEST`."""
    return dot(velocity, velocity) + dot(angular_velocity, angular_velocity) < FASTEST * FASTEST


def fault_of(force: Vec3, torque: Vec3, v: Vec3, w: Vec3, state: State, command: Reals) -> Real:
    """Return what is wrong with a step; see `Result.fault`.

    Args:
        force: Force on the machine, world [N].
        torque: Torque on it, body frame [N m].
        v: Velocity at the end, world [m/s].
        w: Angular velocity at the end, body frame [rad/s].
        state: State at the start.
        command: Commands.
    """
    fault = 0.0
    if not is_bounded(v, w):
        fault = 2.0
    total = (dot(force, force) + dot(torque, torque)) * 0.0
    # An infinite number times 0 is not a number, which is not equal to itself.
    if total != total:
        fault = 1.0
    if not is_bounded(state.velocity, state.angular_velocity):
        fault = 2.0
    for asked in command:
        # Neither an infinite number less itself nor one that is not a number is 0.
        if asked - asked != 0.0:
            fault = 3.0
    return fault
