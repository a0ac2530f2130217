"""Tests of vehicle prims' attributes on the fakes: actuator states and propellers."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor
from pegasus.control import GeometricController, trajectories
from pegasus.core.drawn_vehicle import DrawnVehicle
from pegasus.dynamics import Battery
from pegasus.isaac.bodies import add_bodies
from pegasus.isaac.vehicle_prims import prepare_propellers, turn_propellers, write_states
from tests.isaac.contract import VERSIONS


def flown(user, seconds=3.0):
    """Fly two copies with a battery."""
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
    """An OmniGraph would read poses alone, or another copy's values."""
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
        # The thrust carries its weight.
        assert value["force"][2] == pytest.approx(vehicle.mass * 9.81, rel=0.2)
        np.testing.assert_array_equal(value["torque"], vehicle.applied_torque[copy])
        assert prim.GetAttribute("pegasus:batteryVoltage").Get() == vehicle.battery.voltage[copy]
        assert 0.9 < prim.GetAttribute("pegasus:batteryCharge").Get() < 1.0
    stage = user.kit.context.get_stage()
    # They and the angles of the propellers are not saved.
    saved, unsaved = stage.GetRootLayer().ExportToString(), stage.GetSessionLayer().ExportToString()
    for name in ("pegasus:rotorSpeed", "xformOp:rotateZ:spin"):
        assert name not in saved
        assert name in unsaved
    # A vehicle whose prim is deleted is removed with its attributes.
    stage.RemovePrim("/World/iris/body_1")
    assert not stage.GetPrimAtPath("/World/iris/body_1")
    assert stage.GetPrimAtPath("/World/iris/body_0")
    stage.RemovePrim("/World/iris")
    user.update(10)
    assert len(user.extension.session.vehicles) == 0
    assert "iris" not in stage.GetSessionLayer().ExportToString()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_removed_vehicle_leaves_no_values(window, version):
    """A vehicle that is removed, or whose session ends, would live on in the session layer."""
    user = window(version)
    flown(user, 0.2)
    session, layer = user.extension.session, user.kit.context.get_stage().GetSessionLayer()
    session.add(Multirotor("iris", name="other", position=(5.0, 0.0, 1.0)))
    user.update(3)
    assert "other" in layer.ExportToString()
    session.remove("other")
    assert not user.kit.context.get_stage().GetPrimAtPath("/World/other")
    assert "other" not in layer.ExportToString()
    session.close()
    assert "iris" not in layer.ExportToString()
    assert user.kit.context.get_stage().GetPrimAtPath("/World/iris/body_0")


def test_propellers_and_states_do_not_change_a_saved_stage(window, tmp_path):
    """Kit would ask to save a stage that nobody has changed."""
    user = window()
    vehicle = Multirotor("iris")
    stage = Usd.Stage.CreateNew(str(tmp_path / "stage.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    stage.Save()
    user.kit.settings.set("/pegasus/stateAttributes", True)
    prepare_propellers(stage, vehicle)
    vehicle.columns["rotor_speed"][...] = 500.0
    for time in (0.1, 0.2):
        turn_propellers(stage, [vehicle], time)
        write_states(stage, [vehicle])
    angle = stage.GetAttributeAtPath("/World/iris/body_0/looks/rotor0.xformOp:rotateZ:spin").Get()
    assert angle == pytest.approx(np.degrees(500.0 * 0.2) % 360.0, abs=1e-3)
    assert not stage.GetRootLayer().dirty


def test_nothing_is_written_unasked(window):
    """Attributes would be written by default, which costs time with each frame."""
    user = window()
    flown(user, 0.2)
    prim = user.kit.context.get_stage().GetPrimAtPath("/World/iris/body_0")
    assert not prim.HasAttribute("pegasus:rotorSpeed")
    user.kit.settings.set("/pegasus/stateAttributes", True)
    user.update(3)
    assert prim.HasAttribute("pegasus:rotorSpeed")


def test_they_stand_where_renderers_draw_them():
    """Propellers would turn the wrong way, about a wrong axis, or at a wrong speed."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    vehicle = Multirotor("tilted_hexarotor", count=2)
    paths = add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    prepare_propellers(stage, vehicle)
    vehicle.columns["rotor_speed"][...] = np.linspace(300.0, 900.0, 12).reshape(2, 6)
    turn_propellers(stage, [vehicle], 1.234)
    drawn = DrawnVehicle(vehicle)
    poses = drawn.poses(
        vehicle.start.position, vehicle.start.orientation, vehicle.state.rotor_speed, np.zeros((2, 0)), 1.234
    ).reshape(2, 7, 4, 4)
    cache = UsdGeom.XformCache()
    for copy, path in enumerate(paths):
        for rotor in range(6):
            prim = stage.GetPrimAtPath(f"{path}/looks/rotor{rotor}")
            place = np.array(cache.GetLocalToWorldTransform(prim)).T
            expected = poses[copy, 1 + rotor]
            np.testing.assert_allclose(place[:3, 3], expected[:3, 3], atol=1e-6)
            # The renderers' frame may be rotated about the axis; the angle of rotation is the same.
            rest = (
                DrawnVehicle(vehicle)
                .poses(
                    vehicle.start.position,
                    vehicle.start.orientation,
                    np.zeros((2, 6)),
                    np.zeros((2, 0)),
                    1.234,
                )
                .reshape(2, 7, 4, 4)[copy, 1 + rotor]
            )
            turned = expected[:3, :3] @ rest[:3, :3].T
            turn_propellers(stage, [vehicle], 0.0)
            cache.Clear()
            still = np.array(cache.GetLocalToWorldTransform(prim)).T
            np.testing.assert_allclose(place[:3, :3] @ still[:3, :3].T, turned, atol=1e-5)
            turn_propellers(stage, [vehicle], 1.234)
            cache.Clear()
