"""Plant of a simulation: the rows of all vehicles, and their compiled step."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.core.backend_group import BackendGroup, not_finite
from pegasus.core.columns import own_columns, part_of_columns
from pegasus.core.driven import require_slow_motors
from pegasus.core.plant_battery import Batteries
from pegasus.core.plant_energy import EnergyBalance
from pegasus.core.programs import VehicleGroup, grouped, launch_of
from pegasus.core.step_vehicle import StepVehicle
from pegasus.environment import Environment
from pegasus.step.observation import observe
from pegasus.step.values import Moved


class RowVehicle(StepVehicle, Protocol):
    """Vehicle whose columns are rows of the plant."""

    @property
    def backends(self) -> BackendGroup:
        """Its backends."""

    def take_columns(self, columns: dict[str, Array]) -> None:
        """Use other arrays for state, inputs and outputs of the step, with the present values."""


class Plant:
    """Rows of all copies of all vehicles, in the order of the vehicles, and their step."""

    columns: Mapping[str, Array]
    """State, inputs and outputs by name, M rows each; see `pegasus.step.values`."""

    def __init__(self) -> None:
        self._vehicles: Sequence[RowVehicle] = ()
        self._groups: Sequence[VehicleGroup] = ()
        self._observe: Callable[[float], None] | None = None
        self._batteries: Batteries | None = None
        self._audited: Environment | None = None
        self._alarm = np.zeros(1)
        self.count = 0
        """Number of rows M."""
        self.columns = own_columns(0, 0, 0)

    def arrange(self, vehicles: Sequence[RowVehicle]) -> None:
        """Give the vehicles their rows; states are kept.

        Args:
            vehicles: All vehicles of the simulation.
        """
        self._vehicles = list(vehicles)
        self.count = sum(vehicle.count for vehicle in vehicles)
        widths = [
            max((vehicle.columns[name].shape[1] for vehicle in vehicles), default=0)
            for name in ("rotor_speed", "command", "joint_angle", "wheel_angle")
        ]
        self.columns = own_columns(self.count, *widths)
        first = kind = 0
        for vehicle in vehicles:
            rows = slice(first, first + vehicle.count)
            first += vehicle.count
            own = part_of_columns(self.columns, rows, vehicle.columns)
            for name, column in own.items():
                column[...] = vehicle.columns[name]
            vehicle.take_columns(own)
            kinds = len(vehicle.parameters)
            self.columns["kind"][rows] = kind + np.arange(vehicle.count) % kinds
            kind += kinds
        self._groups = ()
        self._observe = self._batteries = None

    def prepare(self, dt: float, *, local_air: bool = False, failing: Collection[StepVehicle] = ()) -> None:
        """Compile the step for the present vehicles, or take it from the cache.

        Args:
            dt: Length of a step [s].
            local_air: Whether the air differs between the rotors, or turns.
            failing: Vehicles on which faults may act.

        Raises:
            ConfigError: If a law cannot be compiled.
        """
        if self._groups or not self.count:
            return
        for vehicle in self._vehicles:
            require_slow_motors(vehicle, dt)
        self._alarm[0] = 0.0
        self._groups = grouped(self._vehicles, self.columns, self._alarm)
        for group in self._groups:
            group.prepare(local_air=local_air)
            if group.holds(failing):
                group.prepare(local_air=local_air, faults=True)
        self._observe = self._observation()
        if any(vehicle.battery is not None for vehicle in self._vehicles):
            self._batteries = Batteries(self._vehicles, self.columns)

    def _observation(self) -> Callable[[float], None]:
        """Return the launch that sets the motion after a step, with its energy if that is audited."""
        if self._audited is not None:
            return EnergyBalance(self._audited, self._groups, self.columns)
        return launch_of(observe, Moved, self.columns, self.count)

    @property
    def audited(self) -> bool:
        """True if the energy balance of each step is added up."""
        return self._audited is not None

    def audit(self, environment: Environment) -> None:
        """Add up the energy balance of each step from now on, in the columns `energy_*`.

        Args:
            environment: Environment of the vehicles.
        """
        for name in ("position", "orientation"):
            self.columns[f"start_{name}"][...] = self.columns[name]
        if self._audited is None:
            self._audited = environment
            if self._observe is not None:
                self._observe = self._observation()

    def advance(
        self, dt: float, t: float = 0.0, *, local_air: bool = False, failing: Collection[StepVehicle] = ()
    ) -> bool:
        """Integrate all vehicles over a step, as if nothing touched them.

        Args:
            dt: Length of the step [s].
            t: Simulation time at its start [s], for errors.
            local_air: Whether the air differs between the rotors, or turns: `wake` and `gust_rate` are used.
            failing: Vehicles on which faults act.

        Returns:
            Whether a battery has become low or empty.

        Raises:
            ConfigError: If a command or wrench is not finite, or the motion of a vehicle has diverged.
        """
        if not self._groups:
            self.prepare(dt, local_air=local_air)
        for group in self._groups:
            group.advance(dt, local_air=local_air, failing=failing)
        if self._alarm[0]:
            self._alarm[0] = 0.0
            raise step_fault(self._vehicles, self.columns, t)
        batteries = self._batteries
        return batteries is not None and batteries.drain(dt) and batteries.take_event()

    def observe(self, dt: float) -> None:
        """Set rotation matrices and accelerations after a step.

        Args:
            dt: Length of the step [s].
        """
        if self._observe is None:
            self.prepare(dt)
        if self._observe is not None:
            self._observe(1.0 / dt)


def step_fault(vehicles: Sequence[RowVehicle], columns: Mapping[str, Any], t: float) -> ConfigError:
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
