"""Tests of vehicles commanded by another process with its own types and serializer."""

import math

import numpy as np
import pytest
from ros2_rig import TRANSPORT, begin

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from tests.seaplane import Seaplane
from tests.waits import wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


def test_commands_move_the_right_rotor_of_the_right_vehicle(peer, nothing_stays):  # noqa: ARG001
    """A topic would drive a wrong rotor or a wrong vehicle."""
    # On a busy machine, the simulated time between two commands may exceed the time-out.
    options = {"transport": TRANSPORT, "command_timeout": 1e3}
    with Simulation("flat") as sim:
        three = sim.add(Multirotor("iris", count=3, backends=[ROS2("drone0", **options)]))
        others = [
            sim.add(Multirotor("iris", position=(9, y, 0.2), backends=[ROS2(f"drone{i}", **options)]))
            for i, y in ((3, -3.0), (4, 3.0))
        ]
        wanted = 100.0 + 10.0 * np.arange(20).reshape(5, 4)
        topics = {f"/drone{i}/control/rotor{r}/ref": (i, r) for i in range(5) for r in range(4)}
        for topic in topics:
            peer.ask("advertise", topic=topic, kind="Float64")
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))

        def commanded():
            sim.step()
            return np.concatenate([three.command, *(other.command for other in others)])

        told = np.zeros((5, 4))
        # The first rotors of all vehicles come before the second ones.
        for topic, place in sorted(topics.items(), key=lambda item: item[1][::-1]):
            told[place] = wanted[place]
            peer.ask("send", topic=topic, data=wanted[place])
            wait_until(lambda: np.array_equal(commanded(), told))


def test_each_kind_of_command(peer, nothing_stays):  # noqa: ARG001
    """A command topic would not be read, or its numbers be misinterpreted."""
    backend = ROS2("drone0", transport=TRANSPORT, topics={"cmd_vel": {"name": "/cmd_vel"}})
    turn = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}
    point = {
        "transforms": [{"translation": {"x": 1.0, "y": 2.0, "z": 3.0}, "rotation": turn}],
        "velocities": [],
        "accelerations": [],
        "time_from_start": {"sec": 9, "nanosec": 500_000_000},
    }  # fmt: skip
    layout = {"dim": [], "data_offset": 0}
    messages = [
        ("/drone0/control/rotors", "Float64MultiArray", {"layout": layout, "data": [1.0, 2.0, 3.0, 4.0]}),
        (
            "/drone0/control/attitude_thrust",
            "Float64MultiArray",
            {"layout": layout, "data": [0.1, 0.2, 0.3, 14.0]},
        ),
        (
            "/cmd_vel",
            "Twist",
            {"linear": {"x": 1.0, "y": 2.0, "z": 3.0}, "angular": {"x": 0.0, "y": 0.0, "z": 0.4}},
        ),
        (
            "/drone0/control/trajectory",
            "MultiDOFJointTrajectory",
            {
                "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "map"},
                "joint_names": ["base_link"],
                "points": [point],
            },
        ),
    ]
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", position=(0, 0, 5), backends=[backend]))
        for topic, kind, _ in messages:
            peer.ask("advertise", topic=topic, kind=kind)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic, _, _ in messages))
        sim.step()
        (demand,) = backend._demands
        modes = []
        for topic, _, content in messages:
            before = demand.mode
            peer.ask("send", topic=topic, **content)
            wait_until(lambda before=before: sim.step() and demand.mode is not before)
            modes.append(demand.mode.value)
        assert modes == ["channels", "attitude", "velocity", "path"]
        assert demand.command.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert (demand.attitude, demand.thrust) == ((0.1, 0.2, 0.3), 14.0)
        assert (demand.velocity, demand.yaw_rate) == ((1.0, 2.0, 3.0), 0.4)
        assert demand.path.duration == 9.5
        assert demand.path.at(9.5).motion[0].tolist() == [1.0, 2.0, 3.0]


def test_channels_that_are_no_rotors(peer, nothing_stays):  # noqa: ARG001
    """A vehicle with other channels than rotors would not be commanded, or not come to rest."""
    backend = ROS2("plane", transport=TRANSPORT, command_timeout=1.0)
    layout = {"dim": [], "data_offset": 0}
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=(0, 0, 50), backends=[backend]))
        topics = {"/plane/control/channels": "Float64MultiArray", "/plane/control/elevator/ref": "Float64"}
        for topic, kind in topics.items():
            peer.ask("advertise", topic=topic, kind=kind)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        peer.ask("send", topic="/plane/control/channels", layout=layout, data=[0.4, 0.2])
        wait_until(lambda: sim.step() and plane.command[0].tolist() == [0.4, 0.2])
        peer.ask("send", topic="/plane/control/elevator/ref", data=-0.3)
        wait_until(lambda: sim.step() and plane.command[0, 1] == -0.3)
        sim.run(1.1)
        assert plane.command.tolist() == [[0.0, 0.1]]


def test_only_rotors_hold_a_position():
    """A vehicle that no controller flies would be said to hold its position."""
    with (
        Simulation("flat") as sim,
        pytest.raises(ConfigError, match="on_timeout = 'hold': is for rotor speeds, not throttle, elevator"),
    ):
        sim.add(Seaplane(backends=[ROS2("plane", transport=TRANSPORT, on_timeout="hold")]))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ([1.0, 2.0, 3.0], "must contain 4 commands (rotor_0 [rad/s], 0 to 718; "),
        ([1.0, math.nan, 3.0, 4.0], "must be finite numbers"),
    ],
)
def test_a_bad_command_is_refused_in_one_line(peer, caplog, data, what, nothing_stays):  # noqa: ARG001
    """NaN or too few numbers would end the run, or cancel the last valid command."""
    backend = ROS2("drone0", transport=TRANSPORT, command_timeout=100.0)
    layout = {"dim": [], "data_offset": 0}
    topic = "/drone0/control/rotors"
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[backend]))
        peer.ask("advertise", topic=topic, kind="Float64MultiArray", depth=100)
        wait_until(lambda: peer.ask("matched", topic=topic))
        peer.ask("send", topic=topic, layout=layout, data=[10.0, 20.0, 30.0, 40.0])
        wait_until(lambda: sim.step() and iris.command.any())
        for _ in range(20):
            peer.ask("send", topic=topic, layout=layout, data=data)
        wait_until(lambda: sim.step() and caplog.records)
        sim.step(20)
        assert iris.command[0].tolist() == [10.0, 20.0, 30.0, 40.0]
        (line,) = [record.getMessage() for record in caplog.records]
        assert "control/rotors" in line
        assert what in line
