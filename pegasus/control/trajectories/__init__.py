"""Trajectories: references for controllers."""

from pegasus.contracts.trajectory import Point, Trajectory
from pegasus.control.trajectories.csv_file import Csv
from pegasus.control.trajectories.function import FunctionPath
from pegasus.control.trajectories.maneuvers import Hold, Idle, Land, Profile, Takeoff
from pegasus.control.trajectories.race_line import Gate, RaceLine
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.shapes import Circle, Lemniscate, Relay, Square
from pegasus.control.trajectories.spec import (
    TRAJECTORIES,
    located,
    trajectories_from_spec,
    trajectory_from_spec,
)
from pegasus.control.trajectories.turn import Turn
from pegasus.control.trajectories.waypoints import MinimumSnap, Waypoints

idle = Idle
takeoff = Takeoff
hold = Hold
waypoints = Waypoints
minimum_snap = MinimumSnap
race_line = RaceLine
relay = Relay
csv = Csv
function = FunctionPath
square = Square
circle = Circle
lemniscate = Lemniscate
land = Land
turn = Turn
sequence = Sequence

__all__ = [
    "TRAJECTORIES",
    "Gate",
    "Point",
    "Profile",
    "Trajectory",
    "circle",
    "csv",
    "function",
    "hold",
    "idle",
    "land",
    "lemniscate",
    "located",
    "minimum_snap",
    "race_line",
    "relay",
    "sequence",
    "square",
    "takeoff",
    "trajectories_from_spec",
    "trajectory_from_spec",
    "turn",
    "waypoints",
]
