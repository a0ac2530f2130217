"""Models of multirotors: their rotors as elements, from layout and parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import NOTHING, Known, Vec3
from pegasus.dynamics import Drag, DrivenMotor, Motor, ThrustCurve
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.machine import Body, Channel, Drive, Element, Machine, Part, Surfaces
from pegasus.model.rotors import RotorLayout


def machine_of(
    layout: RotorLayout, parameters: VehicleParameters, diameter: float, channels: Sequence[Channel]
) -> Machine:
    """Return the model of a multirotor.

    Args:
        layout: Its rotors.
        parameters: Its parameters.
        diameter: Diameter of the propellers [m].
        channels: Commands that it takes, those of its rotors first.
    """
    motor, p = parameters.motor, parameters
    free = isinstance(motor, DrivenMotor)
    drive = Drive(
        _law(motor), _numbers(motor), free, motor.has_state if isinstance(motor, DrivenMotor) else True
    )
    air = Part(_law(p.thrust_curve), _numbers(p.thrust_curve))
    places = (layout.position - p.center_of_mass).tolist()
    x, y, z = layout.frames()
    elements = [
        Element(
            _vector(places[j]),
            _vector(x[j]),
            _vector(y[j]),
            _vector(z[j]),
            Known(layout.spin[j]),
            p.rotor_inertia,
            air,
            drive,
            channel=j,
        )
        for j in range(layout.count)
    ]
    turning = hub_inertia(layout, p.inertia, p.rotor_inertia) if free else p.inertia
    body = Body(
        p.mass,
        _vector(p.center_of_mass),
        *(_vector(row) for row in p.inertia),
        *(_vector(row) for row in inverse(turning)),
    )
    surfaces = None
    if p.ground_effect is not None:
        squared, share = layout.stream_shares(diameter / 2)
        apart = tuple(np.concatenate([squared.ravel(), share]).tolist())
        upwash = Part(type(p.ground_effect).law, p.ground_effect)
        surfaces = Surfaces(upwash, diameter / 2, layout.span, apart)
    drag = None if p.drag is None else Part(_law(p.drag), p.drag)
    middle = _vector(layout.position.mean(axis=0))
    return Machine(body, tuple(elements), tuple(channels), drag, middle, surfaces)


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


def _law(model: Motor | ThrustCurve | Drag) -> Any:
    return type(model).law


def _numbers(model: Motor | ThrustCurve) -> Any:
    return model.parameters() if isinstance(model, ThrustCurve | DrivenMotor) else model


def _vector(values: Sequence[float] | Array) -> Vec3:
    """Return a vector of the geometry, whose components 0, 1 and -1 belong to the structure of the model."""
    x, y, z = (NOTHING if v == 0.0 else Known(v) if abs(v) == 1.0 else float(v) for v in map(float, values))
    return Vec3(x, y, z)


def hub_inertia(layout: RotorLayout, inertia: Array, rotor_inertia: float) -> Array:
    """Return the inertia of a vehicle without that of its rotors about their axes [kg m^2], shape (3, 3).

    Args:
        layout: The rotors.
        inertia: Inertia of the whole vehicle [kg m^2], shape (3, 3).
        rotor_inertia: Inertia of a rotor about its axis [kg m^2].
    """
    rotors: Array = (layout.axis[:, :, None] * layout.axis[:, None, :]).sum(axis=0) * rotor_inertia
    return inertia - rotors


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
