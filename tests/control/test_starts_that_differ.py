"""Copies that share a mission and start from different heights and headings."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from tests.control.batch_flights import InNumpy, flown

HEIGHTS = (0.0, 1.5, 4.0)
"""Tops of the blocks on which the copies stand [m]."""
BLOCK = """
    def Cube "Block{k}" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {{
        double size = 1
        double3 xformOp:scale = (2, 2, 1)
        double3 xformOp:translate = ({x}, 0, {z})
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }}
"""
PLACES = [(6.0 * k, 0.0, height + 0.08) for k, height in enumerate(HEIGHTS)]
YAWS = (0.0, 1.5, -2.1)
STEPS = 5000


class AloneInNumpy(InNumpy):
    """Controller that is called by itself, beside the bank."""

    def command(self, t):
        return super().command(t)


KINDS = [GeometricController, InNumpy, AloneInNumpy]


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """World with a block under each copy."""
    parts = [BLOCK.format(k=k, x=6.0 * k, z=height - 0.5) for k, height in enumerate(HEIGHTS)]
    file = tmp_path_factory.mktemp("blocks") / "blocks.usda"
    header = '#usda 1.0\n(\n    defaultPrim = "World"\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n'
    file.write_text(header + 'def Xform "World"\n{\n' + "".join(parts) + "}\n", encoding="utf-8")
    return file


def flight():
    """Return a flight above the blocks: up, to a place beside the start, back, and down."""
    there = trajectories.hold(position=(0.5, 0.3, 5.0), yaw=0.5, duration=0.3)
    back = trajectories.hold(position=(0.0, 0.0, 5.0), yaw=0.5, duration=0.3)
    up, down = trajectories.takeoff(5.0, speed=2.0), trajectories.land(speed=1.5)
    return trajectories.sequence(up, there, back, down)


def batch(kind, chosen=range(3)):
    return Multirotor(
        "iris",
        name=f"iris{min(chosen)}",
        count=len(chosen),
        position=[PLACES[k] for k in chosen],
        heading=[YAWS[k] for k in chosen],
        backends=[kind(flight())],
        sensors={},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_copy_flies_from_and_to_its_own_place(blocks, kind):
    """If this fails, copies on a slope fly the climb and the landing of the first one."""
    copies = batch(kind)
    path = flown(blocks, [copies], STEPS)
    pilot = copies.backends.driver
    assert len(pilot.missions) == 3
    assert pilot.mission.landed.all()
    assert pilot.mission.finished
    np.testing.assert_allclose(path[-1, :, :2], np.array(PLACES)[:, :2], atol=0.1)
    resting = np.array(HEIGHTS) + path[-1, 0, 2]
    np.testing.assert_allclose(path[-1, :, 2], resting, atol=2e-3)
    assert (path[:, :, 2].max(axis=0) > 4.9).all()
    # Each sinks from 5 m to its own block.
    sinking = (path[:, :, 19] < 0.0).sum(axis=0) * 0.004
    assert sinking[0] > sinking[1] > sinking[2]
    alone = flown(blocks, [batch(kind, [k]) for k in range(3)], STEPS)
    np.testing.assert_array_equal(path, alone)


def test_the_bits_do_not_depend_on_other_vehicles(blocks):
    """If this fails, the split of one batch disturbs the flight of another."""
    pair, other = batch(GeometricController, [1, 2]), batch(GeometricController, [0])
    together = flown(blocks, [other, pair], 2000)
    alone = flown(blocks, [batch(GeometricController, [1, 2])], 2000)
    np.testing.assert_array_equal(together[:, 1:], alone)


def test_copies_that_start_alike_share_a_mission():
    """If this fails, a large batch pays for one mission per copy."""
    pilot = GeometricController(trajectories.hold(height=1.0))
    places = [(3.1 * k, -1.7 * k, 0.08) for k in range(4)]
    yaws = [0.3, -2.0, 1.0, math.pi]
    fleet = Multirotor("iris", count=4, position=places, heading=yaws, backends=[pilot], sensors={})
    with Simulation("flat", engine="mujoco") as simulation:
        simulation.add(fleet)
        simulation.run(2.0)
        assert len(pilot.missions) == 1
        assert not fleet.reference.idle.any()


def test_a_copy_that_starts_in_the_air_does_not_start_the_others():
    """If this fails, a copy on the ground takes off early because another falls."""
    pilot = GeometricController(trajectories.hold(height=1.0))
    places = [(0.0, 0.0, 0.08), (5.0, 0.0, 3.0)]
    fleet = Multirotor("iris", count=2, position=places, backends=[pilot], sensors={})
    with Simulation("flat", engine="mujoco") as simulation:
        simulation.add(fleet)
        simulation.run(0.8)
        assert fleet.reference.idle.tolist() == [True, False]
