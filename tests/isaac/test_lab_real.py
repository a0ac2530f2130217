"""Tests of the task on Isaac Lab itself, where it is installed: on Newton, without Kit or a GPU."""

import importlib
import importlib.util
import inspect
import sys

import numpy as np
import pytest

from pegasus.backends import PX4
from pegasus.base.frames import rotate_inverse
from tests.backends.px4_rig import PX4Tree, phases
from tests.isaac.contract import load
from tests.isaac.test_isaac_examples import EXAMPLES

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("isaaclab") is None, reason="needs Isaac Lab 3: pip install isaaclab"
)


def test_the_contract_is_that_of_isaac_lab():
    """The contract of the stand-ins would differ from the installed Isaac Lab."""
    contract = load("6.2.0")
    for key, members in contract.classes.items():
        module, _, name = key.partition(":")
        if not module.startswith("isaaclab") or not hasattr(importlib.import_module(module), name):
            continue  # Calls return these objects; no module exports them.
        found = getattr(importlib.import_module(module), name)
        for part, member in members.items():
            if member.signature is None:
                continue
            if part == "InitialStateCfg":
                found_here = inspect.signature(getattr(found, part))
            else:
                found_here = inspect.signature(getattr(found, part) if part != "__init__" else found)
            if name == "RigidObject":
                base = importlib.import_module("isaaclab.assets.rigid_object.base_rigid_object")
                found_here = inspect.signature(getattr(base.BaseRigidObject, part))
            ours = [p.name for p in member.signature.parameters.values()]
            theirs = [p.name for p in found_here.parameters.values() if p.name != "self"]
            assert ours == theirs, f"{key}.{part}: {theirs}"


@pytest.fixture
def hover(monkeypatch):
    """Return the example."""
    spec = importlib.util.spec_from_file_location("lab_hover", EXAMPLES / "lab_hover.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lab_hover", module)
    spec.loader.exec_module(module)
    return module


def test_px4_flies_in_lockstep(hover, tmp_path):
    """PX4 (here its peer) would wait for a step that Isaac Lab never makes."""
    tree = PX4Tree(tmp_path / "PX4-Autopilot")
    tree.say("--mission hover --ready 1")
    px4 = PX4(tree.folder)
    px4.run_folder = tmp_path / "run"
    cfg = hover.HoverCfg(px4=True)
    cfg.scene.num_envs, cfg.sim.device = 2, "cpu"
    heights = hover.fly(cfg, 1500, (px4,))
    for number in (0, 1):
        at = phases(px4.run_folder / f"px4_{px4.first_instance + number}.log")
        assert {"CONNECTED", "ARMED", "TAKEOFF"} <= set(at)
    # The vehicles first fall onto the slab and rest there.
    np.testing.assert_allclose(heights[500], 0.08, atol=0.02)
    assert heights[-1].min() > 0.8


def test_bodies_move_by_the_wrench_of_pegasus(hover):
    """A wrench would have a wrong frame or point, or gravity be applied twice."""
    cfg = hover.HoverCfg()
    cfg.scene.num_envs, cfg.sim.device, cfg.seed = 3, "cpu", 1
    env = hover.HoverEnv(cfg)
    try:
        env.reset()
        vehicle, rng = env.drones.vehicle, np.random.default_rng(2)
        state, dt = vehicle.state, env.physics_dt
        for _ in range(150):
            actions = rng.uniform(0.0, 0.4, (3, 4)).astype(np.float32)
            velocity, rates = state.velocity.copy(), state.angular_velocity.copy()
            rotation = state.rotation.copy()
            env.step(hover.torch.as_tensor(actions))
            gravity = [0.0, 0.0, -9.80665]
            expected = velocity + (vehicle.applied_force / vehicle.mass + gravity) * dt
            np.testing.assert_allclose(state.velocity, expected, atol=2e-4)
            momentum = rates @ vehicle.inertia
            turning = (vehicle.applied_torque - np.cross(rates, momentum)) @ np.linalg.inv(vehicle.inertia)
            # The same turning in the axes of the body after the step.
            turned = np.einsum("nij,nj->ni", rotation, rates + turning * dt)
            np.testing.assert_allclose(
                state.angular_velocity, rotate_inverse(state.rotation, turned), atol=5e-3
            )
        assert np.abs(state.angular_velocity).max() > 0.3
        assert np.abs(state.position[:, 2] - 1.0).max() > 0.05
    finally:
        env.close()
