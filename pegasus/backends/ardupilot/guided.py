"""ArduPilot flown by commands."""

from dataclasses import dataclass

from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.mavlink.guided import GuidedAutopilot


@dataclass(eq=False)
class GuidedArduPilot(GuidedAutopilot, ArduPilot):
    """ArduPilot backend that is flown by commands; see `ArduPilot`."""
