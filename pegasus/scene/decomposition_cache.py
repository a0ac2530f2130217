"""Decompositions of meshes, kept on disk under the hash of what they were made from."""

import hashlib
import logging
import os
import zipfile
from pathlib import Path

import numpy as np

from pegasus.arrays import Array
from pegasus.folders import user_cache
from pegasus.scene.surfaces import Faces

_log = logging.getLogger(__name__)


class DecompositionCache:
    """Keep convex parts of meshes in a folder; one that cannot be written or read is as good as none.

    Args:
        folder: Where files are kept; the user's cache by default.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or user_cache() / "collision"

    def key(self, vertices: Array, faces: Faces, parameters: tuple[object, ...]) -> str:
        """Return the name of a decomposition.

        Args:
            vertices: Vertices, shape (V, 3).
            faces: Triangles, shape (F, 3).
            parameters: Everything else that the result depends on.
        """
        digest = hashlib.sha256(repr((parameters, vertices.shape, faces.shape)).encode())
        digest.update(np.ascontiguousarray(vertices, dtype=np.float64).tobytes())
        digest.update(np.ascontiguousarray(faces, dtype=np.int64).tobytes())
        return digest.hexdigest()[:32]

    def read(self, key: str) -> tuple[list[Array], float] | None:
        """Return parts and how far they may be off, or None if there is no such file or it is damaged.

        Args:
            key: Name of the decomposition.
        """
        path = self._path(key)
        try:
            with np.load(path, allow_pickle=False) as file:
                points, counts, deviation = file["points"], file["counts"], float(file["deviation"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.info("%s is damaged and made anew: %s", path, error)
            return None
        if counts.sum() != len(points) or points.shape[1:] != (3,) or not np.isfinite(points).all():
            _log.info("%s is damaged and made anew: its parts do not add up", path)
            return None
        return np.split(points, np.cumsum(counts)[:-1]) if len(counts) else [], deviation

    def write(self, key: str, parts: list[Array], deviation: float) -> None:
        """Keep parts; where that fails, a line in the log says why.

        Args:
            key: Name of the decomposition.
            parts: Vertices of each part, each of shape (K, 3).
            deviation: How far they may be off.
        """
        path = self._path(key)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{key}.{os.getpid()}.part")
            with part.open("wb") as file:
                np.savez(
                    file,
                    points=np.concatenate([np.zeros((0, 3)), *parts]),
                    counts=np.array([len(item) for item in parts], dtype=np.int64),
                    deviation=np.array(deviation),
                )
            part.replace(path)
        except OSError as error:
            _log.info("decomposition not kept in %s: %s", self.folder, error.strerror)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"
