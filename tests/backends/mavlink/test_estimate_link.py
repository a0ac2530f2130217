"""Tests of the estimates that autopilots send by MAVLink: requests, and conversion of frames."""

import math
import socket

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.backends.mavlink.estimate_link import EstimateListener
from pegasus.backends.mavlink.link import TcpClientLink, UdpLink
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.contracts.state import VehicleState
from pegasus.environment import Geodetic, geodetic_from_local, local_from_geodetic
from pegasus.environment.geodesy import EARTH_RADIUS

# Near the equator the axes of the map are those of the Earth.
ORIGIN = Geodetic(0.0, 8.0, 400.0)
START = np.array([10.0, 20.0, 0.5])
# East, north, up to north, east, down; and forward, left, up to forward, right, down.
ENU_TO_NED = Rotation.from_rotvec(math.pi * np.array([1, 1, 0]) / math.sqrt(2))
FLU_TO_FRD = Rotation.from_rotvec(math.pi * np.array([1, 0, 0]))


class Mouth:
    """An autopilot's MAVLink port: it keeps requests and sends prescribed messages."""

    def __init__(self):
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(5.0)
        self._partner = None

    def link(self):
        return UdpLink("127.0.0.1", self._socket.getsockname()[1])

    def asked(self):
        """Return the latest requests: message ids, intervals [s] and systems."""
        decoder, found = Decoder(), []
        while len(found) < 3:
            data, self._partner = self._socket.recvfrom(65536)
            found += decoder.feed(data)
        assert {(m.msgname, m.command) for m in found} == {("COMMAND_LONG", 511)}
        return [(m.param1, m.param2 * 1e-6, m.target_system) for m in found]

    def silent(self):
        """Return whether no request has come."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(65536)
        except BlockingIOError:
            return True
        finally:
            self._socket.settimeout(5.0)
        return False

    def say(self, *messages):
        for number, message in enumerate(messages):
            self._socket.sendto(encode(message, sequence=number, system=1, component=1), self._partner)

    def close(self):
        self._socket.close()


@pytest.fixture
def mouths():
    made = [Mouth(), Mouth()]
    yield made
    for mouth in made:
        mouth.close()


@pytest.fixture
def listener(mouths):
    listener = EstimateListener([mouth.link for mouth in mouths], [3, 4], origin=ORIGIN)
    yield listener
    listener.close()


@pytest.fixture
def state():
    """Two vehicles in flight with arbitrary attitudes."""
    rng = np.random.default_rng(1)
    state = VehicleState.at_rest(2, 4)
    state.position[...] = START
    state.orientation[...] = Rotation.random(2, random_state=2).as_quat()
    state.velocity[...] = rng.normal(size=(2, 3))
    state.angular_velocity[...] = rng.normal(size=(2, 3))
    return state


def words(state, row, start=START):
    """Return the MAVLink messages of a correct estimate of a state, by SciPy's rotations."""
    north, east, down = ENU_TO_NED.apply(state.position[row] - start)
    vn, ve, vd = ENU_TO_NED.apply(state.velocity[row])
    p, q, r = FLU_TO_FRD.apply(state.angular_velocity[row])
    x, y, z, w = (ENU_TO_NED * Rotation.from_quat(state.orientation[row]) * FLU_TO_FRD).as_quat()
    return (
        make_message(
            "ATTITUDE_QUATERNION",
            time_boot_ms=7,
            q1=w,
            q2=x,
            q3=y,
            q4=z,
            rollspeed=p,
            pitchspeed=q,
            yawspeed=r,
        ),
        make_message("LOCAL_POSITION_NED", time_boot_ms=7, x=north, y=east, z=down, vx=vn, vy=ve, vz=vd),
    )


def test_an_estimate_that_is_right_has_no_error(listener, mouths, state):
    """If this fails, an axis or sign is wrong, or two vehicles' estimates are mixed up."""
    listener.update(0.0, state, present=[True, True])
    state.position += [[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0]]
    for row, mouth in enumerate(mouths):
        mouth.asked()
        mouth.say(*words(state, row))
    listener.update(0.5, state, present=[True, True])
    found = listener.estimate
    np.testing.assert_array_equal(found.received, 0.5)
    np.testing.assert_allclose(found.position, state.position, atol=2e-6)
    np.testing.assert_allclose(found.velocity, state.velocity, atol=1e-6)
    same = np.abs((found.orientation * state.orientation).sum(axis=1))
    np.testing.assert_allclose(same, 1.0, atol=1e-7)
    np.testing.assert_allclose(found.angular_velocity, state.angular_velocity, atol=1e-6)
    np.testing.assert_allclose(found.position_error, 0.0, atol=2e-6)
    np.testing.assert_allclose(found.velocity_error, 0.0, atol=1e-6)
    # The cosine of half an angle has lost half its digits of 24 bits.
    np.testing.assert_allclose(found.attitude_error, 0.0, atol=2e-3)


def test_errors_are_of_the_instant_of_the_word(listener, mouths, state):
    """If this fails, errors refer to another time than the estimate, or have the wrong sign."""
    listener.update(0.0, state, present=[True, False])
    mouths[0].asked()
    attitude, position = words(state, 0)
    turned = VehicleState.at_rest(1, 4)
    turned.orientation[0] = (
        Rotation.from_quat(state.orientation[0]) * Rotation.from_rotvec([0.0, 0.2, 0.0])
    ).as_quat()
    mouths[0].say(words(turned, 0)[0], position._replace(x=position.x + 2.0, vz=position.vz + 0.5))
    listener.update(0.5, state, present=[True, False])
    state.position += 7.0
    listener.update(0.6, state, present=[True, False])
    found = listener.estimate
    np.testing.assert_allclose(found.position_error[0], [0.0, 2.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found.velocity_error[0], [0.0, 0.0, -0.5], atol=1e-6)
    assert found.attitude_error[0] == pytest.approx(0.2, abs=1e-4)
    assert found.received[0] == 0.5
    assert np.isnan(found.position[1]).all()
    assert attitude.q1 != 0.0


def test_the_local_frame_begins_where_the_autopilot_says(listener, mouths, state):
    """If this fails, the GPS error at the start or a wrong world origin stays hidden."""
    listener.update(0.0, state, present=[True, True])
    mouths[0].asked()
    # 100 m to the north of the world's origin and 3 m above it: along a meridian a distance is an angle.
    latitude = ORIGIN.latitude + math.degrees(100.0 / EARTH_RADIUS)
    mouths[0].say(
        make_message(
            "GPS_GLOBAL_ORIGIN",
            latitude=round(latitude * 1e7),
            longitude=round(ORIGIN.longitude * 1e7),
            altitude=403_000,
        ),
        make_message("LOCAL_POSITION_NED", x=1.0, y=2.0, z=-4.0),
    )
    listener.update(0.1, state, present=[True, True])
    np.testing.assert_allclose(listener.estimate.position[0], [2.0, 101.0, 7.0], atol=0.012)


@pytest.mark.parametrize("latitude", [38.7, -60.0, 70.0])
def test_an_estimate_that_is_right_has_no_error_far_away(mouths, state, latitude):
    """Velocity and heading would be compared with those of other axes, here by up to 1.3 degrees."""
    origin = Geodetic(latitude, 8.0, 400.0)
    listener = EstimateListener([mouths[0].link], [3], origin=origin)
    state.position[...] = start = np.array([50_000.0, 3_000.0, 0.0])
    listener.update(0.0, state, present=[True])
    mouths[0].asked()
    state.position += [300.0, 400.0, 30.0]
    # Azimuthal equidistant map about the start, north and east there, as in PX4.
    places = geodetic_from_local(np.stack([start, state.position[0]]), origin=origin)
    own = Geodetic(*(float(column[0]) for column in places))
    east, north, up = local_from_geodetic(*(column[1:] for column in places), origin=own)[0]
    # North at the vehicle: what a step towards it does to the coordinates.
    step = np.array([[0.0, 0.5, 0.0]])
    lat, lon, _ = geodetic_from_local(
        np.concatenate([state.position[:1] - step, state.position[:1] + step]), origin=origin
    )
    right = math.atan2((lon[1] - lon[0]) * math.cos(math.radians(lat[0])), lat[1] - lat[0])
    turn = Rotation.from_euler("z", -right)
    local = VehicleState.at_rest(1, 4)
    local.position[...] = east, north, up
    local.velocity[...] = turn.apply(state.velocity[0])
    local.orientation[0] = (turn * Rotation.from_quat(state.orientation[0])).as_quat()
    at = {
        "latitude": round(own.latitude * 1e7),
        "longitude": round(own.longitude * 1e7),
        "altitude": round(own.altitude * 1e3),
    }
    mouths[0].say(make_message("GPS_GLOBAL_ORIGIN", **at), *words(local, 0, start=0.0)[::-1])
    listener.update(0.5, state, present=[True])
    found = listener.estimate
    # Degrees times 1e7 are 1 cm; the maps about both places differ by 1 cm after 500 m.
    np.testing.assert_allclose(found.position_error[0], 0.0, atol=0.03)
    np.testing.assert_allclose(found.velocity_error[0], 0.0, atol=1e-4)
    assert found.attitude_error[0] < 2e-3
    np.testing.assert_allclose(listener.local_position[0], [300.0, 400.0, 30.0], atol=0.03)
    listener.close()


def test_a_flat_world_has_degrees_of_one_length(mouths, state):
    """The estimate of an ArduPilot that starts far from the origin would be off by a thousandth of that."""
    listener = EstimateListener([mouths[0].link], [3], origin=Geodetic(47.0, 8.0, 400.0), flat=True)
    listener.update(0.0, state, present=[True])
    mouths[0].asked()
    # Location::offset of ArduPilot by 20 km to the north, then 10 km to the east at half the way.
    north = 20_000.0 / 111_318.84502145034
    east = 10_000.0 / (111_318.84502145034 * math.cos(math.radians(47.0 + north / 2)))
    mouths[0].say(
        make_message(
            "GPS_GLOBAL_ORIGIN",
            latitude=round((47.0 + north) * 1e7),
            longitude=round((8.0 + east) * 1e7),
            altitude=403_000,
        ),
        make_message("LOCAL_POSITION_NED", x=1.0, y=2.0, z=-4.0, vx=5.0, vy=6.0),
    )
    listener.update(0.1, state, present=[True])
    np.testing.assert_allclose(listener.estimate.position[0], [10_002.0, 20_001.0, 7.0], atol=0.02)
    np.testing.assert_array_equal(listener.estimate.velocity[0], [6.0, 5.0, 0.0])
    listener.close()


def test_they_are_asked_until_they_tell(listener, mouths, state):
    """If this fails, a late autopilot is never heard, or requests are repeated without end."""
    listener.update(0.0, state, present=[True, False])
    assert mouths[0].asked() == [
        (31, pytest.approx(0.02), 3),
        (32, pytest.approx(0.02), 3),
        (49, pytest.approx(1.0), 3),
    ]
    listener.update(0.9, state, present=[True, False])
    assert mouths[0].silent()
    listener.update(1.0, state, present=[True, True])
    assert [system for _, _, system in mouths[0].asked()] == [3, 3, 3]
    assert [system for _, _, system in mouths[1].asked()] == [4, 4, 4]
    # At its first message it is asked once more: it may have missed earlier requests.
    mouths[0].say(words(state, 0)[0])
    listener.update(1.05, state, present=[True, False])
    assert [system for _, _, system in mouths[0].asked()] == [3, 3, 3]
    for k in range(30):
        mouths[0].say(words(state, 0)[1])
        listener.update(1.1 + 0.1 * k, state, present=[True, False])
        assert mouths[0].silent()
    listener.update(5.1, state, present=[True, False])
    assert len(mouths[0].asked()) == 3


def test_messages_that_nobody_wants(mouths, state):
    """If this fails, unrequested messages fill a slow link, and the estimate is rare."""
    listener = EstimateListener([mouths[0].link], [3], origin=ORIGIN, unwanted=[105])
    listener.update(0.0, state, present=[True])
    numbers = [(number, interval) for number, interval, _ in mouths[0].asked()]
    listener.close()
    assert numbers[0] == (105, pytest.approx(-1e-6))
    assert [number for number, _ in numbers[1:]] == [31, 32]


def test_estimates_are_decoded_once_they_are_read(listener, mouths, state):
    """Nobody would look at what is decoded at every step, or a first look would find old estimates."""
    present, decoded = [True, True], []
    take = listener._take
    listener._take = lambda *arguments: decoded.append(arguments) or take(*arguments)
    listener.update(0.0, state, present=present)
    for row, mouth in enumerate(mouths):
        mouth.asked()
        mouth.say(*words(state, row))
    while len(decoded) < 4:
        listener.update(0.1, state, present=present)
    for mouth in mouths:
        mouth.asked()
    for k in range(1, 4):
        state.position += 1.0
        for row, mouth in enumerate(mouths):
            mouth.say(*words(state, row))
        listener.update(0.1 + k, state, present=present)
    assert len(decoded) == 4
    assert mouths[0].silent()
    found = listener.estimate
    np.testing.assert_allclose(found.position, state.position, atol=1e-5)
    state.position += 1.0
    for row, mouth in enumerate(mouths):
        mouth.say(*words(state, row))
    while not (found.received == 3.2).all():
        listener.update(3.2, state, present=present)
    np.testing.assert_allclose(found.position, state.position, atol=1e-5)


def test_nobody_at_the_port(state):
    """If this fails, an autopilot without such a port ends the run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listener = EstimateListener([lambda: TcpClientLink("127.0.0.1", port)], [1], origin=ORIGIN)
    for k in range(30):
        listener.update(0.1 * k, state, present=[True])
    assert np.isnan(listener.estimate.position).all()
    listener.close()


def test_a_line_that_breaks_is_made_anew(state):
    """If this fails, the estimate is lost once the autopilot has closed the link."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        listener = EstimateListener([lambda: TcpClientLink("127.0.0.1", port)], [1], origin=ORIGIN)
        found = listener.estimate
        for k in range(2):
            listener.update(2.0 * k, state, present=[True])
            with server.accept()[0] as line:
                line.settimeout(5.0)
                assert line.recv(1)
                line.sendall(encode(words(state, 0)[1], sequence=0))
                while found.received[0] != 2.0 * k + 0.1:
                    listener.update(2.0 * k + 0.1, state, present=[True])
            while listener._lines[0]._link is not None:
                listener.update(2.0 * k + 0.2, state, present=[True])
        listener.close()
