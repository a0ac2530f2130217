"""Tests of reading logs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
from recording_stand_ins import GyroReading, Simulation, Vehicle, random_flight

from pegasus.base.errors import ConfigError
from pegasus.recording import McapRecorder, message_index, read_log
from pegasus.recording.messages import Layout
from pegasus.recording.reader import Log


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of several chunks."""
    path = tmp_path_factory.mktemp("run") / "flight.mcap"
    random_flight(McapRecorder(path), steps=1000)
    return read_log(path)


def is_equal(log: Log, whole: Log, topic: str) -> bool:
    """Tell whether all messages of a topic are the same in two logs."""
    mine, others = log[topic], whole[topic]
    return mine.time.tobytes() == others.time.tobytes() and all(
        values.tobytes() == others.fields[name].tobytes() for name, values in mine.fields.items()
    )


def is_beginning(part: Log, whole: Log) -> bool:
    """Tell whether a log's content is the beginning of the complete log's content."""
    return all(
        values.tobytes() == whole[topic].fields[name][: len(values)].tobytes()
        for topic, series in part.series.items()
        for name, values in series.fields.items()
        if values.dtype.kind != "U"
    )


def test_a_log_cut_anywhere_gives_what_is_there(tmp_path: Path, whole: Log) -> None:
    """A truncated log could not be read, or would give wrong values."""
    data = whole.path.read_bytes()
    lengths = []
    for cut in [8, 9, 20, 100, *range(2000, len(data), len(data) // 40), len(data) - 1]:
        (tmp_path / "cut").write_bytes(data[:cut])
        log = read_log(tmp_path / "cut")
        assert not log.complete
        assert is_beginning(log, whole)
        lengths.append(len(log["iris/state"]) if "iris/state" in log else 0)
    assert lengths == sorted(lengths)
    assert lengths[0] == 0
    assert lengths[-1] == len(whole["iris/state"])
    assert len(set(lengths)) > 3


def test_a_damaged_log_is_read_up_to_the_damage(tmp_path: Path, whole: Log) -> None:
    """A flipped bit would give wrong numbers, or lose the data before it."""
    data = whole.path.read_bytes()
    lengths = []
    for place in np.linspace(500, 0.9 * len(data), 60).astype(int):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        (tmp_path / "damaged").write_bytes(damaged)
        log = read_log(tmp_path / "damaged", verify=True)
        assert is_beginning(log, whole)
        lengths.append(len(log["iris/state"]) if "iris/state" in log else 0)
        assert log.complete == (lengths[-1] == len(whole["iris/state"]))
    assert lengths[0] == 0
    assert len(set(lengths)) > 3


def test_damage_is_an_error_when_a_topic_needs_what_is_damaged(tmp_path: Path, whole: Log) -> None:
    """A flipped bit in a message or its index would give wrong numbers, or drop messages silently."""
    data, path = whole.path.read_bytes(), tmp_path / "damaged"
    places = np.random.default_rng(1).integers(500, 0.9 * len(data), 60).tolist()
    with whole.path.open("rb") as file:
        for chunk in make_reader(file).get_summary().chunk_indexes[:3]:
            begin = chunk.chunk_start_offset + chunk.chunk_length
            places += range(begin, begin + chunk.message_index_length, 37)
    errors = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        log, noticed = read_log(path), []
        for topic in log.topics:
            try:
                assert is_equal(log, whole, topic)
            except ConfigError as error:
                noticed.append(str(error))
        for line in noticed:
            assert line.startswith(f"{path}: is damaged between ")
            assert line.endswith("read_log(path, verify=True) reads what comes before")
        errors += bool(noticed)
    assert errors > 60


def test_a_damaged_summary_is_not_believed(tmp_path: Path, whole: Log) -> None:
    """Messages would be missing, since the summary no longer tells where they are."""
    data, path = whole.path.read_bytes(), tmp_path / "damaged"
    with whole.path.open("rb") as file:
        last = make_reader(file).get_summary().metadata_indexes[-1]
    begin = data.rindex(last.offset.to_bytes(8, "little")) - 2000
    for place in range(begin, len(data) - 8, 61):
        damaged = bytearray(data)
        damaged[place] ^= 0x20
        path.write_bytes(damaged)
        log = read_log(path)
        assert all(is_equal(log, whole, topic) for topic in whole.topics)


def test_only_the_chunks_that_are_needed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a log, or reading one topic or second of it, would take as long as reading all of it."""
    read: list[int] = []
    load = message_index._load
    monkeypatch.setattr(
        message_index,
        "_load",
        lambda file, chunk: read.append(chunk.index.chunk_start_offset) or load(file, chunk),
    )
    random_flight(McapRecorder(tmp_path / "log"), steps=3000)
    log = read_log(tmp_path / "log")
    with log.path.open("rb") as file:
        chunks = make_reader(file).get_summary().chunk_indexes
    part = log.between(1.0, 1.5).select("gyro")
    assert not read
    assert part["gyro"].time[[0, -1]].tolist() == [1.0, 1.496]
    times = [(chunk.message_start_time / 1e9, chunk.message_end_time / 1e9) for chunk in chunks]
    assert len(read) == sum(first < 1.5 and last >= 1.0 for first, last in times) < len(chunks) / 2
    assert len(log["gyro"]) == 3000
    before = len(read)
    assert len(log["iris/state"]) == 1500
    assert len(set(read)) == len(read) == before


@pytest.mark.parametrize("count", [1, 150])
def test_a_topic_is_the_same_by_the_index_and_by_a_scan(tmp_path: Path, count: int) -> None:
    """Small messages, whose chunks are kept, or large ones would be lost or mixed up."""
    path = tmp_path / "log"
    random_flight(McapRecorder(path), steps=200, count=count)
    log, scanned = read_log(path), read_log(path, verify=True)
    assert log.topics == scanned.topics
    assert log.vehicles == scanned.vehicles
    assert log.metadata == scanned.metadata
    assert log.duration == scanned.duration
    for topic in scanned.topics:
        assert is_equal(log, scanned, topic)
        assert is_equal(log.between(0.2, 0.5), scanned.between(0.2, 0.5), topic)
        assert log[topic].comments == scanned[topic].comments


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 5000},
        {"compression": CompressionType.NONE},
        {"use_chunking": False},
        {"index_types": IndexType.NONE},
        {"repeat_channels": False},
        {"use_summary_offsets": False, "use_statistics": False},
    ],
)
def test_a_log_that_another_program_wrote_again_is_the_same(
    tmp_path: Path, whole: Log, options: dict[str, Any]
) -> None:
    """A log that a tool has cut, merged or repaired could not be read, or lack messages."""
    path = tmp_path / "log"
    with whole.path.open("rb") as source, path.open("wb") as file:
        reader, writer = make_reader(source), Writer(file, **options)
        writer.start()
        for record in reader.iter_metadata():
            writer.add_metadata(record.name, record.metadata)
        schemas: dict[int, int] = {}
        channels: dict[int, int] = {}
        for schema, channel, message in reader.iter_messages():
            if schema.id not in schemas:
                schemas[schema.id] = writer.register_schema(schema.name, schema.encoding, schema.data)
            if channel.id not in channels:
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, schemas[schema.id], channel.metadata
                )
            writer.add_message(
                channels[channel.id], message.log_time, message.data, message.publish_time, message.sequence
            )
        writer.finish()
    log = read_log(path)
    assert log.metadata == whole.metadata
    assert all(is_equal(log, whole, topic) for topic in whole.topics)


def test_a_file_that_is_replaced_or_gone_is_one_line(tmp_path: Path) -> None:
    """A topic would hold parts of two runs if a run is recorded to the file of an open log."""
    path = tmp_path / "log"
    random_flight(McapRecorder(path), steps=20)
    log, early = read_log(path), read_log(path)["gyro"]
    random_flight(McapRecorder(path), steps=50)
    with pytest.raises(ConfigError, match="has changed since it was opened; read it again with read_log"):
        log["gyro"]
    assert len(early) == 20
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory; keep the file"):
        log["gyro"]


def test_log_says_what_it_holds(whole: Log) -> None:
    """A log would not list its topics and fields."""
    assert whole.complete
    assert whole.vehicles == {"iris": 1}
    assert set(whole.series) == {
        *(f"iris/{signal}" for signal in ("state", "command", "reference")),
        *(f"iris/sensors/{sensor}" for sensor in ("gyro", "fix")),
    }
    assert whole["iris/reference"].segment[[0, -1]].tolist() == ["climb", "circle"]


def test_a_runs_folder_stands_for_its_log(whole: Log) -> None:
    """`pegasus plot RUN` would not find the log of a run."""
    assert len(read_log(whole.path.parent)["iris/state"]) == len(whole["iris/state"])


@pytest.mark.parametrize("content", [None, b"", b"not a log", b"\x89MCAP1\r\n"])
def test_what_is_no_log_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    """A wrong path would end in a traceback."""
    path = tmp_path / "log.mcap"
    if content is not None:
        path.write_bytes(content)
    problem = "No such file" if content is None else "not an MCAP file"
    with pytest.raises(ConfigError, match=problem) as error:
        read_log(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_an_unknown_topic_or_field_is_a_short_line_with_the_likely_one(whole: Log) -> None:
    """The error for a wrong topic would list every topic of a fleet, or not help."""
    with pytest.raises(ConfigError, match=r"'iris/stat': no such topic; did you mean iris/state\?"):
        whole["iris/stat"]
    with pytest.raises(ConfigError, match=r"'gyros': no such topic; did you mean gyro\?"):
        whole["gyros"]
    with pytest.raises(ConfigError, match=r"it holds iris/state.* and 1 more; log.topics lists them"):
        whole["voltage"]
    with pytest.raises(AttributeError, match=r"iris/state has no field 'positions'.*did you mean position\?"):
        whole["iris/state"].positions  # noqa: B018


def test_the_error_of_a_fleet_is_short(tmp_path: Path) -> None:
    """A misspelt topic in a log of fifty vehicles would print 7 kB."""
    random_flight(McapRecorder(tmp_path / "log"), steps=3, names=tuple(f"iris{k}" for k in range(50)))
    log = read_log(tmp_path / "log")
    with pytest.raises(ConfigError) as error:
        log["nonsense"]
    assert len(str(error.value).removeprefix(str(log.path))) < 200
    assert len(repr(log).replace(str(log.path), "")) < 120


def test_short_names_stand_for_topics(whole: Log) -> None:
    """A topic would need its full name, or a short name would give another topic or be denied by `in`."""
    for name in ("iris/sensors/gyro", "/iris/sensors/gyro", "iris/gyro", "gyro"):
        assert whole[name] is whole["iris/sensors/gyro"]
        assert name in whole
    assert "sensors" not in whole
    assert 3 not in whole
    assert list(whole) == whole.topics


def test_a_name_that_two_topics_end_in_is_refused(tmp_path: Path) -> None:
    """`log["state"]` would silently be that of the first of two vehicles."""
    random_flight(McapRecorder(tmp_path / "log"), steps=3, names=("a", "b"))
    with pytest.raises(ConfigError, match="no such topic"):
        read_log(tmp_path / "log")["state"]


def test_times_and_topics_are_chosen_before_decoding(whole: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a log would be wrong at its borders, or reading it would decode all of the log."""
    decoded: list[int] = []
    decode = Layout.decode
    monkeypatch.setattr(
        Layout, "decode", lambda layout, data: decoded.append(len(data)) or decode(layout, data)
    )
    part = read_log(whole.path).between(1.0, 2.0).select("*/gyro", "iris/state")
    assert part.topics == ["iris/state", "iris/sensors/gyro"]
    assert part["gyro"].time.tolist() == [k / 250 for k in range(250, 500)]
    kept = (whole["gyro"].time >= 1.0) & (whole["gyro"].time < 2.0)
    np.testing.assert_array_equal(part["gyro"].angular_velocity, whole["gyro"].angular_velocity[kept])
    assert decoded[0] == 250
    assert part.duration == pytest.approx(0.996)
    with pytest.raises(ConfigError, match="no such topic"):
        whole.select("iris/*", "hexa/*")
    with pytest.raises(ConfigError, match=r"start = 3.0: must not be after the end, 2 s"):
        whole.between(3.0, 2.0)


def test_reprs_are_one_line(whole: Log) -> None:
    """Printing a log or a topic would fill the screen with arrays."""
    assert repr(whole) == f"<Log {whole.path}: iris, 5 topics, 3.996 s>"
    assert repr(whole["gyro"]) == (
        "<Series iris/sensors/gyro: 1000 messages, 0 to 3.996 s: angular_velocity (1, 3), stamp>"
    )


def test_what_is_not_a_number_comes_back(tmp_path: Path) -> None:
    """A reading without a value, or out of range, would break the log or come back as a number."""
    vehicle = Vehicle()
    vehicle.new_readings = {"gyro": GyroReading(0.0, np.array([[1.0, np.nan, -np.inf]]))}
    recorder = McapRecorder(tmp_path / "log")
    recorder.start(Simulation([vehicle]))
    recorder.record(Simulation([vehicle]))
    recorder.stop()
    values = read_log(tmp_path / "log")["iris/sensors/gyro"].angular_velocity
    np.testing.assert_array_equal(values, [[[1.0, np.nan, -np.inf]]])


def test_topics_are_decoded_when_they_are_accessed(whole: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening the log of a fleet would take as long as decoding all of its topics."""
    decoded = []
    decode = Layout.decode
    monkeypatch.setattr(Layout, "decode", lambda layout, data: decoded.append(layout) or decode(layout, data))
    log = read_log(whole.path)
    assert "iris/state" in log
    assert not decoded
    assert log["iris/state"] is log["iris/state"]
    assert len(decoded) == 1


def test_topics_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    """A log that a viewer or another recorder added to could not be read."""
    with (tmp_path / "log").open("wb") as file:
        writer = Writer(file)
        writer.start()
        writer.add_metadata("pegasus", {"version": "0.1.0"})
        schema = writer.register_schema("other.Thing", "protobuf", b"\x00\x01")
        channel = writer.register_channel("/other", "protobuf", schema)
        writer.add_message(channel, 0, b"\x00\xff", 0)
        writer.finish()
    log = read_log(tmp_path / "log")
    assert log.complete
    assert not log.series
    with pytest.raises(ConfigError, match="no topics at all"):
        log["other"]


def test_a_log_of_another_program_is_refused(tmp_path: Path) -> None:
    """A bag of other software would be an empty log without a word."""
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="other")
        schema = writer.register_schema("std_msgs/msg/Float64", "ros2msg", b"float64 data")
        channel = writer.register_channel("/x", "cdr", schema)
        writer.add_message(channel, log_time=0, publish_time=0, data=b"\0\1\0\0" + bytes(8))
        writer.finish()
    for verify in (False, True):
        with pytest.raises(ConfigError, match="was not recorded by Pegasus; it holds the topics /x"):
            read_log(tmp_path / "bag.mcap", verify=verify)
