"""Models of wings: force and torque of lifting surfaces and airframes."""

from pegasus.base.registry import Registry
from pegasus.dynamics.wings.advanced_lift_drag import AdvancedLiftDrag
from pegasus.dynamics.wings.airframe_files import AvlAirframe, JsbsimAirframe
from pegasus.dynamics.wings.avl import read_avl
from pegasus.dynamics.wings.derivatives import AirframeDerivatives, Expansion
from pegasus.dynamics.wings.full_range import FullRangeWing
from pegasus.dynamics.wings.jsbsim import read_jsbsim
from pegasus.dynamics.wings.lift_drag import LiftDrag
from pegasus.dynamics.wings.wing import Wing

WINGS: Registry[Wing] = Registry(
    "wing model",
    group="pegasus.wings",
    shipped={
        "lift_drag": LiftDrag,
        "advanced_lift_drag": AdvancedLiftDrag,
        "full_range": FullRangeWing,
        "derivatives": AirframeDerivatives,
        "avl": AvlAirframe,
        "jsbsim": JsbsimAirframe,
    },
)
"""Wings by their name in YAML."""

__all__ = [
    "WINGS",
    "AdvancedLiftDrag",
    "AirframeDerivatives",
    "AvlAirframe",
    "Expansion",
    "FullRangeWing",
    "JsbsimAirframe",
    "LiftDrag",
    "Wing",
    "read_avl",
    "read_jsbsim",
]
