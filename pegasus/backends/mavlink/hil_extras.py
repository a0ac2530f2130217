"""HIL messages of sensors that not every vehicle has: range, flow, external odometry, receiver."""

import math
from collections.abc import Sequence

from pegasus.backends.mavlink.messages import DistanceSensor, HilOpticalFlow, Odometry, RcChannels
from pegasus.components import require
from pegasus.frames import matrix_from_quaternion, rotate_inverse, swap_attitude_convention
from pegasus.sensors import OdometryReading, OpticalFlowReading, RangeReading

_LOCAL_NED, _BODY_FRD = 1, 12
_VISUAL_INERTIAL = 3
_LASER = 0
_FULL_SIGNAL, _NO_SIGNAL = 100, 1
_UNKNOWN_COVARIANCE = 255
_NO_CHANNEL, _CHANNEL_COUNT = 65535, 18
# MAV_SENSOR_ORIENTATION of a beam along each axis of the body, both ways (FLU).
_ORIENTATIONS = {
    (1, 0, 0): 0,
    (0, -1, 0): 2,
    (-1, 0, 0): 4,
    (0, 1, 0): 6,
    (0, 0, 1): 24,
    (0, 0, -1): 25,
}


def orientation_of(direction: Sequence[float]) -> int:
    """Return the MAV_SENSOR_ORIENTATION nearest to a direction.

    Args:
        direction: Direction in the body frame (FLU), of any length but zero, shape (3,).
    """

    def alignment(axis: tuple[int, int, int]) -> float:
        return sum(a * d for a, d in zip(axis, direction, strict=True))

    return _ORIENTATIONS[max(_ORIENTATIONS, key=alignment)]


def range_message(time_usec: int, reading: RangeReading, copy: int, *, orientation: int) -> DistanceSensor:
    """Return the DISTANCE_SENSOR of one vehicle.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
        orientation: MAV_SENSOR_ORIENTATION of the beam.
    """
    return DistanceSensor(
        time_usec // 1000,
        _centimetres(reading.min_range),
        _centimetres(reading.max_range),
        _centimetres(float(reading.distance[copy])),
        _LASER,
        0,
        orientation,
        _UNKNOWN_COVARIANCE,
        signal_quality=_FULL_SIGNAL if reading.valid[copy] else _NO_SIGNAL,
    )


def flow_message(time_usec: int, reading: OpticalFlowReading, copy: int) -> HilOpticalFlow:
    """Return the HIL_OPTICAL_FLOW of one vehicle; flow and angles about y and z change sign from FLU to FRD.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
    """
    x, y = reading.integrated_flow[copy].tolist()
    gx, gy, gz = reading.integrated_rate[copy].tolist()
    return HilOpticalFlow(
        time_usec,
        round(reading.integration_time * 1e6),
        x,
        -y,
        gx,
        -gy,
        -gz,
        0,
        float(reading.distance[copy]),
        0,
        0,
        int(reading.quality[copy]),
    )


def odometry_message(time_usec: int, reading: OdometryReading, copy: int) -> Odometry:
    """Return the ODOMETRY of one vehicle: pose in NED, twist in the body (FRD), variances on the diagonals.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
    """
    east, north, up = reading.position[copy].tolist()
    x, y, z, w = swap_attitude_convention(reading.orientation[copy]).tolist()
    rotation = matrix_from_quaternion(reading.orientation[copy])
    vx, vy, vz = rotate_inverse(rotation, reading.velocity[copy]).tolist()
    p, q, r = reading.angular_velocity[copy].tolist()
    pe, pn, pu = reading.position_variance[copy].tolist()
    oe, on, ou = reading.orientation_variance[copy].tolist()
    return Odometry(
        time_usec,
        north,
        east,
        -up,
        (w, x, y, z),
        vx,
        -vy,
        -vz,
        p,
        -q,
        -r,
        _diagonal(pn, pe, pu, on, oe, ou),
        # Its own twist is not told how sure it is of: NaN in front is "unknown".
        (math.nan, *[0.0] * 20),
        _LOCAL_NED,
        _BODY_FRD,
        reset_counter=int(reading.reset_count[copy]) & 0xFF,
        estimator_type=_VISUAL_INERTIAL,
        quality=100,
    )


def rc_message(time_usec: int, channels: Sequence[int]) -> RcChannels:
    """Return the RC_CHANNELS of a receiver.

    Args:
        time_usec: Time [us].
        channels: Pulse widths [us], at most 18.

    Raises:
        ConfigError: If there are more, or one is no pulse width.
    """
    fits = len(channels) <= _CHANNEL_COUNT and all(0 <= pulse < _NO_CHANNEL for pulse in channels)
    require(
        fits, "rc_channels", channels, f"must be at most {_CHANNEL_COUNT}, from 0 to {_NO_CHANNEL - 1} us"
    )
    filled = [*channels, *[_NO_CHANNEL] * (_CHANNEL_COUNT - len(channels))]
    return RcChannels(time_usec // 1000, tuple(filled), len(channels), 254)


def _diagonal(*values: float) -> tuple[float, ...]:
    """Return the upper triangle of a 6x6 matrix, row by row, with these values on its diagonal."""
    triangle: list[float] = []
    for row, value in enumerate(values):
        triangle += [value, *[0.0] * (5 - row)]
    return tuple(triangle)


def _centimetres(distance: float) -> int:
    return min(round(100 * distance), 65534)
