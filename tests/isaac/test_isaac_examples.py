"""Tests of the examples for Isaac Sim, each run in short form on the fakes."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pegasus.backends import PX4
from pegasus.base.errors import ConfigError
from tests import example_rig
from tests.backends.px4_rig import PX4Tree, phases
from tests.isaac.contract import VERSIONS

EXAMPLES = example_rig.EXAMPLES / "isaac"


@pytest.fixture
def example(monkeypatch):
    """Return an example's module by its name."""
    return lambda name: example_rig.load_example(EXAMPLES / f"{name}.py", monkeypatch)


def test_every_example_has_its_test():
    """An example without a test would go unnoticed."""
    files = (Path(__file__), Path(__file__).with_name("test_lab.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    for path in EXAMPLES.glob("*.py"):
        assert f"def test_{path.stem}" in text, path.name


def test_no_example_has_the_name_of_a_package():
    """An example called `newton.py` would shadow the package that Isaac Sim imports."""
    taken = {"carb", "isaaclab", "isaacsim", "newton", "omni", "pxr", "rclpy", "torch", "warp"}
    assert taken.isdisjoint(path.stem for path in EXAMPLES.glob("*.py"))
    for path in EXAMPLES.glob("*.py"):
        assert importlib.util.find_spec(path.stem) is None, path.name


def test_rtx_lidar(isaac, example, capsys):
    """The two lidars would have different directions, or both cast rays."""
    kit = isaac()
    kit.settings.set_bool("/rtx-transient/stableIds/enabled", True)
    difference = example("rtx_lidar").main(duration=0.3)
    assert len(difference) > 300
    # The vehicle climbs a little between the turn that RTX has seen and the rays.
    assert 0.0 < np.median(difference) < 0.1
    assert "points by RTX" in capsys.readouterr().out
    assert not kit.products


@pytest.mark.parametrize("name", ["rtx_lidar", "newton_flight"])
def test_rtx_lidar_and_newton_flight_need_isaac_sim_6(isaac, example, name):
    """Isaac Sim 5.1, which has neither, would give a traceback instead of the reason."""
    isaac("5.1.0")
    with pytest.raises(ConfigError) as error:
        example(name).main(duration=0.1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_ros2_cameras(isaac, example, version, monkeypatch):
    """A camera would not be published on ROS 2, or at a wrong rate."""
    kit = isaac(version)
    module = example("ros2_cameras")
    seen = {}

    def run(simulation, duration, *, speed):
        assert speed == 1.0
        simulation.step(round(duration * simulation.rate))
        for graph in kit.graphs:
            for node, values in graph.published.items():
                topic = f"{values['nodeNamespace']}/{values['topicName']}"
                seen[topic] = graph.messages[node] / duration

    # Without pacing by wall time.
    monkeypatch.setattr(module.Simulation, "run", run)
    module.main(duration=2.0, resolution=(40, 30))
    for drone in ("drone0", "drone1"):
        assert seen[f"{drone}/front/color/image_raw"] == pytest.approx(25.0, abs=1.0)
        for topic in ("color/image_raw", "depth/image_raw", "semantic/image_raw", "depth/camera_info"):
            assert seen[f"{drone}/down/{topic}"] == pytest.approx(5.0, abs=1.0)
    kit.update()
    assert not kit.graphs
    assert not kit.products


@pytest.mark.parametrize("version", VERSIONS)
def test_replicator_dataset(isaac, example, version, tmp_path, capsys):
    """The writer would write nothing, or more images than the camera takes."""
    kit = isaac(version)
    files = example("replicator_dataset").main(tmp_path / "out", duration=2.0, resolution=(40, 30))
    # Ten images a second, each with a mask and boxes.
    assert abs(files - 3 * 20) <= 3
    assert f"{files} files in" in capsys.readouterr().out
    assert not kit.writers


@pytest.mark.parametrize("version", VERSIONS)
def test_px4_pair(isaac, example, version, tmp_path, capsys):
    """The two autopilots would share a vehicle, or lose lockstep."""
    kit = isaac(version)
    module = example("px4_pair")
    assert module.autopilots().trajectory is not None
    tree = PX4Tree(tmp_path / "PX4-Autopilot")
    tree.say("--mission hover --ready 1")
    px4 = PX4(tree.folder)
    px4.run_folder = tmp_path / "run"
    way = module.main(px4, duration=6.0)
    assert way.shape == (1500, 2, 3)
    assert kit.physics.steps_by["step"] == 1500
    for number in (0, 1):
        at = phases(px4.run_folder / f"px4_{px4.first_instance + number}.log")
        assert {"CONNECTED", "ARMED", "TAKEOFF"} <= set(at)
        # Both climb above their start positions.
        assert way[-1, number, 2] > 1.0
        assert np.abs(way[:, number, 0] - (-4.0, 4.0)[number]).max() < 0.5
    said = capsys.readouterr().out
    assert "PX4 0: up to" in said
    assert "PX4 1: up to" in said


def _hovering(tmp_path):
    """Return a PX4 backend whose program takes off at once."""
    tree = PX4Tree(tmp_path / "PX4-Autopilot")
    tree.say("--mission hover --ready 1")
    return PX4(tree.folder)


@pytest.mark.parametrize("version", VERSIONS)
def test_px4_single(isaac, example, version, tmp_path, capsys):
    """PX4 would not fly the vehicle, or lose lockstep."""
    kit = isaac(version)
    assert example("px4_single").main(_hovering(tmp_path), duration=6.0, speed=None) > 1.0
    assert kit.physics.steps_by["step"] == 1500
    assert "PX4 flew up to" in capsys.readouterr().out


@pytest.mark.parametrize("version", VERSIONS)
def test_px4_camera_ros2(isaac, example, version, tmp_path, monkeypatch):
    """The camera would not be on ROS 2, or at a wrong rate, while PX4 flies."""
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    kit = isaac(version)
    module = example("px4_camera_ros2")
    seen = {}

    def stepping(simulation, duration, *, speed, run=module.Simulation.stepping):
        yield from run(simulation, duration, speed=speed)
        for graph in kit.graphs:
            for node, values in graph.published.items():
                seen[f"{values['nodeNamespace']}/{values['topicName']}"] = graph.messages[node] / duration

    monkeypatch.setattr(module.Simulation, "stepping", stepping)
    height = module.main(_hovering(tmp_path), duration=6.0, resolution=(40, 30), speed=None)
    assert height > 1.0
    for topic in ("color/image_raw", "depth/image_raw", "color/camera_info"):
        assert seen[f"drone0/front/{topic}"] == pytest.approx(25.0, abs=1.0)
    assert module.mission().duration > 10.0


def test_newton_flight(isaac, example, capsys):
    """Newton would not be switched on, or add its own gravity to the vehicle's."""
    kit = isaac()
    engines = []
    module = example("newton_flight")
    fly = module.fly

    def watched(physics, duration):
        way = fly(physics, duration)
        engines.append(kit.engine)
        return way

    module.fly = watched
    assert module.main(duration=3.0) < 0.01
    assert engines == ["newton", "physx"]
    assert "apart at most" in capsys.readouterr().out
