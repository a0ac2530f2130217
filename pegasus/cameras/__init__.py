"""Graphical sensors: cameras, stereo pairs, lidars, sonars."""

from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.depth_noise import DepthNoise
from pegasus.cameras.imaging import Imaging
from pegasus.cameras.lens import LENSES, BrownConrady, KannalaBrandt, Lens, Pinhole
from pegasus.cameras.lidar import Lidar, LidarReading
from pegasus.cameras.outputs import OUTPUTS, depth_from_disparity, disparity
from pegasus.cameras.scan_patterns import (
    KNOWN_PATTERNS,
    SCAN_PATTERNS,
    Raster,
    Rosette,
    ScanPattern,
    Spinning,
)
from pegasus.cameras.sonar import Sonar
from pegasus.cameras.stereo_camera import StereoCamera, StereoReading
from pegasus.cameras.sweep import LidarScan, PointCloud

__all__ = [
    "KNOWN_PATTERNS",
    "LENSES",
    "OUTPUTS",
    "SCAN_PATTERNS",
    "BrownConrady",
    "Camera",
    "CameraReading",
    "DepthNoise",
    "Imaging",
    "KannalaBrandt",
    "Lens",
    "Lidar",
    "LidarReading",
    "LidarScan",
    "Pinhole",
    "PointCloud",
    "Raster",
    "Rosette",
    "ScanPattern",
    "Sonar",
    "Spinning",
    "StereoCamera",
    "StereoReading",
    "depth_from_disparity",
    "disparity",
]
