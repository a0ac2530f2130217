"""Base of dataset writers, and the folder that a dataset grows in frame by frame."""

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.dataset.summary import frame_metadata, sample_indices, summary, thumbnail
from pegasus.labels.annotations import LabelledFrame

RECORDS = ".frames"
"""Folder of the records: one JSON file per frame, written after all of the frame's other files."""


class FrameFolder:
    """Folder of frames, each of which is complete or does not count.

    Each file is written under a temporary name of this process and renamed; the record of the frame comes
    last, with the sizes of its files. A frame counts if it has a record and files of these sizes.
    Several processes may write at once, even the same frame.

    Args:
        folder: Folder of the dataset, created if missing.
        resume: Continue an existing dataset instead of requiring an empty folder.

    Raises:
        ConfigError: If the folder is not empty, or cannot be made.
    """

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.path = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not resume and any(folder.iterdir()):
                raise ConfigError(
                    "the folder is not empty",
                    field="out",
                    value=str(folder),
                    remedy="give a new one, or resume the dataset that is there",
                )
            (folder / RECORDS).mkdir(exist_ok=True)
        except OSError as error:
            raise self._failure(error, "no frame is written") from None

    def written(self) -> frozenset[int]:
        """Return the indices of complete frames."""
        indices = (int(path.stem) for path in (self.path / RECORDS).glob("[0-9]*.json"))
        return frozenset(index for index in indices if self._whole(index) is not None)

    def records(self) -> list[dict[str, Any]]:
        """Return the records of complete frames in the order of their indices."""
        numbers = sorted(int(path.stem) for path in (self.path / RECORDS).glob("[0-9]*.json"))
        return [record for index in numbers if (record := self._whole(index)) is not None]

    def remove_partial_files(self) -> None:
        """Remove temporary files of terminated processes."""
        for part in self.path.rglob(".*.[0-9]*.part"):
            part.unlink(missing_ok=True)

    def commit(self, index: int, files: Mapping[str, bytes], record: Mapping[str, Any]) -> None:
        """Write the files of a frame, then its record.

        Args:
            index: Index of the frame.
            files: Contents by path within the folder, in the order in which they appear.
            record: Metadata of the frame; names and sizes of its files are added.

        Raises:
            ConfigError: If a file cannot be written; the frame does not count.
        """
        targets = {self.path / name: content for name, content in files.items()}
        sizes = {name: len(content) for name, content in files.items()}
        targets[self._record(index)] = orjson.dumps({"frame": index, **record, "files": sizes})
        try:
            self._write(targets)
        except OSError as error:
            raise self._failure(error, f"frame {index} is not counted") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file that belongs to the dataset as a whole.

        Raises:
            ConfigError: If it cannot be written.
        """
        try:
            self._write({self.path / name: content})
        except OSError as error:
            raise self._failure(error, f"{name} is not written") from None

    def _record(self, index: int) -> Path:
        return self.path / RECORDS / f"{index:06d}.json"

    def _whole(self, index: int) -> dict[str, Any] | None:
        """Return the record of a complete frame, or None."""
        try:
            record: dict[str, Any] = orjson.loads(self._record(index).read_bytes())
            sizes = record["files"]
            whole = all((self.path / name).stat().st_size == size for name, size in sizes.items())
        except (OSError, ValueError, KeyError, AttributeError):
            # After a power cut a renamed file may be empty, the record as well.
            return None
        return record if whole else None

    def _write(self, contents: Mapping[Path, bytes]) -> None:
        # Another run may have removed the temporary files meanwhile.
        try:
            self._write_once(contents)
        except FileNotFoundError:
            self._write_once(contents)

    def _write_once(self, contents: Mapping[Path, bytes]) -> None:
        # All files are written before any is renamed, so that a full disk is noticed first.
        parts = {target: target.with_name(f".{target.name}.{os.getpid()}.part") for target in contents}
        try:
            for target, content in contents.items():
                target.parent.mkdir(parents=True, exist_ok=True)
                parts[target].write_bytes(content)
            for target, part in parts.items():
                part.replace(target)
        except BaseException:
            for part in parts.values():
                part.unlink(missing_ok=True)
            raise

    def _failure(self, error: OSError, consequence: str) -> ConfigError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return ConfigError(
            f"{'the disk is full' if full else f'cannot be written ({error.strerror})'}, {consequence}",
            field="out",
            value=str(self.path),
            remedy="make room and resume" if full else "give a folder that can be written",
        )


class DatasetWriter(ABC):
    """Base of the writers of one format each; frames come in any order and from several processes at once.

    Args:
        folder: Folder of the dataset.
        cameras: Names of the cameras, the main one first.
        resume: Continue the dataset in the folder.

    Raises:
        ConfigError: If the cameras do not suit the format, or the folder is not empty or cannot be written.
    """

    most_cameras = 1000
    """Largest number of cameras that the format has room for."""
    holds_occlusion = True
    """Compute occlusion ratios, which the format stores (slow)."""
    layout = ""
    """Description of the files for the README of the dataset."""

    def __init__(self, folder: Path, *, cameras: Sequence[str] = ("camera",), resume: bool = False) -> None:
        self.cameras = checked_cameras(cameras, most=self.most_cameras)
        self._folder = FrameFolder(folder, resume=resume)

    def written(self) -> frozenset[int]:
        """Return the indices of the frames whose files are complete."""
        return self._folder.written()

    def write(self, index: int, frames: Sequence[LabelledFrame]) -> None:
        """Write the images that all cameras took at one instant, as a whole or not at all.

        Args:
            index: Index of the frame in the dataset.
            frames: One for each of the writer's cameras.

        Raises:
            ConfigError: If a file cannot be written; the frame is not counted.
        """
        own: dict[str, Any] = {}
        files = {_thumbnail(index): thumbnail(frames[0]), **self.files(index, frames, own)}
        self._folder.commit(index, files, {**frame_metadata(frames), "own": own})

    def stem(self, index: int, frame: LabelledFrame) -> str:
        """Return the name of an image's files: its number, after the camera where there are several."""
        return f"{index:06d}" if len(self.cameras) == 1 else f"{frame.camera}_{index:06d}"

    def finish(self) -> None:
        """Write the files of the dataset as a whole."""
        records = self._folder.records()
        samples = [self._folder.path / _thumbnail(records[k]["frame"]) for k in sample_indices(len(records))]
        files = {
            **summary(records, samples, layout=self.layout, own=("own", "files")),
            **self.dataset_files(records),
        }
        for name, content in files.items():
            self._folder.write(name, content)

    @abstractmethod
    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path.

        Args:
            index: Index of the frame in the dataset.
            frames: One for each of the writer's cameras.
            own: Mapping that is kept in the frame's record for `dataset_files`; values of JSON.
        """

    def dataset_files(self, records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
        """Return the contents of the files of the dataset as a whole by path.

        Args:
            records: Records of all frames in their order: `frame`, `own`, and what `frames.jsonl` has.
        """
        return {}


def _thumbnail(index: int) -> str:
    return f"{RECORDS}/{index:06d}.jpg"


def png(image: npt.NDArray[Any]) -> bytes:
    """Return an image as PNG, lightly compressed: four times faster than the usual level, a fifth larger.

    Args:
        image: 8-bit grey, RGB or RGBA image, shape (H, W), (H, W, 3) or (H, W, 4).
    """
    stream = BytesIO()
    Image.fromarray(image).save(stream, format="PNG", compress_level=1)
    return stream.getvalue()


def npy(array: npt.NDArray[Any]) -> bytes:
    """Return an array in NumPy's file format."""
    stream = BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def checked_cameras(cameras: object, *, most: int) -> tuple[str, ...]:
    """Return validated names of a writer's cameras.

    Args:
        cameras: Names, the main camera first.
        most: Most cameras that the format has room for.

    Raises:
        ConfigError: If there are none, too many, or two of one name.
    """
    names = tuple(cameras) if isinstance(cameras, (list, tuple)) else ()
    if not 0 < len(names) <= most or len(set(names)) < len(names):
        raise ConfigError(f"must be 1 to {most} names of cameras, each once", field="cameras", value=cameras)
    return names
