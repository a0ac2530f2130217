"""Rotors as vehicle files describe them: one by one, by the prims of a model, or on a ring."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, field_validator

from pegasus.components import Positive, StrictModel, Vec3
from pegasus.errors import ConfigError


class RotorSpec(StrictModel):
    """One rotor, in the body frame."""

    position: Vec3
    """Centre of the rotor disc [m]."""
    direction: Literal["ccw", "cw"]
    """Sense of rotation about `axis`, seen from its tip (from above for an upright rotor)."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Direction of positive thrust; need not be of unit length."""
    prim: str | None = None
    """Prim of the vehicle's own USD model that turns with the rotor."""

    @field_validator("axis")
    @classmethod
    def _axis_has_a_direction(cls, axis: Vec3) -> Vec3:
        return _direction(axis)


class RotorPrimSpec(StrictModel):
    """One rotor whose place is that of a prim of the vehicle's own USD model."""

    prim: str
    """Name of the prim, or its path below the default prim."""
    direction: Literal["ccw", "cw"]
    """Sense of rotation about `axis`, seen from its tip."""
    axis: Vec3 | None = None
    """Direction of positive thrust in the body frame; the prim's own up axis when None."""

    @field_validator("axis")
    @classmethod
    def _axis_has_a_direction(cls, axis: Vec3 | None) -> Vec3 | None:
        return None if axis is None else _direction(axis)


def _direction(axis: Vec3) -> Vec3:
    if not np.linalg.norm(axis) > 1e-6:
        raise ConfigError("must not be zero", value=axis)
    return axis


class RotorRing(StrictModel):
    """Rotors evenly on a ring about the z axis, senses of rotation alternating."""

    count: Annotated[int, Field(ge=2)]
    radius: Positive
    """Distance of the rotor centres from the z axis [m]."""
    height: float = 0.03
    """Height of the discs above the body's origin [m]."""
    first_angle: float | None = None
    """Angle of the first rotor from the x axis, counter-clockwise [rad]; half a spacing when left out."""
    first_direction: Literal["ccw", "cw"] = "ccw"

    def rotors(self) -> list[RotorSpec]:
        """Return the rotors, counter-clockwise from the first."""
        first = np.pi / self.count if self.first_angle is None else self.first_angle
        senses: tuple[Literal["ccw", "cw"], ...] = (
            ("ccw", "cw") if self.first_direction == "ccw" else ("cw", "ccw")
        )
        angles = first + 2 * np.pi * np.arange(self.count) / self.count
        return [
            RotorSpec(
                position=(float(self.radius * np.cos(a)), float(self.radius * np.sin(a)), self.height),
                direction=senses[i % 2],
            )
            for i, a in enumerate(angles)
        ]


def _form_of_rotor(value: Any) -> str:
    """Return which of the two forms of a rotor is meant: one whose place is given, or is that of a prim."""
    by_prim = isinstance(value, Mapping) and "prim" in value and "position" not in value
    return "[prim]" if by_prim or isinstance(value, RotorPrimSpec) else "[placed]"


# The tags in brackets pick the one form to check, and are left out of error messages.
AnyRotor = Annotated[
    Annotated[RotorSpec, Tag("[placed]")] | Annotated[RotorPrimSpec, Tag("[prim]")],
    Discriminator(_form_of_rotor),
]
RotorList = list[AnyRotor]
Rotors = Annotated[
    Annotated[RotorList, Tag("[list]")] | Annotated[RotorRing, Tag("[ring]")],
    Discriminator(lambda value: "[list]" if isinstance(value, list | tuple) else "[ring]"),
]
