"""Inputs of USD shaders: constants, connected nodes and image files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxr import Ar, Sdf, Usd, UsdShade

from pegasus.base.errors import ConfigError
from pegasus.base.system import REMOTE, replacing, user_cache
from pegasus.scene.materialx_files import SOURCE
from pegasus.scene.stage import TIME, Notices
from pegasus.scene.udim import NUMBERS, TOKEN


@dataclass(frozen=True)
class Source:
    """Attribute from which an input takes its value, through interfaces and connections."""

    attribute: Usd.Attribute
    node: UsdShade.Shader | None
    """Node whose output it is; None for a constant."""
    output: str
    """Name of that output."""

    @property
    def value(self) -> Any:
        """The constant; None for the output of a node."""
        return None if self.node else self.attribute.Get(TIME)


def source_of(shader: UsdShade.Shader, name: str) -> Source | None:
    """Return the source of an input, or None if it is neither connected nor authored."""
    found = shader.GetInput(name)
    attributes = found.GetValueProducingAttributes() if found else []
    if not attributes:
        return None
    base, kind = UsdShade.Utils.GetBaseNameAndType(attributes[0].GetName())
    if kind == UsdShade.AttributeType.Output:
        return Source(attributes[0], UsdShade.Shader(attributes[0].GetPrim()), str(base))
    return Source(attributes[0], None, "")


def constant(shader: UsdShade.Shader, name: str, default: Any) -> Any:
    """Return the constant of an input, or a default without one."""
    source = source_of(shader, name)
    value = None if source is None else source.value
    return default if value is None else value


def texture_file(attribute: Usd.Attribute, notices: Notices) -> Path | None:
    """Return the image file of an asset attribute, or None if it is empty or a remote one out of reach.

    The path of UDIM tiles keeps its placeholder. Images inside a .usdz package, and those that the resolver
    of a host application downloads, are written into the user's cache.

    Args:
        attribute: The attribute.
        notices: Receives that an image is at a remote address that cannot be reached.

    Raises:
        ConfigError: If the image, or each of its tiles, does not exist beside its file.
    """
    asset = attribute.Get(TIME)
    if asset is None or not asset.path:
        return None
    layer = attribute.GetPropertyStack(TIME)[0].layer
    resolved = asset.resolvedPath
    remote = any(REMOTE.match(path) for path in (asset.path, resolved, layer.identifier))
    if TOKEN in asset.path and not remote:
        if (tiled := _tiles(layer, asset.path)) is not None:
            return tiled
    elif resolved and Path(resolved).is_file():
        return Path(resolved)
    elif resolved and (content := _packaged(resolved)) is not None:
        name = hashlib.sha256(content).hexdigest()[:24] + Path(resolved.rstrip("]")).suffix
        return _kept(user_cache() / "textures" / name, content)
    if remote:
        notices.add(
            "texture at a remote address left out: download it, and name the file", attribute.GetPath()
        )
        return None
    raise ConfigError(
        "texture does not exist",
        file=layer.customLayerData.get(SOURCE) or layer.realPath or layer.identifier,
        field=str(attribute.GetPath()),
        value=asset.path,
        remedy="put the image there, or correct the path in the material",
    )


def _tiles(layer: Sdf.Layer, path: str) -> Path | None:
    """Return the path of UDIM tiles on disk, with the placeholder; packaged ones are unpacked."""
    contents = {}
    for number in NUMBERS:
        resolved = layer.ComputeAbsolutePath(path.replace(TOKEN, str(number)))
        if Path(resolved).is_file():
            return Path(resolved).with_name(Path(path).name)
        if (content := _packaged(resolved)) is not None:
            contents[number] = content
    if not contents:
        return None
    digest = hashlib.sha256(b"".join(contents.values())).hexdigest()[:24]
    tiles = user_cache() / "textures" / f"{digest}.{TOKEN}{Path(path).suffix}"
    for number, content in contents.items():
        _kept(tiles.with_name(tiles.name.replace(TOKEN, str(number))), content)
    return tiles


def _packaged(resolved: str) -> bytes | None:
    """Return the content of a packaged asset, or None if it does not exist."""
    asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved))
    if not asset:
        return None
    with asset:
        return bytes(asset.GetBuffer())


def _kept(path: Path, content: bytes) -> Path:
    """Write a file named by its content, unless it exists, and return its path."""
    if not path.is_file():
        with replacing(path) as part:
            part.write_bytes(content)
    return path
