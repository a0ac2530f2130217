"""Motors and thrust curves."""

from pegasus.propulsion.motors import FirstOrderMotor, IdealMotor, Motor
from pegasus.propulsion.thrust_curves import PolynomialThrust, PropellerThrust, QuadraticThrust, ThrustCurve

MOTORS: dict[str, type[Motor]] = {"ideal": IdealMotor, "first_order": FirstOrderMotor}
"""Shipped motors by their name in YAML."""

THRUST_CURVES: dict[str, type[ThrustCurve]] = {
    "quadratic": QuadraticThrust,
    "polynomial": PolynomialThrust,
    "propeller": PropellerThrust,
}
"""Shipped thrust curves by their name in YAML."""

__all__ = [
    "MOTORS",
    "THRUST_CURVES",
    "FirstOrderMotor",
    "IdealMotor",
    "Motor",
    "PolynomialThrust",
    "PropellerThrust",
    "QuadraticThrust",
    "ThrustCurve",
]
