"""The few things that are asked of Kit itself: its stage, its timeline, and when these change."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from pxr import Usd

from pegasus.errors import ConfigError


class TimelineEvent(Enum):
    """What happens to the timeline."""

    PLAY = "play"
    PAUSE = "pause"
    STOP = "stop"


def stage() -> Usd.Stage | None:
    """Return the stage that is open; None while there is none."""
    import omni.usd

    return omni.usd.get_context().get_stage()


def new_stage() -> Usd.Stage:
    """Open a new stage that is empty, in place of the present one."""
    from isaacsim.core.experimental.utils.stage import create_new_stage

    return create_new_stage()


def play() -> None:
    """Start the timeline, now rather than with the next frame."""
    import omni.timeline

    timeline = omni.timeline.get_timeline_interface()
    timeline.play()
    timeline.commit()


def pause() -> None:
    """Pause the timeline."""
    import omni.timeline

    timeline = omni.timeline.get_timeline_interface()
    timeline.pause()
    timeline.commit()


def stop() -> None:
    """Stop the timeline."""
    import omni.timeline

    timeline = omni.timeline.get_timeline_interface()
    timeline.stop()
    timeline.commit()


def stop_soon() -> None:
    """Stop the timeline with the next frame, as is allowed within a step of physics."""
    import omni.timeline

    omni.timeline.get_timeline_interface().stop()


def is_stopped() -> bool:
    """Return whether the timeline is at its start, neither playing nor paused."""
    import omni.timeline

    return bool(omni.timeline.get_timeline_interface().is_stopped())


def is_playing() -> bool:
    """Return whether the timeline runs."""
    import omni.timeline

    return bool(omni.timeline.get_timeline_interface().is_playing())


def update_fabric(time: float, elapsed: float) -> None:
    """Let what is drawn follow physics, where Kit draws from its fabric: stepping alone does not write to it.

    Args:
        time: Time of physics [s].
        elapsed: Length of its last step [s].
    """
    import omni.kit.app

    if omni.kit.app.get_app().get_extension_manager().is_extension_enabled("omni.physx.fabric"):
        import omni.physxfabric

        # In the order of IPhysxFabric.h; its bindings use neither.
        omni.physxfabric.get_physx_fabric_interface().force_update(time, elapsed)


def enable_extension(name: str) -> None:
    """Enable an extension of Isaac Sim at once; one that is enabled stays so.

    Args:
        name: Name of the extension.

    Raises:
        ConfigError: If Isaac Sim does not have it, or it does not start.
    """
    import omni.kit.app

    manager = omni.kit.app.get_app().get_extension_manager()
    if not manager.is_extension_enabled(name) and not manager.set_extension_enabled_immediate(name, True):
        raise ConfigError(
            "this Isaac Sim does not have the extension, or it does not start; its log says why",
            field="extension",
            value=name,
        )


def on_timeline(event: TimelineEvent, call: Callable[[], None]) -> Any:
    """Call back whenever something happens to the timeline, for as long as what is returned is kept.

    Args:
        event: What happens.
        call: What is called.
    """
    import omni.timeline

    kind = {
        TimelineEvent.PLAY: omni.timeline.TimelineEventType.PLAY,
        TimelineEvent.PAUSE: omni.timeline.TimelineEventType.PAUSE,
        TimelineEvent.STOP: omni.timeline.TimelineEventType.STOP,
    }[event]
    stream = omni.timeline.get_timeline_interface().get_timeline_event_stream()
    return stream.create_subscription_to_pop_by_type(int(kind), lambda _: call())


def on_stage_opened(call: Callable[[], None]) -> Any:
    """Call back whenever another stage has been opened, for as long as what is returned is kept.

    Args:
        call: What is called.
    """
    import carb.eventdispatcher
    import omni.usd

    return carb.eventdispatcher.get_eventdispatcher().observe_event(
        event_name=omni.usd.get_context().stage_event_name(omni.usd.StageEventType.OPENED),
        on_event=lambda _: call(),
        observer_name="pegasus.isaac.kit",
    )


def on_frame(call: Callable[[], None]) -> Any:
    """Call back with every frame of the application, for as long as what is returned is kept.

    Args:
        call: What is called.
    """
    import omni.kit.app

    stream = omni.kit.app.get_app().get_update_event_stream()
    return stream.create_subscription_to_pop(lambda _: call())


def is_ready() -> bool:
    """Return whether the application says that it has started up."""
    import omni.kit.app

    return bool(omni.kit.app.get_app().is_app_ready())


def setting(path: str) -> Any:
    """Return a setting of Kit; None where it is not set.

    Args:
        path: Path of the setting, such as "/exts/pegasus/scenario".
    """
    import carb.settings

    return carb.settings.get_settings().get(path)


def keep_setting(path: str, value: bool) -> None:
    """Set a setting of Kit; those below `/persistent` outlive the application.

    Args:
        path: Path of the setting.
        value: Its value.
    """
    import carb.settings

    carb.settings.get_settings().set_bool(path, value)
