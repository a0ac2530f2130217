"""A labelled frame: what writers turn into files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.cameras.lens import pixel_grid
from pegasus.dataset.boxes import LooseBoxes, loose_boxes
from pegasus.dataset.entities import LabelledEntity
from pegasus.render.renderer import Images, View


@dataclass(frozen=True, eq=False)
class LidarCloud:
    """Returns of a lidar at the instant of the frame."""

    points: npt.NDArray[np.float32]
    """Points in the lidar's frame (x forward, y left, z up) [m], shape (K, 3)."""
    intensity: npt.NDArray[np.float32]
    """Reflectance between 0 and 1, shape (K,)."""
    position: Array
    """Where the lidar is in the world [m], shape (3,)."""
    rotation: Array
    """Lidar to world, shape (3, 3)."""


@dataclass(eq=False)
class LabelledFrame:
    """One picture of one camera with all that labels it.

    `occlusion` may be filled in later, `frame.occlusion = occlusion_ratios(renderer.cast, frame)`, and
    `directions` taken over from another frame of the same lens and resolution.
    """

    camera: str
    """Name of the camera."""
    stamp: float
    """Simulated time [s]."""
    seed: int
    """Seed that the frame was made from."""
    view: View
    rgb: npt.NDArray[np.uint8]
    """Picture, sRGB, shape (H, W, 3)."""
    images: Images
    """Channels; `distance`, `normal` and `entity` are needed, `radiance` and `material` are not."""
    entities: Sequence[LabelledEntity]
    """In the order of the renderer's: `images.entity` counts them."""
    classes: Sequence[str]
    """Names of the classes in the order of their ids; what is of none of them is unlabelled. One list for all
    frames of a dataset keeps ids and colours the same."""
    previous_view: View | None = None
    """The camera at the instant that motion counts from; None for no motion."""
    occlusion: npt.NDArray[np.float32] | None = None
    """Occluded part of each entity, see `occlusion_ratios`, shape (E,); None where it was not computed."""
    lidar: LidarCloud | None = None

    @cached_property
    def directions(self) -> Array:
        """Unit directions that the centres of the pixels look along, optical frame, shape (H, W, 3)."""
        return self.view.lens.directions(pixel_grid(self.view.resolution), self.view.resolution)

    @cached_property
    def loose(self) -> LooseBoxes:
        """Boxes around the projections of the entities, E of them."""
        return loose_boxes(self.entities, self.view)


class DatasetWriter(Protocol):
    """Turns frames into the files of one format, in any order and from several processes at once."""

    def written(self) -> frozenset[int]:
        """Return the indices of the frames whose files are all there."""

    def write(self, index: int, frames: Sequence[LabelledFrame]) -> None:
        """Write the pictures that the cameras took at one instant; none of them counts before all are there.

        Args:
            index: Index of the frame in the dataset.
            frames: One for each of the writer's cameras.

        Raises:
            ConfigError: If a file cannot be written; the frame is not counted.
        """

    def finish(self) -> None:
        """Write what stands for the dataset as a whole."""
