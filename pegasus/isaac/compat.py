"""What differs between Isaac Sim 6.0 and 5.1; nothing else in Pegasus knows of it."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from pxr import Sdf, Usd

from pegasus.errors import ConfigError
from pegasus.isaac import kit

_Point = tuple[float, float, float]

TICK_RATE = "omni:sensor:tickRate"
"""Attribute of OmniSensorAPI: rate at which RTX draws a sensor, 0 for every frame [Hz]."""


class IsaacSim(Protocol):
    """The calls that the versions of Isaac Sim make differently."""

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        """Call back whenever physics has started and bodies can be read; return a handle."""

    def on_step(self, before: Callable[[], None], after: Callable[[], None]) -> list[int]:
        """Call back before and after every step of physics but the two that warm it up; return handles."""

    def on_deleted(self, call: Callable[[str], None]) -> int:
        """Call back with the path of every prim that is deleted; return a handle."""

    def step(self) -> None:
        """Step physics once, and nothing else."""

    def render(self) -> None:
        """Draw a frame, and step nothing."""

    def simulation_view(self) -> Any:
        """Return a new view of physics with the tensors of Warp, after changes to the stage are taken up."""

    def look(self, camera: str, eye: _Point, target: _Point) -> None:
        """Put a camera somewhere and turn it to a point, its horizon level."""

    def set_device(self, device: str) -> None:
        """Choose what physics computes on: `cpu`, or `cuda:0`."""

    def physics_engine(self) -> str:
        """Return the engine that is active: `physx`, or `newton` where Isaac Sim has it."""

    def use_physics_engine(self, name: str) -> None:
        """Make an engine the active one: `physx`, or `newton` where Isaac Sim has it."""

    def switch_gravity_off(self) -> None:
        """Take gravity out of all physics scenes, for engines that cannot do so for a single body."""

    def tick(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        """Let RTX draw a camera at a rate of its own; return False where it draws with every frame."""


class IsaacSim60:
    """Isaac Sim 6.0."""

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        """Call back whenever physics has started and bodies can be read; return a handle."""
        from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

        return int(
            SimulationManager.register_callback(
                lambda _event: call(), SimulationEvent.SIMULATION_STARTED, order=order
            )
        )

    def on_step(self, before: Callable[[], None], after: Callable[[], None]) -> list[int]:
        """Call back before and after every step of physics but the two that warm it up; return handles."""
        from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

        return [
            SimulationManager.register_callback(
                lambda _dt, _context: before(), SimulationEvent.PHYSICS_PRE_STEP, order=0
            ),
            SimulationManager.register_callback(
                lambda _dt, _context: after(), SimulationEvent.PHYSICS_POST_STEP, order=0
            ),
        ]

    def on_deleted(self, call: Callable[[str], None]) -> int:
        """Call back with the path of every prim that is deleted; return a handle."""
        from isaacsim.core.simulation_manager import SimulationEvent, SimulationManager

        return int(SimulationManager.register_callback(lambda path: call(path), SimulationEvent.PRIM_DELETED))

    def step(self) -> None:
        """Step physics once, and nothing else."""
        from isaacsim.core.simulation_manager import SimulationManager

        SimulationManager.step(steps=1)

    def render(self) -> None:
        """Draw a frame, and step nothing."""
        from isaacsim.core.rendering_manager import RenderingManager

        RenderingManager.render()

    def simulation_view(self) -> Any:
        """Return a new view of physics with the tensors of Warp, after changes to the stage are taken up."""
        import omni.physics.core
        import omni.physics.tensors
        import omni.usd

        omni.physics.core.get_physics_simulation_interface().flush_changes()
        view = omni.physics.tensors.create_simulation_view(
            "warp", stage_id=omni.usd.get_context().get_stage_id(), backend=self.physics_engine()
        )
        view.set_subspace_roots("/")
        return view

    def look(self, camera: str, eye: _Point, target: _Point) -> None:
        """Put a camera somewhere and turn it to a point, its horizon level."""
        from isaacsim.core.rendering_manager import ViewportManager

        ViewportManager.set_camera_view(camera, eye=list(eye), target=list(target))

    def set_device(self, device: str) -> None:
        """Choose what physics computes on: `cpu`, or `cuda:0`."""
        from isaacsim.core.simulation_manager import SimulationManager

        SimulationManager.set_device(device)

    def physics_engine(self) -> str:
        """Return the engine that is active: `physx`, or `newton` where Isaac Sim has it."""
        from isaacsim.core.simulation_manager import SimulationManager

        return str(SimulationManager.get_active_physics_engine())

    def use_physics_engine(self, name: str) -> None:
        """Make an engine the active one: `physx`, or `newton` where Isaac Sim has it.

        Raises:
            ConfigError: If Isaac Sim does not have it.
        """
        from isaacsim.core.simulation_manager import SimulationManager

        if SimulationManager.get_active_physics_engine() == name:
            return
        if name == "newton":
            # The first one registers the engine, the second one lets bodies be read by tensors.
            for extension in ("isaacsim.physics.newton", "isaacsim.physics.newton.tensors"):
                kit.enable_extension(extension)
        if not SimulationManager.switch_physics_engine(name):
            raise ConfigError(
                "this Isaac Sim could not switch to it; its log says why",
                field="physics",
                value=name,
                remedy="start Isaac Sim with the app isaacsim.exp.full.newton, or stay with physx",
            )

    def switch_gravity_off(self) -> None:
        """Take gravity out of all physics scenes, for engines that cannot do so for a single body."""
        from isaacsim.core.simulation_manager import SimulationManager

        for scene in SimulationManager.get_physics_scenes():
            scene.set_enabled_gravity(False)

    def tick(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        """Let RTX draw a camera at a rate of its own; return False where it draws with every frame.

        The clock of the ticks is that of physics: the simulation manager hands it to RTX with each step.
        Source: updateMultiTickExternalSimulationTime in isaacsim.core.simulation_manager/plugins.
        """
        sensor.AddAppliedSchema("OmniSensorAPI")
        sensor.CreateAttribute(TICK_RATE, Sdf.ValueTypeNames.Float, custom=False).Set(rate_hz)
        return True


class IsaacSim51:
    """Isaac Sim 5.1."""

    def on_started(self, call: Callable[[], None], *, order: int) -> int:
        """Call back whenever physics has started and bodies can be read; return a handle."""
        from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager

        return int(
            SimulationManager.register_callback(lambda _event: call(), IsaacEvents.PHYSICS_READY, order=order)
        )

    def on_step(self, before: Callable[[], None], after: Callable[[], None]) -> list[int]:
        """Call back before and after every step of physics but the two that warm it up; return handles."""
        from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager

        return [
            SimulationManager.register_callback(lambda _dt: before(), IsaacEvents.PRE_PHYSICS_STEP, order=0),
            SimulationManager.register_callback(lambda _dt: after(), IsaacEvents.POST_PHYSICS_STEP, order=0),
        ]

    def on_deleted(self, call: Callable[[str], None]) -> int:
        """Call back with the path of every prim that is deleted; return a handle."""
        from isaacsim.core.simulation_manager import IsaacEvents, SimulationManager

        return int(SimulationManager.register_callback(lambda path: call(path), IsaacEvents.PRIM_DELETION))

    def step(self) -> None:
        """Step physics once, and nothing else."""
        from isaacsim.core.simulation_manager import SimulationManager

        SimulationManager.step()

    def render(self) -> None:
        """Draw a frame, and step nothing."""
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
        """Return a new view of physics with the tensors of Warp, after changes to the stage are taken up."""
        import omni.physics.tensors
        import omni.physx
        import omni.usd

        omni.physx.get_physx_simulation_interface().flush_changes()
        view = omni.physics.tensors.create_simulation_view(
            "warp", stage_id=omni.usd.get_context().get_stage_id()
        )
        view.set_subspace_roots("/")
        return view

    def look(self, camera: str, eye: _Point, target: _Point) -> None:
        """Put a camera somewhere and turn it to a point, its horizon level."""
        from isaacsim.core.utils.viewports import set_camera_view

        set_camera_view(np.array(eye), np.array(target), camera_prim_path=camera)

    def set_device(self, device: str) -> None:
        """Choose what physics computes on: `cpu`, or `cuda:0`."""
        from isaacsim.core.simulation_manager import SimulationManager

        SimulationManager.set_physics_sim_device(device)

    def physics_engine(self) -> str:
        """Return the engine that is active: `physx`, or `newton` where Isaac Sim has it."""
        return "physx"

    def use_physics_engine(self, name: str) -> None:
        """Make an engine the active one: `physx`, or `newton` where Isaac Sim has it.

        Raises:
            ConfigError: If it is not PhysX.
        """
        if name != "physx":
            raise ConfigError(
                "Isaac Sim 5.1 has PhysX only", field="physics", value=name, remedy="use Isaac Sim 6.0 for it"
            )

    def switch_gravity_off(self) -> None:
        """Take gravity out of all physics scenes, for engines that cannot do so for a single body."""
        raise RuntimeError("PhysX, the only engine of Isaac Sim 5.1, does so for each body")

    def tick(self, sensor: Usd.Prim, rate_hz: float) -> bool:
        """Let RTX draw a camera at a rate of its own; return False where it draws with every frame."""
        return False


def isaac_sim() -> IsaacSim:
    """Return how the Isaac Sim at hand is called."""
    from isaacsim.core import simulation_manager

    return IsaacSim60() if hasattr(simulation_manager, "SimulationEvent") else IsaacSim51()


def forget(handle: int) -> None:
    """Take back a callback; those of a stage that was closed are gone already.

    Args:
        handle: What registering it gave.
    """
    from isaacsim.core.simulation_manager import SimulationManager

    SimulationManager.deregister_callback(handle)


def step_by(scene: str) -> None:
    """Let the rate of a physics scene set how long a step is.

    Isaac Sim takes note of scenes that are there when a stage is opened, or are defined on it by themselves.
    One that comes with a layer or a reference passes unnoticed: Isaac Sim then steps at 60 Hz, 6.0 by a scene
    that it makes for itself.

    Args:
        scene: Path of the scene.
    """
    from isaacsim.core.simulation_manager import SimulationManager

    SimulationManager.set_default_physics_scene(scene)
