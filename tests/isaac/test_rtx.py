"""Tests that images and rays in Isaac Sim equal Embree's, on fakes that render by Embree."""

import math
import sys

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from pegasus import Backend, Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.cameras import Camera, Lidar
from pegasus.cameras.scan_patterns import Spinning
from pegasus.scene.authoring import label

# The fakes cast each ray by itself.
FEW_RAYS = Spinning(tuple(np.radians([-30.0, -12.0, -4.0, 4.0])), column_count=90)


def picture(engine, *, steps=21, device=None, outputs=("depth",), **camera):
    """Return the images of a camera that points from one falling vehicle at another."""
    if device is not None:
        from pegasus.isaac.engine import IsaacEngine

        engine = IsaacEngine(rate=250, device=device)
    with Simulation("flat", engine=engine, rate=250, seed=1) as simulation:
        front = Camera(rate_hz=12.5, resolution=(40, 30), outputs=outputs, **camera)
        seen = simulation.add(Multirotor("iris", name="seen", position=(2.0, 0.3, 1.6)))
        viewer = simulation.add(
            Multirotor("iris", name="viewer", position=(0.0, 0.0, 1.5), extra_sensors={"front": front})
        )
        simulation.step(steps)
        reading = viewer.readings["front"]
        assert seen.state.position[0, 2] < 1.6
        names = {"depth": "distance_to_image_plane"}
        return {name: np.array(reading.image(names.get(name, name), 0)) for name in outputs}


@pytest.fixture(scope="module")
def by_embree():
    """Return Embree's images of the same flight on MuJoCo."""
    return picture("mujoco", outputs=("rgb", "depth", "semantic_segmentation"))


def test_a_picture_is_that_of_embree(isaac, by_embree):
    """Width and height, the camera's axes, RTX's colours or its ids would be wrong."""
    isaac(exact=True)
    drawn = picture("isaac", outputs=("rgb", "depth", "semantic_segmentation"))
    depth = by_embree["depth"]
    assert drawn["depth"].shape == depth.shape == (30, 40)
    finite = np.isfinite(depth)
    assert 0.2 < finite.mean() < 0.95
    # The other vehicle is in the image.
    assert depth[finite].min() < 2.1
    # Pixels on an edge may fall to either side.
    assert (~np.isclose(drawn["depth"], depth, rtol=1e-3, atol=1e-3)).mean() < 0.01
    # RTX has its own light and exposure; rows of each colour are alike from the sky to the ground.
    ours, theirs = (images["rgb"].mean(axis=1, dtype=np.float64) for images in (drawn, by_embree))
    assert all(np.corrcoef(ours[:, k], theirs[:, k])[0, 1] > 0.9 for k in range(3))
    labels = by_embree["semantic_segmentation"]
    assert len(np.unique(labels)) >= 2
    assert (drawn["semantic_segmentation"] != labels).mean() < 0.02


def test_a_picture_on_a_gpu_is_not_of_an_earlier_step(isaac, by_embree):
    """With Fabric instead of USD, RTX would draw bodies at the poses of an earlier frame."""
    isaac("5.1.0", exact=True)
    drawn = picture(None, device="cuda:0")
    assert (~np.isclose(drawn["depth"], by_embree["depth"], rtol=1e-3, atol=1e-3)).mean() < 0.01


@pytest.mark.parametrize("sensor", ["lidar", "camera"])
def test_what_is_hidden_from_a_sensor_stays_on_the_stage(isaac, sensor):
    """A vehicle hidden from its own lidar would vanish from the window."""
    kit = isaac()
    made = (
        Lidar(pattern=FEW_RAYS, rate_hz=10.0)
        if sensor == "lidar"
        else Camera(
            rate_hz=12.5, resolution=(40, 30), outputs=("depth",), hide_vehicle=True, position=(0, 0, 0)
        )
    )
    with Simulation("flat", engine="isaac", rate=250, seed=1) as simulation:
        iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 1.5), extra_sensors={"sensor": made}))
        prim = kit.context.get_stage().GetPrimAtPath(simulation.engine.path("iris/0"))
        simulation.step(30)
        reading = iris.readings["sensor"]
        assert UsdGeom.Imageable(prim).ComputeVisibility() == UsdGeom.Tokens.inherited
        if sensor == "lidar":
            assert np.linalg.norm(reading.cloud().points, axis=1).min() > 0.8
        else:
            # Its own rotors are around the lens.
            assert reading.depth[0].min() > 0.8
        assert UsdGeom.Imageable(prim).ComputeVisibility() == UsdGeom.Tokens.inherited
        simulation.step(30)
        assert UsdGeom.Imageable(prim).ComputeVisibility() == UsdGeom.Tokens.inherited


def test_a_scan_of_an_instant_that_is_gone(isaac):
    """A scan would show other vehicles at present poses instead of its stamp's."""
    isaac()
    top = Lidar(pattern=FEW_RAYS, rate_hz=10.0)
    with Simulation("flat", engine="isaac", rate=250, seed=1) as simulation:
        simulation.add(Multirotor("iris", name="seen", position=(3.0, 0.0, 9.0)))
        viewer = simulation.add(
            Multirotor("iris", name="viewer", position=(0.0, 0.0, 0.1), extra_sensors={"top": top})
        )
        simulation.step(26)
        assert len(viewer.readings["top"].cloud().points)
        simulation.step(25)
        old = viewer.readings["top"]
        # The other vehicle falls by 0.2 m, and the next scan is not available yet.
        simulation.step(20)
        assert viewer.readings["top"] is old
        with pytest.raises(ConfigError, match="PhysX casts rays in the present only"):
            old.cloud()
        simulation.step(5)
        new = viewer.readings["top"]
        assert new is not old
        simulation.remove("seen")
        # The former pose of a removed vehicle is not available either.
        with pytest.raises(ConfigError, match="vehicles have moved since"):
            new.cloud()
        simulation.step(25)
        assert len(viewer.readings["top"].cloud().points)
        with pytest.raises(ConfigError, match="vehicles have moved since"):
            new.cloud()


def test_labels_of_a_world_in_other_units(isaac, tmp_path):
    """Objects of a converted world would have no labels."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "world.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/Root").GetPrim())
    for name, size, height in (("floor", 2000.0, -1000.0), ("table", 100.0, 50.0)):
        cube = UsdGeom.Cube.Define(stage, f"/Root/{name}")
        cube.CreateSizeAttr(size)
        cube.AddTranslateOp().Set((0.0, height, 0.0))
        label(cube.GetPrim(), name)
    stage.Save()

    def seen(engine):
        down = Camera(
            rate_hz=10.0, resolution=(40, 30), outputs=("semantic",), orientation=(0.0, math.pi / 2, 0.0)
        )
        with Simulation(tmp_path / "world.usda", engine=engine, rate=250) as simulation:
            iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0), extra_sensors={"down": down}))
            simulation.step(1)
            reading = iris.readings["down"]
            return np.vectorize(lambda number: reading.classes.get(int(number), ""))(reading.semantic[0])

    isaac()
    drawn, expected = seen("isaac"), seen("mujoco")
    assert {"floor", "table"} <= set(np.unique(expected))
    assert (drawn != expected).mean() < 0.02


class Looker(Backend):
    """A backend that accesses every image as soon as it is available."""

    def bind(self, vehicle):
        self.depths = []

    def publish(self, t, state, readings):
        if "front" in readings:
            self.depths.append(readings["front"].depth[0])


def test_a_picture_before_the_first_frame_does_not_end_the_run(window):
    """An image accessed before RTX's first frame would stop the run."""
    user = window()
    assert user.panel.world.choose("flat")
    assert user.panel.world.load(), user.messages
    front = Camera(rate_hz=50.0, resolution=(40, 30), outputs=("depth",))
    looker = Looker()
    user.extension.session.add(
        Multirotor("iris", position=(0.0, 0.0, 0.1), extra_sensors={"front": front}, backends=[looker])
    )
    user.kit.timeline.play()
    user.update(15)
    assert user.kit.timeline.is_playing(), user.messages
    assert not any(message.error for message in user.panel.messages), user.messages
    # Nothing is seen at first, then the ground.
    assert np.isinf(looker.depths[0]).all()
    assert np.isfinite(looker.depths[-1]).mean() > 0.3


def test_no_replicator(isaac):
    """Without Replicator vehicles would not fly, or image errors not name it."""
    isaac()
    for name in [name for name in sys.modules if name.startswith("omni.replicator")]:
        del sys.modules[name]
    del sys.modules["omni"].replicator
    with pytest.raises(ConfigError) as error:
        picture("isaac")
    assert "omni.replicator.core" in str(error.value)
    assert "\n" not in str(error.value)
