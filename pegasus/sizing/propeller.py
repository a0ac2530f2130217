"""What a propeller does and weighs, from its diameter, pitch and number of blades."""

import math
import re
from dataclasses import dataclass

from pegasus.components import require
from pegasus.errors import ConfigError

INCH = 0.0254  # [m]
SEA_LEVEL_DENSITY = 1.225  # [kg/m^3], US Standard Atmosphere 1976

# Static coefficients over pitch by diameter p, C = a p^b: least squares of log C over the two-bladed
# propellers of the UIUC propeller database, volumes 1 to 3 (Brandt, Deters, Ananda, Dantsker, Selig), with p
# from 0.25 to 0.9 and diameters from 2.2 to 19 inches, each at the upper half of its speeds: 176 of usual
# blades, 19 slow flyers (broad blades; APC SF, GWS SF).
_THRUST_FIT = {False: (0.140, 0.60), True: (0.1865, 0.607)}
_POWER_FIT = {False: (0.084, 1.14), True: (0.1176, 1.182)}
# More blades by (blades / 2)^b: the mean over 11 pairs of the same database with 3 or 4 blades in place of 2.
_THRUST_BLADES, _POWER_BLADES = 0.66, 0.79

# Mass of two blades, a D^b: through makers' figures for 5 (3.5 g), 10 (12 g), 15 (26 g) and 28 inches (61 g).
_MASS_FIT = (0.115, 1.65)
# Mean square distance from the axis of a blade whose mass goes with the square of its chord, by D^2.
_INERTIA = 0.065

_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*[xX*]\s*(\d+(?:\.\d+)?)(?:\s*[xX*]\s*(\d+))?\s*(SF)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Propeller:
    """A propeller of fixed pitch."""

    diameter: float
    """Diameter [m]."""
    pitch: float
    """Pitch [m]."""
    blade_count: int = 2
    slow_flyer: bool = False
    """Whether its blades are broad, as those of APC's and GWS's slow flyers."""
    measured_thrust_coefficient: float | None = None
    """Static C_T where it was measured; estimated when None."""
    measured_power_coefficient: float | None = None
    """Static C_P where it was measured; estimated when None."""

    def __post_init__(self) -> None:
        require(0.02 <= self.diameter <= 3.0, "diameter", self.diameter, "must be from 0.02 to 3 m")
        require(
            0.2 <= self.pitch / self.diameter <= 1.0,
            "pitch",
            round(self.pitch, 4),
            f"must be from 0.2 to 1 times the diameter of {self.diameter:.4g} m, as where it was measured",
            "give diameter x pitch in inches, such as 10x4.5",
        )
        require(2 <= self.blade_count <= 8, "blades", self.blade_count, "must be from 2 to 8")
        for name in ("thrust", "power"):
            value = getattr(self, f"measured_{name}_coefficient")
            require(value is None or 0 < value < 1, f"{name}_coefficient", value, "must be from 0 to 1")

    @classmethod
    def parse(cls, text: str) -> "Propeller":
        """Return the propeller of a designation: diameter x pitch in inches, and what may follow.

        Args:
            text: Such as 10x4.5, 5x4.3x3 (three blades) or 10x4.7SF (slow flyer).

        Raises:
            ConfigError: If it reads otherwise, or there are no such propellers.
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
