"""Docstrings and units of the fields of dataclasses, and their values as one line."""

import ast
import contextlib
import functools
import inspect
import itertools
import linecache
import re
import textwrap
from dataclasses import fields
from typing import Any

import numpy as np

_LONGEST = 8
"""Largest number of values of an array that a line shows."""


@functools.cache
def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass and its bases, if their source is available."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            tree = _tree_of(base)
        except (OSError, TypeError, SyntaxError):
            continue  # Classes defined in a console have no source.
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for entry, below in itertools.pairwise(body):
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                docs[entry.target.id] = _text(below)
    return docs


def _tree_of(cls: type) -> ast.Module:
    """Return the parsed source of a class.

    Its lines are found by their indentation where that is clear: `inspect` would parse the whole file.

    Raises:
        OSError: If the source is not available; a TypeError for classes of a console.
    """
    lines = linecache.getlines(inspect.getfile(cls))
    starts = [k for k, line in enumerate(lines) if re.match(rf"\s*class {cls.__name__}\b", line)]
    if len(starts) == 1:
        first, depth = starts[0], _indentation(lines[starts[0]])
        after = (
            k
            for k in range(first + 1, len(lines))
            if lines[k].strip() and _indentation(lines[k]) <= depth and lines[k].lstrip()[0] not in ")#"
        )
        with contextlib.suppress(SyntaxError):
            return ast.parse(textwrap.dedent("".join(lines[first : next(after, len(lines))])))
    return ast.parse(textwrap.dedent(inspect.getsource(cls)))


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text(statement: ast.stmt) -> str:
    """Return the text of a docstring statement; empty for other statements."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return " ".join(value.split()) if isinstance(value, str) else ""
    return ""


def unit_of(comment: str) -> str:
    """Return the unit in a description such as `Velocity in the world [m/s], shape (N, 3).`."""
    found = re.search(r"\[([^]]+)\]", comment)
    return found[1] if found else ""


def fields_text(item: Any) -> str:
    """Return the numbers, texts and small arrays of a dataclass with their units, as one line.

    The leading axis of a single copy is left out; larger arrays show their shape.

    Args:
        item: The instance.
    """
    kind: type = type(item)
    docs = field_docs(kind)
    shown = ((f.name, getattr(item, f.name)) for f in fields(item) if f.repr)
    return ", ".join(
        f"{name}={_value_text(value)} {unit_of(docs.get(name, ''))}".rstrip()
        for name, value in shown
        if isinstance(value, np.ndarray | np.generic | float | int | str)
    )


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    array = np.asarray(value)
    if array.ndim and len(array) == 1:
        array = array[0]
    if array.size > _LONGEST:
        return f"array of shape {array.shape}"
    return re.sub(r"\s+", " ", np.array2string(array, formatter={"float_kind": lambda x: f"{x:.7g}"}))
