"""Flights on the stand-ins, beside flights in MuJoCo."""

from dataclasses import replace

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.contracts.engine import BodyState, RigidBody
from pegasus.control import GeometricController, trajectories
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene.scene import Collider, ColliderShape


def controller():
    return GeometricController(trajectories.square(side=1.5, height=1.0, speed=2.0, acceleration=4.0))


class MujocoOfStages(MujocoEngine):
    """MuJoCo that integrates the wrench as PhysX does; mass properties in the single precision of USD."""

    def apply(self, force, torque, free=None):
        super().apply(force, torque)

    def add_bodies(self, bodies):
        def rounded(values):
            return np.asarray(values, dtype=np.float32).astype(np.float64)

        return super().add_bodies(
            [
                replace(
                    body,
                    mass=float(rounded(body.mass)),
                    center_of_mass=rounded(body.center_of_mass),
                    inertia=rounded(body.inertia),
                )
                for body in bodies
            ]
        )


def flight(engine, *, seconds):
    """Return positions and attitudes of a vehicle after each step."""
    with Simulation("flat", engine=engine, rate=250, seed=3) as simulation:
        vehicle = simulation.add(
            Multirotor("iris", position=(0.0, 0.0, 0.1), heading=0.5, backends=[controller()])
        )
        path = []
        for _ in range(round(seconds * 250)):
            simulation.step()
            path.append(np.concatenate([vehicle.state.position[0], vehicle.state.orientation[0]]))
        return np.array(path)


def lopsided(name, *, position=(0.0, 0.0, 9.0)):
    """Return a body whose centre of mass is off its origin and whose axes are not principal."""
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return RigidBody(
        name=name,
        mass=2.0,
        center_of_mass=np.array([0.125, -0.0625, 0.03125]),
        inertia=turn @ np.diag([0.25, 0.5, 0.625]) @ turn.T,
        colliders=[
            Collider("box", ColliderShape.BOX, (0.1, 0.1, 0.1), np.zeros(3), np.array([0, 0, 0, 1.0]))
        ],
        position=np.array(position),
        orientation=np.array([0.5, 0.5, 0.5, 0.5]),
    )


def thrown(engine, wrenches):
    """Return the states of two bodies after a series of wrenches."""
    engine.load(Simulation("flat").scene)
    ids = engine.add_bodies([lopsided("a/0"), lopsided("b/0", position=(5.0, 0.0, 9.0))])
    state = BodyState.zeros(2)
    engine.read(state)
    state.velocity[...] = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    state.angular_velocity[...] = [[4.0, 5.0, 6.0], [0.0, 0.0, 7.0]]
    engine.write(ids, state)
    for force, torque in wrenches:
        engine.apply(force, torque)
        engine.step(0.004)
    engine.read(state)
    return np.hstack([state.position, state.orientation, state.velocity, state.angular_velocity])


def flies_as_in_mujoco(kit, *, seconds=1.0):
    """Compare a script's flight with MuJoCo; return its horizontal extent."""
    assert kit.exact
    through, direct = flight("isaac", seconds=seconds), flight(MujocoOfStages(), seconds=seconds)
    assert np.abs(through - direct).max() < 1e-9
    return np.ptp(direct[:, :2], axis=0)


def flies_on_a_gpu_as_in_mujoco(kit):
    """Compare a flight with tensors on a GPU with MuJoCo."""
    assert kit.exact
    from pegasus.isaac.engine import IsaacEngine

    there = flight(IsaacEngine(rate=250, device="cuda:0"), seconds=0.2)
    np.testing.assert_allclose(there, flight(MujocoOfStages(), seconds=0.2), rtol=0, atol=1e-9)
    assert kit.device.is_cuda


def loses_a_vehicle_in_flight(kit):
    """Remove a vehicle while another flies on; a view of another client stays valid."""
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        first, second = (simulation.add(Multirotor("iris", position=(x, 0.0, 5.0))) for x in (0.0, 5.0))
        simulation.step(5)
        theirs = kit.manager.view.create_rigid_body_view([simulation.engine.path(f"{second.name}/0")])
        simulation.remove(first)
        simulation.step(5)
        height = second.state.position[0, 2]
        assert 4.9 < height < 5.0
        np.testing.assert_allclose(theirs.get_transforms().numpy()[0, 2], height, rtol=1e-6)


def tumbles_as_in_mujoco(kit):
    """Compare tumbling bodies of offset centre of mass and tilted principal axes with MuJoCo."""
    assert kit.exact
    from pegasus.isaac.engine import IsaacEngine

    rng = np.random.default_rng(7)
    wrenches = [(rng.normal(size=(2, 3)), rng.normal(size=(2, 3))) for _ in range(50)]
    # The stage stores principal axes in single precision.
    there, here = thrown(IsaacEngine(rate=250), wrenches), thrown(MujocoEngine(), wrenches)
    np.testing.assert_allclose(there, here, rtol=0, atol=2e-6)


def forgets_the_warm_up(kit):
    """Check that a vehicle starts at its position although the warm-up steps move it."""
    from pxr import Gf, UsdPhysics

    with Simulation("flat", engine="isaac", rate=250) as simulation:
        vehicle = simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        body = kit.context.get_stage().GetPrimAtPath(simulation.engine.path(f"{vehicle.name}/0"))
        UsdPhysics.RigidBodyAPI(body).GetVelocityAttr().Set(Gf.Vec3f(100.0, 0.0, 0.0))
        simulation.step(1)
        assert abs(vehicle.state.position[0, 0]) < 1e-12


def draws_without_stepping(kit):
    """Render frames in a script; none may step physics."""
    from pegasus.isaac.engine import IsaacEngine

    with Simulation("flat", engine=IsaacEngine(rate=250, frame_rate=50.0), rate=250) as simulation:
        simulation.add(Multirotor("iris", position=(0.0, 0.0, 0.1)))
        frames = kit.frames
        simulation.step(50)
        assert kit.frames - frames == 10
        assert kit.physics.steps_by == {"warmup": 2, "step": 50, "update": 0}
