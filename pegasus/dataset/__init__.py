"""Labelled datasets: annotations of rendered frames, and writers of the formats that tools read."""

from pegasus.dataset.annotations import (
    PointCloud,
    camera_parameters,
    distance_to_image_plane,
    motion_vectors,
    point_cloud,
    world_points,
)
from pegasus.dataset.basic import ANNOTATORS, BasicWriter
from pegasus.dataset.boxes import LooseBoxes, loose_boxes
from pegasus.dataset.coco import CocoWriter
from pegasus.dataset.entities import EntityTable, LabelledEntity
from pegasus.dataset.frame import DatasetWriter, LabelledFrame, LidarCloud
from pegasus.dataset.kitti import KittiWriter
from pegasus.dataset.occlusion import occlusion_ratios
from pegasus.dataset.segmentation import class_names, colors, instance_ids, semantic_ids, tight_boxes
from pegasus.dataset.shapes import EntityShape

__all__ = [
    "ANNOTATORS",
    "BasicWriter",
    "CocoWriter",
    "DatasetWriter",
    "EntityShape",
    "EntityTable",
    "KittiWriter",
    "LabelledEntity",
    "LabelledFrame",
    "LidarCloud",
    "LooseBoxes",
    "PointCloud",
    "camera_parameters",
    "class_names",
    "colors",
    "distance_to_image_plane",
    "instance_ids",
    "loose_boxes",
    "motion_vectors",
    "occlusion_ratios",
    "point_cloud",
    "semantic_ids",
    "tight_boxes",
    "world_points",
]
