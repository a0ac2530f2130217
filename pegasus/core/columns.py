"""Columns of a vehicle: state, inputs and outputs of its step, and attributes that are views of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Column, Mat33, Quat, Real, Reals, Table, Vec3
from pegasus.contracts.engine import BodyState
from pegasus.contracts.vehicle import Vehicle
from pegasus.dynamics.battery_step import Demand, Supply
from pegasus.dynamics.ground_effect import FAR
from pegasus.environment.turbulence import GustState
from pegasus.step.energy import Energy, Path
from pegasus.step.values import (
    AXES,
    Effects,
    Held,
    Inputs,
    Moved,
    Observed,
    Planes,
    Result,
    State,
    VariedAir,
)


@dataclass
class FaultRows:
    """Columns of faults, besides `Effects` of the step and the shares of the battery."""

    command_delay: Table[Real]
    """Delay of the command of each channel [steps]."""
    command_held: Table[Real]
    """Other than 0 where a channel keeps the last command that has arrived."""


NEUTRAL = {
    **dict.fromkeys(("drive", "kept_speed", "thrust_share", "torque_share"), 1.0),
    **dict.fromkeys(("charge_share", "voltage_share", "capacity_share", "resistance_share"), 1.0),
    **dict.fromkeys(("fault_force", "fault_torque", "command_delay", "command_held"), 0.0),
    "override": math.nan,
}
"""Values of the columns that faults set anew before each step, where none acts."""


@dataclass
class WheelRows:
    """Columns of wheels."""

    wheel_angle: Table[Real]
    """Angle by which each wheel has rolled about its axle [rad], from 0 to 2 pi."""


@dataclass
class KindRows:
    """Columns that tell rows apart."""

    kind: Column[int]
    """Number of the parameters of each copy among those of all vehicles."""


_SHAPES: dict[Any, tuple[int, ...]] = {float: (), int: (), Vec3: (3,), Quat: (4,), Mat33: (3, 3)}


def own_columns(
    count: int, rotor_count: int, channel_count: int, joint_count: int = 0, wheel_count: int = 0
) -> dict[str, Array]:
    """Return the columns of a vehicle that is in no simulation: level, at rest, at the origin.

    Args:
        count: Number of copies N.
        rotor_count: Number of rotors R.
        channel_count: Number of channels U.
        joint_count: Number of joints.
        wheel_count: Number of wheels.
    """
    widths = {
        "": (),
        "element": (rotor_count,),
        "channel": (channel_count,),
        "joint": (joint_count,),
        "wheel": (wheel_count,),
    }
    columns = {
        name: _initial(name, (count, *widths[axis]), element) for name, axis, element in copy_columns()
    }
    for prefix in ("", "free_"):
        columns |= {f"{prefix}{name}": values for name, values in vars(BodyState.zeros(count)).items()}
    return columns


def part_of_columns(columns: Mapping[str, Array], rows: slice, own: Mapping[str, Array]) -> dict[str, Array]:
    """Return the rows of a vehicle in columns, as views of the width of its own.

    Args:
        columns: Columns of vehicles.
        rows: The rows.
        own: Columns of the vehicle.
    """
    return {name: columns[name][(rows, *map(slice, own[name].shape[1:]))] for name, _, _ in copy_columns()}


class ColumnView:
    """Attribute of a vehicle: one of its columns; an assignment writes into it.

    Args:
        name: Name of the column.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, vehicle: Vehicle, owner: type) -> Array:
        return vehicle.columns[self._name]

    def __set__(self, vehicle: Vehicle, values: Array) -> None:
        vehicle.columns[self._name][...] = values


class StateView:
    """Attribute of a vehicle: an array of its state, which is only read.

    Args:
        name: Name of the field of the state.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, vehicle: Vehicle, owner: type) -> Array:
        array: Array = getattr(vehicle.state, self._name)
        return array

    def __set__(self, vehicle: Vehicle, values: object) -> None:
        given = "position" if self._name == "position" else f"position, {self._name}=..."
        raise AttributeError(
            f"{self._name} of vehicle {vehicle.name!r} is only read; move the vehicle by "
            f"vehicle.place({given}), or give its start to Aircraft"
        )


@cache
def copy_columns() -> tuple[tuple[str, str, Any], ...]:
    """Return name, axis and element of each column that has one row per copy.

    A row has one element, or by its axis one for each `element`, `channel`, `joint` or `wheel` of the
    machine.
    """
    tables = {GustState: "", FaultRows: "channel", WheelRows: "wheel", KindRows: ""}
    found = {
        name: (axis if get_origin(hint) is Table else "", get_args(hint)[0])
        for rows, axis in tables.items()
        for name, hint in get_type_hints(rows).items()
        if get_origin(hint) in (Column, Table)
    }
    kinds = (
        Supply,
        Demand,
        State,
        Inputs,
        Effects,
        VariedAir,
        Planes,
        Held,
        Result,
        Moved,
        Observed,
        Path,
        Energy,
    )
    for kind in kinds:
        for name, hint in get_type_hints(kind).items():
            table = hint == Reals or get_origin(hint) is tuple
            axis = AXES.get(name, "element") if table else ""
            found[name] = axis, get_args(hint)[0] if table else hint
    return tuple((name, *found[name]) for name in found if name != "alarm")


def _initial(name: str, shape: tuple[int, ...], element: Any) -> Array:
    array: Array = np.zeros(shape + _SHAPES[element], dtype=np.int32 if element is int else np.float64)
    if element is Quat:
        array[..., 3] = 1.0
    elif element is Mat33:
        array[...] = np.eye(3)
    elif name == "ground_normal":
        array[..., 2] = 1.0
    elif name == "ceiling_normal":
        array[..., 2] = -1.0
    elif name == "ceiling_offset":
        array[...] = -FAR
    elif name in NEUTRAL:
        array[...] = NEUTRAL[name]
    return array
