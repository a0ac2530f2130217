"""Rigs of tests of vehicles on ROS 2: the true state of each step, and messages of the other process."""

from importlib.util import find_spec

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from tests.waits import wait_until

# The same tests run over rclpy where ROS 2 is installed.
TRANSPORT = "rclpy" if find_spec("rclpy") else "cyclonedds"


def begin():
    """Let numerical libraries start their permanent threads before a test counts threads."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[GeometricController(trajectories.hold(height=1.0))]))
        sim.step(10)


class Witness:
    """A backend that keeps the true state of every step by its stamp."""

    def __init__(self):
        self.states, self.readings = {}, {}

    def start(self, simulation):
        """Do nothing."""

    def record(self, simulation):
        stamp = round(simulation.time * 1e9)
        for vehicle in simulation.vehicles:
            self.states[vehicle.name, stamp] = vehicle.state.copy()
            for name, reading in vehicle.new_readings.items():
                stamp = round(getattr(reading, "valid_at", reading.stamp) * 1e9)
                self.readings[vehicle.name, name, stamp] = reading

    def stop(self):
        """Do nothing."""


def stamp_of(message):
    return nanoseconds(message["header"]["stamp"])


def nanoseconds(stamp):
    return stamp["sec"] * 10**9 + stamp["nanosec"]


def xyz(vector):
    return [vector["x"], vector["y"], vector["z"]]


def xyzw(quaternion):
    return [*xyz(quaternion), quaternion["w"]]


def seen(sim, peer, topics):
    """Step until each topic has a message, and return the newest of each."""
    newest = {}

    def step():
        sim.step()
        for topic in topics:
            for message in peer.ask("take", topic=topic):
                newest[topic] = message
        return newest.keys() >= set(topics)

    wait_until(step)
    return newest


def listen(peer, topics, qos="best_effort"):
    for topic, kind in topics.items():
        peer.ask("listen", topic=topic, kind=kind, qos=qos)


def ignore(peer, topics):
    for topic in topics:
        peer.ask("ignore", topic=topic)
