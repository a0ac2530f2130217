"""Writer of WebDataset: tar files of samples."""

import tarfile
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import orjson

from pegasus.dataset.summary import frame_metadata
from pegasus.dataset.writer import RECORDS, DatasetWriter, npy, png
from pegasus.labels.annotations import LabelledFrame, distance_to_image_plane
from pegasus.labels.segmentation import semantic_ids

_FRAMES_PER_SHARD = 100
_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)


class WebDatasetWriter(DatasetWriter):
    """Writer of `shards/NNNNNN.tar` of 100 frames each; each image of a frame is one sample.

    Frames wait as parts until `finish` joins them in order; a shard that grows keeps its frames.
    """

    layout = (
        "WebDataset: `shards/NNNNNN.tar`; each sample has `png`, `depth.npy` (along the optical axis [m]), "
        "`semantic.png` (0 nothing, 1 no class, from 2 on `classes` of `manifest.json`) and `json`."
    )

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        whole = frame_metadata(frames)
        cameras = whole.pop("cameras")
        content = b""
        for frame in frames:
            stem = self.stem(index, frame)
            assert frame.images.distance is not None
            assert frame.images.entity is not None
            classes = semantic_ids(frame.images.entity, frame.entities, frame.classes).astype(np.uint8)
            depth = distance_to_image_plane(frame.images.distance, frame.directions)
            content += _member(f"{stem}.depth.npy", npy(depth))
            content += _member(f"{stem}.json", orjson.dumps({**whole, **cameras[frame.camera]}))
            content += _member(f"{stem}.png", png(frame.rgb))
            content += _member(f"{stem}.semantic.png", png(classes))
        return {_part(index): content}

    def finish(self) -> None:
        """Write the files of the dataset as a whole, and join the frames to shards."""
        super().finish()
        folder = self._folder
        for number, group in groupby(
            folder.records(), key=lambda record: record["frame"] // _FRAMES_PER_SHARD
        ):
            records, name = list(group), f"shards/{number:06d}.tar"
            parts = [
                _part(record["frame"]) for record in records if _part(record["frame"]) in record["files"]
            ]
            waiting = [folder.path / part for part in parts]
            if not waiting:
                continue
            earlier = any(name in record["files"] for record in records)
            begun = (folder.path / name).read_bytes()[: -len(_END)] if earlier else b""
            content = b"".join([begun, *(part.read_bytes() for part in waiting), _END])
            folder.write(name, content)
            for record in records:
                files = {place: size for place, size in record["files"].items() if place.endswith(".jpg")}
                changed = {**record, "files": {**files, name: len(content)}}
                folder.write(f"{RECORDS}/{record['frame']:06d}.json", orjson.dumps(changed))
            for path in waiting:
                path.unlink()


def _part(index: int) -> str:
    return f"{RECORDS}/{index:06d}.tar"


def _member(name: str, content: bytes) -> bytes:
    """Return header and padded content of a file in a tar file, without times and owners."""
    header = tarfile.TarInfo(name)
    header.size = len(content)
    return header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % _BLOCK)
