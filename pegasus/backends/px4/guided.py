"""PX4 flown by commands."""

from dataclasses import dataclass

from pegasus.backends.mavlink.guided import GuidedAutopilot
from pegasus.backends.px4.px4 import PX4


@dataclass(eq=False)
class GuidedPX4(GuidedAutopilot, PX4):
    """PX4 backend that is flown by commands; see `PX4`."""
