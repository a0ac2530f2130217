"""Rigid-body physics by Isaac Sim: PhysX, or Newton where Isaac Sim runs it.

Vehicles are prims of the open stage, seen through one view over all bodies. Isaac Sim computes in float32 and
integrates with a semi-implicit Euler step; contacts are those of its engine.
"""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.engine import (
    NO_CONTACTS,
    BodyIds,
    BodyState,
    Contacts,
    MovingBody,
    RayHits,
    RigidBody,
    no_snapshots,
)
from pegasus.core.host import HostState
from pegasus.isaac import bodies as prims
from pegasus.isaac import kit, world_stage
from pegasus.isaac.body_view import BodyTable, BodyView
from pegasus.isaac.compat import IsaacSim, deregister, isaac_sim, set_default_scene
from pegasus.isaac.moving_prims import MovingPrims
from pegasus.isaac.queries import contact_report, nearest_hits
from pegasus.isaac.toolbar import Toolbar
from pegasus.scene.scene import Scene

_log = logging.getLogger(__name__)

_STARTED_ORDER = 10
"""Order among the callbacks of the start of physics: after Isaac Sim's own, which have 0."""


class IsaacEngine:
    """Engine on Isaac Sim; see `pegasus.contracts.engine.Engine` for the contract.

    In a script, `step` starts the timeline and steps physics. In the window, Kit steps physics while the
    timeline plays, and `begin_step` and `end_step` are called around each step.

    Args:
        rate: Steps per second [Hz], a whole number.
        device: Device of physics: `cpu`, which is faster for a few vehicles, or `cuda:0`.
        keep_stage: Add vehicles to the open stage, instead of opening a new one.
        frame_rate: Rendered frames per simulated second in a script [Hz]; None for none.
        physics: Physics engine of Isaac Sim: `physx`, or `newton` (6.0); None for the active one.

    Raises:
        ConfigError: If an argument is not allowed.
    """

    def __init__(
        self,
        *,
        rate: float = 250.0,
        device: str = "cpu",
        keep_stage: bool = False,
        frame_rate: float | None = None,
        physics: str | None = None,
    ) -> None:
        whole = math.isclose(rate, round(rate), rel_tol=1e-12) and rate >= 1
        require(whole, "rate", rate, "must be a whole number of steps per second in Isaac Sim", "such as 250")
        known = device == "cpu" or device.split(":")[0] == "cuda"
        require(known, "device", device, "must be cpu, cuda or cuda:<number>")
        above = frame_rate is None or frame_rate > 0
        require(above, "frame_rate", frame_rate, "must be above 0 frames per second")
        require(physics in (None, "physx", "newton"), "physics", physics, "must be physx or newton")
        self.rate, self.device = round(rate), device
        self.in_window = False
        """Kit steps physics, instead of `step`."""
        self.toolbar = Toolbar()
        """Toolbar of the window, while a script steps."""
        self._keep_stage, self._physics = keep_stage, physics
        self._frame_interval = None if frame_rate is None else max(1, round(rate / frame_rate))
        self._steps = 0
        self._isaac: IsaacSim | None = None
        self._stage: Any = None
        self._moved: tuple[str, str] | None = None
        self._scene = ""
        self._bodies, self._movers = BodyTable(), MovingPrims()
        self._callbacks: list[int] = []
        self._subscriptions: list[Any] = []
        self._view: BodyView | None = None
        self._view_is_whole = False
        self._started = self._stale = False

    @property
    def started(self) -> bool:
        """Physics is running, so states are read from it."""
        return self._started

    @property
    def frame_rate(self) -> float | None:
        """Rendered frames per simulated second in a script [Hz], at whole steps; None for none."""
        return None if self._frame_interval is None else self.rate / self._frame_interval

    @property
    def keeps_stage(self) -> bool:
        """Vehicles are added to the open stage, instead of a new one."""
        return self._keep_stage

    @property
    def has_stage(self) -> bool:
        """The stage of the engine is the open stage."""
        return self._stage is not None and kit.stage() == self._stage

    @property
    def deleted(self) -> list[str]:
        """Names of the bodies whose prims were deleted by the user."""
        return self._bodies.deleted

    @property
    def paths(self) -> list[str]:
        """Prim paths of all bodies."""
        return [body.path for body in self._bodies]

    @property
    def mover_paths(self) -> list[str]:
        """Prim paths of all movers."""
        return self._movers.paths

    def pose(self, name: str) -> Array | None:
        """Return the pose of a body by its name, body to world, shape (4, 4); None if it was removed."""
        self._refresh()
        if (found := self._bodies.named(name)) is None:
            return None
        row, pose = found[0], np.eye(4)
        pose[:3, :3], pose[:3, 3] = self._bodies.rotation[row], self._bodies.state.position[row]
        return pose

    def show(self, path: str, *, visible: bool) -> None:
        """Show or hide the body with a prim path in images."""
        if self._stage is not None:
            prims.show(self._stage, path, visible=visible)

    def path(self, name: str) -> str:
        """Return the prim path of a body by its name."""
        found = self._bodies.named(name)
        assert found is not None, name
        return found[1].path

    def path_in_world(self, path: str) -> str:
        """Return the path in the file of the world for a prim path on the stage."""
        if self._moved is None or not f"{path}/".startswith(f"{self._moved[0]}/"):
            return path
        here, there = self._moved
        return there + path.removeprefix(here)

    def load(self, scene: Scene) -> None:
        """Open a new stage with the world of a scene, or use the open stage; all bodies are removed.

        Raises:
            ConfigError: If the scene has no file, or the open stage is not metric with z up.
        """
        self._release()
        self.toolbar = Toolbar()
        self._isaac = isaac_sim()
        if not kit.is_stopped():
            kit.stop()
        if self._physics is not None:
            self._isaac.use_physics_engine(self._physics)
        if self._keep_stage:
            stage = kit.stage()
            if stage is None:
                raise ConfigError("no stage is open", field="stage", remedy="open one, or load a world")
            world_stage.require_metric(stage)
        else:
            file = Path(scene.source)
            if not file.is_file():
                raise ConfigError(
                    "Isaac Sim loads worlds from files only",
                    field="world",
                    value=scene.source,
                    remedy="save it to a file",
                )
            stage = kit.new_stage()
            self._moved = world_stage.add_world(stage, file)
        self._stage = stage
        scenes = world_stage.physics_scenes(stage)
        # Each known scene gets the attributes of the active engine; the last one set defines the step length.
        for path in (*scenes, scenes[0]):
            set_default_scene(path)
        world_stage.set_up_scenes(stage, scenes, self.rate, gpu=self.device != "cpu")
        self._scene = scenes[0]
        self._isaac.set_device(self.device)
        if self._isaac.physics_engine() != "physx":
            self._isaac.switch_gravity_off()
        # Opening a stage has cleared every callback, so they are registered for each stage anew.
        self._callbacks = [
            self._isaac.on_started(self._on_started, order=_STARTED_ORDER),
            self._isaac.on_deleted(self._on_deleted),
        ]
        self._subscriptions = [
            kit.on_timeline(kit.TimelineEvent.STOP, self._on_stopped),
            kit.on_stage_opened(self._on_other_stage),
        ]

    def add_bodies(self, bodies: Sequence[RigidBody]) -> BodyIds:
        """Add bodies, also while running; no other body is disturbed. Return their handles, shape (K,).

        A running PhysX takes new bodies on the CPU only. On a GPU, a script's next step starts physics anew,
        with the states of all vehicles; other moving prims of the world return to their start.

        Raises:
            ConfigError: If a name or the path of a prim is taken, or Kit steps physics on the GPU.
        """
        stage = self._required_stage()
        restarts = self._started and self.device != "cpu"
        require(
            not (restarts and self.in_window),
            "device",
            self.device,
            "vehicles cannot be added while the timeline runs physics on the GPU",
            "stop first, or use device cpu",
        )
        names = [body.name for body in self._bodies] + [body.name for body in bodies]
        for name, count in Counter(names).items():
            require(count == 1, "body name", name, "is taken", "choose another one")
        self._refresh()
        if restarts:
            _log.warning("physics on %s starts anew, since vehicles are added in flight", self.device)
            kit.stop()
        ids = self._bodies.add(bodies, prims.add_bodies(stage, bodies, scene=self._scene))
        if self._started:
            self._make_view()
            self._push(self._bodies.rows(ids))
        return ids

    def remove_bodies(self, ids: BodyIds) -> None:
        """Remove bodies; no other body is disturbed."""
        self._refresh()
        gone = self._bodies.remove(ids)
        if self._stage is not None:
            self._view, self._view_is_whole = None, False
            prims.remove_bodies(self._stage, [body.path for body in gone])
            if self._started:
                self._make_view()

    def refit_bodies(self, ids: BodyIds, bodies: Sequence[RigidBody]) -> None:
        """Raise a ConfigError: mass properties are fixed here.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "cannot be changed during a run in Isaac Sim", field="mass", remedy="use the engine mujoco"
        )

    def save_state(self) -> Any:
        """Raise a ConfigError: PhysX and Newton do not give their contacts.

        Raises:
            ConfigError: Always.
        """
        raise no_snapshots(self)

    def restore_state(self, state: Any) -> None:
        """Raise a ConfigError, as `save_state` does.

        Raises:
            ConfigError: Always.
        """
        raise no_snapshots(self)

    def add_movers(self, movers: Sequence[MovingBody]) -> BodyIds:
        """Add kinematic bodies, also while running; no other body is disturbed. Return their handles, (K,).

        Raises:
            ConfigError: If the path of a prim is taken, or physics runs on a GPU, which takes no new bodies.
        """
        on_gpu = self._started and self.device != "cpu"
        wrong, remedy = "takes no mover while physics runs", "stop first, or use device cpu"
        require(not on_gpu, "device", self.device, wrong, remedy)
        return self._movers.add(self._required_stage(), movers, scene=self._scene)

    def remove_movers(self, ids: BodyIds) -> None:
        """Remove kinematic bodies; no other body is disturbed."""
        self._movers.remove(ids)

    def move(self, now: BodyState, end: BodyState) -> None:
        """Set the motion of all movers over the next step; physics has their mean velocities in it."""
        self._movers.move(now, end)

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""
        self._refresh()
        known = self._bodies.state
        out.position[...], out.orientation[...] = known.position, known.orientation
        out.velocity[...], out.angular_velocity[...] = known.velocity, known.angular_velocity

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies (teleport, reset); rows of `state` follow `ids`."""
        self._refresh()
        rows, known = self._bodies.set_state(ids, state), self._bodies.state
        if self._started:
            self._push(rows)
        elif self._stage is not None:
            for row, body in self._bodies.existing(ids):
                prim = self._stage.GetPrimAtPath(body.path)
                prims.set_pose(prim, known.position[row], known.orientation[row])

    def apply(self, force: Array, torque: Array, free: BodyState | None = None) -> None:
        """Set the wrench of the next step: force (world) and torque (body) at the centre of mass, (M, 3).

        `free` is not used: PhysX integrates the wrench itself.
        """
        self._bodies.force[...], self._bodies.torque[...] = force, torque

    def roll(self, friction: Array, angle: Array) -> None:
        """Do nothing: PhysX has one friction for all directions, with which tyres slide."""

    def step(self, dt: float) -> None:
        """Advance by dt [s], starting the timeline first where it is stopped.

        Raises:
            ConfigError: If dt is not that of the rate, Kit steps by itself, or another stage was opened.
        """
        self._required_stage()
        if self.in_window:
            raise ConfigError(
                "the timeline steps this simulation", field="step", remedy="press Play in Isaac Sim"
            )
        wrong, remedy = f"the engine steps at {self.rate} Hz", "give the engine the rate of the simulation"
        require(math.isclose(dt * self.rate, 1.0, rel_tol=1e-9), "rate", 1.0 / dt, wrong, remedy)
        if not self._started:
            if self.toolbar.state is HostState.STOPPED:
                return  # A camera's frame has shown the stop: the run ends before the next step.
            self._start()
        isaac = self._isaac
        assert isaac is not None
        self.begin_step()
        isaac.step()
        self.end_step()
        if self._frame_interval is not None and self._steps % self._frame_interval == 0:
            self.render_frame()

    def render_frame(self) -> None:
        """Render a frame of the stage with the bodies at their present poses."""
        isaac = self._isaac
        if isaac is not None:
            kit.update_fabric(self._steps / self.rate, 1.0 / self.rate)
            self.toolbar.watch(isaac.render)

    def begin_step(self) -> None:
        """Apply the wrench; called right before each physics step."""
        self._refresh()
        self._movers.advance()
        if self._view is not None:
            self._view.apply(self._bodies.force, self._bodies.torque, self._bodies.rotation)

    def end_step(self) -> None:
        """Invalidate the states that were read; called right after each physics step."""
        self._stale = True
        self._steps += 1

    def raycast(self, origins: Array, directions: Array, max_range: float, *, skip: IntArray) -> RayHits:
        """Cast K rays; `skip` holds for each ray the handle of a body that it passes through, or -1."""
        self._required_stage()
        if not self._started and not self.in_window:
            self._start()
        skipped = [(self._bodies[handle].path,) if handle >= 0 else () for handle in skip.tolist()]
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return nearest_hits(origins, directions, max_range, skipped, self._bodies.handles)

    def contacts(self) -> Contacts:
        """Return the contacts of the last step; none before the first step."""
        if not self._started or self._steps == 0:
            return NO_CONTACTS
        return contact_report(self._bodies.handles, self.rate, self.path_in_world)

    def close(self) -> None:
        """Free the resources and keep the stage with its vehicles; a second call has no effect."""
        playing = self._started and not self.in_window
        self._release()
        if playing:
            kit.stop()

    def _start(self) -> None:
        if not kit.is_stopped():
            # Played within a frame that steps no physics, which starts none either.
            kit.stop()
        kit.play()
        if not self._started:
            raise RuntimeError(
                "Isaac Sim did not start its physics; check that /app/player/playSimulations is set, and "
                "the log for errors of PhysX"
            )

    def _on_started(self) -> None:
        """Set the states anew: the warm-up steps of physics have moved the bodies."""
        if self._stage is None:
            return
        self._started = True
        self._make_view()
        self._push(np.arange(len(self._bodies)))

    def _on_stopped(self) -> None:
        # Keep the view until the next start: Isaac Sim has not yet notified it of the stop.
        self._started = self._stale = self._view_is_whole = False

    def _on_deleted(self, path: str) -> None:
        if path == "/":  # The stage is closed.
            return
        for body in self._bodies.mark_deleted(path):
            # Isaac Sim is still notifying views of this; replace ours on its next use.
            self._view_is_whole = False
            _log.warning(
                "the prim %s was deleted or deactivated, so vehicle %r does not move any more: remove it",
                body.path,
                body.name.rpartition("/")[0],
            )

    def _on_other_stage(self) -> None:
        self._stage = self._view = None
        self._started = self._stale = False
        self._callbacks, self._subscriptions = [], []

    def _release(self) -> None:
        # Closing a stage deregisters its callbacks.
        for handle in self._callbacks if self.has_stage else ():
            deregister(handle)
        self._callbacks, self._subscriptions = [], []
        self._stage = self._view = self._moved = None
        self._started = self._stale = False
        self._bodies.clear()
        self._movers = MovingPrims()

    def _required_stage(self) -> Any:
        if self._stage is None:
            raise ConfigError("its stage is no longer open", field="world", remedy="load the world again")
        return self._stage

    def _make_view(self) -> None:
        """Create the view of all bodies whose prims exist."""
        table, isaac = self._bodies, self._isaac
        assert isaac is not None
        existing = list(table.existing(table.ids))
        rows = None if len(existing) == len(table) else np.array([row for row, _ in existing], dtype=np.int64)
        paths = [body.path for _, body in existing]
        centers = np.array([body.center_of_mass for _, body in existing])
        self._view = BodyView(isaac, paths, rows, centers) if paths else None
        self._view_is_whole = True

    def _refresh(self) -> None:
        """Read poses and velocities if physics has stepped since."""
        if self._started and not (self._view_is_whole and (self._view is None or self._view.valid)):
            self._make_view()
        if self._stale and self._view is not None:
            self._view.read(self._bodies.state, self._bodies.rotation)
            self._stale = False

    def _push(self, rows: IntArray) -> None:
        """Write the stored states of some bodies to physics."""
        if self._view is not None:
            self._view.write(self._bodies.state, self._bodies.rotation, rows)
