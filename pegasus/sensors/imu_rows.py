"""Columns of IMUs, and their systematic errors as step functions."""

from dataclasses import dataclass

from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Column, Quat, Real, Table, Vec3, scaled
from pegasus.core.compiled_sensor import SensorRows
from pegasus.environment.atmosphere import AtmosphereParameters, standard_air
from pegasus.sensors.inertial_noise import InertialErrors, InertialSystem, calibration_row, of_rows
from pegasus.sensors.noise import NoiseParameters


@dataclass(frozen=True)
class ImuParameters:
    """Mounting and ranges of an IMU."""

    position: Vec3
    """Position of the IMU in the body frame [m]."""
    mounting: Quat
    """Frame of the IMU to body frame."""
    rate_range: float
    """Largest angular rate on an axis [rad/s]."""
    force_range: float
    """Largest specific force on an axis [m/s^2]."""
    reading_time: float
    """Nominal time between two readings [s]."""
    blades: float
    """Number of blades of a propeller if their passage is felt, else 0."""
    errs: int
    """1 if the IMU has systematic errors."""


@dataclass
class ImuRows(SensorRows):
    """Columns of IMUs."""

    parameters: Column[ImuParameters]
    gyroscope: Column[NoiseParameters]
    accelerometer: Column[NoiseParameters]
    system: Column[InertialSystem]
    rate_errors: Column[InertialErrors]
    force_errors: Column[InertialErrors]
    atmosphere: Column[AtmosphereParameters]
    position: Column[Vec3]
    temperature: Column[Real]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    gravity: Column[Vec3]
    followed: Column[int]
    """1 if the state of the last step is known, 0 at the start and after a placement."""
    last_orientation: Column[Quat]
    """Orientation at the last step."""
    last_velocity: Column[Vec3]
    """Velocity of the IMU in the world at the last step [m/s]."""
    steps: Column[int]
    """Number of steps since the last reading."""
    force_sum: Column[Vec3]
    """Sum of the mean specific forces of these steps, each in the body frame of its middle [m/s^2]."""
    turn_sum: Column[Vec3]
    """Sum of the rotations of these steps, in the body frame [rad]."""
    turn: Column[Quat]
    """Rotation since the last reading."""
    rate_offset: Column[Vec3]
    rate_bias: Column[Vec3]
    force_offset: Column[Vec3]
    force_bias: Column[Vec3]
    rotor_speed: Table[Real]
    phase: Table[Real]
    cosine: Table[Vec3]
    sine: Table[Vec3]
    passage: Table[Vec3]
    """Speed [rad/s] and phase [rad] of each rotor, and the vectors of its vibration [m]."""
    calibration: Table[Vec3]
    """Rows of the matrices of gyroscope, accelerometer and g-sensitivity, and the changes of both biases with
    temperature; none without systematic errors."""
    die_temperature: Column[Real]
    """Temperature of the IMU at the last reading [K]."""
    rate: Column[Vec3]
    """Angular velocity of the last reading [rad/s]."""
    force: Column[Vec3]
    """Specific force of the last reading [m/s^2]."""
    rate_error: Column[Vec3]
    force_error: Column[Vec3]
    """Turn-on and Gauss-Markov bias within the last reading."""


def draw_calibration(i: int, rows: ImuRows) -> None:
    """Draw the systematic errors of a copy at its start."""
    system = rows.system[rows.kind[i]]
    gyroscope = rows.rate_errors[rows.kind[i]]
    accelerometer = rows.force_errors[rows.kind[i]]
    key = rows.key[i]
    copy = rows.copy[i]
    # Blocks from 8 on: those below are the noise of the first reading.
    scale = gyroscope.scale_error + normal_vector(key, copy, 0, 8) * gyroscope.scale_error_sigma
    sigma = gyroscope.misalignment_sigma
    x = calibration_row(gyroscope.misalignment_x, sigma, normal_vector(key, copy, 0, 9), 0, scale[0])
    y = calibration_row(gyroscope.misalignment_y, sigma, normal_vector(key, copy, 0, 10), 1, scale[1])
    z = calibration_row(gyroscope.misalignment_z, sigma, normal_vector(key, copy, 0, 11), 2, scale[2])
    rows.calibration[i, 0] = x
    rows.calibration[i, 1] = y
    rows.calibration[i, 2] = z
    scale = accelerometer.scale_error + normal_vector(key, copy, 0, 12) * accelerometer.scale_error_sigma
    sigma = accelerometer.misalignment_sigma
    x = calibration_row(accelerometer.misalignment_x, sigma, normal_vector(key, copy, 0, 13), 0, scale[0])
    y = calibration_row(accelerometer.misalignment_y, sigma, normal_vector(key, copy, 0, 14), 1, scale[1])
    z = calibration_row(accelerometer.misalignment_z, sigma, normal_vector(key, copy, 0, 15), 2, scale[2])
    rows.calibration[i, 3] = x
    rows.calibration[i, 4] = y
    rows.calibration[i, 5] = z
    sigma = system.g_sensitivity_sigma
    rows.calibration[i, 6] = system.g_sensitivity_x + normal_vector(key, copy, 0, 16) * sigma
    rows.calibration[i, 7] = system.g_sensitivity_y + normal_vector(key, copy, 0, 17) * sigma
    rows.calibration[i, 8] = system.g_sensitivity_z + normal_vector(key, copy, 0, 18) * sigma
    drift = normal_vector(key, copy, 0, 19) * gyroscope.temperature_bias_sigma
    rows.calibration[i, 9] = gyroscope.temperature_bias + drift
    drift = normal_vector(key, copy, 0, 20) * accelerometer.temperature_bias_sigma
    rows.calibration[i, 10] = accelerometer.temperature_bias + drift


def warmth(i: int, rows: ImuRows) -> Real:
    """Advance the temperature of an IMU by a reading; return its deviation from the calibration's [K].

    Newton's law of cooling with constant heating, solved over the reading with the air of its end.
    """
    system = rows.system[rows.kind[i]]
    body = rows.body[i]
    air = rows.temperature[body]
    if system.standard == 1:
        altitude = rows.position[body][2] + system.altitude
        _, air, _ = standard_air(rows.atmosphere[rows.kind[i]], altitude)
    if rows.count[i] == 0:
        rows.die_temperature[i] = air + system.initial_heating
    else:
        final = air + system.self_heating
        rows.die_temperature[i] = final + (rows.die_temperature[i] - final) * system.remaining
    return rows.die_temperature[i] - system.reference_temperature


def erroneous(i: int, rows: ImuRows, rate: Vec3, force: Vec3) -> tuple[Vec3, Vec3]:
    """Return angular rate [rad/s] and specific force [m/s^2] with systematic errors.

    Args:
        i: The row.
        rows: Columns.
        rate: Angular rate in the frame of the IMU [rad/s].
        force: Specific force there [m/s^2].
    """
    if rows.count[i] == 0:
        draw_calibration(i, rows)
    turned = of_rows(rows.calibration[i, 0], rows.calibration[i, 1], rows.calibration[i, 2], rate)
    pulled = of_rows(rows.calibration[i, 3], rows.calibration[i, 4], rows.calibration[i, 5], force)
    turned += of_rows(rows.calibration[i, 6], rows.calibration[i, 7], rows.calibration[i, 8], force)
    if rows.system[rows.kind[i]].warms == 1:
        deviation = warmth(i, rows)
        rate_scale = rows.rate_errors[rows.kind[i]].temperature_scale_error * deviation
        force_scale = rows.force_errors[rows.kind[i]].temperature_scale_error * deviation
        turned += scaled(rate_scale, rate) + rows.calibration[i, 9] * deviation
        pulled += scaled(force_scale, force) + rows.calibration[i, 10] * deviation
    return turned, pulled
