"""Tests of lidars with the Embree renderer: surfaces, labels and reflectances of a real stage."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.cameras import Lidar, Raster, Spinning
from pegasus.config.scenario import WorldSpec
from pegasus.sensors import Sonar

pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")

STAGE = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{{
    {solids}
}}
"""
CUBE = """def Cube "{name}" (
        prepend apiSchemas = ["SemanticsLabelsAPI:class", "PhysicsCollisionAPI"]
    )
    {{
        uniform token[] semantics:labels:class = ["{label}"]
        color3f[] primvars:displayColor = [({grey}, {grey}, {grey})]
        double size = 1
        double3 xformOp:translate = {at}
        float3 xformOp:scale = {size}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }}"""
BOXES: list[dict[str, Any]] = [
    {"name": "Floor", "label": "floor", "grey": 0.4, "at": (0, 0, -0.5), "size": (80, 80, 1)},
    {"name": "Wall", "label": "wall", "grey": 0.8, "at": (12.5, 0, 10), "size": (1, 60, 20)},
    {"name": "Post", "label": "post", "grey": 0.1, "at": (0, 6, 5), "size": (2, 2, 10)},
]
QUIET: dict[str, Any] = {"noise_sigma": 0.0, "min_range": 0.0}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> WorldSpec:
    """A floor, a wall 12 m to the east, and a post 5 m to the north."""
    path = tmp_path_factory.mktemp("stage") / "boxes.usda"
    path.write_text(STAGE.format(solids="\n    ".join(CUBE.format(**box) for box in BOXES)))
    return WorldSpec(name="boxes", usd=path)


def test_boxes_are_where_they_are_and_are_called_so(world: WorldSpec) -> None:
    """Depths or labels would be wrong, or intensities not follow colours."""
    head = Spinning(elevations=tuple(np.radians(np.linspace(-40, 40, 9)).tolist()), column_count=360)
    with Simulation(world) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 3), sensors={"roof": Lidar(pattern=head, **QUIET)}))
        sim.step()
        reading = iris.readings["roof"]
        cloud, scan = reading.cloud(), reading.scan()
        label = np.array([reading.entities[k].labels["class"] for k in cloud.entity])
    # The ray hits the box at its nearest face, by the slab method.
    ways = scan.directions.reshape(-1, 3)
    nearest = np.full(len(ways), np.inf)
    for box in BOXES:
        low, high = (np.array(box["at"]) + side * np.array(box["size"]) / 2 for side in (-1, 1))
        with np.errstate(divide="ignore"):
            both = np.stack([(low - [0, 0, 3]) / ways, (high - [0, 0, 3]) / ways])
        enter, leave = both.min(axis=0).max(axis=1), both.max(axis=0).min(axis=1)
        nearest = np.minimum(nearest, np.where((enter <= leave) & (enter > 0), enter, np.inf))
    found = scan.range.ravel()
    assert np.array_equal(np.isfinite(found), nearest <= 100.0)
    met = np.isfinite(found)
    assert_allclose(found[met], nearest[met], rtol=1e-5)
    assert set(label) == {"floor", "wall", "post"}
    for name, axis, value, grey in (("floor", 2, 0.0, 0.4), ("wall", 0, 12.0, 0.8)):
        of = label == name
        assert_allclose(cloud.world_points[of, axis], value, atol=1e-4)
        cosine = np.abs(cloud.points[of, axis]) / cloud.range[of]
        assert_allclose(cloud.intensity[of], grey * cosine * (10 / cloud.range[of]) ** 2, rtol=1e-3)


def test_vehicles_are_seen_by_their_name_and_the_own_one_is_not(world: WorldSpec) -> None:
    """A lidar would see its own airframe, or miss another vehicle."""
    ahead = Raster(horizontal_fov=0.6, vertical_fov=0.4, column_count=150, row_count=100)
    with Simulation(world) as sim:
        sensors = {"nose": Lidar(pattern=ahead, **QUIET)}
        seer = sim.add(Multirotor("iris", name="seer", position=(0, 0, 3), sensors=sensors))
        sim.add(Multirotor("iris", name="seen", position=(3, 0, 3)))
        sim.step()
        reading = seer.readings["nose"]
        cloud = reading.cloud()
        paths = [reading.entities[k].path for k in cloud.entity]
    on_other = np.array(paths) == "/World/seen"
    assert set(paths) == {"/World/seen", "/World/Wall"}
    assert 50 < on_other.sum() < 1500
    # All parts of the Iris are within 0.4 m of its centre and below 0.2 m.
    off = cloud.world_points[on_other] - [3.0, 0.0, 3.0]
    assert np.hypot(off[:, 0], off[:, 1]).max() < 0.4
    assert np.abs(off[:, 2]).max() < 0.2


def test_a_sonar_and_a_lidar_agree_on_a_slanted_floor(world: WorldSpec) -> None:
    """Rays of the engine and of the renderer would hit different geometry."""
    sonar = Sonar(noise_sigma=0.0, proportional_noise=0.0, ray_count=1, cone_angle=0.0)
    lidar = Lidar(pattern=Raster(1e-6, 1e-6, 1, 1), orientation=(0.0, math.pi / 2, 0.0), **QUIET)
    with Simulation(world) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 2), sensors={"sonar": sonar, "lidar": lidar}))
        sim.step()
        down = iris.readings["lidar"].cloud().range
        assert_allclose(down, iris.readings["sonar"].distance, rtol=1e-5)
        assert down[0] == pytest.approx(2.0, rel=1e-5)


def test_a_vehicle_out_of_sight_changes_no_bit(world: WorldSpec) -> None:
    """Scenes without moving objects, which are cast in one pass, would differ from those with some."""
    clouds = []
    for others in (0, 1):
        with Simulation(world, seed=2) as sim:
            sensors = {name: Lidar(pattern=name) for name in ("vlp16", "mid40")}
            iris = sim.add(Multirotor("iris", position=(0, 0, 3), sensors=sensors))
            for _ in range(others):
                sim.add(Multirotor("iris", name="far", position=(0, 0, -400)))
            sim.step()
            clouds.append([iris.readings[name].cloud() for name in sensors])
    for alone, both in zip(*clouds, strict=True):
        assert len(alone.range) > 1000
        for name in ("points", "world_points", "intensity", "ring", "column", "entity"):
            assert getattr(alone, name).tobytes() == getattr(both, name).tobytes(), name
