"""Contract of faults: what fails, and where and when it does."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import build, require
from pegasus.base.errors import ConfigError
from pegasus.base.random_numbers import draw_key, next_keys
from pegasus.base.registry import Registry
from pegasus.base.streams import stream
from pegasus.contracts.condition import QUANTITIES, Condition, Region
from pegasus.contracts.reading import Reading
from pegasus.contracts.vehicle import EquippedVehicle

TOLERANCE = 1e-9
"""Tolerance of comparisons of times [s]."""


@dataclass(frozen=True)
class Fault:
    """Base of a fault: a frozen dataclass of parameters.

    It begins at the first step at which its `start` has come, the vehicle is in the region `where`, and the
    condition `when` holds, and ends at `end` or after `duration`. Times count from the beginning of the run,
    or of the last reset of the copy.

    A subclass overrides `fit`, and the methods of its effect: `actuate`, `blow`, `begin` and `finish`.
    """

    _: KW_ONLY
    name: str | None = None
    """Name in logs and for healing; that of the model and what it concerns when left out."""
    start: float | None = None
    """Earliest time of its beginning [s]; at once when left out."""
    end: float | None = None
    """Time of its end [s]; never when left out."""
    duration: float | None = None
    """Time from its beginning to its end [s], in place of `end`."""
    ramp: float = 0.0
    """Time from its beginning to its full effect, which grows linearly [s]."""
    where: Region | None = None
    """Region of the world in which it begins; anywhere when left out."""
    when: str | Callable[..., Any] | None = None
    """Condition under which it begins: a comparison such as `battery.charge < 0.3`, or a function of the
    vehicle that returns truth values of shape (N,)."""
    latch: bool = True
    """False for a fault that acts only while `where` and `when` hold, and again when they hold again."""

    takes_ramp: ClassVar[bool] = True
    """Whether the effect can grow."""

    def __post_init__(self) -> None:
        for field in ("start", "end", "duration", "ramp"):
            value = getattr(self, field)
            fits = value is None or 0 <= value < math.inf
            require(fits, field, value, "must be at least 0 s and finite")
        start = 0.0 if self.start is None else self.start
        after = self.end is None or self.end > start
        require(after, "end", self.end, f"must be after the start at {start:g} s")
        both = self.end is not None and self.duration is not None
        require(
            not both, "duration", self.duration, "must not be given together with end", "give one of them"
        )
        require(self.duration != 0, "duration", self.duration, "must be above 0 s")
        require(
            self.takes_ramp or not self.ramp, "ramp", self.ramp, "must be 0: this fault is there or it is not"
        )
        timed = self.latch or self.where is not None or self.when is not None
        require(
            timed, "latch", self.latch, "needs a region or a condition that can end", "give where or when"
        )
        if isinstance(self.when, str):
            Condition.parsed(self.when, known=QUANTITIES)

    @property
    def label(self) -> str:
        """Name of the fault and of what it concerns."""
        return self.name or " ".join([FAULTS.name_of(type(self)) or type(self).__name__, *self.concerns()])

    def concerns(self) -> list[str]:
        """Return the words that tell this fault from others of its model."""
        return []

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle does not have what fails.

        Args:
            vehicle: The vehicle.
        """

    def condition(self) -> Callable[[EquippedVehicle], Any] | None:
        """Return the function that tells for which copies `when` holds; None without a condition."""
        return Condition.parsed(self.when, known=QUANTITIES) if isinstance(self.when, str) else self.when

    def begin(self, injection: "Injection", copies: BoolArray) -> None:
        """Do what happens once, before the readings of the step at which it begins.

        Args:
            injection: This fault in a vehicle.
            copies: Copies for which it begins, shape (N,).
        """

    def finish(self, injection: "Injection", copies: BoolArray) -> None:
        """Undo what `begin` did.

        Args:
            injection: This fault in a vehicle.
            copies: Copies for which it ends, shape (N,).
        """

    def actuate(self, injection: "Injection", t: float, dt: float) -> None:
        """Multiply or add to the inputs of the step from t to t + dt that are those of faults.

        These columns of the vehicle are neutral before the first fault acts: the shares `drive`,
        `kept_speed`, `thrust_share`, `torque_share`, `charge_share`, `voltage_share` and `capacity_share` and
        the factor `resistance_share` 1, `fault_force`, `fault_torque`, `command_delay` and `command_held` 0,
        `override`, which takes the place of commands, NaN.
        See `pegasus.step.values.Effects`.

        Args:
            injection: This fault in a vehicle, with the columns of the step.
            t: Simulation time [s].
            dt: Length of the step [s].
        """

    @property
    def alters_step(self) -> bool:
        """Whether it has a method `actuate` or `blow`: the step then runs code for faults.

        False for those of sensors and links.
        """
        own = type(self)
        return own.actuate is not Fault.actuate or own.blow is not Fault.blow

    def blow(self, injection: "Injection") -> None:
        """Add to the column `wind_shock`.

        Args:
            injection: This fault in a vehicle.
        """


@dataclass(frozen=True)
class SensorFault(Fault):
    """Base of a fault of a sensor."""

    sensor: str
    """Name of the sensor."""

    def concerns(self) -> list[str]:
        """Return the name of the sensor."""
        return [self.sensor]

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle has no such sensor."""
        require_sensor(vehicle, self.sensor)

    def alter(self, injection: "Injection", reading: Reading, t: float) -> Reading | None:
        """Return the reading that is given in place of a reading; None for none.

        Args:
            injection: This fault in a vehicle.
            reading: Reading of this step.
            t: Simulation time [s].
        """
        return reading


def require_sensor(vehicle: EquippedVehicle, name: str) -> None:
    """Raise a ConfigError if a vehicle has no sensor of a name.

    Args:
        vehicle: The vehicle.
        name: The name.
    """
    known = ", ".join(vehicle.sensors) or "none"
    require(name in vehicle.sensors, "sensor", name, f"must be a sensor of {vehicle.name!r}: {known}")


class Injection:
    """Fault in a vehicle, with its schedule.

    Args:
        fault: The fault.
        vehicle: The vehicle.
        label: Name of the fault, unique in the vehicle.
        rows: Indices of the copies that it concerns.
        lasting: Whether it begins anew after a reset; otherwise a reset removes it.
    """

    def __init__(
        self, fault: Fault, vehicle: EquippedVehicle, label: str, rows: IntArray, *, lasting: bool
    ) -> None:
        self.fault, self.vehicle, self.label, self.lasting = fault, vehicle, label, lasting
        self.chosen = np.zeros(vehicle.count, dtype=bool)
        self.chosen[rows] = True
        self.begun: Array = np.full(vehicle.count, np.nan)
        """Time at which it began in the episode of each copy, NaN before [s], shape (N,)."""
        self.ended = np.zeros(vehicle.count, dtype=bool)
        self.active = np.zeros(vehicle.count, dtype=bool)
        """Copies that it acts on, shape (N,)."""
        self.intensity: Array = np.zeros(vehicle.count)
        """Share of the full effect by copy, 0 where it does not act, shape (N,)."""
        self.since: Array = np.zeros(vehicle.count)
        """Time since its beginning [s], shape (N,)."""
        self.state: dict[str, Any] = {}
        """Arrays of the fault's own, N rows each; removed by a reset."""
        self.keys: Any = np.zeros(vehicle.count, dtype=np.uint64)
        """Keys of the random numbers, shape (N,)."""
        self._condition: Callable[[EquippedVehicle], Any] | None = fault.condition()

    @property
    def acts(self) -> bool:
        """True while it acts on at least one copy."""
        return bool(self.active.any())

    @property
    def is_over(self) -> bool:
        """True if it has ended for all copies and cannot begin again."""
        return bool(self.ended[self.chosen].all())

    def kept(self, name: str, make: Callable[[], Array]) -> Array:
        """Return an array of the fault's own, made at its first use.

        Args:
            name: Name of the array.
            make: Function that makes it, with N rows.
        """
        if name not in self.state:
            self.state[name] = make()
        array: Array = self.state[name]
        return array

    def draw_anew(self, seed: int) -> None:
        """Take the random numbers of a seed.

        Args:
            seed: Seed of the simulation.
        """
        self.keys[...] = draw_key(stream(seed, self.vehicle.name, "fault", self.label))

    def restart(self, seed: int, rows: IntArray | slice = slice(None)) -> None:
        """Bring the schedule of copies to the beginning.

        Args:
            seed: Seed of the simulation.
            rows: The copies; for single ones, their random numbers are others than before.
        """
        if isinstance(rows, slice):
            self.state.clear()
            self.draw_anew(seed)
        else:
            self.keys[rows] = next_keys(self.keys[rows])
            for array in self.state.values():
                if isinstance(array, np.ndarray):
                    array[rows] = 0
        self.begun[rows] = np.nan
        self.ended[rows] = self.active[rows] = False
        self.intensity[rows] = 0.0

    def release(self, copies: BoolArray) -> None:
        """End the effect on copies, before they begin anew.

        Args:
            copies: The copies, shape (N,).
        """
        ends = self.active & copies
        self.active = self.active & ~copies
        if ends.any():
            self.fault.finish(self, ends)

    def update(self, age: Array) -> tuple[BoolArray, BoolArray]:
        """Advance the schedule, and return the copies for which the fault begins and ends, shape (N,) each.

        Args:
            age: Time since the beginning of the episode of each copy [s], shape (N,).
        """
        fault, vehicle = self.fault, self.vehicle
        possible = self.chosen & ~self.ended
        begins = possible & ~self.active
        if fault.start is not None:
            begins &= age >= fault.start - TOLERANCE
        holds = np.ones(vehicle.count, dtype=bool)
        if fault.where is not None:
            holds &= fault.where.contains(vehicle.state.position)
        if self._condition is not None and possible.any():
            holds &= self._truth(vehicle)
        begins &= holds
        self.begun[begins] = age[begins]
        active = self.active | begins
        ends = active & ~possible
        if fault.end is not None:
            self.ended |= possible & (age >= fault.end - TOLERANCE)
        if fault.duration is not None:
            self.ended |= active & (age - self.begun >= fault.duration - TOLERANCE)
        ends |= active & self.ended
        if not fault.latch:
            ends |= active & ~holds
        was = self.active.copy()
        self.active = active & ~ends
        self.since = np.where(self.active, age - self.begun, 0.0)
        ramped = np.ones(vehicle.count) if not fault.ramp else np.minimum(self.since / fault.ramp, 1.0)
        self.intensity = np.where(self.active, ramped, 0.0)
        return begins & self.active, ends & was

    def _truth(self, vehicle: EquippedVehicle) -> BoolArray:
        assert self._condition is not None
        given = np.asarray(self._condition(vehicle))
        try:
            truth: BoolArray = np.broadcast_to(given.astype(bool), (vehicle.count,))
        except (ValueError, TypeError):
            raise ConfigError(
                f"must give truth values of shape ({vehicle.count},)",
                field=f"condition of fault {self.label!r}",
                value=given,
            ) from None
        return truth


_ROOM = "pegasus.faults"
FAULTS: Registry[Fault] = Registry(
    "fault",
    group="pegasus.faults",
    shipped={
        "motor_loss": f"{_ROOM}.rotor_faults:MotorLoss",
        "thrust_loss": f"{_ROOM}.rotor_faults:ThrustLoss",
        "motor_stuck": f"{_ROOM}.rotor_faults:MotorStuck",
        "motor_seized": f"{_ROOM}.rotor_faults:MotorSeized",
        "servo_stuck": f"{_ROOM}.channel_faults:ServoStuck",
        "command_delay": f"{_ROOM}.channel_faults:CommandDelay",
        "voltage_drop": f"{_ROOM}.rotor_faults:VoltageDrop",
        "propeller_imbalance": f"{_ROOM}.propeller_faults:PropellerImbalance",
        "blade_loss": f"{_ROOM}.propeller_faults:BladeLoss",
        "cell_failure": f"{_ROOM}.battery_faults:CellFailure",
        "battery_cold": f"{_ROOM}.battery_faults:BatteryCold",
        "battery_empty": f"{_ROOM}.battery_faults:BatteryEmpty",
        "sensor_off": f"{_ROOM}.sensor_faults:SensorOff",
        "sensor_stuck": f"{_ROOM}.sensor_faults:SensorStuck",
        "sensor_delay": f"{_ROOM}.sensor_faults:SensorDelay",
        "sensor_dropouts": f"{_ROOM}.sensor_faults:SensorDropouts",
        "sensor_bias": f"{_ROOM}.field_faults:SensorBias",
        "sensor_drift": f"{_ROOM}.field_faults:SensorDrift",
        "sensor_noise": f"{_ROOM}.field_faults:SensorNoise",
        "sensor_scale": f"{_ROOM}.field_faults:SensorScale",
        "sensor_spikes": f"{_ROOM}.field_faults:SensorSpikes",
        "sensor_wrong_axis": f"{_ROOM}.field_faults:SensorWrongAxis",
        "gps_loss": f"{_ROOM}.gps_faults:GpsLoss",
        "gps_jump": f"{_ROOM}.gps_faults:GpsJump",
        "gps_spoofing": f"{_ROOM}.gps_faults:GpsSpoofing",
        "gps_jamming": f"{_ROOM}.gps_faults:GpsJamming",
        "wind_shock": f"{_ROOM}.body_faults:WindShock",
        "bird_strike": f"{_ROOM}.body_faults:BirdStrike",
        "payload_shift": f"{_ROOM}.payload_faults:PayloadShift",
        "payload_loss": f"{_ROOM}.payload_faults:PayloadLoss",
        "link_loss": f"{_ROOM}.link_faults:LinkLoss",
        "link_delay": f"{_ROOM}.link_faults:LinkDelay",
        "link_duplicate": f"{_ROOM}.link_faults:LinkDuplicate",
    },
)
"""Faults by their name in YAML."""


def build_fault(spec: Mapping[str, Any], *, field: str = "fault") -> Fault:
    """Return the fault that a mapping describes.

    Args:
        spec: Mapping with `model` and its parameters.
        field: Path of the mapping, for error messages.

    Raises:
        ConfigError: If the model is not known or a parameter is not allowed.
    """
    try:
        return build(Fault, FAULTS, spec, field=field)
    except TypeError as error:
        raise ConfigError(str(error), field=field, value=dict(spec)) from None
