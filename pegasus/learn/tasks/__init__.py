"""Tasks that are shipped."""

from pegasus.learn.tasks.avoid import AvoidObstacles
from pegasus.learn.tasks.hover import Hover, RecoverFromThrow
from pegasus.learn.tasks.land import LandOnPad
from pegasus.learn.tasks.race import RaceGates, oval_course
from pegasus.learn.tasks.swarm import Swarm
from pegasus.learn.tasks.track import TrackTrajectory
from pegasus.learn.tasks.waypoints import FixedWingWaypoints

__all__ = [
    "AvoidObstacles",
    "FixedWingWaypoints",
    "Hover",
    "LandOnPad",
    "RaceGates",
    "RecoverFromThrow",
    "Swarm",
    "TrackTrajectory",
    "oval_course",
]
