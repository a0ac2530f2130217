"""Records of flights for identification: commands, and measurements of the motion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import normalize

Quantity = Literal["position", "orientation", "velocity", "angular_velocity", "specific_force", "rotor_speed"]
"""What can be measured: in the world [m], as a quaternion xyzw, in the world [m/s], in the body frame
[rad/s], in the body frame [m/s^2], in the rotors' own senses [rad/s]."""
WIDTHS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "specific_force": 3}
"""Numbers of a measurement; those of `rotor_speed` are the rotors."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of one quantity by one source at T instants."""

    source: str
    """Name of the sensor or topic in messages."""
    quantity: Quantity
    time: Array
    """Rising times [s], shape (T,)."""
    values: Array
    """Values in SI units, shape (T, K)."""
    mean: bool = False
    """Whether a value is the mean since the one before, as those of an IMU."""
    biased: bool = False
    """Whether the sensor has a constant bias, which is estimated as well."""

    @property
    def label(self) -> str:
        """Source and quantity."""
        return f"{self.source} {self.quantity}"


@dataclass(frozen=True, eq=False)
class FlightRecord:
    """Commands and measurements of a flight.

    Raises:
        ConfigError: If an array has another shape, holds a number that is not finite, or times do not rise.
    """

    name: str
    """Name in messages."""
    command_time: Array
    """Rising times of the commands [s], shape (T,)."""
    command: Array
    """Commands by channel, shape (T, U)."""
    measured: Sequence[Measured]
    """Measurements; position or velocity, and orientation must be among them."""
    held: bool = True
    """Whether a command holds until the next; otherwise it changes linearly from sample to sample."""
    measured_speeds: bool = False
    """Whether `command` holds measured rotor speeds: then motors do not take part."""
    contacts: tuple[tuple[float, float], ...] = ()
    """Times of contact with the ground or anything else, from and to [s]."""

    def __post_init__(self) -> None:
        if len(self.command_time) < 2:
            raise ConfigError(
                "holds no commands",
                field=f"record {self.name}",
                remedy="give a log with commands of the motors, or with measured rotor speeds",
            )
        self._check("command", self.command_time, self.command, self.command.shape[-1])
        for m in self.measured:
            if m.quantity not in get_args(Quantity):
                known = ", ".join(get_args(Quantity))
                raise ConfigError(f"must be one of {known}", field="quantity", value=m.quantity)
            self._check(m.label, m.time, m.values, WIDTHS.get(m.quantity) or int(m.values.shape[-1]))
        found = {m.quantity for m in self.measured if len(m.time) > 1}
        if "orientation" not in found or not found & {"position", "velocity"}:
            raise ConfigError(
                "must hold measured orientations, and positions or velocities",
                field=f"record {self.name}",
                value=", ".join(sorted(found)) or "no measurements",
                remedy="add motion capture, odometry or an estimate to the log",
            )

    def _check(self, label: str, time: Array, values: Array, width: int) -> None:
        """Refuse times and values that are not allowed."""
        field = f"{label} of {self.name}"
        if time.ndim != 1 or values.shape != (len(time), width):
            raise ConfigError(f"must have the shape {(len(time), width)}", field=field, value=values.shape)
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=1) | ~np.isfinite(time))
        if len(wrong):
            k = int(wrong[0])
            raise ConfigError(
                "must be finite",
                field=f"{field}, at {time[k]:g} s",
                value=values[k].tolist(),
                remedy=f"correct or cut the log: {len(wrong)} of {len(time)} values are not",
            )
        back = np.flatnonzero(np.diff(time) <= 0)
        if len(back):
            k = int(back[0])
            raise ConfigError(
                f"must be later than the {time[k]:g} s before",
                field=f"time of {field}",
                value=float(time[k + 1]),
                remedy="sort the log by time",
            )

    @property
    def start(self) -> float:
        """Time from which on there are commands and poses [s]."""
        return max(float(time[0]) for time in (self.command_time, *(m.time for m in self._poses)))

    @property
    def end(self) -> float:
        """Time up to which there are [s]."""
        return min(float(time[-1]) for time in (self.command_time, *(m.time for m in self._poses)))

    @property
    def _poses(self) -> list[Measured]:
        found = [self.first("orientation"), self.first("position") or self.first("velocity")]
        return [m for m in found if m is not None]

    def first(self, quantity: str) -> Measured | None:
        """Return the measurements of a quantity by the first source of it; None without one."""
        return next((m for m in self.measured if m.quantity == quantity and len(m.time) > 1), None)

    def between(self, start: float, end: float) -> "FlightRecord":
        """Return the part of the record from one time to another [s]."""

        def part(time: Array) -> slice:
            return slice(*np.searchsorted(time, [start, end]))

        measured = []
        for m in self.measured:
            kept = part(m.time)
            measured.append(replace(m, time=m.time[kept], values=m.values[kept]))
        first, last = np.searchsorted(self.command_time, [start, end])
        rows = slice(max(int(first) - 1, 0), int(last))
        return replace(
            self, command_time=self.command_time[rows], command=self.command[rows], measured=measured
        )

    def motion(self, times: Array) -> dict[str, Array]:
        """Return the motion at times by interpolation of measurements, shape (K, ...).

        Velocities that were not measured are those of the changes of positions and orientations.

        Args:
            times: The times [s], shape (K,).
        """
        pose = self.first("orientation")
        assert pose is not None
        signs = np.where((pose.values[1:] * pose.values[:-1]).sum(axis=1) < 0, -1.0, 1.0)
        turned = pose.values * np.concatenate([[1.0], np.cumprod(signs)])[:, None]
        found = {"orientation": normalize(_at(times, pose.time, turned))}
        position, velocity = self.first("position"), self.first("velocity")
        rate = self.first("angular_velocity")
        if position is not None:
            found["position"] = _at(times, position.time, position.values)
        if velocity is None:
            assert position is not None
            slopes = np.gradient(position.values, position.time, axis=0)
            found["velocity"] = _at(times, position.time, slopes)
        else:
            found["velocity"] = _at(times, velocity.time, velocity.values)
            found.setdefault("position", np.zeros((len(times), 3)))
        if rate is not None:
            found["angular_velocity"] = _at(times, rate.time, rate.values)
        else:
            slopes = np.gradient(turned, pose.time, axis=0)
            x, y, z, w = (turned / np.linalg.norm(turned, axis=1, keepdims=True)).T
            dx, dy, dz, dw = slopes.T
            rates = 2.0 * np.stack(
                [
                    w * dx - x * dw - y * dz + z * dy,
                    w * dy - y * dw - z * dx + x * dz,
                    w * dz - z * dw - x * dy + y * dx,
                ],
                axis=1,
            )
            found["angular_velocity"] = _at(times, pose.time, rates)
        speeds = self.first("rotor_speed")
        if speeds is not None:
            found["rotor_speed"] = _at(times, speeds.time, speeds.values)
        return found


def _at(times: Array, known: Array, values: Array) -> Array:
    """Return values at times, linear between known ones."""
    return np.stack([np.interp(times, known, column) for column in values.T], axis=1)
