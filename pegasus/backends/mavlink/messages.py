"""MAVLink 2 codec for the messages that simulator and autopilot exchange.

Each message is one row of a table. Layouts are those of MAVLink's `common` dialect (mavlink.io): fields by
decreasing size, then extensions, without zero bytes at the end of the payload. It replaces pymavlink because
it runs at every step: see docs/autopilots.md for measured times.
"""

import itertools
import struct
from binascii import crc_hqx
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

# A frame: start, length of the payload, two bytes of flags, sequence, system, component, message id (three
# bytes), payload, checksum.
_START = b"\xfd"
_NUMBER_AT = 7
_HEADER_SIZE, _CHECKSUM_SIZE, _SIGNATURE_SIZE = 10, 2, 13
_SIGNED = 0x01
# Bytes with their bits reversed: the checksum is reflected.
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class Heartbeat(NamedTuple):
    """HEARTBEAT: type and mode of a component."""

    custom_mode: int = 0
    type: int = 0
    autopilot: int = 0
    base_mode: int = 0
    system_status: int = 0
    mavlink_version: int = 3


class CommandLong(NamedTuple):
    """COMMAND_LONG: a command with seven parameters."""

    param1: float = 0.0
    param2: float = 0.0
    param3: float = 0.0
    param4: float = 0.0
    param5: float = 0.0
    param6: float = 0.0
    param7: float = 0.0
    command: int = 0
    target_system: int = 0
    target_component: int = 0
    confirmation: int = 0


class CommandAck(NamedTuple):
    """COMMAND_ACK: result of a command."""

    command: int
    result: int
    progress: int = 0
    result_param2: int = 0
    target_system: int = 0
    target_component: int = 0


class SetPositionTargetLocalNed(NamedTuple):
    """SET_POSITION_TARGET_LOCAL_NED: set-point; bits of the mask disable fields."""

    time_boot_ms: int
    x: float
    y: float
    z: float
    vx: float
    vy: float
    vz: float
    afx: float
    afy: float
    afz: float
    yaw: float
    yaw_rate: float
    type_mask: int
    target_system: int
    target_component: int
    coordinate_frame: int = 1


class SetAttitudeTarget(NamedTuple):
    """SET_ATTITUDE_TARGET: attitude or body rates, and thrust; bits of the mask disable fields."""

    time_boot_ms: int
    q: tuple[float, float, float, float]
    """Unit quaternion wxyz, FRD to NED."""
    body_roll_rate: float
    body_pitch_rate: float
    body_yaw_rate: float
    thrust: float
    """Collective thrust, 0 to 1."""
    target_system: int
    target_component: int
    type_mask: int


class HilActuatorControls(NamedTuple):
    """HIL_ACTUATOR_CONTROLS: outputs of the autopilot."""

    time_usec: int
    """Time of the answered sensor message [us]."""
    flags: int
    """Bit 0: the autopilot runs in lockstep."""
    controls: tuple[float, ...]
    """Sixteen outputs: 0 to 1 for motors, -1 to 1 for reversible actuators."""
    mode: int
    """MAV_MODE_FLAG; bit 7 when armed."""


class HilSensor(NamedTuple):
    """HIL_SENSOR: IMU, magnetometer, barometer, differential pressure; FRD."""

    time_usec: int
    xacc: float
    yacc: float
    zacc: float
    xgyro: float
    ygyro: float
    zgyro: float
    xmag: float
    ymag: float
    zmag: float
    abs_pressure: float
    diff_pressure: float
    pressure_alt: float
    temperature: float
    fields_updated: int
    id: int = 0


class HilGps(NamedTuple):
    """HIL_GPS: degrees times 1e7, millimetres, centimetres per second, centidegrees; NED."""

    time_usec: int
    lat: int
    lon: int
    alt: int
    eph: int
    epv: int
    vel: int
    vn: int
    ve: int
    vd: int
    cog: int
    fix_type: int
    satellites_visible: int
    id: int = 0
    yaw: int = 0


class HilStateQuaternion(NamedTuple):
    """HIL_STATE_QUATERNION: true state; w first, NED, centimetres per second, milli-g."""

    time_usec: int
    attitude_quaternion: tuple[float, ...]
    rollspeed: float
    pitchspeed: float
    yawspeed: float
    lat: int
    lon: int
    alt: int
    vx: int
    vy: int
    vz: int
    ind_airspeed: int
    true_airspeed: int
    xacc: int
    yacc: int
    zacc: int


class HilOpticalFlow(NamedTuple):
    """HIL_OPTICAL_FLOW: angles integrated over a time, and the distance to the ground."""

    time_usec: int
    integration_time_us: int
    integrated_x: float
    integrated_y: float
    integrated_xgyro: float
    integrated_ygyro: float
    integrated_zgyro: float
    time_delta_distance_us: int
    distance: float
    temperature: int
    sensor_id: int
    quality: int


class DistanceSensor(NamedTuple):
    """DISTANCE_SENSOR: a range in centimetres."""

    time_boot_ms: int
    min_distance: int
    max_distance: int
    current_distance: int
    type: int
    id: int
    orientation: int
    covariance: int
    horizontal_fov: float = 0.0
    vertical_fov: float = 0.0
    quaternion: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    signal_quality: int = 0


class Odometry(NamedTuple):
    """ODOMETRY: pose and twist of an external estimator, w first."""

    time_usec: int
    x: float
    y: float
    z: float
    q: tuple[float, ...]
    vx: float
    vy: float
    vz: float
    rollspeed: float
    pitchspeed: float
    yawspeed: float
    pose_covariance: tuple[float, ...]
    velocity_covariance: tuple[float, ...]
    frame_id: int
    child_frame_id: int
    reset_counter: int = 0
    estimator_type: int = 0
    quality: int = 0


class AttitudeQuaternion(NamedTuple):
    """ATTITUDE_QUATERNION: the estimated attitude, FRD to NED, w first; rates in FRD."""

    time_boot_ms: int
    q1: float
    q2: float
    q3: float
    q4: float
    rollspeed: float
    pitchspeed: float
    yawspeed: float
    repr_offset_q: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)


class LocalPositionNed(NamedTuple):
    """LOCAL_POSITION_NED: the estimated position and velocity in the autopilot's local frame."""

    time_boot_ms: int
    x: float
    y: float
    z: float
    vx: float
    vy: float
    vz: float


class GpsGlobalOrigin(NamedTuple):
    """GPS_GLOBAL_ORIGIN: origin of the local frame; degrees times 1e7, millimetres."""

    latitude: int
    longitude: int
    altitude: int
    time_usec: int = 0


class RcChannels(NamedTuple):
    """RC_CHANNELS: pulse widths of a receiver [us]."""

    time_boot_ms: int
    channels: tuple[int, ...]
    """Eighteen channels; 65535 for unused ones."""
    chancount: int
    rssi: int


class BatteryStatus(NamedTuple):
    """BATTERY_STATUS: voltages of cells [mV], current [cA], consumed charge [mA h], remaining charge [%]."""

    current_consumed: int
    energy_consumed: int
    temperature: int
    voltages: tuple[int, ...]
    """Ten cells; 65535 for absent ones."""
    current_battery: int
    id: int
    battery_function: int
    type: int
    battery_remaining: int
    time_remaining: int = 0
    charge_state: int = 0
    voltages_ext: tuple[int, ...] = (0, 0, 0, 0)
    mode: int = 0
    fault_bitmask: int = 0


class StatusText(NamedTuple):
    """STATUSTEXT: line of text for the user."""

    severity: int
    """Severity from 0 (emergency) to 7 (debug)."""
    text: tuple[int, ...]
    """Fifty bytes, padded with zeros."""
    id: int = 0
    chunk_seq: int = 0

    @property
    def line(self) -> str:
        """The text."""
        return bytes(self.text).partition(b"\0")[0].decode(errors="replace")


class _Layout:
    """Layout of a message in its payload.

    Args:
        kind: The message's class; its fields are in the order of the wire.
        number: Message id.
        extra: The id's CRC_EXTRA, which stands for the layout in the checksum.
        fields: Form of each field, as `struct` writes it, separated by spaces.
    """

    def __init__(self, kind: Any, number: int, extra: int, fields: str) -> None:
        forms = fields.split()
        assert len(forms) == len(kind._fields)
        self.kind, self.number, self.extra = kind, number.to_bytes(3, "little"), bytes([extra])
        self._struct = struct.Struct("<" + "".join(forms))
        lengths = [int(form[:-1] or 1) for form in forms]
        self._arrays = [k for k in reversed(range(len(forms))) if lengths[k] > 1]
        self._fields: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
        """Function from the numbers of a payload to fields; None if each number is a field."""
        if self._arrays:
            ends = itertools.accumulate(lengths)
            spans = ((end - length, end) for end, length in zip(ends, lengths, strict=True))
            self._fields = itemgetter(*(slice(*span) if span[1] - span[0] > 1 else span[0] for span in spans))

    def pack(self, message: Any) -> bytes:
        if self._fields is None:
            return self._struct.pack(*message)
        values = list(message)
        # From the last to the first, so that the places of those before stay.
        for at in self._arrays:
            values[at : at + 1] = values[at]
        return self._struct.pack(*values)

    def unpack(self, payload: bytes) -> Any:
        size = self._struct.size
        values = self._struct.unpack(payload[:size].ljust(size, b"\0"))
        return self.kind._make(values if self._fields is None else self._fields(values))


_LAYOUTS = (
    _Layout(Heartbeat, 0, 50, "I B B B B B"),
    _Layout(AttitudeQuaternion, 31, 246, "I f f f f f f f 4f"),
    _Layout(LocalPositionNed, 32, 185, "I f f f f f f"),
    _Layout(GpsGlobalOrigin, 49, 39, "i i i Q"),
    _Layout(RcChannels, 65, 118, "I 18H B B"),
    _Layout(CommandLong, 76, 152, "f f f f f f f H B B B"),
    _Layout(CommandAck, 77, 143, "H B B i B B"),
    _Layout(SetAttitudeTarget, 82, 49, "I 4f f f f f B B B"),
    _Layout(SetPositionTargetLocalNed, 84, 143, "I f f f f f f f f f f f H B B B"),
    _Layout(HilActuatorControls, 93, 47, "Q Q 16f B"),
    _Layout(HilSensor, 107, 108, "Q f f f f f f f f f f f f f I B"),
    _Layout(HilGps, 113, 124, "Q i i i H H H h h h H B B B H"),
    _Layout(HilOpticalFlow, 114, 237, "Q I f f f f f I f h B B"),
    _Layout(HilStateQuaternion, 115, 4, "Q 4f f f f i i i h h h H H h h h"),
    _Layout(DistanceSensor, 132, 85, "I H H H B B B B f f 4f B"),
    _Layout(BatteryStatus, 147, 154, "i i h 10H h B B B b i B 4H B I"),
    _Layout(StatusText, 253, 83, "B 50B H B"),
    _Layout(Odometry, 331, 91, "Q f f f 4f f f f f f f 21f 21f B B B B b"),
)
_BY_KIND = {layout.kind: layout for layout in _LAYOUTS}
_BY_NUMBER = {layout.number: layout for layout in _LAYOUTS}


def encode(message: NamedTuple, *, sequence: int, system: int = 1, component: int = 200) -> bytes:
    """Return a message as a MAVLink 2 frame.

    Args:
        message: One of the messages of this module.
        sequence: Number of the frame on its link; only its lowest byte is sent.
        system: System id of the sender.
        component: Component id of the sender; PX4 expects 200 for a simulator.
    """
    layout = _BY_KIND[type(message)]
    # A payload has at least one byte.
    payload = layout.pack(message)
    payload = payload.rstrip(b"\0") or payload[:1]
    body = bytes((len(payload), 0, 0, sequence & 0xFF, system, component)) + layout.number + payload
    return _START + body + checksum(body + layout.extra)


def checksum(data: bytes) -> bytes:
    """Return the CRC-16/MCRF4XX of data, low byte first.

    It is the reflected CRC-CCITT, which the standard library computes in C for reflected bytes.

    Args:
        data: Frame without its first byte, and the CRC_EXTRA of its message.
    """
    mirrored = crc_hqx(data.translate(_REVERSED), 0xFFFF)
    return bytes((_REVERSED[mirrored >> 8], _REVERSED[mirrored & 0xFF]))


class Decoder:
    """Stream decoder: bytes in chunks of any size to messages, skipping everything else."""

    def __init__(self) -> None:
        self._waiting = b""
        self.bad_byte_count = 0
        """Number of bytes so far that belonged to no known message."""

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete with new data.

        Frames of other messages and bytes outside of frames are skipped.
        """
        if self._waiting:
            data = self._waiting + data
        at, end = 0, len(data)
        while True:
            start = data.find(_START, at)
            if start < 0:
                self.bad_byte_count += end - at
                self._waiting = b""
                return
            self.bad_byte_count += start - at
            at = start
            if end - at < _HEADER_SIZE:
                break
            layout = _BY_NUMBER.get(data[at + _NUMBER_AT : at + _HEADER_SIZE])
            if layout is not None:
                body = at + _HEADER_SIZE + data[at + 1]
                size = body - at + _CHECKSUM_SIZE + (_SIGNATURE_SIZE if data[at + 2] & _SIGNED else 0)
                if end - at < size:
                    break
                if checksum(data[at + 1 : body] + layout.extra) == data[body : body + _CHECKSUM_SIZE]:
                    yield layout.unpack(data[at + _HEADER_SIZE : body])
                    at += size
                    continue
            # Not a frame: the next one may begin within these bytes.
            at += 1
            self.bad_byte_count += 1
        self._waiting = data[at:]
