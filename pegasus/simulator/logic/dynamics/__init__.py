"""Drag."""

from pegasus.simulator.logic.dynamics.linear_drag import LinearDrag

__all__ = ["LinearDrag"]
