"""Thrust curves."""

from pegasus.simulator.logic.thrusters.quadratic_thrust_curve import QuadraticThrustCurve

__all__ = ["QuadraticThrustCurve"]
