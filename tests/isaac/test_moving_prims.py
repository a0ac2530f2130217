"""Tests of movers in Isaac Sim, on fakes with MuJoCo as physics: kinematic prims that physics follows."""

import numpy as np
import pytest
from pxr import UsdGeom, UsdPhysics

from pegasus import ConfigError, Multirotor, Simulation
from tests.isaac.contract import VERSIONS

PLATFORM = {
    "name": "platform",
    "label": "deck",
    "box": [3.0, 3.0, 0.2],
    "center": [0.0, 0.0, -0.1],
    "motion": {"model": "oscillation", "position": [0, 0, 1.0], "amplitude": [1.5, 0, 0.1], "period": 9.0},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_platform_carries_a_vehicle(isaac, version):
    """Physics would not know that the prim moves, or where it is at the start, after a reset or a removal."""
    kit = isaac(version, exact=True)
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        platform = simulation.add_mover(PLATFORM)
        iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 1.1)))
        prim = kit.context.get_stage().GetPrimAtPath("/World/platform")
        assert UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get() is True
        for _ in range(2):
            simulation.run(2.0)
            motion = platform.motion(simulation.time)
            # Physics has the mean velocity of each step, half a step late.
            np.testing.assert_allclose(iris.state.velocity, motion.velocity, atol=5e-3)
            assert {contact.other for contact in iris.contacts} == {"/World/platform/collider_0"}
            hit = simulation.engine.raycast(
                np.array([motion.position[0] + [1.0, 1.0, 2.0]]),
                np.array([[0.0, 0.0, -1.0]]),
                9.0,
                skip=np.array([-1]),
            )
            np.testing.assert_allclose(hit.distance, [2.0], atol=1e-9)
            assert hit.body[0] == -1
            simulation.stop()
            place = UsdGeom.XformCache().GetLocalToWorldTransform(prim).ExtractTranslation()
            np.testing.assert_allclose(place, platform.motion(0.0).position[0], atol=1e-12)
        simulation.remove_mover("platform")
        assert not kit.context.get_stage().GetPrimAtPath("/World/platform")


def test_a_prim_in_the_way_is_named(isaac):
    """A mover would be written into a prim of the world."""
    kit = isaac()
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        kit.context.get_stage().DefinePrim("/World/crate")
        with pytest.raises(ConfigError, match="has a prim at /World/crate"):
            simulation.add_mover({**PLATFORM, "name": "crate"})
        assert "crate" not in simulation.movers.names
