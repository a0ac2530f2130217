"""Tests of components from YAML: valid ones are built, errors name the field."""

from dataclasses import dataclass, field

import pytest

from pegasus.base.components import build
from pegasus.base.errors import ConfigError


@dataclass(frozen=True)
class Noise:
    density: float = 1.0
    axes: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        if self.density < 0:
            raise ConfigError("must not be negative", field="density", value=self.density)


@dataclass(kw_only=True)
class Thing:
    size: float
    noise: Noise = field(default_factory=Noise)
    more: Noise | None = None
    hidden: int = field(default=7, init=False)


@dataclass(kw_only=True)
class QuotedThing(Thing):
    weight: "float | None" = None


class Undeclared(Thing.__mro__[-1]):
    pass


KINDS = {"thing": Thing, "quoted": QuotedThing}


def made(**spec):
    return build(Thing, KINDS, spec, field="parts.first")


def test_nested_parameters_reach_their_dataclass():
    """A nested mapping handed on as a plain dict would fail in flight."""
    thing = made(model="thing", size=2, noise={"density": 0.5, "axes": [1, 2, 3]})
    assert thing.size == 2.0
    assert thing.noise == Noise(0.5, (1.0, 2.0, 3.0))
    assert made(model="thing", size=2, more={"density": 2}).more == Noise(2.0)


def test_a_users_own_class_by_its_path():
    """An own component must be usable from YAML without touching the package."""
    assert isinstance(made(model=f"{__name__}:QuotedThing", size=1, weight=3), QuotedThing)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": 1}, "parts.first.model: must be one of quoted, thing"),
        ({"model": "thnig", "size": 1}, "parts.first.model = 'thnig': must be one of quoted, thing"),
        (
            {"model": "no.such.module:X", "size": 1},
            "parts.first.model = 'no.such.module:X': cannot be imported",
        ),
        ({"model": f"{__name__}:Undeclared"}, "must be a class derived from Thing"),
        ({"model": "thing"}, "parts.first.size: required field is missing"),
        (
            {"model": "thing", "size": 1, "sise": 2},
            "parts.first.sise: unknown field; did you mean size? allowed here: more, noise, size",
        ),
        ({"model": "thing", "size": "big"}, "parts.first.size = 'big': must be a number"),
        ({"model": "thing", "size": float("nan")}, "parts.first.size = nan: must be a finite number"),
        ({"model": "thing", "size": 1, "hidden": 3}, "parts.first.hidden: unknown field"),
        (
            {"model": "thing", "size": 1, "noise": {"densty": 1}},
            "parts.first.noise.densty: unknown field; did you mean density? allowed here: axes, density",
        ),
        (
            {"model": "thing", "size": 1, "more": {"densty": 1}},
            "parts.first.more.densty: unknown field; did you mean density? allowed here: axes, density",
        ),
        (
            {"model": "thing", "size": 1, "noise": {"density": -1}},
            "parts.first.noise.density = -1.0: must not be negative",
        ),
    ],
)
def test_what_does_not_fit_is_named(spec, message):
    """An error without field, value and what is allowed would send the user searching."""
    with pytest.raises(ConfigError) as caught:
        made(**spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
