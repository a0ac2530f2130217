"""Another world of the same kind in each scene."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.components import require
from pegasus.dataset.randomizers.randomizer import Randomizer
from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.scenario import WorldSpec


@dataclass(frozen=True, kw_only=True)
class WorldSeed(Randomizer):
    """Makes the world anew by its generator, with one of a number of seeds."""

    count: int = 10
    """How many worlds there are; each is kept in the cache once it is made."""
    first: int = 0
    """Seed of the first one."""

    def __post_init__(self) -> None:
        require(self.count >= 1, "count", self.count, "must be 1 or more")
        require(0 <= self.first < 2**62, "first", self.first, "must be from 0 up")

    def world(self, world: "WorldSpec", rng: np.random.Generator) -> "WorldSpec":
        """Return the world with another seed."""
        if world.generator is None:
            raise ConfigError(
                "needs a world that a generator makes",
                field="model",
                value="world_seed",
                remedy="remove it, or name such a world, like town",
            )
        seed = self.first + int(rng.integers(self.count))
        return world.model_copy(update={"generator": {**world.generator, "seed": seed}})
