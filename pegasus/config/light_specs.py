"""Lights of a world file: sun, sky, lamps and spots."""

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from pegasus.base.components import Positive, StrictModel, Vec3
from pegasus.base.errors import ConfigError

_Part = Annotated[float, Field(ge=0)]
_Color = tuple[_Part, _Part, _Part]


class SunSpec(StrictModel):
    """The sun."""

    model: Literal["sun"] = "sun"
    elevation: Annotated[float, Field(ge=-1.6, le=1.6)] = 0.8727
    """Height above the horizon [rad]."""
    azimuth: float = 3.7525
    """Azimuth, clockwise from north [rad]."""
    intensity: _Part = 3000.0
    """Irradiance across its rays, where 3000 is that of a clear day."""
    color: _Color = (1.0, 0.96, 0.88)
    """Linear RGB."""


class SkySpec(StrictModel):
    """The sky."""

    model: Literal["sky"] = "sky"
    intensity: _Part = 350.0
    """Mean radiance; a factor of the image, if there is one."""
    color: _Color = (0.53, 0.73, 1.0)
    """Linear RGB; a factor of the image, if there is one."""
    file: Path | None = None
    """Image around the zenith, equirectangular; a clear sky around the sun when left out."""


class _SphereLamp(StrictModel):
    position: Vec3
    """Its middle [m]."""
    radius: Positive = 0.05
    """Radius of the sphere that shines [m]."""
    intensity: _Part = 100.0
    """Irradiance 1 m away, in the units of the sun's."""
    color: _Color = (1.0, 0.96, 0.9)
    """Linear RGB."""


class LampSpec(_SphereLamp):
    """A lamp that shines in all directions."""

    model: Literal["lamp"]


class SpotSpec(_SphereLamp):
    """A lamp that shines within a cone."""

    model: Literal["spot"]
    direction: Vec3 = (0.0, 0.0, -1.0)
    """Axis of the cone, of any length."""
    angle: Annotated[float, Field(gt=0, lt=math.pi)] = 0.6
    """Angle between axis and edge [rad]."""
    softness: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Part of the angle over which the light fades to the edge."""

    @field_validator("direction")
    @classmethod
    def _points_somewhere(cls, direction: Vec3) -> Vec3:
        if not any(direction):
            raise ConfigError("must not be zero", value=direction)
        return direction


LightSpec = Annotated[SunSpec | SkySpec | LampSpec | SpotSpec, Field(discriminator="model")]
"""A light by its `model`: `sun`, `sky`, `lamp` or `spot`."""
