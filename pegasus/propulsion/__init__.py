"""Motors, thrust curves and batteries."""

from pegasus.propulsion.battery import Battery, BatteryState
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

BATTERIES: dict[str, type[Battery]] = {"lithium_polymer": Battery}
"""Shipped batteries by their name in YAML."""

__all__ = [
    "BATTERIES",
    "MOTORS",
    "THRUST_CURVES",
    "Battery",
    "BatteryState",
    "FirstOrderMotor",
    "IdealMotor",
    "Motor",
    "PolynomialThrust",
    "PropellerThrust",
    "QuadraticThrust",
    "ThrustCurve",
]
