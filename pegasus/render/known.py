"""What every renderer keeps: the numbers of entities, and the rays of lenses."""

from typing import Any

from pegasus.cameras.lens import Lens
from pegasus.errors import ConfigError
from pegasus.render.lens_rays import LensRays
from pegasus.scene.scene import Entity, Scene

CHUNK = 32_768
"""Rays that are worked on at once."""
_LENSES = 8


class KnownEntities:
    """Everything that pixels can belong to, each under a number that it keeps.

    Args:
        scene: Scene whose entities come first; none when None.
    """

    def __init__(self, scene: Scene | None = None) -> None:
        self.all: list[Entity] = [] if scene is None else list(scene.entities.values())
        """The entities by their numbers."""
        self._numbers = {_identity(entity): number for number, entity in enumerate(self.all)}

    def number(self, entity: Entity) -> int:
        """Return the number of an entity; the same one where it was known before.

        Args:
            entity: The entity.
        """
        number = self._numbers.setdefault(_identity(entity), len(self.all))
        if number == len(self.all):
            self.all.append(entity)
        return number


class KnownLenses:
    """The rays of the lenses that were used last, worked out once."""

    def __init__(self) -> None:
        self._rays: dict[Any, LensRays] = {}

    def rays(self, lens: Lens, resolution: tuple[int, int]) -> LensRays:
        """Return the rays of a lens.

        Args:
            lens: The lens.
            resolution: Width and height [pixels].
        """
        key = lens, resolution
        if key not in self._rays:
            if len(self._rays) >= _LENSES:
                self._rays.pop(next(iter(self._rays)))
            self._rays[key] = LensRays(lens, resolution, CHUNK)
        return self._rays[key]


def require_drawable(scene: Scene) -> None:
    """Raise a ConfigError if a scene holds nothing to draw.

    Args:
        scene: The scene.
    """
    if not any(len(scene.geometries[item.geometry].faces) for item in scene.instances):
        raise ConfigError(
            "holds nothing to draw", file=scene.source, remedy="give it a mesh or a shape that is visible"
        )


def _identity(entity: Entity) -> tuple[str, tuple[tuple[str, str], ...]]:
    return entity.path, tuple(sorted(entity.labels.items()))
