"""Residuals of models: force and torque that a recorded motion takes, less those of the models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.aircraft import Aircraft
from pegasus.core.model_wrench import MotionSamples, measured_wrench, model_wrench
from pegasus.recording.flight_data import FlightData

if TYPE_CHECKING:
    from rich.table import Table

_BLOCK = 4096
"""Instants that are evaluated at once."""
SEA_LEVEL = 1.225
"""Air density of the standard atmosphere at sea level [kg/m^3]."""
GROUPS = ("Fxy", "Fz", "F", "Mxy", "Mz", "M")
"""Groups of axes of a force F and a torque M, in the order of the published table."""
NEUROBEM_PUBLISHED = {
    "blade element momentum": (0.803, 1.265, 0.982, 0.090, 0.017, 0.074),
    "polynomial fit": (0.453, 0.832, 0.606, 0.027, 0.008, 0.022),
    "blade elements, neural network": (0.204, 0.504, 0.335, 0.014, 0.004, 0.012),
}
"""RMSE of `GROUPS` on NeuroBEM's test flights [N], [N m] (Bauersfeld et al. 2021, table II)."""


@dataclass(frozen=True, eq=False)
class WrenchResiduals:
    """Residuals of a vehicle's models over flights, measured less modelled, body frame."""

    vehicle: str
    """Name of the vehicle."""
    count: int
    """Number of instants."""
    force: Array
    """Residual force at the centre of mass [N], shape (T, 3)."""
    torque: Array
    """Residual torque about the centre of mass [N m], shape (T, 3)."""
    measured_force: Array
    """Force that the motion takes, without gravity [N], shape (T, 3)."""
    measured_torque: Array
    """Torque that the motion takes [N m], shape (T, 3)."""

    @property
    def rmse(self) -> dict[str, float]:
        """Root mean square of the residuals by group: the mean is over instants and the axes of the group.

        This is the measure of Bauersfeld et al. (2021), table II: F is the root of the mean over 3 T numbers.
        """
        return _grouped(self.force, self.torque)

    @property
    def size(self) -> dict[str, float]:
        """The same measure of the whole measured wrench: the residuals of a model that gives none."""
        return _grouped(self.measured_force, self.measured_torque)

    @property
    def mean(self) -> dict[str, list[float]]:
        """Mean of the residual force [N] and torque [N m] by axis."""
        return {"force": self.force.mean(axis=0).tolist(), "torque": self.torque.mean(axis=0).tolist()}

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("RMSE")
        for group in GROUPS:
            table.add_column(
                f"{group} [{'N' if group[0] == 'F' else 'N m'}]".replace("[", r"\["), justify="right"
            )
        rows = {
            f"{self.vehicle}: measured less modelled": self.rmse.values(),
            "measured wrench": self.size.values(),
            **{f"published: {name}": values for name, values in NEUROBEM_PUBLISHED.items()},
        }
        for name, values in rows.items():
            table.add_row(name, *(f"{value:.4f}" for value in values))
        return table


def wrench_residuals(
    vehicle: "str | Path", flights: Sequence[FlightData], *, air_density: float = SEA_LEVEL
) -> WrenchResiduals:
    """Return the residuals of a vehicle's models over all instants of recorded flights.

    The models get the recorded state and rotor speeds of each instant; nothing is integrated. The air is
    taken to be at rest.

    Args:
        vehicle: Name of a shipped vehicle, or the path of a file.
        flights: The flights.
        air_density: Air density [kg/m^3].

    Raises:
        ConfigError: If the vehicle is not known, has other rotors than the recorded one, or models in NumPy.
    """
    require(0 < air_density < math.inf, "air_density", air_density, "must be above 0 kg/m^3")
    require(len(flights) > 0, "flights", len(flights), "must be at least one")
    whole = Aircraft(vehicle, count=min(_BLOCK, max(len(flight.time) for flight in flights)), sensors={})
    parts = [part for flight in flights for part in _of_flight(whole, flight, air_density)]
    force, torque, measured_force, measured_torque = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return WrenchResiduals(
        whole.name,
        len(force),
        measured_force - force,
        measured_torque - torque,
        measured_force,
        measured_torque,
    )


def _of_flight(
    vehicle: Aircraft, flight: FlightData, air_density: float
) -> list[tuple[Array, Array, Array, Array]]:
    """Return modelled and measured force and torque of a flight, in blocks."""
    order = rotor_order(vehicle, flight.places)
    samples = replace(
        flight.samples,
        rotor_speed=flight.samples.rotor_speed[:, order],
        rotor_acceleration=flight.samples.rotor_acceleration[:, order],
    )
    measured = measured_wrench(vehicle, samples, flight.specific_force, flight.angular_acceleration)
    parts = []
    for first in range(0, len(flight.time), vehicle.count):
        rows = np.arange(first, min(first + vehicle.count, len(flight.time)))
        # The last block is filled up with its last instant.
        filled = np.minimum(np.arange(first, first + vehicle.count), rows[-1])
        block = MotionSamples(**{name: values[filled] for name, values in vars(samples).items()})
        modelled = model_wrench(vehicle, block, air_density=air_density)
        parts.append(
            tuple(array[: len(rows)] for array in modelled) + tuple(array[rows] for array in measured)
        )
    return parts  # type: ignore[return-value]


def rotor_order(vehicle: Aircraft, places: Sequence[tuple[int, int]]) -> list[int]:
    """Return the recorded rotor of each rotor of a vehicle, by their places in the body frame.

    Args:
        vehicle: The vehicle.
        places: Signs of x and y of each recorded rotor.

    Raises:
        ConfigError: If the vehicle does not have one rotor at each place.
    """
    signs = [(int(np.sign(x)), int(np.sign(y))) for x, y, _ in vehicle.layout.position.tolist()]
    if sorted(signs) != sorted(places):
        raise ConfigError(
            "must have four rotors: front left, front right, back left and back right, as the flight has",
            file=vehicle.file,
            field="rotors",
            value=f"{vehicle.rotor_count} rotors at x, y of the signs {signs}",
            remedy="choose another vehicle, or place its rotors off both axes",
        )
    return [list(places).index(place) for place in signs]


def _grouped(force: Array, torque: Array) -> dict[str, float]:
    squares = [(values**2).mean(axis=0) for values in (force, torque)]
    means = [mean for square in squares for mean in (square[:2].mean(), square[2], square.mean())]
    return {group: math.sqrt(mean) for group, mean in zip(GROUPS, means, strict=True)}
