"""PX4 flown by commands."""

from dataclasses import dataclass

from pegasus.backends.mavlink.guided import GuidedAutopilot
from pegasus.backends.px4.px4 import PX4
from pegasus.base.arrays import Array
from pegasus.contracts.vehicle import Vehicle

_BEND = "THR_MDL_FAC"
"""Parameter that bends the curve from PX4's thrust to its outputs."""


@dataclass(eq=False)
class GuidedPX4(GuidedAutopilot, PX4):
    """PX4 backend that is flown by commands; see `PX4`."""

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; see `PX4.bind`."""
        super().bind(vehicle)
        self._bend = 0.0 if self._program is None else self._program.parameter(_BEND)

    def _asked(self) -> dict[str, float | int]:
        # Otherwise an airframe, or parameters kept from another run, could make it another thrust.
        return {_BEND: 0.0, "MC_BAT_SCALE_EN": 0}

    def _thrust_shares(self, thrust: Array, cosine: Array) -> Array:
        # PX4's thrust is linear in the outputs but for its bend.
        outputs = self._output.of(thrust)
        return outputs * (1.0 - self._bend + self._bend * outputs)
