"""Step rate and gaps of a simulation, without and with a camera whose images are rendered beside it.

    python benchmarks/camera_beside.py [WORLD] [SECONDS]

An Iris flies a circle with a camera of 640x480 at 30 Hz, each image of which is consumed. The row of each
case gives the speed as a multiple of real time, the share of steps that came more than two periods after the
one before, the longest such gap, the images per second, how long after its instant an image was delivered, in
simulated time, and the processor time of all threads per image; the first rows hold that of images of the
same flight, rendered without steps between them. The machine should do nothing else; where it does, the
processor time tells best how many cores the case needs.
"""

import sys
import time
from functools import partial
from typing import Any

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.cameras import Camera, CameraReading, ImageQueue
from pegasus.control import GeometricController, trajectories

RATE = 250.0
WARM_UP = 1.0
"""Simulated time before measurement [s]; the first image computes the light of its world."""
ALONE = 20
"""Images rendered without steps between them."""
CASES: dict[str, tuple[str, ...]] = {
    "no camera": (),
    "depth, segmentation": ("depth", "semantic"),
    "rgb": ("rgb",),
}


def fly(sim: Simulation, outputs: tuple[str, ...]) -> Multirotor:
    """Add an Iris that flies a circle, with a camera if it has outputs, and return it."""
    camera = Camera(rate_hz=30.0, resolution=(640, 480), outputs=outputs) if outputs else None
    controller = GeometricController(trajectories.circle(radius=5.0, height=3.0, speed=3.0))
    return sim.add(
        Multirotor(
            "iris",
            position=(0, 0, 2.0),
            backends=[controller],
            extra_sensors={"front": camera} if camera else {},
        )
    )


def alone(world: str, outputs: tuple[str, ...]) -> str:
    """Return the processor times of images of a flight, rendered after it one by one."""
    readings: list[CameraReading] = []
    with Simulation(world, seed=1, rate=RATE) as sim:
        iris = fly(sim, outputs)
        while sim.time < WARM_UP + ALONE / 30.0:
            sim.step()
            readings += [new for new in iris.new_readings.values() if isinstance(new, CameraReading)]
        times = []
        for reading in readings[-ALONE - 1 :]:
            began = time.process_time()
            for output in outputs:
                reading.image(output)
            times.append(time.process_time() - began)
    times = times[1:]
    return f"processor {1e3 * np.median(times):5.1f} ms/image, shortest {1e3 * min(times):5.1f} ms"


def measure(world: str, outputs: tuple[str, ...], seconds: float, speed: float | None) -> str:
    """Fly once, and return the row of its figures.

    Args:
        world: Name of the world.
        outputs: Outputs of the camera; no camera if empty.
        seconds: Simulated time [s].
        speed: Speed limit [times real time]; unlimited if None.
    """
    delays: list[float] = []
    started: list[float] = []
    with Simulation(world, seed=1, rate=RATE) as sim:
        iris = fly(sim, outputs)

        def deliver(made: tuple[float, Any]) -> None:
            delays.append(sim.time - made[0])

        def make(reading: CameraReading) -> tuple[float, Any]:
            return reading.stamp, [reading.image(output) for output in outputs]

        queue: ImageQueue[tuple[float, Any]] = ImageQueue(deliver)
        begun, origin, used = 0.0, 0.0, 0.0
        while sim.time < WARM_UP + seconds:
            if speed is not None and begun:
                time.sleep(max(0.0, (sim.time - origin) / speed - (time.perf_counter() - begun)))
            if not begun and sim.time >= WARM_UP:
                begun, origin, used = time.perf_counter(), sim.time, time.process_time()
                delays.clear()
            sim.step()
            started.append(time.perf_counter() if begun else 0.0)
            for new in iris.new_readings.values():
                if isinstance(new, CameraReading):
                    queue.add(new, partial(make, new))
            queue.collect()
        took, used = time.perf_counter() - begun, time.process_time() - used
        queue.finish()
    gaps = np.diff([moment for moment in started if moment]) * RATE * (speed or 1.0)
    late = f"{len(delays) / took:5.1f} images/s, {1e3 * np.median(delays):4.0f} ms late" if delays else ""
    images = f"{late}, processor {1e3 * used / len(delays):5.1f} ms/image" if delays else ""
    return (
        f"{seconds / took:6.2f} x real time, gaps above two steps {100 * np.mean(gaps > 2.0):5.2f} %, "
        f"longest {gaps.max():5.1f} steps   {images}"
    )


def main(world: str, seconds: float) -> None:
    """Print a row for each case: without steps, at real time, and as fast as possible."""
    print("without steps")
    for title, outputs in CASES.items():
        if outputs:
            print(f"  {title:20s}{alone(world, outputs)}", flush=True)
    for speed in (1.0, None):
        print("at real time" if speed else "as fast as possible")
        for title, outputs in CASES.items():
            print(f"  {title:20s}{measure(world, outputs, seconds, speed)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "courtyard", float(sys.argv[2]) if len(sys.argv) > 2 else 6.0)
