"""Forces of the air on the airframe."""

from pegasus.aerodynamics.drag import Drag, LinearDrag, QuadraticDrag

DRAGS: dict[str, type[Drag]] = {"linear": LinearDrag, "quadratic": QuadraticDrag}
"""Shipped drag models by their name in YAML."""

__all__ = ["DRAGS", "Drag", "LinearDrag", "QuadraticDrag"]
