"""Translation of materials to UsdPreviewSurface parameters."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxr import Usd, UsdGeom, UsdShade

from pegasus.scene.gltf_materials import VERTEX_COLORS
from pegasus.scene.materialx import CONTEXT, materialx_surface
from pegasus.scene.mdl import approximate_mdl
from pegasus.scene.scene import Color, Material, Texture
from pegasus.scene.shader_inputs import constant, source_of, texture_file
from pegasus.scene.stage import TIME, Notices
from pegasus.scene.udim import TOKEN, placed_on_tiles

_COLORS = {
    "diffuseColor": "diffuse_color",
    "emissiveColor": "emissive_color",
    "specularColor": "specular_color",
}
_NUMBERS = {
    "metallic": "metallic",
    "roughness": "roughness",
    "clearcoat": "clearcoat",
    "clearcoatRoughness": "clearcoat_roughness",
    "opacity": "opacity",
}
_CONSTANTS = {"opacityThreshold": "opacity_threshold", "ior": "ior"}
_WRAPS = ("repeat", "clamp", "mirror", "black")
_UNTEXTURED: Color = (0.5, 0.5, 0.5)
_PORTION = 4096


@dataclass(frozen=True)
class BoundMaterial:
    """Material of a prim, and the primvars that it reads."""

    key: str
    """Key into the materials."""
    uv_set: str = "st"
    reads_color: bool = False
    """Whether the diffuse colour is the display colour of each vertex."""


def bound_materials(
    prims: Sequence[Usd.Prim], purpose: str = UsdShade.Tokens.full
) -> Iterator[UsdShade.Material]:
    """Return the material bound to each prim; one call for many prims is many times faster than single calls.

    Args:
        prims: Prims, or subsets of faces.
        purpose: Binding purpose; a binding for all purposes is the fallback.
    """
    for first in range(0, len(prims), _PORTION):
        portion = list(prims[first : first + _PORTION])
        yield from UsdShade.MaterialBindingAPI.ComputeBoundMaterials(portion, purpose)[0]


class Materials:
    """Materials of a stage, each translated once.

    Args:
        notices: Receives notices of inputs that cannot be translated exactly.
    """

    def __init__(self, notices: Notices) -> None:
        self.items: dict[str, Material] = {}
        self._notices = notices
        self._bound: dict[str, BoundMaterial] = {}

    def of(self, prim: Usd.Prim, material: UsdShade.Material) -> BoundMaterial:
        """Return the material of a prim or subset of faces: the bound one, or one of its display colour.

        Args:
            prim: A gprim or subset.
            material: Its bound material; see `bound_materials`.

        Raises:
            ConfigError: If a texture of the material does not exist.
        """
        if not material:
            return self._of_display_color(prim)
        source = material.GetPrim()
        shared = source.GetPrimInPrototype() if source.IsInstanceProxy() else source
        name = str(shared.GetPath())
        if name not in self._bound:
            key = str(source.GetPath())
            self.items[key], reads_color = _translate(material, key, self._notices)
            uv_sets = _uv_sets(self.items[key])
            if len(uv_sets) > 1:
                self._notices.add(f"only the texture coordinates {uv_sets[0]!r} are used", key)
            self._bound[name] = BoundMaterial(key, uv_sets[0] if uv_sets else "st", reads_color)
        return self._bound[name]

    def _of_display_color(self, prim: Usd.Prim) -> BoundMaterial:
        gprim = prim if prim.IsA(UsdGeom.Gprim) else prim.GetParent()
        color, opacity = (
            UsdGeom.PrimvarsAPI(gprim).FindPrimvarWithInheritance(name)
            for name in ("displayColor", "displayOpacity")
        )
        diffuse, reads_color = _UNTEXTURED, False
        if color and color.HasValue() and (values := color.ComputeFlattened(TIME)):
            reads_color = len(values) > 1 and gprim.IsA(UsdGeom.Mesh)
            diffuse = (1.0, 1.0, 1.0) if reads_color else _color(values[0])
        alpha = 1.0
        if opacity and opacity.HasValue() and (values := opacity.ComputeFlattened(TIME)):
            alpha = float(values[0])
        key = "displayColor:" + ":".join(f"{value:g}" for value in (*diffuse, alpha))
        self.items.setdefault(key, Material(path=key, diffuse_color=diffuse, opacity=alpha))
        return BoundMaterial(key, reads_color=reads_color)


def _translate(material: UsdShade.Material, path: str, notices: Notices) -> tuple[Material, bool]:
    """Return a material, and whether it takes its diffuse colour from the display colour."""
    shader = material.ComputeSurfaceSource()[0]
    if shader and shader.GetIdAttr().Get() == "UsdPreviewSurface":
        found, reads_color = _preview_surface(shader, path, notices)
        return found, reads_color or bool(material.GetPrim().GetCustomDataByKey(VERTEX_COLORS))
    other = material.ComputeSurfaceSource(CONTEXT)[0]
    if other and (translated := materialx_surface(other, path, notices)) is not None:
        return translated, False
    mdl = material.ComputeSurfaceSource("mdl")[0]
    if mdl and mdl.GetSourceAsset("mdl"):
        return approximate_mdl(mdl, path, notices), False
    unknown = shader or other
    kind = f"surface {unknown.GetIdAttr().Get()!r}" if unknown else "material without a surface"
    notices.add(f"{kind} drawn grey: only UsdPreviewSurface, MaterialX and OmniPBR are supported", path)
    return Material(path=path, diffuse_color=_UNTEXTURED), False


def _preview_surface(shader: UsdShade.Shader, path: str, notices: Notices) -> tuple[Material, bool]:
    fields: dict[str, Any] = {}
    reads_color = False
    specular = bool(constant(shader, "useSpecularWorkflow", 0))
    for name, field in (_COLORS | _NUMBERS | _CONSTANTS | {"normal": "normal"}).items():
        if name == "specularColor" and not specular:
            continue
        source = source_of(shader, name)
        if source is None:
            continue
        node, output, value = source.node, source.output, source.value
        if node is None:
            if name != "normal" and value is not None:
                fields[field] = _color(value) if name in _COLORS else float(value)
            continue
        kind = node.GetIdAttr().Get()
        if kind == "UsdUVTexture" and name not in _CONSTANTS:
            if (texture := _texture(node, output, name, notices)) is not None:
                fields[field] = texture
            elif (fallback := constant(node, "fallback", None)) is not None and name != "normal":
                fields[field] = _color(fallback) if name in _COLORS else float(fallback[0])
        elif kind == "UsdPrimvarReader_float3" and name == "diffuseColor":
            reads_color = _varname(node) == "displayColor"
            fields[field] = (1.0, 1.0, 1.0)
        else:
            notices.add(f"input {name} left out: it comes from a {kind}", path)
    if specular:
        fields.setdefault("specular_color", (0.0, 0.0, 0.0))
    return Material(path=path, **fields), reads_color


def _texture(node: UsdShade.Shader, output: str, name: str, notices: Notices) -> Texture | None:
    """Return a texture node as an input of a surface, or None if it has no image."""
    file = source_of(node, "file")
    if file is None or (image := texture_file(file.attribute, notices)) is None:
        notices.add("texture without an image", node.GetPath())
        return None
    color_space = constant(node, "sourceColorSpace", "auto")
    is_normal = name == "normal"
    scale, bias = ((2.0, 2.0, 2.0, 1.0), (-1.0, -1.0, -1.0, 0.0)) if is_normal else ((1.0,) * 4, (0.0,) * 4)
    uv_set, placement = _coordinates(node, notices)
    if TOKEN in image.name and placement:
        notices.add("transform of the coordinates of UDIM tiles left out", node.GetPath())
    texture = Texture(
        path=image,
        channel="rgb" if name in _COLORS or is_normal else output.replace("rgb", "r"),
        srgb=is_srgb(image, color_space, is_color=name in _COLORS),
        wrap=(_wrap(node, "wrapS"), _wrap(node, "wrapT")),
        scale=_floats(constant(node, "scale", scale)),
        bias=_floats(constant(node, "bias", bias)),
        uv_set=uv_set,
        **placement,
    )
    return placed_on_tiles(texture)


def is_srgb(image: Path, color_space: str, *, is_color: bool) -> bool:
    """Return whether the colours of a texture are sRGB encoded; those of OpenEXR are encoded when read.

    Args:
        image: Image file.
        color_space: `sRGB`, `raw` or `auto`.
        is_color: Whether it is read for a colour.
    """
    if image.suffix.lower() == ".exr":
        return is_color
    return color_space == "sRGB" or (color_space == "auto" and is_color)


def _coordinates(node: UsdShade.Shader, notices: Notices) -> tuple[str, dict[str, Any]]:
    """Return the texture coordinates' primvar, and their transform as fields of a Texture."""
    placement: dict[str, Any] = {}
    source = source_of(node, "st")
    while source is not None and source.node is not None:
        reader = source.node
        kind = str(reader.GetIdAttr().Get())
        if kind.startswith("UsdPrimvarReader"):
            return _varname(reader), placement
        if kind != "UsdTransform2d":
            notices.add(f"texture coordinates of a {kind} are taken from 'st'", node.GetPath())
            break
        if placement:
            notices.add("only the last of its texture transforms is used", node.GetPath())
        else:
            placement = {
                "uv_scale": _floats(constant(reader, "scale", (1.0, 1.0))),
                "uv_rotation": math.radians(constant(reader, "rotation", 0.0)),
                "uv_translation": _floats(constant(reader, "translation", (0.0, 0.0))),
            }
        source = source_of(reader, "in")
    return "st", placement


def _varname(reader: UsdShade.Shader) -> str:
    return str(constant(reader, "varname", "st"))


def _wrap(node: UsdShade.Shader, name: str) -> str:
    """Return a wrap mode; `repeat` for images without one, as renderers do."""
    mode = constant(node, name, "repeat")
    return mode if mode in _WRAPS else "repeat"


def _uv_sets(material: Material) -> list[str]:
    textures = (value for value in vars(material).values() if isinstance(value, Texture))
    return list(dict.fromkeys(texture.uv_set for texture in textures))


def _color(value: Any) -> Color:
    red, green, blue = (float(part) for part in tuple(value)[:3])
    return red, green, blue


def _floats(values: Any) -> Any:
    return tuple(float(value) for value in values)
