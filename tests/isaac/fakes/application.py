"""Fake of a Kit application: settings, log, timeline, stage and frames."""

import asyncio
import contextlib
import traceback
from enum import IntEnum

from pxr import Tf, Usd, UsdGeom, UsdUtils

from tests.isaac.contract import load
from tests.isaac.fakes.arrays import Device
from tests.isaac.fakes.events import Dispatcher, EventStream, Subscribers
from tests.isaac.fakes.physics import Physics

PERSPECTIVE = "/OmniverseKit_Persp"
PLAY_SIMULATIONS = "/app/player/playSimulations"
_ONLY_6 = ("isaacsim.physics.newton", "isaacsim.sensors.experimental.rtx")


class TimelineEventType(IntEnum):
    """Stand-in of `omni.timeline.TimelineEventType`."""

    PLAY = 0
    PAUSE = 1
    STOP = 2
    CURRENT_TIME_CHANGED = 3
    CURRENT_TIME_TICKED = 4


class StageEventType(IntEnum):
    """Stand-in of `omni.usd.StageEventType`."""

    SAVED = 0
    SAVE_FAILED = 1
    OPENING = 2
    OPENED = 3
    OPEN_FAILED = 4
    CLOSING = 5
    CLOSED = 6
    SELECTION_CHANGED = 7
    ASSETS_LOADED = 8
    ASSETS_LOAD_ABORTED = 9


class Settings:
    """Stand-in of `carb.settings.ISettings`."""

    def __init__(self):
        self._values = {PLAY_SIMULATIONS: True, "/physics/updateToUsd": True, "/physics/cudaDevice": -1}

    def get(self, path):
        return self._values.get(path)

    def set(self, path, value):
        self._values[path] = value

    def get_as_bool(self, path, /):
        return bool(self._values.get(path, False))

    def set_bool(self, path, value, /):
        self._values[path] = bool(value)

    def set_default(self, path, value):
        self._values.setdefault(path, value)


class Timeline:
    """Stand-in of `omni.timeline.Timeline`; requests take effect at `commit` or in the next frame."""

    def __init__(self, kit):
        self._kit = kit
        self._state, self._asked = "stopped", []
        self._time, self._rate = 0.0, 60.0
        self._stream = EventStream(kit)

    def play(self, start_timecode=0, end_timecode=0, looping=True):
        self._asked.append("playing")

    def pause(self):
        self._asked.append("paused")

    def stop(self):
        self._asked.append("stopped")

    def commit(self):
        asked, self._asked = self._asked, []
        for state in asked:
            self._become(state)

    def commit_silently(self):
        asked, self._asked = self._asked, []
        for state in asked:
            self._state = state

    def is_playing(self):
        return self._state == "playing"

    def is_stopped(self):
        return self._state == "stopped"

    def set_time_codes_per_second(self, time_codes_per_second):
        self._rate = float(time_codes_per_second)

    def get_timeline_event_stream(self):
        return self._stream

    def _tick(self, dt):
        self._time += dt
        self._stream._emit(int(TimelineEventType.CURRENT_TIME_TICKED), {"dt": dt, "currentTime": self._time})

    def _become(self, state):
        if state == self._state or (state == "paused" and self._state == "stopped"):
            return
        before, self._state = self._state, state
        kit = self._kit
        if state == "playing":
            kit.stream_and_dispatch(self._stream, TimelineEventType.PLAY, "play")
        elif state == "paused":
            kit.stream_and_dispatch(self._stream, TimelineEventType.PAUSE, "pause")
        else:
            self._time = 0.0
            kit.stream_and_dispatch(self._stream, TimelineEventType.STOP, "stop")
            if before != "stopped":
                kit.physics.end()


class ViewportAPI:
    """Stand-in of the viewport's interface: the active camera and queries of the prim at a pixel."""

    def __init__(self, kit):
        self._kit, self._camera_path, self._scene_views = kit, PERSPECTIVE, []
        self._aspects = 1.0, 1.0
        """Fractions of the window's width and height that the image fills."""

    @property
    def resolution(self):
        return 1280, 720

    def add_scene_view(self, scene_view):
        self._scene_views.append(scene_view)

    def remove_scene_view(self, scene_view):
        self._scene_views.remove(scene_view)

    def map_ndc_to_texture_pixel(self, mouse):
        x, y = (part / aspect for part, aspect in zip(mouse, self._aspects, strict=True))
        width, height = self.resolution
        pixel = int((x + 1) / 2 * width), int((1 - (y + 1) / 2) * height)
        return pixel, self if -1 <= x <= 1 and -1 <= y <= 1 else None

    def request_query(self, pixel, callback, query_name=""):
        from tests.isaac.fakes.scene_view import met

        # The renderer answers in a later frame.
        self._kit.at_next_frame.append(
            lambda: callback(*met(pixel, self.resolution, self._camera_path), pixel)
        )

    @property
    def camera_path(self):
        return self._camera_path

    @camera_path.setter
    def camera_path(self, value):
        self._camera_path = value


class Context:
    """Stand-in of `omni.usd.UsdContext`: one open stage and its events."""

    def __init__(self, kit):
        self._kit = kit
        self._stage, self._url, self._notice = None, "", None
        self._stream = EventStream(kit)

    def get_stage(self):
        return self._stage

    def get_stage_id(self):
        return UsdUtils.StageCache.Get().GetId(self._stage).ToLongInt() if self._stage else 0

    def stage_event_name(self, event_type):
        return f"omni.usd::stage:{StageEventType(event_type).name.lower()}"

    def new_stage(self, on_finish_fn=None):
        self._replace(Usd.Stage.CreateInMemory(), "anon")
        return True

    def open_stage(self, url, on_finish_fn=None, load_set=None):
        stage = Usd.Stage.Open(str(url))
        self._replace(stage, str(url))
        return True

    def close_stage(self, on_finish_fn=None):
        if self._stage is None:
            return False
        self._close()
        return True

    def save_as_stage(self, url, on_finish_fn=None):
        return bool(self._stage.Export(str(url)))

    def _replace(self, stage, url):
        if self._stage is not None:
            self._close()
        self._send(StageEventType.OPENING)
        self._stage, self._url = stage, url
        if url == "anon":
            # Isaac Sim sets these on a new stage; a file without them is in centimetres with y up.
            UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
            UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            UsdGeom.Camera.Define(stage, PERSPECTIVE)
        UsdUtils.StageCache.Get().Insert(stage)
        self._kit.physics.stage_changed()
        self._notice = Tf.Notice.Register(Usd.Notice.ObjectsChanged, self._changed, stage)
        self._send(StageEventType.OPENED)
        self._send(StageEventType.ASSETS_LOADED)

    def _close(self):
        self._kit.timeline.stop()
        self._kit.timeline.commit()
        self._send(StageEventType.CLOSING)
        if self._notice is not None:
            self._notice.Revoke()
        UsdUtils.StageCache.Get().Erase(self._stage)
        self._stage, self._url, self._notice = None, "", None
        self._kit.physics.end()
        self._send(StageEventType.CLOSED)

    def _send(self, kind):
        self._kit.dispatcher.dispatch_event(self.stage_event_name(kind), {})
        self._stream._emit(int(kind))

    def _changed(self, notice, stage):
        for path in notice.GetChangedInfoOnlyPaths():
            if path.name.startswith("physxRigidBody:"):
                self._kit.physics.forget_settings()
        if notice.GetResyncedPaths():
            self._kit.physics.stage_changed()
        for path in notice.GetResyncedPaths():
            if not path.IsPrimPath():
                continue
            prim = stage.GetPrimAtPath(path)
            if not prim or not prim.IsActive():
                # A deactivated prim counts as deleted, by Isaac Sim's rule.
                self._kit.physics.forget_shapes_below(str(path))
                self._kit.physics.forget_below(str(path))
                self._kit.prim_deleted.call(str(path))
            elif prim.GetTypeName() == "PhysicsScene" and _is_typed_anew(notice.GetChangedFields(path)):
                self._kit.scene_added.call(str(path))


def _is_typed_anew(fields):
    """Return whether a prim was newly defined, by Isaac Sim's rule: prims of a loaded layer do not count."""
    return "typeName" in fields and "apiSchemas" not in fields


class Kit:
    """A running headless Kit of one version of Isaac Sim.

    Args:
        version: Version of Isaac Sim, one of `contract.ALL_VERSIONS`.
        engine: Physics engine, `physx` or `newton`.
        exact: Use tensors of double precision, unlike Isaac Sim, to compare flights to the last digit.
    """

    def __init__(self, version, *, engine="physx", exact=False):
        self.version, self.engine, self.exact = version, engine, exact
        self.log, self.tracebacks = [], []
        self.contract = load(version)
        self.settings = Settings()
        self.dispatcher = Dispatcher(self)
        self.timeline = Timeline(self)
        self.prim_deleted, self.scene_added = Subscribers(self), Subscribers(self)
        self.physics = Physics(self)
        self.context = Context(self)
        self.updates = EventStream(self)
        self.extensions = {"omni.physx", "isaacsim.core.simulation_manager"}
        if engine == "newton":
            self.extensions.add("isaacsim.physics.newton")
        self.device = Device("cpu")
        self.frame_dt = 1.0 / 60.0
        self.frames = self.ready_at = 0
        self.quit_code = None
        """Exit code of an application whose window was closed."""
        self.assets_root = "omniverse://fake/Isaac"
        self.characters = {}
        self.asked, self.answers_after = [], 0.0
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.viewport, self.app_window = ViewportAPI(self), True
        self.viewport_window, self.selection_locks, self.selected_by_click = None, [], []
        self.drawn_lines, self.drawn_points = [], []
        self.keys, self.gamepad = set(), None
        self.products, self.product_count = [], 0
        self.writers, self.registered_writers, self.graphs = [], {}, []
        self.at_frame, self.lidars = [], []
        self.windows, self.menu, self.open_containers = [], {}, []
        self.window_makers, self.docks, self.active_tabs = {}, {}, {"Property": "Property"}
        self.built_frames, self.at_next_frame = [], []
        self.manager = None

    def update(self):
        """Run a frame: commit the timeline, step physics while it plays, and render."""
        if self.quit_code is not None:
            self.log.append(("error", "a frame of an application that has ended"))
        self.timeline.commit()
        if self.timeline.is_playing():
            if self.settings.get_as_bool(PLAY_SIMULATIONS):
                self.physics.run_frame(self.frame_dt)
            self.timeline._tick(self.frame_dt)
        self.physics.show()
        self.frames += 1
        for act in self.at_frame:
            act()
        self.updates._emit(0, {"dt": self.frame_dt})
        self.dispatcher.dispatch_event("update", {"dt": self.frame_dt})
        waiting, self.at_next_frame = self.at_next_frame, []
        for act in waiting:
            act()
        for frame in list(self.built_frames):
            frame._draw()
        self._run_tasks()

    def _run_tasks(self):
        """Run pending asyncio tasks, as Kit does in each frame, unless an event loop already runs."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def end_tasks(self):
        """Cancel the background tasks and close the event loop."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.loop.run_until_complete(task)
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        asyncio.set_event_loop(None)

    def enable(self, extension, enabled):
        """Enable or disable an extension; return False if this version lacks it."""
        if self.version == "5.1.0" and extension.startswith(_ONLY_6):
            return False
        (self.extensions.add if enabled else self.extensions.discard)(extension)
        if extension == "isaacsim.physics.newton":
            # Its setting auto_switch_on_startup is true; it switches back when it is disabled.
            self.engine = "newton" if enabled else "physx"
        return True

    def guarded(self, function, *arguments):
        """Call a callback and log its exception, as Kit does."""
        try:
            function(*arguments)
        except Exception as error:
            self.log.append(("error", f"{type(error).__name__}: {error}"))
            self.tracebacks.append(traceback.format_exc())

    def errors(self):
        """Return the error messages of the log."""
        return [text for level, text in self.log if level == "error"]

    def stream_and_dispatch(self, stream, kind, name):
        stream._emit(int(kind))
        self.dispatcher.dispatch_event(f"omni.timeline:{name}", {})


_running = []


def is_running():
    """Return whether a fake Kit is running."""
    return bool(_running)


def kit():
    """Return the running Kit."""
    return _running[-1]
