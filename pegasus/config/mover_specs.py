"""Movers of a world or scenario file: platforms, doors and other objects that move by the time."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pegasus.base.components import Positive, StrictModel, Vec3
from pegasus.base.errors import ConfigError

_Share = Annotated[float, Field(ge=0, le=1)]


class MoverSpec(StrictModel):
    """A rigid object that moves by a function of time: its shape, its surface, its motion.

    Exactly one of `box`, `sphere`, `cylinder` and `usd` is its shape.
    """

    name: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
    """Unique name of letters, digits and underscores."""
    label: Annotated[str, Field(min_length=1)] = "mover"
    """Semantic class."""
    box: tuple[Positive, Positive, Positive] | None = None
    """Lengths along x, y, z [m]."""
    sphere: Positive | None = None
    """Radius [m]."""
    cylinder: tuple[Positive, Positive] | None = None
    """Radius and height along z [m]."""
    usd: Path | None = None
    """USD or glTF file with look and colliders, relative to the YAML file."""
    center: Vec3 = (0.0, 0.0, 0.0)
    """Centre of the box, sphere or cylinder in the frame that moves [m]."""
    color: tuple[_Share, _Share, _Share] = (0.5, 0.5, 0.5)
    """Colour of the box, sphere or cylinder, linear RGB."""
    roughness: _Share = 0.8
    """Roughness of the surface."""
    friction: Annotated[float, Field(ge=0)] = 0.7
    """Friction coefficient."""
    restitution: _Share = 0.0
    """Coefficient of restitution."""
    collides: bool = True
    """True if vehicles and the rays of the engine hit it; cameras see it in any case."""
    motion: dict[str, Any]
    """Its motion: the name as `model`, and the parameters; see docs/movers.md."""

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        shapes = "box", "sphere", "cylinder", "usd"
        given = [name for name in shapes if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError(
                "exactly one of box, sphere, cylinder and usd must be given",
                field=given[1] if given else "box",
                value=getattr(self, given[1]) if given else None,
                remedy="such as box: [2.0, 2.0, 0.2]",
            )
        return self
