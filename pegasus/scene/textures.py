"""Image files that a stage names."""

import hashlib
import os
from pathlib import Path

from pxr import Ar, Usd

from pegasus.errors import ConfigError
from pegasus.folders import user_cache
from pegasus.scene.stage import TIME


def texture_file(attribute: Usd.Attribute) -> Path | None:
    """Return the image file that an asset attribute names, or None if it names none.

    Of an image in UDIM tiles the first one is returned; an image inside a .usdz package is unpacked into the
    user's cache.

    Args:
        attribute: Attribute that holds an asset path.

    Raises:
        ConfigError: If the image does not exist.
    """
    asset = attribute.Get(TIME)
    if asset is None or not asset.path:
        return None
    layer = attribute.GetPropertyStack(TIME)[0].layer
    resolved = asset.resolvedPath
    if "<UDIM>" in asset.path:
        resolved = layer.ComputeAbsolutePath(asset.path.replace("<UDIM>", "1001"))
    if resolved and Path(resolved).is_file():
        return Path(resolved)
    if resolved and (unpacked := _unpack(resolved)):
        return unpacked
    raise ConfigError(
        "texture does not exist",
        file=layer.realPath or layer.identifier,
        field=str(attribute.GetPath()),
        value=asset.path,
        remedy="put the image there, or correct the path in the material",
    )


def _unpack(resolved: str) -> Path | None:
    """Return a copy of an asset that is no file of its own, named by its content; None if there is none."""
    asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved))
    if not asset:
        return None
    with asset:
        content = bytes(asset.GetBuffer())
    name = hashlib.sha256(content).hexdigest()[:24] + Path(resolved.rstrip("]")).suffix
    path = user_cache() / "textures" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{name}.{os.getpid()}.part")
        part.write_bytes(content)
        part.replace(path)
    return path
