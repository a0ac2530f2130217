"""Materials of glTF 2.0 as UsdPreviewSurface."""

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

from pegasus.base.arrays import Array
from pegasus.base.system import REMOTE
from pegasus.scene.gltf_reader import Gltf
from pegasus.scene.scene import GLASS_OPACITY

_FLOAT, _COLOR = Sdf.ValueTypeNames.Float, Sdf.ValueTypeNames.Color3f
_WRAPS = {10497: "repeat", 33071: "clamp", 33648: "mirror"}
_PLAIN, _FORMATS = ("RGB", "RGBA", "L", "LA"), ("PNG", "JPEG")
"""Modes and formats of images that are kept as they are."""
_BASIS, _WEBP = "KHR_texture_basisu", "EXT_texture_webp"
_KTX = b"\xabKTX 20\xbb"
_SPECULAR = "KHR_materials_pbrSpecularGlossiness"

VERTEX_COLORS = "vertexColors"
"""Key of materials whose diffuse texture is multiplied by the display colours of their meshes."""


class MaterialWriter:
    """Writer of the materials of meshes.

    Args:
        stage: Stage to write to.
        folder: Folder for images.
        gltf: The glTF file.
        notices: Receives what is left out, as keys.
    """

    def __init__(self, stage: Usd.Stage, folder: Path, gltf: Gltf, notices: dict[str, None]) -> None:
        self._stage, self._notices, self._gltf = stage, notices, gltf
        self._images = _Images(gltf, folder)

    def coordinates(self, mesh: UsdGeom.Mesh, number: int, uv: Array) -> None:
        """Write texture coordinates.

        Args:
            mesh: The mesh.
            number: Number of the set, from 0.
            uv: Coordinates from the upper left corner, shape (P, 2).
        """
        flipped = np.stack([uv[:, 0], 1.0 - uv[:, 1]], axis=1).astype(np.float32)
        primvars = UsdGeom.PrimvarsAPI(mesh)
        kind = Sdf.ValueTypeNames.TexCoord2fArray
        primvar = primvars.CreatePrimvar(_set_name(number), kind, UsdGeom.Tokens.vertex)
        primvar.Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(flipped)))

    def bind(self, mesh: UsdGeom.Mesh, path: str, material: int | None, colors: Array | None) -> None:
        """Give a mesh its colours.

        Args:
            mesh: The mesh.
            path: Path of its material.
            material: Number of the material; None for glTF's own, white metal, or colours of points.
            colors: Colours of the points, linear, shape (P, 3) or (P, 4).
        """
        given = self._gltf.item("materials", material) if material is not None else {}
        if colors is not None:
            if (
                colors.shape[1] == 4
                and (colors[:, 3] < 1.0).any()
                and given.get("alphaMode", "OPAQUE") != "OPAQUE"
            ):
                self._notices["transparency of vertex colours left out"] = None
            tint = colors[:, :3]
            if material is not None and (base := _Base(given)).texture is None:
                tint = tint * np.array(base.factor[:3])
            linear = np.ascontiguousarray(tint, np.float32)
            mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(Vt.Vec3fArray.FromNumpy(linear))
        if material is not None or colors is None:
            mesh.CreateDoubleSidedAttr(bool(given.get("doubleSided", False)))
            made = self._material(path, given, is_tinted=colors is not None)
            UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(made)

    def _material(self, path: str, given: Mapping[str, Any], *, is_tinted: bool) -> UsdShade.Material:
        """Write a material.

        Args:
            path: Its path.
            given: Its JSON.
            is_tinted: Whether its mesh has vertex colours.
        """
        material = UsdShade.Material.Define(self._stage, path)
        surface = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
        inputs = _Inputs(self._stage, path, surface, self._images)
        base, extensions = _Base(given), given.get("extensions", {})
        if not is_tinted:
            inputs.color("diffuseColor", base.factor[:3], base.texture)
        elif base.texture is None:
            inputs.vertex_color("diffuseColor")
        else:
            # A preview surface cannot multiply the two.
            inputs.color("diffuseColor", base.factor[:3], base.texture)
            material.GetPrim().SetCustomDataByKey(VERTEX_COLORS, True)
        self._reflection(inputs, given)
        strength = extensions.get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1.0)
        emissive = [strength * part for part in given.get("emissiveFactor", (0.0, 0.0, 0.0))]
        if any(emissive):
            inputs.color("emissiveColor", emissive, given.get("emissiveTexture"))
        if (normal := given.get("normalTexture")) is not None:
            inputs.normal(normal)
        self._opacity(inputs, base, given)
        if (ior := extensions.get("KHR_materials_ior", {}).get("ior")) is not None:
            inputs.number("ior", ior)
        coat = extensions.get("KHR_materials_clearcoat", {})
        if "clearcoatNormalTexture" in coat:
            self._notices["normal textures of clear coats left out"] = None
        for name, value, texture, channel in (
            ("clearcoat", "clearcoatFactor", "clearcoatTexture", "r"),
            ("clearcoatRoughness", "clearcoatRoughnessFactor", "clearcoatRoughnessTexture", "g"),
        ):
            if coat:
                inputs.number(name, coat.get(value, 0.0), coat.get(texture), channel)
        return material

    def _reflection(self, inputs: "_Inputs", given: Mapping[str, Any]) -> None:
        """Write how a surface reflects: by metal and roughness, or by a specular colour and gloss."""
        if (other := given.get("extensions", {}).get(_SPECULAR)) is not None:
            mirror, gloss = other.get("specularGlossinessTexture"), other.get("glossinessFactor", 1.0)
            inputs.workflow()
            inputs.color("specularColor", other.get("specularFactor", (1.0,) * 3), mirror)
            inputs.number("roughness", -gloss, mirror, "a", offset=1.0)
            return
        body = given.get("pbrMetallicRoughness", {})
        gloss = body.get("metallicRoughnessTexture")
        inputs.number("metallic", body.get("metallicFactor", 1.0), gloss, "b")
        inputs.number("roughness", body.get("roughnessFactor", 1.0), gloss, "g")

    def _opacity(self, inputs: "_Inputs", base: "_Base", given: Mapping[str, Any]) -> None:
        """Write the opacity of a surface: its alpha, or that of thin glass where it transmits light."""
        through = given.get("extensions", {}).get("KHR_materials_transmission", {})
        share, mode = through.get("transmissionFactor", 0.0), given.get("alphaMode", "OPAQUE")
        if mode == "MASK":
            # A threshold of 0 would blend.
            inputs.number("opacityThreshold", max(given.get("alphaCutoff", 0.5), 1e-3))
        if share > 0.0 and mode != "MASK":
            self._notices["transmission drawn as thin glass"] = None
            lost = share * (1.0 - GLASS_OPACITY)
            if (texture := through.get("transmissionTexture")) is not None:
                inputs.number("opacity", -lost, texture, "r", offset=1.0)
            else:
                clear = (1.0 - lost) * (base.factor[3] if mode == "BLEND" else 1.0)
                inputs.number("opacity", clear)
        elif mode != "OPAQUE":
            inputs.number("opacity", base.factor[3], base.texture, "a", space="sRGB")


class _Base:
    """Base colour of a material: four factors, and a texture or None."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        other = given.get("extensions", {}).get(_SPECULAR)
        body = given.get("pbrMetallicRoughness", {}) if other is None else other
        kind = "baseColor" if other is None else "diffuse"
        self.factor: Sequence[float] = body.get(f"{kind}Factor", (1.0,) * 4)
        self.texture: Mapping[str, Any] | None = body.get(f"{kind}Texture")


class _Images:
    """Images of a file, written to a folder once each.

    Args:
        gltf: The glTF file.
        folder: The folder.
    """

    def __init__(self, gltf: Gltf, folder: Path) -> None:
        self._gltf, self._folder = gltf, folder
        self._kept: dict[int, tuple[str, bool]] = {}

    def texture(self, number: int) -> tuple[str, bool, list[str]]:
        """Return name and presence of alpha of a texture's image, and its wrap modes along u and v."""
        entry = self._gltf.item("textures", number)
        others = entry.get("extensions", {})
        source = entry.get("source", others.get(_WEBP, {}).get("source"))
        if source is None and _BASIS in others:
            raise self._gltf.unsupported(_BASIS)
        if source is None:
            raise ValueError(f"texture {number} has no image")
        sampler = self._gltf.item("samplers", entry["sampler"]) if "sampler" in entry else {}
        wraps = [_WRAPS[sampler.get(name, 10497)] for name in ("wrapS", "wrapT")]
        return (*self._file(source), wraps)

    def _file(self, number: int) -> tuple[str, bool]:
        if number not in self._kept:
            address = str(self._gltf.item("images", number).get("uri", ""))
            if REMOTE.match(address):
                return address, False
            content = self._gltf.image(number)
            if content.startswith(_KTX):
                raise self._gltf.unsupported(f"images in KTX 2.0 ({self._name(number)})")
            try:
                with Image.open(io.BytesIO(content)) as image:
                    image.load()
                    suffix, has_alpha = (image.format or "png").lower(), "A" in image.getbands()
                    if image.mode not in _PLAIN or image.format not in _FORMATS:
                        stream = io.BytesIO()
                        image.convert("RGBA").save(stream, format="PNG")
                        content, suffix, has_alpha = stream.getvalue(), "png", True
            except UnidentifiedImageError:
                raise ValueError(f"image {number} cannot be read: {self._name(number)}") from None
            except (OSError, SyntaxError, Image.DecompressionBombError) as error:
                raise ValueError(f"image {number} cannot be read: {error}") from None
            name = f"{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
            (self._folder / name).write_bytes(content)
            self._kept[number] = f"./{name}", has_alpha
        return self._kept[number]

    def _name(self, number: int) -> str:
        entry = self._gltf.item("images", number)
        address = entry.get("uri", "data:")
        kind = str(entry.get("name") or entry.get("mimeType") or "without a name")
        return kind if address.startswith("data:") else str(address)


class _Inputs:
    """Writer of the inputs of one surface."""

    def __init__(self, stage: Usd.Stage, path: str, surface: UsdShade.Shader, images: _Images) -> None:
        self._stage, self._path, self._surface, self._images = stage, path, surface, images
        self._readers: dict[int, UsdShade.Output] = {}

    def color(self, name: str, factor: Sequence[float], texture: Mapping[str, Any] | None) -> None:
        """Write a colour: a factor, times an image in sRGB."""
        entry = self._surface.CreateInput(name, _COLOR)
        if texture is None:
            entry.Set(Gf.Vec3f(*factor))
        else:
            entry.ConnectToSource(self._texture(name, texture, "rgb", (*factor, 1.0), "sRGB"))

    def vertex_color(self, name: str) -> None:
        """Write the display colour of the mesh as an input."""
        reader = UsdShade.Shader.Define(self._stage, f"{self._path}/{name}")
        reader.CreateIdAttr("UsdPrimvarReader_float3")
        reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("displayColor")
        output = reader.CreateOutput("result", Sdf.ValueTypeNames.Float3)
        self._surface.CreateInput(name, _COLOR).ConnectToSource(output)

    def workflow(self) -> None:
        """Choose the workflow of specular colours."""
        self._surface.CreateInput("useSpecularWorkflow", Sdf.ValueTypeNames.Int).Set(1)

    def number(
        self,
        name: str,
        factor: float,
        texture: Mapping[str, Any] | None = None,
        channel: str = "r",
        *,
        offset: float = 0.0,
        space: str = "raw",
    ) -> None:
        """Write a number: a factor, times a channel of an image, plus an offset."""
        entry = self._surface.CreateInput(name, _FLOAT)
        if texture is None or (channel == "a" and not self._images.texture(texture["index"])[1]):
            entry.Set(factor + offset)
        else:
            made = self._texture(name, texture, channel, (factor,) * 4, space, (offset,) * 4)
            entry.ConnectToSource(made)

    def normal(self, texture: Mapping[str, Any]) -> None:
        """Write a normal map."""
        bend = texture.get("scale", 1.0)
        scale, bias = (2.0 * bend, 2.0 * bend, 2.0, 1.0), (-bend, -bend, -1.0, 0.0)
        output = self._texture("normal", texture, "rgb", scale, "raw", bias)
        self._surface.CreateInput("normal", Sdf.ValueTypeNames.Normal3f).ConnectToSource(output)

    def _texture(
        self,
        name: str,
        given: Mapping[str, Any],
        channel: str,
        scale: Sequence[float],
        space: str,
        bias: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    ) -> UsdShade.Output:
        file, _, wraps = self._images.texture(given["index"])
        texture = UsdShade.Shader.Define(self._stage, f"{self._path}/{name}")
        texture.CreateIdAttr("UsdUVTexture")
        texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(file)
        if REMOTE.match(file):
            texture.CreateInput("fallback", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*scale))
        texture.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set(space)
        for axis, wrap in zip(("wrapS", "wrapT"), wraps, strict=True):
            texture.CreateInput(axis, Sdf.ValueTypeNames.Token).Set(wrap)
        texture.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*scale))
        texture.CreateInput("bias", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*bias))
        texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(self._placed(name, given))
        return texture.CreateOutput(channel, Sdf.ValueTypeNames.Float3 if channel == "rgb" else _FLOAT)

    def _placed(self, name: str, given: Mapping[str, Any]) -> UsdShade.Output:
        """Write the coordinates of a texture, transformed by KHR_texture_transform.

        The extension turns coordinates counter-clockwise as seen in the image, whose v points down; with v
        up, its origin is at (0, 1).
        """
        change = given.get("extensions", {}).get("KHR_texture_transform", {})
        place = self._coordinates(change.get("texCoord", given.get("texCoord", 0)))
        (x, y), (width, height) = change.get("offset", (0.0, 0.0)), change.get("scale", (1.0, 1.0))
        turn = change.get("rotation", 0.0)
        if (x, y, width, height, turn) == (0.0, 0.0, 1.0, 1.0, 0.0):
            return place
        shift = x + math.sin(turn) * height, 1.0 - y - math.cos(turn) * height
        node = UsdShade.Shader.Define(self._stage, f"{self._path}/{name}_place")
        node.CreateIdAttr("UsdTransform2d")
        node.CreateInput("in", Sdf.ValueTypeNames.Float2).ConnectToSource(place)
        node.CreateInput("scale", Sdf.ValueTypeNames.Float2).Set(Gf.Vec2f(width, height))
        node.CreateInput("rotation", _FLOAT).Set(math.degrees(turn))
        node.CreateInput("translation", Sdf.ValueTypeNames.Float2).Set(Gf.Vec2f(*shift))
        return node.CreateOutput("result", Sdf.ValueTypeNames.Float2)

    def _coordinates(self, number: int) -> UsdShade.Output:
        if number not in self._readers:
            reader = UsdShade.Shader.Define(self._stage, f"{self._path}/coordinates_{number}")
            reader.CreateIdAttr("UsdPrimvarReader_float2")
            reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set(_set_name(number))
            self._readers[number] = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        return self._readers[number]


def _set_name(number: int) -> str:
    return f"st{number}" if number else "st"
