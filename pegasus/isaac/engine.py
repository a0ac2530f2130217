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

from pegasus.arrays import Array, IntArray
from pegasus.components import require
from pegasus.engines.engine import BodyIds, BodyState, Contacts, RayHits, RigidBody
from pegasus.errors import ConfigError
from pegasus.isaac import bodies as prims
from pegasus.isaac import kit, world_stage
from pegasus.isaac.body_table import BodyTable
from pegasus.isaac.body_view import BodyView
from pegasus.isaac.compat import IsaacSim, forget, isaac_sim, step_by
from pegasus.isaac.queries import contact_report, nearest_hits
from pegasus.scene.scene import Scene

_log = logging.getLogger(__name__)

_STARTED_ORDER = 10
"""Place among those told of the start: Isaac Sim's own, in the order 0, come first."""


class IsaacEngine:
    """Engine on Isaac Sim; see `pegasus.engines.engine.Engine` for the contract.

    It runs in one of two ways. In a script, `step` starts the timeline and steps physics. In the window,
    where Kit steps while the timeline plays, `begin_step` and `end_step` are called around each step.

    Args:
        rate: Steps per second [Hz], a whole number.
        device: What physics computes on: `cpu`, which is faster for a few vehicles, or `cuda:0`.
        keep_stage: Whether vehicles are added to the stage that is open, in place of a new one.
        frame_rate: Frames drawn per simulated second in a script [Hz]; none by itself when None.
        physics: Physics engine of Isaac Sim: `physx`, or `newton` in Isaac Sim 6.0; the active one when None.

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
        require(
            frame_rate is None or frame_rate > 0,
            "frame_rate",
            frame_rate,
            "must be above 0 frames per second",
        )
        require(physics in (None, "physx", "newton"), "physics", physics, "must be physx or newton")
        self.rate, self.device = round(rate), device
        self.in_window = False
        """Whether Kit steps, and not `step`."""
        self._keep_stage, self._physics = keep_stage, physics
        self._frame_interval = None if frame_rate is None else max(1, round(rate / frame_rate))
        self._steps = 0
        self._isaac: IsaacSim | None = None
        self._stage: Any = None
        self._moved: tuple[str, str] | None = None
        self._scene = ""
        self._bodies = BodyTable()
        self._callbacks: list[int] = []
        self._subscriptions: list[Any] = []
        self._view: BodyView | None = None
        self._view_is_whole = False
        self._started = self._stale = False

    @property
    def started(self) -> bool:
        """Whether physics runs, so that bodies are read from it."""
        return self._started

    @property
    def frame_rate(self) -> float | None:
        """Frames drawn per simulated second in a script, a whole number of steps apart [Hz]; None if none."""
        return None if self._frame_interval is None else self.rate / self._frame_interval

    @property
    def keeps_stage(self) -> bool:
        """Whether vehicles are added to the open stage; otherwise a new stage is opened."""
        return self._keep_stage

    @property
    def has_stage(self) -> bool:
        """Whether its stage is the one that is open."""
        return self._stage is not None and kit.stage() == self._stage

    @property
    def lost(self) -> list[str]:
        """Names of the bodies whose prims somebody has deleted."""
        return self._bodies.lost

    @property
    def paths(self) -> list[str]:
        """Paths of the prims of all bodies."""
        return [body.path for body in self._bodies]

    def pose(self, name: str) -> Array | None:
        """Return the pose of a body, body to world, shape (4, 4); None for one that is gone.

        Args:
            name: Name of the body.
        """
        self._refresh()
        if (found := self._bodies.named(name)) is None:
            return None
        row, pose = found[0], np.eye(4)
        pose[:3, :3], pose[:3, 3] = self._bodies.rotation[row], self._bodies.known.position[row]
        return pose

    def show(self, path: str, *, visible: bool) -> None:
        """Show or hide a body in pictures.

        Args:
            path: Path of its prim.
            visible: Whether it is seen.
        """
        if self._stage is not None:
            prims.show(self._stage, path, visible=visible)

    def path(self, name: str) -> str:
        """Return the path of the prim of a body.

        Args:
            name: Name of the body.
        """
        found = self._bodies.named(name)
        assert found is not None, name
        return found[1].path

    def path_in_world(self, path: str) -> str:
        """Return the path that a prim of the stage has in the file of the world.

        Args:
            path: Path on the stage.
        """
        if self._moved is None or not f"{path}/".startswith(f"{self._moved[0]}/"):
            return path
        here, there = self._moved
        return there + path.removeprefix(here)

    def load(self, scene: Scene) -> None:
        """Open a new stage with the world of a scene, or take the one that is open; bodies are gone.

        Raises:
            ConfigError: If the scene comes from no file, or the stage that is kept is not metric with z up.
        """
        self._release()
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
                    "Isaac Sim loads worlds from files", field="world", value=scene.source, remedy="save it"
                )
            stage = kit.new_stage()
            self._moved = world_stage.add_world(stage, file)
        self._stage = stage
        scenes = world_stage.physics_scenes(stage)
        # Being known, they get the attributes of the engine that is active; the last one named sets the pace.
        for path in (*scenes, scenes[0]):
            step_by(path)
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

        Raises:
            ConfigError: If a name or the path of a prim is taken, or physics runs on the GPU.
        """
        stage = self._required_stage()
        if self._started and self.device != "cpu":
            raise ConfigError(
                "vehicles cannot join while physics runs on the GPU",
                field="device",
                value=self.device,
                remedy="stop first, or use the device cpu",
            )
        names = [body.name for body in self._bodies] + [body.name for body in bodies]
        for name, count in Counter(names).items():
            require(count == 1, "body name", name, "is taken", "choose another")
        self._refresh()
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

    def read(self, out: BodyState) -> None:
        """Write poses and velocities of all bodies into `out`."""
        self._refresh()
        known = self._bodies.known
        out.position[...], out.orientation[...] = known.position, known.orientation
        out.velocity[...], out.angular_velocity[...] = known.velocity, known.angular_velocity

    def write(self, ids: BodyIds, state: BodyState) -> None:
        """Set poses and velocities of some bodies (teleport, reset); rows of `state` follow `ids`."""
        self._refresh()
        rows, known = self._bodies.put(ids, state), self._bodies.known
        if self._started:
            self._push(rows)
        elif self._stage is not None:
            for row, body in self._bodies.living(ids):
                prims.write_pose(self._stage, body.path, known.position[row], known.orientation[row])

    def apply(self, force: Array, torque: Array) -> None:
        """Set the wrench of the next step: force (world) and torque (body) at the centre of mass, (M, 3)."""
        self._bodies.force[...], self._bodies.torque[...] = force, torque

    def step(self, dt: float) -> None:
        """Advance by dt [s], starting the timeline first where it is stopped.

        Raises:
            ConfigError: If dt is not that of the rate, Kit steps by itself, or another stage was opened.
        """
        self._required_stage()
        if self.in_window:
            raise ConfigError(
                "the timeline steps this simulation", field="step", remedy="press play in Isaac Sim"
            )
        if not math.isclose(dt * self.rate, 1.0, rel_tol=1e-9):
            raise ConfigError(
                f"Isaac Sim steps at {self.rate} Hz here",
                field="rate",
                value=1.0 / dt,
                remedy="make the engine with the rate of the simulation",
            )
        if not self._started:
            self._start()
        isaac = self._isaac
        assert isaac is not None
        self.begin_step()
        isaac.step()
        self.end_step()
        if self._frame_interval is not None and self._steps % self._frame_interval == 0:
            self.draw_frame()

    def draw_frame(self) -> None:
        """Draw a frame of the stage with every body where physics has it."""
        isaac = self._isaac
        if isaac is not None:
            kit.update_fabric(self._steps / self.rate, 1.0 / self.rate)
            isaac.render()

    def begin_step(self) -> None:
        """Hand the wrench over to physics; called right before each of its steps."""
        self._refresh()
        if self._view is not None:
            self._view.apply(self._bodies.force, self._bodies.torque, self._bodies.rotation)

    def end_step(self) -> None:
        """Know that physics has stepped; called right after each of its steps."""
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
        """Return the contacts of the last step; none before the first one."""
        if not self._started or self._steps == 0:
            return contact_report({}, self.rate)
        return contact_report(self._bodies.handles, self.rate)

    def close(self) -> None:
        """Free what the engine holds; the stage and the vehicles in it stay. Calling it twice is allowed."""
        playing = self._started and not self.in_window
        self._release()
        if playing:
            kit.stop()

    def _start(self) -> None:
        kit.play()
        if not self._started:
            raise RuntimeError(
                "Isaac Sim did not start its physics; check that /app/player/playSimulations is set and that "
                "the log names no error of PhysX"
            )

    def _on_started(self) -> None:
        """Begin with what is known: the steps that warm physics up have moved the bodies."""
        if self._stage is None:
            return
        self._started = True
        self._make_view()
        self._push(np.arange(len(self._bodies)))

    def _on_stopped(self) -> None:
        # The view stays until the next start: Isaac Sim has yet to tell it of the stop.
        self._started = self._stale = self._view_is_whole = False

    def _on_deleted(self, path: str) -> None:
        if path == "/":  # The stage is closed.
            return
        for body in self._bodies.lose(path):
            # Isaac Sim is in the middle of telling views of this; ours goes when it is used next.
            self._view_is_whole = False
            _log.warning(
                "the prim %s was deleted: vehicle %r stands still; remove it",
                body.path,
                body.name.rpartition("/")[0],
            )

    def _on_other_stage(self) -> None:
        self._stage = self._view = None
        self._started = self._stale = False
        self._callbacks, self._subscriptions = [], []

    def _release(self) -> None:
        # Those of a stage that was closed went with it.
        for handle in self._callbacks if self.has_stage else ():
            forget(handle)
        self._callbacks, self._subscriptions = [], []
        self._stage = self._view = self._moved = None
        self._started = self._stale = False
        self._bodies.clear()

    def _required_stage(self) -> Any:
        if self._stage is None:
            raise ConfigError(
                "its stage is no longer open", field="world", remedy="load the world again, or make a new one"
            )
        return self._stage

    def _make_view(self) -> None:
        """Make the view over all bodies that have a prim."""
        table, isaac = self._bodies, self._isaac
        assert isaac is not None
        living = list(table.living(table.ids))
        rows = None if len(living) == len(table) else np.array([row for row, _ in living], dtype=np.int64)
        paths = [body.path for _, body in living]
        centers = np.array([body.center_of_mass for _, body in living])
        self._view = BodyView(isaac, paths, rows, centers) if paths else None
        self._view_is_whole = True

    def _refresh(self) -> None:
        """Read poses and velocities if physics has stepped since."""
        if self._started and not (self._view_is_whole and (self._view is None or self._view.valid)):
            self._make_view()
        if self._stale and self._view is not None:
            self._view.read(self._bodies.known, self._bodies.rotation)
            self._stale = False

    def _push(self, rows: IntArray) -> None:
        """Hand the known state of some bodies to physics."""
        if self._view is not None:
            self._view.write(self._bodies.known, self._bodies.rotation, rows)
