"""Tests of the MCAP recorder."""

import errno
import json
import math
import os
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import mcap.records
import numpy as np
import pytest
import zstandard
from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from recording_stand_ins import FixReading, GyroReading, Simulation, Vehicle, random_flight, randomize
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

import pegasus
from pegasus.base.errors import ConfigError
from pegasus.contracts.reading import Reading
from pegasus.model.machine import Channel
from pegasus.recording import McapRecorder, read_log
from pegasus.recording.mcap_file import McapFile
from tests.waits import LIMIT


def messages(path: Path, topic: str | None = None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield schema, channel and message of each message, with the mcap package's seeking reader."""
    with path.open("rb") as file:
        yield from make_reader(file, validate_crcs=True).iter_messages(topics=topic)


def read_chunks(path: Path) -> list[Any]:
    """Return the index of a log's chunks."""
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    return list(summary.chunk_indexes)


def same_bits(read: np.ndarray, shown: np.ndarray) -> bool:
    """Tell whether two arrays have the same type and bits, including the sign of zero."""
    return read.dtype == shown.dtype and read.shape == shown.shape and read.tobytes() == shown.tobytes()


def test_identical_runs_give_identical_bytes(tmp_path: Path) -> None:
    """Equal runs would write different logs, through wall time or packing."""
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        random_flight(McapRecorder(tmp_path / name), steps=1500, seed=seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert len(read_chunks(tmp_path / "a")) > 3
    assert a == b
    assert a != c


def sent(topic, series):
    """Return the fields of the messages of a topic: those of commands hold all channels."""
    if topic.endswith("/command"):
        return {"command": np.stack(list(series.fields.values()), axis=-1)}
    return series.fields


@pytest.mark.parametrize("count", [1, 3])
def test_messages_round_trip_bit_for_bit(tmp_path: Path, count: int) -> None:
    """A log would contain other numbers than the simulation."""
    shown = random_flight(McapRecorder(tmp_path / "log"), steps=300, count=count)
    log = read_log(tmp_path / "log")
    due = range(0, 300, 2)
    for topic in ("iris/state", "iris/reference", "iris/command", "iris/sensors/gyro", "iris/sensors/fix"):
        series, items = log[topic], shown[topic]
        items = items if "sensors" in topic else [items[step] for step in due]
        assert series.time.tolist() == [t for t, _ in items]
        for k, (name, values) in enumerate(series.fields.items()):
            wanted = [item[:, k] if topic == "iris/command" else getattr(item, name) for _, item in items]
            assert same_bits(values, np.array(wanted)), (topic, name)
    assert set(log["iris/state"].fields) == {f.name for f in fields(shown["iris/state"][0][1])} - {"rotation"}
    assert list(log["iris/command"].fields) == [f"rotor_{j}" for j in range(4)]
    assert log["iris/state"].position.shape == (150, count, 3)
    assert log["iris/sensors/fix"].satellite_count.dtype == np.int64
    assert log["iris/sensors/fix"].speed.dtype == np.float32


@pytest.mark.parametrize("rate", [250.0, 333.0, 1000.0])
def test_states_come_at_their_exact_rate(tmp_path: Path, rate: float) -> None:
    """The log's rate would depend on the rate of the physics."""
    simulation = Simulation([Vehicle()], rate=rate)
    recorder = McapRecorder(tmp_path / "log", state_rate=100.0)
    recorder.start(simulation)
    for step in range(int(3 * rate)):
        simulation.step_count = step
        recorder.record(simulation)
    recorder.stop()
    time = read_log(tmp_path / "log")["iris/state"].time
    late = time - np.arange(300) / 100
    assert len(time) == 300
    assert late.min() > -1e-9
    assert late.max() < 1 / rate


@pytest.mark.parametrize(
    ("rate", "every"), [(50.0, 1), (100.0, 1), (250.0, 2), (333.0, 3), (400.0, 4), (1000.0, 10)]
)
def test_states_come_at_even_steps(tmp_path: Path, rate: float, every: int) -> None:
    """The interval between recorded states would vary, and so would derivatives."""
    random_flight(McapRecorder(tmp_path / "log"), steps=10 * every, rate=rate)
    time = read_log(tmp_path / "log")["iris/state"].time
    np.testing.assert_allclose(time, np.arange(10) * every / rate, atol=1e-9)


def test_state_rate_above_the_physics_gives_one_state_per_step(tmp_path: Path) -> None:
    """A slow simulation could not be recorded with the default rate."""
    random_flight(McapRecorder(tmp_path / "log", state_rate=100.0), steps=40, rate=50.0)
    assert len(read_log(tmp_path / "log")["iris/state"]) == 40


def test_stamps_are_simulation_time(tmp_path: Path) -> None:
    """Messages would be stamped with another clock or with a rounded time."""
    random_flight(McapRecorder(tmp_path / "log"), steps=100, rate=333.0)
    stamps = [(m.log_time, m.publish_time) for _, _, m in messages(tmp_path / "log", "/iris/sensors/gyro")]
    due = [math.ceil(k * 333 / 250) for k in range(len(stamps))]
    assert stamps == [(round(step / 333 * 1e9),) * 2 for step in due]


def decoded(path: Path, topic: str | None = None) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield schema, channel, message and content of each message, with the decoder of mcap-ros2-support."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        yield from reader.iter_decoded_messages(topics=topic)


def flat(values: Any) -> list[Any]:
    """Return a value as a list of its numbers or texts."""
    return np.ravel(values).tolist()


@pytest.mark.parametrize("count", [1, 3])
def test_another_reader_decodes_the_same_numbers(tmp_path: Path, count: int) -> None:
    """Foxglove would misread the log."""
    random_flight(McapRecorder(tmp_path / "log"), steps=300, count=count)
    log, seen, kinds = read_log(tmp_path / "log"), Counter[str](), set()
    for schema, channel, message, content in decoded(tmp_path / "log"):
        topic = channel.topic.removeprefix("/")
        kinds.add(schema.name)
        if topic in log:
            series, k = log[topic], seen[topic]
            assert series.time[k] == message.log_time / 1e9
            assert {name: flat(getattr(content, name)) for name in content.__slots__} == {
                name: flat(values[k]) for name, values in sent(topic, series).items()
            }
        seen[topic] += 1
    assert {topic: seen[topic] for topic in log.series} == {t: len(s) for t, s in log.series.items()}
    ours = {f"pegasus_msgs/msg/{name}" for name in ("VehicleState", "Command", "Reference")}
    ours |= {f"recording_stand_ins_msgs/msg/{name}" for name in ("GyroReading", "FixReading")}
    assert kinds == ours | {f"foxglove_msgs/msg/{name}" for name in ("FrameTransforms", "SceneUpdate", "Log")}


def test_rosbags_decodes_the_log_of_a_mixed_fleet(tmp_path: Path) -> None:
    """Rosbags allows one definition of a type, and would refuse logs of vehicles of unlike rotor counts."""
    vehicles = [Vehicle("iris"), Vehicle("hexa", 2, 6)]
    simulation = Simulation(vehicles)
    recorder = McapRecorder(tmp_path / "log.mcap", state_rate=250.0)
    recorder.start(simulation)
    for step in range(40):
        simulation.step_count = step
        for vehicle in vehicles:
            randomize(vehicle, np.random.default_rng(step), step / 250)
        recorder.record(simulation)
    recorder.stop()
    log, seen = read_log(tmp_path / "log.mcap"), Counter[str]()
    with AnyReader([tmp_path / "log.mcap"], default_typestore=get_typestore(Stores.EMPTY)) as reader:
        for connection, _, data in reader.messages():
            topic, content = connection.topic.removeprefix("/"), reader.deserialize(data, connection.msgtype)
            if topic in log:
                for name, values in sent(topic, log[topic]).items():
                    assert flat(getattr(content, name)) == flat(values[seen[topic]])
            seen[topic] += 1
    assert seen == {"log": 2} | {
        f"{name}/{kind}": 1 if kind in ("model", "path") else 40
        for name in ("iris", "hexa")
        for kind in ("state", "command", "reference", "tf", "model", "path")
    }


def test_commands_are_recorded_by_channel(tmp_path: Path) -> None:
    """Logs would hold commands without names and units, or need as many as rotors."""
    vehicle = Vehicle("plane", 2)
    vehicle.channels = (Channel("throttle", "", 0.0, 1.0), Channel("aileron", "rad", -0.4, 0.4))
    vehicle.columns["limited_command"] = np.array([[0.5, 0.1], [0.75, -0.1]])
    simulation, recorder = Simulation([vehicle]), McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    recorder.record(simulation)
    recorder.stop()
    command = read_log(tmp_path / "log")["plane/command"]
    assert command.throttle.tolist() == [[0.5, 0.75]]
    assert command.aileron.tolist() == [[0.1, -0.1]]
    table = command.to_pandas(copy=1)
    assert table.attrs["units"] == {"aileron": "rad"}
    assert table.iloc[0].to_dict() == {"throttle": 0.75, "aileron": -0.1}


def test_joints_are_recorded_by_name(tmp_path: Path) -> None:
    """Logs would lack the deflections of control surfaces, or mix them up."""
    with pegasus.Simulation("flat") as simulation:
        plane = simulation.add(pegasus.Multirotor("plane", count=2, position=(0, 0, 5), sensors={}))
        recorder = McapRecorder(tmp_path / "log")
        recorder.start(simulation)
        plane.columns["joint_angle"][...] = np.arange(12.0).reshape(2, 6) / 10
        recorder.record(simulation)
        recorder.stop()
    joints = read_log(tmp_path / "log")["plane/joints"]
    assert list(joints.fields) == [*plane.spec.joints]
    assert joints.right_elevon.tolist() == [[0.1, 0.7]]
    assert joints.rudder.tolist() == [[0.5, 1.1]]
    assert joints.comments["rudder"] == "Angle of the joint [rad]."


def test_definition_tells_units_and_metadata_shapes(tmp_path: Path) -> None:
    """A log could not be understood without the program that wrote it."""
    random_flight(McapRecorder(tmp_path / "log"), steps=3, count=2)
    schema, channel, _ = next(messages(tmp_path / "log", "/iris/state"))
    assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
    text = "# Velocity of the body frame's origin in the world [m/s], shape (N, 3).\nfloat64[] velocity\n"
    assert text in schema.data.decode()
    assert json.loads(channel.metadata["fields"])["velocity"] == ["float64", [2, 3]]
    schema, channel, _ = next(messages(tmp_path / "log", "/iris/sensors/gyro"))
    assert b"# Simulation time of the reading [s].\nfloat64 stamp\n" in schema.data
    assert json.loads(channel.metadata["fields"])["stamp"] == ["float64", None]


def test_frames_follow_the_state(tmp_path: Path) -> None:
    """Foxglove's 3D view would show the vehicles at wrong poses."""
    simulation = Simulation([Vehicle("swarm", 40), Vehicle("solo")], step_count=500)
    for vehicle in simulation.vehicles:
        randomize(vehicle, np.random.default_rng(1), 0.0)
    recorder = McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    recorder.record(simulation)
    recorder.stop()
    frames = {
        transform.child_frame_id: transform
        for topic in ("/swarm/tf", "/solo/tf")
        for *_, content in decoded(tmp_path / "log", topic)
        for transform in content.transforms
    }
    assert list(frames) == [f"swarm/{i}" for i in range(16)] + ["solo"]
    swarm, solo = simulation.vehicles
    for frame, state, i in (("swarm/7", swarm.state, 7), ("solo", solo.state, 0)):
        transform = frames[frame]
        assert [getattr(transform.translation, axis) for axis in "xyz"] == state.position[i].tolist()
        assert [getattr(transform.rotation, axis) for axis in "xyzw"] == state.orientation[i].tolist()
        assert transform.parent_frame_id == "world"
        assert (transform.timestamp.sec, transform.timestamp.nanosec) == (2, 0)


def test_metadata_says_what_was_run(tmp_path: Path) -> None:
    """A log would lack the world, seed and rate of its run."""
    random_flight(McapRecorder(tmp_path / "log"), steps=3, names=("iris", "hexa"), count=2)
    metadata = read_log(tmp_path / "log").metadata
    assert metadata["version"][0].isdigit()
    assert (metadata["world"], metadata["seed"]) == ("flat", "7")
    assert (float(metadata["rate"]), float(metadata["state_rate"])) == (250.0, 125.0)
    assert json.loads(metadata["vehicles"]) == {"iris": 2, "hexa": 2}


def test_a_vehicles_messages_do_not_depend_on_others(tmp_path: Path) -> None:
    """Adding a vehicle far away would change the log of the first."""
    random_flight(McapRecorder(tmp_path / "alone"), steps=200)
    random_flight(McapRecorder(tmp_path / "two"), steps=200, names=("hexa", "iris"))
    alone, two = (
        [
            (channel.topic, schema.data, channel.metadata, message.log_time, message.data)
            for schema, channel, message in messages(tmp_path / name)
            if channel.topic.startswith("/iris/")
        ]
        for name in ("alone", "two")
    )
    assert sorted(alone, key=repr) == sorted(two, key=repr)
    assert {topic for topic, *_ in alone} >= {"/iris/state", "/iris/tf", "/iris/sensors/gyro"}


def test_vehicles_come_and_go(tmp_path: Path) -> None:
    """A vehicle added during a run would be missing, or mix with one of the same name."""
    simulation = Simulation([Vehicle("iris")])
    recorder = McapRecorder(tmp_path / "log", state_rate=250.0)
    recorder.start(simulation)
    for step in range(60):
        simulation.step_count = step
        if step == 10:
            simulation.vehicles.append(Vehicle("late"))
        if step == 20:
            simulation.vehicles[:] = [Vehicle("late")]
        if step == 40:
            simulation.vehicles.append(Vehicle("iris", 3))
        if step == 50:
            simulation.vehicles[:] = [Vehicle("iris", 1)]
        recorder.record(simulation)
    recorder.stop()
    log = read_log(tmp_path / "log")
    steps = {topic: np.round(log[topic].time * 250).astype(int).tolist() for topic in log.series}
    assert steps["iris/state"] == [*range(20), *range(50, 60)]
    assert steps["late/state"] == list(range(10, 50))
    assert steps["iris/state~2"] == list(range(40, 50))
    assert log["iris/state~2"].position.shape == (10, 3, 3)


def test_readings_can_be_left_out(tmp_path: Path) -> None:
    """`readings: false` in a scenario would have no effect."""
    random_flight(McapRecorder(tmp_path / "log", readings=False), steps=50)
    topics = {channel.topic for _, channel, _ in messages(tmp_path / "log")}
    signals = {f"/iris/{name}" for name in ("state", "command", "reference", "tf", "model", "path")}
    assert topics == signals | {"/log"}


def test_index_and_statistics_are_complete(tmp_path: Path) -> None:
    """A viewer that seeks by the index would miss messages."""
    random_flight(McapRecorder(tmp_path / "log"), steps=1500)
    with (tmp_path / "log").open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    assert (
        summary.statistics.message_count == len(list(messages(tmp_path / "log"))) == 1500 + 30 + 4 * 750 + 4
    )
    assert sum(summary.statistics.channel_message_counts.values()) == summary.statistics.message_count


@pytest.mark.parametrize("place", ["missing/log", "file/log", "."])
def test_file_that_cannot_be_written_is_one_line(tmp_path: Path, place: str) -> None:
    """A wrong folder would end in a traceback, or leave an incomplete file."""
    (tmp_path / "file").write_text("")
    recorder = McapRecorder(tmp_path / place)
    with pytest.raises(ConfigError, match="cannot be written") as error:
        recorder.start(Simulation([Vehicle()]))
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    recorder.stop()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_full_disk_is_one_line() -> None:
    """A full disk would end a run with a traceback of the MCAP library."""
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        random_flight(McapRecorder("/dev/full"), steps=1500)


def test_a_disk_that_gets_full_keeps_the_chunks_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk would cost the flight so far, or go unnoticed until its end."""
    random_flight(McapRecorder(tmp_path / "whole"), steps=1200)

    def write(self: McapFile, data: bytes) -> None:
        if self._file.tell() > 150_000:
            self._file.write(data[:1000])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_all(self, data)

    write_all = McapFile._write
    monkeypatch.setattr(McapFile, "_write", write)
    recorder = McapRecorder(tmp_path / "log")
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        random_flight(recorder, steps=1200)
    recorder.stop()
    kept, whole = read_log(tmp_path / "log"), read_log(tmp_path / "whole")
    assert not kept.complete
    assert 150 < len(kept["iris/state"]) < 600
    assert same_bits(kept["iris/state"].position, whole["iris/state"].position[: len(kept["iris/state"])])


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_wrong_rate_fails_at_the_door(tmp_path: Path, rate: float) -> None:
    """A wrong rate would only fail during the flight, or never."""
    with pytest.raises(ConfigError, match="state_rate"):
        McapRecorder(tmp_path / "log", state_rate=rate)


@dataclass(frozen=True, eq=False)
class ListReading(Reading):
    """A reading that cannot be recorded."""

    ranges: list


def test_reading_that_cannot_be_recorded_names_its_field(tmp_path: Path) -> None:
    """A user's own sensor would break the log, or be recorded wrongly."""
    vehicle = Vehicle()
    vehicle.new_readings = {"lidar": ListReading(0.0, [1.0, 2.0])}
    simulation = Simulation([vehicle])
    recorder = McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    with pytest.raises(ConfigError, match=r"ListReading\.ranges"):
        recorder.record(simulation)
    recorder.stop()
    assert read_log(tmp_path / "log").complete


def test_sensor_may_have_the_name_of_a_signal(tmp_path: Path) -> None:
    """A sensor called `state` would end up in the channel of the state."""
    vehicle = Vehicle()
    vehicle.new_readings = {"state": GyroReading(0.0, np.ones((1, 3)))}
    recorder = McapRecorder(tmp_path / "log")
    recorder.start(Simulation([vehicle]))
    recorder.record(Simulation([vehicle]))
    recorder.stop()
    log = read_log(tmp_path / "log")
    assert log["iris/sensors/state"].angular_velocity.tolist() == [[[1.0, 1.0, 1.0]]]
    assert "position" in log["iris/state"].fields


def test_stop_after_an_error_keeps_every_message(tmp_path: Path) -> None:
    """An exception or Ctrl-C between two steps would cost part of the log."""
    recorder = McapRecorder(tmp_path / "log", state_rate=250.0)

    def fly() -> None:
        simulation = Simulation([Vehicle()])
        recorder.start(simulation)
        try:
            for step in range(701):
                simulation.step_count = step
                recorder.record(simulation)
            raise KeyboardInterrupt
        finally:
            recorder.stop()
            recorder.stop()

    with pytest.raises(KeyboardInterrupt):
        fly()
    log = read_log(tmp_path / "log")
    assert log.complete
    assert len(log["iris/state"]) == 701


def test_interrupt_in_the_middle_of_a_write_keeps_the_chunks_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during a write could leave a chunk that decodes to wrong numbers."""
    recorder = McapRecorder(tmp_path / "log")
    shown = random_flight(McapRecorder(tmp_path / "whole"), steps=1200)

    def write(self: McapFile, data: bytes) -> None:
        if self._file.tell() > 150_000:
            write_all(self, data[: len(data) // 2])
            raise KeyboardInterrupt
        write_all(self, data)

    write_all = McapFile._write
    monkeypatch.setattr(McapFile, "_write", write)
    with pytest.raises(KeyboardInterrupt):
        random_flight(recorder, steps=1200)
    recorder.stop()
    log = read_log(tmp_path / "log")
    gyro = log["iris/sensors/gyro"]
    assert not log.complete
    assert 300 < len(gyro) < 1000
    wanted = [reading.angular_velocity for _, reading in shown["iris/sensors/gyro"][: len(gyro)]]
    assert same_bits(gyro.angular_velocity, np.array(wanted))
    # Other programs find a truncated file with valid content before its end.
    with (tmp_path / "log").open("rb") as file, pytest.raises(EndOfFile):
        list(StreamReader(file, emit_chunks=True).records)


@pytest.mark.parametrize("function", ["pegasus.recording.mcap_file._message_indexes", "zlib.crc32"])
def test_interrupt_while_a_chunk_is_prepared_keeps_every_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Ctrl-C outside of a write would cost the messages that wait for it."""
    recorder, simulation = McapRecorder(tmp_path / "log", state_rate=250.0), Simulation([Vehicle()])
    recorder.start(simulation)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    for step in range(600):
        simulation.step_count = step
        randomize(simulation.vehicles[0], np.random.default_rng(step), step / 250)
        if step == 300:
            monkeypatch.setattr(function, interrupted)
        try:
            recorder.record(simulation)
        except KeyboardInterrupt:
            break
    monkeypatch.undo()
    recorder.stop()
    log = read_log(tmp_path / "log")
    assert 300 <= step < 599
    assert log.complete
    assert np.round(log["iris/state"].time * 250).astype(int).tolist() == list(range(step + 1))


def test_messages_are_sorted_by_time(tmp_path: Path) -> None:
    """A program that reads the file from its start would jump back in time."""
    random_flight(McapRecorder(tmp_path / "log"), steps=1000, count=2, names=("iris", "hexa"))
    topics: dict[int, str] = {}
    order = []
    with (tmp_path / "log").open("rb") as file:
        for record in StreamReader(file).records:
            if isinstance(record, mcap.records.Channel):
                topics[record.id] = record.topic
            if isinstance(record, mcap.records.Message):
                order.append((record.log_time, topics[record.channel_id]))
    # Paths are known at the end only, and are shown from the start.
    *order, iris_path, hexa_path = order
    assert [iris_path, hexa_path] == [(0, "/iris/path"), (0, "/hexa/path")]
    stamps = [stamp for stamp, _ in order]
    assert stamps == sorted(stamps)
    assert [topic for stamp, topic in order if stamp == 0 and topic != "/log"] == [
        f"/{name}/{topic}"
        for name in ("iris", "hexa")
        for topic in ("state", "command", "reference", "tf", "model", "sensors/gyro", "sensors/fix")
    ]
    assert [topic for stamp, topic in order if stamp == 4e6] == ["/iris/sensors/gyro", "/hexa/sensors/gyro"]


def test_message_index_points_at_the_messages(tmp_path: Path) -> None:
    """A viewer that jumps to a time would read from the middle of a message."""
    random_flight(McapRecorder(tmp_path / "log"), steps=1000)
    with (tmp_path / "log").open("rb") as file:
        records = list(StreamReader(file, emit_chunks=True).records)
    found = 0
    for record in records:
        if isinstance(record, mcap.records.Chunk):
            data = zstandard.decompress(record.data, record.uncompressed_size)
        if isinstance(record, mcap.records.MessageIndex):
            for stamp, offset in record.records:
                head = struct.unpack_from("<BQHIQQ", data, offset)
                assert (head[0], head[2], head[4], head[5]) == (5, record.channel_id, stamp, stamp)
                assert data[offset + 31 : offset + 35] == b"\0\1\0\0"
                found += 1
    assert found == len(list(messages(tmp_path / "log"))) == 1000 + 20 + 4 * 500 + 4


def test_reading_of_another_type_with_the_same_numbers_is_recorded(tmp_path: Path) -> None:
    """Bits of one type would be read as another, or such a message would be lost."""
    kinds = [np.float64, np.int64, np.float32, np.float64]
    vehicle = Vehicle(count=2)
    simulation, recorder = Simulation([vehicle]), McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    for step in range(40):
        simulation.step_count = step
        values = (np.arange(6) + step).reshape(2, 3).astype(kinds[step // 10])
        vehicle.new_readings = {"gyro": GyroReading(step if step > 20 else float(step), values)}
        recorder.record(simulation)
    recorder.stop()
    gyro = read_log(tmp_path / "log")["iris/sensors/gyro"]
    assert gyro.stamp.tolist() == list(range(40))
    np.testing.assert_array_equal(
        gyro.angular_velocity, np.arange(6).reshape(2, 3) + np.arange(40)[:, None, None]
    )


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("position", {"position": np.zeros((3, 1))}),
        ("satellite_count", {"satellite_count": np.array([1.5])}),
        ("valid", {"valid": np.array([1])}),
        ("speed", {"speed": np.array([0.1])}),
        ("mode", {"mode": 3}),
        ("quality", {"quality": 0.5}),
        ("stamp", {"stamp": "now"}),
    ],
)
def test_reading_that_changes_its_type_or_shape_is_one_line(tmp_path: Path, field: str, change: dict) -> None:
    """Numbers would be cut off, or the log could not be decoded."""
    fix = FixReading(0.0, np.zeros((1, 3)), np.array([7]), np.array([True]), np.zeros(1, np.float32))
    vehicle = Vehicle()
    simulation, recorder = Simulation([vehicle]), McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    vehicle.new_readings = {"fix": fix}
    recorder.record(simulation)
    vehicle.new_readings = {"fix": replace(fix, **change)}
    with pytest.raises(ConfigError, match=rf"FixReading\.{field}.*must keep the type and shape") as error:
        recorder.record(simulation)
    assert "\n" not in str(error.value)
    recorder.stop()
    assert len(read_log(tmp_path / "log")["iris/sensors/fix"]) == 1


def test_arrays_of_any_layout_are_recorded(tmp_path: Path) -> None:
    """Transposed, strided or empty arrays of a reading would be recorded wrongly."""
    arrays = [
        np.arange(6.0).reshape(3, 2).T,
        np.arange(24.0).reshape(2, 12)[:, ::4],
        np.zeros((2, 0)),
        np.array(3.5),
        np.arange(6).reshape(2, 3).astype(">f8"),
    ]
    vehicle = Vehicle(count=2)
    simulation, recorder = Simulation([vehicle]), McapRecorder(tmp_path / "log")
    recorder.start(simulation)
    for step in range(8):
        simulation.step_count = step
        readings = {f"gyro{k}": GyroReading(0.0, array + step) for k, array in enumerate(arrays)}
        vehicle.new_readings = readings
        recorder.record(simulation)
    recorder.stop()
    log = read_log(tmp_path / "log")
    for k, array in enumerate(arrays):
        wanted = np.array([array + step for step in range(8)])
        np.testing.assert_array_equal(log[f"iris/sensors/gyro{k}"].angular_velocity, wanted)


def test_a_killed_process_leaves_all_but_the_last_chunk(tmp_path: Path) -> None:
    """A crash of the machine or of a library would cost the whole log."""
    program = (
        "import os, signal, sys\n"
        "from recording_stand_ins import random_flight\n"
        "from pegasus.recording import McapRecorder\n"
        "class Killed(McapRecorder):\n"
        "    def stop(self):\n"
        "        if self._log is not None:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        f"random_flight(Killed({str(tmp_path / 'log')!r}), steps=1500)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, timeout=LIMIT, check=False)
    assert done.returncode == -signal.SIGKILL
    random_flight(McapRecorder(tmp_path / "whole"), steps=1500)
    log, whole = read_log(tmp_path / "log"), read_log(tmp_path / "whole")
    assert not log.complete
    kept, all_of_them = log["iris/state"], whole["iris/state"]
    # A chunk holds 256 KiB of messages.
    size = sum(len(message.data) for _, _, message in messages(tmp_path / "whole"))
    assert len(kept) > len(all_of_them) * (1 - 1.2 * 256 * 1024 / size)
    assert same_bits(kept.position, all_of_them.position[: len(kept)])
