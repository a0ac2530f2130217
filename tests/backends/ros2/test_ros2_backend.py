"""Tests of vehicles on ROS 2 from another process with its own types and serializer."""

import math
import time

import numpy as np
import pytest
from dds_rig import DDSPeer
from px4_rig import fly_until, says
from ros2_rig import TRANSPORT, Witness, begin, ignore, listen, nanoseconds, seen, stamp_of, xyz, xyzw
from scipy.spatial.transform import Rotation

from pegasus import Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.backend import ROS2 as SAME
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF
from pegasus.faults import MotorLoss
from pegasus.sensors import IMU, Odometry, Rangefinder
from tests.waits import LIMIT, wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


STATE = {
    "state/pose": "PoseStamped",
    "state/twist": "TwistStamped",
    "state/twist_inertial": "TwistStamped",
    "state/accel": "AccelStamped",
    "odom": "Odometry",
}
SENSORS = {
    "sensors/imu": "Imu",
    "sensors/mag": "MagneticField",
    "sensors/gps": "NavSatFix",
    "sensors/gps_twist": "TwistStamped",
    "sensors/barometer": "FluidPressure",
    "sensors/range": "Range",
    "sensors/odometry": "Odometry",
}


def test_the_public_name_is_the_backend():
    """`from pegasus.backends import ROS2` would give another object."""
    assert ROS2 is SAME


def test_state_and_readings_are_true(peer, nothing_stays):  # noqa: ARG001
    """A topic would have numbers, units, frames or stamps that contradict REP 103 and REP 105."""
    witness = Witness()
    backend = ROS2("drone0", control=False, transport=TRANSPORT, pose_variance=(1, 2, 3, 4, 5, 6))
    flight = GeometricController(trajectories.circle(radius=2.0, height=3.0, speed=2.0))
    topics = {f"/drone0/{name}": kind for name, kind in (STATE | SENSORS).items()}
    topics |= {"/tf": "TFMessage", "/clock": "Clock"}
    with Simulation("flat", observers=[witness]) as sim:
        down = Rangefinder(position=(0.1, 0.0, -0.05))
        iris = Multirotor(
            "iris", backends=[backend, flight], heading=0.7, extra_sensors={"down": down, "vio": Odometry()}
        )
        sim.add(iris)
        sim.run(7.0)
        listen(peer, topics)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        found = seen(sim, peer, topics)
        ignore(peer, topics)
        now = sim.time
    for topic in STATE:
        message = found[f"/drone0/{topic}"]
        state = witness.states["iris", stamp_of(message)]
        turn = Rotation.from_quat(state.orientation[0])
        velocity, rates = turn.inv().apply(state.velocity[0]), state.angular_velocity[0]
        wanted = {
            "state/pose": ("map", [*state.position[0], *state.orientation[0]]),
            "state/twist": ("drone0/base_link", [*velocity, *rates]),
            "state/twist_inertial": ("map", [*state.velocity[0], *turn.apply(rates)]),
            "state/accel": (
                "drone0/base_link",
                [*turn.inv().apply(state.acceleration[0]), *state.angular_acceleration[0]],
            ),
            "odom": ("map", [*state.position[0], *state.orientation[0], *velocity, *rates]),
        }[topic]
        assert message["header"]["frame_id"] == wanted[0]
        np.testing.assert_allclose(flat(topic, message), wanted[1], rtol=1e-12, atol=1e-12)
    assert found["/drone0/odom"]["child_frame_id"] == "drone0/base_link"
    assert np.linalg.norm(xyz(found["/drone0/state/twist"]["twist"]["linear"])) > 1.0
    clock = found["/clock"]["clock"]
    assert 7.0 <= clock["sec"] + clock["nanosec"] * 1e-9 <= now
    check_readings({name: found[f"/drone0/{name}"] for name in SENSORS}, witness)


def test_the_estimate_beside_the_truth(peer, nothing_stays):  # noqa: ARG001
    """An estimate in other axes, of another time, or with other covariances would mislead a node."""
    kept = {}

    class Estimates(Witness):
        def record(self, simulation):
            super().record(simulation)
            filtered, estimate = iris.estimator.state, iris.estimator.estimate
            if not np.isnan(estimate.received[0]):
                kept[round(estimate.received[0] * 1e9)] = filtered.copy(), estimate

    witness = Estimates()
    backend = ROS2("drone0", control=False, transport=TRANSPORT)
    flight = GeometricController(trajectories.circle(radius=2.0, height=3.0, speed=2.0))
    topics = {"/drone0/odom": "Odometry", "/drone0/estimate": "Odometry"}
    with Simulation("flat", observers=[witness], seed=4) as sim:
        iris = Multirotor("iris", backends=[backend, flight], heading=0.7, estimator=EKF())
        sim.add(iris)
        sim.run(12.0)
        listen(peer, topics)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        found = seen(sim, peer, topics)
        ignore(peer, topics)
    message = found["/drone0/estimate"]
    state, estimate = kept[stamp_of(message)]
    true = witness.states["iris", stamp_of(message)]
    assert message["header"]["frame_id"] == "map"
    assert message["child_frame_id"] == "drone0/base_link"
    pose, twist = message["pose"]["pose"], message["twist"]["twist"]
    turn = Rotation.from_quat(state.orientation[0])
    np.testing.assert_array_equal(xyz(pose["position"]), state.position[0])
    np.testing.assert_array_equal(xyzw(pose["orientation"]), state.orientation[0])
    velocity = turn.inv().apply(state.velocity[0])
    np.testing.assert_allclose(xyz(twist["linear"]), velocity, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(xyz(twist["angular"]), state.angular_velocity[0])
    # It is the estimate, near the truth but not the truth, and tells how far it may be off.
    error = np.array(xyz(pose["position"])) - true.position[0]
    assert 1e-4 < np.linalg.norm(error) < 3.0
    sigma = np.concatenate((estimate.position_sigma[0], estimate.attitude_sigma[0]))
    np.testing.assert_allclose(message["pose"]["covariance"], np.diag(sigma**2).ravel(), rtol=1e-12)
    matrix = turn.as_matrix()
    wanted = matrix.T @ np.diag(estimate.velocity_sigma[0] ** 2) @ matrix
    covariance = np.reshape(message["twist"]["covariance"], (6, 6))
    np.testing.assert_allclose(covariance[:3, :3], wanted, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(covariance[3:, 3:], np.eye(3) * 4.8869e-5**2 * 250.0, rtol=1e-12)


def test_no_estimate_before_it_is_known(peer, nothing_stays):  # noqa: ARG001
    """Numbers of a filter that has not found its attitude would be taken for an estimate."""
    backend = ROS2("drone0", control=False, transport=TRANSPORT)
    topics = {"/drone0/odom": "Odometry", "/drone0/estimate": "Odometry"}
    with Simulation("flat", seed=4) as sim:
        iris = Multirotor("iris", backends=[backend], estimator=EKF())
        sim.add(iris)
        listen(peer, topics)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        seen(sim, peer, {"/drone0/odom": "Odometry"})
        assert np.isnan(iris.estimate.position).all()
        assert peer.ask("take", topic="/drone0/estimate") == []
        ignore(peer, topics)


def flat(topic, message):
    """Return the numbers of a state message, in the order of its fields."""
    if topic == "state/pose":
        return [*xyz(message["pose"]["position"]), *xyzw(message["pose"]["orientation"])]
    if topic == "odom":
        pose, twist = message["pose"]["pose"], message["twist"]["twist"]
        for part, variances in ("pose", [1, 2, 3, 4, 5, 6]), ("twist", [1e-9] * 6):
            np.testing.assert_array_equal(np.reshape(message[part]["covariance"], (6, 6)), np.diag(variances))
        return [
            *xyz(pose["position"]),
            *xyzw(pose["orientation"]),
            *xyz(twist["linear"]),
            *xyz(twist["angular"]),
        ]
    both = message["accel" if topic == "state/accel" else "twist"]
    return [*xyz(both["linear"]), *xyz(both["angular"])]


def check_readings(found, witness):
    """Compare sensor messages with the readings of their stamps."""

    def reading(topic, sensor):
        # An estimator's frame begins at its start pose.
        frame, sensor = (f"drone0/{sensor}", sensor) if sensor else ("drone0/odom", "vio")
        assert found[topic]["header"]["frame_id"] == frame
        return witness.readings["iris", sensor, stamp_of(found[topic])], found[topic]

    truth, imu = reading("sensors/imu", "imu")
    np.testing.assert_array_equal(xyz(imu["angular_velocity"]), truth.angular_velocity[0])
    np.testing.assert_array_equal(xyz(imu["linear_acceleration"]), truth.specific_force[0])
    assert imu["orientation_covariance"][0] == -1.0
    # The IMU of the Iris has the densities that the paper's Pegasus has, at 250 Hz.
    for name, density in ("angular_velocity", 4.8869e-5), ("linear_acceleration", 6.8647e-4):
        wanted = np.diag([density**2 * 250.0] * 3).ravel()
        np.testing.assert_allclose(imu[f"{name}_covariance"], wanted, rtol=1e-12)
    truth, mag = reading("sensors/mag", "magnetometer")
    np.testing.assert_array_equal(xyz(mag["magnetic_field"]), truth.magnetic_field[0])
    # The Earth's field is 25 to 65 microtesla; gauss would be ten thousand times that.
    assert 2.5e-5 < np.linalg.norm(xyz(mag["magnetic_field"])) < 6.5e-5
    truth, gps = reading("sensors/gps", "gps")
    assert (gps["latitude"], gps["longitude"], gps["altitude"]) == (
        truth.latitude[0],
        truth.longitude[0],
        truth.altitude[0],
    )
    assert gps["status"] == {"status": 0, "service": 1}
    assert gps["position_covariance"][0] == gps["position_covariance"][4] == truth.eph[0] ** 2
    assert gps["position_covariance"][8] == truth.epv[0] ** 2
    assert gps["position_covariance_type"] == 1
    velocity = found["sensors/gps_twist"]
    truth = witness.readings["iris", "gps", stamp_of(velocity)]
    assert velocity["header"]["frame_id"] == "map"
    np.testing.assert_array_equal(xyz(velocity["twist"]["linear"]), truth.velocity[0])
    truth, air = reading("sensors/barometer", "barometer")
    assert air["fluid_pressure"] == truth.pressure[0]
    # 2.7 Pa of white noise at 50 Hz.
    assert air["variance"] == pytest.approx(1.3**2)
    truth, estimate = reading("sensors/odometry", None)
    assert estimate["child_frame_id"] == "drone0/base_link"
    pose, twist = estimate["pose"]["pose"], estimate["twist"]["twist"]
    assert [*xyz(pose["position"]), *xyzw(pose["orientation"])] == [*truth.position[0], *truth.orientation[0]]
    turn = Rotation.from_quat(truth.orientation[0])
    np.testing.assert_allclose(xyz(twist["linear"]), turn.inv().apply(truth.velocity[0]), atol=1e-12)
    assert xyz(twist["angular"]) == truth.angular_velocity[0].tolist()
    variances = [*truth.position_variance[0], *truth.orientation_variance[0]]
    np.testing.assert_array_equal(np.reshape(estimate["pose"]["covariance"], (6, 6)), np.diag(variances))
    # Densities of 0.005 m/s and 0.001 rad/s per root of a hertz, at 30 Hz.
    wanted = np.diag([0.005**2 * 30.0] * 3 + [0.001**2 * 30.0] * 3)
    np.testing.assert_allclose(np.reshape(estimate["twist"]["covariance"], (6, 6)), wanted, rtol=1e-12)
    truth, beam = reading("sensors/range", "down")
    assert beam["range"] == pytest.approx(truth.distance[0], rel=1e-6)
    assert 2.0 < beam["range"] < 4.0
    assert (beam["min_range"], beam["max_range"]) == pytest.approx((0.05, 40.0))
    assert beam["variance"] == pytest.approx((0.01 + 0.001 * truth.distance[0]) ** 2, rel=1e-6)


def test_who_comes_late_gets_the_frames_of_every_vehicle(peer, nothing_stays):  # noqa: ARG001
    """Frames of two vehicles would collide, or be lost to an rviz that starts later."""
    imu = IMU(position=(0.1, 0.2, 0.3), orientation=(0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    ahead = Rangefinder(direction=(0.0, 1.0, 0.0))
    with Simulation("flat") as sim:
        options = {"transport": TRANSPORT, "control": False}
        sim.add(Multirotor("iris", count=2, backends=[ROS2("drone", **options)]))
        sim.add(
            Multirotor(
                "iris",
                position=(9, 0, 1),
                sensors={"imu": imu, "left": ahead},
                backends=[ROS2("fleet/leader", **options)],
            )
        )
        sim.run(0.1)
        peer.ask("listen", topic="/tf_static", kind="TFMessage", qos="latched")
        messages = peer.messages("/tf_static", 3)
        ignore(peer, ["/tf_static"])
    tree = {item["child_frame_id"]: item for message in messages for item in message["transforms"]}
    parents = {child: item["header"]["frame_id"] for child, item in tree.items()}
    for prefix in "drone0", "drone1", "fleet/leader":
        frames = {child for child, parent in parents.items() if parent == f"{prefix}/base_link"}
        sensors = ["imu", "gps", "barometer", "magnetometer"] if "drone" in prefix else ["imu", "left"]
        sensors += ["battery"]
        assert frames == {f"{prefix}/{name}" for name in [*sensors, "base_link_frd"]}
    frd = Rotation.from_quat(xyzw(tree["drone0/base_link_frd"]["transform"]["rotation"]))
    np.testing.assert_allclose(frd.as_matrix(), np.diag([1.0, -1.0, -1.0]), atol=1e-12)
    mounted = tree["fleet/leader/imu"]["transform"]
    assert xyz(mounted["translation"]) == [0.1, 0.2, 0.3]
    np.testing.assert_allclose(
        Rotation.from_quat(xyzw(mounted["rotation"])).apply([1, 0, 0]), [0, 1, 0], atol=1e-12
    )
    beam = Rotation.from_quat(xyzw(tree["fleet/leader/left"]["transform"]["rotation"]))
    np.testing.assert_allclose(beam.apply([1, 0, 0]), [0, 1, 0], atol=1e-12)


def test_a_vehicle_comes_and_goes(peer, nothing_stays):  # noqa: ARG001
    """A removed vehicle's node would stay, or another vehicle's be removed."""
    with Simulation("flat") as sim:
        for x, name in enumerate(("gone", "here")):
            sim.add(Multirotor("iris", position=(3 * x, 0, 0.2), backends=[ROS2(name, transport=TRANSPORT)]))
        listen(
            peer, {"/gone/state/pose": "PoseStamped", "/here/state/pose": "PoseStamped", "/clock": "Clock"}
        )
        nodes = wait_until(
            lambda: {"/gone/pegasus", "/here/pegasus"} <= (found := peer.ask("nodes")).keys() and found
        )
        wait_until(lambda: "rt/gone/sensors/imu" in peer.ask("nodes")["/gone/pegasus"]["writes"])
        # Four rotors, all rotors, attitude and thrust, velocity, trajectory; faults to inject and to heal.
        assert nodes["/gone/pegasus"]["reader_count"] == 10
        sim.remove("iris")
        wait_until(lambda: "/gone/pegasus" not in peer.ask("nodes"))
        assert "/here/pegasus" in peer.ask("nodes")
        wait_until(lambda: peer.ask("matched", topic="/gone/state/pose") == 0)
        assert peer.ask("matched", topic="/here/state/pose") == 1
        # The clock continues without the vehicle that was first.
        seen(sim, peer, ["/clock", "/here/state/pose"])
        # A reset keeps the node.
        sim.reset()
        seen(sim, peer, ["/clock", "/here/state/pose"])
        sim.stop()
        wait_until(lambda: peer.ask("matched", topic="/here/state/pose") == 0)
        # The last share to close takes the participant and all of its entities along.
        wait_until(lambda: not peer.ask("nodes").get("/here/pegasus", {}).get("writes"))
    ignore(peer, ["/gone/state/pose", "/here/state/pose", "/clock"])


def test_a_reset_keeps_nodes_and_topics(peer, nothing_stays):  # noqa: ARG001
    """Every reset would leave a writer of each topic behind at the listeners of some middleware."""
    layout = {"dim": [], "data_offset": 0}
    topics = {"/again/state/pose": "PoseStamped", "/clock": "Clock"}
    with Simulation("flat") as sim:
        vehicle = sim.add(
            Multirotor("iris", position=(0, 0, 5), backends=[ROS2("again", transport=TRANSPORT)])
        )
        listen(peer, topics)
        peer.ask("advertise", topic="/again/control/rotors", kind="Float64MultiArray")
        peer.ask("listen", topic="/again/faults/acting", kind="String", qos="latched")
        seen(sim, peer, topics)
        wait_until(lambda: peer.ask("matched", topic="/again/control/rotors"))
        wait_until(lambda: "rt/again/sensors/imu" in peer.ask("nodes")["/again/pegasus"]["writes"])
        before = peer.ask("writers")
        vehicle.inject(MotorLoss(2))
        sim.step(10)
        for _ in range(3):
            peer.ask("send", topic="/again/control/rotors", layout=layout, data=[700.0] * 4)
            wait_until(lambda: sim.step() and vehicle.rotor_command.any())
            peer.ask("send", topic="/again/control/rotors", layout=layout, data=[600.0] * 4)
            time.sleep(0.2)
            sim.reset()
            # A command of the run before has ended with it.
            sim.step(5)
            assert not vehicle.rotor_command.any()
            newest = seen(sim, peer, topics)
            assert nanoseconds(newest["/clock"]["clock"]) < 4e9
        assert peer.ask("writers") == before
        told = peer.messages("/again/faults/acting", 2)
        assert [bool(message["data"]) for message in told[:2]] == [True, False]
        peer.ask("retire", topic="/again/control/rotors")
    ignore(peer, [*topics, "/again/faults/acting"])


def test_contacts_of_landed_copies_are_their_weight(peer, nothing_stays):  # noqa: ARG001
    """A node would take a landed vehicle for a flying one, or its legs for those of another copy."""
    topics = {f"/feet{k}/contacts/force": "WrenchStamped" for k in range(2)}
    others = [f"/feet{k}/contacts/others" for k in range(2)]
    with Simulation("flat") as sim:
        backend = ROS2("feet", control=False, transport=TRANSPORT)
        places = [(0.0, 0.0, 20.0), (5.0, 0.0, 0.3)]
        iris = sim.add(Multirotor("iris", count=2, position=places, sensors={}, backends=[backend]))
        for topic in others:
            peer.ask("listen", topic=topic, kind="String", qos="latched")
        sim.run(1.5)
        listen(peer, topics)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        falling, landed = (message["wrench"] for message in seen(sim, peer, topics).values())
        assert xyz(falling["force"]) == xyz(falling["torque"]) == [0.0, 0.0, 0.0]
        weight = iris.mass * float(np.linalg.norm(sim.environment.gravity_vector(iris.state.position[1:])))
        np.testing.assert_allclose(xyz(landed["force"]), [0.0, 0.0, weight], atol=1e-4 * weight)
        np.testing.assert_allclose(xyz(landed["torque"]), 0.0, atol=1e-4 * weight)
        surfaces = {contact.other for contact in iris.contacts}
        assert [peer.messages(topic, 1)[-1]["data"] for topic in others[1:]] == ["; ".join(surfaces)]
        assert peer.ask("take", topic=others[0]) == []
    ignore(peer, [*topics, *others])


def test_a_stuck_listener_holds_nobody_up(domain):
    """A suspended subscriber would block the simulation, or get no messages after it resumes."""
    peer = DDSPeer(domain)
    topics = {"/held/state/pose": "PoseStamped", "/held/odom": "Odometry"}
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[ROS2("held", transport=TRANSPORT)]))
        listen(peer, topics, "reliable")
        seen(sim, peer, topics)
        peer.freeze()
        try:
            began = time.monotonic()
            sim.run(4.0)
            # Were one write in five to wait for its usual 100 ms, it would take more than that.
            assert time.monotonic() - began < LIMIT
        finally:
            peer.thaw()
        now = sim.time
        wait_until(lambda: stamp_of(seen(sim, peer, topics)["/held/odom"]) >= now * 1e9)
    peer.close()


def test_the_clock_ticks_once_for_all_vehicles(peer):
    """Nodes on simulation time would get each instant several times, or see time jump."""
    with Simulation("flat") as sim:
        for k in range(3):
            sim.add(
                Multirotor("iris", position=(3 * k, 0, 0.2), backends=[ROS2(f"d{k}", transport=TRANSPORT)])
            )
        listen(peer, {"/clock": "Clock"}, "best_effort")
        wait_until(lambda: peer.ask("matched", topic="/clock"))
        seen(sim, peer, ["/clock"])
        peer.ask("take", topic="/clock")
        sim.step(5)
        ticks = peer.messages("/clock", 5)
        ignore(peer, ["/clock"])
    times = np.array([t["clock"]["sec"] * 10**9 + t["clock"]["nanosec"] for t in ticks])
    assert np.diff(times).tolist() == [4_000_000] * 4


def test_a_vehicle_that_px4_flies(px4, peer):
    """A vehicle flown by an autopilot could not be published on ROS 2."""
    autopilot = px4("--mission hover --ready 1")
    with Simulation("flat") as sim:
        backends = [autopilot, ROS2("flown", control=False, transport=TRANSPORT)]
        sim.add(Multirotor("iris", backends=backends))
        fly_until(sim, lambda: says(autopilot, "HOVER"))
        listen(peer, {"/flown/odom": "Odometry"})
        height = seen(sim, peer, ["/flown/odom"])["/flown/odom"]["pose"]["pose"]["position"]["z"]
        assert height == pytest.approx(5.0, abs=0.5)
        # Faults to inject and to heal, no commands.
        assert peer.ask("nodes")["/flown/pegasus"]["reader_count"] == 2
        ignore(peer, ["/flown/odom"])
