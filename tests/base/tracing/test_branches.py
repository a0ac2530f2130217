"""Branches of compiled code: bits, and the operations that they skip."""

from typing import Any

from pegasus.base.step_math import Real
from pegasus.base.tracing import column, trace
from pegasus.base.tracing.branches import Branch, with_branches
from pegasus.base.tracing.symbols import Symbol
from tests.base.tracing.comparison import differences


def longer(x: Real) -> Real:
    """Return a number by many operations."""
    for k in range(60):
        x = x * (1.0 + 0.01 * k) + 0.5
    return x


def shared(x: Real, y: Real) -> tuple[Real, Real]:
    """Choose two numbers that have operations in common."""
    a, b = x, y
    if y > 0.0:
        common = longer(x)
        a, b = common * 2.0, common - y
    return a, b


def entangled(x: Real, y: Real) -> Real:
    """Choose twice by one condition, the second time by what follows from the first one."""
    a = longer(x) if y > 0.0 else x
    outside = a * a
    return longer(outside) if y > 0.0 else outside


def nested(x: Real, y: Real) -> Real:
    """Choose within a choice, of numbers that both sides need."""
    both = longer(y)
    if x > 0.0:
        return longer(both + x) if y > 1.0 else both
    return both - x


def chained(x: Real, y: Real) -> Real:
    """Choose by one condition what a later choice by the same one needs."""
    start = x * 3.0 if y > 0.0 else y
    return longer(start) if y > 0.0 else x


def crossed(x: Real, y: Real) -> Real:
    """Choose twice by each of two conditions, the second times by the first ones of the other."""
    a = longer(x) if y > 0.0 else x
    b = longer(y) if x > 0.0 else y
    c = longer(b + 1.0) if y > 0.0 else b
    d = longer(a + 2.0) if x > 0.0 else a
    return c * d


LAWS: dict[str, Any] = {
    "shared": shared,
    "entangled": entangled,
    "nested": nested,
    "chained": chained,
    "crossed": crossed,
}


def branches(law: Any) -> list[Any]:
    """Return the branches of a law."""
    made = trace(law, column("x"), column("y"))
    kept = {x.place for _, values in made.outputs for x in values if isinstance(x, Symbol)}
    return [part for part in with_branches(made.operations, kept) if isinstance(part, Branch)]


def test_code_with_branches_has_the_bits_of_python() -> None:
    """One vehicle would fly otherwise than many."""
    laws = {name: (law, [column(f"{name}_x"), column(f"{name}_y")]) for name, law in LAWS.items()}
    assert differences(laws) == []


def test_a_side_that_is_not_needed_is_skipped() -> None:
    """One vehicle would pay for all cases at each step."""
    (one,) = branches(shared)
    assert len(one.choices) == 2
    assert len(one.sides[0]) > 118 > 1 > len(one.sides[1])
    assert [len(branch.choices) for branch in branches(entangled)] == [1]
    (outer,) = branches(nested)
    # What both sides need stays outside.
    assert 118 < len(outer.sides[0]) < 130
