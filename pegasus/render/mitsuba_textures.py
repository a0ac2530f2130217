"""Materials and their images as tables that compiled code of Mitsuba reads."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.render.textures import decoding_table
from pegasus.scene.scene import Material, Texture

NONE = 0
"""Number of the texture that there is none."""

_CHANNELS = {"rgb": 0, "r": 0, "g": 1, "b": 2, "a": 3}
_WRAPS = {"repeat": 0, "clamp": 1, "mirror": 2, "black": 1}
_LINEAR = 256

LEAST_ROUGHNESS = 0.06
"""Smoother surfaces make more noise than the few samples of a picture can settle."""

_THROUGH_LEAVES = 0.7


class MaterialTables:
    """Rows of numbers for each material, and the images that they name.

    Args:
        mitsuba: The module, a vectorized variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self._images: dict[Path, tuple[int, int, int]] = {}
        self._pixels: list[npt.NDArray[np.uint32]] = []
        self._size = 0
        self._uses: list[tuple[list[int], list[float]]] = [([0, 1, 1, 0], [0.0] * 16)]
        self._numbers: dict[Texture, int] = {}
        self._count = 0
        self._rows: list[tuple[list[float], list[int]]] = []

    def update(self, materials: Sequence[Material]) -> None:
        """Take over materials that were added.

        Args:
            materials: All of them by number.
        """
        mi = self._mi
        if len(materials) == self._count:
            return
        self._rows += [self._row(material) for material in materials[self._count :]]
        self._count = len(materials)
        self._numbers_of = mi.Float(np.array([row for row, _ in self._rows], np.float32).ravel())
        self._textures_of = mi.UInt32(np.array([row for _, row in self._rows], np.uint32).ravel())
        self._places = mi.UInt32(np.array([use for use, _ in self._uses], np.uint32).ravel())
        self._layouts = mi.Float(np.array([use for _, use in self._uses], np.float32).ravel())
        self._texels = mi.UInt32(np.concatenate(self._pixels) if self._pixels else np.zeros(1, np.uint32))
        self._decoding = mi.Float(decoding_table())
        self.see_through = any(row[11] < 1.0 or names[4] != NONE for row, names in self._rows)
        self.passes_light = any(row[13] > 0.0 for row, _ in self._rows)

    def numbers(self, material: Any, part: int, active: Any) -> Any:
        """Return four of the numbers of materials.

        Args:
            material: Numbers of the materials.
            part: 0 for base colour and roughness, 1 for mirror colour and metalness, 2 for reflectance at
                normal incidence, clearcoat, its roughness and opacity, 3 for opacity threshold and the part
                of light that passes on.
            active: Which are wanted.
        """
        mi = self._mi
        return self._dr.gather(mi.Vector4f, self._numbers_of, 4 * material + part, active)

    def textures(self, material: Any, part: int, active: Any) -> Any:
        """Return four textures of materials.

        Args:
            material: Numbers of the materials.
            part: 0 for base colour, roughness, metalness and normal, 1 for opacity and mirror colour.
            active: Which are wanted.
        """
        mi = self._mi
        return self._dr.gather(mi.Vector4u, self._textures_of, 2 * material + part, active)

    def layout(self, texture: Any, active: Any) -> tuple[Any, Any]:
        """Return the rows that turn texture coordinates into those of images.

        Args:
            texture: Numbers of textures.
            active: Which are wanted.
        """
        mi, gather = self._mi, self._dr.gather
        return (
            gather(mi.Vector4f, self._layouts, 4 * texture, active),
            gather(mi.Vector4f, self._layouts, 4 * texture + 1, active),
        )

    def color(self, texture: Any, uv: Any, jitter: Any, active: Any) -> Any:
        """Return linear values of textures after scale and bias: red, green, blue and alpha.

        One pixel of the four around a place is taken at random, as likely as it counts between them.

        Args:
            texture: Numbers of textures.
            uv: Texture coordinates.
            jitter: Random numbers.
            active: Which are wanted.
        """
        mi, dr = self._mi, self._dr
        code, decoding = self._texel(texture, uv, jitter, active)
        parts = [
            dr.gather(mi.Float, self._decoding, decoding + ((code >> shift) & 255), active)
            for shift in (0, 8, 16)
        ]
        alpha = mi.Float(code >> 24) * (1.0 / 255.0)
        scale = dr.gather(mi.Vector4f, self._layouts, 4 * texture + 2, active)
        bias = dr.gather(mi.Vector4f, self._layouts, 4 * texture + 3, active)
        return mi.Vector4f(*parts, alpha) * scale + bias

    def number(self, texture: Any, uv: Any, jitter: Any, active: Any) -> Any:
        """Return the one channel of textures that is used.

        Args:
            texture: Numbers of textures.
            uv: Texture coordinates.
            jitter: Random numbers.
            active: Which are wanted.
        """
        mi, dr = self._mi, self._dr
        code, decoding = self._texel(texture, uv, jitter, active)
        channel = dr.gather(mi.UInt32, self._places, 4 * texture + 3, active) >> 8
        level = (code >> (8 * channel)) & 255
        # Opacity is never encoded.
        base = dr.select(channel == 3, _LINEAR, decoding)
        value = dr.gather(mi.Float, self._decoding, base + level, active)
        scale = dr.gather(mi.Float, self._layouts, 16 * texture + 8 + channel, active)
        bias = dr.gather(mi.Float, self._layouts, 16 * texture + 12 + channel, active)
        return dr.clip(value * scale + bias, 0.0, 1.0)

    def _texel(self, texture: Any, uv: Any, jitter: Any, active: Any) -> tuple[Any, Any]:
        """Return pixels as they are stored, and where their codes' values begin."""
        mi, dr = self._mi, self._dr
        place = dr.gather(mi.Vector4u, self._places, texture, active)
        along, up = self.layout(texture, active)
        u = along.x * uv.x + along.y * uv.y + along.z
        v = up.x * uv.x + up.y * uv.y + up.z
        column = _wrapped(mi, dr, u, place.y, jitter.x, (place.w >> 4) & 3)
        row = _wrapped(mi, dr, 1.0 - v, place.z, jitter.y, (place.w >> 6) & 3)
        code = dr.gather(mi.UInt32, self._texels, place.x + row * place.y + column, active)
        return code, dr.select((place.w & 1) != 0, mi.UInt32(0), mi.UInt32(_LINEAR))

    def _row(self, material: Material) -> tuple[list[float], list[int]]:
        """Return the numbers and the textures of a material."""
        base, base_map = self._color(material.diffuse_color)
        specular = (0.0,) * 3 if material.specular_color is None else material.specular_color
        mirror, mirror_map = self._color(specular)
        rough, rough_map = self._number(material.roughness, least=LEAST_ROUGHNESS)
        metal, metal_map = self._number(material.metallic)
        opacity, opacity_map = self._number(material.opacity)
        coat = 1.0 if isinstance(material.clearcoat, Texture) else material.clearcoat
        smooth = material.clearcoat_roughness
        coat_roughness = LEAST_ROUGHNESS if isinstance(smooth, Texture) else max(smooth, LEAST_ROUGHNESS)
        reflectance = ((material.ior - 1.0) / (material.ior + 1.0)) ** 2
        if material.specular_color is not None:
            metal, metal_map, reflectance = 0.0, NONE, 0.0
        if opacity_map == NONE and opacity < material.opacity_threshold:
            opacity = 0.0
        elif opacity_map == NONE and material.opacity_threshold > 0.0:
            opacity = 1.0
        bent = NONE if material.normal is None else self._use(material.normal)
        numbers = [*base, rough, *mirror, metal, reflectance, coat, coat_roughness, opacity]
        numbers += [material.opacity_threshold, _passed_on(material), 0.0, 0.0]
        return numbers, [base_map, rough_map, metal_map, bent, opacity_map, mirror_map, 0, 0]

    def _color(self, value: Any) -> tuple[tuple[float, float, float], int]:
        if isinstance(value, Texture):
            return (0.0, 0.0, 0.0), self._use(value)
        red, green, blue = (min(max(float(part), 0.0), 1.0) for part in value)
        return (red, green, blue), NONE

    def _number(self, value: float | Texture, *, least: float = 0.0) -> tuple[float, int]:
        if isinstance(value, Texture):
            return 0.0, self._use(value)
        return min(max(float(value), least), 1.0), NONE

    def _use(self, texture: Texture) -> int:
        """Return the number of a texture."""
        if texture not in self._numbers:
            first, width, height = self._image(texture.path)
            wrap = (_WRAPS[texture.wrap[0]] << 4) | (_WRAPS[texture.wrap[1]] << 6)
            flags = int(texture.srgb) | wrap | (_CHANNELS[texture.channel] << 8)
            (s, t), (x, y) = texture.uv_scale, texture.uv_translation
            cosine, sine = math.cos(texture.uv_rotation), math.sin(texture.uv_rotation)
            layout = [s * cosine, -t * sine, x, 0.0, s * sine, t * cosine, y, 0.0]
            layout += [*texture.scale, *texture.bias]
            self._numbers[texture] = len(self._uses)
            self._uses.append(([first, width, height, flags], layout))
        return self._numbers[texture]

    def _image(self, path: Path) -> tuple[int, int, int]:
        """Return first pixel, width and height of an image, read on first use."""
        if path not in self._images:
            pixels = _packed(path)
            self._images[path] = self._size, pixels.shape[1], pixels.shape[0]
            self._pixels.append(pixels.ravel())
            self._size += pixels.size
        return self._images[path]


def _passed_on(material: Material) -> float:
    """Return how much light passes through a surface and is scattered behind it, of what it reflects.

    What an image cuts out is a thin sheet: leaves, needles, grass. Green leaves pass on somewhat less than
    they reflect (Jacquemoud and Baret 1990).
    """
    cut_out = isinstance(material.opacity, Texture) and material.opacity_threshold > 0.0
    return _THROUGH_LEAVES if cut_out and material.metallic == 0.0 else 0.0


def _packed(path: Path) -> npt.NDArray[np.uint32]:
    """Return an image as 8-bit red, green, blue and alpha in one number, shape (H, W)."""
    with Image.open(path) as image:
        if image.mode.startswith("I"):
            gray = (np.asarray(image, dtype=np.float64) / 257.0).clip(0.0, 255.0).round().astype(np.uint8)
            colors = np.dstack([gray, gray, gray, np.full_like(gray, 255)])
        else:
            colors = np.array(image.convert("RGBA"))
    packed: npt.NDArray[np.uint32] = np.ascontiguousarray(colors).view(np.uint32)[..., 0]
    return packed


def _wrapped(mitsuba: Any, drjit: Any, place: Any, size: Any, jitter: Any, mode: Any) -> Any:
    """Return the column or row of an image about a coordinate."""
    dr = drjit
    count = mitsuba.Float(size)
    # Repeating far from the origin would cost the fraction its digits.
    near = dr.select(mode == 0, place - dr.floor(place), place)
    folded = place - 2.0 * dr.floor(0.5 * place)
    near = dr.select(mode == 2, 1.0 - dr.abs(1.0 - folded), near)
    index = dr.floor(near * count - 0.5 + jitter)
    around = dr.select(index < 0.0, index + count, dr.select(index >= count, index - count, index))
    return mitsuba.UInt32(dr.select(mode == 0, around, dr.clip(index, 0.0, count - 1.0)))
