"""A hundred vehicles: one `Multirotor` with `count=100`, each copy on a separate lemniscate.

All copies share arrays: state, sensors, motors and controller are computed for all of them at once.

Run it with `python examples/hundred_vehicles.py`.
"""

import time

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories
from pegasus.recording import TrackingAudit, VehicleTracking


def main(count: int = 100, duration: float = 30.0) -> VehicleTracking:
    """Fly; return the tracking errors over all copies."""
    # The trajectory is relative to the start of each copy, so one controller flies a hundred copies of the
    # curve.
    controller = GeometricController(trajectories.lemniscate(radius=4.0, height=3.0, speed=3.0))
    audit = TrackingAudit()
    with Simulation(world="flat", seed=1, observers=[audit]) as sim:
        sim.add(Multirotor("iris", count=count, backends=[controller]))
        began = time.perf_counter()
        sim.run(duration=duration)
        wall = time.perf_counter() - began
        print(
            f"{count} vehicles, {sim.time:g} s in {wall:.2f} s: {count * sim.step_count / wall:,.0f} steps/s"
        )
    tracking = audit.errors()["iris"]
    print(f"largest tracking error: {tracking.overall.maximum:.3f} m")
    return tracking


if __name__ == "__main__":
    start_host()
    main()
