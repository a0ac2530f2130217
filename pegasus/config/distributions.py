"""Distributions that files and scripts give for values which differ between the copies of a vehicle."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from pegasus.base.components import StrictModel
from pegasus.base.errors import ConfigError

Numbers = float | list[float]
"""One number for the whole field, or a list with one number per entry, as `center_of_mass` has three."""
_Spread = Annotated[float, Field(ge=0)]


class UniformSpec(StrictModel):
    """Uniform distribution."""

    low: Numbers
    high: Numbers
    relative: bool = False
    """True if the drawn number multiplies the file's value; False if it takes its place."""


class NormalSpec(StrictModel):
    """Normal distribution."""

    mean: Numbers
    std: _Spread | list[_Spread]
    """Standard deviation."""
    relative: bool = False
    """True if the drawn number multiplies the file's value; False if it takes its place."""


class Distribution(StrictModel):
    """Distribution, with exactly one field given: `{normal: {mean: 1.0, std: 0.05, relative: true}}`."""

    uniform: UniformSpec | None = None
    normal: NormalSpec | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.uniform is None) == (self.normal is None):
            raise ConfigError("must be either uniform: {low, high} or normal: {mean, std}")
        return self

    @property
    def given(self) -> UniformSpec | NormalSpec:
        """The distribution that is given."""
        given = self.uniform or self.normal
        assert given is not None
        return given
