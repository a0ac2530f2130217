"""Dataset by Replicator: images of an Iris that flies around another one, with labels and boxes.

Run it with Isaac Sim's `python.sh examples/isaac/replicator_dataset.py --headless`. Replicator's BasicWriter
writes images, semantic masks and 2D boxes in the folder `runs/replicator`.
"""

import sys
from pathlib import Path

from pegasus import Multirotor, Simulation, start_host
from pegasus.cameras import Camera
from pegasus.control import GeometricController, trajectories

RATE = 10.0
"""Images per second [Hz]."""


def main(
    folder: Path = Path("runs/replicator"), duration: float = 20.0, resolution: tuple[int, int] = (640, 480)
) -> int:
    """Fly; return the number of written files."""
    # Isaac Sim is imported when it runs.
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.replicator import replicate

    # Replicator writes every frame, so frames are rendered at the rate of the camera. With Embree as
    # renderer RTX renders no further frames: a reading is rendered on access only, and none is accessed.
    engine = IsaacEngine(rate=250, frame_rate=RATE)
    with Simulation("courtyard", engine=engine, renderer="embree", rate=250, seed=1) as sim:
        camera = Camera(resolution=resolution, rate_hz=RATE, position=(0.15, 0.0, 0.0))
        observer = sim.add(
            Multirotor(
                "iris",
                name="observer",
                position=(-4.0, 0.0, 0.1),
                backends=[GeometricController(trajectories.takeoff(height=2.0))],
                extra_sensors={"front": camera},
            )
        )
        circle = trajectories.circle(radius=1.5, height=2.0)
        sim.add(
            Multirotor(
                "iris", name="target", position=(1.0, 0.0, 0.1), backends=[GeometricController(circle)]
            )
        )
        with replicate(
            observer, output_dir=folder, rgb=True, semantic_segmentation=True, bounding_box_2d_tight=True
        ):
            sim.run(duration=duration)
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    print(f"{files} files in {folder}")
    return files


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
