"""Fingerprints: whatever a trace depends on is in them, and what cannot be told has none."""

import functools
import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pegasus.base.tracing.fingerprints import fingerprint

LAW = '''
import math
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

LIMIT = 3.0
TABLE = (1.0, 2.0)
GAINS = {"p": 0.5}
POINTS = np.array([1.0, 2.0])


class Pair(NamedTuple):
    a: float
    b: float

    def total(self):
        return self.a + self.b


@dataclass(frozen=True)
class Motor:
    rate: float = 2.0
    kind: int = field(default=1, metadata={"literal": True})

    def law(self, x):
        return self.rate * x

    @property
    def twice(self):
        return 2.0 * self.rate


class Faster(Motor):
    offset = 1.0

    def law(self, x):
        return super().law(x) + self.offset


def inner(x):
    return x + 1.0


def helper(x, scale=2.0, *, shift=0.25):
    return inner(x) * scale + shift


def scaled(factor):
    def law(x):
        return factor * x
    return law


by_closure = scaled(4.0)
by_partial = partial(helper, scale=3.0)
PAIR = Pair(1.0, 2.0)
MOTOR = Faster()
LAWS = {"first": scaled(5.0)}


def law(x):
    """Return a number."""
    y = helper(x) + LIMIT * TABLE[1] + GAINS["p"] + POINTS[0] + math.pi
    y = y + by_closure(x) + by_partial(x) + PAIR.total() + MOTOR.law(x) + MOTOR.twice
    return y + LAWS["first"](x) + sum([f(x) for f in (inner,)])
'''
CHANGES = {
    "constant": ("LIMIT = 3.0", "LIMIT = 3.5"),
    "sign of zero": ("LIMIT = 3.0", "LIMIT = -0.0"),
    "table": ("TABLE = (1.0, 2.0)", "TABLE = (1.0, 2.5)"),
    "dictionary": ('{"p": 0.5}', '{"p": 0.6}'),
    "array": ("np.array([1.0, 2.0])", "np.array([1.5, 2.0])"),
    "helper of a helper": ("return x + 1.0", "return x - 1.0"),
    "default": ("scale=2.0", "scale=2.5"),
    "keyword's default": ("shift=0.25", "shift=0.5"),
    "closure": ("scaled(4.0)", "scaled(4.5)"),
    "argument that is bound": ("scale=3.0)", "scale=3.5)"),
    "function in a dictionary": ("scaled(5.0)", "scaled(5.5)"),
    "content of a tuple": ("Pair(1.0, 2.0)", "Pair(1.0, 3.0)"),
    "method of a tuple": ("self.a + self.b", "self.a - self.b"),
    "field's default": ("rate: float = 2.0", "rate: float = 2.5"),
    "field's metadata": ('metadata={"literal": True}', "metadata={}"),
    "method of a base": ("return self.rate * x", "return self.rate + x"),
    "override": ("+ self.offset", "- self.offset"),
    "attribute of a class": ("offset = 1.0", "offset = 1.5"),
    "property": ("2.0 * self.rate", "3.0 * self.rate"),
    "choice of a class": ("MOTOR = Faster()", "MOTOR = Motor()"),
    "base of a class": ("class Faster(Motor)", "class Faster(Motor, object)"),
    "annotation": ("kind: int", "kind: float"),
}


def loaded(text: str, folder: Path) -> ModuleType:
    """Return a module of a text, with one name whatever its folder."""
    folder.mkdir()
    file = folder / "own_laws.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("own_laws", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["own_laws"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., ModuleType]]:
    """Return a function that loads a module of a text, in a folder of its own each time."""
    numbers = iter(range(9))
    yield lambda text=LAW: loaded(text, tmp_path / f"{next(numbers)}")
    sys.modules.pop("own_laws", None)


def test_equal_modules_have_one_fingerprint(load: Callable[..., ModuleType]) -> None:
    """Else nothing would be found again."""
    first = fingerprint(load().law)
    assert first is not None
    assert first == fingerprint(load().law)


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_the_source_is_noticed(load: Callable[..., ModuleType], change: str) -> None:
    """A stale trace would be a wrong flight in silence."""
    old, new = CHANGES[change]
    assert LAW.count(old) == 1
    found = fingerprint(load(LAW.replace(old, new)).law)
    assert found is not None
    assert found != fingerprint(load().law)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("LIMIT", 3.5),
        ("LIMIT", 3),
        ("TABLE", [1.0, 2.0]),
        ("inner", lambda x: x + 1.0),
        ("inner.__defaults__", (1.0,)),
        ("helper.__kwdefaults__", {"shift": 0.5}),
        ("Motor.law", lambda _, x: x),
        ("Motor.twice", 1.0),
        ("Faster.offset", np.float64(1.0)),
        ("Faster.__call__", lambda _: 1.0),
        ("Pair.total", lambda _: 1.0),
        ("math.pi", 3.0),
        ("math", SimpleNamespace(pi=math.pi)),
        ("MOTOR.__dict__", {"rate": 3.0, "kind": 1}),
        ("sum", max),
    ],
)
def test_each_change_while_it_runs_is_noticed(
    load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, place: str, value: Any
) -> None:
    """The text of the file is the same, but not what its names stand for."""
    module = load()
    before = fingerprint(module.law)
    owner, _, name = place.rpartition(".")
    target = functools.reduce(getattr, owner.split("."), module) if owner else module
    if name == "__dict__":
        target.__dict__.update(value)
    else:
        monkeypatch.setattr(target, name, value, raising=False)
    assert fingerprint(module.law) != before
    assert before is not None


def test_a_law_is_known_by_its_arguments_too(load: Callable[..., ModuleType]) -> None:
    """Parameters, names of results and types belong to a trace."""
    law = load().law
    given = [
        (),
        (1.0,),
        (1,),
        (np.float64(1.0),),
        ("y",),
        (("y",),),
        (["y"],),
        (float,),
        (int,),
        (-0.0,),
        (0.0,),
    ]
    assert len({fingerprint(law, *each) for each in given}) == len(given)


def test_the_text_of_a_file_counts_beside_its_code(
    load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tracer reads statements from the file, which may have been edited since it was imported."""
    module = load()
    before = fingerprint(module.law)
    Path(str(module.__file__)).write_text(LAW.replace("x + 1.0", "x + 2.0"), encoding="utf-8")
    monkeypatch.delitem(sys.modules["linecache"].cache, module.__file__)
    assert fingerprint(module.law) != before


UNTOLD = {
    "file": "open('numbers.txt')",
    "file of numbers": "np.loadtxt('numbers.txt')",
    "file of an array": "np.load('numbers.npy')",
    "random number of NumPy": "np.random.default_rng().normal()",
    "file that is an array": "np.memmap('numbers.dat')[0]",
    "random number": "random.random()",
    "random number of an object": "NUMBERS.random()",
    "time": "time.time()",
    "import": "__import__('math').pi",
    "evaluated text": "eval('1.0')",
    "computed name": "getattr(np, 'pi')",
    "module that is handed on": "len(vars(math))",
    "kept result": "KEPT(1.0)",
    "object with hidden content": "HIDDEN[1]",
    "missing member": "math.missing",
    "number of an object": "id(None)",
}
HEAD = """
import functools, math, random, time
from collections import deque
import numpy as np
NUMBERS = random.Random(1)
KEPT = functools.cache(lambda x: x)
HIDDEN = deque((1.0, 2.0))
"""


@pytest.mark.parametrize("kind", UNTOLD)
def test_what_cannot_be_told_has_no_fingerprint(load: Callable[..., ModuleType], kind: str) -> None:
    """Such laws are traced anew in each process."""
    assert fingerprint(load(f"{HEAD}\ndef law(x):\n    return x * {UNTOLD[kind]}\n").law) is None
    assert fingerprint(load(f"{HEAD}\ndef inner():\n    return 1.0\ndef law(x):\n    return inner()\n").law)


def test_functions_of_numpy_that_compute_are_known(load: Callable[..., ModuleType]) -> None:
    """Classes with laws have methods in NumPy beside them."""
    texts = ("np.where(x > 0.0, np.sqrt(x), 1.0)", "np.asarray((x, 1.0))", "np.stack([x, x]).sum()")
    found = {fingerprint(load(f"{HEAD}\ndef law(x):\n    return {text}\n").law) for text in texts}
    assert None not in found
    assert len(found) == len(texts)


def test_an_import_within_a_function_has_no_fingerprint(load: Callable[..., ModuleType]) -> None:
    """What it imports is known when it runs."""
    assert fingerprint(load("def law(x):\n    from math import pi\n    return pi * x\n").law) is None
