"""Tests of the options of the PX4 backend: search paths, start, links and the errors of wrong options."""

import os
import subprocess
import sys

import pytest
import yaml
from px4_rig import PX4Tree, free_instance, iris, refused, sensors

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.backends import BACKENDS, PX4
from pegasus.backends.mavlink.ports import bind_udp, first_free_instance, listen
from pegasus.base.components import build
from pegasus.base.system import resource
from pegasus.dynamics import IdealMotor
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())


@pytest.fixture
def places(tmp_path, own_settings, monkeypatch):
    """Return trees at all places that are searched for PX4, in order, and the settings that name them."""
    option, setting, variable = (PX4Tree(tmp_path / name) for name in ("option", "setting", "variable"))
    home = PX4Tree(tmp_path / "home" / "PX4-Autopilot")
    monkeypatch.setenv("PX4_DIR", str(variable.folder))
    (own_settings / "settings.yaml").write_text(f"px4: {{directory: {setting.folder}}}")
    return option, setting, variable, home


def test_where_px4_is_found(places, own_settings, tmp_path, monkeypatch):
    """Another PX4 would fly than the one that the user has named."""
    option, setting, variable, home = places

    def found(directory=None):
        with Simulation() as simulation:
            backend = PX4(directory)
            backend.run_folder = tmp_path / "run"
            simulation.add(iris(backend))
            simulation.step()
            (process,) = backend._processes
            return next(tree for tree in places if process.arguments[0] == str(tree.binary))

    assert found(option.folder) is option
    assert found() is setting
    (own_settings / "settings.yaml").unlink()
    assert found() is variable
    monkeypatch.delenv("PX4_DIR")
    assert found() is home


@pytest.mark.parametrize("elsewhere", [{"launch": False}, {"connection": "udp:127.0.0.1:14560"}])
def test_parameters_of_a_px4_that_is_not_started_here(elsewhere, caplog):
    """Parameters for a PX4 started elsewhere would be ignored without an error."""
    with Simulation() as simulation:
        simulation.add(iris(PX4(parameters={"MPC_XY_P": 0.9}, **elsewhere)))
    assert [record.getMessage() for record in caplog.records] == [
        "the parameters are ignored: PX4 of vehicle 'iris' is not launched by Pegasus"
    ]


def test_more_copies_than_there_are_instances(tree, own_settings):
    """The 256th system id, which MAVLink cannot hold, would end the run in a traceback."""
    message = refused(PX4(tree.folder, instance=248), count=3)
    assert message == "instance = 248: with 3 vehicles must be at most 247"
    (own_settings / "settings.yaml").write_text("px4: {instance: 249}")
    assert refused(PX4(tree.folder), count=2).startswith("instance: the ports of every instance from 249")


def test_first_instance_of_the_settings(own_settings, tree):
    """The first instance of the user's settings would be ignored."""
    number = free_instance() + 7
    (own_settings / "settings.yaml").write_text(f"px4: {{instance: {number}}}")
    with Simulation() as simulation:
        backend = PX4(tree.folder)
        simulation.add(iris(backend))
        assert backend.first_instance == number


def test_no_directory(tmp_path, own_settings):
    """The error for a missing PX4 would not name the three ways to give its folder."""
    missing = tmp_path / "missing"
    message = refused(PX4(missing))
    assert message.startswith(
        f"directory = '{missing}': no such directory; set the backend's option directory,"
    )
    assert str(own_settings / "settings.yaml") in message
    assert "px4.directory" in message
    assert "PX4_DIR" in message
    assert refused(PX4()).startswith("PX4-Autopilot not found; set the backend's option directory,")


HOLDER = """
import socket, sys
held = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("held", flush=True)
sys.stdin.read()
"""


def test_port_in_use(tree):
    """The error would not name the occupied port and its holder."""
    number = free_instance()
    command = [sys.executable, "-c", HOLDER, str(4560 + number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        # The vehicle's other ports, bound before the occupied one, are free again afterwards.
        message = refused(PX4(tree.folder, instance=max(number - 1, 0)), count=2)
        holder.communicate(timeout=LIMIT)
    assert message.startswith(f"TCP port = {4560 + number}: in use")
    if sys.platform == "linux":
        assert f"(pid {holder.pid})" in message
    assert message.endswith("; end that process, or choose another instance")
    for port in (4560 + max(number - 1, 0), 4560 + number):
        listen("127.0.0.1", port).close()


def test_two_vehicles_with_the_same_instance(tree):
    """Two vehicles would share a PX4, or the second have none without an error."""
    number = free_instance()
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder, instance=number)))
        with pytest.raises(ConfigError) as caught:
            simulation.add(iris(PX4(tree.folder, instance=number), position=(5.0, 0.0, 0.1)))
        assert len(simulation.vehicles) == 1
    message = str(caught.value)
    assert message.startswith(f"TCP port = {4560 + number}: in use")
    if sys.platform == "linux":
        assert f"in use by this process (pid {os.getpid()})" in message


def test_somebody_is_faster(tree, monkeypatch):
    """Two simulations that start together would choose the same ports, and one of them fail."""
    number = free_instance()
    held = []

    def found(ports_of, start=0, limit=250):
        # Between the search and the binding.
        if not held:
            held.append(listen("127.0.0.1", 4560 + number))
            return number
        return first_free_instance(ports_of, start, limit)

    monkeypatch.setattr("pegasus.backends.px4.px4.first_free_instance", found)
    with Simulation() as simulation:
        backend = PX4(tree.folder)
        simulation.add(iris(backend))
        assert backend.first_instance > number
    held[0].close()


def test_free_instances_are_found(tree, own_settings):
    """Vehicles without an instance would get ports of each other or of a running PX4."""
    first = free_instance(8)
    (own_settings / "settings.yaml").write_text(f"px4: {{instance: {first}}}")
    with bind_udp("127.0.0.1", 14580 + first), Simulation() as simulation:
        backends = [PX4(tree.folder) for _ in range(2)]
        for i, backend in enumerate(backends):
            simulation.add(iris(backend, count=2, position=(0.0, 5.0 * i, 0.1)))
    assert [backend.first_instance for backend in backends] == [first + 1, first + 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"connection": "serial:/dev/ttyACM0:fast"},
            "connection = 'serial:/dev/ttyACM0:fast': 'fast' is not a baud",
        ),
        (
            {"connection": "usb"},
            "connection = 'usb': must be tcp:HOST:PORT, udp:HOST:PORT, serial:DEVICE:BAUD",
        ),
        ({"connection": "tcp:127.0.0.1:0"}, "connection = 'tcp:127.0.0.1:0': '0' is not a port"),
    ],
)
def test_wrong_connection(options, message):
    """An invalid connection string would end in a traceback."""
    assert refused(PX4(**options)).startswith(message)


def test_one_link_for_several():
    """Two copies of a vehicle would share one flight controller."""
    message = refused(PX4(connection="udp:127.0.0.1:14560"), count=2)
    assert message.startswith("connection = 'udp:127.0.0.1:14560': is one link")


def test_no_trajectory_for_hardware():
    """Set-points would be sent to an unused port, and the flight controller would never arm."""
    flight = [{"takeoff": {"height": 2.0}}, "land"]
    spec = {"model": "px4", "connection": "serial:/dev/ttyACM0:921600", "trajectory": flight}
    with pytest.raises(ConfigError) as caught:
        build(Backend, BACKENDS, spec, field="backends.0")
    assert str(caught.value) == (
        "backends.0.connection = 'serial:/dev/ttyACM0:921600': allows no trajectory: Pegasus arms and flies "
        "only a PX4 on this machine; omit the trajectory, and arm and fly from a ground station or by MAVSDK"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instance": 250}, "instance = 250: must be 0 to 249"),
        ({"instance": -1}, "instance = -1: must be 0 to 249"),
        ({"step_timeout": 0.0}, "step_timeout = 0.0: must be above 0 s"),
        ({"hold_time": float("inf")}, "hold_time = inf: must be above 0 s"),
        ({"start_timeout": float("nan")}, "start_timeout = nan: must be above 0 s"),
    ],
)
def test_wrong_option(options, message):
    """An invalid time limit would let the simulation hang."""
    with pytest.raises(ConfigError) as caught:
        PX4(**options)
    assert str(caught.value).startswith(message)


def test_options_of_a_scenario():
    """A misspelt option in a scenario would be ignored."""
    assert build(Backend, BACKENDS, {"model": "px4", "instance": 3}, field="backends.0").instance == 3
    with pytest.raises(
        ConfigError, match=r"^backends\.0\.insatnce: unknown field; did you mean instance\? allowed "
    ):
        build(Backend, BACKENDS, {"model": "px4", "insatnce": 3}, field="backends.0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensors": {}}, "sensors = 'iris': has no IMU"),
        ({"motor": IdealMotor(), "model": IRIS | {"px4": {}}}, "px4.scale: is required"),
        ({"model": IRIS | {"px4": {"channels": [0, 1, 2, 16]}}}, "px4.channels = [0, 1, 2, 16]: must be"),
        ({"model": IRIS | {"px4": {"channels": [0, 1, 2]}}}, "px4.channels = [0, 1, 2]: must have one item"),
        (
            {"model": IRIS | {"px4": {"offset": [1.0]}}},
            "px4.offset = [1.0]: must have one item for each of the 4",
        ),
    ],
)
def test_wrong_vehicle(tree, change, message):
    """A vehicle that PX4 cannot fly would fail during the flight, or fly wrongly."""
    options = {"model": "iris", "sensors": sensors()} | change
    with Simulation() as simulation, pytest.raises(ConfigError) as caught:
        simulation.add(Multirotor(options.pop("model"), backends=[PX4(tree.folder)], **options))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_vehicle_without_gps_is_taken_with_a_warning(tree, caplog):
    """No message would explain why PX4 never arms."""
    fitted = sensors()
    del fitted["gps"]
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder), sensors=fitted))
    assert [r.message for r in caplog.records] == ["vehicle 'iris' has no GPS: PX4 will not arm"]


@pytest.mark.parametrize(
    ("script", "problem", "limit"),
    [
        (
            "echo no such model >&2; exit 255",
            "has ended with status 255; its last words: no such model",
            20.0,
        ),
        ("echo booting; kill -9 $$", "was killed by SIGKILL; its last words: booting", 20.0),
        ("echo stuck; exec sleep 600", "has not connected within 0.4 s; its last words: stuck", 0.4),
        ("exec sleep 600", "has not connected within 0.4 s; its last words: nothing", 0.4),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_px4_does_not_come_up(tree, tmp_path, script, problem, limit, kept):
    """A PX4 that fails at its start would be waited for, or its output not be shown."""
    tree.binary.write_text(f"#!/bin/sh\n{script}\n")
    backend = PX4(tree.folder, start_timeout=limit)
    if kept:
        backend.run_folder = tmp_path / "run"
    message = refused(backend, 0.1)
    number = backend.first_instance
    log = f"; see {tmp_path / 'run' / f'px4_{number}.log'}" if kept else ""
    assert message == f"PX4 {number}: {problem}{log}"


def test_nothing_of_a_vehicle_that_is_refused_later(tree):
    """A port would stay in use after another part of the vehicle is rejected."""

    class Picky(Backend):
        def bind(self, vehicle):
            raise ConfigError("not with me")

    number = free_instance()
    refused_one = iris(PX4(tree.folder, instance=number), Picky())
    with Simulation() as simulation:
        with pytest.raises(ConfigError, match="not with me"):
            simulation.add(refused_one)
        assert refused_one.backends[0]._links == []
        simulation.add(iris(PX4(tree.folder, instance=number)))
