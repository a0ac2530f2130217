"""Machines with joints at the angles of an instant."""

from dataclasses import replace
from typing import TypeVar

from pegasus.base.step_math import Real, Reals, Vec3, cos, cross, dot, sin
from pegasus.model.machine import Body, Element, Joint, Machine, Surface

P = TypeVar("P", Element, Surface)


def posed(machine: Machine, angles: Reals) -> Machine:
    """Return a machine with its parts where joints have turned them.

    Args:
        machine: The machine.
        angles: Angles of its joints [rad].
    """
    if not machine.joints:
        return machine
    elements = tuple(_pitched(_turned(machine, part, angles), angles) for part in machine.elements)
    surfaces = tuple(_turned(machine, part, angles) for part in machine.surfaces)
    body = machine.body
    if any(e.joint is not None and e.drive.gives_torque for e in elements):
        body = _with_hubs(body, elements)
    return replace(machine, body=body, elements=elements, surfaces=surfaces)


def _turned(machine: Machine, part: P, angles: Reals) -> P:
    """Return a part as its joint, if it has one, has turned it."""
    if part.joint is None:
        return part
    joint, angle = machine.joints[part.joint], angles[part.joint]
    s, c = sin(angle), cos(angle)
    return replace(
        part,
        position=joint.position + _rotated(joint, part.position - joint.position, s, c),
        x=_rotated(joint, part.x, s, c),
        y=_rotated(joint, part.y, s, c),
        z=_rotated(joint, part.z, s, c),
    )


def _pitched(element: Element, angles: Reals) -> Element:
    """Return an element with its blades, if a joint turns them, at that angle."""
    if element.blade_joint is None:
        return element
    blades = replace(element.air.parameters, pitch=angles[element.blade_joint])
    return replace(element, air=replace(element.air, parameters=blades))


def _rotated(joint: Joint, v: Vec3, s: Real, c: Real) -> Vec3:
    """Return a vector turned about the axis of a joint by the angle of this sine and cosine (Rodrigues)."""
    return v * c + cross(joint.axis, v) * s + joint.axis * (dot(joint.axis, v) * (1.0 - c))


def _with_hubs(body: Body, elements: tuple[Element, ...]) -> Body:
    """Return a body with the inverse of its inertia without free shafts about the axes that they have now."""
    x, y, z = body.inertia_x, body.inertia_y, body.inertia_z
    for e in elements:
        if e.drive.gives_torque:
            axis = e.z * e.inertia
            x, y, z = x - axis * e.z[0], y - axis * e.z[1], z - axis * e.z[2]
    # Rows of the adjugate of a symmetric matrix are the cross products of its rows.
    first, second, third = cross(y, z), cross(z, x), cross(x, y)
    share = 1.0 / dot(x, first)
    return replace(body, inverse_x=first * share, inverse_y=second * share, inverse_z=third * share)
