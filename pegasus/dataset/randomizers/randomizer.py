"""Base of randomizers, and the instants and cameras that they change."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.streams import stream
from pegasus.cameras.capture import Optics
from pegasus.config.scenario import ScenarioSpec, WorldSpec
from pegasus.contracts.engine import Engine
from pegasus.contracts.renderer import View
from pegasus.core.visuals import Snapshot
from pegasus.dataset.randomizers.clearance import Clearance
from pegasus.scene.scene import Light, Scene

Range = tuple[float, float]
"""Smallest and largest value of a uniform distribution."""

Light3 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Mount:
    """Camera of a dataset on one copy of a vehicle."""

    name: str
    vehicle: str
    copy: int
    optics: Optics


@dataclass(frozen=True, eq=False)
class Moment:
    """Instant of a frame."""

    snapshot: Snapshot
    """Poses at the instant."""
    previous: Snapshot
    """Poses at the previous image, the reference of motion vectors."""
    mounts: tuple[Mount, ...]
    """Cameras of the dataset."""
    engine: Engine
    """Casts rays through the colliders of the world."""
    clearance: Clearance
    """Clearance of the scene."""
    world: WorldSpec

    @property
    def period(self) -> float:
        """Time since the previous image [s]; 0 for the first one."""
        return self.snapshot.time - self.previous.time


class Draws(np.random.Generator):
    """Random stream of a randomizer, which keeps the values that the randomizer notes.

    Args:
        seed: Seed of the scene.
        names: Path of the stream.
        values: Mapping that the values are added to.
    """

    def __init__(self, seed: int, *names: str, values: dict[str, Any]) -> None:
        super().__init__(stream(seed, *names).bit_generator)
        self.values = values


def note(rng: np.random.Generator, **values: Any) -> None:
    """Keep values that were drawn for the metadata of frames; JSON values or arrays.

    Args:
        rng: Generator that a method of the randomizer was given.
        values: Values by name.
    """
    if isinstance(rng, Draws):
        rng.values.update({name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Randomizer:
    """Base of randomizers; methods that are not overridden change nothing.

    A randomizer is a frozen dataclass of parameters. Each call gets its own generator, which depends on the
    dataset's seed, the scene's number, the randomizer's name and, for a frame, on its index. What it drew
    stands in the metadata of frames if it is noted: `note(rng, speed=speed)`.
    """

    def world(self, world: WorldSpec, rng: np.random.Generator) -> WorldSpec:
        """Return the description of a scene's world, before it is generated.

        Args:
            world: Its description.
            rng: Stream of this randomizer and scene.
        """
        return world

    def scene(self, scene: Scene, world: WorldSpec, rng: np.random.Generator) -> Scene:
        """Return the geometry, materials and lights of a scene.

        Args:
            scene: The scene of the world.
            world: Its description.
            rng: Stream of this randomizer and scene.
        """
        return scene

    def flights(
        self, spec: ScenarioSpec, world: WorldSpec, clearance: Clearance, rng: np.random.Generator
    ) -> ScenarioSpec:
        """Return the scenario of the flights in a scene.

        Args:
            spec: The scenario.
            world: Description of the world, with its spawn points and paths.
            clearance: Clearance of the scene.
            rng: Stream of this randomizer and scene.
        """
        return spec

    def moment(self, moment: Moment, rng: np.random.Generator) -> Moment:
        """Return the instant of a frame with changed poses.

        Args:
            moment: The instant.
            rng: Stream of this randomizer and frame.
        """
        return moment

    def optics(self, optics: Optics, rng: np.random.Generator) -> Optics:
        """Return the optics of a camera in a frame.

        Args:
            optics: Optics of the camera; of a stereo pair the left one, which the right one follows.
            rng: Stream of this randomizer, frame and camera.
        """
        return optics

    def air(
        self,
        radiance: Light3,
        distance: npt.NDArray[np.float32],
        directions: Array,
        view: View,
        lights: list[Light],
        rng: np.random.Generator,
    ) -> Light3:
        """Return the light that reaches a camera through the air of a scene, shape (H, W, 3).

        Args:
            radiance: Light that leaves the surfaces, shape (H, W, 3).
            distance: Distance of the surfaces [m], shape (H, W).
            directions: Directions of the pixels in the optical frame, shape (H, W, 3).
            view: The camera.
            lights: Lights of the scene.
            rng: Stream of this randomizer and scene, the same for all its frames.
        """
        return radiance


def require_range(name: str, value: Range, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Raise a ConfigError unless a range is ordered, finite and within bounds."""
    low, high = value
    bounds = [f"at least {least:g}"] * (least > -math.inf) + [f"at most {most:g}"] * (most < math.inf)
    allowed = "must hold a smallest and a largest finite number"
    fits = math.isfinite(low) and math.isfinite(high) and least <= low <= high <= most
    require(fits, name, value, ", ".join([allowed, " and ".join(bounds)] if bounds else [allowed]))
