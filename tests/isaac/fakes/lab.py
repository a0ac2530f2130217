# ruff: noqa: ARG001
"""Fake of Isaac Lab 3.0.0: the direct workflow with rigid objects, with MuJoCo as physics.

The mass properties of bodies come from the USD file in their spawn configuration. A wrench acts for one step
in the body frame at the centre of mass; Isaac Lab's gravity is added.
"""

import contextlib
import copy
import math
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import warp as wp
from pxr import Usd, UsdPhysics

from pegasus import Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion, rotate, rotate_inverse
from pegasus.contracts.engine import BodyState
from pegasus.engines.mujoco_engine import MujocoEngine
from tests.isaac.contract import load

ROOTS = ("isaaclab", "isaaclab_newton", "isaaclab_physx", "torch")


class Tensor(np.ndarray):
    """Stand-in of `torch.Tensor` on the CPU, limited to the calls that a task makes."""

    def cpu(self):
        return self

    def detach(self):
        return self

    def numpy(self):
        return self.view(np.ndarray)

    def clone(self):
        return self.copy()

    def to(self, device):
        assert device == "cpu"
        return self

    def copy_(self, other):
        assert isinstance(other, Tensor)
        self[...] = other
        return self


def as_tensor(data, dtype=None, device=None):
    assert device in (None, "cpu")
    return np.asarray(data, dtype=dtype).view(Tensor)


def zeros(size, dtype=np.float32, device=None):
    return as_tensor(np.zeros(size, dtype=dtype), device=device)


class ProxyArray:
    def __init__(self, values, item):
        self._values, self._item = np.asarray(values, dtype=np.float32), item

    @property
    def torch(self):
        return self._values.view(Tensor)

    @property
    def warp(self):
        return wp.array(self._values, dtype=self._item)


def _bound(kind, arguments):
    """Check the fields of a configuration against the contract."""
    classes = load("6.2.0").classes
    key = next(key for key in classes if key.startswith("isaaclab") and key.endswith(f":{kind.__name__}"))
    classes[key]["__init__"].signature.bind(**arguments)


class _Cfg:
    """A configuration class: fields by keyword, defaults copied from the class."""

    def __init__(self, **fields):
        for kind in reversed(type(self).__mro__):
            for name, value in vars(kind).items():
                if not name.startswith("_") and not callable(value):
                    setattr(self, name, copy.deepcopy(value))
        own = {name for kind in type(self).__mro__ if "_own" in vars(kind) for name in kind._own}
        known = next(kind for kind in type(self).__mro__ if "_own" not in vars(kind))
        _bound(known, {name: value for name, value in fields.items() if name not in own})
        vars(self).update(fields)


def configclass(cls):
    # Fields that a subclass declares are accepted too.
    cls._own = {*vars(cls), *vars(cls).get("__annotations__", {})}
    return cls


def _initial(**state):
    given = {"pos": (0.0, 0.0, 0.0), "rot": (0.0, 0.0, 0.0, 1.0)} | state
    return SimpleNamespace(**given)


class AssetBaseCfg(_Cfg):
    prim_path, spawn, init_state = "", None, _initial()
    InitialStateCfg = staticmethod(lambda *, pos=..., rot=...: _initial(**_given(pos=pos, rot=rot)))


class RigidObjectCfg(_Cfg):
    prim_path, spawn, init_state = "", None, _initial()
    InitialStateCfg = staticmethod(
        lambda *, pos=..., rot=..., lin_vel=..., ang_vel=...: _initial(
            **_given(pos=pos, rot=rot, lin_vel=lin_vel, ang_vel=ang_vel)
        )
    )


def _given(**values):
    return {name: value for name, value in values.items() if value is not ...}


class CuboidCfg(_Cfg):
    pass


class UsdFileCfg(_Cfg):
    pass


class UsdPhysicsCollisionCfg(_Cfg):
    pass


class PhysxRigidBodyCfg(_Cfg):
    pass


class MJWarpSolverCfg(_Cfg):
    pass


class NewtonCfg(_Cfg):
    pass


class SimulationCfg(_Cfg):
    device, dt, gravity = "cpu", 1.0 / 60.0, (0.0, 0.0, -9.81)


class InteractiveSceneCfg(_Cfg):
    num_envs, env_spacing = 1, 1.0


class DirectRLEnvCfg(_Cfg):
    sim = SimulationCfg()


class WrenchComposer:
    def __init__(self, count):
        self._count, self._wrench = count, None

    def set_forces_and_torques_index(
        self, forces=None, torques=None, positions=None, body_ids=None, env_ids=None, is_global=False
    ):
        assert positions is None
        assert body_ids is None
        assert env_ids is None
        assert is_global is False
        self._wrench = [_items(part, wp.vec3f, (self._count, 1)).reshape(-1, 3) for part in (forces, torques)]

    def _take(self):
        wrench, self._wrench = self._wrench, None
        return wrench if wrench is not None else [np.zeros((self._count, 3))] * 2


def _items(values, item, shape):
    """Return the values of a Warp array or a tensor after the type and shape checks of Isaac Lab."""
    if isinstance(values, wp.array):
        assert values.dtype is item, f"{values.dtype} is no {item}"
        assert values.shape == shape, f"{values.shape} is not {shape}"
    else:
        assert isinstance(values, Tensor)
        assert values.shape[: len(shape)] == shape
    return np.array(values.numpy(), dtype=np.float64)


class RigidObject:
    """Stand-in of `isaaclab.assets.RigidObject`: one body in each environment."""

    num_bodies, device = 1, "cpu"

    def __init__(self, cfg, origins):
        self._cfg, self.num_instances, self._engine = cfg, len(origins), MujocoEngine()
        self._engine.load(Simulation("flat").scene)
        stage = Usd.Stage.Open(cfg.spawn.usd_path)
        mass = UsdPhysics.MassAPI(stage.GetDefaultPrim())
        self._mass = mass.GetMassAttr().Get()
        self._inertia = np.diag(mass.GetDiagonalInertiaAttr().Get())
        self._com = np.array(mass.GetCenterOfMassAttr().Get())
        # The colliders are those of the Iris.
        bodies = Multirotor("iris", count=self.num_instances, position=origins + cfg.init_state.pos).bodies()
        properties = {"mass": self._mass, "inertia": self._inertia, "center_of_mass": self._com}
        self._ids = self._engine.add_bodies([replace(body, **properties) for body in bodies])
        self._composer = WrenchComposer(self.num_instances)
        self.data = RigidObjectData(self)

    @property
    def instantaneous_wrench_composer(self):
        return self._composer

    def write_root_link_pose_to_sim_index(self, *, root_pose, env_ids=None, skip_forward=False):
        rows = self._rows(env_ids)
        state = self._state()
        values = _items(root_pose, wp.transformf, (len(rows),))
        state.position[rows], state.orientation[rows] = values[:, :3], values[:, 3:]
        self._engine.write(self._ids, state)

    def write_root_link_velocity_to_sim_index(self, *, root_velocity, env_ids=None, skip_forward=False):
        rows = self._rows(env_ids)
        state = self._state()
        values = _items(root_velocity, wp.spatial_vectorf, (len(rows),))
        state.velocity[rows] = values[:, :3]
        turned = matrix_from_quaternion(state.orientation[rows])
        state.angular_velocity[rows] = rotate_inverse(turned, values[:, 3:])
        self._engine.write(self._ids, state)

    def _rows(self, env_ids):
        assert env_ids is None or isinstance(env_ids, list | Tensor | wp.array)
        return np.arange(self.num_instances) if env_ids is None else np.asarray(env_ids).astype(int)

    def _state(self):
        state = BodyState.zeros(self.num_instances)
        self._engine.read(state)
        return state

    def _step(self, dt, gravity):
        force, torque = self._composer._take()
        turned = matrix_from_quaternion(self._state().orientation)
        self._engine.apply(rotate(turned, force) + self._mass * np.array(gravity), torque)
        self._engine.step(dt)


class RigidObjectData:
    def __init__(self, asset):
        self._asset = asset

    @property
    def body_mass(self):
        return ProxyArray(np.full((self._asset.num_instances, 1), self._asset._mass), wp.float32)

    @property
    def body_inertia(self):
        inertia = self._asset._inertia.reshape(1, 1, 9)
        return ProxyArray(np.repeat(inertia, self._asset.num_instances, axis=0), wp.float32)

    @property
    def body_com_pos_b(self):
        return ProxyArray(np.tile(self._asset._com, (self._asset.num_instances, 1, 1)), wp.vec3f)

    @property
    def default_root_pose(self):
        start = self._asset._cfg.init_state
        return ProxyArray(np.tile([*start.pos, *start.rot], (self._asset.num_instances, 1)), wp.transformf)

    @property
    def default_root_vel(self):
        return ProxyArray(np.zeros((self._asset.num_instances, 6)), wp.spatial_vectorf)

    @property
    def root_link_pose_w(self):
        state = self._asset._state()
        return ProxyArray(np.hstack([state.position, state.orientation]), wp.transformf)

    @property
    def root_link_vel_w(self):
        state = self._asset._state()
        turned = rotate(matrix_from_quaternion(state.orientation), state.angular_velocity)
        return ProxyArray(np.hstack([state.velocity, turned]), wp.spatial_vectorf)


class InteractiveScene:
    def __init__(self, cfg):
        side = math.ceil(math.sqrt(cfg.num_envs))
        cells = np.array([(k // side, k % side, 0.0) for k in range(cfg.num_envs)])
        self._origins = (cells - cells.mean(axis=0)) * cfg.env_spacing
        self._assets = {
            name: RigidObject(value, self._origins)
            for name, value in vars(cfg).items()
            if isinstance(value, RigidObjectCfg)
        }

    @property
    def env_origins(self):
        return as_tensor(self._origins, dtype=np.float32)

    def __getitem__(self, name):
        return self._assets[name]


class PhysicsManager:
    folds_decimation = False

    @classmethod
    def handles_decimation(cls):
        return cls.folds_decimation


class SimulationContext:
    physics_manager = PhysicsManager


class DirectRLEnv:
    def __init__(self, cfg, render_mode=None, **kwargs):
        assert not kwargs
        self.cfg, self.sim, self.scene = cfg, SimulationContext(), InteractiveScene(cfg.scene)
        self.device, self.num_envs = cfg.sim.device, cfg.scene.num_envs
        self.physics_dt, self.step_dt = cfg.sim.dt, cfg.sim.dt * cfg.decimation
        self.max_episode_length = math.ceil(cfg.episode_length_s / self.step_dt)
        self.episode_length_buf = as_tensor(np.zeros(self.num_envs, dtype=np.int64))
        self._is_closed = False

    def reset(self, seed=None, options=None):
        self._reset_idx(as_tensor(np.arange(self.num_envs)))
        return self._get_observations(), {}

    def step(self, action):
        self._pre_physics_step(action.to(self.device))
        for _ in range(self.cfg.decimation):
            self._apply_action()
            for asset in self.scene._assets.values():
                asset._step(self.physics_dt, self.cfg.sim.gravity)
        self.episode_length_buf += 1
        died, late = self._get_dones()
        assert died.dtype == late.dtype == bool
        reward = self._get_rewards()
        ids = np.flatnonzero(died | late)
        if len(ids):
            self._reset_idx(as_tensor(ids))
        return self._get_observations(), reward, died, late, {}

    def close(self):
        self._is_closed = True

    def _reset_idx(self, env_ids):
        self.episode_length_buf[env_ids] = 0


@contextlib.contextmanager
def launch_simulation(cfg, launcher_args=None):
    yield cfg.sim.physics


def add_launcher_args(parser):
    parser.add_argument("--device", default="cpu")


_MODULES = {
    "torch": {"as_tensor": as_tensor, "float32": np.float32, "zeros": zeros, "Tensor": Tensor},
    "isaaclab.app": {"add_launcher_args": add_launcher_args, "launch_simulation": launch_simulation},
    "isaaclab.assets": {
        kind.__name__: kind for kind in (AssetBaseCfg, RigidObject, RigidObjectCfg, RigidObjectData)
    },
    "isaaclab.envs": {"DirectRLEnv": DirectRLEnv, "DirectRLEnvCfg": DirectRLEnvCfg},
    "isaaclab.physics": {"PhysicsManager": PhysicsManager},
    "isaaclab.scene": {
        "InteractiveScene": InteractiveScene,
        "InteractiveSceneCfg": InteractiveSceneCfg,
    },
    "isaaclab.sim": {
        kind.__name__: kind
        for kind in (CuboidCfg, SimulationCfg, SimulationContext, UsdFileCfg, UsdPhysicsCollisionCfg)
    },
    "isaaclab.utils": {"configclass": configclass},
    "isaaclab.utils.warp": {"ProxyArray": ProxyArray},
    "isaaclab.utils.wrench_composer": {"WrenchComposer": WrenchComposer},
    "isaaclab_newton.physics": {"MJWarpSolverCfg": MJWarpSolverCfg, "NewtonCfg": NewtonCfg},
    "isaaclab_physx.sim.schemas": {"PhysxRigidBodyCfg": PhysxRigidBodyCfg},
}


def members():
    """Return the stand-ins of Isaac Lab as {module: {name: object}}."""
    from tests.isaac.fakes.lab_managers import MODULES

    both = {name: _MODULES.get(name, {}) | MODULES.get(name, {}) for name in {**_MODULES, **MODULES}}
    return {name: content for name, content in both.items() if name != "torch"}


def install():
    """Install the stand-ins in `sys.modules`, where none of these names may exist."""
    for name, content in (members() | {"torch": _MODULES["torch"]}).items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth])
            if path not in sys.modules:
                sys.modules[path] = ModuleType(path)
                sys.modules[path].__path__ = []
                if depth > 1:
                    setattr(sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], sys.modules[path])
        vars(sys.modules[name]).update(content)


def uninstall():
    """Remove the stand-ins from `sys.modules`."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS]:
        del sys.modules[name]
    PhysicsManager.folds_decimation = False
