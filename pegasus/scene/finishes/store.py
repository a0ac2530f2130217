"""Painted finishes, kept so that each is painted once on a machine."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import PIL

from pegasus.folders import user_cache
from pegasus.scene.finishes.finish import Finish, Images, write_images
from pegasus.streams import stream


def finish_images(finish: Finish, name: str, folder: Path) -> Images:
    """Put the images of a finish into `textures` below a folder: the same bytes for every world.

    Args:
        finish: The finish.
        name: What the files are called after.
        folder: Folder of the stage.
    """
    kept = user_cache() / "finishes" / f"{name}-{_key()}"
    try:
        if not kept.is_dir():
            _paint(finish, name, kept)
        (folder / "textures").mkdir(exist_ok=True)
        for image in sorted((kept / "textures").iterdir()):
            shutil.copyfile(image, folder / "textures" / image.name)
    except OSError:
        # A cache that cannot be used costs time, nothing else; a folder that cannot is an error here.
        return write_images(finish, name, folder, stream(0, "finish", name))
    return Images.of(name, has_opacity=(kept / "opacity").exists())


def _paint(finish: Finish, name: str, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".new-", ignore_cleanup_errors=True) as place:
        part = Path(place) / kept.name
        part.mkdir()
        if write_images(finish, name, part, stream(0, "finish", name)).has_opacity:
            (part / "opacity").touch()
        try:
            part.rename(kept)
        except OSError:
            # Another process was faster with the very same files.
            if not kept.is_dir():
                raise


def _key() -> str:
    """Return what the images depend on: the code that paints them, and the libraries."""
    digest = hashlib.sha256(f"{np.__version__} {PIL.__version__}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
