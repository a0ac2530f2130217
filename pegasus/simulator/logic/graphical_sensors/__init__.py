"""Cameras and lidars."""

from pegasus.simulator.logic.graphical_sensors.lidar import Lidar
from pegasus.simulator.logic.graphical_sensors.monocular_camera import MonocularCamera

__all__ = ["Lidar", "MonocularCamera"]
