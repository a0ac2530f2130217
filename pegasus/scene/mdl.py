"""Approximation of Omniverse's MDL materials, chiefly OmniPBR, by preview surfaces."""

import math
from typing import Any

from pxr import UsdShade

from pegasus.scene.scene import GLASS_OPACITY, Material, Texture
from pegasus.scene.shader_inputs import constant, source_of, texture_file
from pegasus.scene.stage import Notices
from pegasus.scene.udim import placed_on_tiles

_GREY = (0.2, 0.2, 0.2)


def approximate_mdl(shader: UsdShade.Shader, path: str, notices: Notices) -> Material:
    """Return a preview surface close to an MDL material; only inputs of OmniPBR are used.

    Raises:
        ConfigError: If a texture does not exist.
    """
    asset = shader.GetSourceAsset("mdl")
    name = shader.GetSourceAssetSubIdentifier("mdl") or (asset.path if asset else "") or "unnamed"
    notices.add(f"MDL {name} approximated by a preview surface", path)
    if "glass" in str(name).lower():
        return Material(
            path=path,
            diffuse_color=_color(constant(shader, "glass_color", (1.0, 1.0, 1.0))),
            roughness=float(constant(shader, "frosting_roughness", 0.0)),
            opacity=GLASS_OPACITY,
            ior=float(constant(shader, "glass_ior", 1.5)),
        )
    fields = _surface(shader, notices) | _opacity(shader, notices)
    if normal := _texture(shader, "normalmap_texture", notices, srgb=False):
        fields["normal"] = normal
    if constant(shader, "enable_emission", False):
        fields["emissive_color"] = _color(constant(shader, "emissive_color", (1.0, 1.0, 1.0)))
    return Material(path=path, **fields)


def _surface(shader: UsdShade.Shader, notices: Notices) -> dict[str, Any]:
    """Return base colour, roughness and metallic, mixed as in OmniPBR."""
    brightness = float(constant(shader, "albedo_brightness", 1.0))
    tint = [brightness * part for part in _color(constant(shader, "diffuse_tint", (1.0, 1.0, 1.0)))]
    plain = _color(constant(shader, "diffuse_color_constant", constant(shader, "diffuse_color", _GREY)))
    add = float(constant(shader, "albedo_add", 0.0))
    scale, bias = (tint[0], tint[1], tint[2], 1.0), (add, add, add, 0.0)
    base = _texture(shader, "diffuse_texture", notices, srgb=True, scale=scale, bias=bias)
    fields: dict[str, Any] = {
        "diffuse_color": base or tuple(part * factor + add for part, factor in zip(plain, tint, strict=True))
    }
    packed = "ORM_texture" if constant(shader, "enable_ORM_texture", False) else None
    for field, constant_name, influence_name, own, channel in (
        ("roughness", "reflection_roughness_constant", "reflection_roughness_texture_influence",
         "reflectionroughness_texture", "g"),
        ("metallic", "metallic_constant", "metallic_texture_influence", "metallic_texture", "b"),
    ):  # fmt: skip
        value = float(constant(shader, constant_name, 0.5 if field == "roughness" else 0.0))
        influence = float(constant(shader, influence_name, 0.0))
        mixed = _texture(
            shader,
            packed or own,
            notices,
            srgb=False,
            channel=channel if packed else "r",
            scale=(influence,) * 4,
            bias=((1.0 - influence) * value,) * 4,
        )
        fields[field] = mixed if mixed is not None and influence > 0 else value
    return fields


def _opacity(shader: UsdShade.Shader, notices: Notices) -> dict[str, Any]:
    if not constant(shader, "enable_opacity", False):
        return {}
    image = None
    if constant(shader, "enable_opacity_texture", False):
        image = _texture(shader, "opacity_texture", notices, srgb=False, channel="r")
    return {
        "opacity": image or float(constant(shader, "opacity_constant", 1.0)),
        "opacity_threshold": float(constant(shader, "opacity_threshold", 0.0)),
    }


def _texture(
    shader: UsdShade.Shader,
    name: str,
    notices: Notices,
    *,
    srgb: bool,
    channel: str = "rgb",
    scale: tuple[float, float, float, float] | None = None,
    bias: tuple[float, float, float, float] | None = None,
) -> Texture | None:
    source = source_of(shader, name)
    if source is None or (image := texture_file(source.attribute, notices)) is None:
        return None
    is_normal = name == "normalmap_texture"
    texture = Texture(
        path=image,
        channel=channel,
        srgb=srgb,
        scale=scale or ((2.0, 2.0, 2.0, 1.0) if is_normal else (1.0, 1.0, 1.0, 1.0)),
        bias=bias or ((-1.0, -1.0, -1.0, 0.0) if is_normal else (0.0, 0.0, 0.0, 0.0)),
        uv_scale=_pair(constant(shader, "texture_scale", (1.0, 1.0))),
        uv_rotation=math.radians(float(constant(shader, "texture_rotate", 0.0))),
        uv_translation=_pair(constant(shader, "texture_translate", (0.0, 0.0))),
    )
    return placed_on_tiles(texture)


def _color(value: Any) -> tuple[float, float, float]:
    red, green, blue = (float(part) for part in tuple(value)[:3])
    return red, green, blue


def _pair(value: Any) -> tuple[float, float]:
    first, second = (float(part) for part in value)
    return first, second
