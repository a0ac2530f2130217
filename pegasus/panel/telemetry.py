"""Telemetry of one vehicle: current values, and the history of the last minute."""

import math
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import euler_from_quaternion
from pegasus.contracts.reading import Reading
from pegasus.environment.geodesy import Geodetic, local_from_geodetic
from pegasus.sensors.gps import GpsReading
from pegasus.session.snapshot import Snapshot, VehicleSnapshot

HISTORY_LENGTH = 1800
"""Number of samples in the history: one minute at 30 Hz."""

COLUMNS = (
    "time",
    *("x", "y", "z", "reference_x", "reference_y", "reference_z"),
    *("roll", "pitch", "yaw", "reference_yaw"),
)
"""Columns of the history: [s], [m], [m], [rad]; NaN without a reference."""


@dataclass(frozen=True, eq=False)
class Estimated:
    """State estimate of an autopilot; errors are estimated minus true, at the time of the estimate."""

    age: float
    """Time since the estimate [s]."""
    position: Array
    """Position in the world [m], shape (3,)."""
    velocity: Array
    """Velocity in the world [m/s], shape (3,)."""
    attitude: Array
    """Roll, pitch and heading, counter-clockwise from east [rad], shape (3,)."""
    position_error: Array
    """Position error [m], shape (3,)."""
    velocity_error: Array
    """Velocity error [m/s], shape (3,)."""
    attitude_error: float
    """Angle between the estimated and the true attitude [rad]."""


@dataclass(frozen=True)
class BatteryStatus:
    """State of a battery at one instant."""

    voltage: float
    """Voltage under load [V]."""
    current: float
    """Current drawn [A]."""
    charge: float
    """State of charge, 0 to 1."""


class Actuator(NamedTuple):
    """Channel of a vehicle with its present value."""

    name: str
    text: str
    """Value with its unit."""
    share: float
    """Its size relative to the limits of the channel, 0 to 1; without them, to the largest value."""


@dataclass(frozen=True, eq=False)
class Telemetry:
    """State of one vehicle at one instant; SI units and radians."""

    name: str
    copy: int
    position: Array
    """Position in the world [m], shape (3,)."""
    attitude: Array
    """Roll, pitch and heading, counter-clockwise from east [rad], shape (3,)."""
    altitude: float
    """Altitude above mean sea level [m]."""
    speed: float
    """Speed [m/s]."""
    climb: float
    """Climb rate [m/s]."""
    actuators: Sequence[Actuator]
    """Its channels: rotor speeds, angles of joints, or obeyed commands."""
    reference: Array | None
    """Reference position [m], shape (3,)."""
    error: float | None
    """Distance from the reference [m]."""
    segment: str
    """Name of the current flight segment."""
    pilot: str
    in_contact: bool
    estimate: Estimated | None
    """State estimate of the autopilot; None if it has reported none."""
    battery: BatteryStatus | None
    """State of the battery; None without one."""
    measured: Array | None
    """Position measured by the first GPS with a fix, in the world [m], shape (3,)."""
    readings: dict[str, dict[str, Array]]
    """Last readings of this copy by sensor and field."""


def telemetry(snapshot: Snapshot, name: str, copy: int = 0) -> Telemetry | None:
    """Return the telemetry of a vehicle; None if it does not exist.

    Args:
        snapshot: The simulation.
        name: Name of the vehicle.
        copy: Index of the copy.
    """
    vehicle = snapshot.vehicle(name)
    if vehicle is None or copy >= vehicle.count:
        return None
    position, velocity = vehicle.position[copy], vehicle.velocity[copy]
    reference = None if vehicle.reference_position is None else vehicle.reference_position[copy]
    return Telemetry(
        name=name,
        copy=copy,
        position=position,
        attitude=_attitude(vehicle, copy),
        altitude=float(position[2]) + (snapshot.origin.altitude if snapshot.origin is not None else 0.0),
        speed=float(np.sqrt(velocity @ velocity)),
        climb=float(velocity[2]),
        actuators=_actuators(vehicle, copy),
        reference=reference,
        error=None if reference is None else float(np.linalg.norm(reference - position)),
        segment=vehicle.segment,
        pilot=vehicle.pilot,
        in_contact=bool(vehicle.in_contact[copy]),
        estimate=_estimated(vehicle, copy, snapshot.time),
        battery=_supply(vehicle, copy),
        measured=_measured(vehicle, copy, snapshot.origin),
        readings={
            name: dict(_values(reading, copy, vehicle.count)) for name, reading in vehicle.readings.items()
        },
    )


def _actuators(vehicle: VehicleSnapshot, copy: int) -> list[Actuator]:
    values = vehicle.actuation[copy].tolist()
    largest = max(1.0, *map(abs, values))
    found = []
    for channel, value in zip(vehicle.channels, values, strict=True):
        most = max(abs(channel.low), abs(channel.high))
        text = f"{value:.{0 if most > 100 else 2}f} {channel.unit}".rstrip()
        share = abs(value) / (most if math.isfinite(most) else largest)
        found.append(Actuator(channel.name, text, min(share, 1.0)))
    return found


class History:
    """Samples of one vehicle over the last minute; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: deque[tuple[float, ...]] = deque(maxlen=HISTORY_LENGTH)
        self._source: tuple[int, str, int] | None = None

    def add(self, snapshot: Snapshot, vehicle: VehicleSnapshot, copy: int) -> None:
        """Add a sample; another vehicle or run restarts the history.

        Args:
            snapshot: The simulation.
            vehicle: The vehicle.
            copy: Index of the copy.
        """
        source = snapshot.generation, vehicle.name, copy
        nan = [np.nan] * 3
        position = vehicle.reference_position
        reference = nan if position is None else position[copy].tolist()
        yaw = np.nan if vehicle.reference_yaw is None else float(vehicle.reference_yaw[copy])
        roll, pitch, heading = _attitude(vehicle, copy).tolist()
        yaw = float(np.remainder(yaw + np.pi, 2 * np.pi) - np.pi)
        row = snapshot.time, *vehicle.position[copy].tolist(), *reference, roll, pitch, heading, yaw
        with self._lock:
            if source != self._source or (self._rows and row[0] < self._rows[-1][0]):
                self._rows.clear()
                self._source = source
            if not self._rows or row[0] > self._rows[-1][0]:
                self._rows.append(row)

    def clear(self) -> None:
        """Delete all samples."""
        with self._lock:
            self._rows.clear()
            self._source = None

    def columns(self) -> dict[str, Array]:
        """Return the samples by the names of `COLUMNS`, each of shape (K,)."""
        with self._lock:
            rows = list(self._rows)
        table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
        return {name: table[:, i] for i, name in enumerate(COLUMNS)}


def filled_reference(reference: Array, true: Array) -> Array:
    """Return a reference with missing values replaced by the true curve, since plots fail at gaps.

    Args:
        reference: Reference, NaN where missing, shape (K,).
        true: Curve it is compared with, shape (K,).
    """
    return np.where(np.isnan(reference), true, reference)


def _attitude(vehicle: VehicleSnapshot, copy: int) -> Array:
    return euler_from_quaternion(vehicle.orientation[copy])


def _estimated(vehicle: VehicleSnapshot, copy: int, time: float) -> Estimated | None:
    estimate = vehicle.estimate
    if estimate is None or not np.isfinite(estimate.received[copy] + estimate.orientation[copy, 3]):
        return None
    return Estimated(
        age=time - float(estimate.received[copy]),
        position=estimate.position[copy],
        velocity=estimate.velocity[copy],
        attitude=euler_from_quaternion(estimate.orientation[copy]),
        position_error=estimate.position_error[copy],
        velocity_error=estimate.velocity_error[copy],
        attitude_error=float(estimate.attitude_error[copy]),
    )


def _supply(vehicle: VehicleSnapshot, copy: int) -> BatteryStatus | None:
    battery = vehicle.battery
    if battery is None:
        return None
    return BatteryStatus(
        float(battery.voltage[copy]), float(battery.current[copy]), float(battery.charge[copy])
    )


def _measured(vehicle: VehicleSnapshot, copy: int, origin: Geodetic | None) -> Array | None:
    for reading in vehicle.readings.values():
        if isinstance(reading, GpsReading) and reading.fix_type[copy] and origin is not None:
            row = slice(copy, copy + 1)
            place: Array = local_from_geodetic(
                reading.latitude[row], reading.longitude[row], reading.altitude[row], origin=origin
            )[0]
            return place
    return None


def _values(reading: Reading, copy: int, count: int) -> Iterator[tuple[str, Array]]:
    """Yield the numeric fields of one copy's reading, without images and point clouds."""
    for field in fields(reading):
        value = getattr(reading, field.name)
        if isinstance(value, np.ndarray) and 1 <= value.ndim <= 2 and len(value) == count:
            yield field.name, np.atleast_1d(value[copy])
