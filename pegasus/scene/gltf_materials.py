"""Materials of glTF 2.0 as UsdPreviewSurface."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

_FLOAT, _COLOR = Sdf.ValueTypeNames.Float, Sdf.ValueTypeNames.Color3f


class UnreadableError(Exception):
    """An image that cannot be read."""


class MaterialWriter:
    """Writer of the materials of meshes.

    Args:
        stage: Stage to write to.
        folder: Folder for images.
        document: JSON of the glTF file.
        notices: Receives what is left out, as keys.
    """

    def __init__(
        self, stage: Usd.Stage, folder: Path, document: Mapping[str, Any], notices: dict[str, None]
    ) -> None:
        self._stage, self._folder, self._notices = stage, folder, notices
        self._given = document.get("materials", ())

    def bind(self, mesh: UsdGeom.Mesh, path: str, visual: Any) -> None:
        """Give a mesh its colours.

        Args:
            mesh: The mesh.
            path: Path of its material.
            visual: Colours or material of trimesh.

        Raises:
            UnreadableError: If an image cannot be read.
        """
        material = getattr(visual, "material", None)
        if material is None:
            if getattr(visual, "kind", None) == "vertex":
                self._paint(mesh, np.asarray(visual.vertex_colors))
            return
        if "color" in getattr(visual, "vertex_attributes", {}):
            self._notices["vertex colours of meshes with a material left out"] = None
        if visual.uv is not None:
            uv = np.ascontiguousarray(visual.uv, np.float32)
            primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
                "st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex
            )
            primvar.Set(Vt.Vec2fArray.FromNumpy(uv))
        made = self._material(path, material, textured=visual.uv is not None)
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(made)

    def _paint(self, mesh: UsdGeom.Mesh, colors: np.ndarray[Any, np.dtype[Any]]) -> None:
        # Vertex colours of glTF are linear.
        linear = np.ascontiguousarray(colors[:, :3] / 255.0, np.float32)
        primvar = mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)
        primvar.Set(Vt.Vec3fArray.FromNumpy(linear))

    def _material(self, path: str, read: Any, *, textured: bool) -> UsdShade.Material:
        material = UsdShade.Material.Define(self._stage, path)
        surface = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
        writer = _Inputs(self._stage, path, surface, self._folder, textured=textured)
        # Factors as they stand in the file: those of trimesh are rounded to bytes.
        given = self._given[int(read.name)] if read.name else {}
        body, extensions = given.get("pbrMetallicRoughness", {}), given.get("extensions", {})
        base = body.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0))
        color = _image(read, body, "baseColorTexture")
        writer.color("diffuseColor", base[:3], color)
        gloss = _image(read, body, "metallicRoughnessTexture")
        writer.number("metallic", body.get("metallicFactor", 1.0), gloss, "b")
        writer.number("roughness", body.get("roughnessFactor", 1.0), gloss, "g")
        strength = extensions.get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1.0)
        emissive = [strength * part for part in given.get("emissiveFactor", (0.0, 0.0, 0.0))]
        if any(emissive):
            writer.color("emissiveColor", emissive, _image(read, given, "emissiveTexture"))
        writer.normal(_image(read, given, "normalTexture"))
        mode = given.get("alphaMode", "OPAQUE")
        if mode != "OPAQUE":
            writer.number("opacity", base[3], color, "a", space="sRGB")
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


class _Inputs:
    """Writer of the inputs of one surface."""

    def __init__(
        self, stage: Usd.Stage, path: str, surface: UsdShade.Shader, folder: Path, *, textured: bool
    ) -> None:
        self._stage, self._path, self._surface = stage, path, surface
        self._folder, self._textured = folder, textured
        self._reader: UsdShade.Output | None = None

    def color(self, name: str, factor: Sequence[float], image: Any) -> None:
        """Write a colour: a factor, times an image in sRGB."""
        entry = self._surface.CreateInput(name, _COLOR)
        if image is None or not self._textured:
            entry.Set(Gf.Vec3f(*factor))
        else:
            entry.ConnectToSource(self._texture(name, image, "rgb", (*factor, 1.0), "sRGB"))

    def number(self, name: str, factor: float, image: Any, channel: str, *, space: str = "raw") -> None:
        """Write a number: a factor, times a channel of an image."""
        entry = self._surface.CreateInput(name, _FLOAT)
        if image is None or not self._textured or (channel == "a" and "A" not in image.getbands()):
            entry.Set(factor)
        else:
            entry.ConnectToSource(self._texture(name, image, channel, (factor,) * 4, space))

    def normal(self, image: Any) -> None:
        """Write a normal map, if there is one."""
        if image is not None and self._textured:
            bias = (-1.0, -1.0, -1.0, 0.0)
            output = self._texture("normal", image, "rgb", (2.0, 2.0, 2.0, 1.0), "raw", bias)
            self._surface.CreateInput("normal", Sdf.ValueTypeNames.Normal3f).ConnectToSource(output)

    def _texture(
        self,
        name: str,
        image: Any,
        channel: str,
        scale: Sequence[float],
        space: str,
        bias: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    ) -> UsdShade.Output:
        texture = UsdShade.Shader.Define(self._stage, f"{self._path}/{name}")
        texture.CreateIdAttr("UsdUVTexture")
        texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(f"./{self._kept(image)}")
        texture.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set(space)
        for axis in ("wrapS", "wrapT"):
            texture.CreateInput(axis, Sdf.ValueTypeNames.Token).Set("repeat")
        texture.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*scale))
        texture.CreateInput("bias", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*bias))
        texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(self._coordinates())
        kind = Sdf.ValueTypeNames.Float3 if channel == "rgb" else _FLOAT
        return texture.CreateOutput(channel, kind)

    def _coordinates(self) -> UsdShade.Output:
        if self._reader is None:
            reader = UsdShade.Shader.Define(self._stage, f"{self._path}/coordinates")
            reader.CreateIdAttr("UsdPrimvarReader_float2")
            reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
            self._reader = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        return self._reader

    def _kept(self, image: Any) -> str:
        """Write an image to the folder, once; return its name."""
        try:
            plain = image if image.mode in ("RGB", "RGBA", "L") else image.convert("RGBA")
            name = f"{hashlib.sha256(plain.tobytes()).hexdigest()[:16]}.png"
        except (OSError, ValueError, SyntaxError) as error:
            raise UnreadableError(f"an image cannot be read: {error}") from None
        file = self._folder / name
        if not file.is_file():
            plain.save(file)
        return name


def _image(read: Any, given: Mapping[str, Any], name: str) -> Any:
    """Return the image of a texture as trimesh read it, None if the material has none."""
    if name not in given:
        return None
    image = getattr(read, name)
    if image is None:
        raise UnreadableError(f"an image of {name} cannot be read")
    return image
