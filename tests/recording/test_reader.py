"""Tests of reading logs."""

from pathlib import Path

import numpy as np
import pytest
from mcap.writer import Writer
from recording_stand_ins import GyroReading, Simulation, Vehicle, random_flight

from pegasus.base.errors import ConfigError
from pegasus.recording import McapRecorder, read_log
from pegasus.recording.messages import Layout
from pegasus.recording.reader import Log


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of several chunks."""
    path = tmp_path_factory.mktemp("run") / "flight.mcap"
    random_flight(McapRecorder(path), steps=1000)
    return read_log(path)


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
        log = read_log(tmp_path / "damaged")
        assert is_beginning(log, whole)
        lengths.append(len(log["iris/state"]) if "iris/state" in log else 0)
        assert log.complete == (lengths[-1] == len(whole["iris/state"]))
    assert lengths[0] == 0
    assert len(set(lengths)) > 3


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
    """A topic would need to be written in full, or a short name would give another topic."""
    for name in ("iris/sensors/gyro", "/iris/sensors/gyro", "iris/gyro", "gyro"):
        assert whole[name] is whole["iris/sensors/gyro"]


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
        schema = writer.register_schema("other.Thing", "protobuf", b"\x00\x01")
        channel = writer.register_channel("/other", "protobuf", schema)
        writer.add_message(channel, 0, b"\x00\xff", 0)
        writer.finish()
    log = read_log(tmp_path / "log")
    assert log.complete
    assert not log.series
    with pytest.raises(ConfigError, match="no topics at all"):
        log["other"]
