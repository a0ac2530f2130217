"""Tasks that are shipped."""

from pegasus.learn.tasks.hover import Hover, RecoverFromThrow
from pegasus.learn.tasks.race import RaceGates, oval_course
from pegasus.learn.tasks.track import TrackTrajectory

__all__ = ["Hover", "RaceGates", "RecoverFromThrow", "TrackTrajectory", "oval_course"]
