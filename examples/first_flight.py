"""First flight: an Iris takes off in the courtyard, flies a lemniscate, and the flight is recorded.

Run it with `python examples/first_flight.py`. It writes `runs/first_flight.mcap`, a log for
Foxglove and `pegasus.read_log`.
"""

from pathlib import Path

from pegasus import McapRecorder, Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories


def main(duration: float = 30.0, log: Path = Path("runs/first_flight.mcap")) -> Multirotor:
    """Fly, and return the vehicle."""
    log.parent.mkdir(parents=True, exist_ok=True)
    controller = GeometricController(trajectories.lemniscate(radius=5.0, height=3.0))
    with Simulation(world="courtyard", seed=1, observers=[McapRecorder(log)]) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 0.1), backends=[controller]))
        sim.run(duration=duration)
        print(f"after {sim.time:g} s the Iris is at {iris.state.position[0].round(3)} m; log: {log}")
    return iris


if __name__ == "__main__":
    start_host()
    main()
