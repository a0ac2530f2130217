"""Cameras, stereo cameras and lidars."""

from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.image_queue import ImageQueue
from pegasus.cameras.imaging import DepthNoise, Imaging
from pegasus.cameras.lidar import Lidar, LidarReading
from pegasus.cameras.lidar_scan import LidarScan, PointCloud
from pegasus.cameras.outputs import OUTPUTS, depth_from_disparity, disparity
from pegasus.cameras.scan_patterns import (
    LIDAR_PATTERNS,
    SCAN_PATTERNS,
    Raster,
    Rosette,
    ScanPattern,
    Spinning,
)
from pegasus.cameras.stereo_camera import StereoCamera, StereoReading
from pegasus.optics.lens import LENSES, BrownConrady, KannalaBrandt, Lens, Pinhole

__all__ = [
    "LENSES",
    "LIDAR_PATTERNS",
    "OUTPUTS",
    "SCAN_PATTERNS",
    "BrownConrady",
    "Camera",
    "CameraReading",
    "DepthNoise",
    "ImageQueue",
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
    "Spinning",
    "StereoCamera",
    "StereoReading",
    "depth_from_disparity",
    "disparity",
]
