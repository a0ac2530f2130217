"""MaterialX surfaces (Standard Surface, OpenPBR, glTF PBR, preview surface) as UsdPreviewSurface parameters.

Sources: Autodesk Standard Surface 1.0.1, Academy Software Foundation OpenPBR 1.1, MaterialX 1.39.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pxr import UsdShade

from pegasus.scene.scene import GLASS_OPACITY, Material, Texture
from pegasus.scene.shader_inputs import constant, source_of, texture_file
from pegasus.scene.stage import Notices
from pegasus.scene.udim import placed_on_tiles

CONTEXT = "mtlx"
"""Render context of MaterialX surfaces in USD."""

Value = float | tuple[float, ...] | Texture

_WRAPS = {"periodic": "repeat", "clamp": "clamp", "mirror": "mirror", "constant": "black"}
_CHANNELS = {"outr": "r", "outg": "g", "outb": "b", "outa": "a", "outx": "r", "outy": "g", "outz": "b"}
# Luminance [cd/m^2] of a surface whose emissive colour is 1.
_EMISSION_NITS = 1000.0


@dataclass(frozen=True)
class _Names:
    """Inputs of a surface by their meaning, with the defaults of its specification; "" for none."""

    color: tuple[str, Value]
    weight: tuple[str, Value]
    metal: tuple[str, Value]
    roughness: tuple[str, Value]
    specular: tuple[str, Value]
    ior: tuple[str, Value]
    transmission: tuple[str, Value]
    transmission_color: tuple[str, Value]
    subsurface: tuple[str, Value]
    subsurface_color: tuple[str, Value]
    coat: tuple[str, Value]
    coat_color: tuple[str, Value]
    coat_roughness: tuple[str, Value]
    emission: tuple[str, Value]
    emission_color: tuple[str, Value]
    opacity: tuple[str, Value]
    normal: str
    emission_scale: float = 1.0


_WHITE, _GREY, _BLACK = (1.0,) * 3, (0.8,) * 3, (0.0,) * 3
_SURFACES: Mapping[str, _Names] = {
    "standard_surface": _Names(
        ("base_color", _GREY), ("base", 1.0), ("metalness", 0.0), ("specular_roughness", 0.2),
        ("specular", 1.0), ("specular_IOR", 1.5), ("transmission", 0.0), ("transmission_color", _WHITE),
        ("subsurface", 0.0), ("subsurface_color", _WHITE), ("coat", 0.0), ("coat_color", _WHITE),
        ("coat_roughness", 0.1), ("emission", 0.0), ("emission_color", _WHITE), ("opacity", _WHITE), "normal",
    ),
    "open_pbr_surface": _Names(
        ("base_color", _GREY), ("base_weight", 1.0), ("base_metalness", 0.0), ("specular_roughness", 0.3),
        ("specular_weight", 1.0), ("specular_ior", 1.5), ("transmission_weight", 0.0),
        ("transmission_color", _WHITE), ("subsurface_weight", 0.0), ("subsurface_color", _GREY),
        ("coat_weight", 0.0), ("coat_color", _WHITE), ("coat_roughness", 0.0), ("emission_luminance", 0.0),
        ("emission_color", _WHITE), ("geometry_opacity", 1.0), "geometry_normal", 1.0 / _EMISSION_NITS,
    ),
    "gltf_pbr": _Names(
        ("base_color", _WHITE), ("", 1.0), ("metallic", 1.0), ("roughness", 1.0), ("specular", 1.0),
        ("ior", 1.5), ("transmission", 0.0), ("", _WHITE), ("", 0.0), ("", _WHITE), ("clearcoat", 0.0),
        ("", _WHITE), ("clearcoat_roughness", 0.0), ("emissive_strength", 1.0), ("emissive", _BLACK),
        ("alpha", 1.0), "normal",
    ),
    "UsdPreviewSurface": _Names(
        ("diffuseColor", (0.18,) * 3), ("", 1.0), ("metallic", 0.0), ("roughness", 0.5), ("", 1.0),
        ("ior", 1.5), ("", 0.0), ("", _WHITE), ("", 0.0), ("", _WHITE), ("clearcoat", 0.0), ("", _WHITE),
        ("clearcoatRoughness", 0.01), ("", 1.0), ("emissiveColor", _BLACK), ("opacity", 1.0), "normal",
    ),
}  # fmt: skip


def materialx_surface(shader: UsdShade.Shader, path: str, notices: Notices) -> Material | None:
    """Return a preview surface close to a MaterialX surface, or None for another shader.

    Args:
        shader: The surface.
        path: Path of its material.
        notices: Receives what is left out.

    Raises:
        ConfigError: If a texture does not exist.
    """
    kind = _kind(shader)
    names = next((names for name, names in _SURFACES.items() if kind.startswith(name)), None)
    return None if names is None else _Surface(shader, names, path, notices).material()


class _Surface:
    """Translation of one surface."""

    def __init__(self, shader: UsdShade.Shader, names: _Names, path: str, notices: Notices) -> None:
        self._shader, self._names, self._path, self._notices = shader, names, path, notices

    def material(self) -> Material:
        names = self._names
        color = self._times(self._value(names.color), self._value(names.weight))
        color = self._mixed(color, self._value(names.subsurface_color), self._number(names.subsurface))
        coat = self._value(names.coat)
        if (coat_color := self._value(names.coat_color)) != _WHITE:
            share = coat if isinstance(coat, float) else 1.0
            color = self._times(color, self._mixed(_WHITE, coat_color, share))
        opacity = self._opacity()
        transmission = self._number(names.transmission)
        if transmission > 0.0:
            self._notices.add("transmission drawn as thin glass", self._path)
            color = self._mixed(color, self._value(names.transmission_color), transmission)
            opacity = self._times(opacity, 1.0 - (1.0 - GLASS_OPACITY) * transmission)
        emission = self._times(self._value(names.emission_color), self._value(names.emission))
        normal = self._normal()
        return Material(
            path=self._path,
            diffuse_color=_color(color),
            emissive_color=_color(self._times(emission, names.emission_scale)),
            metallic=_number(self._value(names.metal)),
            roughness=_number(self._value(names.roughness)),
            clearcoat=_number(coat),
            clearcoat_roughness=_number(self._value(names.coat_roughness)),
            opacity=opacity,
            opacity_threshold=self._threshold(),
            ior=self._ior(),
            normal=normal,
        )

    def _value(self, named: tuple[str, Value]) -> Value:
        """Return the value of an input: its default where it is absent or cannot be translated."""
        name, default = named
        value = _value(self._shader, name, self._path, self._notices) if name else None
        return default if value is None else value

    def _number(self, named: tuple[str, Value]) -> float:
        """Return the value of an input that must be a constant."""
        value = self._value(named)
        if isinstance(value, Texture):
            self._notices.add(f"texture of {named[0]} left out", self._path)
            value = named[1]
        assert isinstance(value, float)
        return value

    def _opacity(self) -> Any:
        opacity = self._value(self._names.opacity)
        if isinstance(opacity, Texture):
            return replace(opacity, channel="r") if opacity.channel == "rgb" else opacity
        return sum(opacity) / len(opacity) if isinstance(opacity, tuple) else opacity

    def _threshold(self) -> float:
        if self._names is _SURFACES["gltf_pbr"]:
            # 0, 1 and 2 are opaque, cut out and blended.
            mode = _value(self._shader, "alpha_mode", self._path, self._notices)
            cut = _value(self._shader, "alpha_cutoff", self._path, self._notices)
            return (cut if isinstance(cut, float) else 0.5) if mode == 1.0 else 0.0
        cut = _value(self._shader, "opacityThreshold", self._path, self._notices)
        return cut if isinstance(cut, float) else 0.0

    def _ior(self) -> float:
        """Return the refractive index whose reflectance is that of the surface times its weight."""
        ior, weight = self._number(self._names.ior), self._number(self._names.specular)
        reflected = min(abs(ior - 1.0) / (ior + 1.0) * math.sqrt(max(weight, 0.0)), 0.99)
        return ior if weight == 1.0 else (1.0 + reflected) / (1.0 - reflected)

    def _normal(self) -> Texture | None:
        value = _value(self._shader, self._names.normal, self._path, self._notices)
        if not isinstance(value, Texture):
            return None
        return replace(
            value, channel="rgb", scale=(2.0, 2.0, 2.0, 1.0), bias=(-1.0, -1.0, -1.0, 0.0), srgb=False
        )

    def _times(self, one: Value, other: Value) -> Any:
        """Return the product of two values; of two textures, the first."""
        if isinstance(one, Texture) and isinstance(other, Texture):
            self._notices.add("of two multiplied textures, one is left out", self._path)
            return one
        return _product(one, other)

    def _mixed(self, one: Value, other: Value, share: float) -> Any:
        """Return the mean of two values; of textures, the one of larger weight."""
        if share == 0.0 or share == 1.0:
            return other if share else one
        if isinstance(one, Texture) or isinstance(other, Texture):
            self._notices.add("of two mixed textures or colours, one is left out", self._path)
            return other if share > 0.5 else one
        pairs = zip(_color(one), _color(other), strict=True)
        return tuple((1.0 - share) * a + share * b for a, b in pairs)


def _product(one: Value, other: Value) -> Value:
    """Return the product of two values, of which one is a texture at most."""
    if isinstance(other, Texture):
        one, other = other, one
    assert not isinstance(other, Texture)
    if isinstance(one, float) and isinstance(other, float):
        return one * other
    factors = other if isinstance(other, tuple) else (other,) * 3
    if isinstance(one, Texture):
        red, green, blue = factors
        # A single number may come from any channel, alpha included.
        wide = (red, green, blue, red if isinstance(other, float) else 1.0)
        scale, bias = (
            tuple(part * factor for part, factor in zip(row, wide, strict=True))
            for row in (one.scale, one.bias)
        )
        return replace(one, scale=_four(scale), bias=_four(bias))
    parts = one if isinstance(one, tuple) else (one,) * 3
    return tuple(part * factor for part, factor in zip(parts, factors, strict=True))


def _four(parts: tuple[float, ...]) -> tuple[float, float, float, float]:
    red, green, blue, alpha = parts
    return red, green, blue, alpha


def _kind(node: UsdShade.Shader) -> str:
    """Return the category and type of a node, `image_color3` for one."""
    return str(node.GetIdAttr().Get() or "").removeprefix("ND_")


def _value(node: UsdShade.Shader, name: str, path: str, notices: Notices) -> Value | None:
    """Return the constant or texture of a node's input, or None."""
    if (source := source_of(node, name)) is None:
        return None
    return _output(source.node, source.output, path, notices) if source.node else _plain(source.value)


def _plain(value: Any) -> Value | None:
    if isinstance(value, bool | int | float):
        return float(value)
    try:
        return tuple(float(part) for part in value)[:3]
    except (TypeError, ValueError):
        return None


def _output(node: UsdShade.Shader, output: str, path: str, notices: Notices) -> Value | None:
    """Return the constant or texture that a node puts out, or None with a notice."""
    kind = _kind(node)
    category = kind.split("_")[0]
    if category in ("image", "tiledimage", "gltf", "UsdUVTexture") and node.GetInput("file"):
        return _texture(node, kind, output, path, notices)
    if category in ("normalmap", "convert", "dot", "constant"):
        return _value(node, "value" if category == "constant" else "in", path, notices)
    if category == "multiply":
        one, other = (_value(node, name, path, notices) for name in ("in1", "in2"))
        if (
            one is not None
            and other is not None
            and not (isinstance(one, Texture) and isinstance(other, Texture))
        ):
            return _product(one, other)
    if category in ("extract", "separate3", "separate4"):
        inner = _value(node, "in", path, notices)
        index = _value(node, "index", path, notices)
        channel = "rgba"[int(index)] if isinstance(index, float) else _CHANNELS.get(output, "r")
        if isinstance(inner, Texture):
            return replace(inner, channel=channel)
        if isinstance(inner, tuple):
            return inner["rgba".index(channel)]
    notices.add(f"input left out: it comes from a MaterialX {kind or 'node without a definition'}", path)
    return None


def _texture(node: UsdShade.Shader, kind: str, output: str, path: str, notices: Notices) -> Texture | None:
    """Return the texture of an image node, or None if it has no image."""
    file = source_of(node, "file")
    if file is None or (image := texture_file(file.attribute, notices)) is None:
        notices.add("texture without an image", node.GetPath())
        return None
    for name in ("realworldimagesize", "realworldtilesize"):
        if node.GetInput(name):
            notices.add("sizes of a tiled image in lengths left out", node.GetPath())
    is_color = kind.endswith(("color3", "color4")) or (kind.startswith("UsdUVTexture") and output == "rgb")
    is_vector = kind.endswith(("vector3", "vector4", "vector2"))
    encoded = str(file.attribute.GetColorSpace() or "").lower().startswith(("srgb", "g22"))
    tiling = _value(node, "uvtiling", path, notices)
    modes = [_string(node, name) for name in ("uaddressmode", "vaddressmode")]
    texture = Texture(
        path=image,
        channel="rgb" if is_color or is_vector else _CHANNELS.get(f"out{output}", "r"),
        # OpenEXR is encoded by sRGB when read for a colour.
        srgb=is_color and (encoded or image.suffix.lower() == ".exr"),
        wrap=(_WRAPS.get(modes[0], "repeat"), _WRAPS.get(modes[1], "repeat")),
        uv_scale=(tiling[0], tiling[1]) if isinstance(tiling, tuple) else (1.0, 1.0),
        uv_set=_uv_set(node, notices),
    )
    return placed_on_tiles(texture)


def _uv_set(node: UsdShade.Shader, notices: Notices) -> str:
    """Return the primvar of a node's texture coordinates."""
    source = source_of(node, "texcoord") or source_of(node, "st")
    if source is None or source.node is None:
        return "st"
    kind = _kind(source.node)
    if kind.startswith(("geompropvalue", "UsdPrimvarReader")):
        return _string(source.node, "geomprop") or _string(source.node, "varname") or "st"
    if not kind.startswith("texcoord"):
        notices.add(f"transform of texture coordinates left out: a MaterialX {kind}", node.GetPath())
    return "st"


def _string(node: UsdShade.Shader, name: str) -> str:
    return str(constant(node, name, ""))


def _color(value: Value) -> Any:
    """Return a value as a colour."""
    return (value,) * 3 if isinstance(value, float) else value


def _number(value: Value) -> Any:
    """Return a value as a number."""
    return value[0] if isinstance(value, tuple) else value
