"""Commands of a level in the core: the controller of a fleet's rows, by the same function."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.mission_step import Motion
from pegasus.fleet.levels import Piloted, inputs_of, pilot_of


class LevelPilot:
    """Makes rotor speeds of commands of a level.

    Args:
        level: The level, as of `Fleet`, other than `channels`.
        vehicle: The vehicle.

    Raises:
        ConfigError: If it cannot be controlled.
    """

    def __init__(self, level: str, vehicle: Vehicle) -> None:
        self._level, self._environment = level, vehicle.environment
        aircraft: Any = vehicle
        pilot, own, p = pilot_of(level, aircraft, vehicle.physics_rate)
        count = vehicle.count
        self.inputs = inputs = inputs_of(level, aircraft)
        """Commands of the level."""
        self._highest = np.array([channel.high for channel in vehicle.channels])
        gains, numbers = uniform("own", own), uniform("p", p)
        self._motion = {
            f.name: np.zeros((count, 4 if f.name == "orientation" else 3)) for f in fields(Motion)
        }
        self._arrays: dict[str, Array] = {
            **{f"motion.{name}": values for name, values in self._motion.items()},
            **{f"pilot.{name}": np.zeros((count, 3)) for name in ("integral", "turned")},
            **{f"pilot.{name}": np.zeros(count) for name in ("known_gravity", "known_density")},
            "pilot.look_up": np.zeros(count, dtype=np.int32),
            "command": np.zeros((count, len(inputs))),
            "gravity": np.zeros((count, 3)),
            "density": np.zeros(count),
            "elapsed": np.zeros(count),
            "speed": np.zeros((count, aircraft.rotor_count)),
            **uniform_values(gains),
            **uniform_values(numbers),
        }
        self._function = pilot.speeds
        self._arguments = [
            gains,
            numbers,
            column("motion", Motion),
            column("command", float, len(inputs)),
            column("pilot", Piloted),
            column("gravity", Vec3),
            column("density"),
            column("elapsed"),
        ]
        self._count = count
        self._launch: Callable[[], None] | None = None
        self._fresh: BoolArray = np.ones(count, dtype=bool)
        self._last = 0.0

    def start(self, rows: BoolArray | slice = slice(None)) -> None:
        """Start rows from a fresh state."""
        self._fresh[rows] = True
        for name, values in self._arrays.items():
            if name.startswith("pilot."):
                values[rows] = 0

    def speeds(self, t: float, state: VehicleState, command: Array) -> Array:
        """Return the rotor speeds [rad/s], shape (N, R).

        Args:
            t: Simulation time [s].
            state: State of the vehicles.
            command: Their commands, shape (N, U).
        """
        # Not at the top: it imports Warp.
        from pegasus.base.tracing.launches import Part, program_of

        arrays = self._arrays
        for name, values in self._motion.items():
            values[...] = getattr(state, name)
        arrays["command"][...] = command
        arrays["gravity"][...] = self._environment.gravity_vector(state.position)
        arrays["density"][...] = self._environment.air_density(state.position)
        arrays["elapsed"][...] = np.where(self._fresh, 0.0, t - self._last)
        self._fresh[...], self._last = False, t
        launch = self._launch
        if launch is None:
            outputs, rows = ("speed", "pilot"), self._count
            program = program_of(self._function, *self._arguments, outputs=outputs, count=rows)
            launch = self._launch = program.launch_parts([Part(arrays, 0, rows)])
        launch()
        # Rounding of the inverse of the thrust curve may pass the limit by a bit.
        speed: Array = np.minimum(arrays["speed"], self._highest)
        return speed
