"""Lidar reflectance of materials, estimated from their diffuse colours."""

from collections.abc import Iterable, Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.render.image_files import read_image
from pegasus.render.textures import decoding_table
from pegasus.scene.scene import Material, Scene, Texture

_MOST_TEXELS = 512
_CHANNELS = {"r": 0, "g": 1, "b": 2, "a": 3}


class Reflectances:
    """Diffuse reflectances of materials, each computed on first use."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def known(self, paths: Sequence[str]) -> Array:
        """Return the reflectance of each material, NaN where it is not computed yet, shape (len(paths) + 1,).

        The last element stands for no material.
        """
        values = self._values
        return np.array([*[values.get(path, np.nan) for path in paths], 0.0])

    def table(self, paths: Sequence[str], used: Iterable[int], scenes: Iterable[Scene]) -> Array:
        """Return the reflectance of each material in use, zero for the others, shape (len(paths) + 1,).

        The last element stands for no material.

        Raises:
            ConfigError: If a texture cannot be read.
        """
        wanted = {index: paths[index] for index in used}
        missing = {path for path in wanted.values() if path not in self._values}
        if missing:
            for scene in scenes:
                for material in scene.materials.values():
                    if material.path in missing:
                        self._values[material.path] = mean_reflectance(material)
                        missing.discard(material.path)
        table = np.zeros(len(paths) + 1)
        for index, path in wanted.items():
            table[index] = self._values[path]
        return table


def mean_reflectance(material: Material) -> float:
    """Return the mean of a material's diffuse colour over red, green and blue, and over its texture.

    A substitute for the reflectance in the near infrared, which scene descriptions lack.

    Raises:
        ConfigError: If its texture cannot be read.
    """
    color = material.diffuse_color
    if isinstance(color, Texture):
        mean = _mean_color(color, cut=material.opacity_threshold)
    else:
        mean = np.array(color)
    return float(np.clip(mean, 0.0, 1.0).mean())


def _mean_color(texture: Texture, *, cut: float) -> Array:
    """Return the mean linear colour of the opaque part of a texture, shape (3,)."""
    codes = read_image(texture.path, srgb=texture.srgb)
    stride = max(1, max(codes.shape[:2]) // _MOST_TEXELS)
    texels = codes[::stride, ::stride].reshape(-1, 4)
    table = decoding_table()
    opaque = texels[:, 3] >= cut * 255
    if cut > 0 and opaque.any():
        texels = texels[opaque]
    linear = table[256:][texels].astype(np.float64)
    if texture.srgb:
        linear[:, :3] = table[:256][texels[:, :3]]
    mean: Array = linear.mean(axis=0) * texture.scale + texture.bias
    if texture.channel in _CHANNELS:
        return np.repeat(mean[_CHANNELS[texture.channel]], 3)
    return mean[:3]
