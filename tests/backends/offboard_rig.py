"""Test rig of offboard flight: an autopilot's port, and an autopilot that follows commands strictly."""

import math
import socket

import numpy as np

from pegasus.backends.mavlink.link import UdpLink
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.base.errors import ConfigError

SET_MODE, ARM, TAKE_OFF = 176, 400, 22
_CLIMB_RATE, _SINK_RATE, _IDLE, _STREAM = 1.0, 0.7, 10.0, 0.5


class Ear:
    """An autopilot's offboard port, which keeps the received messages with their times."""

    def __init__(self):
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._decoder = Decoder()
        self.heard, self.raw = [], b""
        self.deaf = False

    def link(self):
        """Open a link to it."""
        if self.deaf:
            raise ConfigError("cannot be reached")
        return UdpLink("127.0.0.1", self._socket.getsockname()[1])

    def listen(self, t):
        """Receive the waiting messages."""
        try:
            while True:
                data, self.pilot = self._socket.recvfrom(65536)
                self.raw += data
                self.heard += [(t, message) for message in self._decoder.feed(data)]
        except BlockingIOError:
            return

    def say(self, line, severity=2):
        """Send a message to the last sender."""
        text = make_message("STATUSTEXT", severity=severity, text=line.encode())
        self._socket.sendto(encode(text, sequence=0), self.pilot)

    def of(self, kind, since=-math.inf):
        """Return the messages of one type since a time, and their times."""
        return [(t, message) for t, message in self.heard if message.msgname == kind and t >= since]

    def commands(self, number, since=-math.inf):
        """Return the times of a command and its first three parameters."""
        return [
            (t, m.param1, m.param2, m.param3)
            for t, m in self.of("COMMAND_LONG", since)
            if m.command == number
        ]

    def close(self):
        self._socket.close()


class StrictAutopilot:
    """An autopilot that does what it is told, where PX4 or ArduPilot would, and flies set-points exactly.

    It arms in its guided mode only, once it is ready, and disarms if it does not take off in 10 s. PX4 needs
    set-points at 2 Hz; ArduPilot ignores them on the ground, and takes off by the command alone.

    Args:
        dialect: Its dialect.
        system: Its system id.
        start: Position on the ground [m].
        ready: Time from which it arms [s].
    """

    def __init__(self, dialect, system, start, *, ready=2.5):
        self.dialect, self.system, self.ready = dialect, system, ready
        self.ear = Ear()
        self.start, self.position = np.array(start), np.array(start)
        self.velocity, self.drift = np.zeros(3), np.zeros(3)
        self.mode, self.armed, self.climb = None, False, None
        self.heading, self._read = 0.0, 0
        self._set_point, self._spoken, self._still = None, -math.inf, 0.0

    @property
    def ardupilot(self):
        return self.dialect.take_off_height is not None

    @property
    def local(self):
        """Its estimate in its local frame, east, north and up [m]."""
        return self.position - self.start + self.drift

    @property
    def on_ground(self):
        return self.position[2] <= self.start[2]

    def step(self, t, dt):
        """Follow what it has been told."""
        self.ear.listen(t)
        new, self._read = self.ear.heard[self._read :], len(self.ear.heard)
        for _, message in new:
            if message.msgname == "COMMAND_LONG":
                assert (message.target_system, message.target_component) == (self.system, 1)
                self._obey(t, message)
            elif message.msgname == "SET_POSITION_TARGET_LOCAL_NED":
                assert (message.target_system, message.target_component) == (self.system, 1)
                assert (message.type_mask, message.coordinate_frame) == (1 << 11, 1)
                self._set_point, self._spoken = message, t
            elif message.msgname == "SET_ATTITUDE_TARGET":
                assert (message.target_system, message.target_component) == (self.system, 1)
                assert message.type_mask in (7, 128)
                assert self.armed
                self._spoken = t
        self._move(t, dt)

    def _obey(self, t, message):
        if message.command == SET_MODE:
            assert message.param1 == 1.0
            wanted = (message.param2, message.param3)
            streaming = self.ardupilot or t - self._spoken < _STREAM
            if wanted == self.dialect.land or (wanted == self.dialect.guided and streaming):
                self.mode = wanted
        elif message.command == ARM:
            assert message.param1 == 1.0
            if not self.armed and t >= self.ready and self.mode == self.dialect.guided:
                self.armed, self._still = True, t
        elif message.command == TAKE_OFF and self.armed and self.on_ground:
            assert self.ardupilot
            self.climb = message.param7

    def _move(self, t, dt):
        self.velocity[...] = 0.0
        if self.armed and self.mode == self.dialect.land:
            self.velocity[2] = -_SINK_RATE
            self.position[2] = max(self.start[2], self.position[2] - _SINK_RATE * dt)
            if self.on_ground:
                self.armed, self.mode, self.climb = False, None, None
        elif self.armed:
            self._follow(t, dt)
            assert self.ardupilot or t - self._spoken < _STREAM, "PX4 would leave its offboard mode"
        if not self.on_ground:
            self._still = t
        elif self.armed and t - self._still > _IDLE:
            self.armed, self.climb = False, None

    def _follow(self, t, dt):
        if self.climb is not None:
            self.velocity[2] = _CLIMB_RATE
            self.position[2] += _CLIMB_RATE * dt
            if self.position[2] >= self.start[2] + self.climb:
                self.climb = None
        elif not (self.ardupilot and self.on_ground) and t - self._spoken < _STREAM:
            m = self._set_point
            wanted = self.start + np.array([m.y, m.x, -m.z]) - self.drift
            wanted[2] = max(wanted[2], self.start[2])
            self.position, self.velocity = wanted, np.array([m.vy, m.vx, -m.vz])
            self.heading = math.pi / 2 - m.yaw

    def close(self):
        self.ear.close()


def part_ways(simulation, vehicle, pilot):
    """Send copy 0 to (4, 0, 3) m, let copy 1 break off its landing, and return the height where it holds."""
    fly = pilot.goto([4.0, 0.0, 3.0], copies=0)
    pilot.land(copies=1)
    simulation.run(2.0)
    pilot.hold(copies=1).wait(simulation)
    height = vehicle.state.position[1, 2]
    assert height < 3.6
    fly.wait(simulation)
    simulation.run(3.0)
    return height
