"""Joints, surfaces and further kinds of propulsion as vehicle files describe them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, field_validator, model_validator

from pegasus.base.arrays import Array
from pegasus.base.components import Positive, StrictModel, Vec3
from pegasus.base.errors import ConfigError

Component = dict[str, Any]
_CHANNEL = re.compile(r"(?!rotor_\d)[A-Za-z]\w*")


def channel_name(name: str) -> str:
    """Return a name of a channel that is not of a rotor.

    Args:
        name: The name.

    Raises:
        ConfigError: If it is none.
    """
    if not _CHANNEL.fullmatch(name):
        raise ConfigError(
            "is no name of a channel",
            value=name,
            remedy="use letters, digits and underscores; rotor_0 and so on are rotors",
        )
    return name


class PropellerSpec(StrictModel):
    """Size of the propellers."""

    diameter: Positive = 0.254
    """Diameter [m]."""
    blade_count: Annotated[int, Field(ge=2, le=8)] = 2
    inertia: Annotated[float, Field(ge=0)] = 0.0
    """Moment of inertia of propeller and rotor about their axis [kg m^2]; 0 leaves their momentum out."""


class PropulsionSpec(StrictModel):
    """Motor and propeller of rotors that differ from the others, such as a pusher."""

    motor: Component = {"model": "ideal"}
    thrust_curve: Component
    propeller: PropellerSpec = PropellerSpec()


class JointSpec(StrictModel):
    """Hinge that a servo turns, at angle 0: of a control surface, or of a nacelle."""

    position: Vec3 = (0.0, 0.0, 0.0)
    """A point of the hinge line in the body frame [m]."""
    axis: Vec3 = (0.0, 1.0, 0.0)
    """Direction of the hinge line; positive angles turn by the right-hand rule."""
    servo: Component = {}
    """Servo: limits `low` and `high`, `idle` [rad], `rate_limit` [rad/s], `time_constant` [s]."""

    @field_validator("axis")
    @classmethod
    def _axis_has_a_direction(cls, axis: Vec3) -> Vec3:
        return unit(None, axis)


class WheelSpec(StrictModel):
    """Wheel, whose tyre is a sphere that collides."""

    position: Vec3
    """Its middle in the body frame [m]."""
    radius: Positive
    """Radius [m]."""
    axle: Vec3 = (0.0, 1.0, 0.0)
    """Direction of the axle."""
    rolling_friction: Annotated[float, Field(ge=0, le=1)] = 0.03
    """Resistance to rolling by load; 0.02 to 0.05 on asphalt, 0.1 on grass."""
    brake: Annotated[str, AfterValidator(channel_name)] | None = None
    """Channel of its brake, from 0 to 1, at which it no longer rolls; none when left out."""
    joint: str | None = None
    """Joint whose angle steers it about the z axis."""
    steering_ratio: float = 1.0
    """Steering angle by the angle of the joint."""

    @field_validator("axle")
    @classmethod
    def _axle_has_a_direction(cls, axle: Vec3) -> Vec3:
        return unit(None, axle)


class SurfaceShape(StrictModel):
    """Look of a wing or tail, which has no effect on its forces.

    In the plane of symmetry it is a wing with two sides, whose root is at the position. Elsewhere it is one
    panel, whose middle is there, with the root towards that plane; so is a fin, whose tip is above its root.
    """

    span: Positive | None = None
    """Span of both sides, or of the panel [m]; by area and aspect ratio when left out."""
    chord: Positive | None = None
    """Chord of the root [m]; by area and span when left out."""
    taper: Annotated[float, Field(ge=0.05, le=2.0)] = 1.0
    """Chord of the tip by that of the root."""
    sweep: Annotated[float, Field(ge=-1.2, le=1.2)] = 0.0
    """Sweep of the quarter-chord line to the rear [rad]."""
    dihedral: Annotated[float, Field(ge=-1.2, le=1.2)] = 0.0
    """Rise of the panels towards their tips [rad]."""
    section: Annotated[str, Field(pattern=r"^\d\d\d[1-9]$|^\d\d[1-9]0$")] = "0012"
    """Section: the four digits of NACA."""
    position: Vec3 | None = None
    """Quarter-chord point in the body frame [m]; the surface's own reference point when left out."""
    upward: Vec3 | None = None
    """Direction of its z axis; that of the surface when left out."""
    controls: list[str] | None = None
    """Joints of the control surfaces that are drawn on it; those of the surface when left out."""
    controls_span: tuple[Annotated[float, Field(ge=0.0, le=1.0)], Annotated[float, Field(ge=0.0, le=1.0)]] = (
        0.03,
        0.97,
    )
    """Parts of the span from root to tip between which they are, side by side."""


class SurfaceMount(StrictModel):
    """Place of a wing, tail or fuselage, beside the parameters of its model."""

    position: Vec3 = (0.0, 0.0, 0.0)
    """Reference point in the body frame [m]."""
    forward: Vec3 = (1.0, 0.0, 0.0)
    """Direction of its x axis."""
    upward: Vec3 = (0.0, 0.0, 1.0)
    """Direction of its z axis; what of it lies along `forward` is taken away."""
    controls: list[str] = []
    """Names of the joints that deflect its control surfaces."""
    slipstream: list[Annotated[int, Field(ge=0)]] = []
    """Rotors in whose stream it stands."""
    joint: str | None = None
    """Name of the joint that turns it as a whole."""
    shape: SurfaceShape | list[SurfaceShape] | None = None
    """Look, or those of the wings of a whole airframe; a wing of its area when left out."""

    @model_validator(mode="after")
    def _has_a_frame(self) -> "SurfaceMount":
        forward, upward = unit("forward", self.forward), unit("upward", self.upward)
        if np.linalg.norm(np.cross(forward, upward)) < 1e-3:
            raise ConfigError("must not be along forward", field="upward", value=self.upward)
        return self

    def axes(self) -> tuple[Array, Array, Array]:
        """Return its axes x, y and z in the body frame, shape (3,) each."""
        x = np.array(unit("forward", self.forward))
        y = np.cross(self.upward, x)
        y = y / np.sqrt((y * y).sum())
        return x, y, np.cross(x, y)

    @classmethod
    def of(cls, surface: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of a mount, and the others, which are those of the model.

        Args:
            surface: Fields of a surface.
        """
        mount = {name: value for name, value in surface.items() if name in cls.model_fields}
        return mount, {name: value for name, value in surface.items() if name not in mount}


def unit(field: str | None, direction: Vec3) -> Vec3:
    """Return a direction of unit length.

    Args:
        field: Field of the direction, for the error; None where it is known.
        direction: The direction.

    Raises:
        ConfigError: If it has no length.
    """
    length = float(np.sqrt(np.square(direction).sum()))
    if not length > 1e-6:
        raise ConfigError("must not be zero", field=field, value=direction)
    x, y, z = (float(value) / length for value in direction)
    return x, y, z
