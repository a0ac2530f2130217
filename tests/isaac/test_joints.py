"""Tests of the joints of a vehicle's own USD model on the stage, on the fakes."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion
from tests.isaac.contract import NEWEST, VERSIONS

ROTORS = [(0.2, -0.2), (-0.2, 0.2), (0.2, 0.2), (-0.2, -0.2)]


def write_model(folder):
    """Write a model with four rotor joints, a gimbal of yaw and pitch, and a sliding gripper."""
    stage = Usd.Stage.CreateNew(str(folder / "model.usda"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdGeom.Xform.Define(stage, "/D")
    stage.SetDefaultPrim(root.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(root.GetPrim())

    def part(name, position, size=(0.1, 0.1, 0.02), scale=1.0):
        xform = UsdGeom.Xform.Define(stage, f"/D/{name}")
        xform.AddTranslateOp().Set(Gf.Vec3d(*position))
        xform.AddScaleOp().Set(Gf.Vec3f(scale))
        UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
        UsdPhysics.MassAPI.Apply(xform.GetPrim()).CreateMassAttr(0.1)
        cube = UsdGeom.Cube.Define(stage, f"/D/{name}/shape")
        cube.CreateSizeAttr(1.0)
        cube.AddScaleOp().Set(Gf.Vec3f(*size))

    def joint(kind, name, parent, child, axis, *, at0, at1=(0.0, 0.0, 0.0), limits=None):
        made = kind.Define(stage, f"/D/joints/{name}")
        made.CreateBody0Rel().SetTargets([f"/D/{parent}"])
        made.CreateBody1Rel().SetTargets([f"/D/{child}"])
        made.CreateAxisAttr(axis)
        made.CreateLocalPos0Attr(Gf.Vec3f(*at0))
        made.CreateLocalPos1Attr(Gf.Vec3f(*at1))
        made.CreateLocalRot0Attr(Gf.Quatf(1.0))
        made.CreateLocalRot1Attr(Gf.Quatf(1.0))
        if limits:
            made.CreateLowerLimitAttr(limits[0])
            made.CreateUpperLimitAttr(limits[1])

    part("base", (0.0, 0.0, 0.0), (0.3, 0.3, 0.1))
    for index, (x, y) in enumerate(ROTORS):
        part(f"rotor{index}", (x, y, 0.1))
        joint(UsdPhysics.RevoluteJoint, f"spin{index}", "base", f"rotor{index}", "Z", at0=(x, y, 0.1))
    part("yaw", (0.0, 0.0, -0.1))
    part("pitch", (0.1, 0.0, -0.1), scale=2.0)
    part("finger", (0.0, 0.1, -0.1))
    joint(UsdPhysics.RevoluteJoint, "gimbal_yaw", "base", "yaw", "Z", at0=(0.0, 0.0, -0.1))
    # The axis of the pitch is 0.1 m before that of the yaw.
    joint(
        UsdPhysics.RevoluteJoint,
        "gimbal_pitch",
        "yaw",
        "pitch",
        "Y",
        at0=(0.1, 0.0, 0.0),
        limits=(-90.0, 30.0),
    )
    UsdPhysics.SphericalJoint.Define(stage, "/D/joints/ball")
    joint(UsdPhysics.PrismaticJoint, "grip", "base", "finger", "Y", at0=(0.0, 0.0, -0.1), limits=(0.0, 0.2))
    stage.Save()
    return {
        "extends": "iris",
        "name": "jointed",
        "usd": str(folder / "model.usda"),
        "rotors": [
            {"prim": f"rotor{index}", "direction": "ccw" if index < 2 else "cw"} for index in range(4)
        ],
    }


def pose(kit, path, root="/World/jointed/body_0"):
    """Return the pose of a prim in the body frame, shape (4, 4)."""
    stage, cache = kit.context.get_stage(), UsdGeom.XformCache()
    world = [
        np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(each))).T
        for each in (root, f"{root}/looks/{path}")
    ]
    return np.linalg.inv(world[0]) @ world[1]


def turn(axis, angle):
    axis = np.asarray(axis, dtype=float)
    return matrix_from_quaternion(np.array([*(np.sin(angle / 2) * axis), np.cos(angle / 2)]))


@pytest.fixture
def flying(window, tmp_path):
    """Return a function that flies the model in the window; it returns the user and the vehicle."""
    model = write_model(tmp_path)

    def start(version=NEWEST, **options):
        user = window(version)
        session = user.extension.session
        session.load_world("flat")
        session.add(Multirotor(model, **options))
        return user, session.vehicles["jointed"]

    return start


@pytest.mark.parametrize("version", VERSIONS)
def test_a_gimbal_takes_its_targets(flying, version):
    """A part would turn about another axis or point, or stay behind when the part that carries it turns."""
    user, vehicle = flying(version)
    joints = user.extension.session.joints(vehicle.name)
    assert set(joints.joints) == {"gimbal_yaw", "gimbal_pitch", "grip"}
    assert joints.targets == pytest.approx({"gimbal_yaw": 0.0, "gimbal_pitch": 0.0, "grip": 0.1})
    joints.set_targets(gimbal_yaw=0.5, gimbal_pitch=-0.3, grip=0.15)
    yaw, pitch, finger = (pose(user.kit, name) for name in ("yaw", "pitch", "finger"))
    np.testing.assert_allclose(yaw[:3, :3], turn([0, 0, 1], 0.5), atol=1e-6)
    np.testing.assert_allclose(yaw[:3, 3], [0.0, 0.0, -0.1], atol=1e-6)
    np.testing.assert_allclose(pitch[:3, :3], 2.0 * turn([0, 0, 1], 0.5) @ turn([0, 1, 0], -0.3), atol=1e-6)
    np.testing.assert_allclose(pitch[:3, 3], [0.1 * np.cos(0.5), 0.1 * np.sin(0.5), -0.1], atol=1e-6)
    np.testing.assert_allclose(finger[:3, 3], [0.0, 0.15, -0.1], atol=1e-6)
    # Neither is saved nor does it weigh: PhysX has one body with the mass of the vehicle.
    assert "xformOp:transform:joint" not in user.kit.context.get_stage().GetRootLayer().ExportToString()
    stage = user.kit.context.get_stage()
    bodies = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert [str(prim.GetPath()) for prim in bodies] == ["/World/jointed/body_0"]
    assert UsdPhysics.MassAPI(bodies[0]).GetMassAttr().Get() == pytest.approx(1.5)
    user.extension.session.remove("jointed")
    assert not stage.GetPrimAtPath("/World/jointed")


@pytest.mark.parametrize("version", VERSIONS)
def test_rotor_joints_turn_with_the_rotors(flying, version):
    """Rotors of a custom model would stand still, or turn in the wrong direction."""
    from pegasus.isaac.joints import VehicleJoints
    from pegasus.isaac.lab import HeldCommands

    user, vehicle = flying(version, count=2, backends=[HeldCommands()])
    user.extension.session.play()
    VehicleJoints(vehicle).set_targets(gimbal_yaw=0.5)
    vehicle.backends[0].values[...] = 300.0 + 10.0 * np.arange(8).reshape(2, 4)
    user.update(30)
    time, speeds = user.simulation.time, vehicle.state.rotor_speed
    assert speeds.min() > 100.0
    for copy in range(2):
        for rotor, (x, y) in enumerate(ROTORS):
            found = pose(user.kit, f"rotor{rotor}", f"/World/jointed/body_{copy}")
            angle = speeds[copy, rotor] * time * (1.0 if rotor < 2 else -1.0)
            np.testing.assert_allclose(found[:3, :3], turn([0, 0, 1], angle), atol=1e-6)
            np.testing.assert_allclose(found[:3, 3], [x, y, 0.1], atol=1e-6)
    # A gimbal keeps its target meanwhile.
    np.testing.assert_allclose(pose(user.kit, "yaw")[:3, :3], turn([0, 0, 1], 0.5), atol=1e-6)
    user.kit.context.get_stage().RemovePrim("/World/jointed/body_1")
    user.update(5)


def test_joints_of_the_file_turn_those_of_the_model(window, tmp_path):
    """A nacelle of a custom model would stand still, turn backwards, or take targets against its servo."""
    from pegasus.isaac.joints import VehicleJoints

    model = write_model(tmp_path)
    model["joints"] = {"gimbal_pitch": {"axis": [0, -1, 0], "servo": {"time_constant": 10.0}}}
    model["rotors"][0]["joint"] = "gimbal_pitch"
    user = window(NEWEST)
    session = user.extension.session
    session.load_world("flat")
    session.add(Multirotor(model))
    vehicle = session.vehicles["jointed"]
    session.play()
    user.update(3)
    vehicle.columns["joint_angle"][...] = 0.4
    user.update(1)
    (angle,) = vehicle.columns["joint_angle"][0]
    assert angle > 0.1
    found = pose(user.kit, "pitch")
    np.testing.assert_allclose(found[:3, :3] / 2.0, turn([0, -1, 0], angle), atol=1e-6)
    assert set(VehicleJoints(vehicle).joints) == {"gimbal_yaw", "grip"}


def test_what_does_not_fit_is_said_in_one_line(flying):
    """A wrong joint or a target beyond the stops would be accepted."""
    from pegasus.isaac.joints import VehicleJoints

    _, vehicle = flying()
    joints = VehicleJoints(vehicle)
    with pytest.raises(ConfigError, match="joint = 'roll': is not one of gimbal_yaw, grip, gimbal_pitch"):
        joints.set_targets(roll=0.1)
    with pytest.raises(ConfigError, match=r"gimbal_pitch = 0\.6: must be from -1\.5708 to 0\.523599 rad"):
        joints.set_targets(gimbal_pitch=0.6)
    with pytest.raises(ConfigError, match="is not one of"):
        joints.set_targets(spin0=1.0)
    with pytest.raises(ConfigError, match="is not on the open stage"):
        VehicleJoints(Multirotor("iris", name="stranger"))


def test_what_the_model_says_and_is_not_done_is_told(flying, caplog):
    """The masses of its parts would silently not count, or a joint silently not move."""
    flying()
    told = [record.message for record in caplog.records if record.name == "pegasus.isaac.joints"]
    assert told == [
        "vehicle 'jointed': joints that neither turn nor slide stay as they are drawn: ball",
        "vehicle 'jointed': the parts of its model have 0.8 kg together, but it flies with the 1.5 kg of its "
        "file, which must include them",
    ]


def test_a_script_removes_and_adds_it_again(isaac, tmp_path):
    """Poses in the session layer would keep the prims of a removed vehicle, and its name be taken."""
    kit = isaac()
    from pegasus.isaac.joints import VehicleJoints

    model = write_model(tmp_path)
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        for angle in (0.4, -0.4):
            vehicle = simulation.add(Multirotor(model, position=(0.0, 0.0, 5.0)))
            VehicleJoints(vehicle).set_targets(gimbal_yaw=angle)
            simulation.step(5)
            np.testing.assert_allclose(pose(kit, "yaw")[:3, :3], turn([0, 0, 1], angle), atol=1e-6)
            simulation.remove(vehicle)
            assert not kit.context.get_stage().GetPrimAtPath("/World/jointed")
