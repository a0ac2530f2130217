"""What the panel says about one vehicle: figures of this instant, and the last minute as columns."""

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from pegasus.arrays import Array
from pegasus.environment.geodesy import Geodetic, local_from_geodetic
from pegasus.frames import euler_from_quaternion
from pegasus.panel.snapshot import Snapshot, VehicleSnapshot
from pegasus.sensors.gps import GpsReading
from pegasus.sensors.sensor import Reading

HISTORY_LENGTH = 1800
"""Samples that are kept: a minute at 30 Hz."""

COLUMNS = (
    "time",
    *("x", "y", "z", "reference_x", "reference_y", "reference_z"),
    *("roll", "pitch", "yaw", "reference_yaw"),
)
"""Columns of the history: [s], [m], [m], [rad]; NaN where there is no reference."""


@dataclass(frozen=True, eq=False)
class Estimated:
    """What an autopilot believes; errors are estimated less true, when its last word came."""

    age: float
    """Time since its last word [s]."""
    position: Array
    """Position in the world [m], shape (3,)."""
    velocity: Array
    """Velocity in the world [m/s], shape (3,)."""
    attitude: Array
    """Roll, pitch and heading, counter-clockwise from east [rad], shape (3,)."""
    position_error: Array
    """[m], shape (3,)."""
    velocity_error: Array
    """[m/s], shape (3,)."""
    attitude_error: float
    """Angle between the estimated and the true attitude [rad]."""


@dataclass(frozen=True)
class Supply:
    """A battery at one instant."""

    voltage: float
    """Voltage under load [V]."""
    current: float
    """Current drawn [A]."""
    charge: float
    """State of charge, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Telemetry:
    """One vehicle at one instant; SI units and radians."""

    name: str
    copy: int
    position: Array
    """Position in the world [m], shape (3,)."""
    attitude: Array
    """Roll, pitch and heading, counter-clockwise from east [rad], shape (3,)."""
    altitude: float
    """Altitude above mean sea level [m]."""
    speed: float
    """Length of the velocity [m/s]."""
    climb: float
    """Upward part of the velocity [m/s]."""
    rotor_speed: Array
    """Rotor speeds [rad/s], shape (R,)."""
    rotor_share: Array
    """Rotor speeds by the highest one, 0 to 1, shape (R,); by the fastest rotor's where there is no limit."""
    reference: Array | None
    """What its pilot follows [m], shape (3,)."""
    error: float | None
    """Distance from that [m]."""
    segment: str
    """Part of the flight that it is in."""
    pilot: str
    in_contact: bool
    estimate: Estimated | None
    """What its autopilot believes; None where it does not tell, or has not yet."""
    battery: Supply | None
    """Its battery; None where it has none."""
    measured: Array | None
    """Position that the first GPS with a fix gives, in the world [m], shape (3,), beside the true one."""
    readings: dict[str, dict[str, Array]]
    """Last readings by sensor: this copy's values by field."""


def telemetry(snapshot: Snapshot, name: str, copy: int = 0) -> Telemetry | None:
    """Return what there is to say about a vehicle; None where there is none of that name.

    Args:
        snapshot: The simulation.
        name: Name of the vehicle.
        copy: Which of its copies.
    """
    vehicle = snapshot.vehicle(name)
    if vehicle is None or copy >= vehicle.count:
        return None
    position, velocity = vehicle.position[copy], vehicle.velocity[copy]
    reference = None if vehicle.reference_position is None else vehicle.reference_position[copy]
    rotors = vehicle.rotor_speed[copy]
    highest = vehicle.highest_rotor_speed
    if not np.isfinite(highest):
        highest = float(np.max(np.abs(rotors), initial=1.0))
    return Telemetry(
        name=name,
        copy=copy,
        position=position,
        attitude=_attitude(vehicle, copy),
        altitude=float(position[2]) + (snapshot.origin.altitude if snapshot.origin is not None else 0.0),
        speed=float(np.sqrt(velocity @ velocity)),
        climb=float(velocity[2]),
        rotor_speed=rotors,
        rotor_share=np.abs(rotors) / highest,
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


class History:
    """The last minute of one vehicle, for plots; safe to read while another thread adds to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: deque[tuple[float, ...]] = deque(maxlen=HISTORY_LENGTH)
        self._whose: tuple[int, str, int] | None = None

    def add(self, snapshot: Snapshot, vehicle: VehicleSnapshot, copy: int) -> None:
        """Add a vehicle as it is now; another vehicle or run begins anew.

        Args:
            snapshot: The simulation.
            vehicle: The vehicle.
            copy: Which of its copies.
        """
        whose = snapshot.generation, vehicle.name, copy
        nan = [np.nan] * 3
        position = vehicle.reference_position
        reference = nan if position is None else position[copy].tolist()
        yaw = np.nan if vehicle.reference_yaw is None else float(vehicle.reference_yaw[copy])
        roll, pitch, heading = _attitude(vehicle, copy).tolist()
        yaw = float(np.remainder(yaw + np.pi, 2 * np.pi) - np.pi)
        row = snapshot.time, *vehicle.position[copy].tolist(), *reference, roll, pitch, heading, yaw
        with self._lock:
            if whose != self._whose or (self._rows and row[0] < self._rows[-1][0]):
                self._rows.clear()
                self._whose = whose
            if not self._rows or row[0] > self._rows[-1][0]:
                self._rows.append(row)

    def clear(self) -> None:
        """Forget all: there is no vehicle to look at."""
        with self._lock:
            self._rows.clear()
            self._whose = None

    def columns(self) -> dict[str, Array]:
        """Return the samples by the names of `COLUMNS`, each of shape (K,)."""
        with self._lock:
            rows = list(self._rows)
        table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
        return {name: table[:, i] for i, name in enumerate(COLUMNS)}


def hidden_where_unknown(reference: Array, true: Array) -> Array:
    """Return a reference, and where there is none the curve itself, which hides it: plots fail at gaps.

    Args:
        reference: The reference, NaN where there is none, shape (K,).
        true: The curve that it is drawn beside, shape (K,).
    """
    return np.where(np.isnan(reference), true, reference)


def _attitude(vehicle: VehicleSnapshot, copy: int) -> Array:
    return euler_from_quaternion(vehicle.orientation[copy])


def _estimated(vehicle: VehicleSnapshot, copy: int, time: float) -> Estimated | None:
    said = vehicle.estimate
    if said is None or not np.isfinite(said.received[copy] + said.orientation[copy, 3]):
        return None
    return Estimated(
        age=time - float(said.received[copy]),
        position=said.position[copy],
        velocity=said.velocity[copy],
        attitude=euler_from_quaternion(said.orientation[copy]),
        position_error=said.position_error[copy],
        velocity_error=said.velocity_error[copy],
        attitude_error=float(said.attitude_error[copy]),
    )


def _supply(vehicle: VehicleSnapshot, copy: int) -> Supply | None:
    battery = vehicle.battery
    if battery is None:
        return None
    return Supply(float(battery.voltage[copy]), float(battery.current[copy]), float(battery.charge[copy]))


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
    """Give the numbers of a reading that are this copy's; pictures and clouds of points are left out."""
    for field in fields(reading):
        value = getattr(reading, field.name)
        if isinstance(value, np.ndarray) and 1 <= value.ndim <= 2 and len(value) == count:
            yield field.name, np.atleast_1d(value[copy])
