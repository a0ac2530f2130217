"""Materials and textures as tables for compiled Mitsuba code, and emitters of emissive materials."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.render.image_files import read_image
from pegasus.render.sky import EMISSION
from pegasus.render.textures import decoding_table, diffuse_transmission
from pegasus.scene.scene import Material, Texture

NONE = 0
"""Index for no texture."""

_CHANNELS = {"rgb": 0, "r": 0, "g": 1, "b": 2, "a": 3}
_WRAPS = {"repeat": 0, "clamp": 1, "mirror": 2, "black": 1}
_LINEAR = 256

LEAST_ROUGHNESS = 0.06
"""Minimum roughness; smoother surfaces make more noise than few samples can average out."""

# Address of arrays [bytes]: those of the widest vectors.
_ALIGNMENT = 64

# Sampling weight of each emissive mesh, where sun, sky and all lamps together have 1 each.
_GLOW_SHARE = 0.02


def uploaded(kind: Any, values: npt.NDArray[Any]) -> Any:
    """Return values as a Dr.Jit array of one dimension, at an aligned address.

    Dr.Jit keeps NumPy's memory in place. Where that does not begin at a multiple of 64 bytes, other code is
    compiled, which gathers every number by itself (drjit-core, `jitc_var_gather_packet`).

    Args:
        kind: Type of the array, such as `mitsuba.Float`.
        values: The values, of the same precision.
    """
    room = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    place = room[first : first + values.nbytes].view(values.dtype)
    place[:] = values.ravel()
    return kind(place)


class MaterialTables:
    """Table of materials and of their textures.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self._images: dict[tuple[Path, bool], tuple[int, int, int]] = {}
        self._pixels: list[npt.NDArray[np.uint32]] = []
        self._size = 0
        self._uses: list[tuple[list[int], list[float]]] = [([0, 1, 1, 0], [0.0] * 16)]
        self._numbers: dict[Texture, int] = {}
        self._count = 0
        self._rows: list[tuple[list[float], list[int]]] = []

    def update(self, materials: Sequence[Material]) -> None:
        """Add new materials."""
        mi = self._mi
        if len(materials) == self._count:
            return
        self._rows += [self._row(material) for material in materials[self._count :]]
        self._count = len(materials)
        self._numbers_of = uploaded(mi.Float, np.array([row for row, _ in self._rows], np.float32))
        self._textures_of = uploaded(mi.UInt32, np.array([row for _, row in self._rows], np.uint32))
        self._places = uploaded(mi.UInt32, np.array([use for use, _ in self._uses], np.uint32))
        self._layouts = uploaded(mi.Float, np.array([use for _, use in self._uses], np.float32))
        pixels = np.concatenate(self._pixels) if self._pixels else np.zeros(1, np.uint32)
        self._texels = uploaded(mi.UInt32, pixels)
        self._decoding = uploaded(mi.Float, decoding_table())
        self.see_through = np.array([row[11] < 1.0 or names[4] != NONE for row, names in self._rows])
        """Whether rays can pass through each material."""

    def numbers(self, material: Any, part: int, active: Any) -> Any:
        """Return four parameters of materials.

        Args:
            material: Numbers of the materials.
            part: 0 for base colour and roughness, 1 for mirror colour and metalness, 2 for reflectance at
                normal incidence, clearcoat, its roughness and opacity, 3 for opacity threshold and the part
                of light that passes on.
            active: Mask of the rays to process.
        """
        mi = self._mi
        return self._dr.gather(mi.Vector4f, self._numbers_of, 4 * material + part, active)

    def textures(self, material: Any, part: int, active: Any) -> Any:
        """Return four textures of materials.

        Args:
            material: Numbers of the materials.
            part: 0 for base colour, roughness, metalness and normal, 1 for opacity and mirror colour.
            active: Mask of the rays to process.
        """
        mi = self._mi
        return self._dr.gather(mi.Vector4u, self._textures_of, 2 * material + part, active)

    def layout(self, texture: Any, active: Any) -> tuple[Any, Any]:
        """Return the affine rows from texture coordinates to image coordinates."""
        mi, gather = self._mi, self._dr.gather
        return (
            gather(mi.Vector4f, self._layouts, 4 * texture, active),
            gather(mi.Vector4f, self._layouts, 4 * texture + 1, active),
        )

    def color(self, texture: Any, uv: Any, jitter: Any, active: Any) -> Any:
        """Return linear values of textures after scale and bias: red, green, blue and alpha.

        One of the four neighbouring pixels is chosen at random by its bilinear weight.
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
        """Return the used channel of textures."""
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
        """Return encoded pixels, and the offsets of their decoding."""
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
        """Return parameters and textures of a material."""
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
        numbers += [material.opacity_threshold, diffuse_transmission(material), 0.0, 0.0]
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
        """Return the index of a texture."""
        if texture not in self._numbers:
            first, width, height = self._image(texture)
            wrap = (_WRAPS[texture.wrap[0]] << 4) | (_WRAPS[texture.wrap[1]] << 6)
            flags = int(texture.srgb) | wrap | (_CHANNELS[texture.channel] << 8)
            (s, t), (x, y) = texture.uv_scale, texture.uv_translation
            cosine, sine = math.cos(texture.uv_rotation), math.sin(texture.uv_rotation)
            layout = [s * cosine, -t * sine, x, 0.0, s * sine, t * cosine, y, 0.0]
            layout += [*texture.scale, *texture.bias]
            self._numbers[texture] = len(self._uses)
            self._uses.append(([first, width, height, flags], layout))
        return self._numbers[texture]

    def _image(self, texture: Texture) -> tuple[int, int, int]:
        """Return first pixel, width and height of an image, read on first use."""
        key = texture.path, texture.srgb
        if key not in self._images:
            pixels = _packed(texture)
            self._images[key] = self._size, pixels.shape[1], pixels.shape[0]
            self._pixels.append(pixels.ravel())
            self._size += pixels.size
        return self._images[key]


def shines(material: Material) -> bool:
    """Return whether a material emits light."""
    return isinstance(material.emissive_color, Texture) or any(part > 0.0 for part in material.emissive_color)


def emitter(mitsuba: Any, material: Material) -> dict[str, Any]:
    """Return the description of an emissive material's area emitter for Mitsuba.

    Args:
        mitsuba: The module mitsuba, its variant set.
        material: The material.
    """
    color = material.emissive_color
    if isinstance(color, Texture):
        radiance = _bitmap(mitsuba, color, sampled(color, gain=EMISSION, limit=np.inf))
    else:
        radiance = {"type": "rgb", "value": [max(EMISSION * float(part), 0.0) for part in color]}
    return {"type": "area", "radiance": radiance, "sampling_weight": _GLOW_SHARE}


def sampled(texture: Texture, *, gain: float = 1.0, limit: float = 1.0) -> npt.NDArray[np.float32]:
    """Return a texture's linear values after scale and bias, shape (H, W, 3), (H, W, 1) for one channel.

    Args:
        texture: The texture.
        gain: Factor of scale and bias.
        limit: Largest value, to which others are clipped.
    """
    packed = _packed(texture)
    codes = packed.view(np.uint8).reshape(*packed.shape, 4)
    table = decoding_table()
    linear = table[_LINEAR:][codes]
    if texture.srgb:
        linear[..., :3] = table[:_LINEAR][codes[..., :3]]
    scale, bias = (
        np.array([part * gain for part in row], np.float32) for row in (texture.scale, texture.bias)
    )
    values = linear * scale + bias
    channel = _CHANNELS[texture.channel]
    values = values[..., :3] if texture.channel == "rgb" else values[..., channel : channel + 1]
    return np.asarray(np.clip(values, 0.0, limit), dtype=np.float32)


def _bitmap(mitsuba: Any, texture: Texture, pixels: npt.NDArray[np.float32]) -> Any:
    transform = mitsuba.ScalarTransform4f()
    transform = transform.translate([*texture.uv_translation, 0.0])
    transform = transform.rotate([0.0, 0.0, 1.0], math.degrees(texture.uv_rotation))
    transform = transform.scale([*texture.uv_scale, 1.0])
    wrap = texture.wrap[0]
    return mitsuba.load_dict(
        {
            "type": "bitmap",
            # The first row of a bitmap is at v = 0, which is the last row of an image file.
            "bitmap": mitsuba.Bitmap(np.ascontiguousarray(pixels[::-1])),
            "raw": True,
            "format": "fp16",
            "filter_type": "bilinear",
            "wrap_mode": "clamp" if wrap == "black" else wrap,
            "to_uv": transform,
        }
    )


def _packed(texture: Texture) -> npt.NDArray[np.uint32]:
    """Return the image of a texture as packed 8-bit RGBA, shape (H, W)."""
    packed: npt.NDArray[np.uint32] = read_image(texture.path, srgb=texture.srgb).view(np.uint32)[..., 0]
    return packed


def _wrapped(mitsuba: Any, drjit: Any, place: Any, size: Any, jitter: Any, mode: Any) -> Any:
    """Return the wrapped column or row of an image at a coordinate."""
    dr = drjit
    count = mitsuba.Float(size)
    # Repeating far from the origin would cost the fraction its digits.
    near = dr.select(mode == 0, place - dr.floor(place), place)
    folded = place - 2.0 * dr.floor(0.5 * place)
    near = dr.select(mode == 2, 1.0 - dr.abs(1.0 - folded), near)
    index = dr.floor(near * count - 0.5 + jitter)
    around = dr.select(index < 0.0, index + count, dr.select(index >= count, index - count, index))
    return mitsuba.UInt32(dr.select(mode == 0, around, dr.clip(index, 0.0, count - 1.0)))
