"""Errors of the sensors of an estimator as parameters of its filter."""

import math
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.elementary import squared
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.control.drag_compensation import drag_by_axis
from pegasus.environment.atmosphere import GAS_CONSTANT, UsStandardAtmosphere1976
from pegasus.environment.geodesy import Geodetic
from pegasus.environment.gravity import STANDARD_GRAVITY
from pegasus.estimation.filter_rows import (
    AIRSPEED,
    AirModel,
    AirspeedErrors,
    BarometerErrors,
    FlowErrors,
    GpsErrors,
    GroundModel,
    MagnetometerErrors,
    PoseErrors,
    RangeErrors,
    UwbErrors,
)
from pegasus.estimation.sources import KINDS, Source
from pegasus.sensors.airspeed import Airspeed
from pegasus.sensors.barometer import Barometer
from pegasus.sensors.gps import GPS, RTK_FIXED, RTK_FLOAT
from pegasus.sensors.gps_errors import error_coefficients, error_covariance
from pegasus.sensors.magnetometer import Magnetometer
from pegasus.sensors.noise import gauss_markov_coefficients, noise_of_sigma
from pegasus.sensors.odometry import Odometry
from pegasus.sensors.optical_flow import OpticalFlow
from pegasus.sensors.rangefinder import Rangefinder
from pegasus.sensors.uwb import UWB

_DRAG_ERROR = 0.03
"""Standard deviation of the error of the specific force by the law of the drag [m/s^2]."""


def gps_errors(sensor: GPS, first: int) -> GpsErrors:
    """Return the errors of a GPS as parameters of the filter.

    Args:
        sensor: The GPS.
        first: First state of its errors.
    """
    times = sensor.position_correlation_time, sensor.velocity_correlation_time
    covariance, variance = error_covariance(*times)[1].tolist()
    (keep, coupling), (_, keep_velocity) = error_coefficients(*times, dt=1 / sensor.rate_hz)[0].tolist()
    (own, shared), (_, drive) = error_coefficients(*times, dt=1 / sensor.rate_hz)[1].tolist()
    return GpsErrors(
        first=first,
        # With corrections the errors have another sigma in each state of the fix; see `gps_shares`.
        scale=Vec3(1.0, 1.0, 1.0) if sensor.rtk is not None else Vec3(*sensor.position_error_sigma),
        covariance=covariance,
        variance=variance,
        keep_position=keep,
        coupling=coupling,
        keep_velocity=keep_velocity,
        drive_position=own * own + shared * shared,
        drive_shared=shared * drive,
        drive_velocity=drive * drive,
        position_variance=_squares(sensor.position_noise_density, sensor.rate_hz),
        velocity_variance=_squares(sensor.velocity_noise_density, sensor.rate_hz),
    )


def gps_shares(sensor: GPS, fix_type: IntArray) -> tuple[Array, Array]:
    """Return the position errors by the states of a filter, and the accuracy that belongs to them.

    Args:
        sensor: The GPS.
        fix_type: Type of each fix, shape (N,).

    Returns:
        Errors east, north and up [m] by states of 1, and stated accuracies `eph`, `eph` and `epv` [m] in good
        reception; each of shape (N, 3).
    """
    shares = np.ones((len(fix_type), 3))
    accuracy = np.tile([sensor.eph, sensor.eph, sensor.epv], (len(fix_type), 1))
    if (rtk := sensor.rtk) is not None:
        shares[...] = sensor.position_error_sigma
        for kind, sigma, age in (
            (RTK_FLOAT, rtk.float_sigma, rtk.float_time),
            (RTK_FIXED, rtk.fixed_sigma, rtk.fixed_time),
        ):
            eph, epv = rtk.accuracy(age)
            shares[fix_type == kind], accuracy[fix_type == kind] = sigma, (eph, eph, epv)
    return shares, accuracy


def _squares(density: tuple[float, float, float], rate: float) -> Vec3:
    """Return the variances of white noise of a density at a rate."""
    x, y, z = (value * value * rate for value in density)
    return Vec3(x, y, z)


def barometer_errors(sensor: Barometer, first: int, altitude: float) -> BarometerErrors:
    """Return the errors of a barometer as parameters of the filter.

    A relative error of the pressure p is one of the altitude of -R T / g times it, by the hydrostatic law.

    Args:
        sensor: The barometer.
        first: State of its drift.
        altitude: Altitude of the world's origin above mean sea level [m].
    """
    standard = UsStandardAtmosphere1976()
    air = standard.air(np.array([altitude]))
    scale = GAS_CONSTANT * float(air.temperature[0]) / STANDARD_GRAVITY
    noise = noise_of_sigma(
        sensor.noise_density, sensor.drift_sigma, sensor.drift_correlation_time, rate_hz=sensor.rate_hz
    )
    return BarometerErrors(
        first=first,
        standard=standard.parameters,
        origin_altitude=altitude,
        phi=noise.phi,
        drive=squared(noise.drive * scale),
        variance=squared(noise.bias_sigma * scale),
        white_variance=squared(noise.white_sigma * scale / float(air.pressure[0])),
    )


def magnetometer_errors(sensor: Magnetometer, first: int) -> MagnetometerErrors:
    """Return the errors of a magnetometer as parameters of the filter.

    Args:
        sensor: The magnetometer.
        first: First state of its bias.
    """
    given = sensor.parameters()
    iron, noise = given["iron"], given["noise"]
    return MagnetometerErrors(
        first=first,
        soft_x=iron.soft_x,
        soft_y=iron.soft_y,
        soft_z=iron.soft_z,
        hard=iron.hard,
        phi=noise.phi,
        drive=squared(noise.drive),
        variance=squared(noise.bias_sigma) + squared(noise.turn_on_bias),
        white_variance=squared(noise.white_sigma),
    )


def range_errors(sensor: Rangefinder) -> RangeErrors:
    """Return place and errors of a rangefinder as parameters of the filter.

    Args:
        sensor: The rangefinder.
    """
    x, y, z = sensor.direction
    length = math.sqrt(x * x + y * y + z * z)
    return RangeErrors(
        place=Vec3(*sensor.position),
        direction=Vec3(x / length, y / length, z / length),
        half_cone=0.5 * sensor.cone_angle,
        period=1.0 / sensor.rate_hz,
        least=sensor.min_range,
        most=sensor.max_range,
        noise=sensor.noise_sigma,
        proportional=sensor.proportional_noise,
    )


def flow_errors(sensor: OpticalFlow) -> FlowErrors:
    """Return place and errors of a camera of optical flow as parameters of the filter.

    Args:
        sensor: The sensor.
    """
    return FlowErrors(
        place=Vec3(*sensor.position),
        least=sensor.min_range,
        most=sensor.max_range,
        variance=squared(sensor.flow_noise_density) + squared(sensor.rate_noise_density),
        distance_variance=squared(sensor.distance_noise_sigma),
    )


def pose_errors(sensor: Odometry, first: int) -> PoseErrors:
    """Return the errors of an odometry as parameters of the filter.

    Args:
        sensor: The odometry.
        first: First state of its errors.
    """
    phi, drive = gauss_markov_coefficients(
        1.0, correlation_time=sensor.drift_correlation_time, dt=1 / sensor.rate_hz
    )
    variances = [sigma * sigma for sigma in sensor.position_drift_sigma]
    yaw = squared(sensor.yaw_drift_sigma)
    return PoseErrors(
        first=first,
        phi=phi,
        drive=Vec3(*(variance * drive * drive for variance in variances)),
        yaw_drive=yaw * drive * drive,
        variance=Vec3(*variances),
        yaw_variance=yaw,
        position_variance=squared(sensor.position_noise_density) * sensor.rate_hz,
        orientation_variance=squared(sensor.orientation_noise_density) * sensor.rate_hz,
        velocity_variance=squared(sensor.velocity_noise_density) * sensor.rate_hz,
    )


def uwb_errors(sensor: UWB) -> UwbErrors:
    """Return place and noise of an ultra-wideband tag as parameters of the filter.

    Args:
        sensor: The tag.
    """
    return UwbErrors(
        place=Vec3(*sensor.position), count=len(sensor.anchors), variance=squared(sensor.noise_sigma)
    )


def airspeed_errors(sensor: Airspeed, first: int) -> AirspeedErrors:
    """Return mounting and errors of a pitot tube as parameters of the filter.

    Args:
        sensor: The airspeed sensor.
        first: State of its drift.
    """
    given = sensor.parameters()
    noise = given["noise"]
    return AirspeedErrors(
        first=first,
        axis=given["tube"].axis,
        phi=noise.phi,
        drive=squared(noise.drive),
        variance=squared(noise.bias_sigma) + squared(noise.turn_on_bias),
        white_variance=squared(noise.white_sigma),
    )


def air_model(
    vehicle: Rotorcraft,
    sources: list[Source],
    *,
    start_sigma: float,
    drive: float,
    force_variance: float,
) -> AirModel:
    """Return the wind and the drag of a vehicle as parameters of the filter.

    Args:
        vehicle: The vehicle.
        sources: Its sensors.
        start_sigma: Standard deviation of the wind at the start [m/s].
        drive: Variance that a reading of the IMU adds to the wind [m^2/s^2].
        force_variance: Variance of the noise of the accelerometer [m^2/s^4].

    Raises:
        ConfigError: If nothing shows the wind.
    """
    place = np.zeros((1, 3))
    gravity, density = vehicle.environment.gravity_vector(place)[0], vehicle.environment.air_density(place)
    weight = vehicle.mass * math.sqrt((gravity * gravity).sum())
    drag = np.zeros((2, 2))
    if weight > 0.0:
        drag = drag_by_axis(vehicle, weight, float(density[0])) / vehicle.mass
    if not drag.any() and all(source.number != AIRSPEED for source in sources):
        raise ConfigError(
            "the vehicle has neither drag nor an airspeed sensor, which show the wind",
            field="estimator.wind",
            value=True,
            remedy="give it one, such as drag: {model: linear, coefficients: [0.3, 0.3, 0.3]}",
        )
    return AirModel(
        variance=squared(start_sigma),
        drive=drive,
        linear=Vec3(float(drag[0, 0]), float(drag[1, 0]), 0.0),
        quadratic=Vec3(float(drag[0, 1]), float(drag[1, 1]), 0.0),
        drag_variance=squared(_DRAG_ERROR) + force_variance,
    )


def parameters_of(
    sources: list[Source], origin: Geodetic, ground: GroundModel, air: AirModel
) -> dict[str, Any]:
    """Return the columns of the errors of the sensors, one row each, and of the anchors, one row each.

    Args:
        sources: The sensors.
        origin: Geographic position of the world's origin.
        ground: Ground below the vehicle.
        air: Wind and drag.
    """
    absent = UWB(anchors=((0.0, 0.0, 0.0),))
    found: dict[type[Sensor], tuple[Any, int]] = {
        kind: (absent if kind is UWB else kind(), 0) for kind in KINDS
    }
    for source in sources:
        kind = next(kind for kind in KINDS if isinstance(source.sensor, kind))
        found[kind] = source.sensor, source.first
    columns = {
        "origin": origin,
        "gps": gps_errors(*found[GPS]),
        "barometer": barometer_errors(*found[Barometer], origin.altitude),
        "magnetometer": magnetometer_errors(*found[Magnetometer]),
        "ground": ground,
        "range": range_errors(found[Rangefinder][0]),
        "flow": flow_errors(found[OpticalFlow][0]),
        "pose": pose_errors(*found[Odometry]),
        "uwb": uwb_errors(found[UWB][0]),
        "airspeed": airspeed_errors(*found[Airspeed]),
        "air": air,
    }
    anchors = np.array(found[UWB][0].anchors, dtype=np.float64)
    return {**{name: [value] for name, value in columns.items()}, "anchor": anchors}
