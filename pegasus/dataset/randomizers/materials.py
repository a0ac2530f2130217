"""Randomisers of a world's materials and of its generator's seed."""

from dataclasses import dataclass, replace

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.dataset.randomizers.randomizer import Randomizer, Range, note, require_range
from pegasus.scene.scene import Color, Material, Scene, Texture


@dataclass(frozen=True, kw_only=True)
class Materials(Randomizer):
    """Perturbs colours, roughness and textures of the world's materials."""

    tint: float = 0.2
    """Largest relative change of each colour."""
    roughness: Range = (0.7, 1.3)
    """Factor of the roughness, which is limited to 1."""
    texture_swap: float = 0.0
    """Fraction of textured materials whose colour texture is exchanged for another one."""
    labels: tuple[str, ...] | None = None
    """Classes of objects whose materials change; all when None."""

    def __post_init__(self) -> None:
        require(0 <= self.tint < 1, "tint", self.tint, "must be at least 0 and below 1")
        require_range("roughness", self.roughness, least=0.0)
        require(0 <= self.texture_swap <= 1, "texture_swap", self.texture_swap, "must be from 0 to 1")

    def scene(self, scene: Scene, world: WorldSpec, rng: np.random.Generator) -> Scene:
        """Return the scene with perturbed materials."""
        chosen = {
            item.material
            for item in scene.instances
            if self.labels is None or item.labels.get("class") in self.labels
        }
        textures = [
            material.diffuse_color
            for key, material in scene.materials.items()
            if key in chosen and isinstance(material.diffuse_color, Texture)
        ]
        materials = dict(scene.materials)
        for key, material in scene.materials.items():
            if key in chosen:
                factor = 1.0 + rng.uniform(-self.tint, self.tint, size=3)
                roughness = float(rng.uniform(*self.roughness))
                swapped = rng.uniform() < self.texture_swap
                pick = int(rng.integers(max(len(textures), 1)))
                note(rng, **{key: {"tint": factor, "roughness": roughness}})
                if swapped and isinstance(material.diffuse_color, Texture):
                    material = replace(material, diffuse_color=textures[pick])
                    note(
                        rng,
                        **{
                            key: {"tint": factor, "roughness": roughness, "texture": textures[pick].path.name}
                        },
                    )
                materials[key] = _changed(material, factor, roughness)
        return replace(scene, materials=materials)


def _changed(material: Material, factor: Array, roughness: float) -> Material:
    return replace(
        material,
        diffuse_color=_tinted(material.diffuse_color, factor),
        roughness=_rougher(material.roughness, roughness),
    )


def _tinted(color: Color | Texture, factor: Array) -> Color | Texture:
    if isinstance(color, Texture):
        r, g, b = (float(s * f) for s, f in zip(color.scale, factor, strict=False))
        return replace(color, scale=(r, g, b, color.scale[3]))
    r, g, b = (min(float(c * f), 1.0) for c, f in zip(color, factor, strict=True))
    return r, g, b


def _rougher(value: float | Texture, factor: float) -> float | Texture:
    if isinstance(value, Texture):
        r, g, b, a = (s * factor for s in value.scale)
        return replace(value, scale=(r, g, b, a))
    return min(value * factor, 1.0)


@dataclass(frozen=True, kw_only=True)
class WorldSeed(Randomizer):
    """Generates the world with one of a number of seeds."""

    count: int = 10
    """Number of worlds; each is cached once it is generated."""
    first: int = 0
    """Seed of the first one."""

    def __post_init__(self) -> None:
        require(self.count >= 1, "count", self.count, "must be 1 or more")
        require(0 <= self.first < 2**62, "first", self.first, "must be from 0 up")

    def world(self, world: WorldSpec, rng: np.random.Generator) -> WorldSpec:
        """Return the world with another seed."""
        if world.generator is None:
            raise ConfigError(
                "needs a world that a generator makes",
                field="model",
                value="world_seed",
                remedy="remove it, or name such a world, like town",
            )
        seed = self.first + int(rng.integers(self.count))
        note(rng, seed=seed)
        return world.model_copy(update={"generator": {**world.generator, "seed": seed}})
