# ruff: noqa: ARG001, ARG003
"""Fakes of the viewport's camera in both versions, debug lines, keyboard and gamepad."""

import io
from enum import Enum, auto
from pathlib import Path

from PIL import Image
from pxr import Gf, Usd, UsdGeom

from tests.isaac.fakes.application import PERSPECTIVE, kit


def get_active_viewport(usd_context_name=""):
    return kit().viewport


def capture_viewport_to_file(
    viewport_api, file_path=None, is_hdr=False, render_product_path=None, format_desc=None
):
    """Write an image file: half of it in the second frame from now, the rest in the third."""
    buffer = io.BytesIO()
    Image.new("RGB", (16, 9), (10, 20, 30)).save(buffer, "PNG")
    picture = buffer.getvalue()
    half = len(picture) // 2

    def write(number):
        if number < 2:
            kit().at_next_frame.append(lambda: write(number + 1))
        if number > 0:
            Path(file_path).write_bytes(picture[:half] if number == 1 else picture)

    kit().at_next_frame.append(lambda: write(0))
    return object()


def acquire_debug_draw_interface():
    return DebugDraw()


class DebugDraw:
    """Stand-in of the debug draw interface; lines and points stay until they are cleared."""

    def clear_lines(self):
        kit().drawn_lines.clear()

    def clear_points(self):
        kit().drawn_points.clear()

    def draw_lines(self, starts, ends, colors, sizes, /):
        assert len(starts) == len(ends) == len(colors) == len(sizes)
        _check(starts, 3), _check(ends, 3), _check(colors, 4)
        kit().drawn_lines += zip(starts, ends, colors, strict=True)

    def draw_points(self, points, colors, sizes, /):
        assert len(points) == len(colors) == len(sizes)
        _check(points, 3), _check(colors, 4)
        kit().drawn_points += points


def _check(rows, length):
    """Reject arguments that the bindings reject: arrays, and rows of another length."""
    assert isinstance(rows, list)
    for row in rows:
        assert isinstance(row, list | tuple)
        assert len(row) == length
        assert all(type(value) is float for value in row)


class ViewportManager:
    @classmethod
    def set_camera_view(cls, camera, *, eye=None, target=None, relative_tracking=False):
        prim = kit().context.get_stage().GetPrimAtPath(camera)
        if not prim.IsValid() or not prim.IsA(UsdGeom.Camera):
            raise ValueError(f"The camera ({camera}) is not a valid USD Camera prim")
        assert eye is not None
        assert target is not None
        _turn(prim, eye, target)


def set_camera_view(eye, target, camera_prim_path=PERSPECTIVE, viewport_api=None):
    if viewport_api is None and kit().viewport is None:
        kit().log.append(("warning", "could not get active viewport, cannot set camera view"))
        return
    _turn(kit().context.get_stage().GetPrimAtPath(camera_prim_path), eye, target)


def _turn(prim, eye, target):
    """Move a camera to a position and point it at a target, with z up."""
    eye, target = (Gf.Vec3d(*(float(part) for part in point)) for point in (eye, target))
    stage = prim.GetStage()
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        xform = UsdGeom.Xformable(prim)
        op = next(iter(xform.GetOrderedXformOps()), None) or xform.AddTransformOp()
        op.Set(Gf.Matrix4d().SetLookAt(eye, target, Gf.Vec3d(0, 0, 1)).GetInverse())


class KeyboardInput(Enum):
    A = auto()
    D = auto()
    E = auto()
    F = auto()
    L = auto()
    Q = auto()
    R = auto()
    S = auto()
    T = auto()
    W = auto()


class GamepadInput(Enum):
    LEFT_STICK_RIGHT = auto()
    LEFT_STICK_LEFT = auto()
    LEFT_STICK_UP = auto()
    LEFT_STICK_DOWN = auto()
    RIGHT_STICK_RIGHT = auto()
    RIGHT_STICK_LEFT = auto()
    RIGHT_STICK_UP = auto()
    RIGHT_STICK_DOWN = auto()
    A = auto()
    B = auto()


class IInput:
    """Stand-in of `carb.input.IInput`: each half axis of a stick has its own value from 0 to 1."""

    def get_keyboard_value(self, keyboard, input, /):
        assert keyboard == "keyboard"
        assert isinstance(input, KeyboardInput)
        return float(input.name in kit().keys)

    def get_gamepad_value(self, gamepad, input, /):
        assert gamepad == "gamepad"
        assert isinstance(input, GamepadInput)
        return float(kit().gamepad.get(input.name, 0.0))


def acquire_input_interface(plugin_name=None, library_path=None):
    return IInput()


class IAppWindow:
    def get_keyboard(self):
        return "keyboard"

    def get_gamepad(self, index, /):
        return "gamepad" if index == 0 and kit().gamepad is not None else None


def get_default_app_window():
    return IAppWindow() if kit().app_window else None
