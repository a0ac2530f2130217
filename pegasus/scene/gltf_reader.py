"""glTF 2.0 files: their JSON, buffers, arrays, images and nodes.

Source: Khronos Group, glTF 2.0 Specification. By code of our own, since libraries lose values: trimesh rounds
colours to bytes, and ignores wrap modes, sparse accessors and normalised integers.
"""

import base64
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.system import REMOTE

_MAGIC, _JSON, _BINARY = b"glTF", 0x4E4F534A, 0x004E4942
_DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_COLUMNS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_MOST = 10**8
"""Largest number of elements of an array."""
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_READ = {
    "EXT_texture_webp",
    "KHR_lights_punctual",
    "KHR_materials_clearcoat",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_transmission",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
}
_HARMLESS = "KHR_materials_"
"""Extensions that are read, and beginning of those without which a file still has its shapes."""
_COMPRESSION = "KHR_draco_mesh_compression"


def invalid(file: Path, reason: str) -> ConfigError:
    """Return the error of a damaged file."""
    return ConfigError(f"is not valid glTF: {reason}", file=file, remedy="export it again")


class Gltf:
    """A glTF file.

    Args:
        file: The file, .gltf or .glb.

    Raises:
        ConfigError: If it is damaged, of another version, needs an extension that is not supported, or refers
            to a file that does not exist.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.content = file, file.read_bytes()
        self._binary: bytes | None = None
        self.document = self._document()
        """Its JSON."""
        self.parts = [place for kind in ("buffers", "images") for place in self._places(kind)]
        """Files that it refers to."""

    def items(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return the objects of a kind, such as `meshes`."""
        found: Sequence[Mapping[str, Any]] = self.document.get(kind, ())
        return found

    def item(self, kind: str, number: int) -> Mapping[str, Any]:
        """Return an object of a kind by its number."""
        found = self.items(kind)
        if not 0 <= number < len(found):
            raise ValueError(f"there is no number {number} of {kind}")
        return found[number]

    def roots(self) -> Sequence[int]:
        """Return the numbers of the scene's nodes; all that are no children if there is no scene."""
        if scenes := self.items("scenes"):
            nodes: Sequence[int] = scenes[self.document.get("scene", 0)].get("nodes", ())
            return nodes
        children = {child for node in self.items("nodes") for child in node.get("children", ())}
        return [k for k in range(len(self.items("nodes"))) if k not in children]

    def array(self, number: int) -> npt.NDArray[Any]:
        """Return the values of an accessor, shape (count, columns); normalised integers from -1 or 0 to 1."""
        entry = self.item("accessors", number)
        kind, columns, count = (
            np.dtype(_DTYPES[entry["componentType"]]),
            _COLUMNS[entry["type"]],
            entry["count"],
        )
        if not 0 <= count <= _MOST:
            raise ValueError(f"accessor {number} has {count} elements")
        values = np.zeros((count, columns), kind)
        if "bufferView" in entry:
            values = self._strided(entry["bufferView"], entry.get("byteOffset", 0), kind, columns, count)
        if (sparse := entry.get("sparse")) is not None:
            where, what = sparse["indices"], sparse["values"]
            index = np.dtype(_DTYPES[where["componentType"]])
            offset = where.get("byteOffset", 0)
            rows = self._strided(where["bufferView"], offset, index, 1, sparse["count"])[:, 0]
            given = self._strided(
                what["bufferView"], what.get("byteOffset", 0), kind, columns, sparse["count"]
            )
            values[rows] = given
        if entry.get("normalized") and kind.kind in "iu":
            return np.maximum(values / np.iinfo(kind).max, -1.0)
        return values

    def faces(self, primitive: Mapping[str, Any], count: int) -> IntArray | None:
        """Return the triangles of a primitive, shape (F, 3), or None for lines and points.

        Args:
            primitive: The primitive.
            count: Number of its points.
        """
        mode = primitive.get("mode", _TRIANGLES)
        if mode not in (_TRIANGLES, _STRIP, _FAN):
            return None
        given = primitive.get("indices")
        order = np.arange(count) if given is None else self.array(given)[:, 0].astype(np.int64)
        if mode == _TRIANGLES:
            faces = order[: len(order) // 3 * 3].reshape(-1, 3)
        elif mode == _STRIP:
            faces = np.stack([order[:-2], order[1:-1], order[2:]], axis=1)
            faces[1::2] = faces[1::2, [1, 0, 2]]
        else:
            faces = np.stack([order[1:-1], order[2:], np.full(max(len(order) - 2, 0), order[0])], axis=1)
        if len(faces) and not (faces.min() >= 0 and faces.max() < count):
            raise ValueError("a face has a point that does not exist")
        return faces if len(faces) else None

    def unsupported(self, *extensions: str) -> ConfigError:
        """Return the error of a file that needs extensions which are not supported."""
        return ConfigError(
            f"needs {', '.join(extensions)}, which is not supported",
            file=self.file,
            remedy="export it without compression and extensions",
        )

    def check_compression(self, primitive: Mapping[str, Any]) -> None:
        """Require that a primitive has uncompressed points.

        Args:
            primitive: The primitive.

        Raises:
            ConfigError: If it has compressed ones only.
        """
        points = self.item("accessors", primitive["attributes"]["POSITION"])
        if _COMPRESSION in primitive.get("extensions", {}) and "bufferView" not in points:
            raise self.unsupported(_COMPRESSION)

    def image(self, number: int) -> bytes:
        """Return the content of an image's file."""
        entry = self.item("images", number)
        return self._view(entry["bufferView"])[0] if "bufferView" in entry else self._loaded(entry["uri"])

    def left_out(self) -> Iterator[str]:
        """Yield a line for everything that is not read."""
        for kind, line in (
            ("animations", "animations left out: everything stands as at rest"),
            ("cameras", "cameras left out"),
        ):
            if self.items(kind):
                yield line
        if any("occlusionTexture" in item for item in self.items("materials")):
            yield "occlusion textures left out: renderers find the shade themselves"
        for extension in sorted(set(self.document.get("extensionsUsed", ())) - _READ):
            yield f"extension {extension} left out"

    def _document(self) -> dict[str, Any]:
        text = self.content
        if self.file.suffix.lower() == ".glb":
            if text[:4] != _MAGIC:
                raise invalid(self.file, "it does not begin as a GLB file")
            if len(text) < 20:
                raise invalid(self.file, f"it is cut short, it has {len(text)} bytes")
            version, length, size, kind = struct.unpack_from("<IIII", text, 4)
            if version != 2:
                raise invalid(self.file, f"its container has version {version}, not 2")
            if length > len(text):
                raise invalid(self.file, f"it is cut short, {len(text)} of {length} bytes")
            if kind != _JSON or 20 + size > len(text):
                raise invalid(self.file, "its first part is not JSON")
            rest, text = text[20 + size :], text[20 : 20 + size]
            if len(rest) >= 8 and struct.unpack_from("<I", rest, 4)[0] == _BINARY:
                self._binary = rest[8 : 8 + struct.unpack_from("<I", rest)[0]]
        try:
            document = json.loads(text)
            version = str(document["asset"]["version"])
        except (ValueError, LookupError, TypeError, RecursionError):
            raise invalid(self.file, "it has no JSON of glTF") from None
        if not version.startswith("2."):
            raise invalid(self.file, f"its version is {version}, not 2.0")
        needed = set(document.get("extensionsRequired", ())) - _READ
        if needed := {name for name in needed if not name.startswith(_HARMLESS)}:
            raise self.unsupported(*sorted(needed))
        return dict(document)

    def _places(self, kind: str) -> Iterator[Path]:
        for item in self.items(kind):
            address = item.get("uri", "data:")
            if kind == "images" and REMOTE.match(address):
                continue  # Noted and left out when the converted file is read.
            if not address.startswith("data:"):
                place = self.file.parent / unquote(address)
                if urlsplit(address).scheme or not place.is_file():
                    raise ConfigError(
                        "no such file",
                        file=self.file,
                        field=kind,
                        value=address,
                        remedy="put it beside this one",
                    )
                yield place

    @cached_property
    def _buffers(self) -> list[bytes]:
        buffers: list[bytes] = []
        for item in self.items("buffers"):
            content = self._loaded(item["uri"]) if "uri" in item else self._binary
            if content is None or len(content) < item["byteLength"]:
                raise ValueError(f"buffer {len(buffers)} has less than its {item['byteLength']} bytes")
            buffers.append(content)
        return buffers

    def _loaded(self, address: str) -> bytes:
        if address.startswith("data:"):
            return base64.b64decode(address.partition(",")[2], validate=True)
        return (self.file.parent / unquote(address)).read_bytes()

    def _view(self, number: int) -> tuple[bytes, int]:
        """Return the bytes of a buffer view, and the step between its elements, 0 if they are packed."""
        view = self.item("bufferViews", number)
        start, size = view.get("byteOffset", 0), view["byteLength"]
        buffer = self._buffers[view["buffer"]]
        if not 0 <= start <= start + size <= len(buffer):
            raise ValueError(f"buffer view {number} goes beyond its buffer")
        return buffer[start : start + size], view.get("byteStride", 0)

    def _strided(
        self, view: int, offset: int, kind: np.dtype[Any], columns: int, count: int
    ) -> npt.NDArray[Any]:
        data, step = self._view(view)
        width = kind.itemsize * columns
        step = step or width
        if (
            count < 0
            or offset < 0
            or step < width
            or (count and offset + step * (count - 1) + width > len(data))
        ):
            raise ValueError(f"an accessor goes beyond buffer view {view}")
        strides = (step, kind.itemsize)
        return np.ndarray((count, columns), kind, data, offset, strides).copy()


def local_transform(node: Mapping[str, Any]) -> Array:
    """Return the transform of a node to its parent, acting on column vectors, shape (4, 4).

    Args:
        node: JSON of the node.

    Raises:
        ValueError: If it is not finite, or its rotation is zero.
    """
    if "matrix" in node:
        matrix = np.array(node["matrix"], np.float64).reshape(4, 4).T
    else:
        matrix = np.eye(4)
        turn = np.array(node.get("rotation", (0.0, 0.0, 0.0, 1.0)), np.float64).reshape(4)
        if not turn.any():
            raise ValueError("the rotation of a node is zero")
        matrix[:3, :3] = matrix_from_quaternion(turn / np.sqrt((turn * turn).sum()))
        matrix[:3, :3] *= np.array(node.get("scale", (1.0, 1.0, 1.0)), np.float64).reshape(3)
        matrix[:3, 3] = np.array(node.get("translation", (0.0, 0.0, 0.0)), np.float64).reshape(3)
    if not np.isfinite(matrix).all():
        raise ValueError("the transform of a node is not finite")
    return matrix
