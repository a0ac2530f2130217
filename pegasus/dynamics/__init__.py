"""Models of motors, thrust curves, batteries, drag, ground effect and downwash."""

from pegasus.base.registry import Registry
from pegasus.dynamics.battery import Battery
from pegasus.dynamics.battery_state import BatteryState
from pegasus.dynamics.box_drag import BoxDrag
from pegasus.dynamics.downwash import Downwash
from pegasus.dynamics.drag import Drag, LinearDrag, QuadraticDrag
from pegasus.dynamics.electric_motor import ElectricMotor
from pegasus.dynamics.forward_flight import RotorThrust
from pegasus.dynamics.ground_effect import GroundEffect
from pegasus.dynamics.motors import DrivenMotor, FirstOrderMotor, IdealMotor, Motor, QuadraticLagMotor
from pegasus.dynamics.propeller_curve import PropellerThrust
from pegasus.dynamics.servos import Servo
from pegasus.dynamics.thrust_curves import (
    FadingThrust,
    GazeboRotor,
    PolynomialThrust,
    QuadraticThrust,
    ThrustCurve,
)
from pegasus.dynamics.variable_pitch import VariablePitchThrust

MOTORS: Registry[Motor] = Registry(
    "motor model",
    group="pegasus.motors",
    shipped={
        "ideal": IdealMotor,
        "first_order": FirstOrderMotor,
        "quadratic_lag": QuadraticLagMotor,
        "electric": ElectricMotor,
    },
)
"""Motors by their name in YAML."""

THRUST_CURVES: Registry[ThrustCurve] = Registry(
    "thrust curve",
    group="pegasus.thrust_curves",
    shipped={
        "quadratic": QuadraticThrust,
        "fading": FadingThrust,
        "gazebo": GazeboRotor,
        "polynomial": PolynomialThrust,
        "propeller": PropellerThrust,
        "rotor": RotorThrust,
        "variable_pitch": VariablePitchThrust,
    },
)
"""Thrust curves by their name in YAML."""

BATTERIES: Registry[Battery] = Registry(
    "battery model", group="pegasus.batteries", shipped={"lithium_polymer": Battery}
)
"""Batteries by their name in YAML."""

DRAGS: Registry[Drag] = Registry(
    "drag model",
    group="pegasus.drags",
    shipped={"linear": LinearDrag, "quadratic": QuadraticDrag, "box": BoxDrag},
)
"""Drag models by their name in YAML."""

GROUND_EFFECTS: Registry[GroundEffect] = Registry(
    "ground effect", group="pegasus.ground_effects", shipped={"image_sources": GroundEffect}
)
"""Ground effects by their name in YAML."""

DOWNWASHES: Registry[Downwash] = Registry(
    "downwash model", group="pegasus.downwashes", shipped={"turbulent_jet": Downwash}
)
"""Downwashes by their name in YAML."""

SERVOS: Registry[Servo] = Registry("servo model", group="pegasus.servos", shipped={"first_order": Servo})
"""Servos by their name in YAML."""

__all__ = [
    "BATTERIES",
    "DOWNWASHES",
    "DRAGS",
    "GROUND_EFFECTS",
    "MOTORS",
    "SERVOS",
    "THRUST_CURVES",
    "Battery",
    "BatteryState",
    "BoxDrag",
    "Downwash",
    "Drag",
    "DrivenMotor",
    "ElectricMotor",
    "FadingThrust",
    "FirstOrderMotor",
    "GazeboRotor",
    "GroundEffect",
    "IdealMotor",
    "LinearDrag",
    "Motor",
    "PolynomialThrust",
    "PropellerThrust",
    "QuadraticDrag",
    "QuadraticLagMotor",
    "QuadraticThrust",
    "RotorThrust",
    "Servo",
    "ThrustCurve",
    "VariablePitchThrust",
]
