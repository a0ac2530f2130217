"""Reader of PX4's ULogs for identification."""

from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import swap_attitude_convention, swap_enu_ned, swap_flu_frd
from pegasus.contracts.flight_record import FlightRecord, Measured
from pegasus.core.aircraft import Aircraft

_SLOWEST = 0.05
"""Longest time between logged commands that tells how motors were commanded [s]."""
_FAST = "set SDLOG_PROFILE to 17 (default and high rate) before the flight"


def read_ulog(path: str | Path, vehicle: Aircraft) -> FlightRecord:
    """Return a flight from a ULog of PX4 for `pegasus.fleet.identify`.

    Commands are those of `actuator_motors` by the section `px4` of the vehicle's file (scale and offset),
    motion is that of the estimator (`vehicle_local_position`, `vehicle_attitude`) and of the IMU
    (`sensor_combined`, else `vehicle_angular_velocity`). Source: uORB messages of PX4.

    Args:
        path: The file, .ulg.
        vehicle: Vehicle that flew.

    Raises:
        ConfigError: If the file cannot be read, lacks a topic, or the vehicle has no rotor speeds to command.
    """
    from pyulog import ULog

    path = Path(path)
    try:
        log = ULog(str(path))
    except Exception as error:  # pyulog raises whatever reading a damaged file raises.
        raise ConfigError(
            f"is no readable ULog: {error or type(error).__name__}",
            file=path,
            remedy="give a .ulg file of PX4",
        ) from None
    topics: dict[str, Any] = {d.name: d.data for d in reversed(log.data_list) if d.multi_id == 0}
    time, outputs = _values(
        path, topics, "actuator_motors", [f"control[{k}]" for k in range(vehicle.rotor_count)]
    )
    if float(np.median(np.diff(time))) > _SLOWEST:
        raise ConfigError(
            f"is logged every {np.median(np.diff(time)):.2f} s: too seldom to tell how motors were commanded",
            file=path,
            field="actuator_motors",
            remedy=_FAST,
        )
    at, place = _values(path, topics, "vehicle_local_position", ["x", "y", "z", "vx", "vy", "vz"])
    turned_at, turned = _values(path, topics, "vehicle_attitude", [f"q[{k}]" for k in range(4)])
    attitude = swap_attitude_convention(turned[:, [1, 2, 3, 0]])
    measured = [
        Measured("ekf", "position", at, swap_enu_ned(place[:, :3])),
        Measured("ekf", "velocity", at, swap_enu_ned(place[:, 3:])),
        Measured("ekf", "orientation", turned_at, attitude),
    ]
    if "sensor_combined" in topics:
        names = [f"{kind}[{k}]" for kind in ("gyro_rad", "accelerometer_m_s2") for k in range(3)]
        at, both = _values(path, topics, "sensor_combined", names)
        at = at - 0.5e-6 * float(np.median(topics["sensor_combined"]["gyro_integral_dt"]))
        measured += [
            Measured("imu", "angular_velocity", at, swap_flu_frd(both[:, :3]), biased=True),
            Measured("imu", "specific_force", at, swap_flu_frd(both[:, 3:]), biased=True),
        ]
    else:
        at, rate = _values(path, topics, "vehicle_angular_velocity", [f"xyz[{k}]" for k in range(3)])
        measured.append(Measured("imu", "angular_velocity", at, swap_flu_frd(rate)))
    return FlightRecord(str(path), time, _speeds(vehicle, outputs), measured, held=False)


def _values(path: Path, topics: dict[str, Any], topic: str, names: list[str]) -> tuple[Array, Array]:
    """Return times [s] and fields of a topic."""
    if topic not in topics or any(name not in topics[topic] for name in names):
        problem = "holds no commands: no topic" if topic == "actuator_motors" else "has no topic"
        raise ConfigError(f"{problem} {topic}", file=path, remedy=_FAST)
    data = topics[topic]
    time = np.asarray(data.get("timestamp_sample", data["timestamp"]), dtype=np.float64) * 1e-6
    values = np.stack([np.asarray(data[name], dtype=np.float64) for name in names], axis=1)
    new = np.append(np.diff(time) > 0, True)
    if topic == "actuator_motors":
        # A motor that is not armed has NaN.
        new &= np.isfinite(values).all(axis=1)
        if new.sum() < 2:
            raise ConfigError("holds no commands: the motors were never armed", file=path, field=topic)
    return time[new], values[new]


def _speeds(vehicle: Aircraft, outputs: Array) -> Array:
    """Return commanded rotor speeds [rad/s], shape (T, R)."""
    px4 = vehicle.spec.px4
    if len(vehicle.channels) != vehicle.rotor_count:
        raise ConfigError(
            "must have rotors alone: the log is read for those",
            file=vehicle.file,
            field="channels",
            value=", ".join(map(str, vehicle.channels)),
        )
    low = np.array([px4.offset or 0.0] * vehicle.rotor_count)
    most = np.array([channel.high for channel in vehicle.channels])
    scale = np.array([px4.scale] * vehicle.rotor_count) if px4.scale is not None else most - low
    speeds: Array = np.clip(outputs, 0.0, 1.0) * scale + low
    return speeds
