"""Fly vehicles from another process, over ROS 2, with a ROS 2 installation or without one.

This process runs the world; each vehicle is a node on the graph. The other one, started from this same file,
listens to each vehicle's odometry and sends velocities, until each is 2 m above and 2 m ahead of where it
stood. Any ROS 2 program can be in its place; this one speaks through Pegasus's own way onto the graph, so
that it needs no rclpy. With a number it flies so many vehicles: python examples/ros2_fleet.py 5
"""

import math
import subprocess
import sys
import time

from pegasus import Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.cdr import decode, encode
from pegasus.backends.ros2.messages import Odometry, Twist, Vector3
from pegasus.backends.ros2.qos import RELIABLE
from pegasus.backends.ros2.transport import open_transport
from pegasus.isaac.launch import start_if_asked

CLIMB, AHEAD = 2.0, 2.0
ARRIVED, FASTEST = 0.1, 1.5


class Vehicle:
    """One vehicle as the other process sees it: what it says of itself, and what it is told."""

    def __init__(self, transport, number):
        self.node = transport.node("pilot", f"drone{number}")
        self.odometry = self.node.subscription(Odometry, "odom", RELIABLE)
        self.velocity = self.node.publisher(Twist, "cmd_vel", RELIABLE)
        self.node.announce()
        self.target = None

    def fly(self):
        """Send the velocity towards the target, and return whether it is there."""
        received = self.odometry.take()
        if not received:
            return False
        pose = decode(Odometry, received[-1]).pose.pose
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
        self.velocity.publish(encode(Twist(Vector3(*(scale * part for part in wanted)))))
        return distance < ARRIVED


def pilot(count):
    """Fly all vehicles to their targets; the other process."""
    transport = open_transport()
    vehicles = [Vehicle(transport, number) for number in range(count)]
    there = [False] * count
    while not all(there):
        there = [arrived or vehicle.fly() for vehicle, arrived in zip(vehicles, there, strict=True)]
        time.sleep(0.005)
    print(f"{count} there, by {transport.name}", flush=True)
    transport.close()


def main(count=1, speed=2.0):
    """Fly and return how far each vehicle has moved [m], shape (N, 3)."""
    with Simulation("flat") as sim:
        # What was told last is held to: a vehicle that is there, and told nothing more, stays.
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
    start_if_asked()
    if sys.argv[1:2] == ["pilot"]:
        pilot(int(sys.argv[2]))
    else:
        print(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
