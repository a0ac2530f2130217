"""ROS 2 fleet: vehicles flown by another process over ROS 2, with or without a ROS 2 installation.

This process runs the simulation; each vehicle is a node on the graph. A second process, started from the same
file, subscribes to each vehicle's odometry and publishes velocities, until each is 2 m above and 2 m ahead of
its start. Any ROS 2 program could replace it; this one uses Pegasus's ROS 2 transport, so that it needs no
rclpy. The number of vehicles is an optional argument: python examples/ros2_fleet.py 5
"""

import math
import subprocess
import sys
import time
from typing import Any

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import ROS2
from pegasus.backends.ros2 import RELIABLE, decode, encode, message, open_transport

ODOMETRY, TWIST = "nav_msgs/msg/Odometry", "geometry_msgs/msg/Twist"
CLIMB, AHEAD = 2.0, 2.0
ARRIVED, FASTEST = 0.1, 1.5


class Vehicle:
    """Client of one vehicle in the other process: its odometry and its velocity commands."""

    def __init__(self, transport: Any, number: int) -> None:
        self.node = transport.node("pilot", f"drone{number}")
        self.odometry = self.node.subscription(ODOMETRY, "odom", RELIABLE)
        self.velocity = self.node.publisher(TWIST, "cmd_vel", RELIABLE)
        self.node.announce()
        self.target: tuple[float, float, float] | None = None

    def fly(self) -> bool:
        """Send the velocity towards the target, and return whether the vehicle has reached it."""
        received = self.odometry.take()
        if not received:
            return False
        pose = decode(ODOMETRY, received[-1]).pose.pose
        here, turn = pose.position, pose.orientation
        heading = 2.0 * math.atan2(turn.z, turn.w)
        if self.target is None:
            ahead = AHEAD * math.cos(heading), AHEAD * math.sin(heading)
            self.target = here.x + ahead[0], here.y + ahead[1], here.z + CLIMB
        east, north, up = (b - a for a, b in zip((here.x, here.y, here.z), self.target, strict=True))
        # In the vehicle's own axes: ahead, left, up.
        c, s = math.cos(heading), math.sin(heading)
        wanted = [c * east + s * north, c * north - s * east, up]
        distance = math.hypot(*wanted)
        scale = min(1.0, FASTEST / max(distance, 1e-9))
        linear = dict(zip("xyz", (scale * part for part in wanted), strict=True))
        self.velocity.publish(encode(message(TWIST, linear=linear)))
        return distance < ARRIVED


def pilot(count: int) -> None:
    """Fly all vehicles to their targets; main function of the other process."""
    transport = open_transport()
    vehicles = [Vehicle(transport, number) for number in range(count)]
    there = [False] * count
    while not all(there):
        there = [arrived or vehicle.fly() for vehicle, arrived in zip(vehicles, there, strict=True)]
        time.sleep(0.005)
    print(f"{count} there, by {transport.name}", flush=True)
    transport.close()


def main(count: int = 1, speed: float = 2.0) -> np.ndarray:
    """Fly; return the displacement of each vehicle [m], shape (N, 3)."""
    with Simulation("flat") as sim:
        # The last command remains active: a vehicle at its target stays there without further commands.
        backend = ROS2("drone0", on_timeout="hold", command_timeout=1.0)
        fleet = sim.add(Multirotor("iris", count=count, heading=0.5, backends=[backend]))
        start = fleet.state.position.copy()
        other = subprocess.Popen([sys.executable, __file__, "pilot", str(count)])
        try:
            while other.poll() is None:
                sim.run(0.1, speed=speed)
            sim.run(2.0)
        finally:
            other.terminate()
            other.wait()
        return fleet.state.position - start


if __name__ == "__main__":
    start_host()
    if sys.argv[1:2] == ["pilot"]:
        pilot(int(sys.argv[2]))
    else:
        print(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
