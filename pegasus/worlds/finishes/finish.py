"""Finishes as image files and textured materials."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdShade

from pegasus.base.arrays import Array
from pegasus.scene.scene import Color, PhysicsMaterial


@dataclass(frozen=True, eq=False)
class Maps:
    """Maps of a seamless square of surface. Row 0 is the upper edge."""

    color: Array
    """Colour, sRGB encoded from 0 to 1, shape (H, W, 3)."""
    roughness: Array
    """Roughness, 0 to 1, shape (H, W)."""
    height: Array
    """Height of the surface [m], shape (H, W)."""
    opacity: Array | None = None
    """Opacity, 1 or 0 for cut-outs, shape (H, W)."""


@dataclass(frozen=True, eq=False)
class Finish:
    """A surface material: painter, size and contact properties."""

    paint: Callable[[np.random.Generator, int], Maps]
    """Function of a random generator and the number of pixels per side that returns the maps."""
    side: float
    """Side of the square [m]."""
    contact: PhysicsMaterial
    """Contact properties."""
    pixels: int = 512
    """Pixels along each side."""
    metallic: float = 0.0


@dataclass(frozen=True)
class Images:
    """Image files of a finish, relative to the stage."""

    color: str
    roughness: str
    normal: str
    has_opacity: bool

    @classmethod
    def of(cls, name: str, *, has_opacity: bool) -> "Images":
        """Return the files of a finish.

        Args:
            name: Base name of the files.
            has_opacity: Whether the colour image has opacity.
        """
        color, roughness, normal = (
            f"./textures/{name}_{kind}.png" for kind in ("color", "roughness", "normal")
        )
        return cls(color, roughness, normal, has_opacity)


def write_images(finish: Finish, name: str, folder: Path, rng: np.random.Generator) -> Images:
    """Paint a finish and write its images into `textures` below a folder."""
    maps = finish.paint(rng, finish.pixels)
    (folder / "textures").mkdir(exist_ok=True)
    images = Images.of(name, has_opacity=maps.opacity is not None)
    color = (
        maps.color if maps.opacity is None else np.concatenate([maps.color, maps.opacity[..., None]], axis=2)
    )
    for path, values in (
        (images.color, color),
        (images.roughness, maps.roughness),
        (images.normal, normal_map(maps.height, finish.side)),
    ):
        Image.fromarray(_bytes(values)).save(folder / path, optimize=False, compress_level=4)
    return images


def normal_map(height: Array, side: float) -> Array:
    """Return the normals of a repeating height map, encoded from 0 to 1, shape (H, W, 3).

    Args:
        height: Height [m], shape (H, W); row 0 is the upper edge.
        side: Side of the square [m].
    """
    double = 2.0 * side / height.shape[0]
    along_x = (np.roll(height, -1, axis=1) - np.roll(height, 1, axis=1)) / double
    along_y = (np.roll(height, 1, axis=0) - np.roll(height, -1, axis=0)) / double
    normal = np.stack([-along_x, -along_y, np.ones_like(height)], axis=2)
    normal = normal / np.sqrt((normal * normal).sum(axis=2, keepdims=True))
    encoded: Array = 0.5 + 0.5 * normal
    return encoded


def textured_material(
    stage: Usd.Stage,
    path: str,
    finish: Finish,
    images: Images,
    *,
    tint: Color = (1.0, 1.0, 1.0),
    roughness: float | None = None,
) -> UsdShade.Material:
    """Return a preview surface with the images of a finish; texture coordinates `st` are in metres.

    Args:
        stage: Stage to write to.
        path: Path of the material.
        finish: The finish.
        images: Its files.
        tint: Factor on its colours, linear.
        roughness: Roughness instead of the images of roughness and normals.
    """
    schema = UsdShade.Material.Define(stage, path)
    surface = _shader(stage, f"{path}/Surface", "UsdPreviewSurface")
    reader = _shader(stage, f"{path}/Coordinates", "UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
    reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    layout = _shader(stage, f"{path}/Layout", "UsdTransform2d")
    layout.CreateInput("in", Sdf.ValueTypeNames.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
    layout.CreateInput("scale", Sdf.ValueTypeNames.Float2).Set(Gf.Vec2f(1.0 / finish.side))
    layout.CreateOutput("result", Sdf.ValueTypeNames.Float2)

    def image(kind: str, file: str, space: str) -> UsdShade.Shader:
        node = _shader(stage, f"{path}/{kind}", "UsdUVTexture")
        node.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(Sdf.AssetPath(file))
        node.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set(space)
        for wrap in ("wrapS", "wrapT"):
            node.CreateInput(wrap, Sdf.ValueTypeNames.Token).Set("repeat")
        node.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(layout.ConnectableAPI(), "result")
        return node

    def connect(to: str, kind: Sdf.ValueTypeName, node: UsdShade.Shader, output: str) -> None:
        node.CreateOutput(output, Sdf.ValueTypeNames.Float3 if output == "rgb" else Sdf.ValueTypeNames.Float)
        surface.CreateInput(to, kind).ConnectToSource(node.ConnectableAPI(), output)

    color = image("Color", images.color, "sRGB")
    color.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(*tint, 1.0))
    connect("diffuseColor", Sdf.ValueTypeNames.Color3f, color, "rgb")
    if roughness is not None:
        surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(roughness)
    else:
        connect("roughness", Sdf.ValueTypeNames.Float, image("Roughness", images.roughness, "raw"), "r")
        normal = image("Normal", images.normal, "raw")
        normal.CreateInput("scale", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
        normal.CreateInput("bias", Sdf.ValueTypeNames.Float4).Set(Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
        connect("normal", Sdf.ValueTypeNames.Normal3f, normal, "rgb")
    surface.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(finish.metallic)
    if images.has_opacity:
        connect("opacity", Sdf.ValueTypeNames.Float, color, "a")
        surface.CreateInput("opacityThreshold", Sdf.ValueTypeNames.Float).Set(0.5)
    schema.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    return schema


def _shader(stage: Usd.Stage, path: str, kind: str) -> UsdShade.Shader:
    shader = UsdShade.Shader.Define(stage, path)
    shader.CreateIdAttr(kind)
    return shader


def _bytes(values: Array) -> np.ndarray:
    return np.round(255.0 * np.minimum(np.maximum(values, 0.0), 1.0)).astype(np.uint8)
