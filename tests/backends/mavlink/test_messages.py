"""Tests of the MAVLink codec against a real PX4's frames, MAVLink's own library and noisy streams."""

import gzip
import json
import math
import random
import struct
from pathlib import Path

import pytest

from pegasus.backends.mavlink.messages import FREQUENT, Decoder, Template, dialect, encode, make_message

TRANSCRIPT = Path(__file__).parents[1] / "data" / "px4_transcript.json.gz"

# Frames of MAVLink's own library (pymavlink 2.4.50, dialect common), system 3, component 200, and the
# fields that it was given: by name, all different, and exact as 32-bit floats.
GOLDEN = [
    (
        "fd0900000703c800000000000100020c810403f37b",
        make_message(
            "HEARTBEAT",
            type=2,
            autopilot=12,
            base_mode=129,
            custom_mode=65536,
            system_status=4,
            mavlink_version=3,
        ),
    ),
    (
        "fd0100000803c800000000d214",
        make_message(
            "HEARTBEAT", type=0, autopilot=0, base_mode=0, custom_mode=0, system_status=0, mavlink_version=0
        ),
    ),
    (
        "fd3000001103c81f000040e201000000003f000080be0000003e000040bf0000c03f000020c0000060400000803f00000000"
        "000000bf0000803e36a3",
        make_message(
            "ATTITUDE_QUATERNION",
            time_boot_ms=123456,
            q1=0.5,
            q2=-0.25,
            q3=0.125,
            q4=-0.75,
            rollspeed=1.5,
            pitchspeed=-2.5,
            yawspeed=3.5,
            repr_offset_q=(1.0, 0.0, -0.5, 0.25),
        ),
    ),
    (
        "fd1c00001203c8200000f1fb09000000c03f000010c0000048c00000003f000040bf0000603f56a1",
        make_message(
            "LOCAL_POSITION_NED", time_boot_ms=654321, x=1.5, y=-2.25, z=-3.125, vx=0.5, vy=-0.75, vz=0.875
        ),
    ),
    (
        "fd1100001303c83100004c52401cbc0be8fabb720700ea16b04c02bc66",
        make_message(
            "GPS_GLOBAL_ORIGIN",
            latitude=473977420,
            longitude=-85455940,
            altitude=488123,
            time_usec=9876543210,
        ),
    ),
    (
        "fd3300001803c893000029090000ffffffff6608750e760e770effffffffffffffffffffffffffff2efb0201035758020000"
        "01010002000300040002050b06",
        make_message(
            "BATTERY_STATUS",
            id=2,
            battery_function=1,
            type=3,
            temperature=2150,
            voltages=(3701, 3702, 3703, *[65535] * 7),
            current_battery=-1234,
            current_consumed=2345,
            energy_consumed=-1,
            battery_remaining=87,
            time_remaining=600,
            charge_state=1,
            voltages_ext=(1, 2, 3, 4),
            mode=2,
            fault_bitmask=5,
        ),
    ),
    (
        "fd2900000303c8fd000002507265666c69676874204661696c3a20436f6d706173732053656e736f722030206d697373696e"
        "67f91d",
        make_message("STATUSTEXT", severity=2, text=b"Preflight Fail: Compass Sensor 0 missing"),
    ),
    (
        "fd3600000303c8fd0000026161616161616161616161616161616161616161616161616161616161616161616161616161"
        "616161616161616161616161070002832d",
        make_message("STATUSTEXT", severity=2, text=b"a" * 50, id=7, chunk_seq=2),
    ),
    (
        "fd2a00000903c841000040e20100e8031a044c047e04b004e204140546057805aa05dc050e0640067206a406d6060807ffff"
        "12c8d724",
        make_message(
            "RC_CHANNELS",
            time_boot_ms=123456,
            **{f"chan{k}_raw": 950 + 50 * k for k in range(1, 18)},
            chan18_raw=65535,
            chancount=18,
            rssi=200,
        ),
    ),
    (
        "fd2100000a03c84c00000000803f000020c00000003e00008040000000800000d0400000f84090010102039b04",
        make_message(
            "COMMAND_LONG",
            target_system=1,
            target_component=2,
            command=400,
            confirmation=3,
            param1=1.0,
            param2=-2.5,
            param3=0.125,
            param4=4.0,
            param5=-0.0,
            param6=6.5,
            param7=7.75,
        ),
    ),
    (
        "fd0a00001503c84d00009001044dfbffffff01be81f2",
        make_message(
            "COMMAND_ACK",
            command=400,
            result=4,
            progress=77,
            result_param2=-5,
            target_system=1,
            target_component=190,
        ),
    ),
    (
        "fd2700002503c852000040e201000000003f000080be0000003e000040bf0000c03f000020c0000060400000c03e07018060"
        "39",
        make_message(
            "SET_ATTITUDE_TARGET",
            time_boot_ms=123456,
            q=(0.5, -0.25, 0.125, -0.75),
            body_roll_rate=1.5,
            body_pitch_rate=-2.5,
            body_yaw_rate=3.5,
            thrust=0.375,
            target_system=7,
            target_component=1,
            type_mask=128,
        ),
    ),
    (
        "fd3500001603c8540000f82a00000000c03f000020c00000a0c00000803e000000bf0000403f000080bf0000a03f0000c0bf"
        "0000e03f000000c0f80d01020168ea",
        make_message(
            "SET_POSITION_TARGET_LOCAL_NED",
            time_boot_ms=11000,
            target_system=1,
            target_component=2,
            coordinate_frame=1,
            type_mask=0x0DF8,
            x=1.5,
            y=-2.5,
            z=-5.0,
            vx=0.25,
            vy=-0.5,
            vz=0.75,
            afx=-1.0,
            afy=1.25,
            afz=-1.5,
            yaw=1.75,
            yaw_rate=-2.0,
        ),
    ),
    (
        "fd5100000b03c85d0000000000000001000001000000020000000000003f000080be0000803f000080bf000000000000803d"
        "0000003e0000403e0000803e0000a03e0000c03e0000e03e0000003f0000103f0000203f0000303f81dda4",
        make_message(
            "HIL_ACTUATOR_CONTROLS",
            time_usec=1 << 40,
            controls=(0.5, -0.25, 1.0, -1.0, *(i / 16 for i in range(12))),
            mode=129,
            flags=1 | (1 << 33),
        ),
    ),
    (
        "fd4100000c03c86b0000b168de3a000000000000003f0000a0bf00001cc10000003e000080be0000c03e0000603e000000bd"
        "0000e03e00e06e440000c0bf0020f44300007841ff1f0000020b3d",
        make_message(
            "HIL_SENSOR",
            time_usec=987654321,
            xacc=0.5,
            yacc=-1.25,
            zacc=-9.75,
            xgyro=0.125,
            ygyro=-0.25,
            zgyro=0.375,
            xmag=0.21875,
            ymag=-0.03125,
            zmag=0.4375,
            abs_pressure=955.5,
            diff_pressure=-1.5,
            pressure_alt=488.25,
            temperature=15.5,
            fields_updated=0x1FFF,
            id=2,
        ),
    ),
    (
        "fd2700000d03c8710000404b4c00000000004a52401cbd0be8fa2efbffffffffb200fb006affc80000809f8c030c014f46b4"
        "14",
        make_message(
            "HIL_GPS",
            time_usec=5000000,
            fix_type=3,
            lat=473977418,
            lon=-85455939,
            alt=-1234,
            eph=65535,
            epv=178,
            vel=251,
            vn=-150,
            ve=200,
            vd=-32768,
            cog=35999,
            satellites_visible=12,
            id=1,
            yaw=17999,
        ),
    ),
    (
        "fd2c00000e03c8720000808d5b0000000000204e00000000803d000000be0000803e000000bf0000403f3582000000002040"
        "24fa07c888a0",
        make_message(
            "HIL_OPTICAL_FLOW",
            time_usec=6000000,
            sensor_id=7,
            integration_time_us=20000,
            integrated_x=0.0625,
            integrated_y=-0.125,
            integrated_xgyro=0.25,
            integrated_ygyro=-0.5,
            integrated_zgyro=0.75,
            temperature=-1500,
            quality=200,
            time_delta_distance_us=33333,
            distance=2.5,
        ),
    ),
    (
        "fd4000000f03c8730000c0cf6a00000000000000003f000000bf0000003f000000bf0000803e000000bf0000403f4a52401c"
        "bd0be8fa407207009cffc800d4fe9001f40118fce90316fc3a96",
        make_message(
            "HIL_STATE_QUATERNION",
            time_usec=7000000,
            attitude_quaternion=(0.5, -0.5, 0.5, -0.5),
            rollspeed=0.25,
            pitchspeed=-0.5,
            yawspeed=0.75,
            lat=473977418,
            lon=-85455939,
            alt=488000,
            vx=-100,
            vy=200,
            vz=-300,
            ind_airspeed=400,
            true_airspeed=500,
            xacc=-1000,
            yacc=1001,
            zacc=-1002,
        ),
    ),
    (
        "fd2700001003c8840000401f00001400a00f0002000119ff0000003f0000803e0000003f0000003f000000bf000000bf5a8b"
        "c7",
        make_message(
            "DISTANCE_SENSOR",
            time_boot_ms=8000,
            min_distance=20,
            max_distance=4000,
            current_distance=512,
            type=0,
            id=1,
            orientation=25,
            covariance=255,
            horizontal_fov=0.5,
            vertical_fov=0.25,
            quaternion=(0.5, 0.5, -0.5, -0.5),
            signal_quality=90,
        ),
    ),
    (
        "fd0e00001103c8840000401f00001400a00f0002000119ffa93d",
        make_message(
            "DISTANCE_SENSOR",
            time_boot_ms=8000,
            min_distance=20,
            max_distance=4000,
            current_distance=512,
            type=0,
            id=1,
            orientation=25,
            covariance=255,
        ),
    ),
    (
        "fde900001203c84b010040548900000000000000c03f000020c0000060400000003f0000003f0000003f0000003f000000be"
        "0000803e0000c0be0000003f000020bf0000403f000000000000803e0000003f0000403f0000803f0000a03f0000c03f0000"
        "e03f0000004000001040000020400000304000004040000050400000604000007040000080400000884000009040000098"
        "400000a04000000000000000be000080be0000c0be000000bf000020bf000040bf000060bf000080bf000090bf0000a0bf00"
        "00b0bf0000c0bf0000d0bf0000e0bf0000f0bf000000c0000008c0000010c0000018c0000020c0140c0502ff27df",
        make_message(
            "ODOMETRY",
            time_usec=9000000,
            frame_id=20,
            child_frame_id=12,
            x=1.5,
            y=-2.5,
            z=3.5,
            q=(0.5, 0.5, 0.5, 0.5),
            vx=-0.125,
            vy=0.25,
            vz=-0.375,
            rollspeed=0.5,
            pitchspeed=-0.625,
            yawspeed=0.75,
            pose_covariance=tuple(i / 4 for i in range(21)),
            velocity_covariance=tuple(-i / 8 for i in range(21)),
            reset_counter=5,
            estimator_type=2,
            quality=-1,
        ),
    ),
]
NAMES = [f"{message.msgname}-{index}" for index, (_, message) in enumerate(GOLDEN)]
STREAM = [message for _, message in GOLDEN]
# By the same library: a signed HEARTBEAT, an ATTITUDE (not among them), a MAVLink 1 HEARTBEAT.
SIGNED = bytes.fromhex("fd0901001303c800000000000100020c810403fe0a0115cd5b0700007796a8175563")
UNKNOWN = bytes.fromhex("fd1c00001403c81e0000e8030000cdcccc3dcdcc4c3e9a99993ecdcccc3e0000003f9a99193f7ad4")
MAVLINK_1 = bytes.fromhex("fe090003010000000100020c8104031cc5")
KINDS = {kind.msgname: kind for kind in dialect().mavlink_map.values()}
# Longer than the longest frame: after it no frame can be incomplete.
FLUSH = bytes(300)


def frames(items=STREAM):
    return [encode(message, sequence=index) for index, message in enumerate(items)]


def plain(message):
    """Return the name and the fields of a message, which can be compared."""
    values = {name: getattr(message, name) for name in KINDS[message.msgname].fieldnames}
    return message.msgname, {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


ALL = [plain(message) for message in STREAM]


def decode(*pieces, decoder=None):
    """Return name and fields of the messages in pieces of a stream."""
    decoder = decoder or Decoder()
    return [plain(message) for piece in pieces for message in decoder.feed(piece)]


def drawn(kind, rng):
    """Return random values for the fields of a message."""

    def one(form):
        if form in ("float", "double"):
            return struct.unpack("<f", struct.pack("<f", rng.uniform(-1e4, 1e4)))[0]
        bits, signed = int("".join(filter(str.isdigit, form))), form[0] != "u"
        return rng.randrange(-(1 << bits - 1), 1 << bits - 1) if signed else rng.randrange(1 << bits)

    values = {}
    for name, form, place in zip(kind.fieldnames, kind.fieldtypes, kind.orders, strict=True):
        count = kind.array_lengths[place]
        if form == "char":
            values[name] = bytes(rng.randrange(1, 128) for _ in range(max(count, 1)))
        else:
            values[name] = tuple(one(form) for _ in range(count)) if count else one(form)
    return values


@pytest.fixture(scope="module")
def transcript():
    return [
        bytes.fromhex(text) for _, _, text in json.loads(gzip.decompress(TRANSCRIPT.read_bytes()))["frames"]
    ]


def test_every_frame_of_a_real_px4_is_decoded_and_encoded_byte_for_byte(transcript):
    """If this fails, layout, zero truncation or checksum differ from PX4's."""
    seen = set()
    for frame in transcript:
        (message,) = Decoder().feed(frame)
        assert encode(message, sequence=frame[4], system=frame[5], component=frame[6]) == frame
        seen.add(message.msgname)
    assert seen == {"HEARTBEAT", "COMMAND_LONG", "HIL_ACTUATOR_CONTROLS", "HIL_SENSOR", "HIL_GPS"}


def test_a_whole_session_in_one_stream_leaves_no_byte_over(transcript):
    """If this fails, consecutive frames are lost, repeated or out of order."""
    decoder = Decoder()
    stream = b"".join(transcript)
    assert decode(stream, decoder=decoder) == [message for frame in transcript for message in decode(frame)]
    assert decoder.bad_byte_count == 0


@pytest.mark.parametrize(("text", "message"), GOLDEN, ids=NAMES)
def test_frames_are_those_of_mavlinks_own_library(text, message):
    """If this fails, a field's place, width, sign or name, or a message's id or CRC_EXTRA, is wrong."""
    frame = bytes.fromhex(text)
    assert encode(message, sequence=frame[4], system=3, component=200) == frame
    assert decode(frame) == [plain(message)]


@pytest.mark.parametrize("seed", range(3))
def test_templates_give_the_bytes_of_pymavlink(seed):
    """If this fails, a template has a field at a wrong place, or reads it from there."""
    rng = random.Random(seed)
    for name, kind in KINDS.items():
        values, template = drawn(kind, rng), Template(kind)
        writer = dialect().MAVLink(None, 7, 51)
        writer.seq = 77
        frame = bytes(kind(**values).pack(writer))
        assert template.frame(template.type(**values), 77, 7, 51) == frame, name
        assert template.unpack(frame[10:-2])._asdict() == values, name
        names = rng.sample(kind.fieldnames, len(kind.fieldnames))
        assert template.order(*names)([values[field] for field in names]) == template.type(**values), name


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: f[:-1],
        lambda f: f + b"\xfd",
        lambda f: b"\xfe" + f[1:],
        lambda f: f[:-1] + b"?",
        lambda _: b"",
    ],
)
def test_only_one_whole_frame_is_taken_at_once(damage):
    """The answers of the lockstep would be lost, or damaged ones be taken, by the shortcut for one frame."""
    answer = make_message("HIL_ACTUATOR_CONTROLS", time_usec=4000, controls=(0.5,) * 16, mode=129)
    frame, decoder = encode(answer, sequence=7), Decoder("HIL_ACTUATOR_CONTROLS")
    assert decoder.only(frame) == answer
    assert decoder.only(damage(frame)) is None
    assert Decoder("HIL_GPS").only(frame) is None
    assert list(decoder.feed(frame[:20])) == []
    # The rest of a frame that has begun.
    assert decoder.only(frame[20:]) is None
    assert list(decoder.feed(frame[20:])) == [answer]


def test_fields_that_are_not_given_are_zero():
    """If this fails, a message cannot be made without all of its fields, or with others than zero."""
    for name, kind in KINDS.items():
        message = make_message(name)
        assert encode(message, sequence=0)[1] == 1, name
        assert [*plain(message)[1]] == kind.fieldnames


def test_a_wrong_field_is_refused():
    """If this fails, a misspelt field is sent as zero."""
    for name in ("HIL_SENSOR", "COMMAND_LONG"):
        with pytest.raises(TypeError, match="parm1"):
            make_message(name, parm1=1.0)


def test_the_messages_of_every_step_have_templates():
    """If this fails, no golden frame checks a template, or all messages take the slow path."""
    assert {message.msgname for message in STREAM if isinstance(message, tuple)} == FREQUENT


def test_only_wanted_messages_are_decoded():
    """If this fails, a listener gets messages that it does not know, or misses its own."""
    names = {"HIL_GPS", "STATUSTEXT", "HIL_SENSOR"}
    found = decode(b"".join(frames()), decoder=Decoder(*names))
    assert found == [plain(message) for message in STREAM if message.msgname in names]


@pytest.mark.parametrize("message", STREAM, ids=NAMES)
def test_zero_bytes_at_the_end_may_be_sent_or_not(message):
    """If this fails, frames without zero truncation, which are valid, are rejected."""
    short = encode(message, sequence=0)
    kind = KINDS[message.msgname]
    whole = short[10:-2].ljust(kind.unpacker.size, b"\0")
    assert short[1] == max(1, len(whole.rstrip(b"\0")))
    frame = bytes((0xFD, len(whole))) + short[2:10] + whole
    frame += dialect().mcrf4xx(frame[1:] + bytes((kind.crc_extra,))).to_bytes(2, "little")
    assert decode(frame) == [plain(message)]


@pytest.mark.parametrize("signed", [False, True])
def test_a_stream_may_be_cut_anywhere(signed):
    """If this fails, a message is lost when a read ends inside it."""
    stream = b"".join([SIGNED if signed else b"", *frames()])
    whole = decode(stream)
    assert whole[-len(STREAM) :] == ALL
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == whole
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == whole


def test_a_message_comes_with_its_last_byte():
    """If this fails, a lockstep answer waits for bytes that come only after the next step."""
    frame = frames()[0]
    decoder = Decoder()
    assert list(decoder.feed(frame[:-1])) == []
    assert len(list(decoder.feed(frame[-1:]))) == 1


def test_bytes_between_frames_are_passed_over_and_counted():
    """If this fails, noise costs a message, or is not counted."""
    noise = bytes(byte for byte in range(256) if byte != 0xFD)
    decoder = Decoder()
    stream = b"".join(noise + frame for frame in frames()) + noise
    assert decode(stream, decoder=decoder) == ALL
    assert decoder.bad_byte_count == len(noise) * (len(STREAM) + 1)


def test_no_noise_whatever_loses_a_message():
    """If this fails, noise like a frame's beginning swallows the next frame."""
    rng = random.Random(1)
    starts = [frame[:size] for frame in frames() for size in (1, 5, 9, 10, 11, len(frame) - 1)]
    long_start = b"\xfd\xff" + frames()[0][2:10]
    for _ in range(200):
        noise = [
            rng.choice([rng.randbytes(rng.randrange(80)), rng.choice(starts), long_start, b"\xfd" * 20])
            for _ in STREAM
        ]
        stream = b"".join(n + frame for n, frame in zip(noise, frames(), strict=True)) + FLUSH
        cuts = sorted(rng.sample(range(len(stream)), 5))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert decode(*pieces) == ALL


def test_a_frame_with_any_byte_wrong_is_dropped_alone():
    """If this fails, a corrupt message is accepted, or its neighbours are lost."""
    first, middle, last = frames(STREAM[:3])
    for at in range(len(middle)):
        for change in (0x01, 0x80, 0xFF):
            broken = bytearray(middle)
            broken[at] ^= change
            assert decode(first + broken + last + FLUSH) == [ALL[0], ALL[2]]


def test_signed_frames_are_read_and_their_signature_skipped():
    """If this fails, signed links cannot be read."""
    decoder = Decoder()
    found = decode(SIGNED + frames()[2] + SIGNED, decoder=decoder)
    assert found == [ALL[0], ALL[2], ALL[0]]
    assert decoder.bad_byte_count == 0


@pytest.mark.parametrize("other", [UNKNOWN, MAVLINK_1], ids=["unknown id", "MAVLink 1"])
def test_what_is_not_of_the_link_is_passed_over(other):
    """If this fails, an unknown message stops the link or is misread."""
    first, second = frames(STREAM[:2])
    decoder = Decoder(*(message.msgname for message in STREAM))
    assert decode(other + first + other + other + second, decoder=decoder) == ALL[:2]
    assert decoder.bad_byte_count == 3 * len(other)


def test_a_link_that_brings_noise_for_ever_does_not_grow():
    """If this fails, a serial line at the wrong baud rate fills the memory."""
    decoder = Decoder()
    rng = random.Random(2)
    for _ in range(200):
        assert list(decoder.feed(rng.randbytes(1000))) == []
    assert len(decoder._waiting) <= 10 + 255 + 2 + 13


def test_sequence_and_sender_are_in_the_header():
    """If this fails, receivers count lost frames, or mix up vehicles."""
    for sequence, byte in ((0, 0), (255, 255), (256, 0), (1_000_001, 1_000_001 % 256)):
        frame = encode(make_message("HEARTBEAT"), sequence=sequence, system=9, component=51)
        assert list(frame[4:7]) == [byte, 9, 51]


def test_numbers_that_are_none_come_through():
    """If this fails, NaN outputs are not passed on to the code that rejects them."""
    sent = make_message("HIL_ACTUATOR_CONTROLS", controls=(math.nan, math.inf, -math.inf, *[0.0] * 13))
    (got,) = Decoder().feed(encode(sent, sequence=0))
    assert math.isnan(got.controls[0])
    assert got.controls[1:3] == (math.inf, -math.inf)


def test_bytes_of_other_messages_are_passed_on():
    """If this fails, others on an autopilot's link lose messages, or get all of its answers to decode."""
    wanted = [encode(message, sequence=0) for message in STREAM if message.msgname == "HIL_ACTUATOR_CONTROLS"]
    others = [encode(message, sequence=0) for message in STREAM if message.msgname != "HIL_ACTUATOR_CONTROLS"]
    stream = b"".join(frame + wanted[0] for frame in others)
    rng = random.Random(3)
    for _ in range(50):
        cuts = sorted(rng.sample(range(len(stream)), 9))
        rest: list[bytes] = []
        decoder = Decoder("HIL_ACTUATOR_CONTROLS", rest=rest.append)
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert len(decode(*pieces, decoder=decoder)) == len(others)
        assert b"".join(rest) == b"".join(others)
