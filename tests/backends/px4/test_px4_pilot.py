"""Tests of the peer's pilot: its arming checks and its flight accuracy."""

import numpy as np
import pytest
from pygeomag import GeoMag
from pygeomag.wmm.wmm_2025 import WMM_2025
from simulator_end import Simulator, sensor

from pegasus import Backend, Multirotor, Simulation
from pegasus.backends.mavlink.messages import make_message
from pegasus.config.files import load_world
from pegasus.environment import Environment
from pegasus.sensors import GPS, IMU, Barometer, Magnetometer


@pytest.fixture
def simulate():
    started = []

    def start(*options):
        started.append(Simulator(*options))
        return started[-1]

    yield start
    for simulator in started:
        simulator.end()


@pytest.mark.parametrize(
    ("missing", "message", "fix"),
    [
        ("mag", {"fields": 0x1E3F}, 3),
        ("baro", {"fields": 0x05FF}, 3),
        ("gps", {}, 2),
        ("baro", {"pressure_alt": 4.88}, 3),
        ("mag", {"xmag": 0.21e-4, "zmag": 0.43e-4}, 3),
        ("accel", {"zacc": 9.81}, 3),
        ("accel", {"zacc": -1.0}, 3),
        ("gyro", {"zgyro": 1.0}, 3),
    ],
)
def test_it_does_not_arm_unless_the_sensors_are_right(simulate, missing, message, fix):
    """If this fails, a missing sensor, wrong unit or wrong sign flies in the tests but not with PX4."""
    simulator = simulate("--mission", "hover", "--ready", "0.4", "--silent", "0")
    simulator.handshake()
    for k in range(1, 150):
        if k % 25 == 0:
            simulator.send(
                make_message(
                    "HIL_GPS",
                    time_usec=4000 * k,
                    lat=473977420,
                    lon=85455940,
                    alt=488000,
                    eph=30,
                    epv=40,
                    fix_type=fix,
                    satellites_visible=12,
                )
            )
        assert simulator.answers(sensor(k, **message))[-1].mode == 1
    assert [line[::2] for line in simulator.lines()[1:2]] == [["DENIED", missing]]


class Bridge(Backend):
    """A minimal HIL bridge to a peer: no start-up phase, no limits, no errors."""

    drives = True

    def __init__(self, simulator):
        self._simulator = simulator
        self.modes = []

    def publish(self, t, state, readings):
        imu, magnetometer, barometer, gps = (
            readings.get(name) for name in ("imu", "magnetometer", "barometer", "gps")
        )
        usec = round(t * 1e6) + 4000
        fields, values = 0x3F, {}
        if magnetometer is not None:
            fields |= 0x1C0
            x, y, z = magnetometer.magnetic_field[0] * 1e4
            values |= {"xmag": x, "ymag": -y, "zmag": -z}
        if barometer is not None:
            fields |= 0x1A00
            values |= {
                "abs_pressure": barometer.pressure[0] / 100,
                "pressure_alt": barometer.pressure_altitude[0],
                "temperature": barometer.temperature[0] - 273.15,
            }
        if gps is not None:
            east, north, up = (gps.velocity[0] * 100).round().astype(int)
            latitude, longitude = round(gps.latitude[0] * 1e7), round(gps.longitude[0] * 1e7)
            height, fix = round(gps.altitude[0] * 1e3), int(gps.fix_type[0])
            self._simulator.send(
                make_message(
                    "HIL_GPS",
                    time_usec=usec,
                    lat=latitude,
                    lon=longitude,
                    alt=height,
                    eph=30,
                    epv=40,
                    vn=north,
                    ve=east,
                    vd=-up,
                    fix_type=fix,
                    satellites_visible=10,
                )
            )
        (ax, ay, az), (wx, wy, wz) = imu.specific_force[0], imu.angular_velocity[0]
        values |= {"xacc": ax, "yacc": -ay, "zacc": -az, "xgyro": wx, "ygyro": -wy, "zgyro": -wz}
        self._message = sensor(0, usec=usec, fields=fields, **values)

    def command(self, t):
        answer = self._simulator.answers(self._message)[-1]
        self.modes.append(answer.mode)
        outputs = np.array([answer.controls[:4]])
        return 653 * outputs + 65 if answer.mode == 129 else 0 * outputs


def square_of(simulator, position, *, world="flat"):
    """Fly the peer's mission from a position.

    Returns:
        Time [s], positions [m], and the time of each phase of the peer.
    """
    simulator.handshake()
    gps = GPS(position_error_sigma=(0.0, 0.0, 0.0), startup_delay=0.0, initial_accuracy=1.0, eph=0.3, epv=0.4)
    # IMU and magnetometer keep their noise; only sensors that drift by metres have none.
    sensors = {
        "imu": IMU(),
        "magnetometer": Magnetometer(),
        "barometer": Barometer(drift_sigma=0.0),
        "gps": gps,
    }
    bridge = Bridge(simulator)
    with Simulation(world, seed=1) as simulation:
        iris = Multirotor("iris", position=position, backends=[bridge], sensors=sensors, heading=0.7)
        vehicle = simulation.add(iris)
        flight = []
        for t in simulation.stepping(60.0):
            flight.append((t, *vehicle.state.position[0]))
            if bridge.modes[-2:] == [129, 1]:
                break
    lines = simulator.lines()
    assert simulator.process.returncode == 0
    times = {line[0]: float(line[1]) for line in lines}
    assert list(times) == [
        "CONNECTED", "ARMED", "TAKEOFF", "HOVER", "SQUARE", "LAND", "LANDED", "DISARMED", "CLOSED",
    ]  # fmt: skip
    t, *position = np.array(flight).T
    return t, np.stack(position, axis=1), times


def test_it_flies_its_mission_from_the_messages_alone(simulate):
    """If this fails, the peer's controller does not hover within 0.2 m, and backend tests are invalid."""
    simulator = simulate("--silent", "0", "--mission", "square", "--ready", "2", "--hover-time", "3")
    t, position, times = square_of(simulator, (0.0, 0.0, 0.1))
    start = position[t < times["TAKEOFF"]][-1]
    hover = (t > times["HOVER"]) & (t < times["SQUARE"])
    error = position[hover] - start - [0, 0, 5]
    assert np.sqrt((error**2).sum(axis=1)).max() < 0.2
    square = position[(t > times["SQUARE"]) & (t < times["LAND"])] - start
    for corner in ((5, 5), (5, 0), (0, 5), (0, 0)):
        assert np.linalg.norm(square - [*corner, 5], axis=1).min() < 0.2
    assert square[:, :2].min() > -0.3
    assert square[:, :2].max() < 5.3
    assert np.linalg.norm(position[-1] - start) < 0.2


def test_it_flies_along_true_north_far_from_the_origin(simulate):
    """GPS, compass and attitude would contradict each other where y is not north, here by 35 degrees."""
    world = load_world("flat")[0]
    world = world.model_copy(update={"origin": world.origin.model_copy(update={"latitude": 70.0})})
    place = np.array([1.5e6, 0.0, 0.1])
    environment = Environment.from_spec(world)
    latitude, longitude, _ = (float(column[0]) for column in environment.geodetic(place[None]))
    declination = GeoMag(coefficients_data=WMM_2025).calculate(latitude, longitude, 0.1, 2026.0).d
    options = "--silent", "0", "--mission", "square", "--ready", "2", "--hover-time", "0.5"
    simulator = simulate(*options, "--declination", f"{declination:.2f}")
    t, position, times = square_of(simulator, place, world=world)
    way = position - position[t < times["TAKEOFF"]][-1]
    # On the map east and north are turned; it is stretched by 1 % across the way from the origin.
    north = environment.local(np.eye(3), np.tile(place, (3, 1)))
    assert abs(np.degrees(np.arcsin(north[1, 0])) - 35.0) < 3.0
    local = way @ north
    square = local[(t > times["SQUARE"]) & (t < times["LAND"])]
    for corner in ((5, 5), (5, 0), (0, 5), (0, 0)):
        assert np.linalg.norm(square - [*corner, 5], axis=1).min() < 0.3
    assert square[:, :2].min() > -0.4
    assert square[:, :2].max() < 5.4
