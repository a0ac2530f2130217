# ruff: noqa: ARG003
"""Fakes of `isaacsim.core.simulation_manager` of both versions."""

import weakref
from enum import Enum

from tests.isaac.fakes.application import PLAY_SIMULATIONS, TimelineEventType, kit
from tests.isaac.fakes.arrays import Device
from tests.isaac.fakes.physics_scene import scene_of
from tests.isaac.fakes.tensors import create_simulation_view_51


class SimulationEvent(Enum):
    PHYSICS_PRE_STEP = "isaacsim.simulation.physics_pre_step"
    PHYSICS_POST_STEP = "isaacsim.simulation.physics_post_step"
    SIMULATION_SETUP = "isaacsim.simulation.simulation_setup"
    SIMULATION_STARTED = "isaacsim.simulation.started"
    SIMULATION_PAUSED = "isaacsim.simulation.paused"
    SIMULATION_RESUMED = "isaacsim.simulation.resumed"
    SIMULATION_STOPPED = "isaacsim.simulation.stopped"
    PRIM_DELETED = "isaacsim.simulation.prim_deleted"


class IsaacEvents(Enum):
    PHYSICS_WARMUP = "isaac.physics_warmup"
    SIMULATION_VIEW_CREATED = "isaac.simulation_view_created"
    PHYSICS_READY = "isaac.physics_ready"
    POST_RESET = "isaac.post_reset"
    PRIM_DELETION = "isaac.prim_deletion"
    PRE_PHYSICS_STEP = "isaac.pre_physics_step"
    POST_PHYSICS_STEP = "isaac.post_physics_step"
    TIMELINE_STOP = "isaac.timeline_stop"


_BEFORE = (SimulationEvent.PHYSICS_PRE_STEP, IsaacEvents.PRE_PHYSICS_STEP)
_STEPS = (*_BEFORE, SimulationEvent.PHYSICS_POST_STEP, IsaacEvents.POST_PHYSICS_STEP)
_STOPS = (SimulationEvent.SIMULATION_STOPPED, IsaacEvents.TIMELINE_STOP)
_DELETIONS = (SimulationEvent.PRIM_DELETED, IsaacEvents.PRIM_DELETION)


class _Manager:
    """Base of both versions; its state belongs to the running Kit."""

    @classmethod
    def initialize_physics(cls):
        state, running = manager_state(), kit()
        if not state.warmup_needed:
            return
        if running.context.get_stage() is None:
            return
        cls._ensure_scene()
        running.physics.begin()
        running.physics.simulate(cls.get_physics_dt(), "warmup")
        state.view = create_simulation_view_51("warp")
        running.physics.simulate(cls.get_physics_dt(), "warmup")
        state.warmup_needed = False
        state.view_created = True

    @classmethod
    def get_physics_dt(cls, physics_scene=None):
        """Return the time step of one of the known scenes, which may not be all scenes of the stage."""
        cls._ensure_scene()
        known = cls._scene_of_steps(manager_state())
        return 1.0 / 60.0 if known is None else scene_of(known).get_dt()

    @classmethod
    def set_physics_dt(cls, dt=1.0 / 60.0, physics_scene=None):
        cls._ensure_scene()
        for path in manager_state().scenes:
            scene_of(path).set_dt(dt)

    @classmethod
    def set_default_physics_scene(cls, physics_scene_prim_path):
        prim = kit().context.get_stage().GetPrimAtPath(physics_scene_prim_path)
        if not prim:
            raise Exception(f"Physics scene at path '{physics_scene_prim_path}' doesn't exist")
        if prim.GetTypeName() == "PhysicsScene":
            manager_state()._on_scene(physics_scene_prim_path)
            manager_state().default = physics_scene_prim_path

    @classmethod
    def set_physics_sim_device(cls, val):
        kit().device = Device(val)
        kit().settings.set_bool("/physics/suppressReadback", kit().device.is_cuda)
        if kit().device.is_cuda:
            cls._enable_fabric()

    @classmethod
    def _enable_fabric(cls):
        """Enable Fabric in place of USD for poses, as on a GPU."""
        kit().extensions.add("omni.physx.fabric")
        kit().settings.set_bool("/physics/updateToUsd", False)

    @classmethod
    def _register(cls, callback, event, order):
        """Register a callback; 5.1 references the object of a method weakly, later versions keep it alive."""
        state, running = manager_state(), kit()
        target = callback
        if hasattr(callback, "__self__") and running.version == "5.1.0":
            held, name = weakref.proxy(callback.__self__), callback.__name__

            def target(*arguments):
                return getattr(held, name)(*arguments)

        uid = state.next_uid
        state.next_uid += 1
        if event in _STEPS:
            subscribers = running.physics.before if event in _BEFORE else running.physics.after

            def after_warmup(*arguments):
                if manager_state().view_created:
                    target(*arguments)

            state.callbacks[uid] = subscribers.add(after_warmup, order=order)
        elif event in _STOPS:
            state.callbacks[uid] = running.timeline._stream.create_subscription_to_pop_by_type(
                int(TimelineEventType.STOP), target, order=order
            )
        elif event is SimulationEvent.SIMULATION_PAUSED:
            state.callbacks[uid] = running.timeline._stream.create_subscription_to_pop_by_type(
                int(TimelineEventType.PAUSE), target, order=order
            )
        elif event in _DELETIONS:
            state.callbacks[uid] = running.prim_deleted.add(target, order=order)
        else:
            state.callbacks[uid] = running.dispatcher.observe_event(
                event_name=event.value, on_event=target, order=order
            )
        return uid

    @classmethod
    def _ensure_scene(cls):
        raise NotImplementedError

    @classmethod
    def _scene_of_steps(cls, state):
        """Return the path of the scene whose rate sets the step length; None if no scene is known."""
        raise NotImplementedError


class SimulationManager60(_Manager):
    """Stand-in of `SimulationManager` of 6.0 to 6.2."""

    @classmethod
    def register_callback(cls, callback, event, *, order=0, **kwargs):
        if not isinstance(event, SimulationEvent | IsaacEvents):
            raise ValueError(f"Invalid simulation event: {event}")
        if kwargs:
            kit().log.append(("warning", f"The parameter {', '.join(kwargs)} is not longer supported"))
        return cls._register(callback, event, order)

    @classmethod
    def deregister_callback(cls, uid):
        return manager_state().callbacks.pop(uid, None) is not None

    @classmethod
    def initialize_physics(cls):
        before = manager_state().warmup_needed
        super().initialize_physics()
        if before and not manager_state().warmup_needed:
            for event in (
                SimulationEvent.SIMULATION_SETUP,
                IsaacEvents.PHYSICS_WARMUP,
                IsaacEvents.SIMULATION_VIEW_CREATED,
                IsaacEvents.PHYSICS_READY,
            ):
                kit().dispatcher.dispatch_event(event.value, {})

    @classmethod
    def get_active_physics_engine(cls):
        return kit().engine

    @classmethod
    def switch_physics_engine(cls, engine_name, verbose=False):
        known = {"physx"} | ({"newton"} if "isaacsim.physics.newton" in kit().extensions else set())
        if engine_name.lower() not in known:
            kit().log.append(("error", f"Engine '{engine_name}' not found. Available: {', '.join(known)}"))
            return False
        kit().engine = engine_name
        return True

    @classmethod
    def is_fabric_enabled(cls):
        return "omni.physx.fabric" in kit().extensions

    @classmethod
    def get_device(cls):
        return kit().device

    @classmethod
    def set_device(cls, device):
        cls.set_physics_sim_device(str(device))

    @classmethod
    def get_physics_scenes(cls):
        return [scene_of(path) for path in manager_state().scenes]

    @classmethod
    def step(cls, *, steps=1, callback=None, update_fabric=False):
        for number in range(steps):
            kit().physics.simulate(cls.get_physics_dt(), "step")
            if update_fabric:
                if not cls.is_fabric_enabled():
                    raise ValueError("PhysX support for fabric is not enabled. Call '.enable_fabric()' first")
                kit().physics.fabric_is_fresh = True
            if callback is not None and callback(number + 1, steps) is False:
                break

    @classmethod
    def _ensure_scene(cls):
        """Create a scene if none is known, even if the stage has one."""
        if not manager_state().scenes:
            scene_of("/PhysicsScene")

    @classmethod
    def _scene_of_steps(cls, state):
        """Return the first known scene, if it exists: the default scene does not matter."""
        first = next(iter(state.scenes), None)
        return first if first is not None and kit().context.get_stage().GetPrimAtPath(first) else None


class SimulationManager51(_Manager):
    """Stand-in of `SimulationManager` of 5.1.0."""

    @classmethod
    def register_callback(cls, callback, event, order=0, name=None):
        if not isinstance(event, IsaacEvents):
            raise Exception(f"{event} event doesn't exist for callback registering")
        return cls._register(callback, event, order)

    @classmethod
    def deregister_callback(cls, callback_id):
        if manager_state().callbacks.pop(callback_id, None) is None:
            raise Exception(f"callback with id {callback_id} doesn't exist to be deregistered")

    @classmethod
    def initialize_physics(cls):
        before = manager_state().warmup_needed
        super().initialize_physics()
        if before and not manager_state().warmup_needed:
            for event in (
                IsaacEvents.PHYSICS_WARMUP,
                IsaacEvents.SIMULATION_VIEW_CREATED,
                IsaacEvents.PHYSICS_READY,
            ):
                kit().dispatcher.dispatch_event(event.value, {})

    @classmethod
    def step(cls, render=False):
        if render:
            raise Exception("Stepping the renderer is not supported at the moment through SimulationManager")
        kit().physics.simulate(cls.get_physics_dt(), "step")

    @classmethod
    def _ensure_scene(cls):
        """Do nothing, since 5.1 creates no scene."""

    @classmethod
    def _scene_of_steps(cls, state):
        """Return the default scene, or the last known one."""
        known = state.default if state.default in state.scenes else next(reversed(state.scenes), None)
        if known is not None and not kit().context.get_stage().GetPrimAtPath(known):
            raise RuntimeError("Accessed schema on invalid prim")
        return known


class ManagerState:
    """State and event handlers of the simulation manager."""

    def __init__(self, running):
        self._kit = running
        self.warmup_needed, self.view_created, self.view = True, False, None
        self.callbacks, self.next_uid = {}, 0
        self.scenes, self.default = [], None
        stream = running.timeline._stream
        self._own = [
            stream.create_subscription_to_pop_by_type(int(TimelineEventType.PLAY), self._on_play),
            stream.create_subscription_to_pop_by_type(int(TimelineEventType.STOP), self._on_stop),
            running.scene_added.add(self._on_scene),
            running.prim_deleted.add(self._on_deletion),
        ]
        for name in ("opened", "closed"):
            self._own.append(
                running.dispatcher.observe_event(
                    event_name=f"omni.usd::stage:{name}", on_event=self._on_stage
                )
            )
        self._version = running.version

    def invalidate(self):
        self.warmup_needed, self.view_created = True, False
        if self.view is not None:
            self.view.invalidate()
            self.view = None

    def _on_play(self, event):
        if not self._kit.settings.get_as_bool(PLAY_SIMULATIONS):
            return
        if self._version == "5.1.0":
            SimulationManager51.initialize_physics()
            return
        stage = self._kit.context.get_stage()
        for path in [path for path in self.scenes if not stage.GetPrimAtPath(path)]:
            self._kit.log.append(("warning", f"Removing stale physics scene reference at '{path}'"))
            self.scenes.remove(path)
        name = (
            SimulationEvent.SIMULATION_STARTED if self.warmup_needed else SimulationEvent.SIMULATION_RESUMED
        )
        SimulationManager60.initialize_physics()
        self._kit.dispatcher.dispatch_event(name.value, {})

    def _on_stop(self, event):
        self.invalidate()

    def _on_scene(self, path):
        scene_of(path)
        if path not in self.scenes:
            self.scenes.append(path)

    def _on_deletion(self, path):
        """Forget a deleted scene; one below a deleted prim stays known."""
        self.scenes = [scene for scene in self.scenes if scene != path]

    def _on_stage(self, event):
        """Clear all callbacks when a stage opens, from 6.0 also when it closes; clients must register again.

        Deletion callbacks are first called for the root path. Callback ids start again at 0, so an id of an
        earlier stage may belong to another client.
        """
        if self._version == "5.1.0" and event.event_name == "omni.usd::stage:closed":
            return
        self._kit.prim_deleted.call("/")
        self.callbacks.clear()
        self.next_uid = 0
        stage = self._kit.context.get_stage()
        self.scenes = list(self._kit.physics.scene_paths()) if stage is not None else []
        self.default = None
        self.invalidate()


def manager_state():
    """Return the state of the running Kit."""
    return kit().manager
