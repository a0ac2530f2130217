"""Calls that differ between Isaac Sim 6 and 5.1."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from pxr import Sdf, Usd

from pegasus.base.errors import ConfigError
from pegasus.isaac import kit

_Point = tuple[float, float, float]

TICK_RATE = "omni:sensor:tickRate"
"""Attribute of OmniSensorAPI: rate at which RTX renders a sensor, 0 for every frame [Hz]."""


class IsaacSim(Protocol):
    """Adapter for one version of Isaac Sim."""

    def on_frame(self, call: Callable[[], None]) -> Any:
        """Subscribe to the frames of the application, for the lifetime of the returned subscription."""

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        """Register a callback for each start of physics, once bodies can be read; return its handle."""

    def on_step(self, before: Callable[[float], None], after: Callable[[], None]) -> list[int]:
        """Register callbacks before and after each physics step but the warm-up steps; return handles.

        The first one takes the length of the step [s].
        """

    def on_deleted(self, call: Callable[[str], None]) -> int:
        """Register a callback that takes the path of each deleted prim; return its handle."""

    def step(self) -> None:
        """Step physics once, without rendering."""

    def render(self) -> None:
        """Render a frame without stepping physics."""

    def simulation_view(self) -> Any:
        """Flush changes of the stage to physics, and return a new simulation view with Warp tensors."""

    def set_camera_view(self, camera: str, eye: _Point, target: _Point) -> None:
        """Place a camera at `eye` and aim it at `target`, with a level horizon [m]."""

    def set_device(self, device: str) -> None:
        """Set the device of physics: `cpu`, or `cuda:0`."""

    def physics_engine(self) -> str:
        """Return the active physics engine: `physx` or `newton` (6.0)."""

    def use_physics_engine(self, name: str) -> None:
        """Switch to a physics engine: `physx` or `newton` (6.0).

        Raises:
            ConfigError: If this version does not have the engine.
        """

    def switch_gravity_off(self) -> None:
        """Disable gravity in all physics scenes, for engines that cannot do so per body."""

    def set_tick_rate(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        """Set the rate at which RTX renders a sensor; return False if this version renders every frame."""


class _IsaacSim60:
    """Isaac Sim 6.0 to 6.2."""

    def on_frame(self, call: Callable[[], None]) -> Any:
        import carb.eventdispatcher
        import omni.kit.app

        return carb.eventdispatcher.get_eventdispatcher().observe_event(
            event_name=omni.kit.app.GLOBAL_EVENT_UPDATE,
            on_event=lambda _: call(),
            observer_name="pegasus.isaac.compat",
        )

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        from isaacsim.core.simulation_manager import SimulationEvent

        return int(
            _manager().register_callback(
                lambda _event: call(), SimulationEvent.SIMULATION_STARTED, order=order
            )
        )

    def on_step(self, before: Callable[[float], None], after: Callable[[], None]) -> list[int]:
        from isaacsim.core.simulation_manager import SimulationEvent

        return [
            _manager().register_callback(
                lambda dt, _context: before(dt), SimulationEvent.PHYSICS_PRE_STEP, order=0
            ),
            _manager().register_callback(
                lambda _dt, _context: after(), SimulationEvent.PHYSICS_POST_STEP, order=0
            ),
        ]

    def on_deleted(self, call: Callable[[str], None]) -> int:
        from isaacsim.core.simulation_manager import SimulationEvent

        return int(_manager().register_callback(lambda path: call(path), SimulationEvent.PRIM_DELETED))

    def step(self) -> None:
        _manager().step(steps=1)

    def render(self) -> None:
        from isaacsim.core.rendering_manager import RenderingManager

        RenderingManager.render()

    def simulation_view(self) -> Any:
        import omni.physics.core
        import omni.physics.tensors
        import omni.usd

        omni.physics.core.get_physics_simulation_interface().flush_changes()
        view = omni.physics.tensors.create_simulation_view(
            "warp", stage_id=omni.usd.get_context().get_stage_id(), backend=self.physics_engine()
        )
        view.set_subspace_roots("/")
        return view

    def set_camera_view(self, camera: str, eye: _Point, target: _Point) -> None:
        from isaacsim.core.rendering_manager import ViewportManager

        ViewportManager.set_camera_view(camera, eye=list(eye), target=list(target))

    def set_device(self, device: str) -> None:
        _manager().set_device(device)

    def physics_engine(self) -> str:
        return str(_manager().get_active_physics_engine())

    def use_physics_engine(self, name: str) -> None:
        if _manager().get_active_physics_engine() == name:
            return
        if name == "newton":
            # The first registers the engine, the second its tensors.
            for extension in ("isaacsim.physics.newton", "isaacsim.physics.newton.tensors"):
                kit.enable_extension(extension)
        if not _manager().switch_physics_engine(name):
            raise ConfigError(
                "this Isaac Sim could not switch to the engine; see its log",
                field="physics",
                value=name,
                remedy="start Isaac Sim with the app isaacsim.exp.full.newton, or use physx",
            )

    def switch_gravity_off(self) -> None:
        for scene in _manager().get_physics_scenes():
            scene.set_enabled_gravity(False)

    def set_tick_rate(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        # The ticks follow the time of physics, which the simulation manager hands to RTX with each step.
        # Source: updateMultiTickExternalSimulationTime in isaacsim.core.simulation_manager/plugins.
        sensor.AddAppliedSchema("OmniSensorAPI")
        sensor.CreateAttribute(TICK_RATE, Sdf.ValueTypeNames.Float, custom=False).Set(rate_hz)
        return True


class _IsaacSim51:
    """Isaac Sim 5.1."""

    def on_frame(self, call: Callable[[], None]) -> Any:
        import omni.kit.app

        stream = omni.kit.app.get_app().get_update_event_stream()
        return stream.create_subscription_to_pop(lambda _: call())

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        from isaacsim.core.simulation_manager import IsaacEvents

        return int(
            _manager().register_callback(lambda _event: call(), IsaacEvents.PHYSICS_READY, order=order)
        )

    def on_step(self, before: Callable[[float], None], after: Callable[[], None]) -> list[int]:
        from isaacsim.core.simulation_manager import IsaacEvents

        return [
            _manager().register_callback(lambda dt: before(dt), IsaacEvents.PRE_PHYSICS_STEP, order=0),
            _manager().register_callback(lambda _dt: after(), IsaacEvents.POST_PHYSICS_STEP, order=0),
        ]

    def on_deleted(self, call: Callable[[str], None]) -> int:
        from isaacsim.core.simulation_manager import IsaacEvents

        return int(_manager().register_callback(lambda path: call(path), IsaacEvents.PRIM_DELETION))

    def step(self) -> None:
        _manager().step()

    def render(self) -> None:
        import carb.settings
        import omni.kit.app

        settings = carb.settings.get_settings()
        playing = settings.get_as_bool("/app/player/playSimulations")
        settings.set_bool("/app/player/playSimulations", False)
        try:
            omni.kit.app.get_app().update()
        finally:
            settings.set_bool("/app/player/playSimulations", playing)

    def simulation_view(self) -> Any:
        import omni.physics.tensors
        import omni.physx
        import omni.usd

        omni.physx.get_physx_simulation_interface().flush_changes()
        view = omni.physics.tensors.create_simulation_view(
            "warp", stage_id=omni.usd.get_context().get_stage_id()
        )
        view.set_subspace_roots("/")
        return view

    def set_camera_view(self, camera: str, eye: _Point, target: _Point) -> None:
        from isaacsim.core.utils.viewports import set_camera_view

        set_camera_view(np.array(eye), np.array(target), camera_prim_path=camera)

    def set_device(self, device: str) -> None:
        _manager().set_physics_sim_device(device)

    def physics_engine(self) -> str:
        return "physx"

    def use_physics_engine(self, name: str) -> None:
        if name != "physx":
            raise ConfigError(
                "Isaac Sim 5.1 has PhysX only", field="physics", value=name, remedy="use Isaac Sim 6.0"
            )

    def switch_gravity_off(self) -> None:
        raise RuntimeError("PhysX, the only engine of Isaac Sim 5.1, disables gravity per body")

    def set_tick_rate(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        return False


def isaac_sim() -> IsaacSim:
    """Return the adapter for the running version of Isaac Sim."""
    from isaacsim.core import simulation_manager

    return _IsaacSim60() if hasattr(simulation_manager, "SimulationEvent") else _IsaacSim51()


def _manager() -> Any:
    from isaacsim.core.simulation_manager import SimulationManager

    return SimulationManager


def deregister(handle: int) -> None:
    """Deregister a callback; closing a stage has deregistered those of that stage already."""
    _manager().deregister_callback(handle)


def set_default_scene(scene: str) -> None:
    """Make the physics scene at a path the default scene, whose rate sets the step length.

    Isaac Sim detects scenes that a stage has when it is opened, or that are defined on it directly. It misses
    one that comes with a layer or a reference, and then steps at 60 Hz; 6.0 adds a scene of its own for that.
    """
    _manager().set_default_physics_scene(scene)
