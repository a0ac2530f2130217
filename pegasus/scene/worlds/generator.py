"""What makes a world from a seed and a few parameters."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from pegasus.components import require
from pegasus.scene.worlds.site import Site


class Quantities(NamedTuple):
    """How much a world holds, roughly: what its memory is estimated from before it is made."""

    triangle_count: int
    """Triangles of distinct meshes; those of instances count once."""
    object_count: int
    """Prims and instances."""


@dataclass(frozen=True)
class WorldGenerator(ABC):
    """Base of a generator; a world of one's own sets `name` and implements `build` and `quantities`.

    The fields are its parameters. The same parameters make the same files, byte for byte.
    """

    name: ClassVar[str]

    seed: int = 0
    """Seed of everything that is random in it."""

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**63, "seed", self.seed, "must be from 0 up to 2**63 - 1")

    @property
    def description(self) -> str:
        """One line that says what it makes: the first one of the generator's docstring."""
        return (type(self).__doc__ or "").strip().splitlines()[0]

    @abstractmethod
    def quantities(self) -> Quantities:
        """Return how much the world will hold, before it is made."""

    @abstractmethod
    def build(self, site: Site) -> None:
        """Write the world.

        Args:
            site: Where it is written.
        """
