"""JSON schemas of recorded messages, in the part of JSON Schema that Foxglove opens.

Foxglove takes arrays of numbers, booleans, strings and objects, but no arrays of arrays. An array is
therefore recorded flat, row by row, and its schema carries `shape` and `dtype` beside the standard keywords.
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.errors import ConfigError

_ITEM_TYPES = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}


def schema_name(cls: type) -> str:
    """Return the name of a class's schema: the top package and the class, such as `pegasus.VehicleState`.

    Args:
        cls: Class of the messages.
    """
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def message_schema(item: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of messages that hold some fields of a dataclass.

    Titles, units and meanings come from the docstrings of the class and its fields, shapes from the item.

    Args:
        item: One instance; later ones have arrays of the same shapes.
        names: The fields that are recorded.

    Raises:
        ConfigError: If a field is no array of real numbers or booleans, number, boolean or string.
    """
    cls = type(item)
    docs = field_docs(cls)
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


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings under the fields of a dataclass and its bases, where their source is at hand.

    Args:
        cls: The dataclass.
    """
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue  # Classes typed into a console have no source; their schema goes without descriptions.
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                docs[field.target.id] = _text(below)
    return docs


def _text(statement: ast.stmt) -> str:
    """Return the docstring that a statement is, or nothing."""
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
        remedy="give it one of these types, or do not record readings",
    )


def _object(title: str | None, /, **properties: dict[str, Any]) -> dict[str, Any]:
    named = {} if title is None else {"title": title}
    return {**named, "type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_BYTES = {"type": "string", "contentEncoding": "base64"}
_TIME = _object("time", sec=_COUNT, nsec={"type": "integer", "minimum": 0, "maximum": 999_999_999})


def frame_transforms_schema() -> dict[str, Any]:
    """Return the schema of Foxglove's own `foxglove.FrameTransforms`, which its 3D panel shows unasked.

    Source: Foxglove's message schemas, FrameTransforms.
    """
    transform = _object(
        "foxglove.FrameTransform",
        timestamp=_TIME,
        parent_frame_id=_TEXT,
        child_frame_id=_TEXT,
        translation=_object("foxglove.Vector3", x=_NUMBER, y=_NUMBER, z=_NUMBER),
        rotation=_object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER),
    )
    return _object("foxglove.FrameTransforms", transforms={"type": "array", "items": transform})


def compressed_image_schema() -> dict[str, Any]:
    """Return the schema of `foxglove.CompressedImage` (source: Foxglove's message schemas)."""
    return _object("foxglove.CompressedImage", timestamp=_TIME, frame_id=_TEXT, data=_BYTES, format=_TEXT)


def raw_image_schema() -> dict[str, Any]:
    """Return the schema of `foxglove.RawImage` (source: Foxglove's message schemas)."""
    return _object(
        "foxglove.RawImage",
        timestamp=_TIME,
        frame_id=_TEXT,
        width=_COUNT,
        height=_COUNT,
        encoding=_TEXT,
        step=_COUNT,
        data=_BYTES,
    )


def camera_calibration_schema() -> dict[str, Any]:
    """Return the schema of `foxglove.CameraCalibration` (source: Foxglove's message schemas)."""
    numbers = {"type": "array", "items": _NUMBER}
    return _object(
        "foxglove.CameraCalibration",
        timestamp=_TIME,
        frame_id=_TEXT,
        width=_COUNT,
        height=_COUNT,
        distortion_model=_TEXT,
        D=numbers,
        K=numbers | {"minItems": 9, "maxItems": 9},
        R=numbers | {"minItems": 9, "maxItems": 9},
        P=numbers | {"minItems": 12, "maxItems": 12},
    )


def point_cloud_schema() -> dict[str, Any]:
    """Return the schema of `foxglove.PointCloud` (source: Foxglove's message schemas)."""
    position = _object("foxglove.Vector3", x=_NUMBER, y=_NUMBER, z=_NUMBER)
    orientation = _object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
    field = _object("foxglove.PackedElementField", name=_TEXT, offset=_COUNT, type=_COUNT)
    return _object(
        "foxglove.PointCloud",
        timestamp=_TIME,
        frame_id=_TEXT,
        pose=_object("foxglove.Pose", position=position, orientation=orientation),
        point_stride=_COUNT,
        fields={"type": "array", "items": field},
        data=_BYTES,
    )
