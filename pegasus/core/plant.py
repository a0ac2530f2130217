"""Plant of a simulation: the rows of all vehicles, and their compiled step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Column, Mat33, Quat, Table, Vec3
from pegasus.core.backend import not_finite
from pegasus.core.driven import require_slow_motors
from pegasus.core.plant_energy import EnergyLaunch, EnergyRows
from pegasus.core.plant_models import (
    PARAMETERS,
    battery_rows,
    custom_laws,
    law_of,
    motion_rows,
    parameters_of,
    plant_kernel,
    plant_rows_of,
)
from pegasus.dynamics import plant, plant_rows
from pegasus.dynamics.battery_step import BatteryRows, draw
from pegasus.dynamics.driven_rotors import DrivenRows
from pegasus.dynamics.ground_effect import FAR
from pegasus.dynamics.rotor_wrenches import SeparateRows
from pegasus.environment import Environment
from pegasus.environment.turbulence import GustState

if TYPE_CHECKING:
    from pegasus.base.launches import Launch
    from pegasus.core.multirotor import Multirotor

_SHARES = frozenset({"drive", "thrust_share", "torque_share"}) | {
    f"{name}_share" for name in ("voltage", "capacity", "resistance")
}
"""Columns that are 1 without faults."""


@dataclass
class FaultRows:
    """Inputs of the step that only faults set."""

    wind_shock: Column[Vec3]
    """Velocity of the air that faults add to the wind, world [m/s]."""


_SHAPES: dict[Any, tuple[int, ...]] = {float: (), int: (), Vec3: (3,), Quat: (4,), Mat33: (3, 3)}


def own_columns(count: int, rotor_count: int) -> dict[str, Array]:
    """Return the columns of a vehicle that is in no simulation: level, at rest, at the origin.

    Args:
        count: Number of copies N.
        rotor_count: Number of rotors R.
    """
    return {
        name: _initial(name, (count, rotor_count) if table else (count,), element)
        for name, table, element in _copy_columns()
    }


class ColumnView:
    """Attribute of a vehicle: one of its columns; an assignment writes into it.

    Args:
        name: Name of the column.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, vehicle: "Multirotor", owner: type) -> Array:
        return vehicle.columns[self._name]

    def __set__(self, vehicle: "Multirotor", values: Array) -> None:
        vehicle.columns[self._name][...] = values


class StateView:
    """Attribute of a vehicle: an array of its state, which is only read.

    Args:
        name: Name of the field of the state.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, vehicle: "Multirotor", owner: type) -> Array:
        array: Array = getattr(vehicle.state, self._name)
        return array

    def __set__(self, vehicle: "Multirotor", values: object) -> None:
        given = "position" if self._name == "position" else f"position, {self._name}=..."
        raise AttributeError(
            f"{self._name} of vehicle {vehicle.name!r} is only read; move the vehicle by "
            f"vehicle.place({given}), or give its start to Multirotor"
        )


class Plant:
    """Rows of all copies of all vehicles, in the order of the vehicles, and their step."""

    columns: Mapping[str, Array]
    """State, inputs and outputs by name, M rows each; see `pegasus.dynamics.plant_rows`."""

    def __init__(self) -> None:
        self._vehicles: Sequence[Multirotor] = ()
        self._advance: Launch | None = None
        self._foresee: Launch | None = None
        self._observe: Callable[[float], None] | None = None
        self._draw: Launch | None = None
        self._audited: Environment | None = None
        self.count = 0
        """Number of rows M."""
        self.columns = own_columns(0, 0)

    def arrange(self, vehicles: Sequence["Multirotor"]) -> None:
        """Give the vehicles their rows; states are kept.

        Args:
            vehicles: All vehicles of the simulation.
        """
        self._vehicles = list(vehicles)
        self.count = sum(vehicle.count for vehicle in vehicles)
        rotors = max((vehicle.rotor_count for vehicle in vehicles), default=0)
        self.columns = own_columns(self.count, rotors)
        first = kind = 0
        for vehicle in vehicles:
            rows, r = slice(first, first + vehicle.count), vehicle.rotor_count
            first += vehicle.count
            own = {}
            for name, table, _ in _copy_columns():
                own[name] = self.columns[name][rows, :r] if table else self.columns[name][rows]
                own[name][...] = vehicle.columns[name]
            vehicle.take_columns(own)
            kinds = len(vehicle.parameters)
            self.columns["kind"][rows] = kind + np.arange(vehicle.count) % kinds
            kind += kinds
        self._advance = self._foresee = self._observe = self._draw = None

    def prepare(self, dt: float) -> None:
        """Compile the step for the present vehicles, or take it from the cache.

        Args:
            dt: Length of a step [s].

        Raises:
            ConfigError: If a custom law cannot be compiled.
        """
        if self._advance is None and self.count:
            # Not at the top: it imports Warp, which is not needed to build vehicles.
            from pegasus.base.compiler import shared_kernel

            custom = custom_laws(self._vehicles)
            for vehicle in self._vehicles:
                require_slow_motors(vehicle, dt)
            parameters = parameters_of(self._vehicles)
            self._alarm = parameters["alarm"]
            self._bell = np.zeros(1, dtype=np.int32)
            rows = plant_rows_of(custom, {**self.columns, **parameters})
            self._advance = plant_kernel(custom).launch(rows, self.count, dt, apart=True)
            self._airframes = parameters["airframe"]
            self._observe = self._observation(dt)
            if any(law_of(vehicle.thrust_curve) is None for vehicle in self._vehicles):
                self._foresee = plant_kernel(custom, plant.foresee).launch(rows, self.count, dt)
            if any(vehicle.battery is not None for vehicle in self._vehicles):
                supplies = battery_rows(self._vehicles, {**self.columns, "bell": self._bell})
                self._draw = shared_kernel(draw).launch(supplies, self.count, dt)

    def _observation(self, dt: float) -> Callable[[float], None]:
        """Return the launch that sets the motion after a step, with its energy if that is audited."""
        from pegasus.base.compiler import shared_kernel

        if self._audited is None:
            return shared_kernel(plant.observe).launch(motion_rows(self.columns), self.count, 1.0 / dt)
        return EnergyLaunch(self._audited, {**self.columns, "airframe": self._airframes}, 1.0 / dt)

    @property
    def audited(self) -> bool:
        """True if the energy balance of each step is added up."""
        return self._audited is not None

    def audit(self, environment: Environment, dt: float) -> None:
        """Add up the energy balance of each step from now on, in the columns `energy_*`.

        Args:
            environment: Environment of the vehicles.
            dt: Length of a step [s].
        """
        for name in ("position", "orientation"):
            self.columns[f"start_{name}"][...] = self.columns[name]
        if self._audited is None:
            self._audited = environment
            if self._observe is not None:
                self._observe = self._observation(dt)

    def foresee(self, dt: float) -> None:
        """Set the inputs of thrust curves by Python, from the state at the start of a step.

        Args:
            dt: Length of the step [s].
        """
        if self._advance is None:
            self.prepare(dt)
        if self._foresee is not None:
            self._foresee(dt)

    def advance(self, dt: float, t: float = 0.0) -> bool:
        """Integrate all vehicles over a step, as if nothing touched them.

        Args:
            dt: Length of the step [s].
            t: Simulation time at its start [s], for errors.

        Returns:
            Whether a battery has become low or empty.

        Raises:
            ConfigError: If a command or wrench is not finite, or the motion of a vehicle has diverged.
        """
        if self._advance is None:
            self.prepare(dt)
        if self._advance is not None:
            self._advance(dt)
            if self._alarm[0]:
                self._alarm[0] = 0
                raise step_fault(self._vehicles, self.columns, t)
        if self._draw is None:
            return False
        self._draw(dt)
        rung = bool(self._bell[0])
        self._bell[0] = 0
        return rung

    def observe(self, dt: float) -> None:
        """Set rotation matrices and accelerations after a step.

        Args:
            dt: Length of the step [s].
        """
        if self._observe is None:
            self.prepare(dt)
        if self._observe is not None:
            self._observe(1.0 / dt)


def step_fault(vehicles: Sequence["Multirotor"], columns: Mapping[str, Array], t: float) -> ConfigError:
    """Return the error of the first copy with a `fault`: its command, wrench or motion.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: Columns of the plant, M rows each.
        t: Simulation time at the start of the step [s].
    """
    fault = columns["fault"]
    row = int(np.flatnonzero(fault)[0])
    vehicle, copy = [(v, copy) for v in vehicles for copy in range(v.count)][row]
    if fault[row] == 3:
        return not_finite(vehicle.backends.driver, vehicle, vehicle.command, t)
    if fault[row] == 1:
        return ConfigError(
            "force and torque must be finite",
            field=f"wrench on vehicle {vehicle.name!r}",
            remedy="check its thrust curve, motor and drag",
        )
    speed, rate = (
        float(np.sqrt((columns[name][row] ** 2).sum())) for name in ("free_velocity", "free_angular_velocity")
    )
    return ConfigError(
        f"has diverged: {speed:.3g} m/s, {rate:.3g} rad/s",
        field=f"motion of vehicle {vehicle.name!r}, copy {copy}",
        remedy="raise the rate of the physics, or look for a force or torque too large for it",
    )


@cache
def _copy_columns() -> tuple[tuple[str, bool, Any], ...]:
    """Return name, being a table, and element of each column that has one row per copy."""
    kinds = plant_rows.PlantRows, DrivenRows, SeparateRows, BatteryRows, EnergyRows, GustState, FaultRows
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    return tuple(
        (name, get_origin(hint) is Table, get_args(hint)[0])
        for name, hint in hints.items()
        if name not in PARAMETERS and get_origin(hint) in (Column, Table)
    )


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
    elif name in _SHARES:
        array[...] = 1.0
    return array
