"""PX4 flown by commands."""

from dataclasses import dataclass

from pegasus.backends.mavlink.guided import GuidedAutopilot
from pegasus.backends.px4.px4 import PX4
from pegasus.base.arrays import Array


@dataclass(eq=False)
class GuidedPX4(GuidedAutopilot, PX4):
    """PX4 backend that is flown by commands; see `PX4`."""

    def _thrust_shares(self, thrust: Array, cosine: Array) -> Array:
        # PX4's thrust is linear in the outputs, unless THR_MDL_FAC bends it.
        outputs, bend = self._output.of(thrust), self._given.get("THR_MDL_FAC", 0.0)
        return outputs * (1.0 - bend + bend * outputs)
