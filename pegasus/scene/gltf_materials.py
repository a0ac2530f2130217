"""Materials of glTF 2.0 as UsdPreviewSurface."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

from pegasus.base.arrays import Array
from pegasus.scene.gltf_reader import Gltf

_FLOAT, _COLOR = Sdf.ValueTypeNames.Float, Sdf.ValueTypeNames.Color3f
_WRAPS = {10497: "repeat", 33071: "clamp", 33648: "mirror"}
_PLAIN = ("RGB", "RGBA", "L", "LA")
"""Modes of images that are kept as they are."""


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
        if material is not None or colors is None:
            if colors is not None:
                self._notices["vertex colours of meshes with a material left out"] = None
            given = self._gltf.item("materials", material) if material is not None else {}
            mesh.CreateDoubleSidedAttr(bool(given.get("doubleSided", False)))
            UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(self._material(path, given))
            return
        if colors.shape[1] == 4 and (colors[:, 3] < 1.0).any():
            self._notices["transparency of vertex colours left out"] = None
        linear = np.ascontiguousarray(colors[:, :3], np.float32)
        mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(Vt.Vec3fArray.FromNumpy(linear))

    def _material(self, path: str, given: Mapping[str, Any]) -> UsdShade.Material:
        material = UsdShade.Material.Define(self._stage, path)
        surface = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
        inputs = _Inputs(self._stage, path, surface, self._images)
        body, extensions = given.get("pbrMetallicRoughness", {}), given.get("extensions", {})
        base, color = body.get("baseColorFactor", (1.0,) * 4), body.get("baseColorTexture")
        inputs.color("diffuseColor", base[:3], color)
        gloss = body.get("metallicRoughnessTexture")
        inputs.number("metallic", body.get("metallicFactor", 1.0), gloss, "b")
        inputs.number("roughness", body.get("roughnessFactor", 1.0), gloss, "g")
        strength = extensions.get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1.0)
        emissive = [strength * part for part in given.get("emissiveFactor", (0.0, 0.0, 0.0))]
        if any(emissive):
            inputs.color("emissiveColor", emissive, given.get("emissiveTexture"))
        if (normal := given.get("normalTexture")) is not None:
            inputs.normal(normal)
        mode = given.get("alphaMode", "OPAQUE")
        if mode != "OPAQUE":
            inputs.number("opacity", base[3], color, "a", space="sRGB")
        if mode == "MASK":
            # A threshold of 0 would blend.
            surface.CreateInput("opacityThreshold", _FLOAT).Set(max(given.get("alphaCutoff", 0.5), 1e-3))
        coat = extensions.get("KHR_materials_clearcoat", {})
        for name, value in (
            ("ior", extensions.get("KHR_materials_ior", {}).get("ior")),
            ("clearcoat", coat.get("clearcoatFactor")),
            ("clearcoatRoughness", coat.get("clearcoatRoughnessFactor")),
        ):
            if value is not None:
                surface.CreateInput(name, _FLOAT).Set(value)
        return material


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
        if "source" not in entry:
            raise ValueError(f"texture {number} has no image")
        sampler = self._gltf.item("samplers", entry["sampler"]) if "sampler" in entry else {}
        wraps = [_WRAPS[sampler.get(name, 10497)] for name in ("wrapS", "wrapT")]
        return (*self._file(entry["source"]), wraps)

    def _file(self, number: int) -> tuple[str, bool]:
        if number not in self._kept:
            content = self._gltf.image(number)
            try:
                with Image.open(io.BytesIO(content)) as image:
                    image.load()
                    suffix, has_alpha = (image.format or "png").lower(), "A" in image.getbands()
                    if image.mode not in _PLAIN:
                        stream = io.BytesIO()
                        image.convert("RGBA").save(stream, format="PNG")
                        content, suffix, has_alpha = stream.getvalue(), "png", True
            except (OSError, SyntaxError, Image.DecompressionBombError) as error:
                raise ValueError(f"image {number} cannot be read: {error}") from None
            name = f"{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
            (self._folder / name).write_bytes(content)
            self._kept[number] = name, has_alpha
        return self._kept[number]


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

    def number(
        self, name: str, factor: float, texture: Mapping[str, Any] | None, channel: str, *, space: str = "raw"
    ) -> None:
        """Write a number: a factor, times a channel of an image."""
        entry = self._surface.CreateInput(name, _FLOAT)
        if texture is None or (channel == "a" and not self._images.texture(texture["index"])[1]):
            entry.Set(factor)
        else:
            entry.ConnectToSource(self._texture(name, texture, channel, (factor,) * 4, space))

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
        texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(f"./{file}")
        texture.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set(space)
        for axis, wrap in zip(("wrapS", "wrapT"), wraps, strict=True):
            texture.CreateInput(axis, Sdf.ValueTypeNames.Token).Set(wrap)
        texture.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*scale))
        texture.CreateInput("bias", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*bias))
        place = self._coordinates(given.get("texCoord", 0))
        texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(place)
        return texture.CreateOutput(channel, Sdf.ValueTypeNames.Float3 if channel == "rgb" else _FLOAT)

    def _coordinates(self, number: int) -> UsdShade.Output:
        if number not in self._readers:
            reader = UsdShade.Shader.Define(self._stage, f"{self._path}/coordinates_{number}")
            reader.CreateIdAttr("UsdPrimvarReader_float2")
            reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set(_set_name(number))
            self._readers[number] = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        return self._readers[number]


def _set_name(number: int) -> str:
    return f"st{number}" if number else "st"
