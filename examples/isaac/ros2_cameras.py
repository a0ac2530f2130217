"""ROS 2 cameras: Isaac Sim's own bridge publishes the camera images of two drones.

Run it with Isaac Sim's `python.sh examples/isaac/ros2_cameras.py --headless`, and observe
it with `ros2 topic hz /drone0/front/color/image_raw`. Each camera is published at its own rate.
"""

import sys

from pegasus import Multirotor, Simulation, start_host
from pegasus.cameras import Camera
from pegasus.control import GeometricController, trajectories


def main(duration: float = 60.0, resolution: tuple[int, int] = (640, 480)) -> None:
    """Fly two drones around, and publish their cameras."""
    # Isaac Sim is imported when it runs.
    from pegasus.isaac.camera_graph import publish_cameras
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.kit import enable_extension

    enable_extension("isaacsim.ros2.bridge")
    engine = IsaacEngine(rate=250, frame_rate=50)
    cameras = {
        "front": Camera(resolution=resolution, rate_hz=25.0, position=(0.15, 0.0, 0.0)),
        "down": Camera(
            resolution=resolution,
            rate_hz=5.0,
            position=(0.0, 0.0, -0.05),
            orientation=(0.0, 1.5708, 0.0),
            outputs=("rgb", "depth", "semantic"),
        ),
    }
    # RTX, the default renderer, would draw each reading of a camera in frames of its own. Embree draws a
    # reading only when it is used, and none is used here.
    with Simulation("courtyard", engine=engine, renderer="embree", rate=250, seed=1) as sim:
        drones = sim.add(
            Multirotor(
                "iris",
                count=2,
                position=[(-3.0, 0.0, 0.1), (3.0, 0.0, 0.1)],
                backends=[GeometricController(trajectories.circle(radius=2.0, height=2.5))],
                extra_sensors=cameras,
            )
        )
        with publish_cameras(drones, namespace="drone0", boxes=True, frame_rate=engine.frame_rate):
            # In real time, as those who listen expect it.
            sim.run(duration=duration, speed=1.0)


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
