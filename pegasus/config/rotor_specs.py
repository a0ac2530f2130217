"""Rotors as vehicle files describe them: one by one, by the prims of a model, or on a ring."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, field_validator

from pegasus.base.components import Positive, StrictModel, Vec3
from pegasus.base.errors import ConfigError

_ROTOR = re.compile(r"/rotor_?(\d+)(?:/|$)", re.IGNORECASE)


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
    propulsion: str | None = None
    """Kind of its motor and propeller in the section `propulsion`; that of the vehicle when left out."""
    joint: str | None = None
    """Joint that turns its axis; position and axis are those at angle 0."""
    pitch_joint: str | None = None
    """Joint that turns its blades about their own axes; for a thrust curve with a pitch."""

    @field_validator("axis")
    @classmethod
    def _axis_has_a_direction(cls, axis: Vec3) -> Vec3:
        return _direction(axis)


class RotorPrimSpec(StrictModel):
    """Rotor placed by a prim of the vehicle's USD model."""

    prim: str
    """Name of the prim, or its path below the default prim."""
    direction: Literal["ccw", "cw"]
    """Sense of rotation about `axis`, seen from its tip."""
    axis: Vec3 | None = None
    """Direction of positive thrust in the body frame; the prim's own up axis when None."""
    propulsion: str | None = None
    """Kind of its motor and propeller; see `RotorSpec`."""
    joint: str | None = None
    """Joint that turns its axis."""
    pitch_joint: str | None = None
    """Joint that turns its blades; see `RotorSpec`."""

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
    """Return the tag of the form of a rotor: with a position, or placed by a prim."""
    by_prim = isinstance(value, Mapping) and "prim" in value and "position" not in value
    return "[prim]" if by_prim or isinstance(value, RotorPrimSpec) else "[placed]"


# The tags select the form to validate; those in brackets are omitted from error messages.
AnyRotor = Annotated[
    Annotated[RotorSpec, Tag("[placed]")] | Annotated[RotorPrimSpec, Tag("[prim]")],
    Discriminator(_form_of_rotor),
]
RotorList = list[AnyRotor]
Rotors = Annotated[
    Annotated[RotorList, Tag("[list]")] | Annotated[RotorRing, Tag("[ring]")],
    Discriminator(lambda value: "[list]" if isinstance(value, list | tuple) else "[ring]"),
]


def rotor_of(path: str, rotors: Sequence[RotorSpec] = ()) -> int | None:
    """Return the index of the rotor with which a prim of a vehicle turns, or None if it does not turn.

    If rotors name their prims, these prims and their descendants turn; otherwise the descendants of
    `rotor<i>` or `rotor_<i>` turn with rotor i.

    Args:
        path: Path of an instance.
        rotors: The vehicle's rotors, placed.
    """
    if any(rotor.prim for rotor in rotors):
        return next(
            (
                index
                for index, rotor in enumerate(rotors)
                if rotor.prim and (path == rotor.prim or path.startswith(f"{rotor.prim}/"))
            ),
            None,
        )
    found = _ROTOR.search(path)
    return int(found.group(1)) if found else None
