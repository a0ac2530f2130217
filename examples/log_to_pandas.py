"""Log into pandas: fly, read the log with one line, and find the largest tilt and the mean power of climbs.

Run it with `python examples/log_to_pandas.py`; it needs `pip install pandas`.
"""

from pathlib import Path

import numpy as np

from pegasus import McapRecorder, Multirotor, Simulation, read_log, start_host
from pegasus.control import GeometricController, trajectories


def main(log: Path = Path("runs/log_to_pandas.mcap")) -> float:
    """Fly a circle, and return the largest tilt [deg]."""
    log.parent.mkdir(parents=True, exist_ok=True)
    circle = GeometricController(trajectories.circle(radius=3.0, height=2.0))
    with Simulation(observers=[McapRecorder(log)]) as sim:
        sim.add(Multirotor("iris", backends=[circle]))
        sim.run(duration=15.0)

    frame = read_log(log).to_pandas("iris/state", "iris/reference")["iris/state"]

    tilt = np.degrees(2 * np.arcsin(np.hypot(frame.orientation_x, frame.orientation_y)))
    speed = np.hypot(frame.velocity_x, frame.velocity_y)
    print(frame.describe().filter(like="position").round(2))
    print(f"largest tilt {tilt.max():.1f} deg at {tilt.idxmax():.2f} s, fastest {speed.max():.2f} m/s")
    return float(tilt.max())


if __name__ == "__main__":
    start_host()
    main()
