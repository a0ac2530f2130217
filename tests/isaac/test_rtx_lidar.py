"""Tests of lidars that RTX scans, on fakes that scan by Embree."""

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.cameras import Lidar
from pegasus.cameras.scan_patterns import Spinning
from tests.isaac.fakes import kit

PATTERN = Spinning(tuple(np.radians([-30.0, -12.0, -8.0, -4.0, 0.0, 12.0])), column_count=90)


def simulation_of(engine, *, world="flat", count=1, **lidars):
    """Return a simulation with a lidar vehicle and a target vehicle, and the first vehicle."""
    simulation = Simulation(world, engine=engine, rate=250, seed=1)
    place = [(0.0, 3.0 * k, 1.5) for k in range(count)]
    eye = Multirotor("iris", name="eye", count=count, position=place, extra_sensors=lidars)
    simulation.add(Multirotor("iris", name="seen", position=(0.76, 0.64, 1.52)))
    return simulation, simulation.add(eye)


def isaac_engine(frame_rate=50.0, *, stable_ids=True):
    from pegasus.isaac.engine import IsaacEngine

    kit().settings.set_bool("/rtx-transient/stableIds/enabled", stable_ids)
    return IsaacEngine(rate=250, frame_rate=frame_rate)


def lidar(**options):
    """Return a lidar without noise, rotated and off the centre."""
    place = {"position": (0.05, 0.02, 0.12), "orientation": (0.05, 0.1, 0.7)}
    given = {"pattern": PATTERN, "rate_hz": 10.0, "noise_sigma": 0.0, "motion_distortion": False}
    return Lidar(**(place | given | options))


def test_a_scan_is_that_of_rays(isaac):
    """Rings, columns, directions or the pose of an RTX scan would differ from ray casting."""
    isaac(exact=True)
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    options = {"hide_vehicle": False}
    simulation, eye = simulation_of("mujoco", top=lidar(**options))
    with simulation:
        simulation.step(26)
        rays = eye.readings["top"].scan(0)
        names = [entity.path for entity in eye.readings["top"].entities]
        seen = {names[k] for k in np.unique(rays.entity[rays.entity >= 0])}
        assert "/World/seen" in seen
    simulation, eye = simulation_of(isaac_engine(), top=lidar(**options))
    with simulation, measure_by_rtx(simulation) as rtx:
        assert len(rtx.lidars) == 1
        simulation.step(26)
        reading = eye.readings["top"]
        scan = reading.scan(0)
        # RTX's own intensities show that the scan is RTX's.
        assert set(np.unique(scan.intensity)) == {0.0, 0.25}
        both = np.isfinite(rays.range) & np.isfinite(scan.range)
        assert (np.isfinite(rays.range) == np.isfinite(scan.range)).mean() > 0.97
        assert 0.3 < both.mean() < 1.0
        # The vehicle has fallen for a step or two, which shifts edges.
        near = np.abs(rays.range[both] - scan.range[both]) < 0.03 * rays.range[both] + 0.03
        assert near.mean() > 0.95
        np.testing.assert_allclose(scan.directions, rays.directions, atol=1e-12)
        names = [entity.path for entity in reading.entities]
        met = {names[k] for k in np.unique(scan.entity[scan.entity >= 0])}
        assert met == seen
        cloud = reading.cloud(0)
        assert len(cloud.points) == np.isfinite(scan.range).sum()


def test_the_own_vehicle_is_left_out(isaac):
    """Points on the vehicle's own arms would be in the scan."""
    isaac()
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    below = {"position": (0.0, 0.0, 0.3), "orientation": (0.0, 0.0, 0.0), "min_range": 0.01}
    down = Spinning(tuple(np.radians([-80.0, -60.0])), column_count=30)
    sensors = {
        "hidden": lidar(pattern=down, **below),
        "shown": lidar(pattern=down, hide_vehicle=False, **below),
    }
    simulation, eye = simulation_of(isaac_engine(), **sensors)
    with simulation, measure_by_rtx(simulation):
        simulation.step(26)
        for name, own in (("hidden", False), ("shown", True)):
            scan = eye.readings[name].scan(0)
            names = [entity.path for entity in eye.readings[name].entities]
            assert set(np.unique(scan.intensity)) <= {0.0, 0.25}
            met = {names[k] for k in np.unique(scan.entity[scan.entity >= 0])}
            assert ("/World/eye" in met) is own
            assert np.all(np.isfinite(scan.range) == (scan.entity >= 0))


def test_it_is_said_that_rtx_does_not_tell_what_it_meets(isaac, caplog):
    """Points on the own arms would stay in the scan without a warning."""
    isaac()
    from pegasus.isaac.rtx_lidar import STABLE_IDS, measure_by_rtx

    simulation, eye = simulation_of(isaac_engine(stable_ids=False), top=lidar())
    with simulation, measure_by_rtx(simulation):
        simulation.step(26)
        scan = eye.readings["top"].scan(0)
        assert np.isfinite(scan.range).any()
        assert (scan.entity < 0).all()
    (said,) = [record.getMessage() for record in caplog.records if STABLE_IDS in record.getMessage()]
    assert "\n" not in said


def test_each_copy_has_its_own(isaac):
    """All copies would get the scan of the first."""
    kit = isaac()
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    simulation, eye = simulation_of(isaac_engine(), count=2, top=lidar())
    with simulation:
        rtx = measure_by_rtx(simulation)
        stage = kit.context.get_stage()
        paths = [f"/World/eye/body_{k}/top" for k in (0, 1)]
        assert all(stage.GetPrimAtPath(path) for path in paths)
        simulation.step(26)
        first, second = (eye.readings["top"].scan(k) for k in (0, 1))
        assert set(np.unique(second.intensity)) == {0.0, 0.25}
        assert not np.array_equal(first.range, second.range)
        rtx.close()
        rtx.close()
        assert not kit.writers
        assert not kit.registered_writers
        assert not kit.products
        assert not any(stage.GetPrimAtPath(path) for path in paths)


def test_rays_are_cast_where_there_is_no_scan(isaac, caplog):
    """A lidar without an RTX scan would see nothing."""
    kit = isaac()
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    beams = Spinning((0.0,), column_count=12)
    sensors = {
        "top": lidar(pattern=beams),
        "odd": lidar(pattern=beams, rate_hz=12.5),
        "front": lidar(pattern={"model": "raster", "column_count": 4, "row_count": 3}),
    }
    simulation, eye = simulation_of(isaac_engine(frame_rate=None), **sensors)
    with simulation, measure_by_rtx(simulation) as rtx:
        assert [item.name for item in rtx.lidars] == ["top"]
        told = [record.getMessage() for record in caplog.records]
        assert len(told) == 2
        assert "lidar 'odd' of 'eye' still uses rays" in told[0]
        assert "only spinning lidars are supported by RTX" in told[1]
        assert not any("\n" in text for text in told)
        simulation.step(26)
        assert np.isfinite(eye.readings["top"].scan(0).range).any()
        assert 0.25 not in eye.readings["top"].scan(0).intensity
    assert not kit.products


def test_a_reading_takes_the_scan_before_its_stamp(isaac):
    """A reading would take a later scan or an outdated one."""
    isaac()
    from pegasus.isaac.rtx_lidar import Scan, measure_by_rtx

    simulation, _ = simulation_of(isaac_engine(frame_rate=None), top=lidar())
    with simulation, measure_by_rtx(simulation) as rtx:
        top = rtx.lidars[0]
        for time, distance in ((0.1, 3.0), (0.2, 4.0)):
            point = np.array([distance]), np.array([0.5])
            ahead = np.zeros(1)
            top.scanners[0].scans.append(
                Scan(time, ahead, ahead, *point, path=("",), part=np.zeros(1, np.int64))
            )
        for stamp, distance in ((0.1, 3.0), (0.19, 3.0), (0.2, 4.0), (0.39, 4.0)):
            echoes = top.echoes(0, stamp)
            assert echoes.range[4, 44] == distance
            assert np.isfinite(echoes.range).sum() == 1
        assert top.echoes(0, 0.09) is None
        # Two scans later there is still none: no frames are drawn.
        assert top.echoes(0, 0.41) is None


def test_isaac_sim_5_has_none(isaac):
    """An Isaac Sim without RTX lidars would cause no one-line error, or keep parts of the lidar."""
    kit = isaac("5.1.0")
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    simulation, eye = simulation_of(isaac_engine(), top=lidar())
    with simulation:
        with pytest.raises(ConfigError, match=r"isaacsim\.sensors\.experimental\.rtx") as error:
            measure_by_rtx(simulation)
        assert "\n" not in str(error.value)
        assert eye.sensors["top"].source is None
        assert not kit.context.get_stage().GetPrimAtPath("/World/eye/body_0/top")
