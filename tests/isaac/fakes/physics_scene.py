"""Fakes of the physics scenes of `isaacsim.core.simulation_manager` of 6.0 to 6.2."""

from pxr import Sdf, UsdPhysics

from tests.isaac.fakes.application import kit


class PhysicsScene:
    """A physics scene of the stage, created if its path has none."""

    def __init__(self, prim):
        stage = kit().context.get_stage()
        self._path = prim if isinstance(prim, str) else str(prim.GetPath())
        found = stage.GetPrimAtPath(self._path)
        if found and not found.IsA(UsdPhysics.Scene):
            raise ValueError(f"Prim at path '{self._path}' is not a PhysicsScene")
        self._prim = found or UsdPhysics.Scene.Define(stage, self._path).GetPrim()

    @property
    def path(self):
        return self._path

    @property
    def prim(self):
        return self._prim

    @property
    def physics_scene(self):
        return UsdPhysics.Scene(self._prim)

    def get_dt(self):
        attribute = self._prim.GetAttribute("physxScene:timeStepsPerSecond")
        rate = attribute.Get() if attribute else 60
        return 1.0 / rate if rate else 0.0

    def set_dt(self, dt):
        if dt < 0.0 or dt > 1.0:
            raise ValueError(f"The delta time (DT) must be in the range [0.0, 1.0], got {dt}")
        _set_rate(self._prim, int(1.0 / dt) if dt else 0)

    def set_enabled_gravity(self, enabled):
        """Write the gravity attribute, which Newton reads and PhysX ignores."""
        self._prim.AddAppliedSchema("NewtonSceneAPI")
        self._prim.CreateAttribute("newton:gravityEnabled", Sdf.ValueTypeNames.Bool).Set(enabled)


class PhysxScene(PhysicsScene):
    def __init__(self, prim):
        super().__init__(prim)
        self._prim.AddAppliedSchema("PhysxSceneAPI")


class NewtonMjcScene(PhysicsScene):
    """A physics scene while Newton is active, with its own time step attribute."""

    def __init__(self, prim):
        super().__init__(prim)
        # Defaults of the schemas that it applies.
        for name, kind, value in (
            ("newton:timeStepsPerSecond", Sdf.ValueTypeNames.Int, 1000),
            ("mjc:option:timestep", Sdf.ValueTypeNames.Double, 0.002),
        ):
            if not self._prim.HasAttribute(name):
                self._prim.CreateAttribute(name, kind).Set(value)

    def get_dt(self):
        return self._prim.GetAttribute("mjc:option:timestep").Get()

    def set_dt(self, dt):
        if dt <= 0.0:
            raise ValueError(f"The delta time (DT) must be greater than 0, got {dt}")
        self._prim.GetAttribute("mjc:option:timestep").Set(float(dt))


def scene_of(path):
    """Return the scene at a path in the class of the active engine."""
    return NewtonMjcScene(path) if kit().engine == "newton" else PhysxScene(path)


def _set_rate(prim, rate):
    prim.CreateAttribute("physxScene:timeStepsPerSecond", Sdf.ValueTypeNames.UInt).Set(rate)
