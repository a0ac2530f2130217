"""Texture atlas with mip levels, sRGB decoding, and light through leaves."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from pegasus.render.image_files import encoded, read_image
from pegasus.scene.scene import Material, Texture

Pixels = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]

_THROUGH_LEAVES = 0.7


class TextureAtlas:
    """Texture atlas of packed 8-bit RGBA as encoded in the files, with mip levels.

    Mip levels are means of linear light. If an image cuts out by alpha or a colour channel, each level keeps
    the fraction that is not cut out, so that leaves do not thin out with distance.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Path, bool, int, float], int] = {}
        self._images: list[list[Pixels]] = []
        self._packed: Pixels | None = None
        self._rows: list[tuple[int, int, int, int]] = []
        self._size = 0

    def add(self, path: Path, *, srgb: bool, cut: tuple[int, float] | None = None) -> int:
        """Return the index of an image, read on first use.

        Args:
            path: Image file.
            srgb: Whether its colours are sRGB encoded.
            cut: Channel that cuts out and the value below which it does.

        Raises:
            ConfigError: If the image cannot be read.
        """
        key = (path, srgb, *(cut or (-1, 0.0)))
        if key not in self._numbers:
            levels = _mip_levels(read_image(path, srgb=srgb), srgb=srgb, cut=cut)
            self._numbers[key] = len(self._rows)
            height, width = levels[0].shape[:2]
            self._rows.append((self._size, width, height, len(levels)))
            self._images.append([np.ascontiguousarray(level).view(np.uint32)[..., 0] for level in levels])
            self._packed = None
            self._size += sum(level.shape[0] * level.shape[1] for level in levels)
        return self._numbers[key]

    def table(self) -> npt.NDArray[np.int32]:
        """Return the first pixel, width, height and number of levels of each image, shape (T, 4)."""
        return np.array(self._rows or [(0, 1, 1, 1)], dtype=np.int32)

    def size(self, number: int) -> tuple[int, int, int]:
        """Return the width, height and number of levels of an image."""
        return self._rows[number][1:]

    def levels(self, number: int) -> list[Pixels]:
        """Return the mip levels of an image, rows from the top, shape (height, width) each."""
        return self._images[number]

    def pixels(self) -> Pixels:
        """Return all levels of all images, rows from the top."""
        if not self._images:
            return np.zeros(1, dtype=np.uint32)
        if self._packed is None:
            self._packed = np.concatenate([level.ravel() for levels in self._images for level in levels])
            # The levels share its memory from now on.
            first = 0
            for levels in self._images:
                for number, level in enumerate(levels):
                    levels[number] = self._packed[first : first + level.size].reshape(level.shape)
                    first += level.size
        return self._packed


def decoding_table() -> Floats:
    """Return the linear values of all codes: sRGB (IEC 61966-2-1), then linear, shape (512,)."""
    codes = np.arange(256) / 255.0
    decoded = np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
    return np.concatenate([decoded, codes]).astype(np.float32)


def _mip_levels(
    image: npt.NDArray[np.uint8], *, srgb: bool, cut: tuple[int, float] | None
) -> list[npt.NDArray[np.uint8]]:
    """Return an image and its mip levels down to one pixel along the shorter side."""
    levels = [image]
    decode = decoding_table()
    colors = decode[:256] if srgb else decode[256:]
    linear = np.dstack([colors[image[..., :3]], decode[256:][image[..., 3:]]])
    share = 0.0 if cut is None else float((linear[..., cut[0]] >= cut[1]).mean())
    while min(linear.shape[:2]) > 1:
        linear = linear[: linear.shape[0] // 2 * 2, : linear.shape[1] // 2 * 2]
        linear = 0.25 * (linear[::2, ::2] + linear[1::2, ::2] + linear[::2, 1::2] + linear[1::2, 1::2])
        level = linear
        if cut is not None and 0.0 < share < 1.0:
            channel, threshold = cut
            value = float(np.quantile(linear[..., channel], 1.0 - share))
            level = linear.copy()
            level[..., channel] = np.minimum(level[..., channel] * threshold / max(value, 1e-3), 1.0)
        levels.append(encoded(level, srgb=srgb))
    return levels


def diffuse_transmission(material: Material) -> float:
    """Return the diffuse transmission of a surface relative to its reflection.

    Cut-outs by an image are thin sheets: leaves, needles, grass. Green leaves transmit slightly less than
    they reflect (Jacquemoud and Baret 1990).
    """
    cut_out = isinstance(material.opacity, Texture) and material.opacity_threshold > 0.0
    return _THROUGH_LEAVES if cut_out and material.metallic == 0.0 else 0.0
