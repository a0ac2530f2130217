"""Inputs of a vehicle's step that Python computes: NumPy models, and the ground below the rotors."""

import logging

import numpy as np

from pegasus.base.arrays import IntArray
from pegasus.base.frames import cross, rotate_inverse
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.plant_models import law_of
from pegasus.core.rotor_air import SurfaceSurvey
from pegasus.dynamics import GroundEffect

_log = logging.getLogger(__name__)

_RESET = (
    *("rotor_speed", "motor_state", "command", "limited_command", "shaft_power"),
    *("force", "torque", "rotor_force", "rotor_torque", "drag_force", "drag_torque"),
)
"""Columns that are zero after a reset."""


class Actuation:
    """Part of the step of N vehicles that is not compiled.

    Args:
        vehicle: The vehicle, with its rotor layout, motor, thrust curve, drag and battery.
        ground_effect: Ground effect of its rotors, None without one.
    """

    def __init__(self, vehicle: Vehicle, ground_effect: GroundEffect | None) -> None:
        self._survey: SurfaceSurvey | None = None
        if ground_effect is not None:
            radius = vehicle.spec.propeller.diameter / 2
            self._survey = SurfaceSurvey(radius, ceilings=ground_effect.ceilings)
        self._python_motor = law_of(vehicle.motor) is None
        self._python_thrust = law_of(vehicle.thrust_curve) is None
        self._python_drag = vehicle.drag is not None and law_of(vehicle.drag) is None
        self.uses_air_density = (
            vehicle.thrust_curve.uses_air_density
            or (vehicle.drag is not None and vehicle.drag.uses_air_density)
            or ground_effect is not None
            or vehicle.downwash is not None
        )
        """True if the air density at the vehicle is used."""
        self.is_compiled = not (
            self._survey or self._python_motor or self._python_thrust or self._python_drag
        )
        """True if no input of the step is computed by Python."""

    def reset(self, vehicle: Vehicle, rows: IntArray | None = None) -> None:
        """Bring the rotors to rest, and the batteries back to their initial charge.

        Args:
            vehicle: The vehicle.
            rows: Indices of the copies; all if None.
        """
        chosen = slice(None) if rows is None else rows
        self.fit(vehicle)
        for name in _RESET:
            vehicle.columns[name][chosen] = 0.0
        for name, limit in (("lowest_speed", "min_speed"), ("highest_speed", "max_speed")):
            limits = np.array([getattr(p.motor, limit) for p in vehicle.parameters])
            # Others keep the limits that their batteries have set.
            vehicle.columns[name][chosen] = limits[chosen] if len(limits) > 1 else limits
        if vehicle.battery is not None:
            vehicle.battery.reset(chosen)
        if self._survey is not None:
            self._survey.renew(rows)

    def fit(self, vehicle: Vehicle) -> None:
        """Take the present centres of mass.

        Args:
            vehicle: The vehicle.
        """
        centers = np.array([parameters.center_of_mass for parameters in vehicle.parameters])
        self._centers = centers if centers.any() else None

    def prepare(self, vehicle: Vehicle, t: float, dt: float) -> None:
        """Set the inputs of the step from t to t + dt.

        Models in NumPy are evaluated at the start of the step, with the rotor speeds of its middle.

        Args:
            vehicle: The vehicle.
            t: Simulation time [s].
            dt: Length of the step [s].
        """
        columns, state = vehicle.columns, vehicle.state
        if self._survey is not None:
            self._survey.update(vehicle, t)
        if self._python_motor:
            command = np.maximum(columns["command"], columns["lowest_speed"][:, None])
            command = np.minimum(command, columns["highest_speed"][:, None]) * columns["drive"]
            middle = vehicle.motor.step(state.rotor_speed, command, dt / 2)
            columns["speed_first"][...] = state.rotor_speed
            columns["speed_middle"][...] = middle
            columns["speed_last"][...] = vehicle.motor.step(middle, command, dt / 2)
        density = columns["air_density"][:, None]
        if self._python_thrust:
            thrust, torque = vehicle.thrust_curve.thrust(columns["speed_middle"], columns["inflow"], density)
            columns["held_thrust"][...], columns["held_torque"][...] = thrust, torque
        if self._python_drag:
            assert vehicle.drag is not None
            velocity = rotate_inverse(state.rotation, state.velocity - columns["wind"])
            if self._centers is not None:
                velocity = velocity + cross(state.angular_velocity, self._centers)
            if columns["gust_step"][0]:
                rate = rotate_inverse(state.rotation, columns["gust_rate"])
                velocity = velocity - cross(rate, vehicle.layout.position.mean(axis=0))
            # All copies are in wakes, or none is.
            if columns["in_wake"][0]:
                velocity = velocity - rotate_inverse(state.rotation[:, None], columns["wake"]).mean(axis=1)
            force, moment = vehicle.drag.wrench(velocity, state.angular_velocity, density)
            columns["held_drag_force"][...] = force
            columns["held_drag_torque"][...] = 0.0 if moment is None else moment


def warn_of_battery(vehicle: Vehicle, t: float) -> None:
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
