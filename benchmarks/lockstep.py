"""Print what the lockstep with PX4 costs: the simulator's own share of an exchange, and the speed with peers.

The own share is what it takes to encode, send, receive, decode and apply, with every system call. The time in
which an autopilot computes is left out: the answers are put into the sockets between the sending and the
receiving, with the clock stopped. The speed is that of a whole simulation at 250 Hz with peers that answer as
PX4 does, each a process of its own: python benchmarks/lockstep.py [SECONDS]
"""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pegasus import Multirotor, Simulation
from pegasus.arrays import Array
from pegasus.backends.mavlink import PX4
from pegasus.backends.mavlink.messages import Decoder, HilActuatorControls, HilSensor, encode
from pegasus.sensors.sensor import Reading
from pegasus.state import VehicleState

PEER = Path(__file__).parents[1] / "tests" / "backends" / "px4_peer.py"
RATE = 250.0
WARM_UP = 250
REPETITIONS = 5
HEIGHT = 2000.0
OUTPUTS = (0.4,) * 4 + (0.0,) * 12


class Clocked(PX4):
    """Answer to itself, and measure the time that all but the answering takes."""

    def connect(self) -> None:
        """Come to its ports as so many autopilots."""
        ports = [4560 + self.first_instance + i for i in range(self._vehicle.count)]
        self.peers = [(socket.create_connection(("127.0.0.1", port)), Decoder()) for port in ports]
        self.publishing = self.commanding = 0.0

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Measure how long the sending takes."""
        begin = time.perf_counter()
        super().publish(t, state, readings)
        self.publishing += time.perf_counter() - begin

    def command(self, t: float) -> Array:
        """Answer, and measure how long the receiving takes."""
        for peer, decoder in self.peers:
            for message in decoder.feed(peer.recv(65536)):
                if type(message) is HilSensor:
                    answer = HilActuatorControls(message.time_usec, 1, OUTPUTS, 129)
                    peer.sendall(encode(answer, sequence=0))
        begin = time.perf_counter()
        speeds = super().command(t)
        self.commanding += time.perf_counter() - begin
        return speeds


def lift(vehicle: Multirotor) -> None:
    """Put the vehicles high into the air, where they stay clear of the ground and its contact forces."""
    place = vehicle.state.position.copy()
    place[:, 2] = HEIGHT
    vehicle.teleport(place)


def own_share(count: int, seconds: float) -> tuple[float, float]:
    """Return the time that a vehicle takes to publish and to command [us], medians of some repetitions."""
    step_count = round(seconds * RATE)
    rows = []
    backend = Clocked(launch=False)
    with Simulation(rate=RATE) as simulation:
        vehicle = simulation.add(Multirotor("iris", count=count, backends=[backend]))
        backend.connect()
        simulation.step(WARM_UP)
        for _ in range(REPETITIONS):
            lift(vehicle)
            backend.publishing = backend.commanding = 0.0
            simulation.step(step_count)
            per_vehicle = 1e6 / (step_count * count)
            rows.append((backend.publishing * per_vehicle, backend.commanding * per_vehicle))
        for peer, _ in backend.peers:
            peer.close()
    publishing, commanding = (statistics.median(column) for column in zip(*rows, strict=True))
    return publishing, commanding


def real_time_factor(count: int, seconds: float) -> float:
    """Return how many times real time a simulation with so many peers runs, median of some repetitions."""
    backend = PX4(launch=False)
    with Simulation(rate=RATE) as simulation:
        vehicle = simulation.add(Multirotor("iris", count=count, backends=[backend]))
        options = ["--controller", "none", "--outputs", "0.4,0.4,0.4,0.4"]
        peers = [
            subprocess.Popen(
                [sys.executable, str(PEER), *options, "-i", str(backend.first_instance + i)],
                stdout=subprocess.DEVNULL,
            )
            for i in range(count)
        ]
        try:
            simulation.step(WARM_UP)
            factors = []
            for _ in range(REPETITIONS):
                lift(vehicle)
                begin = time.perf_counter()
                simulation.run(seconds)
                factors.append(seconds / (time.perf_counter() - begin))
        finally:
            for peer in peers:
                peer.kill()
                peer.wait()
    return statistics.median(factors)


def main(seconds: float) -> None:
    """Print a row for one and for ten vehicles."""
    print("own share of an exchange, per vehicle and step at 250 Hz [us]; speed with peers on this machine")
    print(f"{'vehicles':>8} {'publish':>9} {'command':>9} {'together':>9} {'x real time':>12}")
    for count in (1, 10):
        publishing, commanding = own_share(count, seconds)
        factor = real_time_factor(count, seconds)
        together = publishing + commanding
        print(
            f"{count:>8} {publishing:>9.1f} {commanding:>9.1f} {together:>9.1f} {factor:>12.1f}", flush=True
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)
