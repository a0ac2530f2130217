"""Energy balances of all vehicles, added up in the launches that set their motion after a step."""

from collections.abc import Mapping, Sequence
from typing import Any

from pegasus.base.arrays import Array
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.core.programs import Numbers, VehicleGroup
from pegasus.environment import Environment
from pegasus.step.energy import Energy, Path, audit
from pegasus.step.values import Moved

ENTRIES = ("gained", "rotors", "drag", "others", "contacts", "residual", "gross")
"""Entries of an energy balance, each in a column `energy_<entry>`."""


def clear_energy(columns: Mapping[str, Array]) -> None:
    """Set the sums of the energy to zero.

    Args:
        columns: Columns of a vehicle.
    """
    for entry in ENTRIES:
        columns[f"energy_{entry}"][...] = 0.0


class EnergyBalance:
    """Prepared launches of `pegasus.step.energy.audit` for all vehicles.

    Args:
        environment: Environment of the vehicles.
        groups: Their rows.
        columns: Columns of the plant, M rows each.
    """

    def __init__(
        self, environment: Environment, groups: Sequence[VehicleGroup], columns: Mapping[str, Any]
    ) -> None:
        self._environment, self._groups, self._columns = environment, groups, columns
        self._numbers = Numbers("cpu", origin_altitude=0.0, rate=0.0)
        self._set = 0.0, 0.0
        self._gravity: Any = None

    def __call__(self, rate: float) -> None:
        """Set the motion after a step, and add its energy.

        Args:
            rate: Steps per second [Hz].
        """
        environment, columns = self._environment, self._columns
        if environment.gravity is not self._gravity:
            self._prepare()
        if self._law is None:
            midway = 0.5 * (columns["start_position"] + columns["position"])
            columns["gravity_midway"][...] = environment.gravity_vector(midway)
        altitude = environment.origin.altitude
        if (rate, altitude) != self._set:
            self._set = rate, altitude
            self._numbers.set("rate", rate)
            self._numbers.set("origin_altitude", altitude)
        for launch in self._launches:
            launch()

    def _prepare(self) -> None:
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.tracing.launches import program_of

        gravity = self._gravity = self._environment.gravity
        self._law = gravity.compiled_law
        parameters = uniform("gravity", None if self._law is None else gravity.parameters)
        numbers = {**self._numbers.arrays, **uniform_values(parameters)}
        self._launches = []
        for group in self._groups:
            arguments = [
                group.body,
                column("", Moved),
                column("", Path),
                column("", Energy),
                self._law,
                parameters,
                uniform("origin_altitude", 0.0),
                uniform("rate", 0.0),
            ]
            names = "", "", "start_position", "start_orientation"
            program = program_of(audit, *arguments, outputs=names, count=group.count)
            arrays = {**group.columns, **numbers, **uniform_values(group.body)}
            self._launches.append(program.launch(arrays, group.count).run)
