"""Tests of flights of scenario files: paths, spawn points, duration and output."""

import json

import numpy as np
import pytest
import yaml

from pegasus import Backend, ConfigError, Playback, read_log
from pegasus.backends import BACKENDS
from pegasus.base.system import resource
from pegasus.core.backend_group import BackendGroup
from pegasus.experiments import Flight, plot_run
from pegasus.worlds import GENERATORS, make_world

IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
TAKEOFF = {"model": "geometric", "trajectory": [{"takeoff": {"height": 1.0}}, {"land": {}}]}


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    """Write a scenario in a folder that is not the current one, and return its path."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    def write(*vehicles, **changes):
        content = {"name": "test", "world": "flat", "duration": 0.1, "vehicles": list(vehicles)} | changes
        path = tmp_path / "scenario.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
        return path

    return write


class Spy(Backend):
    """A backend that records its start and stop, and fails on demand."""

    def __init__(self, fails_at=None, interrupts=False):
        self.fails_at, self.interrupts, self.calls = fails_at, interrupts, []

    def start(self):
        self.calls.append("start")
        if self.fails_at == "start":
            raise ConfigError("cannot be started")

    def publish(self, t, state, readings):
        if self.fails_at is not None and self.fails_at != "start" and t >= self.fails_at:
            raise KeyboardInterrupt if self.interrupts else ZeroDivisionError

    def stop(self):
        self.calls.append("stop")


def with_spy(path, spy):
    """Return the run of a scenario whose first vehicle has a spy."""
    flight = Flight(path)
    vehicle = next(iter(flight.simulation.vehicles))
    vehicle.backends = BackendGroup([*vehicle.backends, spy])
    vehicle.backends.bind(vehicle)
    return flight


def test_paths_are_relative_to_the_file_that_names_them(scenario, tmp_path):
    """A scenario would run only from its own folder."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "own.yaml").write_text(yaml.safe_dump(IRIS | {"name": "own", "mass": 1.1}))
    (tmp_path / "worlds").mkdir()
    make_world(GENERATORS["flat"](), tmp_path / "worlds", name="own")
    for world in "worlds/own.yaml", "worlds/own.usdc", str(tmp_path / "worlds" / "own.yaml"):
        flight = Flight(scenario({"model": "models/own.yaml"}, world=world))
        assert flight.simulation.vehicles["own"].mass == 1.1
        assert flight.simulation.world.usd.samefile(tmp_path / "worlds" / "own.usdc")


def test_spawn_points(scenario):
    """Vehicles would overlap at the start, or have a wrong heading."""
    flight = Flight(
        scenario(
            {"model": "iris"},
            {"model": "iris", "position": [0.0, 0.0, 0.2], "heading": 0.5},
            {"model": "iris", "heading": 1.0},
            {"model": "iris", "position": [5.0, 6.0, 0.2]},
            {"model": "iris", "position": "spawn_5"},
        )
    )
    world = flight.simulation.world.spawn_points
    starts = [vehicle.start.position[0] for vehicle in flight.simulation.vehicles]
    # The second vehicle, which has its own position, occupies the first spawn point.
    assert world[0].position[:2] == (0.0, 0.0)
    expected = [world[1].position, (0.0, 0.0, 0.2), world[2].position, (5.0, 6.0, 0.2), world[4].position]
    np.testing.assert_array_equal(starts, expected)
    headings = [2 * np.arctan2(*v.start.orientation[0, 2:]) for v in flight.simulation.vehicles]
    np.testing.assert_allclose(headings, [world[1].heading, 0.5, 1.0, 0.0, world[4].heading], atol=1e-12)
    crowd = scenario({"model": "iris"}, {"model": "iris", "count": 100}, world="box_room")
    with pytest.raises(ConfigError, match=r"scenario.yaml: vehicles.1.position: is needed"):
        Flight(crowd)
    with pytest.raises(
        ConfigError, match=r"scenario.yaml: vehicles.0.spawn point = 'roof': no such spawn point"
    ):
        Flight(scenario({"model": "iris", "position": "roof"}))


def test_changes(scenario):
    """An option would not reach the run, or bypass a check of the file."""
    path = scenario({"model": "iris"}, rate=250.0, seed=1, speed=2.0, record={"readings": False})
    flight = Flight(path, {"duration": 0.5, "rate": 500.0, "seed": 7, "speed": "max"})
    assert (flight.duration, flight.spec.speed) == (0.5, "max")
    assert (flight.simulation.rate, flight.simulation.seed) == (500.0, 7)
    assert not flight.spec.record.readings
    with pytest.raises(ConfigError, match=r"^changes: seed = -1: must be at least 0"):
        Flight(path, {"seed": -1})


def test_duration_of_a_mission(scenario, tmp_path):
    """A run of a mission's duration would end before a distant vehicle has landed."""
    square = [
        {"takeoff": {"height": 1.0}},
        {"square": {"side": 1.0, "height": 1.0, "speed": 2.0}},
        {"land": {}},
    ]
    backend = {"model": "geometric", "relative": False, "trajectory": square}
    far = {"model": "iris", "position": [12.0, 0.0, 0.2], "backends": [backend]}
    flight = Flight(scenario(far, duration=None))
    estimate, shown = flight.duration, []
    (controller,) = flight.simulation.vehicles["iris"].backends
    run = flight.fly(out=tmp_path / "out", progress=shown.append)
    assert run.summary.simulated_time > estimate + 1.0
    assert controller.mission.finished
    assert shown == sorted(shown)
    assert shown[-1] == run.summary.simulated_time


def test_duration_of_less_than_a_step(scenario, tmp_path):
    """A run without a step would have no data to summarize or plot."""
    run = Flight(scenario({"model": "iris"}, duration=1e-6)).fly(out=tmp_path / "out")
    assert run.summary.simulated_time == 0.004
    assert len(read_log(run.folder)["iris/state"]) == 1


def test_duration_is_needed(scenario):
    """A mission without an end would fly forever."""
    hold = {"model": "geometric", "trajectory": [{"hold": {"height": 1.0}}]}
    for entry in {"model": "iris"}, {"model": "iris", "backends": [hold]}:
        with pytest.raises(ConfigError, match=r"scenario.yaml: duration: .*--duration"):
            Flight(scenario(entry, duration=None))


def test_what_a_run_leaves(scenario, tmp_path):
    """Log, summary or plot would be missing, or the simulation stay open."""
    flight = Flight(scenario({"model": "iris"}, name="my run"))
    run = flight.fly(out=tmp_path / "out")
    assert not run.interrupted
    assert run.folder.parent == tmp_path / "out"
    assert run.folder.name.startswith("my-run-")
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "flight.mcap",
        "flight.png",
        "foxglove.json",
        "summary.json",
    ]
    assert json.loads((run.folder / "summary.json").read_bytes()) == json.loads(run.summary.to_json())
    assert read_log(run.folder).complete
    with pytest.raises(RuntimeError, match="closed"):
        flight.simulation.play()


def test_same_seed_same_log(scenario, tmp_path):
    """Two runs of a scenario would differ in a bit."""
    path = scenario({"model": "iris", "backends": [TAKEOFF]}, duration=1.5)
    logs = [Flight(path).fly(out=tmp_path / "out").folder / "flight.mcap" for _ in range(2)]
    assert logs[0] != logs[1]
    assert logs[0].read_bytes() == logs[1].read_bytes()


@pytest.mark.parametrize("fails_at", ["start", 0.0])
def test_a_run_that_never_began_leaves_nothing(scenario, tmp_path, fails_at):
    """A run that fails before its first step would leave its folder or a running backend."""
    spy = Spy(fails_at)
    flight = with_spy(scenario({"model": "iris"}), spy)
    with pytest.raises((ConfigError, ZeroDivisionError)):
        flight.fly(out=tmp_path / "out")
    assert spy.calls[0] == "start"
    assert spy.calls[-1] == "stop"
    assert flight.simulation.playback is Playback.STOPPED
    assert not (tmp_path / "out").exists()


def test_a_run_that_never_began_leaves_what_was_there(scenario, tmp_path):
    """Cleaning up would delete a folder of the user."""
    (tmp_path / "out").mkdir()
    with pytest.raises(ZeroDivisionError):
        with_spy(scenario({"model": "iris"}), Spy(0.0)).fly(out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_that_fails_in_flight_keeps_its_log(scenario, tmp_path):
    """A failure would lose the flight so far, or go unreported."""
    spy = Spy(0.052)
    with pytest.raises(ZeroDivisionError) as failure:
        with_spy(scenario({"model": "iris"}), spy).fly(out=tmp_path / "out")
    (folder,) = (tmp_path / "out").iterdir()
    assert failure.value.__notes__ == [f"the data recorded so far is in {folder}"]
    assert spy.calls[-1] == "stop"
    assert sorted(path.name for path in folder.iterdir()) == [
        "flight.mcap",
        "flight.png",
        "foxglove.json",
        "summary.json",
    ]
    log = read_log(folder)
    assert log.complete
    assert log["iris/state"].time[-1] <= 0.048


def test_interrupt(scenario, tmp_path):
    """An interrupt would be an error, or lose the flight so far."""
    run = with_spy(scenario({"model": "iris"}), Spy(0.052, interrupts=True)).fly(out=tmp_path / "out")
    assert run.interrupted
    assert run.summary.simulated_time == pytest.approx(0.052)
    assert read_log(run.folder).complete


def test_a_scenario_that_cannot_be_built_closes_its_simulation(scenario, monkeypatch):
    """A world's physics would stay in memory after an invalid vehicle."""
    closed = []
    monkeypatch.setattr("pegasus.core.simulation.Simulation.close", lambda self: closed.append(self))
    with pytest.raises(ConfigError, match="irsi"):
        Flight(scenario({"model": "iris"}, {"model": "irsi"}))
    assert len(closed) == 1


def test_every_backend_can_be_named(scenario):
    """A shipped backend could not be used in scenario files."""
    # A connection to an autopilot that is started elsewhere needs no program.
    waiting = {"launch": False}
    given = {"px4": waiting, "ardupilot": waiting | {"parameters": {"SCHED_LOOP_RATE": 138}}}
    for name in BACKENDS:
        # The ROS 2 backend follows no trajectory.
        own = {"localhost_only": True} if name == "ros2" else TAKEOFF
        if name == "policy":
            own = {"policy": "raptor"}
        if name == "policy_px4":
            # Its file is that of a training.
            continue
        backend = own | {"model": name} | given.get(name, {})
        model = {"plane": "plane", "vtol": "standard_vtol"}.get(name, "iris")
        flight = Flight(scenario({"model": model, "backends": [backend]}), {"duration": 5.0})
        with flight.simulation:
            assert isinstance(flight.simulation.vehicles[model].backends[0], BACKENDS[name])


def test_a_bag_beside_the_log(scenario, tmp_path):
    """`record: {ros2: true}` would write no valid rosbag2 bag, or spoil the other outputs."""
    path = scenario({"model": "iris", "backends": [TAKEOFF]}, record={"ros2": True, "state_rate": 20.0})
    folder = Flight(path).fly(out=tmp_path / "runs").folder
    bag = yaml.safe_load((folder / "rosbag2" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    counts = {t["topic_metadata"]["name"]: t["message_count"] for t in bag["topics_with_message_count"]}
    assert counts["/iris/state/pose"] == len(read_log(folder)["iris/state"]) == 2
    assert (folder / "rosbag2" / bag["relative_file_paths"][0]).is_file()


def test_every_vehicle_on_the_graph(scenario, monkeypatch):
    """`--ros2` would omit a vehicle, publish one twice, or replace its controller."""
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    path = scenario(
        {"model": "iris", "backends": [TAKEOFF]},
        {"model": "iris", "backends": [TAKEOFF, {"model": "ros2", "namespace": "own", "control": False}]},
        {"model": "iris"},
        world="courtyard",
    )
    flight = Flight(path, ros2=True)
    with flight.simulation as simulation:
        found = [[b for b in v.backends if isinstance(b, BACKENDS["ros2"])] for v in simulation.vehicles]
        assert [[(b.namespaces, b.drives) for b in backends] for backends in found] == [
            [(["iris"], False)],
            [(["own"], False)],
            [(["iris2"], True)],
        ]


def test_the_graph_of_a_scenario_is_that_of_the_option(scenario, tmp_path):
    """`--ros2` would fail with a scenario whose vehicle sets its own domain or range."""
    pytest.importorskip("cyclonedds")
    own = {"model": "ros2", "namespace": "own", "domain_id": 77, "localhost_only": True}
    path = scenario({"model": "iris"}, {"model": "iris", "backends": [own]}, world="courtyard", duration=0.02)
    flight = Flight(path, ros2=True)
    backends = [backend for vehicle in flight.simulation.vehicles for backend in vehicle.backends]
    assert [(b.domain_id, b.localhost_only) for b in backends] == [(77, True), (77, True)]
    assert not flight.fly(out=tmp_path, record=False).interrupted


def test_plot_needs_a_log(tmp_path):
    """A folder without a log would cause a traceback."""
    with pytest.raises(ConfigError, match=r"flight\.mcap"):
        plot_run(tmp_path)


def test_a_damaged_log_is_plotted_up_to_the_damage(scenario, tmp_path):
    """A flight on a failing disk would have no plot at all."""
    pytest.importorskip("matplotlib")
    path = scenario({"model": "iris", "backends": [TAKEOFF]}, world="courtyard", duration=4.0)
    folder = Flight(path).fly(out=tmp_path).folder
    log, picture = folder / "flight.mcap", folder / "flight.png"
    damaged = bytearray(log.read_bytes())
    damaged[2 * len(damaged) // 3] ^= 0x10
    log.write_bytes(damaged)
    picture.unlink()
    assert plot_run(folder) == picture
    assert picture.stat().st_size > 10_000
