"""Forces of the air on the airframe, of the ground on its rotors, and of vehicles on each other."""

from pegasus.aerodynamics.downwash import Downwash, Jets
from pegasus.aerodynamics.drag import Drag, LinearDrag, QuadraticDrag
from pegasus.aerodynamics.ground_effect import GroundEffect, NearGround

DRAGS: dict[str, type[Drag]] = {"linear": LinearDrag, "quadratic": QuadraticDrag}
"""Shipped drag models by their name in YAML."""

GROUND_EFFECTS: dict[str, type[GroundEffect]] = {"image_sources": GroundEffect}
"""Shipped ground effects by their name in YAML."""

DOWNWASHES: dict[str, type[Downwash]] = {"turbulent_jet": Downwash}
"""Shipped downwashes by their name in YAML."""

__all__ = [
    "DOWNWASHES",
    "DRAGS",
    "GROUND_EFFECTS",
    "Downwash",
    "Drag",
    "GroundEffect",
    "Jets",
    "LinearDrag",
    "NearGround",
    "QuadraticDrag",
]
