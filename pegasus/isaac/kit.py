"""Kit: stage, timeline, extensions, settings, and subscriptions to their events."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Self

from pxr import Usd

from pegasus.base.errors import ConfigError


class TimelineEvent(Enum):
    """Event of the timeline."""

    PLAY = "play"
    PAUSE = "pause"
    STOP = "stop"


class ClosedOnExit:
    """Base of context managers that close at the end of a `with` block."""

    def close(self) -> None:
        """Free what this holds; a second call has no effect."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def stage() -> Usd.Stage | None:
    """Return the open stage; None if no stage is open."""
    import omni.usd

    return omni.usd.get_context().get_stage()


def new_stage() -> Usd.Stage:
    """Open a new, empty stage."""
    from isaacsim.core.experimental.utils.stage import create_new_stage

    return create_new_stage()


def play() -> None:
    """Start the timeline at once, not with the next frame."""
    timeline = _timeline()
    timeline.play()
    timeline.commit()


def pause() -> None:
    """Pause the timeline."""
    timeline = _timeline()
    timeline.pause()
    timeline.commit()


def stop() -> None:
    """Stop the timeline."""
    timeline = _timeline()
    timeline.stop()
    timeline.commit()


def stop_soon() -> None:
    """Stop the timeline with the next frame, which is allowed within a physics step."""
    _timeline().stop()


def is_stopped() -> bool:
    """Return whether the timeline is stopped, neither playing nor paused."""
    return bool(_timeline().is_stopped())


def is_playing() -> bool:
    """Return whether the timeline is playing."""
    return bool(_timeline().is_playing())


def update_fabric(time: float, elapsed: float) -> None:
    """Write the poses of physics to Fabric, if Kit renders from it: stepping alone does not.

    Args:
        time: Physics time [s].
        elapsed: Length of the last physics step [s].
    """
    import omni.kit.app

    if omni.kit.app.get_app().get_extension_manager().is_extension_enabled("omni.physx.fabric"):
        import omni.physxfabric

        # Arguments in the order of IPhysxFabric.h; its bindings use neither.
        omni.physxfabric.get_physx_fabric_interface().force_update(time, elapsed)


def enable_extension(name: str) -> None:
    """Enable an extension of Isaac Sim by its name, at once.

    Raises:
        ConfigError: If Isaac Sim does not have it, or it does not start.
    """
    import omni.kit.app

    manager = omni.kit.app.get_app().get_extension_manager()
    if not manager.is_extension_enabled(name) and not manager.set_extension_enabled_immediate(name, True):
        raise ConfigError(
            "this Isaac Sim does not have the extension, or it does not start; see the log",
            field="extension",
            value=name,
        )


def on_timeline(event: TimelineEvent, call: Callable[[], None]) -> Any:
    """Subscribe to an event of the timeline, for the lifetime of the returned subscription."""
    import omni.timeline

    kind = {
        TimelineEvent.PLAY: omni.timeline.TimelineEventType.PLAY,
        TimelineEvent.PAUSE: omni.timeline.TimelineEventType.PAUSE,
        TimelineEvent.STOP: omni.timeline.TimelineEventType.STOP,
    }[event]
    stream = _timeline().get_timeline_event_stream()
    return stream.create_subscription_to_pop_by_type(int(kind), lambda _: call())


def on_stage_opened(call: Callable[[], None]) -> Any:
    """Subscribe to the opening of stages, for the lifetime of the returned subscription."""
    import carb.eventdispatcher
    import omni.usd

    return carb.eventdispatcher.get_eventdispatcher().observe_event(
        event_name=omni.usd.get_context().stage_event_name(omni.usd.StageEventType.OPENED),
        on_event=lambda _: call(),
        observer_name="pegasus.isaac.kit",
    )


def is_running() -> bool:
    """Return whether the application runs; False once its window was closed."""
    import omni.kit.app

    return bool(omni.kit.app.get_app().is_running())


def is_ready() -> bool:
    """Return whether the application reports that it has started."""
    import omni.kit.app

    return bool(omni.kit.app.get_app().is_app_ready())


def setting(path: str) -> Any:
    """Return the setting of Kit at a path such as `/pegasus/out`; None if it is not set."""
    import carb.settings

    return carb.settings.get_settings().get(path)


def keep_setting(path: str, value: bool) -> None:
    """Set the setting of Kit at a path; Kit saves those below `/persistent` between starts."""
    import carb.settings

    carb.settings.get_settings().set_bool(path, value)


def _timeline() -> Any:
    import omni.timeline

    return omni.timeline.get_timeline_interface()
