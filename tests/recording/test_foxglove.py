"""Tests of the messages by which Foxglove shows a run without set-up."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from recording_stand_ins import Simulation, Vehicle, fly

from pegasus import Multirotor
from pegasus import Simulation as RealSimulation
from pegasus.contracts.state import Reference
from pegasus.recording import McapRecorder, read_log
from pegasus.recording.foxglove import _FACE_LIMIT, _merged
from pegasus.scene.scene import Collider, ColliderShape


def decoded(path: Path, topic: str) -> Iterator[tuple[float, Any]]:
    """Yield time [s] and content of the messages of a topic, read by mcap-ros2-support."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, _, message, content in reader.iter_decoded_messages(topics=topic):
            yield message.log_time / 1e9, content


def xyz(point: Any) -> list[float]:
    return [point.x, point.y, point.z]


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RealSimulation, Multirotor]:
    """A log of 4 s on the ground of the courtyard."""
    path = tmp_path_factory.mktemp("run") / "flight.mcap"
    with RealSimulation("courtyard", observers=[McapRecorder(path)]) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 0.3)))
        sim.run(4.0)
    return path, sim, iris


def test_the_world_is_shown_once_where_it_is(flown: tuple[Path, RealSimulation, Multirotor]) -> None:
    """Walls would be missing, at other places, or of half their size."""
    path, sim, _ = flown
    ((time, content),) = decoded(path, "/world")
    (entity,) = content.entities
    assert (time, entity.frame_id, entity.frame_locked) == (0.0, "world", False)
    boxes = [item for item in sim.scene.colliders if item.shape is ColliderShape.BOX]
    shown = {(*xyz(cube.pose.position), *xyz(cube.size)) for cube in entity.cubes}
    assert len(boxes) > 50
    assert {(*box.position.tolist(), *(2 * np.array(box.size)).tolist()) for box in boxes} <= shown
    shapes = [item.shape for item in sim.scene.colliders]
    assert len(entity.cylinders) == shapes.count(ColliderShape.CYLINDER)
    assert len(entity.spheres) == shapes.count(ColliderShape.SPHERE)
    assert len({(cube.color.r, cube.color.g, cube.color.b) for cube in entity.cubes}) > 3


def test_the_drone_has_its_rotors_and_moves_with_its_frame(
    flown: tuple[Path, RealSimulation, Multirotor],
) -> None:
    """The drone would stand still at the origin, or have rotors at wrong places."""
    path, _, iris = flown
    ((_, content),) = decoded(path, "/iris/model")
    (entity,) = content.entities
    assert (entity.frame_id, entity.frame_locked) == ("iris", True)
    hubs = [xyz(disc.pose.position) for disc in entity.cylinders]
    np.testing.assert_array_equal(hubs, iris.layout.position)
    assert {disc.size.x for disc in entity.cylinders} == {iris.spec.propeller.diameter}


def test_fixes_are_those_of_the_receiver(flown: tuple[Path, RealSimulation, Multirotor]) -> None:
    """The map would show another place, or the zeros of a receiver without a fix."""
    path, _, _ = flown
    gps = read_log(path)["gps"]
    fixes = list(decoded(path, "/iris/sensors/gps/fix"))
    has_fix = gps.fix_type[:, 0] > 0
    assert 5 < len(fixes) == has_fix.sum() < len(gps)
    assert [time for time, _ in fixes] == gps.time[has_fix].tolist()
    for name in ("latitude", "longitude", "altitude"):
        assert [getattr(fix, name) for _, fix in fixes] == getattr(gps, name)[has_fix, 0].tolist()
    assert [xyz(fix.velocity) for _, fix in fixes] == gps.velocity[has_fix, 0].tolist()
    assert [fix.position_covariance[4] for _, fix in fixes] == (gps.eph[has_fix, 0] ** 2).tolist()
    assert [fix.position_covariance[8] for _, fix in fixes] == (gps.epv[has_fix, 0] ** 2).tolist()
    last = fixes[-1][1]
    assert (last.frame_id, last.position_covariance_type) == ("iris", 2)
    assert np.isnan(last.heading)
    assert last.timestamp.sec + last.timestamp.nanosec / 1e9 == pytest.approx(gps.time[-1])


def test_the_path_is_there_from_the_start(tmp_path: Path) -> None:
    """The path would be hidden until its end, or lack copies or points."""

    def move(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:] = [[t, 0.0, k] for k in range(vehicle.count)]

    fly([McapRecorder(tmp_path / "log")], Vehicle("iris", 2), move, steps=5000)
    ((time, content),) = decoded(tmp_path / "log", "/iris/path")
    assert time == 0.0
    lines = content.entities[0].lines
    assert [{point.z for point in line.points} for line in lines] == [{0.0}, {1.0}]
    np.testing.assert_allclose([point.x for point in lines[0].points], np.arange(0, 20, 0.104), atol=1e-9)


def test_events_are_messages(tmp_path: Path) -> None:
    """The log panel would be empty, or a recorder would listen for ever."""
    logger = logging.getLogger("pegasus")
    handlers = list(logger.handlers)

    def move(vehicle: Vehicle, t: float) -> None:
        vehicle.reference = Reference.hold(np.zeros((1, 3)), np.zeros(1))
        vehicle.reference.segment = "climb" if t < 1 else "circle"
        if t == 2.0:
            logging.getLogger("pegasus.core").warning("battery %d is low", 3)

    fly([McapRecorder(tmp_path / "log")], Vehicle(), move, steps=750)
    events = [(t, m.level, m.message, m.name) for t, m in decoded(tmp_path / "log", "/log")]
    assert events == [
        (0.0, 2, "iris: climb", "iris"),
        (1.0, 2, "iris: circle", "iris"),
        # After the step before.
        (1.996, 3, "battery 3 is low", "pegasus.core"),
    ]
    assert logger.handlers == handlers


def test_large_meshes_are_merged() -> None:
    """A world of a million triangles would make every log huge, or lose its shape."""
    x, y = np.meshgrid(np.linspace(0, 50, 300), np.linspace(0, 50, 300), indexing="ij")
    vertices = np.stack([x, y, np.sin(x / 5)], axis=-1).reshape(-1, 3)
    corner = (np.arange(299)[:, None] * 300 + np.arange(299)).ravel()
    faces = np.concatenate(
        [
            np.stack(c, axis=1)
            for c in ((corner, corner + 300, corner + 1), (corner + 1, corner + 300, corner + 301))
        ]
    )
    pose = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    mesh = Collider("/ground", ColliderShape.MESH, (), *pose, vertices=vertices, faces=faces.astype(np.int32))
    points, indices = _merged(mesh, _FACE_LIMIT / len(faces))
    triangles = points[indices.reshape(-1, 3)]
    assert 2000 < len(triangles) <= _FACE_LIMIT
    one, other = (triangles[:, k, :2] - triangles[:, 0, :2] for k in (1, 2))
    area = np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]).sum() / 2
    assert area == pytest.approx(2500, rel=0.05)
    np.testing.assert_allclose(points[:, 2], np.sin(points[:, 0] / 5), atol=1e-12)
    same, all_indices = _merged(mesh, 1.0)
    np.testing.assert_array_equal(same[all_indices], vertices[faces.ravel()])


def test_a_world_that_is_not_read_yet_is_left_out(tmp_path: Path) -> None:
    """Recording would read a large scene of Isaac Sim that nobody draws."""

    class Deferred:
        is_whole = False

    simulation, recorder = Simulation([Vehicle()]), McapRecorder(tmp_path / "log")
    simulation.scene = Deferred()  # type: ignore[assignment]
    recorder.start(simulation)
    recorder.record(simulation)
    recorder.stop()
    assert not list(decoded(tmp_path / "log", "/world"))
    assert len(read_log(tmp_path / "log")["state"]) == 1
