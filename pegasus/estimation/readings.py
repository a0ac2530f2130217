"""Readings of sensors as columns of a filter."""

from collections.abc import Mapping

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.reading import Reading
from pegasus.environment.geodesy import Geodetic, local_from_geodetic
from pegasus.estimation.filter_rows import (
    AIRSPEED,
    ANCHORS,
    DISTANCE,
    FIELD,
    FIX,
    FLOW,
    POSE,
    PRESSURE,
)
from pegasus.estimation.sensor_errors import gps_shares
from pegasus.estimation.sources import Source
from pegasus.sensors.airspeed import AirspeedReading
from pegasus.sensors.barometer import BarometerReading
from pegasus.sensors.gps import FIX_3D, GPS, GpsReading
from pegasus.sensors.magnetometer import MagnetometerReading
from pegasus.sensors.odometry import OdometryReading
from pegasus.sensors.optical_flow import OpticalFlowReading
from pegasus.sensors.rangefinder import RangeReading
from pegasus.sensors.uwb import UwbReading


def write_reading(columns: Mapping[str, Array], source: Source, reading: Reading, origin: Geodetic) -> None:
    """Write a reading to the columns of a filter.

    Args:
        columns: Columns by name; see `FilterRows`.
        source: Its sensor.
        reading: The reading.
        origin: Geographic position of the world's origin.
    """
    if source.number == FIX:
        assert isinstance(reading, GpsReading)
        sensor = source.sensor
        assert isinstance(sensor, GPS)
        columns["gps_position"][...] = local_from_geodetic(
            reading.latitude, reading.longitude, reading.altitude, origin=origin
        )
        columns["gps_velocity"][...] = reading.velocity
        columns["gps_valid"][...] = reading.fix_type >= FIX_3D
        shares, accuracy = gps_shares(sensor, reading.fix_type)
        before = columns["gps_share"]
        # Of float and fixed ambiguities, and without, the errors are different ones.
        columns["gps_changed"][...] = ((shares != before) & (before > 0)).any(axis=1)
        before[...] = shares
        stated = np.stack([reading.eph, reading.eph, reading.epv], axis=1)
        columns["gps_spread"][...] = np.maximum(stated - accuracy, 0.0)
    elif source.number == PRESSURE:
        assert isinstance(reading, BarometerReading)
        columns["pressure"][...] = reading.pressure
    elif source.number == FIELD:
        assert isinstance(reading, MagnetometerReading)
        columns["field"][...] = reading.magnetic_field
    elif source.number == DISTANCE:
        assert isinstance(reading, RangeReading)
        columns["range_distance"][...], columns["range_valid"][...] = reading.distance, reading.valid
    elif source.number == FLOW:
        assert isinstance(reading, OpticalFlowReading)
        columns["flow_time"][0] = reading.integration_time
        columns["flow_angle"][:, :2] = reading.integrated_flow - reading.integrated_rate[:, :2]
        columns["flow_distance"][...] = reading.distance
        columns["flow_valid"][...] = reading.quality > 0
    elif source.number == POSE:
        assert isinstance(reading, OdometryReading)
        columns["pose_position"][...] = reading.position
        columns["pose_orientation"][...] = reading.orientation
        columns["pose_velocity"][...] = reading.velocity
        resets = int(reading.reset_count.max())
        columns["pose_reset"][0] = resets > source.resets
        source.resets = resets
    elif source.number == AIRSPEED:
        assert isinstance(reading, AirspeedReading)
        columns["pressure_difference"][...] = reading.differential_pressure
    elif source.number == ANCHORS:
        assert isinstance(reading, UwbReading)
        columns["uwb_distance"][...], columns["uwb_valid"][...] = reading.distance, reading.valid
