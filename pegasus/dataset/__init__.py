"""Labelled datasets: annotations of rendered frames, and writers of common formats."""

from pegasus.dataset.basic import ANNOTATORS, BasicWriter
from pegasus.dataset.coco import CocoWriter
from pegasus.dataset.generation import make_dataset
from pegasus.dataset.kitti import KittiWriter
from pegasus.dataset.recipe import WRITERS
from pegasus.dataset.sequences import EurocWriter, TumWriter
from pegasus.dataset.shards import WebDatasetWriter
from pegasus.dataset.writer import DatasetWriter
from pegasus.dataset.yolo import YoloWriter
from pegasus.labels.annotations import (
    LabelledFrame,
    LidarCloud,
    PointCloud,
    camera_parameters,
    distance_to_image_plane,
    motion_vectors,
    point_cloud,
    world_points,
)
from pegasus.labels.boxes import LooseBoxes, loose_boxes
from pegasus.labels.entities import EntityShape, EntityTable, LabelledEntity
from pegasus.labels.occlusion import occlusion_ratios
from pegasus.labels.segmentation import class_names, colors, instance_ids, semantic_ids, tight_boxes

__all__ = [
    "ANNOTATORS",
    "WRITERS",
    "BasicWriter",
    "CocoWriter",
    "DatasetWriter",
    "EntityShape",
    "EntityTable",
    "EurocWriter",
    "KittiWriter",
    "LabelledEntity",
    "LabelledFrame",
    "LidarCloud",
    "LooseBoxes",
    "PointCloud",
    "TumWriter",
    "WebDatasetWriter",
    "YoloWriter",
    "camera_parameters",
    "class_names",
    "colors",
    "distance_to_image_plane",
    "instance_ids",
    "loose_boxes",
    "make_dataset",
    "motion_vectors",
    "occlusion_ratios",
    "point_cloud",
    "semantic_ids",
    "tight_boxes",
    "world_points",
]
