"""Faults of the links of autopilots and of ROS 2."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.components import require
from pegasus.contracts.fault import Fault
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import as_aircraft
from pegasus.core.link_state import LINKS

_BACKENDS = {"mavlink": "PX4", "json": "ArduPilot", "ros2": "ROS2"}


@dataclass(frozen=True)
class LinkFault(Fault):
    """Base of a fault of a link."""

    link: str
    """`mavlink`, by which PX4 gets readings, `json`, by which ArduPilot gets them, or `ros2`."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.link in LINKS, "link", self.link, f"must be one of {', '.join(LINKS)}")

    def concerns(self) -> list[str]:
        """Return the name of the link."""
        return [self.link]

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle has no backend with this link."""
        kinds = {base.__name__ for b in as_aircraft(vehicle).backends for base in type(b).__mro__}
        needed = f"needs a backend {_BACKENDS[self.link]} on {vehicle.name!r}"
        require(_BACKENDS[self.link] in kinds, "link", self.link, needed)


@dataclass(frozen=True)
class LinkLoss(LinkFault):
    """Messages that are lost."""

    amount: float = 1.0
    """Share of the messages that are lost, above 0 to 1."""

    kind: ClassVar[str] = "loss"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.amount <= 1, "amount", self.amount, "must be above 0, to 1")


@dataclass(frozen=True)
class LinkDuplicate(LinkFault):
    """Messages that arrive twice."""

    amount: float = 1.0
    """Share of the messages that arrive twice, above 0 to 1."""

    kind: ClassVar[str] = "duplicate"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.amount <= 1, "amount", self.amount, "must be above 0, to 1")


@dataclass(frozen=True)
class LinkDelay(LinkFault):
    """Messages that arrive late, in their order."""

    amount: float = 0.1
    """Delay [s]."""

    kind: ClassVar[str] = "delay"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.amount <= 60, "amount", self.amount, "must be above 0 s and at most 60 s")
