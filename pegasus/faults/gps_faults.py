"""Faults of satellite navigation: loss, jumps, spoofing and jamming."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.step_math import cos
from pegasus.contracts.fault import Injection, SensorFault, require_sensor
from pegasus.contracts.reading import Reading, changed_reading
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.faults.field_faults import normal_numbers, reading_class

Vector = tuple[float, float, float]

_EARTH_RADIUS = 6371000.0
"""Mean radius, by which offsets of less than some kilometres become angles [m]."""
_LOST = 99.99
"""Accuracy that a receiver without a fix states [m]."""
_NEEDED = ("latitude", "longitude", "altitude", "velocity", "eph", "epv", "fix_type", "satellite_count")


def moved(reading: Any, offset: Array) -> dict[str, Array]:
    """Return latitude, longitude [deg] and altitude [m] of a reading moved by an offset.

    Args:
        reading: Reading of a receiver.
        offset: East, north and up [m], shape (N, 3).
    """
    shrunk = np.array([cos(math.radians(float(latitude))) for latitude in reading.latitude])
    radius = _EARTH_RADIUS + reading.altitude
    east = offset[:, 0] / (radius * np.maximum(shrunk, 1e-9))
    return {
        "latitude": reading.latitude + offset[:, 1] / radius * (180.0 / math.pi),
        "longitude": reading.longitude + east * (180.0 / math.pi),
        "altitude": reading.altitude + offset[:, 2],
    }


@dataclass(frozen=True)
class GpsFault(SensorFault):
    """Base of a fault of a GPS receiver."""

    sensor: str = "gps"
    """Name of the sensor."""

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle has no receiver of this name."""
        require_sensor(vehicle, self.sensor)
        kind = reading_class(vehicle.sensors[self.sensor])
        names = () if kind is None else {f.name for f in dataclasses.fields(kind)}
        fits = kind is None or set(_NEEDED) <= set(names)
        require(fits, "sensor", self.sensor, "must be a GPS receiver")


def _without_fix(reading: Any, copies: Any) -> dict[str, Array]:
    """Return the fields of a reading by which copies have no fix, no velocity and no satellites."""
    return {
        "fix_type": np.where(copies, 0, reading.fix_type).astype(reading.fix_type.dtype),
        "satellite_count": np.where(copies, 0, reading.satellite_count).astype(reading.satellite_count.dtype),
        "eph": np.where(copies, _LOST, reading.eph),
        "epv": np.where(copies, _LOST, reading.epv),
    }


@dataclass(frozen=True)
class GpsLoss(GpsFault):
    """Receiver without a fix and without satellites; it goes on giving readings that say so."""

    takes_ramp: ClassVar[bool] = False

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading without a fix."""
        return changed_reading(reading, _without_fix(reading, injection.active))


@dataclass(frozen=True)
class GpsJump(GpsFault):
    """Position that jumps, as by reflected signals; velocity and stated accuracy do not tell of it."""

    offset: Vector = (10.0, 0.0, 0.0)
    """East, north and up [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("offset", self.offset, unit="m")

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading with another position."""
        offset = injection.intensity[:, None] * np.array(self.offset, dtype=np.float64)
        return changed_reading(reading, moved(reading, offset))


@dataclass(frozen=True)
class GpsSpoofing(GpsFault):
    """Forged signals that lead the receiver away, with a velocity that fits the position."""

    velocity: Vector = (1.0, 0.0, 0.0)
    """Velocity of the forged position against the true one: east, north and up [m/s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("velocity", self.velocity, unit="m/s")

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading with another position and velocity."""
        drift = np.array(self.velocity, dtype=np.float64)
        since, ramp = injection.since, self.ramp
        # The integral of the velocity, which grows over the ramp.
        way = since if not ramp else np.where(since < ramp, 0.5 * since * since / ramp, since - 0.5 * ramp)
        given: Any = reading
        changed = moved(reading, (way * injection.active)[:, None] * drift)
        changed["velocity"] = given.velocity + injection.intensity[:, None] * drift
        return changed_reading(reading, changed)


@dataclass(frozen=True)
class GpsJamming(GpsFault):
    """Jammer: fewer satellites, growing errors that the receiver tells of, and at last no fix.

    With the strength s, which is the intensity of the fault times `strength`, a share s of the satellites is
    lost, and errors and stated accuracy are those of the rest: divided by 1 - s. There is no fix from
    `loss_strength` on.
    """

    strength: float = 1.0
    """Share of the satellites that are lost at full effect, above 0 to 1."""
    loss_strength: float = 0.7
    """Strength from which on there is no fix, above 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("strength", "loss_strength"):
            require(0 < getattr(self, field) <= 1, field, getattr(self, field), "must be above 0, to 1")

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the jammed reading."""
        given: Any = reading
        strength = injection.intensity * self.strength
        factor = 1.0 / np.maximum(1.0 - strength, 0.05)
        # Further noise, of the size by which the stated accuracy grows.
        noise = np.zeros((len(strength), 6))
        for copy in np.flatnonzero(injection.active).tolist():
            noise[copy] = normal_numbers(injection, copy, t, 6)
        added = np.stack([given.eph, given.eph, given.epv], axis=1) * (factor - 1.0)[:, None]
        changed = moved(reading, noise[:, :3] * added)
        changed["velocity"] = given.velocity + 0.1 * noise[:, 3:] * added
        changed["eph"], changed["epv"] = given.eph * factor, given.epv * factor
        left = np.floor(given.satellite_count * (1.0 - strength) + 0.5)
        changed["satellite_count"] = left.astype(given.satellite_count.dtype)
        jammed = changed_reading(reading, changed)
        lost = injection.active & (strength >= self.loss_strength - 1e-12)
        return changed_reading(jammed, _without_fix(jammed, lost)) if lost.any() else jammed
