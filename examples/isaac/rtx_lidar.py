"""RTX lidar: a lidar by RTX beside one by PhysX rays, on the same Iris.

Isaac Sim 6.0 only. Run it with Isaac Sim's `python.sh examples/isaac/rtx_lidar.py --headless`. RTX
detects rendered geometry and PhysX colliders; it prints how far the two lidars agree.
"""

import sys

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.cameras import Lidar, LidarReading
from pegasus.control import GeometricController, trajectories

RINGS = tuple(np.radians([-15.0, -10.0, -5.0, 0.0, 5.0, 10.0]))


def lidar() -> Lidar:
    """Return a small spinning lidar: PhysX casts only a few thousand rays per second."""
    return Lidar(
        pattern={"model": "spinning", "elevations": RINGS, "column_count": 120},
        rate_hz=10.0,
        position=(0.0, 0.0, 0.1),
        noise_sigma=0.0,
    )


def main(duration: float = 4.0) -> np.ndarray:
    """Hover; return the differences of the two lidars' ranges in the last scan [m]."""
    # Isaac Sim is imported when it runs.
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.kit import enable_extension
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    enable_extension("isaacsim.sensors.experimental.rtx")
    # RTX scans while frames are drawn: five for each turn of the lidar.
    engine = IsaacEngine(rate=250, frame_rate=50)
    with Simulation("box_with_cylinders", engine=engine, rate=250, seed=1) as sim:
        iris = sim.add(
            Multirotor(
                "iris",
                position=(0.0, 0.0, 0.1),
                backends=[GeometricController(trajectories.takeoff(height=1.5))],
                extra_sensors={"rtx": lidar(), "rays": lidar()},
            )
        )
        with measure_by_rtx(sim, lidars=["rtx"]):
            sim.run(duration=duration)
            rtx, rays = (iris.reading(LidarReading, name).scan(0).range for name in ("rtx", "rays"))
    both = np.isfinite(rtx) & np.isfinite(rays)
    difference = np.abs(rtx - rays)[both]
    print(f"{np.isfinite(rtx).sum()} points by RTX, {np.isfinite(rays).sum()} by rays")
    print(f"median difference {np.median(difference):.3f} m, nearest point {rtx[both].min():.2f} m away")
    return difference


if __name__ == "__main__":
    # By the setting, RTX tells what points lie on, so that those on the vehicle itself are left out.
    known = ["--", "--/rtx-transient/stableIds/enabled=true"]
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:], *known])
    main()
