"""Tests of rosbag2 bags, read by an independent reader, and of their metadata."""

import mcap.records
import numpy as np
import pytest
import yaml
from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from scipy.spatial.transform import Rotation

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.rosbag import RosbagRecorder
from pegasus.cameras import Camera
from pegasus.contracts.state import Estimate
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF

decoder = pytest.importorskip("mcap_ros2.decoder", reason="needs mcap-ros2-support")


class Truth:
    """A backend that keeps the states by stamp."""

    def __init__(self):
        self.states, self.readings = {}, {}

    def start(self, simulation):
        """Do nothing."""

    def record(self, simulation):
        (vehicle,) = simulation.vehicles
        self.states[round(simulation.time * 1e9)] = vehicle.state.copy()
        self.readings |= {(n, round(simulation.time * 1e9)): r for n, r in vehicle.new_readings.items()}

    def stop(self):
        """Do nothing."""


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Return the folder of a bag of two flying copies, and the true states."""
    folder, truth = tmp_path_factory.mktemp("run") / "bag", Truth()
    flight = GeometricController(trajectories.hold(height=2.0))
    with Simulation("flat", observers=[truth, RosbagRecorder(folder, state_rate=50.0)]) as sim:
        sim.add(Multirotor("iris", count=2, backends=[flight]))
        sim.run(2.0)
    return folder, truth


def messages(folder, topic):
    """Return the messages of a topic with their stamps, decoded by the independent reader."""
    with (folder / f"{folder.name}_0.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        return [(m.log_time, content) for _, _, m, content in reader.iter_decoded_messages(topics=[topic])]


def test_states_come_at_even_steps(tmp_path):
    """The intervals between the stamps of a bag would alternate."""
    with Simulation("flat", observers=[RosbagRecorder(tmp_path / "bag")]) as sim:
        sim.add(Multirotor("iris"))
        sim.run(0.2)
    stamps = [stamp for stamp, _ in messages(tmp_path / "bag", "/iris/state/pose")]
    assert stamps == list(range(0, 200_000_000, 8_000_000))


def test_another_reader_finds_the_truth(bag):
    """ROS 2 could not decode the type definitions or the messages."""
    folder, truth = bag
    poses = messages(folder, "/iris1/state/pose")
    assert [stamp for stamp, _ in poses] == list(range(0, 2 * 10**9, 20_000_000))
    for stamp, message in poses:
        state = truth.states[stamp]
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
        assert message.header.frame_id == "map"
        at, turn = message.pose.position, message.pose.orientation
        assert [at.x, at.y, at.z] == state.position[1].tolist()
        assert [turn.x, turn.y, turn.z, turn.w] == state.orientation[1].tolist()
    samples = messages(folder, "/iris0/sensors/imu")
    assert len(samples) == 500
    for stamp, message in samples[::50]:
        force = message.linear_acceleration
        wanted = truth.readings["imu", stamp].specific_force[0].tolist()
        assert [force.x, force.y, force.z] == wanted
    frames = {t.child_frame_id for _, m in messages(folder, "/tf_static") for t in m.transforms}
    assert {"iris0/imu", "iris1/base_link_frd"} <= frames
    assert {t.child_frame_id for _, m in messages(folder, "/tf") for t in m.transforms} == {
        *("iris0/odom", "iris0/base_link"),
        *("iris1/odom", "iris1/base_link"),
    }


def test_every_message_is_decoded(bag):
    """A type that no other test covers would have a wrong definition."""
    folder, _ = bag
    with (folder / "bag_0.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        kinds = {schema.name for schema, _, _, _ in reader.iter_decoded_messages()}
        header = reader.get_header()
        summary = reader.get_summary()
    assert header.profile == "ros2"
    assert {schema.encoding for schema in summary.schemas.values()} == {"ros2msg"}
    assert {channel.message_encoding for channel in summary.channels.values()} == {"cdr"}
    assert {"sensor_msgs/msg/NavSatFix", "nav_msgs/msg/Odometry", "sensor_msgs/msg/FluidPressure"} <= kinds
    hashes = {c.topic: c.metadata["topic_type_hash"] for c in summary.channels.values()}
    # As `ros2 topic info -v` of jazzy gives it for geometry_msgs/msg/PoseStamped.
    assert (
        hashes["/iris0/state/pose"]
        == "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8"
    )


def test_metadata_is_that_of_the_file(bag):
    """`ros2 bag info` would count wrongly, or `ros2 bag play` use another QoS than recorded."""
    folder, _ = bag
    information = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert (information["version"], information["storage_identifier"]) == (5, "mcap")
    assert information["relative_file_paths"] == ["bag_0.mcap"]
    assert (folder / "bag_0.mcap").is_file()
    with (folder / "bag_0.mcap").open("rb") as file:
        statistics = make_reader(file).get_summary().statistics
    first, last = statistics.message_start_time, statistics.message_end_time
    for part in information, information["files"][0]:
        assert part["message_count"] == statistics.message_count
        assert part["starting_time"] == {"nanoseconds_since_epoch": first}
        assert part["duration"] == {"nanoseconds": last - first}
    topics = {t["topic_metadata"]["name"]: t for t in information["topics_with_message_count"]}
    assert sum(topic["message_count"] for topic in topics.values()) == statistics.message_count
    assert topics["/iris1/state/pose"]["message_count"] == 100
    assert topics["/iris1/state/pose"]["topic_metadata"]["type"] == "geometry_msgs/msg/PoseStamped"
    # rmw: reliable 1, best effort 2; transient local 1, volatile 2.
    for name, reliability, durability in (
        ("/iris0/state/pose", 1, 2),
        ("/iris0/sensors/imu", 2, 2),
        ("/tf_static", 1, 1),
    ):
        offered = topics[name]["topic_metadata"]["offered_qos_profiles"]
        (profile,) = yaml.safe_load(offered)
        assert (profile["reliability"], profile["durability"]) == (reliability, durability)
        assert profile["history"] == 1


class Autopilot(GeometricController):
    """A pilot with estimates of its own: of copy 0 each fifth step from 0.5 s on, of copy 1 never."""

    estimates = True

    def __init__(self, trajectory):
        super().__init__(trajectory)
        self.given = {}

    def start(self):
        super().start()
        self.estimate = Estimate.unknown(2)

    def publish(self, t, state, readings):
        super().publish(t, state, readings)
        # Its position comes before its attitude.
        step = round(t * 250)
        if t >= 0.4 and step % 5 == 0:
            self.estimate.received[0], self.estimate.position[0] = t, state.position[0] + 1.0
            self.estimate.velocity[0] = state.velocity[0] + [0.0, 0.1, 0.0]
        if t >= 0.5 and step % 5 == 0:
            self.estimate.orientation[0] = Rotation.from_euler("z", 0.3 + t).as_quat()
            self.estimate.angular_velocity[0] = 0.1, 0.2, t
            self.given[round(t * 1e9)] = [getattr(self.estimate, name)[0].copy() for name in NAMES]


NAMES = ("position", "orientation", "velocity", "angular_velocity")


def numbers_of(message):
    """Return the numbers of an odometry and its covariances."""
    pose, twist = message.pose.pose, message.twist.twist
    parts = [[getattr(part, axis) for axis in "xyz"] for part in (pose.position, twist.linear, twist.angular)]
    turn = [getattr(pose.orientation, axis) for axis in "xyzw"]
    return parts[0], turn, parts[1], parts[2], message.pose.covariance, message.twist.covariance


def test_a_bag_has_the_estimates_of_an_autopilot(tmp_path):
    """A bag of a flight with PX4 or ArduPilot would not tell what it believed, or tell it twice."""
    pilot = Autopilot(trajectories.circle(radius=2.0, height=3.0, speed=2.0))
    with Simulation("flat", observers=[RosbagRecorder(tmp_path / "bag")]) as sim:
        sim.add(Multirotor("iris", count=2, backends=[pilot]))
        sim.run(3.0)
    found = messages(tmp_path / "bag", "/iris0/estimate")
    assert messages(tmp_path / "bag", "/iris1/estimate") == []
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in found]
    # Each estimate once, although the topic is twice as fast.
    assert stamps == sorted(pilot.given)
    for stamp, (_, message) in zip(stamps, found, strict=True):
        position, orientation, velocity, rates = pilot.given[stamp]
        given = numbers_of(message)
        assert (message.header.frame_id, message.child_frame_id) == ("map", "iris0/base_link")
        assert given[0] == position.tolist()
        assert given[1] == orientation.tolist()
        body = Rotation.from_quat(orientation).inv().apply(velocity)
        np.testing.assert_allclose(given[2], body, rtol=1e-12, atol=1e-12)
        assert given[3] == rates.tolist()
        # Unknown.
        assert not np.any(given[4])
        assert not np.any(given[5])


def test_a_bag_has_the_estimates_of_an_estimator(tmp_path):
    """A bag would lack what the vehicle flew on, or its covariances."""
    flight = GeometricController(trajectories.hold(height=2.0))
    with Simulation("flat", seed=2, observers=[RosbagRecorder(tmp_path / "bag", state_rate=50.0)]) as sim:
        iris = sim.add(Multirotor("iris", backends=[flight], estimator=EKF()))
        sim.run(6.0)
        last = iris.estimate
    found = messages(tmp_path / "bag", "/iris/estimate")
    assert len(found) > 200
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in found]
    assert set(np.diff(stamps)) == {20_000_000}
    position, _, _, _, covariance, twist = numbers_of(found[-1][1])
    assert np.linalg.norm(np.array(position) - last.position[0]) < 0.05
    sigma = np.concatenate((last.position_sigma[0], last.attitude_sigma[0]))
    np.testing.assert_allclose(np.sqrt(np.diag(np.reshape(covariance, (6, 6)))), sigma, rtol=0.05)
    assert np.all(np.diag(np.reshape(twist, (6, 6))) > 0)


def test_the_same_run_gives_the_same_bytes(tmp_path):
    """Data other than simulation time and seed would affect a bag."""
    files = []
    for name in "first", "second":
        with Simulation("flat", observers=[RosbagRecorder(tmp_path / name / "bag")]) as sim:
            sim.add(Multirotor("iris"))
            sim.run(0.2)
        files.append((tmp_path / name / "bag" / "bag_0.mcap").read_bytes())
    assert files[0] == files[1]


def test_it_has_the_namespace_of_the_backend(tmp_path, monkeypatch):
    """A vehicle's topics would have other names in the bag than on ROS 2."""
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with Simulation("flat", observers=[RosbagRecorder(tmp_path / "bag")]) as sim:
        sim.add(Multirotor("iris", backends=[ROS2("fleet/one", domain_id=101, transport="cyclonedds")]))
        sim.run(0.1)
    assert messages(tmp_path / "bag", "/fleet/one/state/pose")


def test_pictures_are_left_out_unless_asked_for(tmp_path):
    """A bag would render and store images by default."""
    for images in False, True:
        recorder = RosbagRecorder(tmp_path / str(images), images=images)
        with Simulation("flat", observers=[recorder], renderer=_renderer()) as sim:
            sim.add(Multirotor("iris", sensors={"eye": Camera(resolution=(4, 4), rate_hz=50.0)}))
            sim.run(0.1)
        pictures = messages(tmp_path / str(images), "/iris/eye/color/image_raw")
        assert len(pictures) == (5 if images else 0)
    assert len(pictures[0][1].data) == 48


def _renderer():
    from analytic_renderer import AnalyticRenderer

    return AnalyticRenderer()


def test_a_folder_that_cannot_be_written(tmp_path):
    """An unwritable folder would cause a traceback."""
    (tmp_path / "file").write_text("")
    with (
        Simulation("flat", observers=[RosbagRecorder(tmp_path / "file" / "bag")]) as sim,
        pytest.raises(ConfigError, match="cannot be written"),
    ):
        sim.step()


def test_interrupt_in_the_middle_of_a_message_keeps_the_chunks_before(tmp_path, monkeypatch):
    """Ctrl-C during a write would leave a bag that decodes to wrong numbers."""

    def torn(self, stream):
        if self.log_time >= 4_000_000_000:
            stream.start_record(5)
            raise KeyboardInterrupt
        write(self, stream)

    write = mcap.records.Message.write
    monkeypatch.setattr(mcap.records.Message, "write", torn)
    with Simulation("flat", observers=[RosbagRecorder(tmp_path / "bag")]) as sim:
        sim.add(Multirotor("iris"))
        sim.step(990)
        with pytest.raises(KeyboardInterrupt):
            sim.step(20)
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as file:
        found, reader = [], StreamReader(file, validate_crcs=True)
        with pytest.raises(EndOfFile):
            found.extend(
                record.log_time for record in reader.records if isinstance(record, mcap.records.Message)
            )
    assert len(found) > 500
    assert not (tmp_path / "bag" / "metadata.yaml").exists()
