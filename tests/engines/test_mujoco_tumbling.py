"""Free rotation of the MuJoCo engine's bodies against an independent integrator."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from pegasus.base.step_math import Quat, Vec3
from pegasus.engines.mujoco_tumbling import Tumbling, tumbled

MOMENTS = np.array([[0.01, 0.02, 0.03], [0.03, 0.01, 0.012], [2.0, 1.0, 2.5]])
AXES = Rotation.random(3, random_state=3)
ORIENTATION = Rotation.random(3, random_state=4).as_quat()
SPIN = np.array([[8.0, 0.3, 12.0], [-40.0, 60.0, 90.0], [0.0, 0.0, 0.0]])


def tumbling():
    axes = AXES.as_quat()[:, [3, 0, 1, 2]]
    world = np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3))
    return Tumbling(
        SimpleNamespace(body_iquat=np.vstack([world[0], axes]), body_inertia=np.vstack([world[1], MOMENTS])),
        3,
    )


@pytest.mark.parametrize("time", [0.0005, 0.004, 0.01])
def test_a_body_turns_freely_as_dop853_says(time):
    """A body that turns about a fixed axis, or about wrong principal axes, would gain or lose energy."""
    bodies = tumbling()
    momentum = bodies.momentum(ORIENTATION, SPIN)
    orientation = bodies.turned(ORIENTATION, momentum, np.full(3, time))
    spin = bodies.spin(orientation, momentum)
    for k in range(3):
        axes = AXES[k].as_matrix()
        inertia = axes @ np.diag(MOMENTS[k]) @ axes.T

        def rate(_, y, inertia=inertia):
            (qx, qy, qz, qw), w = y[:4], y[4:]
            half = 0.5 * np.array([[qw, -qz, qy], [qz, qw, -qx], [-qy, qx, qw], [-qx, -qy, -qz]])
            return np.concatenate([half @ w, np.linalg.solve(inertia, -np.cross(w, inertia @ w))])

        start = [*ORIENTATION[k], *SPIN[k]]
        truth = solve_ivp(rate, (0, time), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        error = Rotation.from_quat(truth[:4]).inv() * Rotation.from_quat(orientation[k])
        assert error.magnitude() < 1e-5
        np.testing.assert_allclose(spin[k], truth[4:], atol=1e-5 * np.linalg.norm(SPIN[k]))
    np.testing.assert_allclose(bodies.energies(spin), bodies.energies(SPIN), rtol=2e-6)


def test_python_and_compiled_code_turn_a_body_with_the_same_bits():
    """A formula that depends on how it is run would break the rule of one source for both."""
    bodies = tumbling()
    momentum = np.ascontiguousarray(bodies.momentum(ORIENTATION, SPIN))
    compiled = bodies.turned(ORIENTATION, momentum, np.full(3, 0.004))
    for k in range(3):
        body = Quat(*AXES[k].as_quat().tolist()), Vec3(*MOMENTS[k].tolist()), Vec3(*momentum[k].tolist())
        q = Quat(*ORIENTATION[k].tolist())
        for _ in range(8):
            q = tumbled(*body, 0.004, q)
        assert [q[n] for n in range(4)] == compiled[k].tolist()
