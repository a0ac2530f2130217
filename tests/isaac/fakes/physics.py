"""Physics of the fakes: MuJoCo with the rigid bodies of the stage.

Gravity, damping and speed limits act with the defaults of PhysX, so a vehicle that does not disable them
flies differently.
"""

import math
import weakref

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    rotate_inverse,
    rotation_vector_from_quaternion,
)
from pegasus.contracts.engine import BodyState, MovingBody
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene import translate
from tests.isaac.fakes.events import Subscribers
from tests.isaac.fakes.parsed_body import Body, has_schema


class Physics:
    """Physics of a Kit: parsed bodies, and callbacks before and after each step."""

    def __init__(self, kit):
        self._kit = kit
        self.engine = None
        self.bodies = {}
        self.step_count = 0
        self.time = 0.0
        self.steps_by = {"warmup": 0, "update": 0, "step": 0}
        self.before, self.after = Subscribers(kit), Subscribers(kit)
        self.views = weakref.WeakSet()
        self.last_dt = 0.0
        self.fabric_is_fresh = False
        self._numbers = []
        self._left = 0.0
        self._start = {}
        self.kinematic = {}
        self._scenes = None
        self._has_new = True

    def stage_changed(self):
        """Mark the scenes and bodies as outdated after prims were added or removed."""
        self._scenes, self._has_new = None, True

    def forget_settings(self):
        """Clear the cached attributes of the bodies."""
        for body in self.bodies.values():
            body.settings.clear()

    def path_number(self, path):
        """Return the integer that encodes a prim path, as in PhysX."""
        if path not in self._numbers:
            self._numbers.append(path)
        return 1 << 40 | self._numbers.index(path)

    def path_of_number(self, number):
        return self._numbers[number & 0xFFFF]

    def contacts(self):
        """Return the contacts of the last step: body, other, position, normal, force, distance."""
        if not self.running or self.step_count == 0:
            return []
        names = {body.handle: path for path, body in self.bodies.items()}
        found = self.engine.contacts()
        rows = zip(
            found.body,
            found.other,
            found.surface.tolist(),
            found.position,
            found.normal,
            found.force,
            found.distance,
            strict=True,
        )
        return [
            (
                names[int(body)],
                names.get(int(other), surface),
                p / self.unit,
                n,
                f / self.unit,
                d / self.unit,
            )
            for body, other, surface, p, n, f, d in rows
            if has_schema(self.stage.GetPrimAtPath(names[int(body)]), "PhysxContactReportAPI")
        ]

    @property
    def stage(self):
        return self._kit.context.get_stage()

    @property
    def running(self):
        return self.engine is not None

    def scene_paths(self):
        if self._scenes is None:
            self._scenes = [str(p.GetPath()) for p in self.stage.Traverse() if p.IsA(UsdPhysics.Scene)]
        return self._scenes

    def steps_per_second(self):
        """Return the rate of the first scene in whole steps per second, as PhysX stores it."""
        for path in self.scene_paths():
            attribute = self.stage.GetPrimAtPath(path).GetAttribute("physxScene:timeStepsPerSecond")
            return int(attribute.Get()) if attribute and attribute.HasAuthoredValue() else 60
        return 60

    def dt(self):
        rate = self.steps_per_second()
        return 1.0 / rate if rate else 0.0

    def begin(self):
        """Start physics from the stage; colliders without a rigid body are static."""
        self.engine = MujocoEngine()
        scene = translate(self.stage)
        paths, moved = self._body_paths(), self._body_paths(kinematic=True)
        moving = tuple(f"{path}/" for path in [*paths, *moved])
        kept = (
            [c for c in scene.colliders if not f"{c.path}/".startswith(moving)] if moving else scene.colliders
        )
        scene.colliders[:] = kept
        self.engine.load(scene)
        self.bodies, self._start, self.kinematic = {}, {}, {}
        self.step_count, self.time, self._left = 0, 0.0, 0.0
        self._add(paths)
        self._add_kinematic(moved)

    def sync(self):
        """Add bodies that are new on the stage; a GPU simulation rejects them."""
        if not self.running or not self._has_new:
            return
        self._has_new = False
        new = [path for path in self._body_paths() if path not in self.bodies]
        if new and self._kit.device.is_cuda:
            self._kit.log.append(("error", "PhysX: a body cannot be added to a GPU simulation that runs"))
            return
        self._add(new)
        self._add_kinematic([p for p in self._body_paths(kinematic=True) if p not in self.kinematic])

    def end(self):
        """End the simulation and reset the prims to their start poses."""
        if not self.running:
            return
        for view in list(self.views):
            view.invalidate()
        if self.stage is not None:
            for path, transform in self._start.items():
                if prim := self.stage.GetPrimAtPath(path):
                    _write_pose(prim, transform)
        self.engine.close()
        self.engine, self.bodies, self.kinematic = None, {}, {}
        self.step_count, self.time = 0, 0.0

    def forget_below(self, path):
        """Remove the bodies at and below a deleted prim."""
        kinematic = [p for p in self.kinematic if p == path or p.startswith(path + "/")]
        if kinematic:
            self.engine.remove_movers(np.array([self.kinematic.pop(p) for p in kinematic]))
        gone = [p for p in self.bodies if p == path or p.startswith(path + "/")]
        if gone:
            for view in list(self.views):
                view._lose(gone)
            self.engine.remove_bodies(np.array([self.bodies.pop(p).handle for p in gone]))
            for row, body in enumerate(self.bodies.values()):
                body.row = row

    def forget_shapes_below(self, path):
        """Invalidate the views of bodies that lost a collider; the physics keeps its shape."""
        for view in list(self.views):
            view._lose([body for body in self.bodies if path.startswith(body + "/")])

    def run_frame(self, dt):
        """Take the whole steps that fit into a frame."""
        if not self.running:
            return
        self.sync()
        step = self.dt()
        self._left += dt
        while self.running and step > 0 and self._left >= step * (1 - 1e-9):
            self._left -= step
            self.simulate(step, "update")
        self.fabric_is_fresh = True

    def simulate(self, dt, by):
        """Take one step with its callbacks."""
        if not self.running:
            self._kit.log.append(("error", "PhysX: simulate was called before the physics was started"))
            return
        self.sync()
        self.steps_by[by] += 1
        if self._kit.version == "5.1.0":
            self.before.call(dt)
        else:
            self.before.call(dt, StepContext(self))
        if not self.running:  # a callback stopped the timeline
            return
        self._advance(dt)
        self.step_count += 1
        self.time += dt
        if self._kit.version == "5.1.0":
            self.after.call(dt)
        else:
            self.after.call(dt, StepContext(self))

    def read(self):
        state = BodyState.zeros(len(self.bodies))
        if self.bodies:
            self.engine.read(state)
        return state

    def show(self):
        """Write the poses to the stage before a frame is rendered.

        With Fabric in place of USD the renderer reads Fabric, which steps alone do not update.
        """
        if not self.running:
            return
        if not self._kit.settings.get_as_bool("/physics/updateToUsd") and not self.fabric_is_fresh:
            return
        self.fabric_is_fresh = False
        state = self.read()
        for path, body in self.bodies.items():
            prim = self.stage.GetPrimAtPath(path)
            _write_world_pose(prim, state.position[body.row] / self.unit, state.orientation[body.row])

    @property
    def unit(self):
        """Metres per unit of the stage."""
        return UsdGeom.GetStageMetersPerUnit(self.stage)

    def _body_paths(self, *, kinematic=False):
        found = []
        for prim in self.stage.Traverse(Usd.TraverseInstanceProxies()):
            if prim.HasAPI(UsdPhysics.RigidBodyAPI):
                enabled = UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get()
                is_moved = bool(UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get())
                if (enabled is None or enabled) and is_moved == kinematic:
                    found.append(str(prim.GetPath()))
        return found

    def _add(self, paths):
        if not paths:
            return
        made = [Body(self.stage, path, self.unit) for path in paths]
        ids = self.engine.add_bodies([body.rigid for body in made])
        for path, body, handle in zip(paths, made, ids.tolist(), strict=True):
            body.handle, body.row = handle, len(self.bodies)
            self.bodies[path] = body
            self._start[path] = UsdGeom.Xformable(self.stage.GetPrimAtPath(path)).GetLocalTransformation()
        for body in made:
            if body.start_velocity.any() or body.start_spin.any():
                self.set_velocity(body, body.start_velocity, body.start_spin)

    def _add_kinematic(self, paths):
        """Add bodies that physics moves to where their prims are."""
        if not paths:
            return
        places = self._places(paths)
        ids = self.engine.add_movers(
            [
                MovingBody(path, translate(self.stage, root=path).colliders, position, orientation)
                for path, position, orientation in zip(
                    paths, places.position, places.orientation, strict=True
                )
            ]
        )
        self.kinematic.update(zip(paths, ids.tolist(), strict=True))
        self._placed = self._places(self.kinematic)

    def _places(self, paths):
        """Return the poses of prims, with no velocities."""
        state = BodyState.zeros(len(paths))
        for row, path in enumerate(paths):
            xform = UsdGeom.Xformable(self.stage.GetPrimAtPath(path))
            matrix = xform.ComputeLocalToWorldTransform(Usd.TimeCode.Default()).RemoveScaleShear()
            turn = matrix.ExtractRotationQuat()
            state.position[row] = np.array(matrix.ExtractTranslation()) * self.unit
            state.orientation[row] = [*turn.GetImaginary(), turn.GetReal()]
        return state

    def _move_kinematic(self, dt):
        """Move kinematic bodies to their prims, with the velocity that they have on this way."""
        before, after = self._placed, self._places(self.kinematic)
        after.orientation *= np.sign((before.orientation * after.orientation).sum(axis=1, keepdims=True))
        turn = multiply(after.orientation, conjugate(before.orientation))
        spin = rotation_vector_from_quaternion(turn) / dt
        for state in before, after:
            state.velocity[...] = (after.position - before.position) / dt
            state.angular_velocity[...] = rotate_inverse(matrix_from_quaternion(state.orientation), spin)
        self._placed = self._places(self.kinematic)
        self.engine.move(before, after)

    def set_velocity(self, body, linear, angular):
        """Set the velocity of the centre of mass and the angular velocity, both in world axes as in PhysX."""
        state = self.read()
        rotation = matrix_from_quaternion(state.orientation[body.row])
        arm = rotation @ body.rigid.center_of_mass
        target = BodyState(
            state.position[[body.row]],
            state.orientation[[body.row]],
            (linear - np.cross(angular, arm))[None],
            (rotation.T @ angular)[None],
        )
        self.engine.write(np.array([body.handle]), target)

    def _advance(self, dt):
        bodies = list(self.bodies.values())
        state = self.read()
        force, torque = np.zeros((len(bodies), 3)), np.zeros((len(bodies), 3))
        for body in bodies:
            force[body.row] = body.force
            torque[body.row] = matrix_from_quaternion(state.orientation[body.row]).T @ body.torque
            body.force, body.torque = np.zeros(3), np.zeros(3)
            # Newton can disable gravity for a scene only, not for a body.
            if self._kit.engine == "newton" or not body.setting("disableGravity"):
                force[body.row] += body.rigid.mass * self._gravity()
        if bodies:
            self.engine.apply(force, torque)
        if self.kinematic:
            self._move_kinematic(dt)
        self.engine.step(dt)
        self.last_dt = dt
        if not bodies:
            return
        state = self.read()
        for body in bodies:
            damped = body.setting("linearDamping") or body.setting("angularDamping")
            # The centre of mass may move faster than the origin.
            spin = np.abs(state.angular_velocity[body.row]).max()
            speed = np.abs(state.velocity[body.row]).max() + spin * np.abs(body.rigid.center_of_mass).max()
            fastest = min(body.setting("maxLinearVelocity"), math.radians(body.setting("maxAngularVelocity")))
            if damped or 3 * max(speed, spin) > fastest:
                self._limit(body, dt)

    def _limit(self, body, dt):
        """Apply PhysX's damping and velocity limits; a body that needs neither keeps its state."""
        linear, angular = body.setting("linearDamping"), body.setting("angularDamping")
        fastest, widest = body.setting("maxLinearVelocity"), math.radians(body.setting("maxAngularVelocity"))
        velocity, spin = self.velocities(body)
        slow, fast = max(1.0 - linear * dt, 0.0), np.linalg.norm(velocity) > fastest * (1 + 1e-6)
        if linear == angular == 0.0 and not fast and np.linalg.norm(spin) <= widest:
            return
        velocity = velocity * slow
        spin = spin * max(1.0 - angular * dt, 0.0)
        if np.linalg.norm(velocity) > fastest:
            velocity *= fastest / np.linalg.norm(velocity)
        if np.linalg.norm(spin) > widest:
            spin *= widest / np.linalg.norm(spin)
        self.set_velocity(body, velocity, spin)

    def velocities(self, body):
        state = self.read()
        rotation = matrix_from_quaternion(state.orientation[body.row])
        spin = rotation @ state.angular_velocity[body.row]
        arm = rotation @ body.rigid.center_of_mass
        return state.velocity[body.row] + np.cross(spin, arm), spin

    def _gravity(self):
        for path in self.scene_paths():
            prim = self.stage.GetPrimAtPath(path)
            enabled = prim.GetAttribute("newton:gravityEnabled")
            if self._kit.engine == "newton" and enabled and enabled.Get() is False:
                return np.zeros(3)
            scene = UsdPhysics.Scene(prim)
            magnitude, direction = (
                scene.GetGravityMagnitudeAttr().Get(),
                scene.GetGravityDirectionAttr().Get(),
            )
            size = 9.81 if magnitude is None or math.isinf(magnitude) else float(magnitude) * self.unit
            way = np.array(direction) if direction is not None else np.zeros(3)
            return size * (way if way.any() else np.array([0.0, 0.0, -1.0]))
        return np.array([0.0, 0.0, -9.81])


class StepContext:
    """Stand-in of `omni.physics.core.PhysicsStepContext`."""

    def __init__(self, physics):
        self.scene_path = 0
        self.simulation_id = 0
        self.simulation_time = physics.time


def _write_world_pose(prim, position, orientation):
    parent = UsdGeom.Xformable(prim.GetParent()) if prim.GetParent().IsA(UsdGeom.Xformable) else None
    x, y, z, w = (float(c) for c in orientation)
    world = Gf.Matrix4d(1.0).SetRotate(Gf.Quatd(w, x, y, z)).SetTranslateOnly(Gf.Vec3d(*map(float, position)))
    if parent is not None:
        world = world * parent.ComputeLocalToWorldTransform(Usd.TimeCode.Default()).GetInverse()
    _write_pose(prim, world)


def _write_pose(prim, matrix):
    """Write a local transform to the existing xform operations of a prim; its scale stays."""
    names = prim.GetPropertyNames()
    quaternion = matrix.RemoveScaleShear().ExtractRotationQuat()
    if "xformOp:translate" in names:
        prim.GetAttribute("xformOp:translate").Set(Gf.Vec3d(matrix.ExtractTranslation()))
    if "xformOp:orient" in names:
        attribute = prim.GetAttribute("xformOp:orient")
        kind = Gf.Quatf if attribute.GetTypeName() == "quatf" else Gf.Quatd
        attribute.Set(kind(quaternion.GetReal(), *quaternion.GetImaginary()))
