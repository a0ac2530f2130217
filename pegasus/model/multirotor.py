"""Models of vehicles: rotors as elements, joints and surfaces, from layout and parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import NOTHING, Known, Vec3
from pegasus.dynamics import Drag, DrivenMotor, Motor, ThrustCurve
from pegasus.dynamics.wings import Wing
from pegasus.model.airframe import Airframe, Mounted, Propulsion
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.machine import (
    Body,
    Channel,
    Drive,
    Element,
    Joint,
    Machine,
    Part,
    Proximity,
    Stream,
    Surface,
)
from pegasus.model.rotors import RotorLayout


def machine_of(
    layout: RotorLayout, parameters: VehicleParameters, diameter: float, channels: Sequence[Channel]
) -> Machine:
    """Return the model of a vehicle.

    Args:
        layout: Its rotors.
        parameters: Its parameters.
        diameter: Diameter of the propellers [m].
        channels: Commands that it takes: those of its rotors, then those of its joints.
    """
    p, airframe = parameters, parameters.airframe
    kind = Propulsion(p.motor, p.thrust_curve, diameter, p.rotor_inertia)
    kinds = [
        kind if name is None else airframe.kinds[name] for name in airframe.kind_of or [None] * layout.count
    ]
    parts = {
        id(kind): (_drive(kind), Part(_law(kind.thrust_curve), _numbers(kind.thrust_curve))) for kind in kinds
    }
    joints = list(airframe.hinges)
    joint_of = [_place(joints, name) for name in airframe.joint_of or [None] * layout.count]
    pitched_by = [_place(joints, name) for name in airframe.pitched_by or [None] * layout.count]
    places = (layout.position - p.center_of_mass).tolist()
    x, y, z = layout.frames()
    elements = [
        Element(
            _vector(places[j]),
            _vector(x[j]),
            _vector(y[j]),
            _vector(z[j]),
            Known(layout.spin[j]),
            kinds[j].inertia,
            parts[id(kinds[j])][1],
            parts[id(kinds[j])][0],
            channel=j,
            joint=joint_of[j],
            blade_joint=pitched_by[j],
        )
        for j in range(layout.count)
    ]
    body = Body(
        p.mass,
        _vector(p.center_of_mass),
        *(_vector(row) for row in p.inertia),
        *(_vector(row) for row in inverse(hub_inertia(layout, p))),
    )
    proximity = None
    if p.ground_effect is not None:
        squared, share = layout.stream_shares(diameter / 2)
        apart = tuple(np.concatenate([squared.ravel(), share]).tolist())
        upwash = Part(type(p.ground_effect).law, p.ground_effect)
        proximity = Proximity(upwash, diameter / 2, layout.span, apart)
    drag = None if p.drag is None else Part(_law(p.drag), p.drag)
    middle = _vector(layout.position.mean(axis=0))
    hinges = [
        Joint(
            _vector(np.subtract(hinge.position, p.center_of_mass)),
            _vector(hinge.axis),
            Part(type(hinge.servo).law, hinge.servo.parameters()),
            channel=k,
        )
        for k, hinge in enumerate(airframe.hinges.values(), layout.count + len(airframe.brakes))
    ]
    surfaces = [
        _surface(surface, layout, kinds, p.center_of_mass, joints) for surface in airframe.surfaces.values()
    ]
    return Machine(
        body, tuple(elements), tuple(channels), drag, middle, proximity, tuple(hinges), tuple(surfaces)
    )


def _drive(kind: Propulsion) -> Drive:
    """Return the drive of rotors of a kind."""
    motor = kind.motor
    free = isinstance(motor, DrivenMotor)
    return Drive(
        _law(motor), _numbers(motor), free, motor.has_state if isinstance(motor, DrivenMotor) else True
    )


def _place(names: Sequence[str], name: str | None) -> int | None:
    return None if name is None else names.index(name)


def _surface(
    surface: Mounted,
    layout: RotorLayout,
    kinds: Sequence[Propulsion],
    center_of_mass: Array,
    joints: Sequence[str],
) -> Surface:
    """Return a surface as the step takes it."""
    mount, model = surface.mount, surface.model
    x, y, z = mount.axes()
    streams = []
    for rotor in mount.slipstream:
        behind = layout.position[rotor] - mount.position
        streams.append(Stream(rotor, kinds[rotor].diameter / 2, float((behind * layout.axis[rotor]).sum())))
    return Surface(
        _vector(np.subtract(mount.position, center_of_mass)),
        _vector(x),
        _vector(y),
        _vector(z),
        Part(_law(model), model.parameters()),
        tuple(joints.index(name) for name in mount.controls),
        tuple(streams),
        joint=_place(joints, mount.joint),
    )


def channels_of(motor: Motor, airframe: Airframe, count: int) -> tuple[Channel, ...]:
    """Return the channels of a vehicle: speeds of its rotors, shares of its brakes, angles of its joints.

    Args:
        motor: Motor of the rotors that are not of another kind.
        airframe: Its parts besides rotors of one kind.
        count: Number of rotors.
    """
    channels = list(rotor_channels(motor, count))
    for j, kind in enumerate(airframe.kind_of):
        if kind is not None:
            other = airframe.kinds[kind].motor
            channels[j] = Channel(f"rotor_{j}", "rad/s", other.min_speed, other.max_speed)
    channels += [Channel(name, "", 0.0, 1.0) for name in airframe.brakes]
    for name, hinge in airframe.hinges.items():
        servo = hinge.servo
        channels.append(Channel(name, "rad", servo.low, servo.high, servo.idle))
    return tuple(channels)


def rotor_channels(motor: Motor, count: int) -> tuple[Channel, ...]:
    """Return the channels of the rotors of a multirotor: their speeds in the motor's limits.

    Args:
        motor: The motor.
        count: Number of rotors.
    """
    return tuple(
        Channel(f"rotor_{j}", "rad/s", motor.min_speed, motor.max_speed, supplied=True) for j in range(count)
    )


def require_law(field: str, model: Motor | ThrustCurve | Drag | None) -> None:
    """Raise a ConfigError if a model has no law, or overrides in NumPy what its law gives.

    Args:
        field: Field of the model.
        model: The model; None without one.
    """
    if model is None:
        return
    kind = type(model)
    for role, method in (
        (Motor, "step"),
        (ThrustCurve, "thrust"),
        (ThrustCurve, "rotor_speed"),
        (Drag, "wrench"),
    ):
        if isinstance(model, role) and getattr(kind, method, None) is not getattr(role, method, None):
            raise ConfigError(
                f"{kind.__name__} overrides {method} in NumPy, which the step does not call",
                field=field,
                remedy="give it a law of numbers, or the vehicle a function `wrench`",
            )
    if kind.law is None:
        raise ConfigError(
            f"{kind.__name__} has no law", field=field, remedy="give it one: a function of numbers"
        )


def _law(model: Motor | ThrustCurve | Drag | Wing) -> Any:
    return type(model).law


def _numbers(model: Motor | ThrustCurve) -> Any:
    return model.parameters() if isinstance(model, ThrustCurve | DrivenMotor) else model


def _vector(values: Sequence[float] | Array) -> Vec3:
    """Return a vector of the geometry, whose components 0, 1 and -1 belong to the structure of the model."""
    x, y, z = (NOTHING if v == 0.0 else Known(v) if abs(v) == 1.0 else float(v) for v in map(float, values))
    return Vec3(x, y, z)


def hub_inertia(layout: RotorLayout, parameters: VehicleParameters) -> Array:
    """Return the inertia of a vehicle without that of free rotors about their axes [kg m^2], shape (3, 3).

    Args:
        layout: The rotors.
        parameters: Parameters of the vehicle.
    """
    p, others = parameters, np.array([kind is not None for kind in parameters.airframe.kind_of], dtype=bool)
    left = p.inertia
    if isinstance(p.motor, DrivenMotor):
        axis = layout.axis[~others] if others.any() else layout.axis
        rotors: Array = (axis[:, :, None] * axis[:, None, :]).sum(axis=0) * p.rotor_inertia
        left = left - rotors
    for axis, name in zip(layout.axis, p.airframe.kind_of, strict=False):
        if name is not None and isinstance(p.airframe.kinds[name].motor, DrivenMotor):
            left = left - np.outer(axis, axis) * p.airframe.kinds[name].inertia
    return left


def inverse(inertia: Array) -> Array:
    """Return the inverse of an inertia by its cofactors, in the same bits on every processor, shape (3, 3).

    Args:
        inertia: The inertia [kg m^2], shape (3, 3).
    """
    matrix: list[list[float]] = inertia.tolist()
    cofactors = [
        [
            matrix[(i + 1) % 3][(j + 1) % 3] * matrix[(i + 2) % 3][(j + 2) % 3]
            - matrix[(i + 1) % 3][(j + 2) % 3] * matrix[(i + 2) % 3][(j + 1) % 3]
            for j in range(3)
        ]
        for i in range(3)
    ]
    # Not by `sum`, which adds otherwise since Python 3.12.
    a, b, c = (matrix[0][j] * cofactors[0][j] for j in range(3))
    determinant = a + b + c
    return np.array([[cofactors[j][i] / determinant for j in range(3)] for i in range(3)])
