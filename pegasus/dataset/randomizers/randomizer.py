"""What randomisers have in common, and what they can change."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.render.renderer import View
from pegasus.scene.scene import Light, Scene

if TYPE_CHECKING:
    from pegasus.cameras.shot import Optics
    from pegasus.dataset.randomizers.clearance import Clearance
    from pegasus.engines.engine import Engine
    from pegasus.render.visuals import Snapshot
    from pegasus.scenario import ScenarioSpec, WorldSpec

Range = tuple[float, float]
"""Smallest and largest value of what is drawn evenly between them."""

Light3 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Mount:
    """A camera of a dataset: which vehicle it is on, and how it sees."""

    name: str
    vehicle: str
    copy: int
    optics: "Optics"


@dataclass(frozen=True, eq=False)
class Moment:
    """An instant that a frame is taken at."""

    snapshot: "Snapshot"
    """Where everything is."""
    previous: "Snapshot"
    """The same one picture earlier, which motion counts from."""
    mounts: tuple[Mount, ...]
    """The cameras."""
    engine: "Engine"
    """Casts rays through the colliders of the world."""
    clearance: "Clearance"
    """Tells where there is room."""
    world: "WorldSpec"

    @property
    def period(self) -> float:
        """Time since the picture before [s]; 0 for the first one."""
        return self.snapshot.time - self.previous.time


class Randomizer:
    """Base of all randomisers: changes one thing or another, and leaves alone what it does not override.

    A randomiser is a frozen dataclass of parameters. Every call gets a generator of its own, which depends on
    the dataset's seed, the scene's number, the randomiser's name and, where a frame is changed, on its index.
    """

    def world(self, world: "WorldSpec", rng: np.random.Generator) -> "WorldSpec":
        """Return the world of a scene, before it is made.

        Args:
            world: Its description.
            rng: Stream of this randomiser and scene.
        """
        return world

    def scene(self, scene: Scene, world: "WorldSpec", rng: np.random.Generator) -> Scene:
        """Return the geometry, materials and lights of a scene.

        Args:
            scene: The world's.
            world: Its description.
            rng: Stream of this randomiser and scene.
        """
        return scene

    def flights(
        self, spec: "ScenarioSpec", world: "WorldSpec", clearance: "Clearance", rng: np.random.Generator
    ) -> "ScenarioSpec":
        """Return the scenario whose vehicles fly in a scene.

        Args:
            spec: The scenario.
            world: Description of the world, with its spawn points and paths.
            clearance: Tells where there is room.
            rng: Stream of this randomiser and scene.
        """
        return spec

    def moment(self, moment: Moment, rng: np.random.Generator) -> Moment:
        """Return the instant of a frame, with things elsewhere.

        Args:
            moment: The instant.
            rng: Stream of this randomiser and frame.
        """
        return moment

    def optics(self, optics: "Optics", rng: np.random.Generator) -> "Optics":
        """Return how a camera sees in a frame.

        Args:
            optics: How it sees; of a stereo pair the left camera, which the right one follows.
            rng: Stream of this randomiser, frame and camera.
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
            radiance: Light that leaves what is seen, shape (H, W, 3).
            distance: How far away it is [m], shape (H, W).
            directions: Directions of the pixels in the optical frame, shape (H, W, 3).
            view: The camera.
            lights: Lights of the scene.
            rng: Stream of this randomiser and scene, the same for all its frames.
        """
        return radiance


def require_range(name: str, value: Range, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Raise a ConfigError unless a range is ordered, finite and within bounds.

    Args:
        name: Name of the parameter.
        value: Smallest and largest value.
        least: Smallest allowed value.
        most: Largest allowed value.
    """
    low, high = value
    bounds = [f"at least {least:g}"] * (least > -math.inf) + [f"at most {most:g}"] * (most < math.inf)
    allowed = "must hold a smallest and a largest finite number"
    fits = math.isfinite(low) and math.isfinite(high) and least <= low <= high <= most
    require(fits, name, value, ", ".join([allowed, " and ".join(bounds)] if bounds else [allowed]))
