"""Translation of step functions and their structures to NVIDIA Warp."""

import ast
import dataclasses
import dis
import functools
import hashlib
import inspect
import linecache
import math
import types
from collections.abc import Callable, Collection, Mapping
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

_TRIPLE = tuple[float, float, float]
NUMBERS: dict[Any, Any] = {
    float: wp.float64,
    int: wp.int32,
    bool: wp.int32,
    Word: wp.uint64,
    Vec3: wp.vec3d,
    Quat: wp.quatd,
    Mat33: wp.mat33d,
    _TRIPLE: wp.vec3d,
}
_STRUCTS: dict[type, Any] = {}
_LONGEST_UNROLLED = 3
"""Longest loop that is written out: those over the stages of a step would make code that no cache holds."""


_ROUNDS_LITERALS = tuple(int(part) for part in str(wp.config.version).split(".")[:2]) < (1, 14)
"""True for versions of Warp that round real literals, or negatives of constants, to single precision."""
_TRANSLATION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
"""Hash of this translation: Warp knows kept code by the source of step functions only."""
_LONGEST_SCALE = 100
"""Largest exponent of the powers of 2 that scale literals outside the range of single precision."""


def _single_parts(number: float) -> tuple[list[float], list[float]]:
    """Return single-precision numbers and factors: their sum times the factors is the number, in double."""
    if not math.isfinite(number):
        raise ValueError(
            f"the literal {number} of a step function is not finite: name it at the top of its module"
        )
    factors: list[float] = []
    mantissa, exponent = math.frexp(number)
    if not -60 < exponent < 120:
        # Parts of such a number leave the range of single precision, for ever in the case of small ones.
        number = mantissa
        while exponent != 0:
            step = max(-_LONGEST_SCALE, min(_LONGEST_SCALE, exponent))
            factors.append(math.ldexp(1.0, step))
            exponent -= step
    parts: list[float] = []
    while number != 0.0 or not parts:
        parts.append(float(np.float32(number)))
        number -= parts[-1]
    return parts, factors


class _Rewriting(ast.NodeTransformer):
    """Rewrites a step function for Warp, in one pass over its source.

    Real literals become double-precision numbers, assigned whole ones variables, and numbers of constant
    tables calls of the functions that hold them. Members in conditional expressions are copied, and augmented
    assignments of names written out. The compiler is told that no index is
    below 0, and that the numbers of tables given to the function lie side by side: Warp counts negative
    indices from the end of an array, and reads the distance of its numbers at each access.

    Args:
        constants: Names of constant tables.
        given: Names of the arguments that are tables.
    """

    def __init__(self, constants: Collection[str], given: Collection[str]) -> None:
        self._constants, self._given = constants, given

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        for name in self._given:
            call = ast.Call(ast.Name("contiguous_table", ast.Load()), [ast.Name(name, ast.Load())], [])
            node.body.insert(0, ast.copy_location(ast.Expr(call), node.body[0]))
        return ast.fix_missing_locations(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        whole = isinstance(node.value, ast.Constant) and type(node.value.value) is int
        self.generic_visit(node)
        if whole:
            node.value = _at(node.value, ast.Call(ast.Name("int", ast.Load()), [node.value], []))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.target, ast.Name):
            # Warp 1.8 would evaluate the right side twice, and call a function with effects twice.
            value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            made = ast.Assign([node.target], ast.copy_location(value, node))
            return self.visit_Assign(ast.copy_location(made, node))
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        # Up to Warp 1.8 the members of both branches are read, though the address of one is not computed.
        node.body, node.orelse = _copied(node.body), _copied(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        named = isinstance(node.operand, ast.Name) and node.operand.id.isupper()
        if _ROUNDS_LITERALS and named and isinstance(node.op, ast.USub):
            # The negative of a named constant would be a number of single precision, also in Warp 1.13.
            minus = ast.copy_location(ast.Constant(-1.0), node)
            return self.generic_visit(_at(node, ast.BinOp(node.operand, ast.Mult(), minus)))
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        parts, factors = _single_parts(node.value) if _ROUNDS_LITERALS else ([node.value], [])
        made = _double(parts[0])
        for part in parts[1:]:
            made = ast.BinOp(made, ast.Add(), _double(part))
        for factor in factors:
            made = ast.BinOp(made, ast.Mult(), _double(factor))
        return _at(node, made)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self._constants:
            return _at(node, ast.Call(node.value, [node.slice], []))
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [_floored(part) for part in node.slice.elts]
        else:
            node.slice = _floored(node.slice)
        return node


def _at(node: ast.expr, made: ast.expr) -> ast.expr:
    """Return an expression made in place of another, at its place in the source."""
    return ast.copy_location(made, node)


def _double(number: float) -> ast.expr:
    kind = ast.Attribute(ast.Name("wp", ast.Load()), "float64", ast.Load())
    return ast.Call(kind, [ast.Constant(number)], [])


def _copied(value: ast.expr) -> ast.expr:
    """Return a copy of a member or an element, and other values as they are."""
    if not isinstance(value, ast.Attribute | ast.Subscript):
        return value
    copy = ast.Attribute(ast.Name("wp", ast.Load()), "copy", ast.Load())
    return _at(value, ast.Call(copy, [value], []))


def _floored(index: ast.expr) -> ast.expr:
    """Return an index that is not below 0."""
    if isinstance(index, ast.Constant):
        return index
    largest = ast.Attribute(ast.Name("wp", ast.Load()), "max", ast.Load())
    return _at(index, ast.Call(largest, [index, ast.Constant(0)], []))


def kernel_of(function: Callable[..., None]) -> Any:
    """Return the kernel of Warp that calls a step function for each row.

    A thread runs as many rows one after another as the last argument says, from that before it on: the
    compiler then reads the addresses of the columns once, not again for each row.

    Args:
        function: The step function.
    """
    title = f"{function.__module__}.{function.__name__}".replace(".", "_")
    module = wp.get_module(title)
    hints = get_type_hints(function)
    arguments = list(inspect.signature(function).parameters)[1:]
    compiled = _compiled(function, module)
    annotations = {name: _argument(hints[name]) for name in arguments}
    annotations |= {"start": wp.int32, "run": wp.int32}
    text = f"    contiguous({arguments[0]})\n"
    text += "    first = start + wp.tid() * run\n    for i in range(first, first + run):\n"
    text += f"        step({', '.join(['i', *arguments])})\n"
    scope = {"wp": wp, "step": compiled, "contiguous": _contiguity(annotations[arguments[0]], module)}
    head = f"def {title}({', '.join(annotations)}):  # {_TRANSLATION}\n"
    outer = _written(title, head + text, scope)
    outer.__annotations__ = annotations
    # With the block size of a launch on the CPU: with another, Warp would compile again for the launch.
    module.options |= {"enable_backward": False, "block_dim": 1, "max_unroll": _LONGEST_UNROLLED}
    kernel: Any = wp.Kernel(func=outer, key=title, module=module)  # type: ignore[no-untyped-call]
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


def _compiled(function: Callable[..., Any], module: Any) -> Any:
    """Return the function of Warp for a step function, made with all that it calls if it is new."""
    if function is length:
        function = _table_length
    if function in _NATIVE:
        return _NATIVE[function]
    key = f"{function.__module__}.{function.__qualname__}".replace(".", "_").replace("<locals>", "local")
    if key in module.functions:
        return module.functions[key]
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"{function!r} is not a plain function")
    scope: dict[str, Any] = {"wp": wp}
    tables: list[str] = []
    for name in sorted(
        {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
    ):
        if name in function.__globals__:
            value = function.__globals__[name]
            if isinstance(value, tuple):
                tables.append(name)
                scope[name] = _constant_table(f"{function.__module__}.{name}", value)
            else:
                scope[name] = _counterpart(value, module)
    copy = types.FunctionType(function.__code__, scope, function.__name__)
    hints = get_type_hints(function)
    copy.__annotations__ = {}
    for name in inspect.signature(function).parameters:
        if name not in hints:
            raise TypeError(f"argument {name} of {function.__name__} has no annotation")
        copy.__annotations__[name] = _argument(hints[name])
    copy.__module__ = function.__module__
    scope["contiguous_table"] = _contiguous_table
    given = [name for name, hint in hints.items() if hint == Reals]
    rewriting = _Rewriting(tables, given)
    made = wp.Function(func=copy, key=key, namespace="", module=module, code_transformers=[rewriting])
    return module.functions.get(key, made)


@functools.cache
def _constant_table(title: str, values: tuple[float, ...]) -> Any:
    """Return the function of Warp of the numbers of a table by their places; they stand in its code."""
    numbers = f"static const double values[] = {{{', '.join(map(repr, values))}}};\nreturn values[k];"
    name = title.replace(".", "_")
    # By a decorator in source, without which Warp sees no result.
    text = f"@wp.func_native(numbers)\ndef {name}(k: wp.int32) -> wp.float64:\n    ...\n"
    return _written(name, text, {"wp": wp, "numbers": numbers})


def _table_length(values: Reals) -> int:
    return values.shape[0]  # type: ignore[attr-defined, no-any-return]


@wp.func_native("union { double x; unsigned long long bits; } both; both.x = x; return both.bits;")  # type: ignore[untyped-decorator]
def _bits_of(x: wp.float64) -> wp.uint64:  # type: ignore[empty-body]
    ...


@wp.func_native("union { double x; unsigned long long bits; } both; both.bits = bits; return both.x;")  # type: ignore[untyped-decorator]
def _number_of(bits: wp.uint64) -> wp.float64:  # type: ignore[empty-body]
    ...


@wp.func_native("__builtin_assume(values.strides[0] == sizeof(*values.data));")  # type: ignore[untyped-decorator]
def _contiguous_table(values: wp.array(dtype=wp.float64)):  # type: ignore
    ...


_NATIVE: dict[Callable[..., Any], Any] = {bits_of: _bits_of, number_of: _number_of}
"""Functions in C++; Warp 1.8 has no `cast`."""


def _counterpart(value: Any, module: Any) -> Any:
    try:
        if value in BUILTINS:
            return getattr(wp, BUILTINS[value])
    except TypeError:
        pass
    if isinstance(value, Word):
        return wp.uint64(value)
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return wp.float64(value)
    if inspect.isfunction(value):
        return _compiled(value, module)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return struct_of(value)
    return value


def _argument(hint: Any) -> Any:
    if hint in NUMBERS:
        return NUMBERS[hint]
    if hint == Reals:
        return wp.array(dtype=wp.float64)
    if get_origin(hint) in (Column, Table):
        return _array_of(hint)
    if any(get_origin(field) in (Column, Table) for field in annotations_of(hint).values()):
        return rows_struct(hint)
    return struct_of(hint)


def rows_struct(kind: type) -> Any:
    """Return the structure of Warp for a dataclass of columns."""
    if kind not in _STRUCTS:
        fields: dict[str, Any] = {}
        for name, hint in annotations_of(kind).items():
            fields[name] = _array_of(hint)
        _STRUCTS[kind] = _made_struct(kind, fields)
    return _STRUCTS[kind]


def _array_of(hint: Any) -> Any:
    """Return the array type of Warp for a column or a table."""
    (element,) = get_args(hint)
    inner = NUMBERS[element] if element in NUMBERS else struct_of(element)
    return wp.array(dtype=inner, ndim=2 if get_origin(hint) is Table else 1)


def struct_of(kind: type) -> Any:
    """Return the structure of Warp for a dataclass of parameters: its numbers, vectors and tables."""
    if kind not in _STRUCTS:
        fields: dict[str, Any] = {}
        for name, hint in annotations_of(kind).items():
            if hint in NUMBERS:
                fields[name] = NUMBERS[hint]
            elif hint in (Reals, tuple[float, ...]):
                fields[name] = wp.array(dtype=wp.float64)
            elif _nested(hint):
                fields[name] = struct_of(hint)
        _STRUCTS[kind] = _made_struct(kind, fields)
    return _STRUCTS[kind]


def _nested(hint: Any) -> bool:
    """Return whether a field holds a structure of parameters."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _made_struct(kind: type, fields: dict[str, Any]) -> Any:
    name = f"{kind.__module__}.{kind.__qualname__}".replace(".", "_").replace("<locals>", "local")
    cls = type(name, (), {"__annotations__": fields})
    cls.__module__ = kind.__module__
    return wp.struct(cls)


def filled_struct(kind: type, value: Any, device: str) -> Any:
    """Return a structure of Warp with the values of a dataclass, its tables on a device."""
    made = struct_of(kind)()
    for name, hint in annotations_of(kind).items():
        if hint in (Vec3, Quat) or hint == _TRIPLE:
            vector = getattr(value, name)
            size = 4 if hint is Quat else 3
            setattr(made, name, NUMBERS.get(hint, wp.vec3d)(*(float(vector[k]) for k in range(size))))
        elif hint in NUMBERS:
            setattr(made, name, getattr(value, name))
        elif hint in (Reals, tuple[float, ...]):
            table = np.array(getattr(value, name), dtype=np.float64)
            array: Any = wp.array(table, dtype=wp.float64, device=device)
            setattr(made, name, array)
        elif _nested(hint):
            setattr(made, name, filled_struct(hint, getattr(value, name), device))
    return made


def _written(name: str, text: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function from generated source, which tracebacks and Warp can read.

    Args:
        name: Name of the function in the source.
        text: The source.
        names: Global names that it uses.
    """
    file = f"<pegasus {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**names, "__name__": f"pegasus.generated.{name}"}
    exec(compile(text, file, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made
