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

KINDS = {kind.msgname: kind for kind in dialect().mavlink_map.values()}


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


OTHERS = (
    *("ATTITUDE_QUATERNION", "LOCAL_POSITION_NED", "GPS_GLOBAL_ORIGIN", "STATUSTEXT"),
    *("RC_CHANNELS", "COMMAND_LONG", "COMMAND_ACK"),
)
RANDOM = random.Random(0)
BEAT = {"type": 2, "autopilot": 12, "base_mode": 129, "custom_mode": 65536, "system_status": 4}
STREAM = [make_message("HEARTBEAT", **BEAT, mavlink_version=3), make_message("HEARTBEAT")]
STREAM += [make_message("DISTANCE_SENSOR", type=1, covariance=255)]
STREAM += [make_message(name, **drawn(KINDS[name], RANDOM)) for name in (*sorted(FREQUENT), *OTHERS)]
NAMES = [f"{message.msgname}-{index}" for index, message in enumerate(STREAM)]
# Of pymavlink 2.4.50: the first message signed, an ATTITUDE (not among them), a MAVLink 1 HEARTBEAT.
SIGNED = bytes.fromhex("fd0901001303c800000000000100020c810403fe0a0115cd5b0700007796a8175563")
UNKNOWN = bytes.fromhex("fd1c00001403c81e0000e8030000cdcccc3dcdcc4c3e9a99993ecdcccc3e0000003f9a99193f7ad4")
MAVLINK_1 = bytes.fromhex("fe090003010000000100020c8104031cc5")
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
        message = template.type(**values) if name in FREQUENT else kind(**values)
        assert encode(message, sequence=77, system=7, component=51) == frame, name
        assert decode(frame) == [plain(message)], name
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
