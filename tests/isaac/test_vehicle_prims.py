"""Tests of vehicle prims' attributes on the fakes: actuator states and propellers."""

import numpy as np
import pytest
from pxr import Tf, Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor
from pegasus.control import GeometricController, trajectories
from pegasus.core.drawn_vehicle import DrawnVehicle
from pegasus.dynamics import Battery
from pegasus.isaac.bodies import add_bodies
from pegasus.isaac.turning_prims import TurningPrims, turn_prims
from pegasus.isaac.vehicle_prims import write_states
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


@pytest.mark.parametrize("name", ["iris", "tiltrotor", "plane"])
def test_turning_parts_and_states_do_not_change_a_saved_stage(window, tmp_path, name):
    """Kit would ask to save a stage that nobody has changed."""
    user = window()
    vehicle = Multirotor(name)
    stage = Usd.Stage.CreateNew(str(tmp_path / "stage.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    stage.Save()
    user.kit.settings.set("/pegasus/stateAttributes", True)
    prims = TurningPrims(stage, vehicle)
    vehicle.columns["rotor_speed"][...] = 500.0
    for time in (0.1, 0.2):
        vehicle.columns["joint_angle"][...] = vehicle.columns["wheel_angle"][...] = time
        turn_prims([prims], time)
        write_states(stage, [vehicle])
    spins = [prim.GetAttribute("xformOp:rotateZ:spin") for prim in stage.Traverse()]
    angle = next(spin for spin in spins if spin).Get()
    assert angle == pytest.approx(vehicle.layout.spin[0] * (np.degrees(500.0 * 0.2) % 360.0), abs=1e-3)
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


@pytest.mark.parametrize("name", ["tilted_hexarotor", "tiltrotor", "plane"])
def test_they_stand_where_renderers_draw_them(name):
    """Propellers, nacelles, flaps or wheels would turn about a wrong axis, or not with what carries them."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    vehicle = Multirotor(name, count=2)
    paths = add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    prims, drawn, cache = TurningPrims(stage, vehicle), DrawnVehicle(vehicle), UsdGeom.XformCache()
    seen = set()
    # The second time joints alone move, the third time nothing does.
    for speed, angle in ((700.0, 0.3), (700.0, -0.2), (700.0, -0.2)):
        columns = vehicle.columns
        for column, size in (("rotor_speed", speed), ("joint_angle", angle), ("wheel_angle", 1.2)):
            columns[column][...] = size * (1.0 + 0.1 * np.arange(columns[column].size)).reshape(2, -1)
        turn_prims([prims], 1.234)
        cache.Clear()
        moving = vehicle.state.rotor_speed, columns["joint_angle"], columns["wheel_angle"]
        poses = drawn.poses(vehicle.start.position, vehicle.start.orientation, *moving, 1.234)
        shown = zip(drawn.objects, poses, strict=True)
        for k, (item, pose) in enumerate(shown):
            for part in item.scene.instances:
                path = f"{paths[2 * k // len(poses)]}/looks/{part.path.split('/', 2)[2]}"
                if stage.GetPrimAtPath(path).IsA(UsdGeom.Mesh):
                    found = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path))).T
                    np.testing.assert_allclose(found, pose @ part.transform, atol=2e-5)
                    seen.add(path.rsplit("/", 1)[1])
    assert {"propeller"} <= seen
    assert ("tyre" in seen) == (name == "plane")


def test_parts_that_keep_their_angles_cost_nothing():
    """Each flap, nacelle and wheel would be written with each frame, also on the ground."""
    stage = Usd.Stage.CreateInMemory()
    vehicle = Multirotor("plane")
    add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    prims = TurningPrims(stage, vehicle)
    turn_prims([prims], 0.0)
    changed = []
    listener = Tf.Notice.Register(
        Usd.Notice.ObjectsChanged, lambda notice, _: changed.extend(notice.GetChangedInfoOnlyPaths()), stage
    )
    turn_prims([prims], 0.1)
    assert not any("turn" in path.name for path in changed)
    vehicle.columns["joint_angle"][0, list(vehicle.spec.joints).index("elevator")] = 0.1
    turn_prims([prims], 0.2)
    listener.Revoke()
    turned = {path.GetPrimPath().name for path in changed if "turn" in path.name}
    assert turned == {"tailplane_0_0_1_control", "tailplane_0_1_1_control"}
