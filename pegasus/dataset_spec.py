"""Model of the section `dataset` of a scenario file."""

from typing import Annotated, Any

from pydantic import Field

from pegasus.components import StrictModel


class DatasetSpec(StrictModel):
    """What a dataset made from a scenario holds, and what differs from scene to scene."""

    cameras: list[str] | None = None
    """Cameras that take the pictures, as VEHICLE/SENSOR; all cameras of all vehicles when left out."""
    frames_per_scene: Annotated[int, Field(ge=1)] = 10
    """Frames that are taken of one randomised scene and flight."""
    start: Annotated[float, Field(ge=0)] = 0.0
    """Simulated time before which no frame is taken [s]."""
    classes: list[str] | None = None
    """Classes that are labelled; those of the first scene and all vehicles when left out."""
    annotators: list[str] | None = None
    """What the basic writer writes; everything when left out."""
    occlusion: bool = True
    """Whether it is found out how much of each thing is hidden, which takes time in worlds of many things."""
    randomizers: dict[str, dict[str, Any]] = {}
    """What differs from scene to scene or frame to frame, by a name of one's own, in order."""
