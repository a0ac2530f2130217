"""Stand-ins of NVIDIA's modules that scripts of Pegasus Simulator import, beside the fakes of Isaac Sim.

`World` does what isaacsim.core.api 6.2 does in a script: it makes a physics scene, a reset stops and plays
the timeline, and a step with rendering is a frame of Kit. 5.1 has the old name omni.isaac.core too.
"""
# ruff: noqa: ARG001

import sys
from types import ModuleType

from pxr import Gf, UsdGeom, UsdPhysics

from tests.isaac.fakes import modules, viewport
from tests.isaac.fakes.application import PLAY_SIMULATIONS, kit

SCENE = "/physicsScene"


class SimulationApp:
    """Application of a script, whose window is closed after some frames."""

    frames = 60

    def __init__(self, launch_config=None, experience=""):
        self._end = kit().frames + self.frames

    def is_running(self):
        return kit().frames < self._end

    def update(self):
        kit().update()

    def close(self, wait_for_replicator=True, skip_cleanup=False):
        kit().update()


class Objects:
    """Objects of a world."""

    def add(self, item):
        return item

    def add_default_ground_plane(self):
        plane = UsdGeom.Mesh.Define(kit().context.get_stage(), "/World/defaultGroundPlane")
        corners = [Gf.Vec3f(x, y, 0.0) for x, y in ((-50, -50), (50, -50), (50, 50), (-50, 50))]
        plane.CreatePointsAttr(corners)
        plane.CreateFaceVertexCountsAttr([4])
        plane.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())


class World:
    """World of a script."""

    def __init__(
        self,
        physics_dt=None,
        rendering_dt=None,
        stage_units_in_meters=None,
        physics_prim_path=SCENE,
        sim_params=None,
        set_defaults=True,
        backend="numpy",
        device=None,
    ):
        self.scene = Objects()
        UsdPhysics.Scene.Define(self.stage, physics_prim_path)
        kit().frame_dt = rendering_dt or 1.0 / 60.0

    @property
    def stage(self):
        return kit().context.get_stage()

    def reset(self, soft=False):
        kit().timeline.stop()
        self._frame_without_physics()
        kit().timeline.play()
        kit().timeline.commit()
        self._frame_without_physics()

    def step(self, render=True, step_sim=True, update_fabric=False):
        assert render, "the examples render each step"
        kit().update()

    def is_stopped(self):
        return kit().timeline.is_stopped()

    def add_physics_callback(self, callback_name, callback_fn):
        """Accept a callback; none of the tests depends on it."""

    add_render_callback = add_timeline_callback = add_physics_callback

    def _frame_without_physics(self):
        kit().settings.set_bool(PLAY_SIMULATIONS, False)
        kit().update()
        kit().settings.set_bool(PLAY_SIMULATIONS, True)


class DynamicCuboid:
    """Box that falls; here one that stands."""

    def __init__(self, prim_path, name, position, scale, size, color):
        cube = UsdGeom.Cube.Define(kit().context.get_stage(), prim_path)
        cube.CreateSizeAttr(float(size))
        cube.AddTranslateOp().Set(Gf.Vec3d(*position.tolist()))


def create_prim(prim_path, prim_type="Xform", position=None, attributes=None):
    """Define a prim."""
    return kit().context.get_stage().DefinePrim(prim_path, prim_type)


def enable_extension(extension_name):
    """Enable an extension."""
    return kit().enable(extension_name, True)


def _draw_lines_spline(self, points, color, width, closed, /):
    kit().drawn_lines.append(points)


def install(monkeypatch, version, *, frames):
    """Add the modules to those of the running fakes.

    Args:
        monkeypatch: Undoes changes of the fakes.
        version: Version of Isaac Sim.
        frames: Frames until the window is closed.
    """
    monkeypatch.setattr(SimulationApp, "frames", frames)
    monkeypatch.setattr(viewport.DebugDraw, "draw_lines_spline", _draw_lines_spline, raising=False)
    roots = ("isaacsim.core.api", "omni.isaac.core") if version == "5.1.0" else ("isaacsim.core.api",)
    table = {
        "isaacsim": {"SimulationApp": SimulationApp},
        "isaacsim.core.utils.extensions": {"enable_extension": enable_extension},
        "isaacsim.core.utils.prims": {"create_prim": create_prim},
    }
    for root in roots:
        table |= {
            root: {"World": World},
            f"{root}.world": {"World": World},
            f"{root}.objects": {"DynamicCuboid": DynamicCuboid},
        }
    for name, content in table.items():
        module = ModuleType(name)
        vars(module).update(content)
        modules._put(name, module)


def forget():
    """Unload the layer and old names, whose objects belong to the fakes of one test."""
    for name in [name for name in sys.modules if name.startswith("pegasus.simulator")]:
        del sys.modules[name]
