"""Cache of painted finishes."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import PIL

from pegasus.base.streams import stream
from pegasus.base.system import user_cache
from pegasus.worlds.finishes.finish import Finish, Images, write_images


def finish_images(finish: Finish, name: str, folder: Path) -> Images:
    """Write the images of a finish into `textures` below a folder, from the cache where possible."""
    kept = user_cache() / "finishes" / f"{name}-{_key()}"
    try:
        if not kept.is_dir():
            _paint(finish, name, kept)
        (folder / "textures").mkdir(exist_ok=True)
        for image in sorted((kept / "textures").iterdir()):
            shutil.copyfile(image, folder / "textures" / image.name)
    except OSError:
        # An unusable cache only costs time; an unusable folder is an error.
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
            # Another process has written the same files first.
            if not kept.is_dir():
                raise


def _key() -> str:
    """Return the hash of the painting code and library versions."""
    digest = hashlib.sha256(f"{np.__version__} {PIL.__version__}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
