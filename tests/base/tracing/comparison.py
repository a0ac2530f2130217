"""Comparison of laws run by Python with the same laws compiled, one row and several rows side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Mat33, Quat, Vec3
from pegasus.base.tracing import Argument, Trace, trace, uniform_values
from pegasus.base.tracing.launches import Program

EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-320, 1e300, -1e300, 2.0)
Laws = Mapping[str, tuple[Any, Sequence[Any]]]


def traced(laws: Laws) -> Trace:
    """Return one trace of several laws, whose columns are named by the law."""
    flat = [a for _, arguments in laws.values() for a in arguments]

    def every(*values: Any) -> Any:
        found, first = {}, 0
        for name, (law, arguments) in laws.items():
            found[name] = law(*values[first : first + len(arguments)])
            first += len(arguments)
        return found

    return trace(every, *flat)


def flat_result(value: Any) -> list[float]:
    """Return the numbers of a result."""
    if isinstance(value, Vec3):
        return [value[k] for k in range(3)]
    if isinstance(value, Quat):
        return [value[k] for k in range(4)]
    if isinstance(value, Mat33):
        return [x for row in value.rows for x in row]
    if isinstance(value, tuple | list):
        return [x for part in value for x in flat_result(part)]
    return [float(value)]


def drawn(laws: Laws, made: Trace, count: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return columns of random numbers, the last rows with edge values among them."""
    given = [a for _, arguments in laws.values() for a in arguments if isinstance(a, Argument) and a.values]
    arrays: dict[str, Array] = {name: values for a in given for name, values in uniform_values(a).items()}
    for c in made.inputs:
        if not c.uniform:
            values = rng.normal(0.0, 1.0, (count, c.size)) * 10.0 ** rng.integers(-2, 3, (count, 1))
            edge = rng.random((count, c.size)) < 0.4
            edge[: count // 2] = False
            values[edge] = rng.choice(EDGES, edge.sum())
            arrays[c.name] = values
    return arrays


def row_of(name: str, kind: Any, width: int, arrays: Mapping[str, Array], i: int) -> Any:
    """Return the value of an argument for a row."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        parts: Any = (row_of(f"{name}.{f.name}", hints[f.name], 0, arrays, i) for f in fields(kind))
        return kind(*parts)
    # An argument that the function does not use is no input.
    size = width or {Vec3: 3, Quat: 4}.get(kind, 1)
    row = arrays[name][i].tolist() if name in arrays else [1.0] * size
    return tuple(row) if width else kind(*row)


def by_python(law: Any, arguments: Sequence[Any], arrays: Mapping[str, Array], i: int) -> list[float] | None:
    """Return the numbers of a law for a row; None where Python raises an error of arithmetic."""
    values: list[Any] = []
    for a in arguments:
        if not isinstance(a, Argument) or a.values:
            values.append(a.values[0] if isinstance(a, Argument) else a)
        else:
            values.append(row_of(a.name, a.kind, a.width, arrays, i))
    try:
        return flat_result(law(*values))
    except (ArithmeticError, ValueError):
        return None


def differences(laws: Laws, *, count: int = 200, seed: int = 1) -> list[str]:
    """Return where bits of laws differ between Python, one row and several rows side by side."""
    made = traced(laws)
    arrays = drawn(laws, made, count, np.random.default_rng(seed))
    outputs: dict[int, dict[str, Array]] = {}
    for lanes in (1, 8):
        out = {c.name: np.full((count, c.size), 77.0) for c, _ in made.outputs}
        Program(made, lanes=lanes).launch({**arrays, **out}, count)()
        outputs[lanes] = out
    one, several = outputs[1], outputs[8]
    found = [f"{name}: one row and eight" for name in one if not equal(one[name], several[name])]
    for name, (law, arguments) in laws.items():
        columns = [one[c.name] for c, _ in made.outputs if c.name.split(".")[0] == name]
        for i in range(count):
            expected = by_python(law, arguments, arrays, i)
            compiled = np.concatenate([values[i] for values in columns])
            if expected is not None and not equal(np.array(expected), compiled):
                found.append(f"{name}, row {i}: Python {expected}, compiled {compiled}")
                break
    return found


def equal(a: Array, b: Array) -> bool:
    """Return whether numbers have equal bits; all that are not numbers are alike."""
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    nan = np.isnan(one) & np.isnan(other)
    return bool(np.all(nan | (one.view(np.int64) == other.view(np.int64))))
