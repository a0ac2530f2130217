"""Pictures and rays in Isaac Sim are those of Embree, pixel by pixel, on the fakes that draw by Embree."""

import sys

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.cameras import Camera
from pegasus.errors import ConfigError


def picture(engine, *, steps=21, device=None, outputs=("depth",), **camera):
    """Return the images of a camera that looks from one falling vehicle at another."""
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
    """Return what Embree draws where MuJoCo flies."""
    return picture("mujoco", outputs=("depth", "semantic_segmentation"))


def test_a_picture_is_that_of_embree(isaac, by_embree):
    """Width for height, a camera that looks backwards or upside down, numbers of RTX taken for our own."""
    isaac(exact=True)
    drawn = picture("isaac", outputs=("depth", "semantic_segmentation"))
    depth = by_embree["depth"]
    assert drawn["depth"].shape == depth.shape == (30, 40)
    finite = np.isfinite(depth)
    assert 0.2 < finite.mean() < 0.95
    # The other vehicle is in it.
    assert depth[finite].min() < 2.1
    # Pixels on an edge may fall to either side.
    assert (~np.isclose(drawn["depth"], depth, rtol=1e-3, atol=1e-3)).mean() < 0.01
    labels = by_embree["semantic_segmentation"]
    assert len(np.unique(labels)) >= 2
    assert (drawn["semantic_segmentation"] != labels).mean() < 0.02


def test_a_picture_on_a_gpu_is_not_of_an_earlier_step(isaac, by_embree):
    """With Fabric in place of USD, RTX draws where bodies were at the last frame that stepped them."""
    isaac("5.1.0", exact=True)
    drawn = picture(None, device="cuda:0")
    assert (~np.isclose(drawn["depth"], by_embree["depth"], rtol=1e-3, atol=1e-3)).mean() < 0.01


def test_no_replicator(isaac):
    """A Kit without Replicator: vehicles fly, and who wants a picture is told what is missing."""
    isaac()
    for name in [name for name in sys.modules if name.startswith("omni.replicator")]:
        del sys.modules[name]
    del sys.modules["omni"].replicator
    with pytest.raises(ConfigError) as error:
        picture("isaac")
    assert "omni.replicator.core" in str(error.value)
    assert "\n" not in str(error.value)
