"""Brushless motors and the battery that feeds them."""

import math
from dataclasses import dataclass

from pegasus.components import require

# What is not given is estimated from what makers publish for motors from 2206 to U8 size.
_MOTOR_CONSTANT_BY_MASS = 0.5  # [N m/sqrt(W) per kg]
_NO_LOAD_BY_MASS = 100.0  # [W per kg]
_SLENDERNESS, _MOTOR_DENSITY = 1.9, 3500.0  # length by outer radius; [kg/m^3]
_BELL = 0.5  # part of the motor that turns

_NOMINAL_CELL_VOLTAGE = 3.7  # [V]
_SPECIFIC_ENERGY = 140.0  # [W h/kg], packs with leads and wrapping
_CELL_RESISTANCE = 0.015  # [ohm A h]: a cell of 5 A h has 3 milliohm


@dataclass(frozen=True, kw_only=True)
class Battery:
    """A pack of lithium polymer cells in series."""

    cell_count: int
    capacity: float
    """Charge [A h]."""
    known_mass: float | None = None
    """Mass where it is known [kg]."""

    def __post_init__(self) -> None:
        require(1 <= self.cell_count <= 24, "cells", self.cell_count, "must be from 1 to 24")
        require(0 < self.capacity <= 200, "capacity", self.capacity, "must be above 0, to 200 A h")
        require(
            self.known_mass is None or self.known_mass > 0,
            "battery_mass",
            self.known_mass,
            "must be above 0 kg",
        )

    @property
    def voltage(self) -> float:
        """Open-circuit voltage, 3.7 V per cell [V]."""
        return _NOMINAL_CELL_VOLTAGE * self.cell_count

    @property
    def resistance(self) -> float:
        """Resistance, 15 milliohm per cell divided by the charge in A h [ohm]."""
        return _CELL_RESISTANCE * self.cell_count / self.capacity

    @property
    def mass(self) -> float:
        """Mass, the energy divided by 140 W h/kg where it is not known [kg]."""
        if self.known_mass is not None:
            return self.known_mass
        return self.voltage * self.capacity / _SPECIFIC_ENERGY


@dataclass(frozen=True, kw_only=True)
class Motor:
    """A brushless motor with its speed controller: a DC motor in the mean over a turn."""

    kv: float
    """Speed by voltage without load [rpm/V]."""
    mass: float
    """Mass [kg]."""
    known_resistance: float | None = None
    """Winding resistance, with that of the speed controller, where it is known [ohm]."""
    known_no_load_current: float | None = None
    """Current without load where it is known [A]."""

    def __post_init__(self) -> None:
        require(10 <= self.kv <= 50_000, "kv", self.kv, "must be from 10 to 50000 rpm/V")
        require(self.mass > 0, "motor_mass", self.mass, "must be above 0 kg")
        for name in ("resistance", "no_load_current"):
            value = getattr(self, f"known_{name}")
            require(value is None or value > 0, f"motor_{name}", value, "must be above 0")

    @property
    def torque_constant(self) -> float:
        """Torque by current, 60 / (2 pi kV) [N m/A]; also the back-EMF by speed [V s/rad]."""
        return 60 / (2 * math.pi * self.kv)

    @property
    def resistance(self) -> float:
        """Resistance; (K / (0.5 m))^2 where it is not known [ohm]."""
        if self.known_resistance is not None:
            return self.known_resistance
        return (self.torque_constant / (_MOTOR_CONSTANT_BY_MASS * self.mass)) ** 2

    @property
    def inertia(self) -> float:
        """Moment of inertia of the bell [kg m^2]: half of the mass, at the radius of a can 1.9 radii long."""
        radius = (self.mass / (_MOTOR_DENSITY * math.pi * _SLENDERNESS)) ** (1 / 3)
        return float(_BELL * self.mass * radius**2)

    def no_load_current(self, voltage: float) -> float:
        """Return the current without load; that of 100 W per kg of motor where it is not known [A].

        Args:
            voltage: Voltage [V].
        """
        if self.known_no_load_current is not None:
            return self.known_no_load_current
        return _NO_LOAD_BY_MASS * self.mass / voltage

    def full_throttle_speed(self, torque_constant: float, battery: Battery, motor_count: int) -> float:
        """Return the speed at which torque and load balance when all motors get the full voltage [rad/s].

        V = K w + (R + n R_b) I with K (I - I_0) = q w^2: the steady state of a DC motor whose n siblings load
        the same battery.

        Args:
            torque_constant: Torque of the propeller by squared speed q [N m/(rad/s)^2].
            battery: What feeds the motors.
            motor_count: How many there are n.
        """
        k, resistance = self.torque_constant, self.resistance + motor_count * battery.resistance
        idle = self.no_load_current(battery.voltage)
        free = max(battery.voltage - resistance * idle, 0.0)
        a = resistance * torque_constant / k
        return 2 * free / (k + math.sqrt(k * k + 4 * a * free))

    def current(self, torque: float, voltage: float) -> float:
        """Return the current that gives a torque, I = Q / K + I_0 [A].

        Args:
            torque: Torque on the shaft [N m].
            voltage: Voltage [V].
        """
        return torque / self.torque_constant + self.no_load_current(voltage)

    def time_constant(self, inertia: float, torque_constant: float, speed: float) -> float:
        """Return the time constant of small changes of the speed, J / (K^2 / R + 2 q w) [s].

        From J w' = K (u - K w) / R - q w^2 about a steady speed; the speed controller brakes as it drives.

        Args:
            inertia: Moment of inertia of what turns J [kg m^2].
            torque_constant: Torque of the propeller by squared speed q [N m/(rad/s)^2].
            speed: Speed w [rad/s].
        """
        return inertia / (self.torque_constant**2 / self.resistance + 2 * torque_constant * speed)


def estimated_motor_mass(propeller_diameter: float) -> float:
    """Return the mass of the motor that usually turns a propeller, 0.4 D^1.35 [kg].

    Through motors for 5 (30 g), 10 (60 g), 15 (140 g) and 28 inches (240 g), within a factor of 1.4.

    Args:
        propeller_diameter: Diameter D [m].
    """
    return float(0.4 * propeller_diameter**1.35)
