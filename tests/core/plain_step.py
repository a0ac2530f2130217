"""The step of a plant in plain Python, row by row."""

from dataclasses import fields
from typing import get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base.step_math import Mat33, Quat, Reals, Vec3
from pegasus.step.energy import Energy, Path, audit
from pegasus.step.integrator import advance
from pegasus.step.observation import observe
from pegasus.step.values import AXES, Air, Effects, Held, Inputs, Moved, Planes, State, VariedAir


def values_of(kind, columns, row, rotors=0, channels=0, joints=0):
    """Return the values of a dataclass of the step from a row of columns."""
    hints = get_type_hints(kind)

    def one(hint, numbers):
        return hint(*numbers.tolist()) if hint in (Vec3, Quat) else float(numbers)

    made = {}
    for field in fields(kind):
        hint, numbers = hints[field.name], columns[field.name][row]
        table = hint == Reals or get_origin(hint) is tuple
        element = get_args(hint)[0] if table else hint
        width = {"channel": channels, "joint": joints, "element": rotors}[AXES.get(field.name, "element")]
        made[field.name] = tuple(one(element, x) for x in numbers[:width]) if table else one(hint, numbers)
    return kind(**made)


def numbers_of(value):
    """Return a value of the step as nested lists of numbers."""
    if isinstance(value, Vec3):
        return [value[k] for k in range(3)]
    if isinstance(value, Quat):
        return [value[k] for k in range(4)]
    if isinstance(value, Mat33):
        return value.rows
    return [numbers_of(x) for x in value] if isinstance(value, tuple) else value


def write(result, columns, row):
    """Write the fields of a result of the step into a row of columns."""
    for field in fields(result):
        if field.name != "alarm":
            numbers = np.array(numbers_of(getattr(result, field.name)))
            target = columns[field.name]
            if numbers.ndim and target[row].ndim == numbers.ndim and len(numbers) != len(target[row]):
                target[row, : len(numbers)] = numbers
            else:
                target[row] = numbers


def rows_of(vehicles):
    """Yield vehicle, model and row of each copy."""
    row = 0
    for vehicle in vehicles:
        machines = vehicle.machines
        for copy in range(vehicle.count):
            yield vehicle, machines[copy % len(machines)], row
            row += 1


def advance_in_python(vehicles, columns, dt, *, local_air=False, failing=()):
    """Run the step of all rows in Python."""
    for vehicle, machine, row in rows_of(vehicles):
        rotors = len(machine.elements)
        result = advance(
            machine,
            values_of(State, columns, row, rotors, joints=len(machine.joints)),
            values_of(Inputs, columns, row, rotors, len(machine.channels)),
            values_of(VariedAir if local_air else Air, columns, row, rotors),
            values_of(Effects, columns, row, rotors, len(machine.channels)) if vehicle in failing else None,
            values_of(Planes, columns, row, rotors) if machine.proximity is not None else None,
            values_of(Held, columns, row) if vehicle.has_own_wrench else None,
            dt,
        )
        write(result, columns, row)


def observe_in_python(count, columns, rate):
    """Set the motion after a step in Python."""
    for row in range(count):
        write(observe(values_of(Moved, columns, row), rate), columns, row)


def audit_in_python(vehicles, columns, gravity, altitude, rate):
    """Set the motion after a step, and add up its energy, in Python."""
    for _, machine, row in rows_of(vehicles):
        parts = (values_of(kind, columns, row) for kind in (Moved, Path, Energy))
        law = type(gravity).law
        observed, energy, position, orientation = audit(
            machine.body, *parts, law, gravity.parameters, altitude, rate
        )
        write(observed, columns, row)
        write(energy, columns, row)
        columns["start_position"][row] = numbers_of(position)
        columns["start_orientation"][row] = numbers_of(orientation)
