"""The state of vehicles as attributes of their prims, on the fakes."""

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.control import GeometricController, trajectories
from pegasus.propulsion import Battery
from tests.isaac.contract import VERSIONS


def flown(user, seconds=3.0):
    """Fly two copies with a battery for a while."""
    session = user.extension.session
    session.load_world("flat")
    pilot = GeometricController(trajectories.hold(height=1.0))
    battery = Battery(cell_count=4, capacity=5.0, resistance=0.01)
    session.add(Multirotor("iris", count=2, backends=[pilot], battery=battery))
    session.play()
    user.update(round(60 * seconds))
    return session.vehicles["iris"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_graph_reads_what_the_vehicle_does(window, version):
    """An OmniGraph would see poses alone, or values of another copy."""
    user = window(version)
    user.kit.settings.set("/pegasus/stateAttributes", True)
    vehicle = flown(user)
    for copy in range(2):
        prim = user.kit.context.get_stage().GetPrimAtPath(f"/World/iris/body_{copy}")
        value = {
            name: prim.GetAttribute(f"pegasus:{name}").Get() for name in ("rotorSpeed", "force", "torque")
        }
        np.testing.assert_array_equal(value["rotorSpeed"], vehicle.state.rotor_speed[copy])
        assert min(value["rotorSpeed"]) > 100.0
        np.testing.assert_array_equal(value["force"], vehicle.applied_force[copy])
        # It carries its weight.
        assert value["force"][2] == pytest.approx(vehicle.mass * 9.81, rel=0.2)
        np.testing.assert_array_equal(value["torque"], vehicle.applied_torque[copy])
        assert prim.GetAttribute("pegasus:batteryVoltage").Get() == vehicle.battery.voltage[copy]
        assert 0.9 < prim.GetAttribute("pegasus:batteryCharge").Get() < 1.0
    # A vehicle whose prim is deleted goes, attributes and all.
    user.kit.context.get_stage().RemovePrim("/World/iris")
    user.update(10)
    assert len(user.extension.session.vehicles) == 0


def test_nothing_is_written_unasked(window):
    """Every attribute costs with each frame, and stands in the stage that is saved."""
    user = window()
    flown(user, 0.2)
    prim = user.kit.context.get_stage().GetPrimAtPath("/World/iris/body_0")
    assert not prim.HasAttribute("pegasus:rotorSpeed")
    user.kit.settings.set("/pegasus/stateAttributes", True)
    user.update(3)
    assert prim.HasAttribute("pegasus:rotorSpeed")
