"""Tests of every shipped world: its check, fast flights, impacts and start positions."""

import math
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Usd, UsdPhysics
from scipy.spatial import cKDTree

from pegasus import Multirotor, Simulation
from pegasus.base.system import resource
from pegasus.config.files import load_world
from pegasus.control import GeometricController, trajectories
from pegasus.worlds import GENERATORS, make_world
from pegasus.worlds.check import check_world
from tests.flyers import PLAIN_IRIS
from tests.stage_validation import complaints

NAMES = sorted(path.stem for path in resource("config", "worlds").glob("*.yaml"))
FULL_SPEED = 14.0
"""Speed that an Iris reaches in level flight with thrust to spare for turns [m/s]."""
SMALL: dict[str, dict[str, Any]] = {
    "town": {"size": 60.0},
    "warehouse": {"length": 30.0, "width": 20.0, "aisle_count": 3},
    "forest": {"size": 60.0},
    "hills": {"size": 120.0},
    "race_gates": {"gate_count": 3, "radius": 14.0},
}
"""Parameters of small worlds, which are made quickly."""
SPACING = 5.0
"""Distance between the waypoints of the curve [m]."""
IMPACT_SPEED = 20.0
"""Speed at which an Iris is thrown at objects [m/s]."""
THROWS = 12


@pytest.fixture(scope="module", params=NAMES)
def simulation(request: pytest.FixtureRequest) -> Iterator[Simulation]:
    """A simulation of each world in turn."""
    with Simulation(request.param) as sim:
        yield sim


def test_every_generator_is_a_shipped_world() -> None:
    """A generator would be missing from `pegasus list worlds`."""
    models = {(load_world(name)[0].generator or {}).get("model") for name in NAMES}
    assert models == set(GENERATORS)


def test_it_passes_its_check(simulation: Simulation) -> None:
    """A shipped world would warn, be dark, unlabelled, open, or start vehicles in walls."""
    findings = check_world(simulation.world, simulation.scene, simulation.engine)
    assert {finding.subject: finding.problems for finding in findings if finding.problems} == {}
    assert simulation.world.spawn_points is not None
    assert len(simulation.world.spawn_points) > 3


def test_it_follows_the_rules_of_openusd(simulation: Simulation) -> None:
    """A file would break rules that other tools rely on."""
    stage = Usd.Stage.Open(str(simulation.world.usd))
    assert sum(prim.IsA(UsdPhysics.Scene) for prim in stage.Traverse()) == 1
    assert complaints(stage) == []


@pytest.mark.parametrize("name", sorted(set(GENERATORS) - {"flat"}))
def test_a_seed_makes_the_same_bytes_and_another_seed_another_world(name: str, tmp_path: Path) -> None:
    """A world could not be made again, or its seed would change nothing."""
    made = []
    for folder, seed in (("first", 1), ("again", 1), ("other", 2)):
        make_world(GENERATORS[name](seed=seed, **SMALL.get(name, {})), tmp_path / folder)
        files = (path for path in (tmp_path / folder).rglob("*") if path.is_file())
        made.append({str(path.relative_to(tmp_path / folder)): path.read_bytes() for path in files})
    first, again, other = made
    assert first == again
    assert first[f"{name}.usdc"] != other[f"{name}.usdc"]


def test_a_vehicle_on_the_ground_is_still(simulation: Simulation) -> None:
    """A vehicle that waits for its take-off would shake, and its IMU would measure false accelerations."""
    points = np.array([point.position for point in simulation.world.spawn_points or []])[:6]
    parked = simulation.add(Multirotor("iris", count=len(points), position=points, sensors={}))
    simulation.step(int(5 * simulation.rate))
    accelerations = []
    for _ in range(int(simulation.rate)):
        simulation.step()
        accelerations.append(parked.state.acceleration.copy())
    simulation.remove(parked)
    # The smallest acceleration that an IMU of the catalogue resolves is 0.004 m/s^2.
    assert np.std(accelerations, axis=0).max() < 1e-5
    assert np.abs(accelerations).max() < 1e-4


def test_an_iris_flies_through_it_at_full_speed(simulation: Simulation) -> None:
    """The path through a world would be blocked, or too narrow to fly fast."""
    if not simulation.world.paths:
        assert simulation.world.name in {"flat", "courtyard"}
        return
    points = next(iter(simulation.world.paths.values()))
    # Intermediate points keep the curve close to the straight path, which is free.
    dense = [points[0]]
    for start, end in pairwise(points):
        count = math.ceil(math.dist(start, end) / SPACING)
        dense += [tuple(np.array(start) + (np.array(end) - start) * k / count) for k in range(1, count + 1)]
    ground = min(point[2] for point in points) - 1.0
    path = trajectories.minimum_snap(
        points=tuple(dense), speed=FULL_SPEED, thrust=1.7, jerk=30.0, ground=ground
    )
    controller = GeometricController(path, relative=False)
    iris = simulation.add(Multirotor(PLAIN_IRIS, position=points[0], backends=[controller], sensors={}))
    flown, wanted, fastest, touched = [], [], 0.0, False
    for _ in simulation.stepping(duration=path.duration):
        flown.append(iris.state.position[0].copy())
        wanted.append(iris.reference.position[0].copy())
        fastest = max(fastest, float(np.linalg.norm(iris.state.velocity)))
        touched = touched or bool(iris.in_contact[0])
    simulation.remove(iris)
    assert not touched
    # Drag makes it lag behind along the path, where nothing stands.
    assert cKDTree(wanted).query(flown)[0].max() < 0.75
    assert fastest > 0.5 * FULL_SPEED


def test_impacts_stop_a_vehicle_without_adding_energy(simulation: Simulation) -> None:
    """A vehicle would fly through a wall, or rebound faster than it came."""
    rng = np.random.default_rng(5)
    start = np.array((simulation.world.spawn_points or [])[0].position) + np.array([0.0, 0.0, 1.2])
    angle, down = rng.uniform(0, 2 * np.pi, 200), rng.uniform(-0.4, 0.1, 200)
    direction = np.column_stack([np.cos(angle), np.sin(angle), down])
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    hits = simulation.engine.raycast(np.tile(start, (200, 1)), direction, 40.0, skip=np.full(200, -1))
    aimed = np.flatnonzero(hits.hit & (hits.distance > 3.0))[:THROWS]
    assert len(aimed) == THROWS
    places = start + direction[aimed] * (hits.distance[aimed] - 2.0)[:, None]
    thrown = simulation.add(Multirotor("iris", count=THROWS, sensors={}, drag=None))
    simulation.play()
    throw(simulation, thrown, places, IMPACT_SPEED * direction[aimed])
    simulation.remove(thrown)


def test_vehicles_without_a_position_start_free_and_on_the_ground(simulation: Simulation) -> None:
    """A vehicle without a position would start in a tree, or in another vehicle."""
    # The last test of a world: its vehicles stay.
    points = simulation.world.spawn_points or []
    first = simulation.add(Multirotor("iris"))
    assert tuple(first.state.position[0, :2]) == points[0].position[:2]
    assert 0.0 <= first.state.position[0, 2] - points[0].position[2] < 0.1
    heading = 2 * np.arctan2(*first.start.orientation[0, 2:])
    assert np.remainder(heading - points[0].heading + 0.1, 2 * np.pi) == pytest.approx(0.1)
    simulation.add(Multirotor("iris", count=7))
    simulation.add(Multirotor("heavy_octorotor"))
    simulation.add(Multirotor("crazyflie", count=30))
    for _ in range(2):
        simulation.add(Multirotor("iris"))
    assert len(simulation.engine.contacts().body) == 0
    bodies = simulation.vehicles.bodies
    start = bodies.position.copy()
    radii = np.repeat([v.start.radius for v in simulation.vehicles], [v.count for v in simulation.vehicles])
    for a, b in combinations(range(len(start)), 2):
        assert math.dist(start[a], start[b]) > radii[a] + radii[b]
    simulation.step(round(0.5 * simulation.rate))
    moved = bodies.position - start
    assert np.hypot(moved[:, 0], moved[:, 1]).max() < 0.3
    assert moved[:, 2].min() > -0.5


def throw(simulation: Simulation, thrown: Multirotor, places: np.ndarray, velocities: np.ndarray) -> None:
    """Throw unpowered vehicles, one from each place, and simulate them until well after their impacts."""
    thrown.place(places, velocity=velocities)
    simulation.step()
    gravity = -simulation.environment.gravity_vector(places[:1])[0, 2]
    state, touched = thrown.state, np.zeros(len(places), bool)
    most = energy(thrown, gravity)
    before, last = state.position.copy(), state.velocity.copy()
    for _ in range(100):
        simulation.step()
        way = state.position - before
        length = np.linalg.norm(way, axis=1)
        moved = np.flatnonzero(length > 1e-6)
        back = -way[moved] / length[moved, None]
        hits = simulation.vehicles.cast(thrown, state.position[moved], back, 1.0, rows=moved)
        passed = moved[hits.hit & (hits.distance <= length[moved])]
        assert not len(passed), f"went through a surface at {before[passed]}"
        before = state.position.copy()
        # An impact within one step leaves no contact at its end, but changes the velocity.
        touched |= np.linalg.norm(state.velocity - last, axis=1) > 1.0
        last = state.velocity.copy()
        assert (energy(thrown, gravity) < most * 1.001).all()
    assert touched.all()


def energy(vehicle: Multirotor, gravity: float) -> np.ndarray:
    """Return the kinetic and potential energy of each copy of a vehicle [J]."""
    state = vehicle.state
    turning = (np.diag(vehicle.inertia) * state.angular_velocity**2).sum(axis=1)
    kinetic = (vehicle.mass * (state.velocity**2).sum(axis=1) + turning) / 2
    return np.asarray(kinetic + vehicle.mass * gravity * state.position[:, 2])
