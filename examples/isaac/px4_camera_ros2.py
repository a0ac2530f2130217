"""A vehicle flown by PX4 whose camera and state are on the ROS 2 graph.

Run it with Isaac Sim's `python.sh examples/isaac/px4_camera_ros2.py --headless`, and PX4_DIR set to a built
PX4-Autopilot. Isaac Sim's own bridge publishes the images, the backend `ros2` state, transforms and clock:
`ros2 topic hz /drone0/front/color/image_raw`.
"""

import sys

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import PX4, ROS2
from pegasus.cameras import Camera
from pegasus.control import trajectories

HEIGHT = 3.0


def mission() -> trajectories.Trajectory:
    """Return the flight that PX4 flies in offboard mode."""
    return trajectories.sequence(
        trajectories.takeoff(height=HEIGHT),
        trajectories.circle(radius=3.0, height=HEIGHT),
        trajectories.land(),
    )


def main(
    px4: PX4 | None = None,
    duration: float = 120.0,
    resolution: tuple[int, int] = (640, 480),
    speed: float | None = 1.0,
) -> float:
    """Fly; return the largest height [m]."""
    # Isaac Sim is imported when it runs.
    from pegasus.isaac.camera_graph import publish_cameras
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.kit import enable_extension

    enable_extension("isaacsim.ros2.bridge")
    engine = IsaacEngine(rate=250, frame_rate=50)
    camera = Camera(resolution=resolution, rate_hz=25.0, position=(0.15, 0.0, 0.0), outputs=("rgb", "depth"))
    # The bridge publishes the images, so the backend does not.
    images = {"front/color/image_raw": False, "front/depth/image_raw": False}
    backends = [px4 or PX4(trajectory=mission()), ROS2("drone0", control=False, topics=images)]
    highest = 0.0
    # Embree renders a reading only when it is used; RTX renders frames for the bridge.
    with Simulation("courtyard", engine=engine, renderer="embree", rate=250, seed=1) as sim:
        vehicle = sim.add(
            Multirotor("iris", position=(0.0, 0.0, 0.1), backends=backends, extra_sensors={"front": camera})
        )
        with publish_cameras(vehicle, namespace="drone0", frame_rate=engine.frame_rate):
            for _ in sim.stepping(duration, speed=speed):
                highest = max(highest, float(vehicle.state.position[0, 2]))
        for failure in sim.failures:
            print(failure)
    print(f"PX4 flew up to {highest:.1f} m high")
    return highest


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
