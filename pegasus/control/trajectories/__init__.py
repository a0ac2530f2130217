"""Trajectories: what a controller follows."""

from pegasus.control.trajectories.maneuvers import Hold, Idle, Land, Takeoff
from pegasus.control.trajectories.profile import Profile
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.shapes import Circle, Lemniscate, Square
from pegasus.control.trajectories.spec import TRAJECTORIES, trajectory_from_spec
from pegasus.control.trajectories.trajectory import Point, Trajectory
from pegasus.control.trajectories.waypoints import Waypoints

idle = Idle
takeoff = Takeoff
hold = Hold
waypoints = Waypoints
square = Square
circle = Circle
lemniscate = Lemniscate
land = Land
sequence = Sequence

__all__ = [
    "TRAJECTORIES",
    "Point",
    "Profile",
    "Trajectory",
    "circle",
    "hold",
    "idle",
    "land",
    "lemniscate",
    "sequence",
    "square",
    "takeoff",
    "trajectory_from_spec",
    "waypoints",
]
