"""Extended Kalman filter of the errors of attitude, velocity, position and sensors."""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import annotations_of, require
from pegasus.base.elementary import squared
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Mat33, Quat, Table, Vec3
from pegasus.contracts.estimator import FEEDBACK, Estimator
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Estimate, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import as_aircraft
from pegasus.estimation.filter_rows import (
    ALIGNING,
    DISTANCE,
    DRAG,
    FIELD,
    FLOW,
    READY,
    REST,
    SOURCE_COUNT,
    AirModel,
    FilterRows,
    GroundModel,
)
from pegasus.estimation.filter_step import estimate_state
from pegasus.estimation.published import FilterEstimate, filter_estimate, present_spreads
from pegasus.estimation.readings import write_reading
from pegasus.estimation.sensor_errors import air_model, parameters_of
from pegasus.estimation.sources import Source, filter_parameters, require_scale_errors, sources_of
from pegasus.sensors.imu import ImuReading
from pegasus.sensors.magnetometer import MagnetometerReading
from pegasus.sensors.odometry import OdometryReading

_PLACE_INTERVAL = 1.0
"""Time between updates of gravity and the Earth's field at the estimated position [s]."""
_REST_INTERVAL = 0.1
"""Time between two corrections by the knowledge that a vehicle stands [s]."""
_LATEST = 0.1
"""Age beyond the latency of its sensor at which a reading is not used [s]."""
_DRAG_INTERVAL = 0.1
"""Time between two readings of the IMU whose specific force is used as drag [s]."""
_AIRBORNE_TIME = 1.0
"""Time since a vehicle touched something until its specific force is that of its drag [s]."""
_CLEARANCE, _ANY_CLEARANCE = 0.05 * 0.05, 1e4
"""Variance of the height over the ground of a vehicle that stands, and of one in the air [m^2]."""
_SIGNALS = {
    "newest": np.int32,
    "oldest": np.int32,
    "field_is_new": np.int32,
    "pose_reset": np.int32,
    "flow_time": np.float64,
}
"""Numbers for all copies, which change from step to step."""
_SHARED = (
    *("p", "origin", "gps", "barometer", "magnetometer", "ground", "range", "flow", "pose", "uwb", "anchor"),
    *("airspeed", "air", "dt", "due", "age", "passed", *_SIGNALS),
)
"""Columns that do not have one row for each copy."""
_SHAPES: dict[Any, tuple[int, ...]] = {Vec3: (3,), Quat: (4,), Mat33: (3, 3)}


@dataclass(kw_only=True, eq=False)
class EKF(Estimator):
    """Error-state extended Kalman filter of N vehicles.

    Readings of the IMU drive a strapdown navigation; GPS, barometer, magnetometer, a rangefinder that looks
    down, optical flow, odometry and distances to anchors correct its errors and those of the sensors, which
    are states as well (Hector 2012, sec. 3.4; Sola 2017, "Quaternion kinematics for the error-state Kalman
    filter"). The filter is as late as the latest of these readings; its state is carried on to the present by
    the readings of the IMU since then. Noise and drift of the sensors are those that the vehicle's file
    gives; their iron, mounting and latency are known to it.
    """

    sensors: tuple[str, ...] | None = None
    """Names of the sensors that it uses; all that it can use when left out."""
    start: str = "rest"
    """`rest`: level and heading are measured while the vehicle stands; `known`: it starts from the true
    state, for vehicles that start in the air."""
    rest_time: float = 0.5
    """Time at rest in which the first attitude is measured [s]."""
    ground_roughness: float = 0.02
    """Standard deviation of the height of the ground after a metre of way, which grows with its root [m]."""
    gate: float = 5.0
    """Innovation in standard deviations beyond which a measured number is not used."""
    gps_reset_time: float = 7.0
    """Time for which the horizontal position by GPS must be beyond the gate until the filter takes it over,
    if neither odometry nor anchors give one; infinite for never [s]."""
    vibration_noise_density: float = 0.0
    """Density of the noise on the accelerometer beyond its own, such as by vibration [m/s^2/sqrt(Hz)]."""
    scale_factors: bool = False
    """Whether the errors of scale of gyroscope and accelerometer are states, as large as the IMU's
    `scale_error_sigma` and `scale_error`."""
    wind: bool = False
    """Whether the velocity of the air, east and north, is a state: a random walk, known by the drag of the
    vehicle and by an airspeed sensor."""
    wind_start_sigma: float = 5.0
    """Standard deviation of the wind's components at the start [m/s]."""
    wind_noise_density: float = 0.4
    """Standard deviation of the change of the wind's components after 1 s, which grows with the root of time
    [m/s/sqrt(s)]."""
    flown: bool = True
    """Whether controllers fly on the estimate; on the true state if false."""

    def __post_init__(self) -> None:
        starts = ("rest", "known")
        require(self.start in starts, "start", self.start, f"must be one of {', '.join(starts)}")
        above_zero = ("rest_time", "s"), ("gate", "standard deviations"), ("wind_start_sigma", "m/s")
        for name, unit in above_zero:
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        require(self.gps_reset_time > 0, "gps_reset_time", self.gps_reset_time, "must be above 0 s")
        for name in ("ground_roughness", "vibration_noise_density", "wind_noise_density"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def bind(self, vehicle: Vehicle) -> None:
        """Join a vehicle, and start from a fresh state.

        Args:
            vehicle: The vehicle.

        Raises:
            ConfigError: If it lacks a sensor that is needed, or has two of one kind.
        """
        self._vehicle = vehicle = as_aircraft(vehicle)
        self._environment = vehicle.environment
        try:
            self._imu_name, self.imu, self.sources, size = sources_of(vehicle, self.sensors, wind=self.wind)
        except ConfigError as error:
            raise error.about(
                f"estimator.{error.field}" if error.field == "sensors" else "estimator"
            ) from None
        ground = GroundModel(
            first=size,
            roughness=squared(self.ground_roughness),
            clearance=-vehicle.asset.lowest_point,
            variance=_ANY_CLEARANCE if self.start == "known" else _CLEARANCE,
        )
        if any(source.number in (DISTANCE, FLOW) for source in self.sources):
            size += 1
        scale = -1
        if self.scale_factors:
            require_scale_errors(self.imu, self._imu_name)
            scale, size = size, size + 6
        wind = -1
        if self.wind:
            wind, size = size, size + 2
        self.parameters = filter_parameters(
            self.imu,
            self.sources,
            size,
            gate=self.gate,
            gps_reset_time=self.gps_reset_time,
            known=self.start == "known",
            rest_time=self.rest_time,
            vibration=self.vibration_noise_density,
            scale=scale,
            wind=wind,
        )
        """Numbers of the filter."""
        air = AirModel(0.0, 0.0, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0.0)
        if self.wind:
            air = air_model(
                vehicle,
                self.sources,
                start_sigma=self.wind_start_sigma,
                drive=squared(self.wind_noise_density) / self.imu.rate_hz,
                force_variance=self.parameters.force_variance,
            )
        self._drags = any(air.linear[k] + air.quadratic[k] > 0.0 for k in range(2))
        self._given = {"p": [self.parameters]} | parameters_of(
            self.sources, self._environment.origin, ground, air
        )
        n, slots = vehicle.count, self.parameters.lag + 1
        widths = {"rate": slots, "force": slots, "error": size, "covariance": size * size, "cross": size,
                  "gain": size, "nis": SOURCE_COUNT, "used_count": SOURCE_COUNT,
                  "rejected_count": SOURCE_COUNT, "uwb_distance": len(self._given["anchor"]),
                  "uwb_valid": len(self._given["anchor"])}  # fmt: skip
        self.columns: dict[str, Array] = {
            **{name: np.zeros(1, dtype=kind) for name, kind in _SIGNALS.items()},
            "dt": np.zeros(slots),
            "due": np.zeros(SOURCE_COUNT, dtype=np.int32),
            "age": np.zeros(SOURCE_COUNT),
            "passed": np.zeros(SOURCE_COUNT, dtype=np.int32),
        }
        """State, inputs and outputs of the filter by name; see `filter_rows.FilterRows`."""
        for name, hint in annotations_of(FilterRows).items():
            if name in _SHARED:
                continue
            (element,) = get_args(hint)
            shape = (n, *((widths[name],) if get_origin(hint) is Table else ()), *_SHAPES.get(element, ()))
            self.columns[name] = np.zeros(shape, dtype=np.int32 if element is int else np.float64)
        self._launch: Callable[[], None] | None = None
        self._spread_launch: Callable[[], None] | None = None
        self.restart()

    def restart(self) -> None:
        """Start all copies from a fresh state."""
        for source in self.sources:
            source.restart()
        self._stamps: deque[float] = deque(maxlen=self.parameters.lag + 1)
        self._slot, self._last_stamp, self._next_place = -1, math.nan, -math.inf
        self._rest_readings = max(1, round(_REST_INTERVAL * self.imu.rate_hz))
        self._reading_count = 0
        self._touched, self._next_drag = np.zeros(self._vehicle.count), -math.inf
        self._estimate: FilterEstimate | None = None
        for name in ("dt", "due", "age", "passed", *_SIGNALS):
            self.columns[name][...] = 0
        start = self._vehicle.start
        self._fresh(np.arange(self._vehicle.count), start.position, start.orientation)

    def _fresh(self, rows: IntArray, position: Array, orientation: Array) -> None:
        for name, column in self.columns.items():
            if name not in _SHARED and name not in ("gravity", "earth_field", "air_density"):
                column[rows] = 0
        columns = self.columns
        columns["phase"][rows] = ALIGNING
        columns["nis"][rows] = math.nan
        columns["q"][rows, 3] = columns["window_turn"][rows, 3] = 1.0
        columns["newest_pose"][rows, 3] = 1.0
        columns["position"][rows] = columns["start_position"][rows] = columns["pivot"][rows] = position
        columns["orientation"][rows] = columns["start_orientation"][rows] = orientation
        columns["rotation"][rows] = np.eye(3)
        self._starting = True
        self._received = math.nan
        self._touched[rows] = math.nan

    def reset_copies(self, rows: IntArray) -> None:
        """Start copies from a fresh state; the others go on.

        Args:
            rows: Indices of the copies.
        """
        state = self._vehicle.state
        self._fresh(rows, state.position[rows], state.orientation[rows])

    def attach(self, columns: Mapping[str, Array]) -> None:
        """Use other arrays for the quantities of `FEEDBACK` and `ready`; values are kept.

        Args:
            columns: The arrays, N rows each.
        """
        for name in (*FEEDBACK, "ready"):
            columns[name][...] = self.columns[name]
            self.columns[name] = columns[name]
        self._launch = self._spread_launch = None

    @property
    def state(self) -> VehicleState:
        """Estimated state of the present step; live arrays, with the true speeds of the rotors."""
        names = (*FEEDBACK, "rotation", "acceleration", "angular_acceleration")
        parts = {name: self.columns[name] for name in names}
        return VehicleState(**parts, rotor_speed=self._vehicle.columns["rotor_speed"])

    @property
    def ready(self) -> BoolArray:
        """Whether the estimate of each copy can be flown on, shape (N,)."""
        ready: BoolArray = self.columns["ready"] == 1
        return ready

    @property
    def air_velocity(self) -> Array | None:
        """Estimated wind [m/s], level, shape (N, 3); None without states of the wind."""
        first = self.parameters.wind
        if first < 0:
            return None
        level = self.columns["error"][:, first : first + 2]
        return np.concatenate([level, np.zeros((len(level), 1))], axis=1)

    @property
    def estimate(self) -> Estimate:
        """The estimate as it is logged and shown: present state, standard deviations, biases and errors."""
        if self._estimate is None:
            if self._spread_launch is None:
                self._spread_launch = self._prepared(present_spreads)
            self._spread_launch()
            self._estimate = filter_estimate(self, self._vehicle.state)
        return self._estimate

    @property
    def received(self) -> float:
        """Time of the estimate [s]; NaN before the first."""
        return self._received

    @property
    def filter_time(self) -> float:
        """Time that the state of the filter is of, before it is carried on [s]; NaN before the first."""
        full = len(self._stamps) == self.parameters.lag + 1
        return self._stamps[0] if full else math.nan

    def update(self, t: float) -> None:
        """Take the new readings of the vehicle, faults included.

        Args:
            t: Simulation time [s].
        """
        readings = self._vehicle.new_readings
        for source in self.sources:
            if source.name in readings:
                reading = readings[source.name]
                source.add(reading)
                if self._starting:
                    self._show_heading(reading)
        self._estimate = None
        if self._imu_name in readings:
            imu = readings[self._imu_name]
            assert isinstance(imu, ImuReading)
            self._take(imu, t)

    def _show_heading(self, reading: Reading) -> None:
        """Hand a reading that tells the heading to filters that start: field, or orientation without one."""
        columns = self.columns
        if isinstance(reading, MagnetometerReading):
            columns["newest_field"][...] = reading.magnetic_field
            columns["field_is_new"][0] = 1
        elif isinstance(reading, OdometryReading) and not self.parameters.used[FIELD]:
            columns["newest_pose"][...] = reading.orientation
            columns["field_is_new"][0] = 1

    def _take(self, reading: ImuReading, t: float) -> None:
        columns, slots = self.columns, self.parameters.lag + 1
        columns["measured_rate"][...], columns["measured_force"][...] = (
            reading.angular_velocity,
            reading.specific_force,
        )
        self._slot = slot = (self._slot + 1) % slots
        columns["newest"][0], columns["oldest"][0] = slot, (slot + 1) % slots
        columns["dt"][slot] = 0.0 if math.isnan(self._last_stamp) else reading.stamp - self._last_stamp
        self._last_stamp = reading.stamp
        self._stamps.append(reading.stamp)
        due = columns["due"]
        due[...] = 0
        if len(self._stamps) == slots:
            for source in self.sources:
                self._measure(source, self._stamps[0])
        if self._starting:
            true = self._vehicle.state
            columns["start_position"][...], columns["start_velocity"][...] = true.position, true.velocity
            columns["start_orientation"][...] = true.orientation
            self._reading_count += 1
            due[REST] = self._reading_count % self._rest_readings == 0
        if t >= self._next_place:
            self._next_place = t + _PLACE_INTERVAL
            columns["gravity"][...] = self._environment.gravity_vector(columns["position"])
            columns["earth_field"][...] = self._environment.magnetic_field_at(columns["position"])
            if self.wind:
                columns["air_density"][...] = self._environment.air_density(columns["position"])
        if self._drags:
            self._look_for_drag(t)
        if self._launch is None:
            self._launch = self._prepared(estimate_state)
        self._launch()
        if self._starting:
            columns["field_is_new"][0] = 0
            self._starting = not (columns["phase"] == READY).all()
        self._received = t

    def _look_for_drag(self, t: float) -> None:
        """Note which copies touch something, and whether drag is used at this reading."""
        touched = self._touched
        touched[self._vehicle.in_contact | np.isnan(touched)] = t
        self.columns["airborne"][...] = t - touched > _AIRBORNE_TIME
        if t >= self._next_drag:
            self._next_drag = t + _DRAG_INTERVAL - 1e-9
            self.columns["due"][DRAG] = 1

    def _prepared(self, function: Callable[..., None]) -> Callable[[], None]:
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.row_kernels import RowLaunch, Rows

        self.rows = Rows(FilterRows, {**self.columns, **self._given})
        """The rows, also for plain Python."""
        return RowLaunch(function, self.rows, self._vehicle.count)

    def _measure(self, source: Source, time: float) -> None:
        """Hand the reading of a time to the filter, if there is one."""
        found = source.take(time)
        if found is None or time - found[0] > _LATEST:
            return
        valid_at, reading = found
        columns, number = self.columns, source.number
        write_reading(columns, source, reading, self._environment.origin)
        columns["due"][number], columns["age"][number] = 1, time - valid_at
        columns["passed"][number] = source.passed(valid_at)
