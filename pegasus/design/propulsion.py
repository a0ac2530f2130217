"""Estimates of propellers, brushless motors and batteries."""

import math
import re
from dataclasses import dataclass

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY

INCH = 0.0254  # [m]

# Static coefficients over pitch by diameter p, C = a p^b: least squares of log C over the two-bladed
# propellers of the UIUC propeller database, volumes 1 to 3 (Brandt, Deters, Ananda, Dantsker, Selig), with p
# from 0.25 to 0.9 and diameters from 2.2 to 19 inches, each at the upper half of its speeds: 176 of usual
# blades, 19 slow flyers (broad blades; APC SF, GWS SF).
_THRUST_FIT = {False: (0.140, 0.60), True: (0.1865, 0.607)}
_POWER_FIT = {False: (0.084, 1.14), True: (0.1176, 1.182)}
# More blades by (blades / 2)^b: the mean over 11 pairs of the same database with 3 or 4 blades in place of 2.
_THRUST_BLADES, _POWER_BLADES = 0.66, 0.79

# Advance ratio without thrust, J_0 = p^b, and coefficients over J / J_0 by those at rest: least squares of
# log J_0 and medians over the 289 runs of 203 propellers of the same database, with 2 to 4 blades and p from
# 0.25 to 0.9, that reach from J = 0.3 or less to a quarter of the thrust or less, each propeller at the upper
# half of its speeds.
_IDLE_EXPONENT = {False: 0.66, True: 0.61}
_SHARES = tuple(k / 10 for k in range(11))
_THRUST_SHARES = (1.0, 0.925, 0.85, 0.775, 0.69, 0.6, 0.49, 0.37, 0.25, 0.125, 0.0)
_POWER_SHARES = (1.0, 0.98, 0.955, 0.935, 0.9, 0.845, 0.775, 0.67, 0.55, 0.405, 0.225)

# Mass of two blades, a D^b: fit to manufacturers' data for 5 (3.5 g), 10 (12 g), 15 (26 g), 28 inches (61 g).
_MASS_FIT = (0.115, 1.65)
# Mean square distance from the axis divided by D^2, for blades with mass proportional to the squared chord.
_INERTIA = 0.065

_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*[xX*]\s*(\d+(?:\.\d+)?)(?:\s*[xX*]\s*(\d+))?\s*(SF)?", re.IGNORECASE)

# Estimates from published data of motors of sizes 2206 to U8.
_MOTOR_CONSTANT_BY_MASS = 0.5  # [N m/sqrt(W) per kg]
_NO_LOAD_BY_MASS = 100.0  # [W per kg]
_SLENDERNESS, _MOTOR_DENSITY = 1.9, 3500.0  # length by outer radius; [kg/m^3]
_BELL = 0.5  # rotating fraction of the motor's mass

_NOMINAL_CELL_VOLTAGE = 3.7  # [V]
_SPECIFIC_ENERGY = 140.0  # [W h/kg], packs with leads and wrapping
_CELL_RESISTANCE = 0.015  # [ohm A h]: a cell of 5 A h has 3 milliohm


@dataclass(frozen=True, kw_only=True)
class Propeller:
    """Fixed-pitch propeller."""

    diameter: float
    """Diameter [m]."""
    pitch: float
    """Pitch [m]."""
    blade_count: int = 2
    slow_flyer: bool = False
    """Whether its blades are wide, as those of the APC and GWS slow flyers."""
    measured_thrust_coefficient: float | None = None
    """Measured static C_T; estimated when None."""
    measured_power_coefficient: float | None = None
    """Measured static C_P; estimated when None."""

    def __post_init__(self) -> None:
        require(0.02 <= self.diameter <= 3.0, "diameter", self.diameter, "must be from 0.02 to 3 m")
        require(
            0.2 <= self.pitch / self.diameter <= 1.0,
            "pitch",
            round(self.pitch, 4),
            f"must be from 0.2 to 1 times the diameter of {self.diameter:.4g} m, as in the measurements",
            "give diameter x pitch in inches, such as 10x4.5",
        )
        require(2 <= self.blade_count <= 8, "blades", self.blade_count, "must be from 2 to 8")
        for name in ("thrust", "power"):
            value = getattr(self, f"measured_{name}_coefficient")
            require(value is None or 0 < value < 1, f"{name}_coefficient", value, "must be from 0 to 1")
        pairs = zip(self.advance_ratios, _THRUST_SHARES, _POWER_SHARES, strict=True)
        least = self.thrust_coefficient * max(j * thrust / power for j, thrust, power in pairs)
        require(
            self.power_coefficient >= least,
            "power_coefficient",
            self.power_coefficient,
            f"must be at least {least:.3g} for a thrust coefficient of {self.thrust_coefficient:.3g}: the "
            "efficiency would exceed 1",
        )

    @classmethod
    def parse(cls, text: str) -> "Propeller":
        """Return the propeller of a designation: diameter x pitch in inches, optional blade count and type.

        Args:
            text: Such as 10x4.5, 5x4.3x3 (three blades) or 10x4.7SF (slow flyer).

        Raises:
            ConfigError: If the designation is invalid, or a value is out of range.
        """
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise ConfigError(
                "must be diameter x pitch in inches",
                field="propeller",
                value=text,
                remedy="such as 10x4.5, 5x4.3x3 with three blades, 10x4.7SF for a slow flyer",
            )
        try:
            return cls(
                diameter=float(found[1]) * INCH,
                pitch=float(found[2]) * INCH,
                blade_count=int(found[3] or 2),
                slow_flyer=found[4] is not None,
            )
        except ConfigError as error:
            raise ConfigError(
                f"{error.field} {error.problem}", field="propeller", value=text, remedy=error.remedy
            ) from None

    @property
    def thrust_coefficient(self) -> float:
        """Static C_T = T / (rho n^2 D^4), within 20 % for nine of ten propellers (slow flyers 13 %)."""
        if self.measured_thrust_coefficient is not None:
            return self.measured_thrust_coefficient
        return self._fitted(_THRUST_FIT, _THRUST_BLADES)

    @property
    def power_coefficient(self) -> float:
        """Static C_P = P / (rho n^3 D^5), from 0.77 to 1.42 times this for nine of ten propellers."""
        if self.measured_power_coefficient is not None:
            return self.measured_power_coefficient
        return self._fitted(_POWER_FIT, _POWER_BLADES)

    @property
    def fits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Factors and exponents of the fits to C_T and to C_P of two blades, by pitch to diameter."""
        return _THRUST_FIT[self.slow_flyer], _POWER_FIT[self.slow_flyer]

    @property
    def advance_ratios(self) -> tuple[float, ...]:
        """Advance ratios J of the tables, from 0 to the one without thrust, p^0.66, of slow flyers p^0.61.

        The thrust there is within 8, 16 and 22 % of that at rest for nine of ten propellers, at a quarter, a
        half and three quarters of it, and the power within 10, 17 and 22 %, if those at rest are measured.
        """
        idle = (self.pitch / self.diameter) ** _IDLE_EXPONENT[self.slow_flyer]
        return tuple(share * idle for share in _SHARES)

    @property
    def thrust_coefficients(self) -> tuple[float, ...]:
        """C_T at the advance ratios."""
        return tuple(share * self.thrust_coefficient for share in _THRUST_SHARES)

    @property
    def power_coefficients(self) -> tuple[float, ...]:
        """C_P at the advance ratios."""
        return tuple(share * self.power_coefficient for share in _POWER_SHARES)

    @property
    def thrust_constant(self) -> float:
        """Thrust by squared speed at sea level, C_T rho D^4 / (2 pi)^2 [N/(rad/s)^2]."""
        return self.thrust_coefficient * SEA_LEVEL_DENSITY * self.diameter**4 / (2 * math.pi) ** 2

    @property
    def moment_ratio(self) -> float:
        """Torque by thrust, C_P D / (2 pi C_T) [m]."""
        return self.power_coefficient * self.diameter / (2 * math.pi * self.thrust_coefficient)

    @property
    def torque_constant(self) -> float:
        """Torque by squared speed at sea level [N m/(rad/s)^2]."""
        return self.thrust_constant * self.moment_ratio

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        factor, exponent = _MASS_FIT
        return float(factor * self.diameter**exponent * self.blade_count / 2)

    @property
    def inertia(self) -> float:
        """Moment of inertia about the axis, 0.065 m D^2 [kg m^2]."""
        return _INERTIA * self.mass * self.diameter**2

    def __str__(self) -> str:
        blades = f"x{self.blade_count}" if self.blade_count > 2 else ""
        return f"{self.diameter / INCH:.4g}x{self.pitch / INCH:.4g}{blades}{'SF' if self.slow_flyer else ''}"

    def _fitted(self, fit: dict[bool, tuple[float, float]], blades: float) -> float:
        factor, exponent = fit[self.slow_flyer]
        ratio, pairs = self.pitch / self.diameter, self.blade_count / 2
        return float(factor * ratio**exponent * pairs**blades)


@dataclass(frozen=True, kw_only=True)
class Battery:
    """Lithium polymer pack of cells in series."""

    cell_count: int
    capacity: float
    """Charge [A h]."""
    measured_mass: float | None = None
    """Measured mass [kg]; estimated when None."""

    def __post_init__(self) -> None:
        require(1 <= self.cell_count <= 24, "cells", self.cell_count, "must be from 1 to 24")
        require(0 < self.capacity <= 200, "capacity", self.capacity, "must be above 0, to 200 A h")
        require(
            self.measured_mass is None or self.measured_mass > 0,
            "battery_mass",
            self.measured_mass,
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
        """Mass; if not measured, energy divided by 140 W h/kg [kg]."""
        if self.measured_mass is not None:
            return self.measured_mass
        return self.voltage * self.capacity / _SPECIFIC_ENERGY


@dataclass(frozen=True, kw_only=True)
class Motor:
    """Brushless motor with speed controller, modelled as a DC motor averaged over a revolution."""

    kv: float
    """Speed constant without load [rpm/V]."""
    mass: float
    """Mass [kg]."""
    measured_resistance: float | None = None
    """Measured resistance of winding and speed controller [ohm]; estimated when None."""
    measured_no_load_current: float | None = None
    """Measured no-load current [A]; estimated when None."""

    def __post_init__(self) -> None:
        require(10 <= self.kv <= 50_000, "kv", self.kv, "must be from 10 to 50000 rpm/V")
        require(self.mass > 0, "motor_mass", self.mass, "must be above 0 kg")
        for name in ("resistance", "no_load_current"):
            value = getattr(self, f"measured_{name}")
            require(value is None or value > 0, f"motor_{name}", value, "must be above 0")

    @property
    def torque_constant(self) -> float:
        """Torque constant, 60 / (2 pi kV) [N m/A]; equal to the back-EMF constant [V s/rad]."""
        return 60 / (2 * math.pi * self.kv)

    @property
    def resistance(self) -> float:
        """Resistance; if not measured, (K / (0.5 m))^2 [ohm]."""
        if self.measured_resistance is not None:
            return self.measured_resistance
        return (self.torque_constant / (_MOTOR_CONSTANT_BY_MASS * self.mass)) ** 2

    @property
    def inertia(self) -> float:
        """Moment of inertia of the bell [kg m^2]: half the mass at the radius of a can 1.9 radii long."""
        radius = (self.mass / (_MOTOR_DENSITY * math.pi * _SLENDERNESS)) ** (1 / 3)
        return float(_BELL * self.mass * radius**2)

    def no_load_current(self, voltage: float) -> float:
        """Return the no-load current; if not measured, that of 100 W per kg of motor [A].

        Args:
            voltage: Voltage [V].
        """
        if self.measured_no_load_current is not None:
            return self.measured_no_load_current
        return _NO_LOAD_BY_MASS * self.mass / voltage

    def full_throttle_speed(self, torque_constant: float, battery: Battery, motor_count: int) -> float:
        """Return the steady speed when all motors are at full voltage [rad/s].

        V = K w + (R + n R_b) I with K (I - I_0) = q w^2: steady state of n DC motors that share a battery.

        Args:
            torque_constant: Torque of the propeller per squared speed q [N m/(rad/s)^2].
            battery: Battery of the motors.
            motor_count: Number of motors n.
        """
        k, resistance = self.torque_constant, self.resistance + motor_count * battery.resistance
        idle = self.no_load_current(battery.voltage)
        free = max(battery.voltage - resistance * idle, 0.0)
        a = resistance * torque_constant / k
        return 2 * free / (k + math.sqrt(k * k + 4 * a * free))

    def current(self, torque: float, voltage: float) -> float:
        """Return the current for a torque, I = Q / K + I_0 [A].

        Args:
            torque: Torque on the shaft [N m].
            voltage: Voltage [V].
        """
        return torque / self.torque_constant + self.no_load_current(voltage)

    def time_constant(self, inertia: float, torque_constant: float, speed: float) -> float:
        """Return the time constant of small speed changes, J / (K^2 / R + 2 q w) [s].

        Linearisation of J w' = K (u - K w) / R - q w^2 about a steady speed, with active braking.

        Args:
            inertia: Moment of inertia of the rotating parts J [kg m^2].
            torque_constant: Torque of the propeller per squared speed q [N m/(rad/s)^2].
            speed: Speed w [rad/s].
        """
        return inertia / (self.torque_constant**2 / self.resistance + 2 * torque_constant * speed)


def estimated_motor_mass(propeller_diameter: float) -> float:
    """Return the typical mass of a motor for a propeller, 0.4 D^1.35 [kg].

    Fit to motors for 5 (30 g), 10 (60 g), 15 (140 g) and 28 inches (240 g), within a factor of 1.4.

    Args:
        propeller_diameter: Diameter D [m].
    """
    return float(0.4 * propeller_diameter**1.35)
