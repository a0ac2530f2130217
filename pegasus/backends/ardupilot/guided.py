"""ArduPilot flown by commands."""

from dataclasses import dataclass

import numpy as np

from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.ardupilot.program import read_parameters
from pegasus.backends.mavlink.guided import GuidedAutopilot
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import Vehicle
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY

_THRUST_AS_THRUST = 8
"""Bit of GUID_OPTIONS by which the thrust of attitude set-points is one, and not a climb rate."""
_LEAST_COSINE = 0.1
_CURVE = {"MOT_SPIN_MIN": 0.15, "MOT_SPIN_MAX": 0.95, "MOT_THST_EXPO": 0.65}
"""ArduPilot's own values of the parameters of its thrust curve."""


@dataclass(eq=False)
class GuidedArduPilot(GuidedAutopilot, ArduPilot):
    """ArduPilot backend that is flown by commands; see `ArduPilot`."""

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; see `ArduPilot.bind`."""
        super().bind(vehicle)
        defaults = {} if self._program is None else read_parameters(self._program.defaults)
        known = _CURVE | defaults | self._given
        self._curve = known["MOT_SPIN_MIN"], known["MOT_SPIN_MAX"], known["MOT_THST_EXPO"]

    def _asked(self) -> dict[str, float]:
        return {"GUID_OPTIONS": _THRUST_AS_THRUST, "MOT_BAT_VOLT_MAX": 0.0}

    def thrust_limits(self) -> tuple[Array, Array]:
        """Return the weight and the largest thrust of each copy [N]; see `GuidedCommands.thrust_limits`."""
        options = int(self._given.get("GUID_OPTIONS", 0)) if self.launch else 0
        if not options & _THRUST_AS_THRUST:
            raise ConfigError(
                "takes the thrust of attitudes and body rates for a climb rate",
                field="GUID_OPTIONS" if self.launch else f"{type(self).__name__}.launch",
                value=options if self.launch else self.launch,
                remedy="leave the parameter to Pegasus" if self.launch else "let Pegasus launch it",
            )
        return super().thrust_limits()

    def _thrust_shares(self, thrust: Array, cosine: Array) -> Array:
        # Thrust_Linearization of ArduPilot's motors, without its compensation of the battery's voltage; the
        # throttle is raised by the tilt of the target and by thin air before.
        least, most, bend = self._curve
        x = np.clip((self._output.of(thrust) - least) / (most - least), 0.0, 1.0)
        thin = np.clip(self._output.density / SEA_LEVEL_DENSITY, 0.5, 1.25)
        shares: Array = x * (1.0 - bend + bend * x) * thin * np.clip(cosine, _LEAST_COSINE, 1.0)
        return shares
