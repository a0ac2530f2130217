"""Magnetometer: the Earth's field in the body frame with hard-iron and soft-iron distortion."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Column, Quat, Real, Table, Vec3, dot, norm, rotate_inverse
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.compiled_sensor import CompiledSensor, SensorRows
from pegasus.environment import Environment
from pegasus.environment.magnetic_field import WorldMagneticModel, cell_at, interpolated_field
from pegasus.sensors.noise import NoiseModel, NoiseParameters, next_bias, noisy

_Row = tuple[float, float, float]
_LARGEST_FIELD = 2e-4
"""Field per current at 1 mm from a straight lead [T/A]."""


@dataclass(frozen=True)
class Iron:
    """Iron of a vehicle, which distorts the field at its magnetometer."""

    soft_x: Vec3
    soft_y: Vec3
    soft_z: Vec3
    """Rows of the soft-iron matrix."""
    hard: Vec3
    """Field of permanent magnets, in the body frame [T]."""
    gridded: int
    """1 if the Earth's field is that of the World Magnetic Model, in place of `magnetic_field`."""
    powered: int
    """1 if the current of the battery has a field."""
    per_current: Vec3
    """Field per current of the battery, in the body frame [T/A]."""


@dataclass
class MagnetometerRows(SensorRows):
    """Columns of magnetometers."""

    iron: Column[Iron]
    noise: Column[NoiseParameters]
    position: Column[Vec3]
    orientation: Column[Quat]
    magnetic_field: Column[Vec3]
    cell: Column[Vec3]
    """Cell of its grid that `corners` are of."""
    corner: Column[Vec3]
    corners: Table[Real]
    """Lowest corner of the cell [m], and the field at all corners [T]."""
    outside: Column[int]
    """1 if a reading waits for another cell."""
    current: Column[Real]
    """Current of the battery [A]."""
    offset: Column[Vec3]
    bias: Column[Vec3]
    measured_field: Column[Vec3]
    """Field of the last reading [T]."""


def distorted_field(iron: Iron, field: Vec3) -> Vec3:
    """Return S B + h, the field at an ideal magnetometer on a vehicle with iron [T].

    S is the soft-iron matrix, of iron that the field magnetises, and h the field of permanent magnets.
    Source: Renaudin et al. 2010, "Complete Triaxis Magnetometer Calibration in the Magnetic Domain".

    Args:
        iron: Iron of the vehicle.
        field: Earth's magnetic field B in the body frame [T].
    """
    return Vec3(dot(iron.soft_x, field), dot(iron.soft_y, field), dot(iron.soft_z, field)) + iron.hard


def lead_field(points: Sequence[_Row], place: _Row) -> Array:
    """Return the field of a current of 1 A along straight pieces, by Biot and Savart [T], shape (3,).

    With the vectors a and b from the ends of a piece, it is mu_0 / 4 pi (a x b) (|a| + |b|) / (|a| |b|
    (|a| |b| + a . b)), not finite on the piece. Source: Jackson 1999, eq. 5.4, integrated along the piece.

    Args:
        points: Points of the lead, in the direction of the current [m].
        place: Where [m].
    """
    total = np.zeros(3)
    for start, end in itertools.pairwise(points):
        a, b = np.array(place) - start, np.array(place) - end
        size_a, size_b = math.hypot(*a), math.hypot(*b)
        product, along = size_a * size_b, float((a * b).sum())
        below = product + along
        if along < 0.0:
            # The same without a difference of almost equal numbers.
            below = float((np.cross(a, b) ** 2).sum()) / (product - along)
        if below <= 0.0:
            return np.full(3, math.inf)
        total += 1e-7 * np.cross(a, b) * (size_a + size_b) / (product * below)
    return total


def magnetometer(i: int, rows: MagnetometerRows) -> None:
    """Take the reading of a magnetometer if it is due."""
    reading = rows.count[i]
    position = rows.position[rows.body[i]]
    earth = rows.magnetic_field[rows.body[i]]
    due = rows.starts[i] == 1 or rows.due[rows.clock[i]] == 1
    if rows.iron[rows.kind[i]].gridded == 1 and due:
        here = cell_at(position) - rows.cell[i]
        if norm(here) != 0.0:
            rows.outside[i] = 1
            due = False
        earth = interpolated_field(rows.corner[i], rows.corners[i], position)
    # A launch for rows that waited gives no second reading to the others.
    if due and rows.stamp[i] != rows.time[0]:
        p = rows.noise[rows.kind[i]]
        key = rows.key[i]
        copy = rows.copy[i]
        if rows.starts[i] == 1:
            rows.bias[i] = normal_vector(key, copy, 0, 2) * p.bias_sigma
            rows.offset[i] = normal_vector(key, copy, 0, 3) * p.turn_on_bias
        field = rotate_inverse(rows.orientation[rows.body[i]], earth)
        iron = rows.iron[rows.kind[i]]
        field = distorted_field(iron, field)
        if iron.powered == 1:
            field += iron.per_current * rows.current[i]
        white = normal_vector(key, copy, reading, 0)
        rows.measured_field[i] = noisy(p, field, white, rows.bias[i], rows.offset[i])
        rows.bias[i] = next_bias(p, rows.bias[i], normal_vector(key, copy, reading, 1))
        rows.count[i] = reading + 1
        rows.stamp[i] = rows.time[0]


@dataclass(frozen=True, eq=False)
class MagnetometerReading(Reading):
    """Magnetic field in the body frame (FLU)."""

    magnetic_field: Array
    """Magnetic field [T], shape (N, 3)."""


@dataclass(kw_only=True, eq=False)
class Magnetometer(CompiledSensor):
    """Three-axis magnetometer; the default noise is that of Pegasus Simulator, converted to tesla."""

    columns = MagnetometerRows
    function = staticmethod(magnetometer)
    gives = MagnetometerReading, "measured_field"

    rate_hz: float = 50.0
    """Readings per second [Hz]."""
    noise_density: float = 0.4e-7
    """Density of the white noise [T/sqrt(Hz)]."""
    bias_random_walk: float = 6.4e-10
    """Density of the noise that drives the bias [T/s/sqrt(Hz)]."""
    bias_correlation_time: float = 600.0
    """Time constant of the bias [s]."""
    turn_on_bias: float = 0.0
    """Standard deviation of the offset at every start [T]."""
    hard_iron: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Constant field of the vehicle, in the body frame [T]."""
    soft_iron: tuple[_Row, _Row, _Row] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Rows of the soft-iron matrix, which may include scale and misalignment."""
    current_field: _Row = (0.0, 0.0, 0.0)
    """Field per current of the battery, in the body frame [T/A]."""
    lead: tuple[_Row, ...] = ()
    """Points of the lead that carries the current of the battery, in its direction, in the body frame [m]."""
    position: _Row = (0.0, 0.0, 0.0)
    """Position in the body frame, at which the field of the lead is felt [m]."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        self._noise_model()
        require_vector("hard_iron", self.hard_iron, unit="T")
        require(len(self.soft_iron) == 3, "soft_iron", self.soft_iron, "must hold three rows")
        for row in self.soft_iron:
            require_vector("soft_iron", row)
        require_vector("current_field", self.current_field, unit="T/A")
        require_vector("position", self.position, unit="m")
        require(len(self.lead) != 1, "lead", self.lead, "must hold two points or more, or none")
        for point in self.lead:
            require_vector("lead", point, unit="m")
        field = lead_field(self.lead, self.position)
        free = bool(np.isfinite(field).all()) and float(np.abs(field).max()) < _LARGEST_FIELD
        require(free, "lead", self.lead, "must pass 1 mm or more from the magnetometer's position")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle.

        Raises:
            ConfigError: If the current has a field and the vehicle has no battery.
        """
        self.is_fed = any(self.current_field) or len(self.lead) > 0
        if self.is_fed:
            name = "lead" if self.lead else "current_field"
            remedy = "add a battery to its file"
            battery = vehicle.battery is not None
            require(battery, name, getattr(self, name), f"vehicle {vehicle.name!r} has no battery", remedy)
        super().bind(vehicle, environment, rng)

    def feed(self, state: VehicleState) -> None:
        """Copy the current of the battery."""
        assert self.vehicle.battery is not None
        self.rows["current"][...] = self.vehicle.battery.current

    def parameters(self) -> Mapping[str, Any]:
        """Return iron and noise."""
        x, y, z = (Vec3(*row) for row in self.soft_iron)
        per_current = (np.array(self.current_field) + lead_field(self.lead, self.position)).tolist()
        return {
            "iron": Iron(
                x, y, z, Vec3(*self.hard_iron), int(self._is_gridded), int(self.is_fed), Vec3(*per_current)
            ),
            "noise": self._noise_model().at_rate(self.rate_hz),
        }

    def initial(self) -> Mapping[str, Array]:
        """Return room for a cell of the World Magnetic Model, none known yet."""
        return {
            "cell": np.full((self.count, 3), math.inf),
            "corners": np.zeros((self.count, 24)),
        }

    def inputs(self) -> Collection[str]:
        """Return the magnetic field unless it is interpolated in the step function."""
        return () if self._is_gridded else ("magnetic_field",)

    @property
    def _is_gridded(self) -> bool:
        """Whether the field is interpolated in the step function."""
        # A sensor that is bound to no vehicle has its errors only.
        environment = getattr(self, "environment", None)
        model = getattr(environment, "magnetic_field", None)
        return environment is not None and type(model) is WorldMagneticModel and not environment.steel

    @classmethod
    def settled(cls, columns: Mapping[str, Array], environment: Environment) -> bool:
        """Return whether no row has left its cell of the World Magnetic Model; set the new cells."""
        waiting = columns["outside"]
        if not np.count_nonzero(waiting):
            return True
        model, origin = environment.magnetic_field, environment.origin
        assert isinstance(model, WorldMagneticModel)
        for row in np.flatnonzero(waiting).tolist():
            number = cell_at(Vec3(*columns["position"][row].tolist()))
            cell = model.cell(int(number.x), int(number.y), int(number.z), origin=origin)
            columns["cell"][row] = number.x, number.y, number.z
            columns["corner"][row] = cell.corner.x, cell.corner.y, cell.corner.z
            columns["corners"][row] = cell.corners
        waiting[...] = 0
        return False

    def _noise_model(self) -> NoiseModel:
        return NoiseModel(
            noise_density=self.noise_density,
            bias_random_walk=self.bias_random_walk,
            bias_correlation_time=self.bias_correlation_time,
            turn_on_bias=self.turn_on_bias,
        )
