"""Reading of image files: 8-bit formats by Pillow, OpenEXR by Mitsuba, UDIM tiles as one image."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.scene.udim import TOKEN, TileGrid, tile_grid

Codes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

# Longest side of joined tiles [pixels].
_LONGEST_SIDE = 16384


def read_image(path: Path, *, srgb: bool) -> Codes:
    """Return an image as 8-bit RGBA, shape (H, W, 4).

    8-bit images keep the codes of their files. The linear light of OpenEXR is clipped to 0 to 1.

    Args:
        path: Image file, or UDIM tiles: they are joined, with the size of the largest, and black between.
        srgb: Whether the colours of an OpenEXR image are encoded by sRGB (IEC 61966-2-1), else linearly.

    Raises:
        ConfigError: If the image cannot be read.
    """
    if TOKEN in path.name:
        return _joined(tile_grid(path), srgb=srgb)
    if path.suffix.lower() == ".exr":
        return encoded(read_exr(path).clip(0.0, 1.0), srgb=srgb)
    try:
        with Image.open(path) as image:
            if image.mode.startswith("I") or image.mode == "F":
                values = np.asarray(image, dtype=np.float64)
                gray = (values / (1.0 if image.mode == "F" else 65535.0) * 255.0).clip(0.0, 255.0)
                return np.dstack([gray, gray, gray, np.full_like(gray, 255.0)]).round().astype(np.uint8)
            return np.array(image.convert("RGBA"))
    # Pillow raises a SyntaxError for some broken files.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _unreadable(path, str(error).removesuffix(f" {str(path)!r}")) from None


def _joined(grid: TileGrid, *, srgb: bool) -> Codes:
    images = {place: read_image(file, srgb=srgb) for place, file in grid.tiles.items()}
    columns, rows = grid.size
    height, width = (max(image.shape[k] for image in images.values()) for k in (0, 1))
    height, width = min(height, _LONGEST_SIDE // rows), min(width, _LONGEST_SIDE // columns)
    whole = np.zeros((rows * height, columns * width, 4), dtype=np.uint8)
    whole[..., 3] = 255
    for (u, v), image in images.items():
        top, left = (rows - 1 - (v - grid.first[1])) * height, (u - grid.first[0]) * width
        resized = Image.fromarray(image).resize((width, height), Image.Resampling.BOX)
        whole[top : top + height, left : left + width] = np.asarray(resized)
    return whole


def read_exr(path: Path) -> Floats:
    """Return an OpenEXR image as linear RGBA, shape (H, W, 4).

    Raises:
        ConfigError: If Mitsuba is not installed, or the image cannot be read.
    """
    try:
        import mitsuba
    except ImportError:
        raise ConfigError(
            "OpenEXR images require the missing package mitsuba",
            file=path,
            remedy="pip install 'pegasus-multirotor[photo]', or convert the image to .png",
        ) from None
    try:
        bitmap = mitsuba.Bitmap(str(path))
        pixels = bitmap.convert(mitsuba.Bitmap.PixelFormat.RGBA, mitsuba.Struct.Type.Float32, False)
    except (OSError, RuntimeError, ValueError) as error:
        # OpenEXR describes its stream, over several lines.
        reason = re.sub(r'[^"]*"FileStream\[[^\]]*\]"\.', "", str(error).removeprefix(f'"{path}": '))
        raise _unreadable(path, f"damaged or cut short: {reason.rstrip('. ')}") from None
    return np.nan_to_num(np.array(pixels, dtype=np.float32))


def encoded(linear: Floats, *, srgb: bool) -> Codes:
    """Return 8-bit codes of linear colours from 0 to 1 with alpha, shape (H, W, 4)."""
    values = linear
    if srgb:
        color = linear[..., :3]
        curved = np.where(color <= 0.0031308, 12.92 * color, 1.055 * color ** (1 / 2.4) - 0.055)
        values = np.dstack([curved, linear[..., 3:]])
    return (values * 255.0 + 0.5).astype(np.uint8)


def _unreadable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"texture cannot be read: {' '.join(reason.split())}",
        file=path,
        remedy="export the image again, or convert it to .png",
    )
