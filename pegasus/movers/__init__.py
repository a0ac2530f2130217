"""Movers: objects that move by a function of time, and their motions."""

from pegasus.config.mover_specs import MoverSpec
from pegasus.contracts.mover import MOTIONS, Motion, Mover
from pegasus.core.solid_mover import SolidMover
from pegasus.movers.motions import AlongTrajectory, Hinge, Oscillation, TimedWaypoints, Windsock

__all__ = [
    "MOTIONS",
    "AlongTrajectory",
    "Hinge",
    "Motion",
    "Mover",
    "MoverSpec",
    "Oscillation",
    "SolidMover",
    "TimedWaypoints",
    "Windsock",
]
