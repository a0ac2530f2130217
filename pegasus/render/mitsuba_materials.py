"""Materials of a scene as BSDFs of Mitsuba."""

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.scene.scene import Color, Material, Texture

EMISSION = 1000.0
"""Radiance of an emissive colour of one, in the units of the lights: as white paper under a clear sky."""

_CHANNELS = "rgba"
_WRAPS = {"repeat": "repeat", "mirror": "mirror", "clamp": "clamp", "black": "clamp"}
# Smoother surfaces make more noise than the few samples of a picture can settle.
_LEAST_ROUGHNESS = 0.06
# How often light is looked for at each mesh that shines, where sun, sky and all lamps have one each.
_GLOW_SHARE = 0.02
# Reflectance at normal incidence from which a specular colour is that of a metal.
_METAL = 0.2

Pixels = npt.NDArray[np.float32]


class Bsdfs:
    """Make each BSDF once, also for materials that differ in nothing but their paths.

    Args:
        mitsuba: The module, its variant set.
    """

    def __init__(self, mitsuba: Any) -> None:
        self._mi = mitsuba
        self._made: dict[tuple[Material, bool], Any] = {}
        self._textures: dict[Texture, Any] = {}

    def of(self, material: Material, *, vertex_colors: bool = False) -> Any:
        """Return the BSDF of a material, the same object for the same look.

        Args:
            material: The material.
            vertex_colors: Whether the mesh brings the diffuse colour, as its attribute `vertex_color`.
        """
        key = (dataclasses.replace(material, path=""), vertex_colors)
        if key not in self._made:
            self._made[key] = self._mi.load_dict(self._describe(material, vertex_colors=vertex_colors))
        return self._made[key]

    def emission(self, material: Material) -> Any:
        """Return the area emitter of a material that shines.

        Args:
            material: The material.
        """
        color = material.emissive_color
        if isinstance(color, Texture):
            bright = dataclasses.replace(
                color,
                scale=_scaled(color.scale, EMISSION),
                bias=_scaled(color.bias, EMISSION),
            )
            radiance = self._texture(bright, unit=False)
        else:
            radiance = _rgb(tuple(EMISSION * part for part in color), largest=math.inf)
        return {"type": "area", "radiance": radiance, "sampling_weight": _GLOW_SHARE}

    def _describe(self, material: Material, *, vertex_colors: bool) -> dict[str, Any]:
        color, metallic, index = self._base(material)
        bsdf: dict[str, Any] = {
            "type": "principled",
            "base_color": {"type": "mesh_attribute", "name": "vertex_color"} if vertex_colors else color,
            "roughness": self._number(material.roughness, least=_LEAST_ROUGHNESS),
            "metallic": metallic,
            "eta": index,
        }
        if isinstance(material.clearcoat, Texture) or material.clearcoat > 0.0:
            rough = material.clearcoat_roughness
            bsdf["clearcoat"] = self._number(material.clearcoat)
            bsdf["clearcoat_gloss"] = 0.9 if isinstance(rough, Texture) else 1.0 - max(rough, 0.01)
        if material.normal is not None:
            encoded = dataclasses.replace(
                material.normal,
                scale=_scaled(material.normal.scale, 0.5),
                bias=_shifted(_scaled(material.normal.bias, 0.5), 0.5),
            )
            bsdf = {"type": "normalmap", "normalmap": self._texture(encoded), "bsdf": bsdf}
        bsdf = {"type": "twosided", "bsdf": bsdf}
        opacity = material.opacity
        if isinstance(opacity, Texture):
            mask = self._texture(opacity, threshold=material.opacity_threshold)
            return {"type": "mask", "opacity": mask, "bsdf": bsdf}
        if opacity < max(material.opacity_threshold, 1.0):
            seen = 0.0 if opacity < material.opacity_threshold else min(max(opacity, 0.0), 1.0)
            return {"type": "mask", "opacity": seen, "bsdf": bsdf}
        return bsdf

    def _base(self, material: Material) -> tuple[Any, Any, float]:
        """Return base colour, metalness and index of refraction."""
        index = max(material.ior, 1.01)
        specular = material.specular_color
        if specular is None:
            return self._color(material.diffuse_color), self._number(material.metallic), index
        if isinstance(specular, Texture):
            return self._color(material.diffuse_color), 0.0, index
        # F0 = ((n - 1) / (n + 1))^2, solved for n; UsdPreviewSurface, specular workflow.
        reflectance = max(specular)
        if reflectance > _METAL:
            return _rgb(specular), 1.0, index
        root = math.sqrt(max(reflectance, 1e-4))
        return self._color(material.diffuse_color), 0.0, (1.0 + root) / (1.0 - root)

    def _color(self, value: Color | Texture) -> Any:
        return self._texture(value) if isinstance(value, Texture) else _rgb(value)

    def _number(self, value: float | Texture, *, least: float = 0.0) -> Any:
        return self._texture(value) if isinstance(value, Texture) else min(max(float(value), least), 1.0)

    def _texture(self, texture: Texture, *, unit: bool = True, threshold: float = 0.0) -> Any:
        if threshold > 0.0:
            return self._bitmap(texture, (sampled(texture, unit=unit) >= threshold).astype(np.float32))
        if texture not in self._textures:
            self._textures[texture] = self._bitmap(texture, sampled(texture, unit=unit))
        return self._textures[texture]

    def _bitmap(self, texture: Texture, pixels: Pixels) -> Any:
        mi = self._mi
        transform = mi.ScalarTransform4f()
        transform = transform.translate([*texture.uv_translation, 0.0])
        transform = transform.rotate([0.0, 0.0, 1.0], math.degrees(texture.uv_rotation))
        transform = transform.scale([*texture.uv_scale, 1.0])
        # The first row of a bitmap lies at v = 0, the last row of an image file.
        rows = np.ascontiguousarray(pixels[::-1])
        return mi.load_dict(
            {
                "type": "bitmap",
                "bitmap": mi.Bitmap(rows if rows.shape[2] == 3 else rows[..., :1]),
                "raw": True,
                "format": "fp16",
                "filter_type": "bilinear",
                "wrap_mode": _WRAPS[texture.wrap[0]],
                "to_uv": transform,
            }
        )


def sampled(texture: Texture, *, unit: bool = True) -> Pixels:
    """Return the values of a texture after scale and bias, shape (H, W, 3), or (H, W, 1) for one channel.

    Args:
        texture: The texture.
        unit: Whether values are kept within 0 to 1.
    """
    pixels = read_image(texture)
    if len(texture.channel) == 1:
        channel = _CHANNELS.index(texture.channel)
        pixels = pixels[..., channel : channel + 1]
        values = pixels * np.float32(texture.scale[channel]) + np.float32(texture.bias[channel])
    else:
        values = pixels[..., :3] * np.array(texture.scale[:3], np.float32) + np.array(
            texture.bias[:3], np.float32
        )
    largest = 1.0 if unit else np.inf
    return np.asarray(np.clip(values, 0.0, largest), dtype=np.float32)


def read_image(texture: Texture) -> Pixels:
    """Return the pixels of a texture's file, linear where it is sRGB encoded, shape (H, W, 4).

    Args:
        texture: The texture.
    """
    with Image.open(texture.path) as image:
        if image.mode.startswith("I"):
            gray = np.asarray(image, dtype=np.float32) / 65535.0
            pixels = np.stack([gray, gray, gray, np.ones_like(gray)], axis=2)
        else:
            pixels = np.asarray(image.convert("RGBA"), dtype=np.float32) / 255.0
    if texture.srgb:
        # IEC 61966-2-1; opacity is never encoded.
        color = pixels[..., :3]
        pixels[..., :3] = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return pixels


def _rgb(color: tuple[float, ...], largest: float = 1.0) -> dict[str, Any]:
    return {"type": "rgb", "value": [min(max(float(part), 0.0), largest) for part in color]}


def _scaled(values: tuple[float, float, float, float], by: float) -> tuple[float, float, float, float]:
    return values[0] * by, values[1] * by, values[2] * by, values[3] * by


def _shifted(values: tuple[float, float, float, float], by: float) -> tuple[float, float, float, float]:
    return values[0] + by, values[1] + by, values[2] + by, values[3] + by
