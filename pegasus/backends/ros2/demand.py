"""What one vehicle was last told by others, and since when."""

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from pegasus.arrays import Array
from pegasus.backends.ros2.paths import CommandedPath


class Mode(Enum):
    """What the newest command of a vehicle asks for."""

    NONE = "none"
    ROTORS = "rotors"
    ATTITUDE = "attitude"
    VELOCITY = "velocity"
    PATH = "path"


@dataclass(eq=False)
class Demand:
    """The newest good commands of one vehicle with R rotors; the newest of all says what it does."""

    rotor_count: int
    """Number of rotors R."""
    mode: Mode = Mode.NONE
    """What the newest command asks for."""
    stamp: float = -math.inf
    """Simulation time at which it came [s]; of a path, that at which the path ends."""
    rotor_speed: Array = field(init=False)
    """Wanted rotor speeds [rad/s], shape (R,)."""
    rotor_stamp: Array = field(init=False)
    """Simulation time at which each of them came [s], shape (R,)."""
    attitude: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wanted roll, pitch and yaw (ZYX) [rad]."""
    thrust: float = 0.0
    """Wanted thrust along the body's z axis [N]."""
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wanted velocity, ahead, to the left and up [m/s]."""
    yaw_rate: float = 0.0
    """Wanted rate of the heading [rad/s]."""
    path: CommandedPath | None = None
    """Wanted path."""
    path_begin: float = 0.0
    """Simulation time at which it begins [s]."""

    def __post_init__(self) -> None:
        self.rotor_speed = np.zeros(self.rotor_count)
        self.rotor_stamp = np.full(self.rotor_count, -math.inf)

    def take_rotor(self, rotor: int, speed: float, t: float) -> None:
        """Take the wanted speed of one rotor.

        Args:
            rotor: Its index.
            speed: Wanted speed [rad/s].
            t: Simulation time [s].
        """
        self.rotor_speed[rotor], self.rotor_stamp[rotor] = speed, t
        self.mode, self.stamp = Mode.ROTORS, t

    def take_rotors(self, speeds: Array, t: float) -> None:
        """Take the wanted speeds of all rotors.

        Args:
            speeds: Wanted speeds [rad/s], shape (R,).
            t: Simulation time [s].
        """
        self.rotor_speed[...], self.rotor_stamp[...] = speeds, t
        self.mode, self.stamp = Mode.ROTORS, t

    def take_attitude(self, attitude: tuple[float, float, float], thrust: float, t: float) -> None:
        """Take a wanted attitude and thrust.

        Args:
            attitude: Roll, pitch and yaw (ZYX) [rad].
            thrust: Thrust along the body's z axis [N].
            t: Simulation time [s].
        """
        self.attitude, self.thrust = attitude, thrust
        self.mode, self.stamp = Mode.ATTITUDE, t

    def take_velocity(self, velocity: tuple[float, float, float], yaw_rate: float, t: float) -> None:
        """Take a wanted velocity.

        Args:
            velocity: Velocity ahead, to the left and up, level whatever the tilt [m/s].
            yaw_rate: Rate of the heading [rad/s].
            t: Simulation time [s].
        """
        self.velocity, self.yaw_rate = velocity, yaw_rate
        self.mode, self.stamp = Mode.VELOCITY, t

    def take_path(self, path: CommandedPath, begin: float) -> None:
        """Take a wanted path, which is in force until it ends.

        Args:
            path: The path.
            begin: Simulation time at which it begins [s].
        """
        self.path, self.path_begin = path, begin
        self.mode, self.stamp = Mode.PATH, begin + path.duration
