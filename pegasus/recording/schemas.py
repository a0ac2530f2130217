"""JSON schemas of recorded messages, in the subset of JSON Schema that Foxglove supports.

Foxglove supports arrays of numbers, booleans, strings and objects, but no nested arrays. Arrays are therefore
recorded flat in row-major order, and their schemas have `shape` and `dtype` in addition to the standard
keywords.
"""

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.base.errors import ConfigError

_ITEM_TYPES = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}


def schema_name(cls: type) -> str:
    """Return the schema name of a class: top-level package and class, such as `pegasus.VehicleState`."""
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def message_schema(item: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of messages with fields of a dataclass.

    Descriptions come from the docstrings of the class and its fields, shapes from the item.

    Args:
        item: An instance; later ones have arrays of the same shapes.
        names: The recorded fields.

    Raises:
        ConfigError: If a field is not an array of real numbers or booleans, a number, a boolean or a string.
    """
    cls = type(item)
    docs = field_docs(cls)  # type: ignore[arg-type]
    summary = (cls.__doc__ or "").strip().partition("\n")[0]
    properties = {
        name: {"description": docs.get(name, ""), **_value_schema(cls, name, getattr(item, name))}
        for name in names
    }
    return {
        "title": schema_name(cls),
        "description": f"{summary} Arrays are flat, row by row; `shape` gives their dimensions.".strip(),
        "type": "object",
        "properties": properties,
        "required": list(names),
    }


@functools.cache
def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass and its bases, if their source is available."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue  # Classes defined in a console have no source.
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                docs[field.target.id] = _text(below)
    return docs


def _text(statement: ast.stmt) -> str:
    """Return the text of a docstring statement; empty for other statements."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return " ".join(value.split()) if isinstance(value, str) else ""
    return ""


def _value_schema(cls: type, name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, np.ndarray) and value.dtype.kind in _ITEM_TYPES and value.dtype.itemsize <= 8:
        return {
            "type": "array",
            "items": {"type": _ITEM_TYPES[value.dtype.kind]},
            "minItems": value.size,
            "maxItems": value.size,
            "shape": list(value.shape),
            "dtype": value.dtype.name,
        }
    if isinstance(value, bool | np.bool_):
        return {"type": "boolean"}
    if isinstance(value, int | np.integer):
        return {"type": "integer"}
    if isinstance(value, float | np.floating):
        return {"type": "number"}
    if isinstance(value, str):
        return {"type": "string"}
    raise ConfigError(
        "must be an array of real numbers or booleans, a number, a boolean or a string to be recorded",
        field=f"{cls.__name__}.{name}",
        value=value,
        remedy="use one of these types, or do not record readings",
    )


def _object(title: str | None, /, **properties: dict[str, Any]) -> dict[str, Any]:
    named = {} if title is None else {"title": title}
    return {**named, "type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_BYTES = {"type": "string", "contentEncoding": "base64"}
_TIME = _object("time", sec=_COUNT, nsec={"type": "integer", "minimum": 0, "maximum": 999_999_999})


_VECTOR = _object("foxglove.Vector3", x=_NUMBER, y=_NUMBER, z=_NUMBER)
_QUATERNION = _object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_NUMBERS = {"type": "array", "items": _NUMBER}
_TRANSFORM = _object(
    "foxglove.FrameTransform",
    timestamp=_TIME,
    parent_frame_id=_TEXT,
    child_frame_id=_TEXT,
    translation=_VECTOR,
    rotation=_QUATERNION,
)

# Source of the schemas below: Foxglove's message schemas.
FRAME_TRANSFORMS = _object("foxglove.FrameTransforms", transforms={"type": "array", "items": _TRANSFORM})
"""Schema of `foxglove.FrameTransforms`, which Foxglove's 3D panel displays by default."""
COMPRESSED_IMAGE = _object(
    "foxglove.CompressedImage", timestamp=_TIME, frame_id=_TEXT, data=_BYTES, format=_TEXT
)
"""Schema of `foxglove.CompressedImage`."""
RAW_IMAGE = _object(
    "foxglove.RawImage",
    timestamp=_TIME,
    frame_id=_TEXT,
    width=_COUNT,
    height=_COUNT,
    encoding=_TEXT,
    step=_COUNT,
    data=_BYTES,
)
"""Schema of `foxglove.RawImage`."""
CAMERA_CALIBRATION = _object(
    "foxglove.CameraCalibration",
    timestamp=_TIME,
    frame_id=_TEXT,
    width=_COUNT,
    height=_COUNT,
    distortion_model=_TEXT,
    D=_NUMBERS,
    K=_NUMBERS | {"minItems": 9, "maxItems": 9},
    R=_NUMBERS | {"minItems": 9, "maxItems": 9},
    P=_NUMBERS | {"minItems": 12, "maxItems": 12},
)
"""Schema of `foxglove.CameraCalibration`."""
POINT_CLOUD = _object(
    "foxglove.PointCloud",
    timestamp=_TIME,
    frame_id=_TEXT,
    pose=_object("foxglove.Pose", position=_VECTOR, orientation=_QUATERNION),
    point_stride=_COUNT,
    fields={
        "type": "array",
        "items": _object("foxglove.PackedElementField", name=_TEXT, offset=_COUNT, type=_COUNT),
    },
    data=_BYTES,
)
"""Schema of `foxglove.PointCloud`."""
