"""Flights with the ArduPilot peer, and with the real ArduPilot where ARDUPILOT_DIR names it."""

import os
import socket

import numpy as np
import pytest
from ardupilot_rig import RATE, SLOW_LOOP, launched

from pegasus import Multirotor, Simulation
from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.ardupilot.lockstep import Contact
from pegasus.backends.mavlink import messages
from pegasus.sensors.imu import IMU, Accelerometer, Gyroscope
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")
REAL = os.environ.get("ARDUPILOT_DIR")


def phases(log):
    """Return the start of each phase of a peer's flight by name; `square` lists its corners."""
    found = {}
    for line in log.read_text().splitlines():
        if line.startswith("phase "):
            _, name, t = line.split()
            found.setdefault(name, []).append(float(t))
    return found


def test_a_flight_of_two_launched_instances(tmp_path):
    """Two peers that use JSON alone could not take off, hover, fly a square and land together."""
    backend = launched(tmp_path / "ardupilot", hold_time=0.1)
    backend.run_folder = tmp_path / "run"
    times, places = [], []
    with Simulation("flat", rate=RATE, seed=2) as sim:
        iris = sim.add(Multirotor("iris", count=2, heading=[0.0, 2.0], backends=[backend]))
        start = iris.start.position.copy()
        for t in sim.stepping(40.0):
            times.append(t)
            places.append(iris.state.position - start)
            if sim.step_count % 400 == 0 and all(
                "landed" in phases(process.log) for process in backend.processes
            ):
                break
        assert [link.contact for link in backend.links] == [Contact.LOCKSTEP] * 2
        assert (iris.state.rotor_speed < 20.0).all()
    times, places = np.array(times), np.array(places)
    for i, process in enumerate(backend.processes):
        begins = phases(process.log)
        place = places[:, i]
        hover = place[(times >= begins["hover"][0] + 0.5) & (times < begins["square"][0])]
        assert np.abs(hover - [0.0, 0.0, 5.0]).max() < 0.2
        ends = [*begins["square"][1:], *begins["land"]]
        for t, corner in zip(ends, [(0, 5), (5, 5), (5, 0), (0, 0)], strict=True):
            assert np.abs(place[np.searchsorted(times, t)] - [*corner, 5.0]).max() < 0.5
        assert np.abs(place[-1]).max() < 0.2


class GroundStation:
    """A minimal MAVLink client that flies the real ArduPilot in guided mode."""

    guided, armed = 4, 128

    def __init__(self, instance):
        self.system, self.sequence = instance + 1, 0
        self.decoder, self.heartbeat = messages.Decoder(), messages.make_message("HEARTBEAT")
        self.socket = socket.create_connection(("127.0.0.1", 5760 + 10 * instance), timeout=LIMIT)
        self.socket.setblocking(False)

    def command(self, number, **parameters):
        self.send(
            messages.make_message(
                "COMMAND_LONG", command=number, target_system=self.system, target_component=1, **parameters
            )
        )

    def send(self, message):
        self.sequence += 1
        self.socket.sendall(messages.encode(message, sequence=self.sequence, system=255, component=190))

    def go_to(self, north, east, down):
        """Send SET_POSITION_TARGET_LOCAL_NED with positions only."""
        self.send(
            messages.make_message(
                "SET_POSITION_TARGET_LOCAL_NED",
                target_system=self.system,
                target_component=1,
                coordinate_frame=1,
                type_mask=0xDF8,
                x=north,
                y=east,
                z=down,
            )
        )

    def poll(self):
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        for message in self.decoder.feed(data):
            if message.msgname == "HEARTBEAT" and message.autopilot == 3:
                self.heartbeat = message


class Mission:
    """Arm, take off to 5 m, hover, fly a square, land.

    `fly` is to be asked for its next item every half second of the flight until it has none.
    """

    def __init__(self, station, iris, copy):
        self.station, self.hover, self.corners = station, [], []
        self._position, self._start = iris.state.position[copy], iris.state.position[copy].copy()

    def place(self):
        return self._position - self._start

    def fly(self):
        station = self.station
        while not station.heartbeat.base_mode & station.armed:
            if station.heartbeat.custom_mode != station.guided:
                station.command(176, param1=1.0, param2=float(station.guided))
            else:
                station.command(400, param1=1.0)
            yield
        station.command(22, param7=5.0)
        yield from self.wait(14.0)
        for _ in range(10):
            self.hover.append(self.place())
            yield
        for north, east in ((5, 0), (5, 5), (0, 5), (0, 0)):
            station.go_to(north, east, -5)
            yield from self.wait(8.0)
            self.corners.append(self.place() - [east, north, 5.0])
        station.command(21)
        while station.heartbeat.base_mode & station.armed:
            yield

    def wait(self, duration):
        for _ in range(int(2 * duration)):
            yield


@pytest.mark.ardupilot
@pytest.mark.skipif("ARDUPILOT_DIR" not in os.environ, reason="ARDUPILOT_DIR names no built ArduPilot")
@pytest.mark.parametrize(
    ("rate", "parameters", "count"), [(1000.0, {}, 1), (400.0, SLOW_LOOP, 2)], ids=["1 kHz", "two"]
)
def test_a_flight_of_the_real_ardupilot(rate, parameters, count, tmp_path):
    """The real ArduPilot would not fly although the peer does."""
    # A GPS without a search phase, and a trusted compass, halve the time until it arms.
    quick = {"GPS1_TYPE": 100, "EK3_YAW_M_NSE": 0.05, **parameters}
    # A biased accelerometer shifts its height by some decimetres; the white noise is sufficient here.
    steady = {"turn_on_bias": 0.0, "bias_random_walk": 0.0}
    imu = IMU(gyroscope=Gyroscope(**steady), accelerometer=Accelerometer(**steady))
    backend = ArduPilot(REAL, parameters=quick)
    backend.run_folder = tmp_path
    with Simulation("flat", rate=rate, seed=3) as sim:
        iris = sim.add(Multirotor("iris", count=count, backends=[backend], sensors={"imu": imu}))
        missions, ended = [], set()
        for _ in sim.stepping(150.0):
            if sim.step_count % round(rate / 2):
                continue
            if not missions and all(link.contact is Contact.LOCKSTEP for link in backend.links):
                made = [Mission(GroundStation(n), iris, i) for i, n in enumerate(backend.instances)]
                missions = [(mission, mission.fly()) for mission in made]
            for mission, flight in missions:
                mission.station.poll()
                if next(flight, "ended") == "ended":
                    ended.add(mission)
            if len(ended) == count:
                break
        for mission, _ in missions:
            mission.station.socket.close()
        exchanged = [link.frame_count for link in backend.links]
        assert len(ended) == count
    # One frame for each step, except for those before the first packet.
    assert all(sim.step_count - frames < 3 * rate for frames in exchanged)
    for mission in ended:
        assert np.abs(np.array(mission.hover) - [0.0, 0.0, 5.0]).max() < 0.2
        assert np.abs(np.array(mission.corners)).max() < 0.4
        assert np.abs(mission.place()[2]) < 0.1
