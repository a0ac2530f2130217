"""Tests of the fakes: signatures equal to the contract, and behaviour like Isaac Sim's pitfalls."""

import gc
import inspect

import numpy as np
import pytest
import warp as wp
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tests.isaac.contract import ALL_VERSIONS, load
from tests.isaac.fakes import kit as current
from tests.isaac.fakes import modules


def alike(fake, contract):
    """Return whether a fake has exactly the contract's signature."""
    ours = [p for p in fake.parameters.values() if p.name not in ("self", "cls")]
    theirs = list(contract.parameters.values())
    if [(p.name, p.kind) for p in ours] != [(p.name, p.kind) for p in theirs]:
        return False
    for mine, said in zip(ours, theirs, strict=True):
        if (mine.default is inspect.Parameter.empty) != (said.default is inspect.Parameter.empty):
            return False
        # The contract stores defaults that are not literals as source text.
        if mine.default != said.default and not (isinstance(said.default, str) and "." in said.default):
            return False
    return True


def public(fake):
    """Return the public names that a class defines itself."""
    common = set(dir(object)) | (set(dir(int)) if issubclass(fake, int) else set())
    return [name for name in dir(fake) if not name.startswith("_") and name not in common | {"name", "value"}]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_every_fake_is_called_as_the_contract_says(version):
    """A fake would accept a call that Isaac Sim rejects."""
    contract = load(version)
    classes = dict(modules.objects(version))
    for module, content in modules.members(version).items():
        assert contract.has_module(module), module
        for name, fake in content.items():
            if inspect.isclass(fake):
                classes[f"{module}:{name}"] = fake
                continue
            member = contract.modules[module].get(name)
            assert member is not None, f"{module}.{name}"
            if member.signature is None:
                continue
            made = inspect.signature(fake)
            assert alike(made, member.signature), f"{module}.{name}{made} is not {member.signature}"
    for key, fake in classes.items():
        assert key in contract.classes, key
        for part in public(fake):
            member = contract.member(key, part)
            assert member is not None, f"{key}.{part}"
            if member.signature is not None:
                made = inspect.signature(getattr(fake, part))
                assert alike(made, member.signature), f"{key}.{part}{made} is not {member.signature}"
        if (start := contract.classes[key].get("__init__")) is not None:
            made = inspect.signature(fake.__init__)
            if [p.name for p in made.parameters.values()] == ["self", "args", "kwargs"]:
                continue  # Binds to the contract itself.
            assert alike(made, start.signature), f"{key}{made} is not {start.signature}"


def add_body(stage, path="/World/body", *, height=2.0, free=True):
    """Add a cube of 1.5 kg without gravity or damping."""
    xform = UsdGeom.Xform.Define(stage, path)
    xform.AddTranslateOp().Set((0.0, 0.0, height))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(0.5, 0.5, 0.5, 0.5))
    prim = xform.GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(1.5)
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.25, 0.0, 0.0))
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.25, 0.5, 0.75))
    cube = UsdGeom.Cube.Define(stage, f"{path}/cube")
    cube.CreateSizeAttr(0.2)
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    if free:
        from pxr import Sdf

        prim.AddAppliedSchema("PhysxRigidBodyAPI")
        for name, kind, value in (("disableGravity", "Bool", True), ("angularDamping", "Float", 0.0)):
            prim.CreateAttribute(f"physxRigidBody:{name}", getattr(Sdf.ValueTypeNames, kind)).Set(value)
    return path


def set_rate(kit, rate=100):
    from pxr import Sdf

    scene = UsdPhysics.Scene.Define(kit.context.get_stage(), "/PhysicsScene").GetPrim()
    scene.CreateAttribute("physxScene:timeStepsPerSecond", Sdf.ValueTypeNames.UInt).Set(rate)
    if newton := scene.GetAttribute("mjc:option:timestep"):
        newton.Set(1.0 / rate)


class Bodies:
    """Bodies in the layout of the physics tensors."""

    def __init__(self, *paths):
        import omni.physics.tensors

        newton = {"backend": "newton"} if current().engine == "newton" else {}
        self.simulation = omni.physics.tensors.create_simulation_view("warp", **newton)
        self.view = self.simulation.create_rigid_body_view(list(paths))

    @property
    def pose(self):
        return self.view.get_transforms().numpy()

    @property
    def velocity(self):
        return self.view.get_velocities().numpy().copy()

    def tensor(self, values, dtype=None):
        """Return values in the array type of physics."""
        like = self.view.get_transforms()
        made = wp.from_numpy(np.array(values), dtype=dtype or like.dtype, device=like.device)
        if not made.device.is_cpu:
            wp.synchronize_stream(made.device)
        return made

    @property
    def all(self):
        return self.tensor(np.arange(self.view.count), wp.int32)

    def push(self, force):
        nothing = self.tensor(np.zeros((self.view.count, 3)))
        self.view.apply_forces_and_torques_at_position(self.tensor(force), nothing, None, self.all, True)

    def throw(self, velocity):
        self.view.set_velocities(self.tensor(velocity), self.all)


def playing(kit, *paths):
    """Return bodies of a playing Kit, at 100 steps per second."""
    set_rate(kit)
    kit.timeline.play()
    kit.timeline.commit()
    return Bodies(*paths)


def test_quaternions_of_tensors_are_xyzw(isaac):
    """The fakes would accept quaternions in the wrong order."""
    kit = isaac()
    path = add_body(kit.context.get_stage())
    kit.context.get_stage().GetPrimAtPath(path).GetAttribute("xformOp:orient").Set(Gf.Quatd(0.6, 0, 0, 0.8))
    np.testing.assert_allclose(playing(kit, path).pose, [[0, 0, 2, 0, 0, 0.8, 0.6]], atol=1e-7)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_two_steps_warm_up_before_any_callback(isaac, version):
    """The fakes would omit the two warm-up steps before the first callback."""
    kit = isaac(version)
    from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager

    calls = []
    SimulationManager.register_callback(lambda *a: calls.append(a), IsaacEvents.PRE_PHYSICS_STEP)
    playing(kit, add_body(kit.context.get_stage()))
    assert kit.physics.steps_by["warmup"] == 2
    assert calls == []
    assert SimulationManager.get_num_physics_steps() == 2
    kit.update()
    assert len(calls) == 1
    # 6.0 calls with a context beside the time step.
    assert len(calls[0]) == (1 if version == "5.1.0" else 2)


def test_a_stage_that_opens_clears_the_callbacks(isaac):
    """The fakes would keep callbacks after another stage is opened."""
    kit = isaac()
    from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

    calls = []
    SimulationManager.register_callback(lambda e: calls.append(e), SimulationEvent.SIMULATION_STARTED)
    playing(kit, add_body(kit.context.get_stage()))
    assert len(calls) == 1
    kit.context.new_stage()
    assert kit.timeline.is_stopped()
    playing(kit, add_body(kit.context.get_stage()))
    assert len(calls) == 1


def test_numbers_of_callbacks_begin_anew_with_a_stage(isaac):
    """The fakes would not reuse callback ids after another stage is opened."""
    kit = isaac()
    from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

    def register(calls):
        return SimulationManager.register_callback(
            lambda path: calls.append(path), SimulationEvent.PRIM_DELETED
        )

    early, late = [], []
    first = register(early)
    kit.context.new_stage()
    assert early == ["/"]
    assert register(late) == first


def test_methods_are_held_weakly_by_5_1_only(isaac):
    """The fakes would keep a method's object alive, unlike Isaac Sim 5.1."""
    kit = isaac("5.1.0")
    from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager

    class Listener:
        def start(self, event):
            raise AssertionError("is gone")

    SimulationManager.register_callback(Listener().start, IsaacEvents.PHYSICS_READY)
    gc.collect()
    playing(kit, add_body(kit.context.get_stage()))
    assert kit.errors() == ["ReferenceError: weakly-referenced object no longer exists"]
    kit.log.clear()


def test_methods_are_kept_alive_from_6_0(isaac):
    """The fakes would let go a method's object, unlike Isaac Sim 6, whose callback refers to the method."""
    kit = isaac()
    from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

    class Listener:
        def start(self, event):
            calls.append(event)

    calls = []
    SimulationManager.register_callback(Listener().start, SimulationEvent.SIMULATION_STARTED)
    gc.collect()
    playing(kit, add_body(kit.context.get_stage()))
    assert len(calls) == 1


def test_a_subscription_ends_with_what_stands_for_it(isaac):
    """The fakes would keep a timeline subscription that is not stored."""
    kit = isaac()
    calls = []
    stream = kit.timeline.get_timeline_event_stream()
    stream.create_subscription_to_pop_by_type(0, lambda _: calls.append("lost"))
    kept = stream.create_subscription_to_pop_by_type(0, lambda _: calls.append("kept"))
    gc.collect()
    kit.timeline.play()
    assert calls == []  # takes effect with the next frame or a commit
    kit.update()
    assert calls == ["kept"]
    del kept


def test_what_a_callback_raises_goes_no_further(isaac):
    """The fakes would pass on a callback's error, which Isaac Sim swallows."""
    kit = isaac()
    from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

    def fail(_):
        raise ValueError("no")

    SimulationManager.register_callback(fail, SimulationEvent.SIMULATION_STARTED)
    playing(kit, add_body(kit.context.get_stage()))
    assert kit.errors() == ["ValueError: no"]
    kit.log.clear()


@pytest.mark.parametrize(("rate", "kept"), [(245, 244), (250, 250), (1000, 1000)])
def test_a_time_step_becomes_whole_steps_per_second(isaac, rate, kept):
    """The fakes would keep a time step exactly instead of int(1 / dt) steps per second."""
    kit = isaac()
    from isaacsim.core.simulation_manager import PhysxScene

    scene = PhysxScene("/PhysicsScene")
    scene.set_dt(1.0 / rate)
    assert scene.get_steps_per_second() == kept
    scene.set_steps_per_second(rate)
    assert scene.get_steps_per_second() == rate
    assert kit.physics.steps_per_second() == rate


def test_without_physics_there_are_no_tensors(isaac):
    """The fakes would give views before physics has started."""
    kit = isaac()
    path = add_body(kit.context.get_stage())
    with pytest.raises(Exception, match="create simulation view"):
        Bodies(path)
    assert kit.errors()
    kit.log.clear()


def test_bodies_that_physics_has_not_are_left_out(isaac):
    """The fakes would give rows of a view for bodies that physics lacks."""
    kit = isaac()
    bodies = playing(kit, add_body(kit.context.get_stage()), "/World/none")
    assert bodies.view.prim_paths == ["/World/body"]
    with pytest.raises(AttributeError, match="count"):
        print(Bodies("/World/none").view.count)
    assert len(kit.errors()) == 3
    kit.log.clear()


def test_tensors_are_as_physics_takes_them(isaac):
    """The fakes would convert arrays that physics rejects or misreads."""
    kit = isaac()
    bodies = playing(
        kit, *(add_body(kit.context.get_stage(), f"/World/b{k}", height=2 + 2 * k) for k in (0, 1))
    )
    view, three = bodies.view, bodies.tensor(np.zeros((2, 3)))
    assert view.get_transforms() is view.get_transforms()
    with pytest.raises(TypeError, match="float32"):
        view.set_velocities(bodies.tensor(np.zeros((2, 6)), wp.float64), bodies.all)
    with pytest.raises(TypeError, match="int32"):
        view.set_velocities(bodies.tensor(np.zeros((2, 6))), bodies.tensor(np.arange(2), wp.float32))
    with pytest.raises(AttributeError, match="Warp"):
        view.set_velocities(np.zeros((2, 6), np.float32), bodies.all)
    with pytest.raises(AttributeError, match="Warp"):
        view.apply_forces_and_torques_at_position(three, None, None, None, True)
    with pytest.raises(Exception, match="Failed to set rigid body velocities"):
        view.set_velocities(three, bodies.all)
    with pytest.raises(AssertionError, match="strides"):
        view.set_velocities(bodies.tensor(np.zeros((2, 7)))[:, :6], bodies.all)
    with pytest.raises(AssertionError, match="outside"):
        view.set_velocities(bodies.tensor(np.zeros((2, 6))), bodies.tensor([2], wp.int32))
    assert len(kit.errors()) == 1
    kit.log.clear()


def test_copies_to_and_from_a_gpu_take_their_time(isaac):
    """The fakes would finish GPU copies at once, and hide a missing wait."""
    kit = isaac()
    from isaacsim.core.simulation_manager import SimulationManager

    SimulationManager.set_device("cuda:0")
    bodies = playing(kit, add_body(kit.context.get_stage()))
    pose, index = bodies.view.get_transforms(), bodies.all
    with pytest.raises(TypeError, match="copy it to the host"):
        np.asarray(pose)
    host = wp.empty(pose.shape, dtype=pose.dtype, device="cpu", pinned=True)
    seen = host.numpy()
    seen[...] = 0
    wp.copy(host, pose)
    assert seen[0, 2] == 0
    wp.synchronize_stream(pose.device)
    assert seen[0, 2] == pytest.approx(2)
    wp.copy(pose, host)
    with pytest.raises(AssertionError, match="still being copied"):
        bodies.view.set_transforms(pose, index)
    wp.synchronize_stream(pose.device)
    on_host = wp.zeros((1, 7), dtype=wp.float32, device="cpu")
    with pytest.raises(Exception, match="Failed to set rigid body transforms"):
        bodies.view.set_transforms(on_host, bodies.all)
    assert len(kit.errors()) == 1
    kit.log.clear()


@pytest.mark.parametrize(
    ("device", "engine", "sum_of_two"),
    [("cpu", "physx", 2.0), ("cuda:0", "physx", 1.0), ("cpu", "newton", 2.0)],
)
def test_two_wrenches_do_not_add_up_on_a_gpu(isaac, device, engine, sum_of_two):
    """The fakes would add forces where PhysX on a GPU keeps only the last."""
    kit = isaac(engine=engine)
    from isaacsim.core.simulation_manager import SimulationManager

    SimulationManager.set_device(device)
    bodies = playing(kit, add_body(kit.context.get_stage()))
    for _ in range(2):
        bodies.push([[3.0, 0.0, 0.0]])
    SimulationManager.step()
    velocity = bodies.velocity
    # At the centre of mass: no torque. 3 N on 1.5 kg over 10 ms.
    assert velocity[0, 0] == pytest.approx(sum_of_two * 0.02, rel=1e-6)
    np.testing.assert_allclose(velocity[:, 3:], 0.0, atol=1e-7)
    SimulationManager.step()
    assert bodies.velocity[0, 0] == pytest.approx(velocity[0, 0], rel=1e-6)


def test_velocities_are_those_of_the_centre_of_mass(isaac):
    """The fakes would give velocities of the body's origin."""
    kit = isaac(exact=True)
    bodies = playing(kit, add_body(kit.context.get_stage()))
    bodies.throw([[1.0, 2.0, 3.0, 0.0, 0.0, 4.0]])
    state = kit.physics.read()
    # The axes of the body are turned round: its x is the world's y. The centre of mass lies 0.25 m along it.
    arm = np.array([0.0, 0.25, 0.0])
    np.testing.assert_allclose(state.velocity[0], [1, 2, 3] - np.cross([0, 0, 4], arm), atol=1e-12)
    np.testing.assert_allclose(bodies.velocity[:, :3], [[1, 2, 3]], atol=1e-12)


def test_bodies_fall_and_are_damped_unless_told_otherwise(isaac):
    """The fakes would have neither PhysX's gravity nor its damping."""
    kit = isaac(exact=True)
    stage = kit.context.get_stage()
    bodies = playing(kit, add_body(stage, "/World/a", free=False), add_body(stage, "/World/b", height=9.0))
    bodies.throw([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]] * 2)
    from isaacsim.core.simulation_manager import SimulationManager

    SimulationManager.step()
    velocity = bodies.velocity
    np.testing.assert_allclose(velocity[:, 2], [-0.0981, 0.0], atol=1e-9)
    np.testing.assert_allclose(velocity[:, 5], [1.0 - 0.05 * 0.01, 1.0], rtol=1e-4)


def test_bodies_join_a_running_simulation_on_the_cpu_only(isaac):
    """The fakes would accept new bodies in a running GPU simulation."""
    kit = isaac()
    stage = kit.context.get_stage()
    playing(kit, add_body(stage, "/World/a"))
    import omni.physx
    from isaacsim.core.simulation_manager import SimulationManager

    added = add_body(stage, "/World/b", height=9.0)
    omni.physx.get_physx_simulation_interface().flush_changes()
    assert Bodies(added).view.check()
    kit.timeline.stop()
    kit.timeline.commit()
    SimulationManager.set_device("cuda:0")
    kit.timeline.play()
    kit.timeline.commit()
    added = add_body(stage, "/World/c", height=15.0)
    omni.physx.get_physx_simulation_interface().flush_changes()
    with pytest.raises(AttributeError):
        Bodies(added).view.check()
    assert "cannot be added to a GPU simulation" in current().errors()[0]
    kit.log.clear()


def test_stop_puts_prims_back_and_play_warms_up_again(isaac):
    """The fakes would keep views or poses across stop and play."""
    kit = isaac()
    path = add_body(kit.context.get_stage(), free=False)
    bodies = playing(kit, path)
    for _ in range(6):
        kit.update()
    assert bodies.pose[0, 2] < 1.99
    kit.timeline.stop()
    kit.update()
    place = UsdGeom.Xformable(kit.context.get_stage().GetPrimAtPath(path)).GetLocalTransformation()
    assert place.ExtractTranslation()[2] == pytest.approx(2)
    assert not bodies.simulation.is_valid
    kit.timeline.play()
    kit.timeline.commit()
    assert kit.physics.steps_by["warmup"] == 4
    assert not bodies.simulation.is_valid
    assert Bodies(path).simulation.is_valid
    with pytest.raises(Exception, match="Failed to get rigid body transforms"):
        print(bodies.pose)
    assert "invalidated" in kit.errors()[0]
    kit.log.clear()


def test_stepping_by_hand_and_by_frames_steps_twice(isaac):
    """The fakes would hide that application frames add steps to manual ones."""
    kit = isaac()
    from isaacsim.core.rendering_manager import RenderingManager
    from isaacsim.core.simulation_manager import SimulationManager

    playing(kit, add_body(kit.context.get_stage()))
    SimulationManager.step(steps=2)
    kit.update()
    assert kit.physics.steps_by == {"warmup": 2, "step": 2, "update": 1}
    RenderingManager.render()
    assert kit.physics.steps_by["update"] == 1


def test_a_body_that_is_deleted_ends_every_view_of_its_simulation_view(isaac):
    """The fakes would keep a simulation view valid after one of its bodies is deleted."""
    kit = isaac()
    stage = kit.context.get_stage()
    from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

    gone = []
    SimulationManager.register_callback(lambda path: gone.append(path), SimulationEvent.PRIM_DELETED)
    first, second = add_body(stage, "/World/a"), add_body(stage, "/World/b", height=9.0)
    bodies, other = playing(kit, first, second), Bodies(second)
    # The deletion of a body of an unreferenced view counts too.
    bodies.view = bodies.simulation.create_rigid_body_view([second])
    stage.RemovePrim("/World/a")
    assert gone == ["/World/a"]
    assert other.simulation.is_valid
    assert other.pose[0, 2] == pytest.approx(9)
    assert not bodies.simulation.is_valid
    with pytest.raises(Exception, match="Failed to get"):
        print(bodies.pose)
    # A body view is invalid without its simulation view.
    other.simulation = None
    gc.collect()
    with pytest.raises(Exception, match="Failed to get"):
        print(other.pose)
    assert len(kit.errors()) == 1
    kit.log.clear()


def test_poses_are_in_units_of_the_stage(isaac):
    """The fakes would give poses in metres for a stage in centimetres."""
    kit = isaac()
    stage = kit.context.get_stage()
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    bodies = playing(kit, add_body(stage, height=200.0))
    np.testing.assert_allclose(bodies.pose[:, :3], [[0, 0, 200]], rtol=1e-6)
    np.testing.assert_allclose(kit.physics.read().position, [[0, 0, 2]], rtol=1e-6)


def test_rays_report_all_that_they_meet_in_no_order(isaac):
    """The fakes would report ray hits in order of distance."""
    kit = isaac()
    stage = kit.context.get_stage()
    plane = UsdGeom.Plane.Define(stage, "/World/ground")
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    playing(kit, add_body(stage))
    import omni.physx

    hits = []
    query = omni.physx.get_physx_scene_query_interface()
    assert query.raycast_all((0, 0, 5), (0, 0, -1), 10.0, lambda hit: hits.append(hit) or True)
    assert [round(hit.distance, 6) for hit in hits] == [5.0, 2.9]
    assert [hit.rigid_body for hit in hits] == ["", "/World/body"]
    assert query.raycast_closest((0, 0, 5), (0, 0, -1), 10.0)["rigidBody"] == "/World/body"


def test_contacts_are_of_pairs_in_any_order(isaac):
    """The fakes would report the vehicle first in every contact pair."""
    kit = isaac()
    stage = kit.context.get_stage()
    plane = UsdGeom.Plane.Define(stage, "/World/ground")
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    paths = [add_body(stage, f"/World/b{k}", height=0.1, free=False) for k in range(2)]
    stage.GetPrimAtPath(paths[1]).GetAttribute("xformOp:translate").Set(Gf.Vec3d(3, 0, 0.1))
    for path in paths:
        prim = stage.GetPrimAtPath(path)
        prim.AddAppliedSchema("PhysxContactReportAPI")
        # The weight is to rest on the middle of the face.
        UsdPhysics.MassAPI(prim).GetCenterOfMassAttr().Set(Gf.Vec3f(0))
    playing(kit, *paths)
    import omni.physx
    from isaacsim.core.simulation_manager import SimulationManager
    from pxr import PhysicsSchemaTools

    SimulationManager.step(steps=100)
    headers, data = omni.physx.get_physx_simulation_interface().get_contact_report()
    pairs = [tuple(str(PhysicsSchemaTools.intToSdfPath(n)) for n in (h.actor0, h.actor1)) for h in headers]
    assert sorted(path in pair[0] for pair in pairs for path in paths if path in pair) == [False, True]
    for header, pair in zip(headers, pairs, strict=True):
        mine = data[header.contact_data_offset : header.contact_data_offset + header.num_contact_data]
        upward = 1.0 if pair[0] in paths else -1.0
        # The impulse of a step of 10 ms carries 1.5 kg.
        assert sum(c.impulse[2] for c in mine) == pytest.approx(upward * 1.5 * 9.81 * 0.01, rel=0.02)
        assert all(c.normal[2] * upward > 0.99 for c in mine)


def test_fakes_leave_nothing_behind():
    """A fake left in place would hide from another test that Isaac Sim is missing."""
    import sys

    from tests.isaac import fakes

    for version in ALL_VERSIONS:
        fakes.install(version)
        import omni.timeline

        fakes.uninstall()
        left = [name for name in sys.modules if name.partition(".")[0] in ("omni", "isaacsim", "carb")]
        assert left == []
    with pytest.raises(ModuleNotFoundError):
        import omni.usd  # noqa: F401
    assert Usd.Stage.CreateInMemory()
