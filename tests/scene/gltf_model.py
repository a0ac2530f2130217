"""glTF documents of squares for tests."""

import base64
import io
import json
import struct

import numpy as np
from PIL import Image

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FACES = np.array([0, 1, 2, 0, 2, 3], np.uint16)
UV = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
KINDS = {("f", 3): "VEC3", ("f", 2): "VEC2", ("f", 4): "VEC4", ("f", 16): "MAT4"}
KINDS |= {("H", 1): "SCALAR", ("H", 4): "VEC4"}


def png(*pixels, mode="RGB"):
    """Return a PNG of one row of pixels."""
    image = Image.new(mode, (len(pixels), 1))
    image.putdata(pixels)
    stream = io.BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()


class Model:
    """A glTF document of squares that is put together piece by piece."""

    def __init__(self):
        self.binary = b""
        self.document = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}]}
        self.document |= {"accessors": [], "bufferViews": [], "nodes": [{"mesh": 0}]}

    def view(self, content):
        start = len(self.binary)
        self.binary += content + bytes(-len(content) % 4)
        self.document["bufferViews"].append({"buffer": 0, "byteOffset": start, "byteLength": len(content)})
        return len(self.document["bufferViews"]) - 1

    def accessor(self, values):
        columns = values.shape[1] if values.ndim == 2 else 1
        entry = {
            "bufferView": self.view(values.tobytes()),
            "componentType": 5126 if values.dtype == np.float32 else 5123,
            "count": len(values),
            "type": KINDS[values.dtype.char, columns],
        }
        if columns == 3:
            entry |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self.document["accessors"].append(entry)
        return len(self.document["accessors"]) - 1

    def part(self, *, material=None, uv=False, colors=None, mode=4, points=SQUARE, faces=FACES):
        attributes = {"POSITION": self.accessor(points)}
        if uv:
            attributes["TEXCOORD_0"] = self.accessor(UV)
        if colors is not None:
            attributes["COLOR_0"] = self.accessor(np.array(colors, np.float32))
        made = {"attributes": attributes, "indices": self.accessor(faces), "mode": mode}
        return made if material is None else made | {"material": material}

    def mesh(self, *parts):
        self.document.setdefault("meshes", []).append({"primitives": list(parts)})

    def texture(self, content):
        images, textures = (self.document.setdefault(name, []) for name in ("images", "textures"))
        images.append({"bufferView": self.view(content), "mimeType": "image/png"})
        textures.append({"source": len(images) - 1})
        return {"index": len(textures) - 1}

    def glb(self, path):
        document = self.document | {"buffers": [{"byteLength": len(self.binary)}]}
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        size = 28 + len(text) + len(self.binary)
        path.write_bytes(
            struct.pack("<4sIIII", b"glTF", 2, size, len(text), 0x4E4F534A)
            + text
            + struct.pack("<II", len(self.binary), 0x004E4942)
            + self.binary
        )
        return path

    def gltf(self, path, *, inside):
        address = "parts of it.bin"
        path.with_name(address).write_bytes(self.binary)
        if inside:
            address = "data:application/octet-stream;base64," + base64.b64encode(self.binary).decode()
        buffers = [{"byteLength": len(self.binary), "uri": address.replace(" ", "%20")}]
        path.write_text(json.dumps(self.document | {"buffers": buffers}))
        return path
