"""Airframes of stability derivatives that are read from files of AVL and JSBSim."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.dynamics.wings.avl import read_avl
from pegasus.dynamics.wings.derivatives import AirframeDerivatives, DerivativeParameters, airframe_derivatives
from pegasus.dynamics.wings.jsbsim import CONTROLS, read_jsbsim
from pegasus.dynamics.wings.wing import Wing


@dataclass(frozen=True, kw_only=True)
class AirframeFile(Wing):
    """Base of an airframe of a file; its area is that of the file."""

    law: ClassVar[Any] = staticmethod(airframe_derivatives)

    file: str
    """The file, relative to that of the vehicle."""
    area: float = field(init=False)
    """Reference area [m^2]."""
    airframe: AirframeDerivatives = field(init=False, repr=False, compare=False)
    """The airframe that was read."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "airframe", self.read())
        object.__setattr__(self, "area", self.airframe.area)

    def read(self) -> AirframeDerivatives:
        """Return the airframe of the file."""
        raise NotImplementedError

    @property
    def control_count(self) -> int:
        """Number of control surfaces."""
        return self.airframe.control_count

    def parameters(self) -> DerivativeParameters:
        """Return the parameters of the law."""
        return self.airframe.parameters()


@dataclass(frozen=True, kw_only=True)
class AvlAirframe(AirframeFile):
    """Airframe of a `.st` file of AVL; see `read_avl`."""

    length_unit: float = 1.0
    """Unit of lengths of the AVL model [m]."""
    stall_angle: float | None = None
    """Angle of attack at stall [rad]; the linear lift has no end if left out."""
    stall_sharpness: float = 50.0
    """Rate of the transition to stall M [1/rad]."""

    def read(self) -> AirframeDerivatives:
        """Return the airframe of the file."""
        require(self.length_unit > 0, "length_unit", self.length_unit, "must be above 0 m")
        linear = read_avl(Path(self.file).expanduser(), length_unit=self.length_unit)
        return replace(linear, stall_angle=self.stall_angle, stall_sharpness=self.stall_sharpness)


@dataclass(frozen=True, kw_only=True)
class JsbsimAirframe(AirframeFile):
    """Airframe of an aircraft of JSBSim; see `read_jsbsim`."""

    control_properties: tuple[str, ...] = CONTROLS
    """Properties of the control surfaces, in the order of the deflections."""
    held: Mapping[str, float] = field(default_factory=dict)
    """Values of properties that are held."""

    def read(self) -> AirframeDerivatives:
        """Return the airframe of the file."""
        path = Path(self.file).expanduser()
        return read_jsbsim(path, controls=self.control_properties, held=self.held)
