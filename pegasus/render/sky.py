"""Sky image: constant, clear, or from the images of dome lights.

A sky is an equirectangular image in the world: row 0 is the zenith, and the azimuth of column u W is atan2(x,
y) = 2 pi u, so that the image centre is south.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.render.image_files import read_exr, read_image
from pegasus.scene.scene import Light

Sky = npt.NDArray[np.float32]

EMISSION = 1000.0
"""Radiance of an emissive colour of 1, which has no unit in USD; a dome of 1000 is bright daylight."""

_HEIGHT = 512
_LEAST = 64
_GROUND_ALBEDO = np.array([0.20, 0.19, 0.16])
_HAZE_DEPTH = np.radians(2.5)
# Factors per elevation of the CIE standard clear sky, low turbidity (ISO 15469:2004, type 12).
_A, _B, _C, _D, _E = -1.0, -0.32, 10.0, -3.0, 0.45


def sky_image(lights: Sequence[Light]) -> Sky:
    """Return the radiance of the sky without the discs of suns, shape (H, 2 H, 3).

    A dome without an image is a clear sky over a hazy horizon and a dull ground if a sun is above the
    horizon, with the illuminance of the dome on level ground; otherwise it is constant.

    Args:
        lights: All lights of the scene; those that are neither domes nor distant do not count.

    Raises:
        ConfigError: If an image of a dome cannot be read.
    """
    domes = [light for light in lights if light.kind == "DomeLight"]
    suns = [light for light in lights if light.kind == "DistantLight" and sun_direction(light)[2] > 0.02]
    image = np.zeros((1, 2, 3))
    for dome in domes:
        if dome.texture is not None:
            layer = _textured(dome, dome.texture)
        elif suns:
            layer = _clear(np.array(dome.color), suns)
        else:
            layer = np.broadcast_to(np.array(dome.color), (1, 2, 3))
        height = max(len(image), len(layer))
        image = _resized(image, height) + _resized(layer, height)
    return np.ascontiguousarray(_resized(image, max(len(image), _LEAST)), dtype=np.float32)


def sky_directions(height: int) -> Array:
    """Return the directions of the pixels of a sky, shape (H, 2 H, 3)."""
    elevation = (0.5 - (np.arange(height) + 0.5) / height)[:, None] * np.pi
    azimuth = (np.arange(2 * height) + 0.5)[None, :] / height * np.pi
    return np.stack(
        [
            np.cos(elevation) * np.sin(azimuth),
            np.cos(elevation) * np.cos(azimuth),
            np.broadcast_to(np.sin(elevation), (height, 2 * height)),
        ],
        axis=-1,
    )


def sky_harmonics(sky: Sky) -> Array:
    """Return the irradiance of a sky in nine spherical harmonics per colour, shape (9, 3).

    The order is 1, y, z, x, xy, yz, 3z^2 - 1, xz, x^2 - y^2; factors of basis and cosine lobe are included
    (Ramamoorthi and Hanrahan 2001, eqs. 10 to 13).

    Args:
        sky: Image of a sky, shape (H, 2 H, 3).
    """
    step = max(len(sky) // 64, 1)
    small = sky[: len(sky) // step * step].reshape(len(sky) // step, step, -1, step, 3).mean(axis=(1, 3))
    directions = sky_directions(len(small))
    weight = np.sqrt(np.maximum(1.0 - directions[..., 2] ** 2, 0.0))
    light = small * (weight / weight.sum() * 4.0 * np.pi)[..., None]
    # Square of the basis' factor times the cosine lobe's factor of the band.
    factors = np.array([0.282095**2 * np.pi, *[0.488603**2 * 2.094395] * 3, *[1.092548**2 * 0.785398] * 5])
    factors[6], factors[8] = 0.315392**2 * 0.785398, 0.546274**2 * 0.785398
    return np.asarray(np.einsum("hwk,hwc->kc", _basis(directions), light) * factors[:, None])


def sun_direction(light: Light) -> Array:
    """Return the unit direction towards a distant light, shape (3,)."""
    axis = np.asarray(light.transform[:3, 2], dtype=np.float64)
    return axis / np.sqrt(axis @ axis)


def _basis(directions: Array) -> Array:
    x, y, z = directions[..., 0], directions[..., 1], directions[..., 2]
    terms = [np.ones_like(x), y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y]
    return np.stack(terms, axis=-1)


def _clear(color: Array, suns: Sequence[Light]) -> Array:
    """Return a clear sky around the first sun, with the lit ground below."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    directions = sky_directions(_HEIGHT)
    sun = sun_direction(suns[0])
    height = np.maximum(directions[..., 2], 0.005)
    angle = np.arccos(np.clip(directions @ sun, -1.0, 1.0))
    circumsolar = 1.0 + _C * (np.exp(_D * angle) - np.exp(_D * np.pi / 2)) + _E * np.cos(angle) ** 2
    luminance = circumsolar * (1.0 + _A * np.exp(_B / height))
    # Long paths through the air scatter every colour: the hue fades towards the horizon and the sun.
    white = color @ weights
    fade = np.maximum(np.exp(-3.5 * height), 0.7 * np.exp(-6.0 * angle))[..., None]
    hue = np.minimum(color * (color / max(white, 1e-9)) ** 0.6 * (1 - fade) + white * fade, 4.0 * white)
    sky = np.asarray(luminance[..., None] * hue)
    above = directions[..., 2] > 0
    level = np.where(above, directions[..., 2] * np.cos(np.arcsin(directions[..., 2])), 0.0)
    solid = (np.pi / _HEIGHT) ** 2
    total = np.asarray((sky * level[..., None]).sum(axis=(0, 1)) * solid)
    scale = np.pi * white / max(float(total @ weights), 1e-12)
    sky *= scale
    received = total * scale + sum(sun_direction(light)[2] * np.array(light.color) for light in suns)
    ground = _GROUND_ALBEDO / np.pi * received
    horizon = sky[_HEIGHT // 2 - 1].mean(axis=0)
    depth = np.exp(np.arcsin(np.minimum(directions[..., 2:], 0.0)) / _HAZE_DEPTH)
    return np.where(above[..., None], sky, ground + (horizon - ground) * depth)


def _textured(dome: Light, path: Path) -> Array:
    """Return the image of a dome, rotated into the world and tinted by its colour."""
    image = _read_image(path)
    height = min(max(len(image), 64), 1024)
    rotation = np.asarray(dome.transform[:3, :3], dtype=np.float64)
    rotation = rotation / np.sqrt((rotation * rotation).sum(axis=0))
    local = sky_directions(height) @ rotation
    u = np.arctan2(local[..., 0], local[..., 1]) / (2 * np.pi) % 1.0
    v = 0.5 - np.arcsin(np.clip(local[..., 2], -1.0, 1.0)) / np.pi
    return np.asarray(_bilinear(image, u, v) * np.array(dome.color))


def _bilinear(image: Array, u: Array, v: Array) -> Array:
    rows, columns = image.shape[:2]
    x, y = u * columns - 0.5, np.clip(v * rows - 0.5, 0.0, rows - 1.0)
    left, upper = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    across, down = (x - left)[..., None], (y - upper)[..., None]
    lower = np.minimum(upper + 1, rows - 1)
    left, right = left % columns, (left + 1) % columns
    top = image[upper, left] * (1 - across) + image[upper, right] * across
    bottom = image[lower, left] * (1 - across) + image[lower, right] * across
    return np.asarray(top * (1 - down) + bottom * down)


def _resized(image: Array, height: int) -> Array:
    if len(image) == height:
        return image
    if len(image) == 1:
        return np.broadcast_to(image[:, :1], (height, 2 * height, 3))
    u = (np.arange(2 * height) + 0.5)[None, :] / (2 * height)
    v = (np.arange(height) + 0.5)[:, None] / height
    return _bilinear(image, *np.broadcast_arrays(u, v))


def _read_image(path: Path) -> Array:
    """Return an equirectangular image as linear light, shape (H, W, 3)."""
    if path.suffix.lower() == ".hdr":
        return _read_radiance(path)
    if path.suffix.lower() == ".exr":
        return np.asarray(read_exr(path)[..., :3], dtype=np.float64)
    encoded = read_image(path, srgb=True)[..., :3] / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _read_radiance(path: Path) -> Array:
    """Return a Radiance image (Ward, "Real Pixels", Graphics Gems II, 1991)."""
    content = path.read_bytes()
    try:
        start = content.index(b"\n\n") + 2
        end = content.index(b"\n", start)
        sign, rows, _, columns = content[start:end].split()
        if sign != b"-Y":
            raise ValueError("rows from the top are expected")
        pixels = _run_lengths(content[end + 1 :], int(rows), int(columns))
    except (ValueError, IndexError):
        raise ConfigError("is not a Radiance image with rows from the top", file=path) from None
    mantissa, exponent = pixels[..., :3].astype(np.float64), pixels[..., 3:].astype(np.int64)
    return np.where(exponent > 0, (mantissa + 0.5) * np.exp2(exponent - 136.0), 0.0)


def _run_lengths(data: bytes, rows: int, columns: int) -> npt.NDArray[np.uint8]:
    """Return the pixels of a run-length encoded or raw image."""
    if data[:2] != b"\x02\x02":
        return np.frombuffer(data, np.uint8, rows * columns * 4).reshape(rows, columns, 4)
    pixels = np.empty((rows, 4, columns), np.uint8)
    place = 0
    for row in pixels:
        place += 4
        for channel in row:
            filled = 0
            while filled < columns:
                count = data[place]
                if count > 128:
                    count -= 128
                    channel[filled : filled + count] = data[place + 1]
                    place += 2
                else:
                    channel[filled : filled + count] = np.frombuffer(data, np.uint8, count, place + 1)
                    place += 1 + count
                filled += count
    return pixels.transpose(0, 2, 1)
