"""Parameters of a vehicle from a log: fly one with wrong figures in its file, and correct the file.

Run it with `python examples/identify_from_log.py`.
"""

from pathlib import Path

from pegasus import Aircraft, McapRecorder, Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories
from pegasus.fleet import Identification, identify
from pegasus.recording import read_flight
from pegasus.sensors import Odometry

WRONG = {"extends": "x500", "name": "wrong", "mass": 2.4, "drag": {"areas": [0.01, 0.01, 0.02]}}


def main(folder: Path = Path("runs/identify"), seconds: float = 20.0) -> Identification:
    """Fly an X500 with noisy motion capture, and fit mass and drag of a file that has them wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "flight.mcap"
    capture = Odometry(rate_hz=100, latency=0.01, position_drift_sigma=(0, 0, 0), yaw_drift_sigma=0)
    course = trajectories.lemniscate(radius=6, height=4, speed=6, acceleration=4)
    with Simulation("flat", seed=1, rate=250, observers=[McapRecorder(log, state_rate=250)]) as sim:
        pilot = GeometricController(course)
        sim.add(Multirotor("x500", backends=[pilot], extra_sensors={"capture": capture}))
        sim.run(duration=seconds)

    found = identify(read_flight(log, Aircraft(WRONG)), WRONG, ["mass", "drag", "inertia"], rate=250)
    for e in found.estimates:
        print(f"{e.name}: {e.before:g} -> {e.value:.5g} +- {e.sigma or 0:.2g} {e.unit}")
    found.write(folder / "x500_fitted.yaml", extends="x500")
    return found


if __name__ == "__main__":
    start_host()
    main()
