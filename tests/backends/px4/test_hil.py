"""Tests of HIL messages: frames, units and field groups, against SciPy's rotations and independent sums."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.backends.mavlink.messages import Decoder, encode
from pegasus.backends.px4.hil import (
    ACCELEROMETER,
    BAROMETER,
    DIFFERENTIAL_PRESSURE,
    GYROSCOPE,
    MAGNETOMETER,
    SensorMessages,
    gps_message,
)
from pegasus.backends.px4.truth import Truth
from pegasus.contracts.state import VehicleState
from pegasus.environment import ConstantWind, Environment
from pegasus.environment.ellipsoid import WGS84_FLATTENING
from pegasus.environment.geodesy import Geodetic
from pegasus.sensors import AirspeedReading, BarometerReading, GpsReading, ImuReading, MagnetometerReading

COUNT = 3
# Forward, left, up to forward, right, down: half a turn about the forward axis. East, north, up to north,
# east, down: half a turn about the horizontal direction between north and east.
FLU_TO_FRD = Rotation.from_rotvec([math.pi, 0, 0])
ENU_TO_NED = Rotation.from_rotvec(math.pi * np.array([1, 1, 0]) / math.sqrt(2))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def imu(rng, **values):
    """Return a sample of random numbers."""
    arrays = {"angular_velocity": rng.normal(size=(COUNT, 3)), "specific_force": rng.normal(size=(COUNT, 3))}
    return ImuReading(0.0, **(arrays | values))


def magnetometer(rng):
    """Return a field of random direction, as strong as the Earth's."""
    return MagnetometerReading(0.0, 3e-5 * rng.normal(size=(COUNT, 3)))


def barometer(pressure=101325.0, temperature=288.15, altitude=0.0):
    return BarometerReading(0.0, *(np.full(COUNT, value) for value in (pressure, temperature, altitude)))


def gps(velocity=(0.0, 0.0, 0.0), **values):
    """Return equal solutions for all copies; velocity is east, north, up."""
    scalars = {"latitude": 47.397742, "longitude": -8.545594, "altitude": 488.1234, "eph": 0.9, "epv": 1.78}
    arrays = {name: np.full(COUNT, values.get(name, value)) for name, value in scalars.items()}
    kinds = {"fix_type": np.full(COUNT, 3), "satellite_count": np.full(COUNT, 11)}
    return GpsReading(1.0, 0.8, velocity=np.broadcast_to(velocity, (COUNT, 3)), **arrays, **kinds)


def sample_of(messages, copy, sample, time=0):
    """Return the message of a vehicle's row of a sample."""
    rows = (sample.specific_force[copy].tolist(), sample.angular_velocity[copy].tolist())
    return messages.message(copy, time, *rows)


def true(state, environment, copy, t=0.0, time=0):
    """Return the message of a vehicle's true state."""
    return Truth(state, environment).messages([time] * COUNT, t)[copy]


def over_the_wire(message):
    """Return a message after encoding and decoding."""
    (result,) = Decoder().feed(encode(message, sequence=0))
    return result


@pytest.mark.parametrize("copy", range(COUNT))
def test_inertial_sample(rng, copy):
    """PX4 would sense the vehicle upside down, mirrored, or another vehicle's motion."""
    sample = imu(rng)
    message = over_the_wire(sample_of(SensorMessages(COUNT), copy, sample, 123_456))
    assert message.time_usec == 123_456
    force = message.xacc, message.yacc, message.zacc
    rates = message.xgyro, message.ygyro, message.zgyro
    np.testing.assert_allclose(force, FLU_TO_FRD.apply(sample.specific_force[copy]), atol=1e-6)
    np.testing.assert_allclose(rates, FLU_TO_FRD.apply(sample.angular_velocity[copy]), atol=1e-6)


def test_at_rest_and_level(rng):
    """A level vehicle at rest would not read about -9.81 m/s^2 on its down axis."""
    level = imu(rng, specific_force=np.tile([0.0, 0.0, 9.80665], (COUNT, 1)))
    message = sample_of(SensorMessages(COUNT), 0, level)
    assert message.zacc == pytest.approx(-9.80665)
    assert (message.xacc, abs(message.yacc)) == (0.0, 0.0)


@pytest.mark.parametrize("copy", range(COUNT))
def test_magnetic_field(rng, copy):
    """PX4's compass would be rotated, or in the wrong unit: 1 gauss is 100 microtesla."""
    messages, reading = SensorMessages(COUNT), magnetometer(rng)
    messages.take_magnetometer(reading)
    sent = over_the_wire(sample_of(messages, copy, imu(rng)))
    expected = FLU_TO_FRD.apply(reading.magnetic_field[copy]) * 1e6 / 100
    np.testing.assert_allclose([sent.xmag, sent.ymag, sent.zmag], expected, rtol=1e-6)


def test_air(rng):
    """PX4 would get pascals for hectopascals, kelvins for degrees Celsius, or no altitude."""
    messages = SensorMessages(COUNT)
    messages.take_barometer(barometer(95_600.0, 284.94, 488.0))
    sent = over_the_wire(sample_of(messages, 1, imu(rng)))
    # One standard atmosphere is 1013.25 hPa, the ice point 273.15 K.
    assert sent.abs_pressure == pytest.approx(956.0)
    assert sent.temperature == pytest.approx(11.79, abs=1e-4)
    assert sent.pressure_alt == pytest.approx(488.0)


def test_differential_pressure(rng):
    """PX4 would get a wrong airspeed: the differential pressure is in hectopascals."""
    messages, pressure = SensorMessages(COUNT), np.array([1.0, 2.0, 61.25])
    messages.take_airspeed(AirspeedReading(0.0, pressure, *np.zeros((2, COUNT))))
    sent = over_the_wire(sample_of(messages, 2, imu(rng)))
    # The dynamic pressure of 10 m/s at sea level.
    assert sent.diff_pressure == pytest.approx(0.6125)
    assert sent.fields_updated == 0x3F + 0x400


def test_groups():
    """PX4 would drop incomplete field groups: bits as measured on a real one."""
    assert sum(1 << bit for bit in (0, 1, 2)) == ACCELEROMETER
    assert sum(1 << bit for bit in (3, 4, 5)) == GYROSCOPE
    assert sum(1 << bit for bit in (6, 7, 8)) == MAGNETOMETER
    assert DIFFERENTIAL_PRESSURE == 1 << 10
    assert sum(1 << bit for bit in (9, 11, 12)) == BAROMETER


@pytest.mark.parametrize(("mag", "baro"), list(itertools.product([False, True], repeat=2)))
def test_only_what_is_new(rng, mag, baro):
    """PX4 would take one reading for several, or miss readings."""
    messages = SensorMessages(COUNT)
    inertial = 0x3F
    assert sample_of(messages, 0, imu(rng)).fields_updated == inertial
    if mag:
        messages.take_magnetometer(magnetometer(rng))
    if baro:
        messages.take_barometer(barometer())
    new = (0x1C0 if mag else 0) + (0x1A00 if baro else 0)
    first, second = (sample_of(messages, 0, imu(rng), time) for time in (2, 3))
    assert first.fields_updated == inertial + new
    assert second.fields_updated == inertial
    # Without the mark for new readings, the last reading is sent, not zero.
    assert second[7:14] == first[7:14]
    # A vehicle to which nothing was sent in the meantime has not got them.
    assert sample_of(messages, 1, imu(rng)).fields_updated == inertial + new


def test_each_vehicle_its_own(rng):
    """All copies of a vehicle would get the readings of one."""
    sample, field = imu(rng), magnetometer(rng)
    messages = SensorMessages(COUNT)
    messages.take_magnetometer(field)
    sent = [sample_of(messages, copy, sample) for copy in range(COUNT)]
    assert len({message.xacc for message in sent}) == COUNT
    assert len({message.xmag for message in sent}) == COUNT


def test_position():
    """PX4's position would be wrong: degrees times 1e7, millimetres, centimetres."""
    sent = over_the_wire(gps_message(5, gps(), 1))
    assert sent.time_usec == 5
    assert (sent.lat, sent.lon, sent.alt) == (473_977_420, -85_455_940, 488_123)
    assert (sent.eph, sent.epv) == (90, 178)
    assert (sent.fix_type, sent.satellites_visible) == (3, 11)


def test_velocity():
    """PX4 would get a wrong velocity: centimetres per second; north, east, down."""
    velocity = np.array([1.5, -2.25, 0.5])
    sent = over_the_wire(gps_message(0, gps(velocity), 0))
    expected = 100 * ENU_TO_NED.apply(velocity)
    assert (sent.vn, sent.ve, sent.vd) == tuple(expected.round().astype(int))
    assert sent.vel == round(100 * math.dist((0, 0), velocity[:2]))


@pytest.mark.parametrize(
    ("east", "north", "course"),
    [
        (0, 1, 0),
        (1, 1, 45),
        (1, 0, 90),
        (1, -1, 135),
        (0, -1, 180),
        (-1, -1, 225),
        (-1, 0, 270),
        (-1, 1, 315),
    ],
)
def test_course(east, north, course):
    """The course would not be clockwise from north in hundredths of a degree."""
    assert gps_message(0, gps((east, north, 5.0)), 0).cog == 100 * course


@pytest.mark.parametrize(("east", "course"), [(-1e-4, 35_999), (-4e-5, 0), (0.0, 0), (1e-4, 1)])
def test_course_about_north(east, course):
    """A course just west of north would be sent as 360 degrees, which is invalid."""
    assert gps_message(0, gps((east, 1.0, 0.0)), 0).cog == course


def test_no_course_at_rest():
    """The noise of a receiver at rest would be sent as a course: 65535 stands for none."""
    assert gps_message(0, gps((0.01, -0.01, 1.0)), 0).cog == 65535


@pytest.mark.parametrize("fix", [0, 2, 3])
def test_before_the_fix(fix):
    """PX4 would use a position before the fix; accuracies beyond the range saturate."""
    reading = gps(eph=1e4, epv=1e4)
    reading.fix_type[...] = fix
    sent = over_the_wire(gps_message(0, reading, 0))
    assert sent.fix_type == fix
    assert (sent.eph, sent.epv) == (65534, 65534)


@pytest.mark.parametrize(("speed", "limit"), [(400.0, 32767), (-400.0, -32768)])
def test_too_fast_to_say(speed, limit):
    """A descent too fast for 16 bits would end the simulation, or change its sign."""
    sent = over_the_wire(gps_message(0, gps((speed, speed, -speed)), 0))
    assert (sent.vn, sent.ve, sent.vd) == (limit, limit, limit)
    assert sent.vel == round(400 * math.sqrt(2) * 100)
    assert over_the_wire(gps_message(0, gps((500.0, 500.0, 0.0)), 0)).vel == 65534


@pytest.fixture
def state(rng):
    """Return random, consistent states."""
    state = VehicleState.at_rest(COUNT, 4)
    attitude = Rotation.random(COUNT, rng=rng)
    state.position[...] = rng.normal(size=(COUNT, 3), scale=100)
    state.orientation[...], state.rotation[...] = attitude.as_quat(), attitude.as_matrix()
    state.velocity[...] = rng.normal(size=(COUNT, 3), scale=5)
    state.angular_velocity[...] = rng.normal(size=(COUNT, 3))
    state.acceleration[...] = rng.normal(size=(COUNT, 3), scale=10)
    return state


@pytest.fixture
def environment():
    return Environment(origin=Geodetic(47.4, 8.5, 400.0))


@pytest.mark.parametrize("copy", range(COUNT))
def test_true_attitude_and_rates(state, environment, copy):
    """The true attitude in PX4's log would disagree with a correct estimate."""
    sent = over_the_wire(true(state, environment, copy, time=9))
    assert sent.time_usec == 9
    w, x, y, z = sent.attitude_quaternion
    # True north is on the left of y by the change of longitude times the sine of the latitude.
    left = Rotation.from_rotvec(
        [0.0, 0.0, state.position[copy, 0] / 6_371_000.0 * math.tan(math.radians(47.4))]
    )
    attitude = ENU_TO_NED * left.inv() * Rotation.from_matrix(state.rotation[copy]) * FLU_TO_FRD.inv()
    assert (Rotation.from_quat([x, y, z, w]) * attitude.inv()).magnitude() < 1e-6
    rates = sent.rollspeed, sent.pitchspeed, sent.yawspeed
    np.testing.assert_allclose(rates, FLU_TO_FRD.apply(state.angular_velocity[copy]), atol=1e-6)


@pytest.mark.parametrize("flattening", [0.0, WGS84_FLATTENING])
def test_true_motion_far_from_the_origin(state, flattening):
    """The truth in PX4's log would be turned against its GPS and compass, here by 0.9 degrees."""
    environment = Environment(origin=Geodetic(60.0, 8.5, 400.0, flattening))
    state.position[...] = 60_000.0, -5_000.0, 50.0
    state.velocity[...] = 0.0, 100.0, 0.0
    state.orientation[...] = Rotation.from_euler("z", 90, degrees=True).as_quat()
    sent = over_the_wire(true(state, environment, 0))
    later = state.position + state.velocity
    (lat, lon, _), (north, east, _) = (
        [column[0] for column in environment.geodetic(p)] for p in (state.position, later)
    )
    course = math.atan2((east - lon) * math.cos(math.radians(0.5 * (lat + north))), north - lat)
    assert math.degrees(course) == pytest.approx(0.93, abs=0.02)
    assert math.atan2(sent.vy, sent.vx) == pytest.approx(course, abs=1e-4)
    w, x, y, z = sent.attitude_quaternion
    assert Rotation.from_quat([x, y, z, w]).as_euler("zyx")[0] == pytest.approx(course, abs=1e-4)


@pytest.mark.parametrize("copy", range(COUNT))
def test_true_motion(state, environment, copy):
    """The true motion in PX4's log would have a wrong position, direction or unit."""
    sent = over_the_wire(true(state, environment, copy))
    east, north, up = state.position[copy]
    # Near the origin the Earth is flat: a degree of latitude is 1/360 of its circumference.
    degree = 2 * math.pi * 6_371_000.0 / 360
    assert sent.lat / 1e7 == pytest.approx(47.4 + north / degree, abs=1e-6)
    assert sent.lon / 1e7 == pytest.approx(8.5 + east / degree / math.cos(math.radians(47.4)), abs=1e-6)
    assert sent.alt / 1e3 == pytest.approx(400 + up, abs=1e-3)
    np.testing.assert_allclose(
        [sent.vx, sent.vy, sent.vz], 100 * ENU_TO_NED.apply(state.velocity[copy]), atol=0.51
    )
    in_body = Rotation.from_matrix(state.rotation[copy]).inv().apply(state.acceleration[copy])
    np.testing.assert_allclose(
        [sent.xacc, sent.yacc, sent.zacc], FLU_TO_FRD.apply(in_body) / 9.80665 * 1000, atol=0.51
    )


def test_true_airspeed(state, environment):
    """The airspeed in PX4's log would be the speed over ground when there is wind."""
    wind = (3.0, -1.0, 0.5)
    windy = Environment(origin=environment.origin, wind=ConstantWind(mean_velocity=wind))
    for copy in range(COUNT):
        sent = true(state, windy, copy)
        assert sent.true_airspeed == pytest.approx(100 * math.dist(state.velocity[copy], wind), abs=0.51)
        # The same dynamic pressure at sea level, where the air has 1.225 kg/m^3.
        share = math.sqrt(windy.air_density(state.position)[copy] / 1.225)
        assert sent.ind_airspeed == pytest.approx(share * sent.true_airspeed, abs=1.0)


def test_truth_that_does_not_fit(state, environment):
    """Accelerations of hundreds of g in a crash would end the simulation."""
    state.acceleration[...] = 1e5
    state.velocity[...] = -1e4
    sent = over_the_wire(true(state, environment, 0))
    assert (sent.vx, sent.vy, sent.vz) == (-32768, -32768, 32767)
    assert {abs(sent.xacc), abs(sent.yacc), abs(sent.zacc)} <= {32767, 32768}
    assert sent.true_airspeed == 65534
