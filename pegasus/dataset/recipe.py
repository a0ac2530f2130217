"""All that decides what a dataset holds."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pegasus.components import build
from pegasus.dataset.basic import ANNOTATORS, BasicWriter
from pegasus.dataset.coco import CocoWriter
from pegasus.dataset.frame import DatasetWriter
from pegasus.dataset.kitti import KittiWriter
from pegasus.dataset.randomizers import RANDOMIZERS, Randomizer
from pegasus.errors import ConfigError
from pegasus.scenario import ScenarioSpec

WRITERS = ("basic", "coco", "kitti")
"""Names of the writers."""


@dataclass(frozen=True)
class Recipe:
    """What a dataset is made from; equal recipes make the same files, byte for byte."""

    scenario: ScenarioSpec
    file: Path
    """File of the scenario, which the paths in it are relative to."""
    seed: int
    frame_count: int
    writer: str
    """Name from `WRITERS`."""
    renderer: str
    """Name from `pegasus.render.RENDERERS`."""

    def __post_init__(self) -> None:
        if self.writer not in WRITERS:
            raise ConfigError(f"must be {', '.join(WRITERS)}", field="writer", value=self.writer)
        if self.frame_count < 1:
            raise ConfigError("must be 1 or more", field="frames", value=self.frame_count)
        if not 0 <= self.seed < 2**63:
            raise ConfigError("must be from 0 up to 2**63 - 1", field="seed", value=self.seed)

    @cached_property
    def randomizers(self) -> dict[str, Randomizer]:
        """What differs from scene to scene, by name.

        Raises:
            ConfigError: If one is not known, or a parameter is not allowed.
        """
        return {
            name: build(Randomizer, RANDOMIZERS, spec, field=f"dataset.randomizers.{name}")
            for name, spec in self.scenario.dataset.randomizers.items()
        }

    def scene_of(self, index: int) -> int:
        """Return the number of the scene that a frame is taken of.

        Args:
            index: Index of the frame.
        """
        return index // self.scenario.dataset.frames_per_scene

    def make_writer(self, folder: Path, cameras: tuple[str, ...], *, resume: bool) -> DatasetWriter:
        """Return the writer of the dataset.

        Args:
            folder: Where the dataset goes.
            cameras: Names of the cameras.
            resume: Whether the folder may hold frames already.

        Raises:
            ConfigError: If the cameras do not suit it, or the folder is not empty or cannot be written.
        """
        if self.writer == "coco":
            return CocoWriter(folder, cameras=cameras, resume=resume)
        if self.writer == "kitti":
            return KittiWriter(folder, cameras=cameras, resume=resume)
        chosen = self.scenario.dataset.annotators
        annotators = ANNOTATORS if chosen is None else tuple(chosen)
        return BasicWriter(folder, cameras=cameras, annotators=annotators, resume=resume)
