"""Sections of vehicle files for autopilots: their outputs and parameters."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from pegasus.base.components import StrictModel
from pegasus.base.errors import ConfigError


class OutputSpec(StrictModel):
    """Output of an autopilot that commands a channel."""

    output: Annotated[int, Field(ge=0, le=31)]
    """The output, counted from 0."""
    scale: float | None = None
    """Command per unit of output, negative for a reversed servo; the channel's upper limit when left out."""
    offset: float = 0.0
    """Command of a servo at output 0; of a rotor at an output just above zero, armed."""


# The tags select the form to validate; those in brackets are omitted from error messages.
Outputs = Annotated[
    Annotated[list[Annotated[int, Field(ge=0, le=31)]], Tag("[list]")]
    | Annotated[dict[str, OutputSpec | None], Tag("[names]")],
    Discriminator(lambda value: "[names]" if isinstance(value, Mapping) else "[list]"),
]


class ActuatorMap(StrictModel):
    """Map from autopilot outputs u to commands, those at rest while disarmed.

    A rotor turns at sign(u) (scale |u| + offset), u from 0 to 1, or -1 to 1 if it can be reversed. Another
    channel, such as a servo, gets scale u + offset within its limits, u from -1 to 1.
    """

    channels: Outputs | None = None
    """Output of each channel, counted from 0, or `OutputSpec` by the name of the channel, null for one that
    rests; channel i takes output i when left out."""
    scale: float | list[float] | None = None
    """Command per unit of output, one or one per channel; the upper limit of each when left out."""
    offset: float | list[float] = 0.0
    """Command at an output just above zero, armed, one or one per channel."""

    @model_validator(mode="after")
    def _scales_once(self) -> Self:
        if isinstance(self.channels, dict):
            for name in ("scale", "offset"):
                if name in self.model_fields_set:
                    raise ConfigError(
                        "is given twice: channels are described by name",
                        field=name,
                        value=getattr(self, name),
                        remedy="set it in each of the channels",
                    )
        return self


class PX4Spec(ActuatorMap):
    """Parameters of a vehicle for PX4."""

    airframe: str = "none_iris"
    """Airframe that PX4 starts with, as its PX4_SIM_MODEL names it; `none_iris` for that of the vehicle's
    kind, with the geometry of the model."""
    parameters: dict[str, float | int] = {}
    """PX4 parameters that differ from the airframe's."""


class ArduPilotSpec(ActuatorMap):
    """Parameters of a vehicle for ArduPilot; u is its pulse width from 1000 to 2000 us."""

    vehicle: Literal["copter", "plane"] = "copter"
    """Program that flies it: ArduCopter, or ArduPlane, whose outputs are those of SERVOn_FUNCTION."""
    parameters: dict[str, float | int] = {}
    """ArduPilot parameters that differ from the defaults of its copters."""
