"""Models of vehicles as parameters of the compiled step, and the kernels that hold custom laws.

Warp is imported when a kernel or its rows are first made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.generated_functions import written
from pegasus.base.step_math import Column
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.driven import hub_inertia
from pegasus.dynamics import Drag, DrivenMotor, Motor, ThrustCurve, driven_rotors, plant_rows, rotor_wrenches
from pegasus.dynamics import plant as step
from pegasus.dynamics.battery_step import NO_CELLS, BatteryRows, Cells
from pegasus.dynamics.drag import LinearDrag, QuadraticDrag, linear_drag, quadratic_drag
from pegasus.dynamics.driven_rotors import NO_DRIVE, Drive, DrivenRows
from pegasus.dynamics.ground_effect import GroundEffect, image_sources
from pegasus.dynamics.motors import FirstOrderMotor, IdealMotor, first_order_motor, ideal_motor
from pegasus.dynamics.propeller_curve import NO_TABLES, propeller_thrust
from pegasus.dynamics.rotor_wrenches import SeparateRows
from pegasus.dynamics.thrust_curves import (
    PolynomialThrust,
    QuadraticCoefficients,
    polynomial_thrust,
    quadratic_thrust,
)
from pegasus.model.dynamics_models import VehicleParameters

if TYPE_CHECKING:
    from pegasus.base.compiler import Kernel, Rows

Law = Callable[..., Any]
_SHIPPED: dict[str, tuple[Law, Any]] = {
    "ideal": (ideal_motor, IdealMotor()),
    "first_order": (first_order_motor, FirstOrderMotor(time_constant_up=1.0, time_constant_down=1.0)),
    "quadratic": (quadratic_thrust, QuadraticCoefficients(1.0, 1.0)),
    "polynomial": (polynomial_thrust, PolynomialThrust(coefficients=(0.0, 1.0))),
    "propeller": (propeller_thrust, NO_TABLES),
    "linear_drag": (linear_drag, LinearDrag(coefficients=(0.0, 0.0, 0.0))),
    "quadratic_drag": (quadratic_drag, QuadraticDrag(areas=(0.0, 0.0, 0.0))),
    "image_sources": (image_sources, GroundEffect()),
}
"""Law and column of each shipped model, with the parameters of vehicles that have another one."""
_ROTOR_TABLES = ("rotor_position", "rotor_x", "rotor_y", "rotor_z", "rotor_spin", "rotor_apart")
PARAMETERS = frozenset(
    {"airframe", "driven", "cells", "alarm", "bell", "gravity_parameters", *_SHIPPED, *_ROTOR_TABLES}
)
"""Columns and tables that have one row per kind of vehicle, or one for all of them."""
_DISPATCHERS: dict[type, tuple[Law, dict[Any, int]]] = {
    Motor: (plant_rows.motor_response, plant_rows.MOTORS),
    DrivenMotor: (driven_rotors.drive_torque, {}),
    ThrustCurve: (plant_rows.rotor_thrust, plant_rows.THRUST_CURVES),
    Drag: (plant_rows.drag_wrench, plant_rows.DRAGS),
    GroundEffect: (plant_rows.ground_upwash, plant_rows.GROUND_EFFECTS),
}
"""Function of the step that chooses the law of a model, and the numbers of shipped laws, by role."""
_DRIVEN: dict[str, Law] = {
    "turn_motors": driven_rotors.turn_driven,
    "take_torque": driven_rotors.take_shaft_torque,
    "carry": driven_rotors.carry_driven,
}
"""Functions of the step of vehicles with driven motors, by the names of those that they stand for."""
_SEPARATE: dict[str, Law] = {
    "turn_blades": rotor_wrenches.turn_all_blades,
    "rotor_wrench": rotor_wrenches.found_wrench,
}
"""Those of vehicles with a custom law of the thrust curve."""
_FIRST_CUSTOM = 100
"""Number of the first custom law of a simulation."""

Custom = tuple[tuple[type, Law, type], ...]
"""Role, law and class of the parameters of each custom law."""


def law_of(model: Motor | ThrustCurve | Drag | GroundEffect | None) -> Law | None:
    """Return the law that is compiled for a model; None for none, or a model in NumPy.

    A class that overrides the method of its role is a model in NumPy, also if it inherits a law.

    Args:
        model: The model.
    """
    if model is None:
        return None
    if isinstance(model, DrivenMotor):
        return type(model).law
    for role, method in ((Motor, "step"), (ThrustCurve, "thrust"), (Drag, "wrench")):
        if isinstance(model, role) and getattr(type(model), method) is not getattr(role, method):
            return None
    return type(model).law


def custom_laws(vehicles: Sequence[Vehicle]) -> Custom:
    """Return the laws of vehicles that are not shipped ones, each once.

    Args:
        vehicles: The vehicles.
    """
    found: dict[Law, tuple[type, Law, type]] = {}
    for vehicle in vehicles:
        for role, model in _roles(vehicle.parameters[0]):
            law = law_of(model)
            if law is not None and law not in _DISPATCHERS[role][1]:
                found[law] = role, law, type(_parameters(model))
    return tuple(found[law] for law in sorted(found, key=lambda f: (f.__module__, f.__qualname__)))


def plant_rows_of(custom: Custom, columns: Mapping[str, Any], device: str = "cpu") -> "Rows":
    """Return the rows of the plant, with the columns of custom laws.

    Args:
        custom: The custom laws.
        columns: Arrays and parameters by name.
        device: Device of the rows.
    """
    from pegasus.base.compiler import Rows

    return Rows(plant_rows_kind(custom), columns, device=device)


@cache
def plant_kernel(custom: Custom, function: Callable[..., None] = step.advance) -> "Kernel":
    """Return the kernel of a step function of the plant, into which custom laws are compiled.

    Args:
        custom: The custom laws.
        function: The step function.
    """
    from pegasus.base.compiler import Kernel

    kinds: dict[type, type] = {plant_rows.PlantRows: plant_rows_kind(custom)} if custom else {}
    driven = _driven(custom)
    replaced = {
        choose.__name__: _dispatcher(role, custom)
        for role, (choose, _) in _DISPATCHERS.items()
        if any(role is other for other, _, _ in custom)
    }
    if driven:
        kinds[DrivenRows] = kinds[plant_rows.PlantRows]
        replaced |= _DRIVEN
    if any(role is ThrustCurve for role, _, _ in custom):
        kinds[SeparateRows] = kinds[plant_rows.PlantRows]
        replaced |= _SEPARATE
    return Kernel(function, replaced, kinds)


def motion_rows(columns: Mapping[str, Array]) -> "Rows":
    """Return the rows of `observe`.

    Args:
        columns: Arrays by name.
    """
    from pegasus.base.compiler import Rows

    return Rows(plant_rows.MotionRows, columns)


def battery_rows(vehicles: Sequence[Vehicle], columns: Mapping[str, Any], device: str = "cpu") -> "Rows":
    """Return the rows of the batteries.

    Args:
        vehicles: The vehicles.
        columns: Arrays by name.
        device: Device of the rows.
    """
    from pegasus.base.compiler import Rows

    cells: list[Cells] = []
    for vehicle in vehicles:
        cells += [NO_CELLS] * len(vehicle.parameters) if vehicle.battery is None else vehicle.battery.cells
    return Rows(BatteryRows, {**columns, "cells": cells}, device=device)


@cache
def plant_rows_kind(custom: Custom) -> type:
    """Return the dataclass of the plant's columns with those of custom laws.

    Args:
        custom: The custom laws.
    """
    if not custom:
        return plant_rows.PlantRows
    fields = [(f"custom_{k}", Column[kind]) for k, (_, _, kind) in enumerate(custom)]  # type: ignore[valid-type]
    bases: list[type] = []
    if _driven(custom):
        bases.append(DrivenRows)
    if any(role is ThrustCurve for role, _, _ in custom):
        bases.append(SeparateRows)
    return make_dataclass("CustomRows", fields, bases=tuple(bases) or (plant_rows.PlantRows,))


def _driven(custom: Custom) -> bool:
    """Return whether the speeds of some rotors follow from torques."""
    return any(role is DrivenMotor for role, _, _ in custom)


def _dispatcher(role: type, custom: Custom) -> Law:
    """Return a function that chooses among the custom laws of a role, then among the shipped ones."""
    choose, _ = _DISPATCHERS[role]
    arguments = list(signature(choose).parameters)
    inputs = ", ".join(arguments[3:])
    lines = [f"def {choose.__name__}({', '.join(arguments)}):"]
    names: dict[str, Law] = {"shipped": choose}
    for k, (other, law, _) in enumerate(custom):
        if other is role:
            names[f"law_{k}"] = law
            lines += [
                f"    if model == {_FIRST_CUSTOM + k}:",
                f"        return law_{k}(rows.custom_{k}[kind], {inputs})",
            ]
    lines.append(f"    return shipped({', '.join(arguments)})")
    made = written(choose.__name__, "\n".join(lines) + "\n", names)
    made.__annotations__ = dict(choose.__annotations__)
    return made


def _roles(parameters: VehicleParameters) -> list[tuple[type, Any]]:
    return [
        (DrivenMotor if isinstance(parameters.motor, DrivenMotor) else Motor, parameters.motor),
        (ThrustCurve, parameters.thrust_curve),
        (Drag, parameters.drag),
        (GroundEffect, parameters.ground_effect),
    ]


def _parameters(model: Any) -> Any:
    return model.parameters() if isinstance(model, ThrustCurve | DrivenMotor) else model


def parameters_of(vehicles: Sequence[Vehicle]) -> dict[str, Any]:
    """Return the columns and tables of parameters, and the cell `alarm`.

    Each vehicle has one row, or one for each copy if they vary.
    """
    rotors = max(vehicle.rotor_count for vehicle in vehicles)
    kinds = sum(len(vehicle.parameters) for vehicle in vehicles)
    tables = {name: np.zeros((kinds, rotors, 3)) for name in _ROTOR_TABLES[:4]}
    tables["rotor_spin"] = np.zeros((kinds, rotors))
    tables["rotor_apart"] = np.zeros((kinds, rotors * rotors + rotors))
    custom = custom_laws(vehicles)
    extra = [f"custom_{k}" for k in range(len(custom))]
    columns: dict[str, Any] = {name: [] for name in ("airframe", "driven", *_SHIPPED, *extra)}
    first = 0
    for vehicle in vehicles:
        r, k = vehicle.rotor_count, slice(first, first + len(vehicle.parameters))
        first = k.stop
        squared, share = vehicle.layout.stream_shares(vehicle.spec.propeller.diameter / 2)
        for name, values in zip(_ROTOR_TABLES[1:4], vehicle.layout.frames(), strict=True):
            tables[name][k, :r] = values
        centers = np.array([parameters.center_of_mass for parameters in vehicle.parameters])
        tables["rotor_position"][k, :r] = vehicle.layout.position - centers[:, None]
        tables["rotor_spin"][k, :r] = vehicle.layout.spin
        tables["rotor_apart"][k, : r * r + r] = np.concatenate([squared.ravel(), share])
        for parameters in vehicle.parameters:
            frame = _airframe(vehicle, parameters, custom)
            columns["airframe"].append(frame)
            columns["driven"].append(_drive(vehicle, parameters, frame))
            models = [model for _, model in _roles(parameters)]
            used = {law: _parameters(model) for model in models if (law := law_of(model)) is not None}
            for name, (law, default) in _SHIPPED.items():
                columns[name].append(used.get(law, default))
            for name, (_, law, _) in zip(extra, custom, strict=True):
                columns[name].append(used.get(law))
    for name in extra:
        # Vehicles with other laws have the parameters of the first that has this one.
        given = next(value for value in columns[name] if value is not None)
        columns[name] = [given if value is None else value for value in columns[name]]
    return {**columns, **tables, "alarm": np.zeros(1, dtype=np.int32)}


def _number(role: type, model: Any, custom: Custom) -> int:
    """Return the number of a model's law, or `HELD`."""
    law = law_of(model)
    if law is None:
        return plant_rows.HELD
    shipped = _DISPATCHERS[role][1]
    return shipped[law] if law in shipped else _FIRST_CUSTOM + [law for _, law, _ in custom].index(law)


def _airframe(vehicle: Vehicle, parameters: VehicleParameters, custom: Custom) -> plant_rows.Airframe:
    """Return the parameters of a rigid body, and the numbers of its compiled models."""
    inertia = parameters.inertia.tolist()
    inverted = inverse(parameters.inertia).tolist()

    motor, curve, drag, ground = (_number(role, model, custom) for role, model in _roles(parameters))
    return plant_rows.Airframe(
        mass=parameters.mass,
        center_of_mass=_triple(parameters.center_of_mass.tolist()),
        inertia_x=_triple(inertia[0]),
        inertia_y=_triple(inertia[1]),
        inertia_z=_triple(inertia[2]),
        inverse_x=_triple(inverted[0]),
        inverse_y=_triple(inverted[1]),
        inverse_z=_triple(inverted[2]),
        rotor_count=vehicle.rotor_count,
        rotor_inertia=parameters.rotor_inertia,
        rotor_radius=vehicle.spec.propeller.diameter / 2,
        rotor_center=_triple(vehicle.layout.position.mean(axis=0).tolist()),
        span=vehicle.layout.span,
        motor=motor,
        thrust_curve=curve,
        drag=drag,
        ground_effect=ground,
    )


def _drive(
    vehicle: Vehicle, parameters: VehicleParameters, frame: plant_rows.Airframe
) -> driven_rotors.Drive:
    """Return the parameters of driven rotors."""
    if not isinstance(parameters.motor, DrivenMotor):
        return NO_DRIVE
    hub = hub_inertia(vehicle.layout, parameters.inertia, frame.rotor_inertia)
    x, y, z = inverse(hub).tolist()
    return Drive(
        model=frame.motor,
        by_inertia=1.0 / frame.rotor_inertia,
        has_state=int(parameters.motor.has_state),
        hub_x=_triple(x),
        hub_y=_triple(y),
        hub_z=_triple(z),
    )


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
    determinant = sum(matrix[0][j] * cofactors[0][j] for j in range(3))
    return np.array([[cofactors[j][i] / determinant for j in range(3)] for i in range(3)])


def _triple(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z
