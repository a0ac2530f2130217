"""Cost of ROS 2 per step, without and with a subscribing process: python benchmarks/ros2.py [SECONDS].

The cost of the backend is the time within its `publish` and `command`, per vehicle and step at 250 Hz, with
all default topics of an Iris with a rangefinder; under other load, the processor time is the better figure.
Then the cost of an image of 640 x 480 pixels from the array to the network.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.contents import Content, sensor_contents, state_contents
from pegasus.backends.ros2.frames import Frames
from pegasus.backends.ros2.graph import CLOCK, IMAGES, SENSOR_DATA, Publisher
from pegasus.backends.ros2.images import image
from pegasus.backends.ros2.messages import encode
from pegasus.backends.ros2.transport import open_transport
from pegasus.base.arrays import Array
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.sensors import Rangefinder

RATE = 250.0
REPETITIONS = 5
IMAGE = "sensor_msgs/msg/Image"
PICTURE = "front/color/image_raw"
PICTURE_COUNT = 100
PATIENCE = 60.0
"""Longest wait for the subscribing process [s]."""


class Clocked(ROS2):
    """ROS 2 backend that measures the time within its own calls."""

    spent = np.zeros(2)

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Measure the time of publishing."""
        begin = now()
        super().publish(t, state, readings)
        self.spent += now() - begin

    def command(self, t: float) -> Array | None:
        """Measure the time of receiving commands."""
        begin = now()
        speeds = super().command(t)
        self.spent += now() - begin
        return speeds


def now() -> Array:
    """Return wall time and processor time of this thread [s], shape (2,)."""
    return np.array([time.perf_counter(), time.thread_time()])


def vehicle(count: int, *backends: ROS2) -> Multirotor:
    """Return Irises with a rangefinder."""
    return Multirotor("iris", count=count, backends=backends, extra_sensors={"down": Rangefinder()})


def contents_of(one: Multirotor, backend: ROS2) -> list[Content]:
    """Return the contents of all topics of a vehicle."""
    state = state_contents(one, backend.frames, backend.variances)
    return [*state, *(content for items in sensor_contents(one).values() for content in items)]


def listen(count: int) -> None:
    """Read every topic of a number of vehicles until the input ends (the subscribing process)."""
    transport = open_transport()
    with Simulation("flat", rate=RATE) as simulation:
        # Contents depend on what sensors learn from a vehicle in a world.
        contents = contents_of(simulation.add(vehicle(1)), ROS2())
    readers = []
    for number in range(count):
        node = transport.node("listener", f"drone{number}")
        readers += [
            node.subscription(c.message(Frames().names("")).__msgtype__, c.topic, c.qos) for c in contents
        ]
        readers += [node.subscription("rosgraph_msgs/msg/Clock", "/clock", CLOCK)]
        readers.append(node.subscription(IMAGE, PICTURE, SENSOR_DATA))
        node.announce()
    received = 0
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        received += sum(len(reader.take()) for reader in readers)
    print(f"    the subscribing process received {received} messages")
    transport.close()


def share(simulation: Simulation, backend: Clocked, count: int, seconds: float) -> str:
    """Return the time of the backend per vehicle and step, median of several repetitions."""
    steps = round(seconds * RATE)
    shares = []
    for _ in range(REPETITIONS):
        backend.spent = np.zeros(2)
        simulation.step(steps)
        shares.append(1e6 * backend.spent / steps / count)
    wall, own = np.median(shares, axis=0)
    return f"{wall:6.1f} us, {own:6.1f} us of processor time"


def measure(count: int, seconds: float) -> None:
    """Print the cost of the backend for a number of vehicles."""
    backend = Clocked("drone0" if count == 1 else "drone", localhost_only=True)
    with Simulation("flat", rate=RATE) as simulation:
        simulation.add(vehicle(count, backend))
        simulation.step(10)
        print(f"{count} vehicle(s), no subscriber:  {share(simulation, backend, count, seconds)}")
        environment = os.environ | {"ROS_LOCALHOST_ONLY": "1"}
        other = subprocess.Popen(
            [sys.executable, __file__, "listen", str(count)], stdin=subprocess.PIPE, env=environment
        )
        try:
            for _, publisher, _ in backend._publications._state[0]._copies:
                await_listener(publisher, other)
            time.sleep(1.0)
            print(f"{count} vehicle(s), every topic read:  {share(simulation, backend, count, seconds)}")
            if count == 1:
                picture(backend, other)
            other.communicate(timeout=PATIENCE)
        finally:
            other.kill()
            other.wait()


def await_listener(publisher: Publisher, other: "subprocess.Popen[bytes]") -> None:
    """Wait until the subscribing process listens to a topic."""
    end = time.monotonic() + PATIENCE
    while not publisher.matched:
        if other.poll() is not None:
            raise SystemExit(f"the subscribing process ended with code {other.returncode}")
        if time.monotonic() > end:
            raise SystemExit(f"the subscribing process was not found within {PATIENCE:g} s")
        time.sleep(0.05)


def picture(backend: ROS2, other: "subprocess.Popen[bytes]") -> None:
    """Print the cost of an image from the array to the network."""
    (node,) = backend._nodes
    publisher = node.publisher(IMAGE, PICTURE, IMAGES)
    await_listener(publisher, other)
    pixels = np.random.default_rng(0).integers(255, size=(480, 640, 3), dtype=np.uint8)
    times = []
    for _ in range(PICTURE_COUNT):
        begin = now()
        publisher.publish(encode(image(pixels, {"frame_id": "map"})))
        times.append(1e3 * (now() - begin))
    wall, own = np.median(times, axis=0)
    print(f"an image of 640 x 480 pixels:      {wall:6.2f} ms, {own:6.2f} ms of processor time")


if __name__ == "__main__":
    if sys.argv[1:2] == ["listen"]:
        listen(int(sys.argv[2]))
    else:
        wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
        for vehicles in 1, 5:
            measure(vehicles, wanted)
