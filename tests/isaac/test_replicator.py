"""Tests of Replicator writers on the cameras of vehicles."""

import sys

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import Camera, StereoCamera
from tests.isaac.contract import VERSIONS


def simulation_of(*, count=1, frame_rate=50.0, **cameras):
    """Return a simulation on Isaac Sim with a vehicle that has some cameras, and the vehicle."""
    from pegasus.isaac.engine import IsaacEngine

    engine = IsaacEngine(rate=250, frame_rate=frame_rate)
    # Readings of cameras, which are not accessed here, would be rendered by RTX with frames of their own.
    simulation = Simulation("flat", engine=engine, renderer="embree", rate=250, seed=1)
    cameras = cameras or {"front": Camera(resolution=(40, 30), rate_hz=1.0)}
    place = [(0.0, 2.0 * k, 1.5) for k in range(count)]
    vehicle = Multirotor("iris", name="eye", count=count, position=place, extra_sensors=cameras)
    return simulation, simulation.add(vehicle)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_writer_writes_every_frame_and_goes(isaac, tmp_path, monkeypatch, version):
    """A writer would miss frames, use a wrong folder, or not stop."""
    kit = isaac(version)
    monkeypatch.chdir(tmp_path)
    from pegasus.isaac.replicator import replicate

    simulation, vehicle = simulation_of(count=2)
    with simulation:
        with replicate(vehicle, output_dir="drawn", rgb=True, semantic_segmentation=True) as replication:
            paths = [camera.path for camera in replication.cameras]
            products = {camera.product for camera in replication.cameras}
            assert paths == ["/World/eye/body_0/front_optical", "/World/eye/body_1/front_optical"]
            simulation.step(1)
            before, files = kit.frames, len(list((tmp_path / "drawn").glob("*")))
            simulation.step(15)
        written = len(list((tmp_path / "drawn").iterdir()))
        # 50 frames a second of 250 steps: three frames, two cameras, two outputs.
        assert kit.frames - before == 3
        assert written - files == 3 * 2 * 2
        simulation.step(10)
        assert len(list((tmp_path / "drawn").iterdir())) == written
        # The readings of the camera have a render product of their own.
        assert not products & set(kit.products)
        assert not kit.writers
        assert not any(kit.context.get_stage().GetPrimAtPath(path) for path in paths)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_camera_is_written_at_its_rate(isaac, tmp_path, version):
    """All cameras would be written at one rate, or those of two rates into the same files."""
    kit = isaac(version)
    from pegasus.isaac.replicator import replicate

    size = (40, 30)
    cameras = {
        "slow": Camera(resolution=size, rate_hz=5.0),
        "also_slow": Camera(resolution=size, rate_hz=5.0),
        "fast": Camera(resolution=size, rate_hz=25.0),
        "each": Camera(resolution=size, rate_hz=50.0),
    }
    simulation, vehicle = simulation_of(**cameras)
    with simulation:
        rate = simulation.engine.frame_rate
        with replicate(vehicle, output_dir=tmp_path, frame_rate=rate, rgb=True):
            simulation.run(duration=1.0)
        assert not kit.writers
        counts = {path.name: len(list(path.iterdir())) for path in tmp_path.iterdir()}
        # Two cameras of 5 Hz.
        assert counts == {"5_hz": 2 * 5, "25_hz": 25, "50_hz": 50}
        with pytest.raises(ConfigError, match="is not due at whole frames of 60 Hz") as error:
            replicate(vehicle, output_dir=tmp_path, frame_rate=60.0)
        assert "'fast'" in str(error.value)
        assert "rate_hz = 25.0" in str(error.value)
        assert not kit.writers


def test_cameras_are_where_readings_see_from(isaac, tmp_path):
    """A writer's camera would have another pose than the readings."""
    kit = isaac()
    from pegasus.isaac.replicator import replicate

    pair = StereoCamera(
        resolution=(40, 30), position=(0.2, 0.0, 0.1), orientation=(0.1, 0.5, 0.3), baseline=0.2
    )
    simulation, vehicle = simulation_of(pair=pair)
    with simulation, replicate([vehicle], output_dir=tmp_path) as replication:
        simulation.step(1)
        reading = vehicle.readings["pair"]
        assert [camera.side for camera in replication.cameras] == ["left", "right"]
        for camera in replication.cameras:
            seen = reading.cameras[camera.side]
            prim = UsdGeom.Camera(kit.context.get_stage().GetPrimAtPath(camera.path))
            pose = np.array(prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T
            np.testing.assert_allclose(pose[:3, 3], seen.position[0], atol=2e-4)
            optical = matrix_from_quaternion(seen.orientation)[0]
            # Image axes: x right, y down, z forward; a USD camera has y up and looks along -z.
            np.testing.assert_allclose(pose[:3, :3], optical @ np.diag([1.0, -1.0, -1.0]), atol=1e-3)
            focal = prim.GetFocalLengthAttr().Get() / prim.GetHorizontalApertureAttr().Get() * 40
            assert focal == pytest.approx(reading.intrinsic_matrix[0, 0], rel=1e-6)


def test_a_wrong_choice_leaves_nothing_behind(isaac, tmp_path):
    """A writer that fails to start would leave cameras that are rendered with every frame."""
    kit = isaac()
    from pegasus.isaac.replicator import replicate

    fisheye = Camera(resolution=(40, 30), lens={"model": "brown_conrady", "k1": -0.2, "horizontal_fov": 1.2})
    simulation, vehicle = simulation_of(front=Camera(resolution=(40, 30)), wide=fisheye)
    with simulation:
        with pytest.raises(ConfigError, match="no such camera; it has front, wide"):
            replicate(vehicle, output_dir=tmp_path, cameras=["rear"])
        with pytest.raises(ConfigError, match="lens with distortion"):
            replicate(vehicle, output_dir=tmp_path)
        with pytest.raises(ValueError, match="no writer 'Nobody'"):
            replicate(vehicle, output_dir=tmp_path, cameras=["front"], writer="Nobody")
        with pytest.raises(TypeError, match="colours"):
            replicate(vehicle, output_dir=tmp_path, cameras=["front"], colours=True)
        assert not kit.products
        assert not kit.context.get_stage().GetPrimAtPath("/World/eye/body_0/front_optical")
        with pytest.raises(ConfigError, match="is not on the open stage"):
            replicate(Multirotor("iris", name="stranger"), output_dir=tmp_path)
    for name in [name for name in sys.modules if name.startswith("omni.replicator")]:
        del sys.modules[name]
    del sys.modules["omni"].replicator
    with pytest.raises(ConfigError, match=r"omni\.replicator\.core, which is not enabled"):
        replicate(vehicle, output_dir=tmp_path)
