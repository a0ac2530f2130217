"""Tests of lidars: ranges of static and moving scenes in closed form; statistics of echoes."""

import math
from typing import Any

import numpy as np
import pytest
from lidar_rig import LidarRig, Plane, SolidRenderer, Sphere, cylinder
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.cameras import Lidar, Raster, Rosette, Spinning
from pegasus.sensors import SENSORS, Sensor

QUIET: dict[str, Any] = {"noise_sigma": 0.0, "min_range": 0.0}
HEAD = Spinning(elevations=(-0.5, -0.2, 0.0, 0.1, 0.4), column_count=72)
GROUND = Plane((0.0, 0.0, 1.0), 0.0, "floor")
WALL = Plane((1.0, 0.0, 0.0), 8.0, "wall")


def azimuths(pattern: Spinning) -> Any:
    """Angles of the columns to the left of x, shape (C,)."""
    return math.pi - 2 * math.pi * (np.arange(pattern.column_count) + 1) / pattern.column_count


# Geometry ------------------------------------------------------------------------------------------------


def test_a_wall_is_its_distance_over_two_cosines_away() -> None:
    """A ring or column would have a wrong direction, or ranges be measured along x."""
    scan = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL]).measure().scan()
    azimuth, elevation = azimuths(HEAD), np.array(HEAD.elevations)[:, None]
    with np.errstate(divide="ignore"):
        expected = 8.0 / (np.cos(azimuth) * np.cos(elevation))
    met = (np.cos(azimuth) > 1e-9) & (expected <= 100.0)
    assert_allclose(scan.range[met], expected[met], rtol=1e-13)
    assert np.isinf(scan.range[~met]).all()
    assert scan.range.shape == scan.entity.shape == (5, 72)
    assert np.array_equal(scan.entity, np.where(met, 0, -1))
    assert (scan.intensity > 0).tolist() == met.tolist()


def test_a_floor_is_its_height_over_a_sine_away() -> None:
    """Elevations would be upside down, or heights wrong."""
    scan = LidarRig(Lidar(pattern=HEAD, **QUIET), [GROUND], height=3.0).measure().scan()
    for ring, elevation in enumerate(HEAD.elevations):
        expected = 3.0 / math.sin(-elevation) if elevation < 0 else math.inf
        assert_allclose(scan.range[ring], expected, rtol=1e-13)


def test_a_ball_and_a_pillar_are_met_at_their_nearest_side() -> None:
    """Rays would hit the far side, or pass through."""
    ahead = Raster(horizontal_fov=0.6, vertical_fov=0.6, column_count=31, row_count=31)
    for solid, across in ((Sphere((6.0, 0.0, 0.0), 1.5), 3), (cylinder(6.0, 0.0, 1.5), 2)):
        cloud = LidarRig(Lidar(pattern=ahead, **QUIET), [WALL, solid]).measure().cloud()
        on_solid = cloud.entity == 1
        axes = cloud.points[on_solid][:, :across] - np.array([6.0, 0.0, 0.0])[:across]
        assert_allclose(np.linalg.norm(axes, axis=1), 1.5, rtol=1e-13)
        assert (axes[:, 0] < 0).all()
        # All hits are on the object, within the tangent cone or wedge of half angle asin(r / d).
        directions = cloud.points / cloud.range[:, None]
        off_axis = np.linalg.norm(directions[:, 1:across], axis=1) / np.linalg.norm(
            directions[:, :across], axis=1
        )
        assert np.array_equal(on_solid, off_axis < 1.5 / 6.0)
        assert cloud.range[(cloud.ring == 15) & (cloud.column == 15)] == pytest.approx(4.5, rel=1e-14)


def test_it_sits_where_it_is_mounted_and_turns_with_the_body() -> None:
    """Points would be in another frame than the reading's pose says."""
    lidar = Lidar(pattern=HEAD, position=(0.2, -0.1, 0.3), orientation=(0.1, 0.7, -0.4), **QUIET)
    rig = LidarRig(lidar, [GROUND, WALL], height=4.0)
    rig.turn(0.3, -0.2, 1.1)
    reading = rig.measure()
    body = matrix_from_quaternion(quaternion_from_euler(0.3, -0.2, 1.1))
    mount = matrix_from_quaternion(quaternion_from_euler(0.1, 0.7, -0.4))
    assert_allclose(reading.position[0], [0.0, 0.0, 4.0] + body @ [0.2, -0.1, 0.3], rtol=1e-14)
    assert_allclose(matrix_from_quaternion(reading.orientation[0]), body @ mount, atol=1e-15)
    cloud = reading.cloud()
    world = cloud.points @ (body @ mount).T + reading.position[0]
    assert_allclose(cloud.world_points, world, atol=1e-12)
    assert_allclose(world[cloud.entity == 0][:, 2], 0.0, atol=1e-12)
    assert_allclose(world[cloud.entity == 1][:, 0], 8.0, atol=1e-12)
    assert np.sum(cloud.entity == 0) > 50
    assert np.sum(cloud.entity == 1) > 50


def test_cloud_and_grid_are_the_same_measurement() -> None:
    """Rings, columns or times of points would be exchanged."""
    rig = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL, GROUND, cylinder(3.0, 2.0, 0.5)], height=2.0)
    reading = rig.measure()
    cloud, scan = reading.cloud(), reading.scan()
    assert len(cloud.points) == np.isfinite(scan.range).sum() > 100
    assert np.array_equal(cloud.range, scan.range[cloud.ring, cloud.column])
    assert np.array_equal(cloud.intensity, scan.intensity[cloud.ring, cloud.column])
    assert np.array_equal(cloud.entity, scan.entity[cloud.ring, cloud.column])
    assert np.array_equal(cloud.time_offset, scan.time_offset[cloud.column])
    assert np.all(np.diff(cloud.time_offset) >= 0)
    way = scan.directions[cloud.ring, cloud.column]
    assert_allclose(cloud.points, way * cloud.range[:, None], rtol=1e-15)
    labels = [reading.entities[k].labels["class"] for k in np.unique(cloud.entity)]
    assert labels == ["wall", "floor", "pillar"]


def test_only_what_is_within_its_limits_comes_back() -> None:
    """Targets outside the range limits would give echoes."""
    lidar = Lidar(pattern=HEAD, noise_sigma=0.0, min_range=8.5, max_range=12.0)
    scan = LidarRig(lidar, [WALL]).measure().scan()
    free = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL]).measure().scan().range
    inside = (free >= 8.5) & (free <= 12.0)
    assert 0 < inside.sum() < np.isfinite(free).sum()
    assert np.array_equal(np.isfinite(scan.range), inside)


# Motion --------------------------------------------------------------------------------------------------


def test_a_wall_is_skewed_by_the_way_flown_during_a_scan() -> None:
    """Rays would all start at the pose of the stamp, without the motion during the scan."""
    velocity = np.array([6.0, 2.0, -1.0])
    rig = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL])
    scan = rig.moved(lambda t: (velocity * (t - 0.5), 0.0), begin=0.0, end=0.5).scan()
    tau = -0.1 * (71 - np.arange(72)) / 72
    assert_allclose(scan.time_offset, tau, atol=1e-15)
    with np.errstate(divide="ignore"):
        expected = (8.0 - 6.0 * tau) / (np.cos(azimuths(HEAD)) * np.cos(np.array(HEAD.elevations))[:, None])
    met = np.isfinite(scan.range)
    assert met.sum() > 100
    assert_allclose(scan.range[met], expected[met], rtol=1e-12)
    assert_allclose(scan.position, velocity * tau[:, None], atol=1e-13)


def test_a_wall_is_bent_by_the_turn_made_during_a_scan() -> None:
    """A rotating sensor's rays would all have the attitude of the stamp."""
    turn = 2.5
    rig = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL])
    reading = rig.moved(lambda t: (np.zeros(3), turn * (t - 0.4)), begin=0.0, end=0.4)
    scan, cloud = reading.scan(), reading.cloud()
    bearing = azimuths(HEAD) + turn * scan.time_offset
    with np.errstate(divide="ignore"):
        expected = 8.0 / (np.cos(bearing) * np.cos(np.array(HEAD.elevations))[:, None])
    met = (np.cos(bearing) > 0) & (expected <= 100.0)
    assert np.array_equal(np.isfinite(scan.range), met)
    assert_allclose(scan.range[met], expected[met], rtol=1e-12)
    assert_allclose(cloud.world_points[:, 0], 8.0, rtol=1e-13)
    # Without compensation, points near the edges are off by metres.
    assert np.abs(cloud.points[:, 0] - 8.0).max() > 1.0


def test_without_motion_distortion_a_scan_is_a_still_picture() -> None:
    """The option would have no effect."""
    rig = LidarRig(Lidar(pattern=HEAD, motion_distortion=False, **QUIET), [WALL])
    reading = rig.moved(lambda t: (np.array([5.0, 0.0, 0.0]) * t, 2.0 * t), begin=0.0, end=0.4)
    cloud = reading.cloud()
    assert_allclose(cloud.world_points[:, 0], 8.0, rtol=1e-13)
    pose = matrix_from_quaternion(reading.orientation[0])
    assert_allclose(cloud.points @ pose.T + reading.position[0], cloud.world_points, atol=1e-12)
    assert reading.position[0, 0] == pytest.approx(2.0)


def test_poses_of_each_instant_are_used_between_steps() -> None:
    """Motion with acceleration would be taken as straight; here x = 0.1 sin(40 t) at 250 steps/s."""
    level = Spinning(elevations=(0.0,), column_count=750)
    rig = LidarRig(Lidar(pattern=level, **QUIET), [WALL])
    reading = rig.moved(lambda t: ([0.1 * math.sin(40 * t), 0.0, 0.0], 0.0), begin=0.0, end=0.3)
    scan = reading.scan()
    true = 0.1 * np.sin(40 * (0.3 + scan.time_offset))
    # Between steps of h = 4 ms the chord is at most h^2 / 8 times the acceleration of 0.1 * 40^2 away.
    assert np.abs(scan.position[:, 0] - true).max() < 0.004**2 / 8 * 160.0
    # Every 30th column fires at a step.
    assert_allclose(scan.position[29::30, 0], true[29::30], atol=1e-12)
    ahead = np.isfinite(scan.range[0])
    flown = 8.0 - scan.range[0, ahead] * np.cos(azimuths(level)[ahead])
    assert_allclose(flown, scan.position[ahead, 0], atol=1e-9)


# Echoes --------------------------------------------------------------------------------------------------


def straight(count: int) -> Raster:
    """A field of view so narrow that all rays are perpendicular to a wall."""
    return Raster(horizontal_fov=1e-6, vertical_fov=1e-6, column_count=count, row_count=1)


@pytest.mark.parametrize("offset", [5.0, 60.0])
def test_noise_has_the_sigma_of_its_distance(offset: float) -> None:
    """Sigma would not be a + b d, rays share noise, or the mean be off."""
    n = 20_000
    lidar = Lidar(pattern=straight(n), noise_sigma=0.02, proportional_noise=0.001)
    noise = LidarRig(lidar, [Plane((1.0, 0.0, 0.0), offset)]).measure().scan().range[0] - offset
    sigma = 0.02 + 0.001 * offset
    assert abs(np.std(noise) / sigma - 1) < 5 / math.sqrt(2 * n)
    assert abs(np.mean(noise)) < 5 * sigma / math.sqrt(n)
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 5 / math.sqrt(n)


def test_noise_of_scans_and_copies_is_independent() -> None:
    """Noise would repeat from scan to scan, or copies share it."""
    n = 5000
    rig = LidarRig(Lidar(pattern=straight(n)), [WALL], count=2)
    first, second = rig.measure(0.0), rig.measure(0.1)
    noise = np.array([first.scan(0).range[0], first.scan(1).range[0], second.scan(0).range[0]]) - 8.0
    correlation = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 5 / math.sqrt(n)


@pytest.mark.parametrize(
    ("parameters", "offset", "tilt", "lost"),
    [
        ({"dropout": 0.3}, 10.0, 0.0, 0.3),
        ({"range_dropout": 0.8}, 50.0, 0.0, 0.8 * 0.25),
        ({"grazing_dropout": 0.6}, 10.0, math.pi / 3, 0.6 * 0.5),
        ({"dropout": 0.1, "range_dropout": 0.5}, 80.0, 0.0, 1 - 0.9 * 0.68),
        ({"dropout": 1.0}, 10.0, 0.0, 1.0),
    ],
)
def test_echoes_are_lost_as_often_as_they_should(
    parameters: dict[str, float], offset: float, tilt: float, lost: float
) -> None:
    """The loss rate would be wrong, or use a wrong distance or angle."""
    n = 20_000
    wall = Plane((math.cos(tilt), math.sin(tilt), 0.0), offset * math.cos(tilt))
    scan = LidarRig(Lidar(pattern=straight(n), **QUIET, **parameters), [wall]).measure().scan()
    rate = np.mean(np.isinf(scan.range))
    assert abs(rate - lost) <= 5 * math.sqrt(lost * (1 - lost) / n)
    assert_allclose(scan.range[np.isfinite(scan.range)], offset, rtol=1e-5)


def test_intensity_tells_matter_angle_and_distance() -> None:
    """A dark, slanted or far wall would be as bright as a near white one."""

    def seen(**wall: Any) -> float:
        tilt, offset = wall.pop("tilt", 0.0), wall.pop("offset", 10.0)
        plane = Plane((math.cos(tilt), math.sin(tilt), 0.0), offset * math.cos(tilt), **wall)
        return float(LidarRig(Lidar(pattern=straight(1), **QUIET), [plane]).measure().cloud().intensity[0])

    assert seen(reflectance=1.0) == pytest.approx(1.0, rel=1e-9)
    assert seen(reflectance=0.2) == pytest.approx(0.2, rel=1e-9)
    assert seen(reflectance=1.0, offset=20.0) == pytest.approx(0.25, rel=1e-9)
    assert seen(reflectance=1.0, tilt=math.pi / 3) == pytest.approx(0.5, rel=1e-5)


def test_what_sends_back_too_little_is_not_seen() -> None:
    """A dark surface would have a bright one's range: 80 % to 120 m is 10 % to 42 m."""
    threshold = 0.8 * (10.0 / 120.0) ** 2
    for reflectance, reach in ((0.8, 120.0), (0.1, 120.0 / math.sqrt(8))):
        for offset, seen in ((reach - 0.1, 1), (reach + 0.1, 0)):
            lidar = Lidar(pattern=straight(1), max_range=200.0, min_intensity=threshold, **QUIET)
            wall = Plane((1.0, 0.0, 0.0), offset, reflectance=reflectance)
            assert len(LidarRig(lidar, [wall]).measure().cloud().points) == seen


# Readings ------------------------------------------------------------------------------------------------


def test_nothing_is_cast_before_somebody_looks() -> None:
    """An unused lidar would cast rays, or a scan be cast again at every access."""
    rig = LidarRig(Lidar(pattern=HEAD), [WALL], count=3)
    reading = rig.measure()
    assert rig.renderer.cast_count == 0
    assert reading.cloud(1).range.tolist() == reading.cloud(1).range.tolist()
    assert rig.renderer.cast_count == 1
    assert len(reading.clouds) == 3
    assert rig.renderer.cast_count == 3


def test_who_looks_and_when_changes_nothing() -> None:
    """Random numbers would depend on when readings are accessed."""

    def run(*, look: bool, backwards: bool = False) -> list[Any]:
        lidar = Lidar(pattern=Rosette(point_count=500), dropout=0.2)
        rig = LidarRig(lidar, [WALL, GROUND], count=2, seed=5, height=1.0)
        readings = []
        for k in range(4):
            rig.state.position[:, 0] = 0.1 * k
            readings.append(rig.measure(0.1 * k))
            if look and k % 2:
                readings[-1].cloud(1)
        order = reversed(range(8)) if backwards else range(8)
        clouds = {k: readings[k // 2].cloud(k % 2) for k in order}
        return [array for k in range(8) for array in vars(clouds[k]).values()]

    for other in (run(look=True), run(look=False, backwards=True)):
        assert all(map(np.array_equal, run(look=False), other))


def test_a_reset_of_copies_leaves_earlier_scans() -> None:
    """A scan that is looked at after a reset would be of the places after it."""

    def run(*, look: bool) -> list[Any]:
        rig = LidarRig(Lidar(pattern=HEAD, **QUIET), [WALL], count=2)
        reading = rig.moved(lambda t: (np.array([t, 0.0, 0.0]), 0.0), begin=0.0, end=0.5)
        if look:
            assert len(reading.clouds) == 2
        rig.state.position[1] = [-3.0, 1.0, 0.0]
        rig.lidar.reset_copies(np.array([1]))
        return [cloud.range for cloud in (*reading.clouds, *rig.lidar.measure(rig.state, 0.5).clouds)]

    seen, later = run(look=True), run(look=False)
    assert all(map(np.array_equal, seen, later))
    assert np.array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[1], seen[3])


def test_a_bind_starts_anew() -> None:
    """A reset would keep the former motion or random state."""
    rig = LidarRig(Lidar(pattern=HEAD), [WALL], seed=3)
    first = rig.measure().cloud()
    rig.moved(lambda t: (np.array([t, 0.0, 0.0]), 0.0), begin=0.0, end=0.5)
    again = LidarRig(rig.lidar, [WALL], seed=3).measure().cloud()
    assert np.array_equal(first.range, again.range)
    other = LidarRig(rig.lidar, [WALL], seed=4).measure().cloud()
    assert not np.array_equal(first.range, other.range)


# In a simulation -----------------------------------------------------------------------------------------


def test_rates_are_exact_and_scans_end_at_their_stamps() -> None:
    """Scans would drift against the clock, or have wrong stamps."""
    renderer = SolidRenderer([GROUND])
    with Simulation("flat", renderer=renderer) as sim:
        lidar = Lidar(pattern=HEAD, rate_hz=15.0, **QUIET)
        iris = sim.add(Multirotor("iris", position=(0, 0, 5), sensors={"roof": lidar}))
        stamps = []
        for _ in range(500):
            sim.step()
            if "roof" in iris.new_readings:
                stamps.append(iris.new_readings["roof"].stamp)
        assert_allclose(stamps, np.ceil(np.arange(30) / 15 * 250 - 1e-9) / 250, rtol=1e-14)
        assert renderer.scene is None
        scan = iris.readings["roof"].scan()
    assert scan.time_offset[-1] == 0.0
    assert scan.time_offset[0] == pytest.approx(-71 / 72 / 15)


def test_a_falling_vehicle_is_followed_through_the_scan() -> None:
    """The lidar would not get the vehicle's former poses, or get them a step late."""
    with Simulation("flat", renderer=SolidRenderer([GROUND])) as sim:
        lidar = Lidar(pattern=HEAD, **QUIET)
        iris = sim.add(Multirotor("iris", position=(0, 0, 30), sensors={"roof": lidar}))
        heights = {}
        while sim.time < 0.5:
            heights[sim.step_count] = iris.state.position[0, 2]
            sim.step()
        sim.step()
        reading = iris.readings["roof"]
        cloud, scan = reading.cloud(), reading.scan()
    assert reading.stamp == 0.5
    heights[125] = reading.position[0, 2]
    steps = (0.5 + scan.time_offset) * 250
    expected = np.interp(steps, list(heights), list(heights.values()))
    assert_allclose(scan.position[:, 2], expected, rtol=1e-12)
    assert np.ptp(expected) > 0.3
    assert_allclose(cloud.world_points[:, 2], 0.0, atol=1e-12)


def test_each_copy_sees_the_others_but_not_itself() -> None:
    """Copies would share a scan, see their own body, or have wrong labels."""
    ring = Spinning(elevations=(0.0,), column_count=360)
    with Simulation("flat", renderer=SolidRenderer([GROUND])) as sim:
        lidar = Lidar(pattern=ring, **QUIET)
        place = [(0, 0, 5), (4, 0, 5), (4, 3, 5)]
        crew = sim.add(Multirotor("iris", name="crew", count=3, position=place, sensors={"roof": lidar}))
        sim.add(Multirotor("iris", name="lone", position=(0, -6, 5)))
        sim.step()
        reading = crew.readings["roof"]
        clouds = reading.clouds
        paths = [entity.path for entity in reading.entities]
    for cloud, (x, y, _) in zip(clouds, place, strict=True):
        others = {
            "/World/crew/0": (0, 0),
            "/World/crew/1": (4, 0),
            "/World/crew/2": (4, 3),
            "/World/lone": (0, -6),
        }
        seen = {paths[k] for k in cloud.entity}
        assert seen == {path for path, other in others.items() if other != (x, y)}
        for path in seen:
            nearest = cloud.range[cloud.entity == paths.index(path)].min()
            assert nearest == pytest.approx(math.dist(others[path], (x, y)) - 0.3, abs=0.01)


def test_the_own_vehicle_is_seen_where_it_is_not_hidden() -> None:
    """The option would have no effect."""
    with Simulation("flat", renderer=SolidRenderer([GROUND])) as sim:
        lidar = Lidar(pattern=straight(1), position=(-1.0, 0, 0), hide_vehicle=False, **QUIET)
        iris = sim.add(Multirotor("iris", position=(0, 0, 5), sensors={"tail": lidar}))
        sim.step()
        assert iris.readings["tail"].cloud().range[0] == pytest.approx(0.7, abs=1e-9)


def test_others_are_where_they_were_at_the_stamp() -> None:
    """A late access would show other vehicles at later poses."""
    with Simulation("flat", renderer=SolidRenderer([GROUND])) as sim:
        lidar = Lidar(pattern=straight(1), **QUIET)
        iris = sim.add(Multirotor("iris", position=(0, 0, 5), sensors={"nose": lidar}))
        other = sim.add(Multirotor("iris", position=(9, 0, 5)))
        sim.step()
        reading = iris.readings["nose"]
        other.place((3, 0, 5))
        assert reading.cloud().range[0] == pytest.approx(8.7, abs=1e-9)


# Parameters ----------------------------------------------------------------------------------------------


def test_it_is_built_from_yaml() -> None:
    """A vehicle's file could not define a lidar."""
    roof = build(
        Sensor, SENSORS, {"model": "lidar", "pattern": "os1_64", "rate_hz": 20}, field="sensors.roof"
    )
    assert isinstance(roof, Lidar)
    assert roof.shape == (64, 1024)
    solid = {"model": "raster", "column_count": 40, "row_count": 30}
    nose = build(Sensor, SENSORS, {"model": "lidar", "pattern": solid}, field="sensors.nose")
    assert isinstance(nose, Lidar)
    assert nose.shape == (30, 40)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"rate_hz": 0.0}, "rate_hz = 0.0: must"),
        ({"pattern": "vlp17"}, "pattern = 'vlp17': must be one of"),
        ({"pattern": {"model": "raster", "rows": 3}}, "pattern.rows: unknown field"),
        ({"min_range": -1.0}, "min_range = -1.0: must"),
        ({"min_range": 5.0, "max_range": 5.0}, "max_range = 5.0: must be above min_range of 5 m"),
        ({"noise_sigma": -0.1}, "noise_sigma = -0.1: must"),
        ({"dropout": 1.5}, "dropout = 1.5: must be a probability"),
        ({"grazing_dropout": -0.5}, "grazing_dropout = -0.5: must be a probability"),
        ({"reference_range": 0.0}, "reference_range = 0.0: must"),
        ({"beams": 16}, "beams: unknown field"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], named: str) -> None:
    """An invalid parameter would be accepted, or the error not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.roof\.{named}"):
        build(Sensor, SENSORS, {"model": "lidar", **parameters}, field="sensors.roof")


def test_a_place_has_three_coordinates() -> None:
    """A wrong position would only fail at the first scan, with an unrelated error."""
    with pytest.raises(ConfigError, match=r"position = \(1\.0, 2\.0\): must hold three finite numbers"):
        Lidar(position=(1.0, 2.0))  # type: ignore[arg-type]
