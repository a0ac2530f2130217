"""Camera captures: the scene state of one exposure, from which images are rendered on demand."""

import itertools
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras.imaging import DepthNoise, Imaging
from pegasus.cameras.outputs import OUTPUTS, point_cloud
from pegasus.contracts.renderer import Images, View
from pegasus.core.visuals import Snapshot, Visuals
from pegasus.labels import annotations, segmentation
from pegasus.labels.entities import LabelledEntity, MovingPart
from pegasus.optics.lens import Lens, RowBand, pixel_grid
from pegasus.scene.scene import Entity

_SEEDS = 2**63
_LARGEST_LAG = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Optics:
    """Optical and timing parameters of a mounted camera."""

    name: str
    """Name of the camera in messages."""
    lens: Lens
    resolution: tuple[int, int]
    """Width and height [pixels]."""
    position: Array
    """Position of the lens in the body frame [m], shape (3,)."""
    rotation: Array
    """Optical frame to body, shape (3, 3)."""
    near: float
    far: float
    outputs: tuple[str, ...]
    samples: int | None
    imaging: Imaging
    hide_vehicle: bool
    exposure_time: float
    blur_frame_count: int
    row_time: float
    row_band_count: int
    lag: int = 0
    depth_noise: DepthNoise = field(default_factory=DepthNoise)

    @cached_property
    def directions(self) -> Array:
        """Unit directions of the pixels, optical frame, shape (H, W, 3)."""
        return self.lens.directions(pixel_grid(self.resolution), self.resolution)

    @cached_property
    def channels(self) -> frozenset[str]:
        """Channels of the renderer that the outputs need."""
        return frozenset(channel for output in self.outputs for channel in OUTPUTS[output])

    @cached_property
    def bands(self) -> list[tuple[int, int, float]]:
        """First row, end row and time after the stamp [s] of each band of rows that is rendered at once."""
        height = self.resolution[1]
        if self.row_time == 0:
            return [(0, height, 0.0)]
        edges = np.linspace(0, height, min(self.row_band_count, height) + 1).round().astype(int).tolist()
        return [(a, b, ((a + b) / 2 - height / 2) * self.row_time) for a, b in itertools.pairwise(edges)]

    @cached_property
    def blur(self) -> list[float]:
        """Times of an exposure's sub-frames relative to its middle [s]."""
        if self.exposure_time == 0:
            return [0.0]
        middles = (np.arange(self.blur_frame_count) + 0.5) / self.blur_frame_count - 0.5
        offsets: list[float] = (middles * self.exposure_time).tolist()
        return offsets


def require_lag(lag: int, made: str) -> None:
    """Raise a ConfigError if the number of readings that may wait is out of range.

    Args:
        lag: The number.
        made: What 0 means, for the message.
    """
    whole = isinstance(lag, int) and 0 <= lag <= _LARGEST_LAG
    require(whole, "lag", lag, f"must be a whole number from 0 to {_LARGEST_LAG}", f"0 {made} at its instant")


def draw_seeds(streams: Sequence[np.random.Generator]) -> list[int]:
    """Return a seed from each of several random streams."""
    return [int(stream.integers(_SEEDS)) for stream in streams]


class Capture:
    """One exposure of the cameras on N copies of a vehicle.

    Args:
        optics: Parameters of the cameras.
        visuals: Renders the images.
        vehicle: Name of the vehicle.
        snapshot: Poses at the instant of the capture.
        previous: Poses at the previous capture, the reference of motion vectors; `snapshot` at the first one.
        seeds: Seeds of the noise of each copy, shape (N,).
        meter: Capture whose light sets the exposure; this one when None.
    """

    def __init__(
        self,
        optics: Optics,
        visuals: Visuals,
        vehicle: str,
        snapshot: Snapshot,
        previous: Snapshot,
        seeds: Sequence[int],
        *,
        meter: "Capture | None" = None,
    ) -> None:
        self.optics, self.snapshot, self.previous = optics, snapshot, previous
        self.visuals, self.vehicle = visuals, vehicle
        self._seeds, self._meter = seeds, meter
        self._channels: dict[int, Images] = {}
        self._images: dict[tuple[str, int], npt.NDArray[Any]] = {}
        self._checked = False
        # The thread that renders ahead and those that access images.
        self._lock = threading.RLock()

    @property
    def count(self) -> int:
        """Number of copies N."""
        return len(self._seeds)

    @property
    def entities(self) -> Sequence[Entity]:
        """Entities that pixels can belong to, by index."""
        return self.visuals.entities

    def prepare(self) -> int:
        """Prepare for rendering by another thread, and return how many captures may wait for that.

        The renderer is made, and an enclosed lens reported, so that errors and warnings come at the capture.

        Raises:
            ConfigError: If there is no renderer.
        """
        lag = self.optics.lag if self.visuals.renders_past else 0
        if lag > 0:
            self.visuals.load()
            self._check()
        return lag

    def view(self, copy: int, snapshot: Snapshot | None = None) -> View:
        """Return the view of a camera at the instant of the capture, or at another.

        Args:
            copy: The copy of the vehicle.
            snapshot: The instant; that of the capture when None.
        """
        optics, snapshot = self.optics, self.snapshot if snapshot is None else snapshot
        row = snapshot.first_row(self.vehicle) + copy
        rotation = matrix_from_quaternion(snapshot.orientation[row])
        return View(
            lens=optics.lens,
            resolution=optics.resolution,
            position=snapshot.position[row] + rotation @ optics.position,
            rotation=rotation @ optics.rotation,
            near=optics.near,
            far=optics.far,
        )

    def channels(self, copy: int) -> Images:
        """Return the renderer's channels for all outputs, rendered at the first call."""
        with self._lock:
            if copy not in self._channels:
                self._channels[copy] = self._drawn(copy)
            return self._channels[copy]

    def image(self, output: str, copy: int) -> npt.NDArray[Any]:
        """Return an output, computed at the first call."""
        with self._lock:
            if (output, copy) not in self._images:
                self._images[output, copy] = self._computed(output, copy)
            return self._images[output, copy]

    def exposure(self, copy: int) -> float:
        """Return the exposure of an image: factor from light to full brightness."""
        if self._meter is not None:
            return self._meter.exposure(copy)
        radiance = self.channels(copy).radiance
        assert radiance is not None
        return self.optics.imaging.exposure_for(radiance)

    def labelled_entities(self) -> list[LabelledEntity]:
        """Return the entities of pixels with their poses at this capture and at the previous one."""
        now, before = self.snapshot.entity_poses, self.previous.entity_poses
        velocities = self.snapshot.entity_velocities
        rotors = self._rotors() if "motion_vectors" in self.optics.outputs else {}
        labelled = []
        for item in self.visuals.entities:
            pose = now.get(item.path, item.transform)
            earlier = before.get(item.path, pose)
            parts = tuple(rotors.get(item.path, ()))
            motion = velocities.get(item.path, ())
            labelled.append(LabelledEntity(item.path, item.labels, pose, earlier, None, parts, *motion))
        return labelled

    def _rotors(self) -> dict[str, list[MovingPart]]:
        """Return the rotors of each vehicle at this capture and the previous one, by path of its entity."""
        now, before = self.snapshot.object_poses, self.previous.object_poses
        rotors: dict[str, list[MovingPart]] = {}
        for vehicle in self.snapshot.vehicles:
            for item in vehicle.objects:
                if (extent := vehicle.extents.get(item.path)) is not None:
                    pose = now[item.path]
                    part = MovingPart(extent, pose, before.get(item.path, pose))
                    rotors.setdefault(item.entity.path, []).append(part)
        return rotors

    def _computed(self, output: str, copy: int) -> npt.NDArray[Any]:
        images, optics = self.channels(copy), self.optics
        if output == "rgb":
            return self._developed(copy)
        if output == "normals":
            assert images.normal is not None
            return images.normal
        if output.endswith("segmentation"):
            assert images.entity is not None
            entities = self.labelled_entities()
            classes = segmentation.class_names(entities)
            if output == "instance_segmentation":
                return segmentation.instance_ids(images.entity, entities, classes)
            return segmentation.semantic_ids(images.entity, entities, classes)
        assert images.distance is not None
        if output == "distance_to_image_plane":
            return annotations.distance_to_image_plane(self._measured(copy), optics.directions)
        if output == "point_cloud":
            return point_cloud(self._measured(copy), optics.directions)
        if output == "motion_vectors":
            assert images.entity is not None
            view, before = self.view(copy), self.view(copy, self.previous)
            entities = self.labelled_entities()
            return annotations.motion_vectors(
                images.distance, optics.directions, images.entity, entities, view, before
            )
        return self._measured(copy)

    def _measured(self, copy: int) -> npt.NDArray[np.float32]:
        """Return the distances along the rays with noise, the same for all outputs."""
        optics, distance = self.optics, self.channels(copy).distance
        assert distance is not None
        if optics.depth_noise.exact:
            return distance
        # A stream separate from that of the colours.
        generator = np.random.Generator(np.random.SFC64([int(self._seeds[copy]), 1]))
        return optics.depth_noise.measured(distance, optics.directions, generator)

    def _developed(self, copy: int) -> npt.NDArray[np.uint8]:
        radiance, imaging = self.channels(copy).radiance, self.optics.imaging
        assert radiance is not None
        samples = None
        if imaging.noisy:
            # The seed was drawn at the capture, so that noise does not depend on when images are rendered.
            generator = np.random.Generator(np.random.SFC64(int(self._seeds[copy])))
            samples = generator.standard_normal(radiance.shape, dtype=np.float32)
        return imaging.develop(
            radiance,
            exposure=self.exposure(copy),
            cosine=self.optics.directions[..., 2] if imaging.vignettes else None,
            samples=samples,
        )

    def _check(self) -> None:
        """Warn of copies whose lens is enclosed, once for each capture."""
        optics = self.optics
        for copy in range(0 if self._checked else self.count):
            self.visuals.warn_if_enclosed(
                f"{optics.name}: its lens",
                self.snapshot,
                self.view(copy).position,
                carrier=None if optics.hide_vehicle else self.vehicle,
                mount=optics.position,
            )
        self._checked = True

    def _drawn(self, copy: int) -> Images:
        self._check()
        bands = [self._band(copy, *band) for band in self.optics.bands]
        if len(bands) == 1:
            return bands[0]
        joined = {
            name: None if first is None else np.concatenate([getattr(band, name) for band in bands])
            for name, first in bands[0]._asdict().items()
        }
        return Images(**joined)

    def _band(self, copy: int, first: int, end: int, offset: float) -> Images:
        """Return the channels of some rows: the mean light over the exposure, the others at its middle."""
        optics = self.optics
        middle = self.snapshot.at(offset)
        if optics.blur == [0.0] or "radiance" not in optics.channels:
            return self._render(middle, copy, first, end, optics.channels)
        light = [
            self._render(self.snapshot.at(offset + part), copy, first, end, ("radiance",)).radiance
            for part in optics.blur
        ]
        parts = np.stack([part for part in light if part is not None])
        mean: npt.NDArray[np.float32] = parts.mean(axis=0, dtype=np.float32)
        others = optics.channels - {"radiance"}
        images = self._render(middle, copy, first, end, others) if others else Images()
        return images._replace(radiance=mean)

    def _render(
        self, snapshot: Snapshot, copy: int, first: int, end: int, channels: Collection[str]
    ) -> Images:
        optics, view = self.optics, self.view(copy, snapshot)
        width, height = optics.resolution
        if (first, end) != (0, height):
            view = View(
                lens=RowBand(optics.lens, first, height),
                resolution=(width, end - first),
                position=view.position,
                rotation=view.rotation,
                near=view.near,
                far=view.far,
            )
        return self.visuals.render(
            snapshot, view, channels, samples=optics.samples, hidden=self._hidden(copy)
        )

    def _hidden(self, copy: int) -> tuple[str, ...]:
        if not self.optics.hide_vehicle:
            return ()
        return (self.snapshot.vehicle(self.vehicle).prefixes[copy],)
