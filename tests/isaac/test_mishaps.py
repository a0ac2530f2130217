"""Tests of problems with stages, prims, rates and servers: one-line errors and no remains."""

import gc

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.core.simulation import Playback
from tests.flyers import PLAIN_IRIS
from tests.isaac.contract import VERSIONS
from tests.isaac.fakes import interface
from tests.isaac.trials import draws_without_stepping, forgets_the_warm_up, loses_a_vehicle_in_flight


def one_line(error):
    """Return the text of an error, which must fit one line."""
    text = str(error.value if hasattr(error, "value") else error)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("rate", [249.5, 1000.0 / 3.0])
def test_a_rate_that_is_no_integer(isaac, rate):
    """PhysX, which keeps whole steps per second, would run time at a wrong pace."""
    isaac()
    with pytest.raises(ConfigError) as error:
        Simulation("flat", engine="isaac", rate=rate)
    assert "rate" in one_line(error)
    assert "whole number" in one_line(error)


@pytest.mark.parametrize("rate", [50, 245, 1000])
def test_the_rate_is_kept_exactly(isaac, rate):
    """A rate converted through int(1 / dt) would be 244 in place of 245."""
    kit = isaac()
    with Simulation("flat", engine="isaac", rate=rate) as simulation:
        simulation.step(3)
        assert kit.physics.steps_per_second() == rate
        assert kit.physics.time == pytest.approx(5 / rate, rel=1e-12)


def test_a_stage_in_centimetres(isaac):
    """Vehicles would be a hundred times too small."""
    kit = isaac()
    from pegasus.isaac.kit_session import simulation_of_stage

    UsdGeom.SetStageMetersPerUnit(kit.context.get_stage(), 0.01)
    ground(kit)
    with pytest.raises(ConfigError) as error:
        simulation_of_stage()
    assert "metersPerUnit" in one_line(error)
    assert "0.01" in one_line(error)


def test_a_stage_with_y_up(isaac):
    """Vehicles would fly sideways."""
    kit = isaac()
    from pegasus.isaac.kit_session import simulation_of_stage

    UsdGeom.SetStageUpAxis(kit.context.get_stage(), UsdGeom.Tokens.y)
    ground(kit)
    with pytest.raises(ConfigError, match="upAxis") as error:
        simulation_of_stage()
    one_line(error)


def test_a_world_in_centimetres_is_converted(isaac, tmp_path):
    """Worlds in centimetres would have a wrong scale."""
    kit = isaac()
    stage = Usd.Stage.CreateNew(str(tmp_path / "world.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    cube = UsdGeom.Cube.Define(stage, "/World/table")
    cube.CreateSizeAttr(100.0)
    cube.AddTranslateOp().Set((0.0, 150.0, 0.0))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    stage.Save()
    with Simulation(tmp_path / "world.usda", engine="isaac") as simulation:
        opened = kit.context.get_stage()
        assert UsdGeom.GetStageMetersPerUnit(opened) == 1.0
        assert UsdGeom.GetStageUpAxis(opened) == UsdGeom.Tokens.z
        simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        simulation.step(1)
        # The table's top is at 2 m, viewed from above.
        hits = simulation.engine.raycast(
            np.array([[0.3, 0.3, 4.0]]), np.array([[0.0, 0.0, -1.0]]), 10.0, skip=np.array([-1])
        )
        assert hits.distance[0] == pytest.approx(2.0, abs=1e-5)


def ground(kit):
    """Add a ground to the open stage."""
    plane = UsdGeom.Plane.Define(kit.context.get_stage(), "/World/ground")
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())


def test_a_stage_without_a_physics_scene(isaac):
    """Isaac Sim 5.1, which adds no physics scene, would step at its own 60 Hz."""
    kit = isaac("5.1.0")
    from pegasus.isaac.kit_session import simulation_of_stage

    ground(kit)
    simulation = simulation_of_stage(rate=200)
    assert len(kit.physics.scene_paths()) == 1
    assert kit.physics.steps_per_second() == 200
    simulation.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_physics_scene_that_comes_with_its_world(isaac, version):
    """The scene of a layer would be overlooked, and physics step at 60 Hz."""
    kit = isaac(version)
    with Simulation("courtyard", engine="isaac", rate=250) as simulation:
        simulation.step(5)
        assert kit.physics.scene_paths() == ["/World/Physics"]
        assert kit.physics.last_dt == pytest.approx(1 / 250, rel=1e-6)
        assert kit.physics.time == pytest.approx(7 / 250, rel=1e-6)


def test_a_stage_with_two_physics_scenes(isaac, caplog):
    """Vehicles would be in a scene with another rate than the simulation's."""
    kit = isaac()
    from pegasus.isaac.kit_session import simulation_of_stage

    stage = kit.context.get_stage()
    ground(kit)
    for name in ("one", "two"):
        UsdPhysics.Scene.Define(stage, f"/{name}")
    simulation = simulation_of_stage(rate=400)
    iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 0.1)))
    rates = [
        stage.GetPrimAtPath(path).GetAttribute("physxScene:timeStepsPerSecond").Get()
        for path in kit.physics.scene_paths()
    ]
    assert rates == [400, 400]
    body = stage.GetPrimAtPath(simulation.engine.path(f"{iris.name}/0"))
    assert [str(p) for p in UsdPhysics.RigidBodyAPI(body).GetSimulationOwnerRel().GetTargets()] == ["/one"]
    assert any("2 physics scenes" in record.message for record in caplog.records)
    simulation.close()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("deactivated", [False, True])
def test_a_vehicle_prim_that_is_deleted_or_deactivated_by_hand(window, version, deactivated):
    """The other vehicles would stop, or the panel still show the deleted one."""
    user = window(version)
    user.fly_square()
    assert user.panel.vehicle.set_position(5.0, 0.0, 0.1)
    assert user.panel.vehicle.add(), user.messages
    user.kit.timeline.play()
    user.update(30)
    first, second = list(user.simulation.vehicles)
    before = second.state.position[0].copy()
    stage = user.kit.context.get_stage()
    if deactivated:
        stage.GetPrimAtPath(f"/World/{first.name}").SetActive(False)
    else:
        stage.RemovePrim(f"/World/{first.name}")
    user.update(60)
    assert [vehicle.name for vehicle in user.simulation.vehicles] == [second.name]
    assert np.abs(second.state.position[0] - before).max() > 0.02
    assert f"{first.name}" in user.messages
    assert "deleted" in user.messages
    assert user.simulation.playback is Playback.PLAYING


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("deleted", [False, True])
def test_a_physics_scene_that_the_user_changes_or_deletes(window, version, deleted):
    """Physics would take steps of 1/60 s under a controller of 1/250 s, and nobody would be told."""
    user = window(version)
    user.fly_square()
    stage = user.kit.context.get_stage()
    (path,) = user.kit.physics.scene_paths()
    if deleted:
        stage.RemovePrim(path)
    else:
        stage.GetPrimAtPath(path).GetAttribute("physxScene:timeStepsPerSecond").Set(60)
    user.kit.timeline.play()
    user.update(3)
    assert "physics rate = '60 Hz': must be the simulation's rate, 250 Hz" in user.messages
    assert user.kit.timeline.is_stopped()
    assert user.simulation.step_count == 0


def test_the_panel_says_that_there_is_no_asset_server(window):
    """A server's error in a window callback would only be in the log."""
    user = window()
    user.kit.assets_root = None
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(2)
    boxes = user.kit.windows[0]._find(interface.ComboBox)
    offered = next(box for box in boxes if "Warehouse" in box.model._names)
    offered.model._choose("Warehouse")
    user.update(5)
    assert "has no asset server" in user.messages
    assert "\n" not in user.messages


def test_a_stage_that_is_saved_with_vehicles_loads_again(window, tmp_path):
    """A saved stage would hold bodies without their vehicles."""
    user = window()
    user.fly_square()
    assert user.panel.vehicle.set_position(4.0, 1.0, 0.1)
    assert user.panel.vehicle.set_name("second")
    assert user.panel.vehicle.add(), user.messages
    names = [vehicle.name for vehicle in user.simulation.vehicles]
    file = tmp_path / "saved.usda"
    assert user.kit.context.get_stage().Export(str(file))
    user.kit.context.new_stage()
    user.update()
    assert user.simulation is None
    user.kit.context.open_stage(str(file))
    user.update()
    assert [vehicle.name for vehicle in user.simulation.vehicles] == names
    starts = np.concatenate([vehicle.state.position for vehicle in user.simulation.vehicles])
    np.testing.assert_allclose(starts, [[0.0, 0.0, 0.1], [4.0, 1.0, 0.1]], atol=1e-6)
    assert user.simulation.rate == 250
    user.kit.timeline.play()
    user.update(20)
    assert user.simulation.step_count > 70


@pytest.mark.parametrize("version", VERSIONS)
def test_stages_leave_no_callbacks_behind(window, caplog, version):
    """A former stage's callback would step the simulation twice, or step a closed one."""
    user = window(version)
    counts = []
    for _ in range(3):
        user.fly_square()
        user.kit.timeline.play()
        user.update(3)
        before = user.simulation.step_count
        user.update(6)
        assert user.simulation.step_count - before == pytest.approx(25, abs=1)
        gc.collect()
        counts.append(len(user.kit.manager.callbacks))
    assert counts[0] == counts[1] == counts[2]
    # The removal of all prims with a closed stage is not reported.
    assert "deleted" not in user.messages
    assert not any("deleted" in record.message for record in caplog.records)


def test_closing_the_window_touches_nothing(window):
    """Closing the window would end the flight."""
    user = window()
    user.fly_square()
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(2)
    assert [item.title for item in user.kit.windows] == ["Pegasus"]
    user.kit.timeline.play()
    user.update(10)
    before = user.simulation.step_count
    user.kit.menu["Pegasus"].show_window(None, False, 0)
    user.update(10)
    assert user.kit.windows == []
    assert user.simulation.step_count > before
    assert user.simulation.playback is Playback.PLAYING
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(2)
    assert len(user.kit.windows) == 1


def test_the_buttons_of_the_window_work_the_timeline(window):
    """A button would do nothing, or the wrong action."""
    user = window()
    user.fly_square()
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(2)
    shown = user.kit.windows[0]

    def press(name):
        shown._find(interface.Button, name)[0]._press()
        user.update()

    press("Play")
    user.update(5)
    assert user.kit.timeline.is_playing()
    count = user.simulation.step_count
    assert count > 10
    press("Pause")
    paused = user.simulation.step_count
    user.update(5)
    assert user.simulation.step_count == paused
    press("Step")
    assert user.simulation.step_count == paused + 1
    press("Play")
    user.update(5)
    assert user.simulation.step_count > paused + 10
    press("Stop")
    assert user.kit.timeline.is_stopped()
    assert user.simulation.step_count == 0


def test_a_step_that_fails_stops_the_timeline_and_is_told(window, caplog):
    """Kit would swallow a callback's error, and a vehicle fly without its step."""
    user = window()
    user.fly_square()

    def fail(*_):
        raise ValueError("the motor has lost its mind")

    user.kit.timeline.play()
    user.update(3)
    user.simulation.vehicles.actuate = fail
    user.update(4)
    assert "ValueError; the terminal shows details" in user.messages
    assert "lost its mind" in caplog.text
    assert not user.kit.timeline.is_playing()
    # The vehicle flies again afterwards.
    del user.simulation.vehicles.actuate
    user.kit.timeline.play()
    user.update(5)
    assert user.simulation.step_count > 15


def test_vehicles_join_and_leave_while_others_fly(window):
    """The new view over all bodies would disturb the other vehicles."""
    user = window(exact=True)
    user.fly_square()
    paths = []
    for joins in (False, True):
        user.kit.timeline.play()
        user.update(30)
        if joins:
            assert user.panel.vehicle.set_position(6.0, 0.0, 0.1)
            assert user.panel.vehicle.add(), user.messages
            user.update(10)
            other = list(user.simulation.vehicles)[1].name
            assert user.panel.vehicle.remove(other)
            user.update(20)
        else:
            user.update(30)
        paths.append(user.vehicle.state.position[0].copy())
        user.kit.timeline.stop()
        user.update()
    np.testing.assert_allclose(paths[0], paths[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_leaves_while_another_is_read_by_isaac_sim(isaac, version):
    """Removing a body would invalidate other users' simulation views."""
    loses_a_vehicle_in_flight(isaac(version))


def test_a_collider_of_a_vehicle_that_is_taken_away(isaac):
    """Removing a shape would invalidate the view of its body, whose vehicle remains."""
    kit = isaac()
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        vehicle = simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        simulation.step(5)
        body = simulation.engine.path(f"{vehicle.name}/0")
        kit.context.get_stage().GetPrimAtPath(f"{body}/collider_0").SetActive(False)
        assert any("invalidated" in text for _, text in kit.log)
        before = vehicle.state.velocity[0, 2]
        simulation.step(5)
        assert vehicle.state.velocity[0, 2] < before


def test_physics_without_the_bodies_is_told(isaac):
    """A body missing in PhysX would be read from another body's row."""
    kit = isaac()
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        vehicle = simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        prim = kit.context.get_stage().GetPrimAtPath(simulation.engine.path(f"{vehicle.name}/0"))
        UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Set(False)
        with pytest.raises(RuntimeError, match="has no bodies") as error:
            simulation.step(1)
        assert str(prim.GetPath()) in one_line(error)
        kit.log.clear()


@pytest.mark.parametrize(("device", "engine"), [("cuda:0", "physx"), ("cpu", "newton")])
def test_one_wrench_a_step_flies_where_wrenches_overwrite(isaac, device, engine):
    """With two wrench calls, the first would be lost on a GPU and with Newton."""
    isaac(engine=engine, exact=True)
    from pegasus.isaac.engine import IsaacEngine

    def climb(physics):
        with Simulation("flat", engine=physics, rate=250) as simulation:
            vehicle = simulation.add(Multirotor(PLAIN_IRIS, position=(0.0, 0.0, 5.0)))
            simulation.step(50)
            return vehicle.state.position[0].copy()

    # Without thrust and drag along z it falls under one gravity.
    assert climb(IsaacEngine(rate=250, device=device))[2] == pytest.approx(climb("mujoco")[2], abs=1e-9)


def test_frames_in_a_script_do_not_step(isaac):
    """Application frames would add steps to those of the script."""
    draws_without_stepping(isaac())


def test_where_the_warmed_up_bodies_are_is_forgotten(isaac):
    """The two warm-up steps would move a body from its start pose."""
    forgets_the_warm_up(isaac(exact=True))


def test_a_body_is_left_alone_by_physx(isaac):
    """Gravity, damping, sleep and limits of PhysX would be added to the vehicle's own models."""
    kit = isaac()
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        vehicle = simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        prim = kit.context.get_stage().GetPrimAtPath(simulation.engine.path(f"{vehicle.name}/0"))
        value = {
            name: prim.GetAttribute(f"physxRigidBody:{name}").Get()
            for name in (
                "disableGravity",
                "linearDamping",
                "angularDamping",
                "sleepThreshold",
                "maxAngularVelocity",
            )
        }
        assert value["disableGravity"] is True
        assert value["linearDamping"] == value["angularDamping"] == value["sleepThreshold"] == 0.0
        # A racing quadrotor rotates at 2000 deg/s and tumbles faster.
        assert value["maxAngularVelocity"] >= 20000.0
        assert prim.GetAttribute("physxRigidBody:disableGravity").GetTypeName() == Sdf.ValueTypeNames.Bool
