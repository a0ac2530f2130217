"""Inputs of a vehicle's step that Python computes: the ground below the rotors, and a wrench of its own."""

import logging
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import IntArray
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.command_line import resting
from pegasus.core.rotor_air import SurfaceSurvey
from pegasus.core.step_vehicle import RotorVehicle
from pegasus.model.dynamics_models import VehicleParameters

_log = logging.getLogger(__name__)

Wrench = Callable[[EquippedVehicle, float], tuple[npt.ArrayLike, npt.ArrayLike]]
"""Function (vehicle, simulation time [s]) -> (force at the centre of mass [N], torque [N m]), body frame,
each of shape (N, 3), or (3,) for all copies."""
_RESET = (
    *("rotor_speed", "motor_state", "shaft_power", "electrical_power"),
    *("force", "torque", "rotor_force", "rotor_torque", "drag_force", "drag_torque"),
    *("held_force", "held_torque", "wheel_angle"),
)
"""Columns that are zero after a reset."""


class Actuation:
    """Part of the step of N vehicles that is not compiled.

    Args:
        vehicle: The vehicle.
        models: Its models, by its file.
        wrench: Function that adds a wrench to each step; None without one.
    """

    def __init__(self, vehicle: RotorVehicle, models: VehicleParameters, wrench: Wrench | None) -> None:
        self._survey: SurfaceSurvey | None = None
        if models.ground_effect is not None:
            radius = vehicle.spec.propeller.diameter / 2
            self._survey = SurfaceSurvey(radius, ceilings=models.ground_effect.ceilings)
        others = models.airframe.kinds.values()
        self.wrench = wrench
        """Function that adds a wrench to each step; None without one."""
        self.uses_air_density = (
            any(curve.uses_air_density for curve in (models.thrust_curve, *(k.thrust_curve for k in others)))
            or (models.drag is not None and models.drag.uses_air_density)
            or bool(models.airframe.surfaces)
            or models.ground_effect is not None
            or models.downwash is not None
            or wrench is not None
        )
        """True if the air density at the vehicle is used."""
        self.is_compiled = self._survey is None and wrench is None
        """True if no input of the step is computed by Python."""

    def reset(self, vehicle: EquippedVehicle, rows: IntArray | None = None) -> None:
        """Bring the rotors to rest, and the batteries back to their initial charge.

        Args:
            vehicle: The vehicle.
            rows: Indices of the copies; all if None.
        """
        chosen = slice(None) if rows is None else rows
        for name in _RESET:
            vehicle.columns[name][chosen] = 0.0
        rest = resting(vehicle)
        for name in ("command", "limited_command"):
            vehicle.columns[name][chosen] = rest[chosen]
        # The channels of joints are the last.
        joints = vehicle.columns["joint_angle"]
        joints[chosen] = rest[chosen, rest.shape[1] - joints.shape[1] :]
        for name, limit in (("lowest_speed", "min_speed"), ("highest_speed", "max_speed")):
            limits = np.array([getattr(p.motor, limit) for p in vehicle.parameters])
            # Others keep the limits that their batteries have set.
            vehicle.columns[name][chosen] = limits[chosen] if len(limits) > 1 else limits
        if vehicle.battery is not None:
            vehicle.battery.reset(chosen)
        if self._survey is not None:
            self._survey.renew(rows)

    def prepare(self, vehicle: RotorVehicle, t: float) -> None:
        """Set the inputs of the step that Python computes.

        Args:
            vehicle: The vehicle.
            t: Simulation time [s].

        Raises:
            ConfigError: If its own wrench has another shape.
        """
        if self._survey is not None:
            self._survey.update(vehicle, t)
        if self.wrench is None:
            return
        for name, values in zip(("held_force", "held_torque"), self.wrench(vehicle, t), strict=True):
            given = np.asarray(values, dtype=np.float64)
            if given.shape not in ((3,), (vehicle.count, 3)):
                raise ConfigError(
                    f"must have the shape (3,) or ({vehicle.count}, 3)",
                    field=f"{name.removeprefix('held_')} by the wrench of vehicle {vehicle.name!r}",
                    value=given.shape,
                )
            vehicle.columns[name][...] = given


def warn_of_battery(vehicle: EquippedVehicle, t: float) -> None:
    """Log a warning if batteries of a vehicle are low, or have stopped rotors, for the first time.

    Args:
        vehicle: The vehicle.
        t: Simulation time at the start of the step [s].
    """
    battery, battery_event = vehicle.battery, vehicle.columns["battery_event"]
    if battery is None or not battery_event.any():
        return
    battery_event[...] = 0
    if not battery.take_warnings():
        return
    stopped, low = battery.empty, battery.low
    sagging = int((stopped & ~low).sum())
    of_all = f" of {vehicle.count}" if vehicle.count > 1 else ""
    below = f", {sagging} below the cut-off voltage under load" if sagging else ""
    counts = int((low & ~stopped).sum()), of_all, int((stopped & low).sum()), below
    _log.warning("%s at t = %.1f s: %d%s batteries low, %d empty%s", vehicle.name, t, *counts)
