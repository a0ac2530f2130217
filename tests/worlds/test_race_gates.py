"""Tests of the world `race_gates`: gate spacing, directions and the free race line."""

from pathlib import Path

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.config.files import load_world
from pegasus.control import trajectories
from pegasus.control.trajectories.race_line import Gate
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene.translation import translate
from pegasus.worlds import make_world
from pegasus.worlds.check import check_world
from pegasus.worlds.race_gates import RaceGates


@pytest.mark.parametrize("seed", range(20))
def test_gates_keep_apart_and_to_their_heights(seed: int) -> None:
    """A gate would overlap another or the ground."""
    world = RaceGates(seed=seed, gate_count=10, radius=28.0)
    gates = [Gate(**{**gate, "position": tuple(gate["position"])}) for gate in world.gates()]
    places = np.array([gate.position for gate in gates])
    assert len(gates) == 10
    assert (places[:, 2] >= world.least_height).all()
    assert (places[:, 2] <= world.most_height).all()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[~np.eye(10, dtype=bool)]
    assert apart.min() > 6.0


@pytest.mark.parametrize("seed", range(20))
def test_each_gate_looks_to_the_next(seed: int) -> None:
    """The track would have to be flown backwards at a gate."""
    gates = RaceGates(seed=seed).gates()
    for gate, following in zip(gates, gates[1:] + gates[:1], strict=True):
        way = np.subtract(following["position"], gate["position"])[:2]
        ahead = np.array([np.cos(gate["heading"]), np.sin(gate["heading"])])
        assert ahead @ way / np.linalg.norm(way) > 0.4


def test_the_quickest_line_takes_the_gates() -> None:
    """The scenario snippet beside the world would be invalid."""
    gates = RaceGates(seed=1, gate_count=3, radius=14.0).gates()
    line = trajectories.race_line(gates=gates, speed=6.0)
    assert 4.0 < line.duration < 60.0


@pytest.mark.parametrize(("seed", "count", "radius"), [(0, 3, 12.0), (2, 4, 12.0), (4, 3, 26.0)])
def test_the_way_through_is_free_of_the_start(tmp_path: Path, seed: int, count: int, radius: float) -> None:
    """On small tracks podium or tent would block the race line."""
    file = make_world(RaceGates(seed=seed, gate_count=count, radius=radius), tmp_path)
    world, _ = load_world(file)
    assert world.usd is not None
    engine, scene = MujocoEngine(), translate(world.usd)
    engine.load(scene)
    found = {finding.subject: finding.problems for finding in check_world(world, scene, engine)}
    engine.close()
    assert found["paths"] == []
    assert found["spawn points"] == []


def test_too_many_gates_for_a_radius_are_refused() -> None:
    """Gates would overlap."""
    with pytest.raises(ConfigError, match=r"radius = 20.0: must be from .* m for 30 gates"):
        RaceGates(gate_count=30, radius=20.0)
