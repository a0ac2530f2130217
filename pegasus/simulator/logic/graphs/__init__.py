"""Action graphs of Isaac Sim's ROS 2 bridge."""

from pegasus.simulator.logic.graphs.ros2_camera_graph import ROS2CameraGraph

__all__ = ["ROS2CameraGraph"]
