"""Tests of faults of sensors: what backends, logs and users see, and the end of each."""

import functools

import numpy as np
import pytest
from fault_rig import flying, quiet_imu
from flyers import Constant

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.faults import (
    GpsJamming,
    GpsJump,
    GpsLoss,
    GpsSpoofing,
    MotorLoss,
    SensorBias,
    SensorDelay,
    SensorDrift,
    SensorDropouts,
    SensorNoise,
    SensorOff,
    SensorScale,
    SensorSpikes,
    SensorStuck,
    SensorWrongAxis,
)
from pegasus.sensors import GPS

STEPS = 250
METRES = 6371000.0 * np.pi / 180


def exact_gps():
    """Return a receiver without errors and latency, and with a fix from the beginning."""
    return GPS(
        latency=0.0,
        position_error_sigma=(0.0, 0.0, 0.0),
        velocity_noise_density=(0.0, 0.0, 0.0),
        startup_delay=0.0,
        initial_accuracy=1.0,
    )


def seen(fault=None, *, name="imu", steps=STEPS, count=1, copies=None, seed=0, others=()):
    """Return the readings of a flight that the backend sees by time, and the vehicle's last one."""
    backend = Constant(500.0)
    sensors = {"imu": quiet_imu(), "gps": exact_gps()}
    places = [(5.0 * k, 0.0, 50.0) for k in range(count)]
    with Simulation("flat", seed=seed) as sim:
        vehicle = Multirotor("iris", count=count, position=places, backends=[backend], sensors=sensors)
        sim.add(vehicle)
        for other in others:
            vehicle.inject(other)
        if fault is not None:
            vehicle.inject(fault, copies=copies)
        sim.step(steps)
        return {t: r[name] for t, _, r in backend.seen if name in r}, vehicle.readings[name]


@functools.cache
def true(name="imu"):
    """Return the readings of a flight without faults by time."""
    return seen(name=name)[0]


def errors(fault, field, **kwargs):
    """Return times and errors of a field by a fault, over the readings."""
    readings = seen(fault, **kwargs)[0]
    times = list(readings)
    return np.array(times), np.array(
        [getattr(readings[t], field)[0] - getattr(true()[t], field)[0] for t in times]
    )


def within(times, start, end):
    return (times >= start - 1e-9) & (times < end - 1e-9)


def test_a_bias_is_added_to_one_field_between_start_and_end():
    """A bias outside its time, or in another field, would alter other readings."""
    fault = SensorBias("imu", "angular_velocity", (0.1, 0.0, -0.2), start=0.2, end=0.6)
    times, error = errors(fault, "angular_velocity")
    inside = within(times, 0.2, 0.6)
    assert inside.sum() == 100
    np.testing.assert_allclose(error[inside], np.tile([0.1, 0.0, -0.2], (100, 1)), atol=1e-12)
    np.testing.assert_array_equal(error[~inside], 0.0)
    assert not errors(fault, "specific_force")[1].any()


def test_drift_and_scale_follow_their_formulas():
    """A drift that is no line, or a factor of another size, would give other errors."""
    times, error = errors(SensorDrift("imu", "specific_force", 2.0, start=0.2, end=0.8), "specific_force")
    inside = within(times, 0.2, 0.8)
    np.testing.assert_allclose(error[inside, 0], 2.0 * (times[inside] - 0.2), atol=1e-9)
    assert not error[~inside].any()
    fault = SensorScale("imu", "specific_force", (1.0, 1.0, 1.1), start=0.2, end=0.8)
    times, error = errors(fault, "specific_force")
    right = np.array([true()[t].specific_force[0] for t in times])
    np.testing.assert_allclose(error[inside], 0.1 * right[inside] * [0, 0, 1], atol=1e-12)
    assert not error[~inside].any()


def test_noise_has_its_standard_deviation_and_a_stream_of_its_own():
    """Noise of another size, or numbers that depend on other faults, would not be that of the fault."""
    fault = SensorNoise("imu", "specific_force", 0.5, start=0.0, end=4.0, name="hiss")
    error = np.array([r.specific_force[0] for r in seen(fault, steps=1000)[0].values()]) - np.array(
        [r.specific_force[0] for r in seen(steps=1000)[0].values()]
    )
    assert error.std() == pytest.approx(0.5, rel=0.05)
    assert abs(error.mean()) < 0.05
    assert abs(np.corrcoef(error[1:, 0], error[:-1, 0])[0, 1]) < 0.1
    beside = seen(fault, others=[SensorNoise("imu", "angular_velocity", 1.0)])[0]
    alone = seen(fault)[0]
    for t in alone:
        np.testing.assert_array_equal(alone[t].specific_force, beside[t].specific_force)
    other = seen(fault, seed=1)[0]
    assert (alone[0.5].specific_force != other[0.5].specific_force).all()
    several = seen(fault, count=3)[0]
    np.testing.assert_array_equal(several[0.5].specific_force[0], alone[0.5].specific_force[0])
    assert (several[0.5].specific_force[1] != several[0.5].specific_force[0]).all()


def test_spikes_come_with_their_probability_and_size():
    """Spikes of another size or rate, or of one sign only, would not be those of the fault."""
    fault = SensorSpikes("imu", "specific_force", 30.0, probability=0.1, end=3.6)
    readings, right = seen(fault, steps=1000)[0], seen(steps=1000)[0]
    error = np.array([readings[t].specific_force[0] - right[t].specific_force[0] for t in readings])
    sizes = np.unique(np.round(error[:, 2], 9))
    np.testing.assert_array_equal(sizes, [-30.0, 0.0, 30.0])
    assert 60 < np.count_nonzero(error[:, 2]) < 120
    assert not error[900:].any()


def test_wrong_axes_are_exchanged_with_their_signs():
    """Axes in another order or with other signs would be those of another mounting."""
    fault = SensorWrongAxis("imu", "specific_force", ("y", "-x", "z"), start=0.2, end=0.4)
    readings = seen(fault)[0]
    x, y, z = true()[0.3].specific_force[0]
    np.testing.assert_array_equal(readings[0.3].specific_force[0], [y, -x, z])
    np.testing.assert_array_equal(readings[0.4].specific_force, true()[0.4].specific_force)


def test_a_sensor_that_is_off_gives_nothing_new_until_its_end():
    """A reading that a backend or a user still gets would not come from a sensor that is off."""
    readings, _ = seen(SensorOff("imu", start=0.2, end=0.4))
    assert not any(within(np.array(list(readings)), 0.2, 0.4))
    assert len(readings) == STEPS - 50
    _, last = seen(SensorOff("imu", start=0.2))
    assert last.stamp == pytest.approx(0.196)
    np.testing.assert_array_equal(last.specific_force, true()[last.stamp].specific_force)


def test_a_stuck_sensor_repeats_its_last_reading_with_new_stamps():
    """Values that change, or readings that stop, would not be those of a stuck sensor."""
    readings, _ = seen(SensorStuck("imu", start=0.2, end=0.4))
    for t, reading in readings.items():
        assert reading.stamp == t
        source = 0.196 if 0.2 - 1e-9 <= t < 0.4 - 1e-9 else t
        np.testing.assert_array_equal(reading.specific_force, true()[source].specific_force)


def test_late_readings_have_the_values_of_their_time():
    """A delay of another length would give the values of another time."""
    readings, _ = seen(SensorDelay("imu", delay=0.04, start=0.2, end=0.6))
    times = sorted(true())
    for t in (0.24, 0.4, 0.596):
        source = times[times.index(t) - 10]
        np.testing.assert_array_equal(readings[t].specific_force, true()[source].specific_force)
        assert readings[t].stamp == t
    assert not any(within(np.array(list(readings)), 0.2, 0.24))
    np.testing.assert_array_equal(readings[0.6].specific_force, true()[0.6].specific_force)


def test_dropouts_leave_out_their_share_of_readings():
    """Another share, or dropouts after the end, would not be those of the fault."""
    times = np.array(list(seen(SensorDropouts("imu", probability=0.3, end=3.6), steps=1000)[0]))
    assert 0.62 < within(times, 0.0, 3.6).sum() / 900 < 0.78
    assert within(times, 3.6, 4.0).sum() == 100


def test_copies_fail_alone():
    """A fault of one copy must not alter the readings of others; its own values are held."""
    readings, _ = seen(SensorOff("imu", start=0.2, end=0.4), count=3, copies=[1])
    whole, _ = seen(count=3)
    assert readings.keys() == whole.keys()
    for copy in (0, 2):
        np.testing.assert_array_equal(readings[0.3].specific_force[copy], whole[0.3].specific_force[copy])
    np.testing.assert_array_equal(readings[0.3].specific_force[1], whole[0.196].specific_force[1])
    np.testing.assert_array_equal(readings[0.4].specific_force[1], whole[0.4].specific_force[1])


def test_gps_is_lost_and_found():
    """A receiver with satellites but no fix, or one that stays lost, would not have lost its signals."""
    readings, _ = seen(GpsLoss(start=0.2, end=0.6), name="gps")
    assert readings[0.3].fix_type[0] == 0
    assert readings[0.3].satellite_count[0] == 0
    assert readings[0.3].eph[0] > 50
    assert readings[0.6].fix_type[0] == 3
    assert readings[0.6].satellite_count[0] > 0


def test_gps_jumps_by_its_offset():
    """An offset along the wrong axis, or in degrees, would be another jump."""
    readings, _ = seen(GpsJump(offset=(12.0, -7.0, 3.0), start=0.2, end=0.6), name="gps")
    right, jumped = true("gps")[0.3], readings[0.3]
    north = (jumped.latitude - right.latitude)[0] * METRES
    east = (jumped.longitude - right.longitude)[0] * METRES * np.cos(np.radians(right.latitude[0]))
    np.testing.assert_allclose([east, north], [12.0, -7.0], rtol=1e-4)
    assert (jumped.altitude - right.altitude)[0] == pytest.approx(3.0)
    np.testing.assert_array_equal(jumped.velocity, right.velocity)
    np.testing.assert_array_equal(readings[0.6].latitude, true("gps")[0.6].latitude)


def test_spoofed_positions_move_as_the_spoofed_velocity_says():
    """A velocity that does not fit the position would be noticed by a filter, also within the ramp."""
    readings, _ = seen(GpsSpoofing(velocity=(2.0, 0.0, 0.0), ramp=0.4, end=0.9), name="gps")
    times = np.array([t for t in readings if t < 0.85])
    cosine = np.cos(np.radians(true("gps")[0.0].latitude[0]))
    east = np.array([(readings[t].longitude - true("gps")[t].longitude)[0] for t in times]) * METRES * cosine
    speed = np.array([(readings[t].velocity - true("gps")[t].velocity)[0, 0] for t in times])
    np.testing.assert_allclose(speed, 2.0 * np.minimum(times / 0.4, 1.0), atol=1e-9)
    np.testing.assert_allclose(
        np.diff(east), 0.5 * (speed[1:] + speed[:-1]) * np.diff(times), rtol=1e-3, atol=1e-6
    )
    np.testing.assert_array_equal(readings[0.9].longitude, true("gps")[0.9].longitude)


def test_jamming_takes_satellites_accuracy_and_at_last_the_fix():
    """A jammer without growing errors, or one that never takes the fix, would be none."""
    fault = GpsJamming(strength=1.0, loss_strength=0.75, ramp=0.8, end=0.9)
    readings, _ = seen(fault, name="gps")
    before, half, full = true("gps")[0.4], readings[0.4], readings[0.7]
    assert half.satellite_count[0] == round(before.satellite_count[0] / 2)
    assert half.eph[0] == pytest.approx(2 * before.eph[0])
    assert half.fix_type[0] == 3
    assert (half.latitude != before.latitude).all()
    assert full.fix_type[0] == 0
    np.testing.assert_array_equal(readings[0.9].latitude, true("gps")[0.9].latitude)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: SensorOff("sonar"),
            "sensor = 'sonar': must be a sensor of 'iris': battery|sensor = 'sonar'",
        ),
        (lambda: SensorBias("imu", "angular_rate", 1.0), "field = 'angular_rate'.*angular_velocity"),
        (lambda: SensorBias("gps", "fix_type", 1.0), "field = 'fix_type'"),
        (lambda: SensorBias("imu", "angular_velocity", float("inf")), "bias = inf"),
        (lambda: SensorOff("imu", start=2.0, end=1.0), "end = 1.0: must be after the start at 2 s"),
        (lambda: SensorOff("imu", end=1.0, duration=1.0), "duration = 1.0: must not be given together"),
        (lambda: SensorOff("imu", start=-1.0), "start = -1.0"),
        (lambda: SensorDelay("imu", delay=0.0), "delay = 0.0"),
        (lambda: SensorWrongAxis("imu", "angular_velocity", ("a", "b", "c")), "axes"),
        (lambda: GpsLoss("imu"), "sensor = 'imu': must be a GPS receiver"),
        (lambda: GpsJamming(strength=2.0), "strength = 2.0"),
        (lambda: SensorSpikes("imu", "specific_force", 1.0, probability=0.0), "probability = 0.0"),
    ],
)
def test_unknown_sensors_fields_and_times_are_named(make, says):
    """Bad input must be told in one line when it is given, not in flight."""
    with flying() as (_, vehicle), pytest.raises(ConfigError, match=says) as told:
        vehicle.inject(make())
    assert "\n" not in str(told.value)


def test_a_fault_without_a_sensor_part_leaves_readings_alone():
    """A fault of a rotor must not make the bank give other objects for readings before it begins."""
    readings, _ = seen(MotorLoss(0, start=0.9))
    for t in (0.0, 0.5, 0.896):
        np.testing.assert_array_equal(readings[t].specific_force, true()[t].specific_force)
