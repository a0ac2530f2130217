# ruff: noqa: ARG001
"""Fakes of `omni.ui.scene` and the viewport's window: gestures, and the prim at a pixel."""

from enum import Enum

from pxr import Gf, Usd, UsdGeom

from tests.isaac.fakes.application import kit
from tests.isaac.fakes.interface import Container, Frame, Widget


class AspectRatioPolicy(Enum):
    STRETCH = 0
    PRESERVE_ASPECT_FIT = 1


class Scene(Container):
    """Stand-in of `omni.ui.scene.Scene`."""

    def __init__(self):
        self._children = []

    def clear(self):
        self._children = []


class SceneView(Widget):
    """Stand-in of `omni.ui.scene.SceneView`; receives mouse events while in a frame of the viewport."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.scene = Scene()


class ScreenGesturePayload:
    """Stand-in of `omni.ui.scene.ScreenGesturePayload`."""

    def __init__(self, mouse):
        self.mouse = mouse


class Screen(Widget):
    """Stand-in of `omni.ui.scene.Screen`: a shape that covers the whole view."""

    gesture_payload = None

    def _click(self, mouse):
        self.gesture_payload = ScreenGesturePayload(mouse)
        gesture = self._settings["gesture"]
        kit().guarded(gesture._ended, self)


class ClickGesture:
    """Stand-in of `omni.ui.scene.ClickGesture`."""

    def __init__(
        self, _on_ended=None, *, mouse_button=0, modifiers=0, on_ended_fn=None, name="", manager=None
    ):
        self._ended = _on_ended or on_ended_fn


class ViewportWindow:
    """Stand-in of the viewport's window, with named frames over its image."""

    def __init__(self):
        self._frames = {}

    @property
    def viewport_api(self):
        return kit().viewport

    def get_frame(self, frame_id):
        if frame_id not in self._frames:
            opened, kit().open_containers = kit().open_containers, []
            self._frames[frame_id] = Frame()
            kit().open_containers = opened
        return self._frames[frame_id]

    def _click(self, mouse):
        """Click at normalised coordinates, from -1 to 1 over the window."""
        views = [w for frame in self._frames.values() for w in frame._all() if isinstance(w, SceneView)]
        for view in views:
            assert view in kit().viewport._scene_views, "a scene that does not follow the camera"
            # As in the layers of Kit's viewport; other policies use a square inside the window.
            assert view._settings.get("aspect_ratio_policy") is AspectRatioPolicy.STRETCH
            for shape in list(view.scene._children):
                shape._click(mouse)
        if not views and not kit().selection_locks:
            kit().selected_by_click.append(mouse)


class SelectionLock:
    """Handle that disables selection by clicks until it is deleted."""

    def __init__(self):
        kit().selection_locks.append(id(self))

    def __del__(self):
        self._locks.remove(id(self))


def get_active_viewport_window(window_name=None, usd_context_name="", **kwargs):
    return kit().viewport_window if kit().viewport is not None else None


def disable_selection(viewport_or_window, disable_click=True):
    lock = SelectionLock()
    lock._locks = kit().selection_locks
    return lock


def met(pixel, resolution, camera_path):
    """Return the path and hit point of the first bounding box on the ray through a pixel."""
    stage = kit().context.get_stage()
    camera = UsdGeom.Camera(stage.GetPrimAtPath(str(camera_path))).GetCamera(Usd.TimeCode.Default())
    width, height = resolution
    camera.verticalAperture = camera.horizontalAperture * height / width
    point = Gf.Vec2d(2.0 * (pixel[0] + 0.5) / width - 1.0, 1.0 - 2.0 * (pixel[1] + 0.5) / height)
    ray = camera.frustum.ComputePickRay(point)
    boxes = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.default_])
    nearest, found = float("inf"), ("", None)
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Gprim):
            box = boxes.ComputeWorldBound(prim)
            hit, enter, _ = ray.Intersect(box)
            if hit and 0.0 < enter < nearest:
                nearest, found = enter, (str(prim.GetPath()), tuple(ray.GetPoint(enter)))
    return found
