"""Choices among values by conditions that differ between rows."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from pegasus.base.step_types import Mat33, Quat, Vec3
from pegasus.base.tracing.symbols import Graph, Symbol


def merged(graph: Graph, condition: Any, a: Any, b: Any) -> Any:
    """Return a where a condition holds, else b: numbers, vectors, or tuples and dataclasses of them.

    Raises:
        TypeError: If they are of different kinds.
    """
    if a is b or not isinstance(condition, Symbol):
        return a if condition is not False else b
    if isinstance(a, Symbol | int | float) and isinstance(b, Symbol | int | float):
        return graph.select(condition, a, b)
    if type(a) is not type(b):
        raise TypeError(f"{type(a).__name__} or {type(b).__name__}")
    if isinstance(a, Vec3):
        return Vec3(*(merged(graph, condition, a[k], b[k]) for k in range(3)))
    if isinstance(a, Quat):
        return Quat(*(merged(graph, condition, a[k], b[k]) for k in range(4)))
    if isinstance(a, Mat33):
        rows = zip(sum(a.rows, ()), sum(b.rows, ()), strict=True)
        return Mat33(*(merged(graph, condition, x, y) for x, y in rows))
    if isinstance(a, tuple | list) and len(a) == len(b):
        parts = [merged(graph, condition, x, y) for x, y in zip(a, b, strict=True)]
        return type(a)(parts) if not hasattr(a, "_fields") else type(a)(*parts)
    if is_dataclass(a):
        changed = {
            f.name: merged(graph, condition, getattr(a, f.name), getattr(b, f.name))
            for f in fields(a)
            if getattr(a, f.name) is not getattr(b, f.name)
        }
        return replace(a, **changed)  # type: ignore[type-var]
    if a == b:
        return a
    raise TypeError(f"two values of {type(a).__name__}")


class Mixed:
    """Value of a name that holds different kinds of values by a condition.

    Args:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, _: str) -> Any:
        raise TypeError(f"{self._name} holds different kinds of values on the ways to this line")
