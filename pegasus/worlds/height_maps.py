"""Height maps of users: 16-bit images and NumPy files."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.file_kinds import refuse_other_kinds

_LEAST_SIDE = 50
_WHITE = 65535.0


def read_height_map(path: Path, amplitude: float) -> Array:
    """Return heights of a map, the first row in the south [m], shape (rows, columns).

    Args:
        path: A greyscale image of 16 bit, or a NumPy file of metres (`.npy`); the first row is the north.
        amplitude: Height of white above black in an image [m].

    Raises:
        ConfigError: If the file cannot be read, or is not a height map.
    """
    if not path.is_file():
        raise _wrong(path, "there is no such file")
    refuse_other_kinds(path, "an image of 16 bit or a NumPy file", {"image", "numpy"}, field="height_map")
    values = _numbers(path) if path.suffix.lower() == ".npy" else _image(path) * (amplitude / _WHITE)
    if values.ndim != 2 or min(values.shape) < _LEAST_SIDE:
        shape = " x ".join(str(length) for length in values.shape)
        raise _wrong(path, f"must have {_LEAST_SIDE} x {_LEAST_SIDE} heights or more, not {shape}")
    if not np.isfinite(values).all():
        raise _wrong(path, "must hold finite heights only", "fill its gaps")
    return np.ascontiguousarray(values[::-1])


def height_map_shape(path: Path) -> tuple[int, int]:
    """Return the number of rows and columns of a map without reading its heights.

    Args:
        path: The file, as for `read_height_map`.

    Raises:
        ConfigError: If the file cannot be read.
    """
    if not path.is_file():
        raise _wrong(path, "there is no such file")
    refuse_other_kinds(path, "an image of 16 bit or a NumPy file", {"image", "numpy"}, field="height_map")
    if path.suffix.lower() == ".npy":
        shape = _numbers(path).shape
        return (shape[0], shape[1]) if len(shape) == 2 else (1, 1)
    try:
        with Image.open(path) as image:
            return image.height, image.width
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        raise _wrong(path, "is no image", "use a PNG of 16 bit, or a NumPy file") from None


def _numbers(path: Path) -> Array:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise _wrong(path, "is no NumPy file of numbers", "write it with numpy.save") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise _wrong(path, "is no NumPy file of numbers", "write it with numpy.save")
    return np.asarray(values, dtype=np.float64)


def _image(path: Path) -> Array:
    try:
        with Image.open(path) as image:
            if image.mode not in ("I;16", "I;16B", "I;16L", "I"):
                raise _wrong(path, f"must be a greyscale image of 16 bit, not of mode {image.mode}")
            return np.asarray(image, dtype=np.float64)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        raise _wrong(path, "is no image", "use a PNG of 16 bit, or a NumPy file") from None


def _wrong(path: Path, problem: str, remedy: str | None = None) -> ConfigError:
    return ConfigError(problem, field="height_map", value=str(path), remedy=remedy)
