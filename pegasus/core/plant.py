"""Plant of a simulation: the rows of all vehicles, and their compiled step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.backend_group import BackendGroup, not_finite
from pegasus.core.columns import copy_columns, own_columns
from pegasus.core.driven import require_slow_motors
from pegasus.core.plant_energy import EnergyLaunch
from pegasus.core.plant_models import (
    battery_rows,
    custom_laws,
    law_of,
    motion_rows,
    parameters_of,
    plant_kernel,
    plant_rows_of,
)
from pegasus.dynamics import plant
from pegasus.dynamics.battery_step import draw
from pegasus.environment import Environment


class RowVehicle(Vehicle, Protocol):
    """Vehicle whose columns are rows of the plant."""

    @property
    def backends(self) -> BackendGroup:
        """Its backends."""

    def take_columns(self, columns: dict[str, Array]) -> None:
        """Use other arrays for state, inputs and outputs of the step, with the present values."""


class Plant:
    """Rows of all copies of all vehicles, in the order of the vehicles, and their step."""

    columns: Mapping[str, Array]
    """State, inputs and outputs by name, M rows each; see `pegasus.dynamics.plant_rows`."""

    def __init__(self) -> None:
        self._vehicles: Sequence[RowVehicle] = ()
        self._advance: Callable[..., None] | None = None
        self._foresee: Callable[..., None] | None = None
        self._observe: Callable[[float], None] | None = None
        self._draw: Callable[..., None] | None = None
        self._audited: Environment | None = None
        self.count = 0
        """Number of rows M."""
        self.columns = own_columns(0, 0)

    def arrange(self, vehicles: Sequence[RowVehicle]) -> None:
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
            for name, table, _ in copy_columns():
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


def step_fault(vehicles: Sequence[RowVehicle], columns: Mapping[str, Array], t: float) -> ConfigError:
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
        return not_finite(vehicle.backends.driver, vehicle, vehicle.columns["command"], t)
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
