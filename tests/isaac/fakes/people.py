"""Fakes of `omni.anim.graph.core` and `omni.kit.commands`: characters that walk in each frame."""

import math

from pxr import Gf, Sdf, Usd, UsdGeom

from tests.isaac.fakes.application import kit
from tests.isaac.fakes.omniverse import Float3, Float4


def execute(name, **kwargs):
    """Stand-in of `omni.kit.commands.execute`, which logs errors and raises none."""
    known = {"ApplyAnimationGraphAPICommand": _apply, "RemoveAnimationGraphAPICommand": _remove}
    if name not in known:
        kit().log.append(("error", f"Can't execute command: '{name}', it wasn't registered"))
        return False, None
    kit().guarded(lambda: known[name](**kwargs))
    return True, None


def _apply(*, paths, animation_graph_path):
    stage = kit().context.get_stage()
    assert stage.GetPrimAtPath(animation_graph_path).GetTypeName() == "AnimationGraph"
    for path in paths:
        assert isinstance(path, Sdf.Path)
        assert stage.GetPrimAtPath(path).GetTypeName() == "SkelRoot"
        kit().characters[str(path)] = None


def _remove(*, paths):
    for path in paths:
        kit().characters.pop(str(path), None)


def get_character(prim_path):
    """Return a character; None while the timeline is stopped or without an animation graph."""
    if kit().timeline.is_stopped() or prim_path not in kit().characters:
        return None
    if kit().characters[prim_path] is None:
        kit().characters[prim_path] = Character(prim_path)
    return kit().characters[prim_path]


class Character:
    """Stand-in of a character of `omni.anim.graph.core`."""

    def __init__(self, path):
        prim = kit().context.get_stage().GetPrimAtPath(path)
        pose = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
        x_axis = pose.TransformDir(Gf.Vec3d(1, 0, 0))
        self._at, self._heading = list(pose.ExtractTranslation()), math.atan2(x_axis[1], x_axis[0])
        self._variables = {}

    def set_variable(self, name, value):
        assert name in ("Action", "PathPoints", "Walk"), name
        if name == "PathPoints":
            assert all(isinstance(point, Float3) for point in value)
        self._variables[name] = value

    def get_world_transform(self, pos, rot):
        assert isinstance(pos, Float3)
        assert isinstance(rot, Float4)
        pos.x, pos.y, pos.z = self._at
        rot.x, rot.y, rot.z, rot.w = 0.0, 0.0, math.sin(self._heading / 2), math.cos(self._heading / 2)

    def _walk(self, dt):
        if self._variables.get("Action") != "Walk":
            return
        target = self._variables["PathPoints"][-1]
        dx, dy = target.x - self._at[0], target.y - self._at[1]
        left = math.hypot(dx, dy)
        if left > 1e-9:
            step = min(left, self._variables["Walk"] * dt)
            self._heading = math.atan2(dy, dx)
            self._at[0] += dx / left * step
            self._at[1] += dy / left * step


def walk():
    """Move the characters by one frame; a stop returns them to their start."""
    for path, character in kit().characters.items():
        if character is not None and kit().timeline.is_stopped():
            kit().characters[path] = None
        elif character is not None and kit().timeline.is_playing():
            character._walk(kit().frame_dt)
