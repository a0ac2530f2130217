"""Translation of the error-state filter (`pegasus.estimation`) to NVIDIA Warp: loops over states stay loops.

All other functions are traced. A filter of 25 states, traced, is a straight line of some 50,000 operations,
28,000 of them for a solution of GPS, and takes more than twice as long to compile; with several rows side by
side its prediction alone takes a minute.

A translated function takes the number of a row and a dataclass of columns. It and what it calls, each known
by itself, use numbers, small vectors, structures, arithmetic, `if`, and `for` over a `range`.
"""

import ast
import dataclasses
import dis
import hashlib
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import warp as wp

from pegasus.base.components import annotations_of
from pegasus.base.step_types import (
    BUILTINS,
    Column,
    Mat33,
    Quat,
    Reals,
    Table,
    Vec3,
    Word,
    bits_of,
    length,
    number_of,
)

NUMBERS: dict[Any, Any] = {
    float: wp.float64,
    int: wp.int32,
    bool: wp.int32,
    Word: wp.uint64,
    Vec3: wp.vec3d,
    Quat: wp.quatd,
    Mat33: wp.mat33d,
}
_STRUCTS: dict[type, Any] = {}
_LONGEST_UNROLLED = 3
"""Longest loop that is written out."""
_TRANSLATION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
"""Hash of this translation: Warp knows kept code by the source of the functions only."""


class _Rewriting(ast.NodeTransformer):
    """Rewrites a function for Warp.

    Real literals become named numbers, which no version of Warp rounds to single precision, and assigned
    whole ones variables. Augmented assignments of names are written out. The compiler is told that no index
    is below 0: Warp counts those from the end of an array.

    Args:
        names: Global names of the function, to which those of the literals are added.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def _literal(self, node: ast.expr, number: float) -> ast.expr:
        name = f"literal_{len(self._names)}"
        self._names[name] = wp.float64(number)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        whole = isinstance(node.value, ast.Constant) and type(node.value.value) is int
        self.generic_visit(node)
        if whole:
            call = ast.Call(ast.Name("int", ast.Load()), [node.value], [])
            node.value = ast.copy_location(call, node.value)
        return ast.fix_missing_locations(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            raise TypeError("write out an augmented assignment of an element")
        # Warp 1.8 would evaluate the right side twice, and call a function with effects twice.
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        made = ast.Assign([node.target], ast.copy_location(value, node))
        return self.visit_Assign(ast.copy_location(made, node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        raise TypeError("write a conditional expression as an `if`; Warp 1.8 reads both of its sides")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        part = node.operand
        if isinstance(node.op, ast.USub) and isinstance(part, ast.Constant) and isinstance(part.value, float):
            return self._literal(node, -part.value)
        if isinstance(node.op, ast.USub) and isinstance(part, ast.Name) and part.id.isupper():
            # Up to Warp 1.13 the negative of a named number would be rounded.
            return ast.copy_location(ast.BinOp(part, ast.Mult(), self._literal(node, -1.0)), node)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._literal(node, node.value) if isinstance(node.value, float) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [_floored(part) for part in node.slice.elts]
        else:
            node.slice = _floored(node.slice)
        return ast.fix_missing_locations(node)


def _floored(index: ast.expr) -> ast.expr:
    """Return an index that is not below 0."""
    if isinstance(index, ast.Constant):
        return index
    largest = ast.Attribute(ast.Name("wp", ast.Load()), "max", ast.Load())
    return ast.copy_location(ast.Call(largest, [index, ast.Constant(0)], []), index)


def kernel_of(function: Callable[..., None]) -> Any:
    """Return the kernel (columns, first row, number of rows) of Warp that calls a function for each row.

    Args:
        function: The function.
    """
    title = f"{function.__module__}.{function.__name__}".replace(".", "_")
    module = wp.get_module(title)
    _, rows_type = _arguments_of(function).values()
    step, contiguous = _compiled(function, module), _contiguity(rows_type, module)

    def run(rows, first, count):  # type: ignore[no-untyped-def]
        contiguous(rows)
        for i in range(first, first + count):
            step(i, rows)

    run.__annotations__ = {"rows": rows_type, "first": wp.int32, "count": wp.int32}
    # With the block size of a launch on the CPU: with another, Warp would compile again for the launch.
    module.options |= {"enable_backward": False, "block_dim": 1, "max_unroll": _LONGEST_UNROLLED}
    kernel: Any = wp.Kernel(func=run, key=f"{title}_{_TRANSLATION}", module=module)  # type: ignore[no-untyped-call]
    return kernel


def _contiguity(rows: Any, module: Any) -> Any:
    """Return the function of Warp that tells the compiler that the values of each column lie side by side.

    Without it, each access to a row multiplies by a distance that is read from memory.
    """
    text = "".join(
        f"__builtin_assume(rows.{name}.strides[{field.type.ndim - 1}] == sizeof(*rows.{name}.data));\n"
        for name, field in rows.vars.items()
    )

    def contiguous(rows):  # type: ignore[no-untyped-def]
        ...

    contiguous.__annotations__ = {"rows": rows}
    key = f"{rows.key}_contiguous".replace(".", "_")
    return wp.Function(func=contiguous, key=key, namespace="", module=module, native_snippet=text)


def _arguments_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of Warp of the arguments of a function."""
    hints = get_type_hints(function)
    return {name: _type_of(hints[name]) for name in inspect.signature(function).parameters}


def _compiled(function: Callable[..., Any], module: Any) -> Any:
    """Return the function of Warp for a function, made with all that it calls if it is new."""
    if function in _NATIVE:
        return _NATIVE[function]
    function = _table_length if function is length else function
    key = f"{function.__module__}.{function.__qualname__}".replace(".", "_").replace("<locals>", "local")
    if key in module.functions:
        return module.functions[key]
    assert isinstance(function, types.FunctionType)
    used = {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
    names = {
        n: _counterpart(function.__globals__[n], module) for n in sorted(used & set(function.__globals__))
    }
    names["wp"] = wp
    copy = types.FunctionType(function.__code__, names, function.__name__)
    copy.__annotations__, copy.__module__ = _arguments_of(function), function.__module__
    made = wp.Function(func=copy, key=key, namespace="", module=module, code_transformers=[_Rewriting(names)])
    return module.functions.get(key, made)


def _table_length(values: Reals) -> int:
    return values.shape[0]  # type: ignore[attr-defined, no-any-return]


@wp.func_native("union { double x; unsigned long long bits; } both; both.x = x; return both.bits;")  # type: ignore[untyped-decorator]
def _bits_of(x: wp.float64) -> wp.uint64:  # type: ignore[empty-body]
    ...


@wp.func_native("union { double x; unsigned long long bits; } both; both.bits = bits; return both.x;")  # type: ignore[untyped-decorator]
def _number_of(bits: wp.uint64) -> wp.float64:  # type: ignore[empty-body]
    ...


_NATIVE: dict[Callable[..., Any], Any] = {bits_of: _bits_of, number_of: _number_of}
"""Functions in C++; Warp 1.8 has no `cast`."""


def _counterpart(value: Any, module: Any) -> Any:
    """Return what a global name of a function stands for in Warp."""
    if isinstance(value, Word):
        return wp.uint64(value)
    if isinstance(value, float):
        return wp.float64(value)
    if isinstance(value, types.FunctionType) and value not in BUILTINS:
        return _compiled(value, module)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return struct_of(value)
    return getattr(wp, BUILTINS[value]) if callable(value) and value in BUILTINS else value


def _type_of(hint: Any) -> Any:
    """Return the type of Warp for an annotation; None for one that no function reads."""
    if hint in NUMBERS:
        return NUMBERS[hint]
    if hint in (Reals, tuple[float, ...]):
        return wp.array(dtype=wp.float64)
    if get_origin(hint) in (Column, Table):
        return wp.array(dtype=_type_of(*get_args(hint)), ndim=2 if get_origin(hint) is Table else 1)
    return struct_of(hint) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None


def struct_of(kind: type) -> Any:
    """Return the structure of Warp for a dataclass of columns or of parameters."""
    if kind not in _STRUCTS:
        fields = {name: _type_of(hint) for name, hint in annotations_of(kind).items()}
        name = f"{kind.__module__}.{kind.__qualname__}".replace(".", "_").replace("<locals>", "local")
        used = {field: made for field, made in fields.items() if made is not None}
        made = type(name, (), {"__annotations__": used, "__module__": kind.__module__})
        _STRUCTS[kind] = wp.struct(made)
    return _STRUCTS[kind]


def filled_struct(kind: type, value: Any) -> Any:
    """Return a structure of Warp with the values of a dataclass of parameters."""
    made = struct_of(kind)()
    for name, hint in annotations_of(kind).items():
        if _type_of(hint) is None:
            continue
        part = getattr(value, name)
        if hint in (Vec3, Quat):
            part = NUMBERS[hint](*(float(part[k]) for k in range(3 if hint is Vec3 else 4)))
        elif hint in (Reals, tuple[float, ...]):
            part = wp.array(np.array(part, dtype=np.float64), dtype=wp.float64, device="cpu")
        elif hint not in NUMBERS:
            part = filled_struct(hint, part)
        setattr(made, name, part)
    return made
