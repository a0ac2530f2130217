"""Commands within their limits, and what drives and servos make of them during a step."""

from pegasus.base.step_math import Real, Reals, Vec3, maximum, minimum
from pegasus.model.machine import Machine
from pegasus.step.values import Effects, Inputs


def commanded(machine: Machine, inputs: Inputs, effects: Effects) -> Reals:
    """Return the commands by channel within their limits, by the shares that faults leave of them.

    Args:
        machine: The machine.
        inputs: What acts on it during the step.
        effects: What faults do to it.
    """
    commands = []
    for k in range(len(machine.channels)):
        channel, asked = machine.channels[k], inputs.command[k]
        if effects.override[k] == effects.override[k]:
            asked = effects.override[k]
        low, high = channel.low, channel.high
        if channel.supplied:
            low, high = inputs.lowest_speed, inputs.highest_speed
        commands.append(minimum(maximum(asked, low), high) * effects.drive[k])
    return tuple(commands)


def driven(
    machine: Machine,
    speeds: Reals,
    states: tuple[Vec3, ...],
    commands: Reals,
    voltage: Real,
    dt: Real,
) -> tuple[tuple[Reals, Reals, Reals], tuple[Vec3, ...]]:
    """Return the speeds of shafts by their drives, and the drives' last states.

    The speeds are those at the beginning, the middle and the end of the step; of a shaft that turns freely
    they are its present one.

    Args:
        machine: The machine.
        speeds: Speeds of its shafts at the start of the step [rad/s].
        states: States of their drives.
        commands: Commands by channel within their limits.
        voltage: Voltage of the battery under load [V].
        dt: Length of the step [s].
    """
    instants: tuple[list[Real], list[Real], list[Real]] = ([], [], [])
    last_states = []
    for j in range(len(machine.elements)):
        drive, command = machine.elements[j].drive, commands[machine.elements[j].channel]
        speed, inner = speeds[j], states[j]
        for k in range(3):
            if not drive.gives_torque:
                span = 0.0 if k == 0 else 0.5 * dt
                speed, inner = drive.law(drive.parameters, speed, inner, command, voltage, span)
            instants[k].append(speed)
        last_states.append(inner)
    return (tuple(instants[0]), tuple(instants[1]), tuple(instants[2])), tuple(last_states)


def served(machine: Machine, angles: Reals, commands: Reals, dt: Real) -> tuple[Reals, Reals, Reals]:
    """Return the angles of the joints at the beginning, the middle and the end of a step, by their servos.

    Args:
        machine: The machine.
        angles: Angles at the start [rad].
        commands: Commands by channel within their limits.
        dt: Length of the step [s].
    """
    instants = [angles]
    for _ in range(2):
        turned = []
        for joint, angle in zip(machine.joints, instants[-1], strict=True):
            servo = joint.servo
            turned.append(servo.law(servo.parameters, angle, commands[joint.channel], 0.5 * dt))
        instants.append(tuple(turned))
    return instants[0], instants[1], instants[2]
