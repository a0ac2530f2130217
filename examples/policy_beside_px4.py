"""A policy of body rates flies the Iris in offboard mode beside a real PX4, by PX4's own estimate.

Run it by `python examples/policy_beside_px4.py POLICY.onnx`, where PX4_DIR names a built PX4-Autopilot. Train
one by `pegasus train hover --set vehicle=iris --set level=rates`; without a file a linear law stands for it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import trajectories
from pegasus.learn import Description, Layer, PolicyPX4, write_policy

MASS, GRAVITY = 1.5, 9.81
"""Mass of the vehicle [kg], and gravity [m/s^2]."""
LEAN = 4.0
"""Body rate for each radian that the lean differs from the wanted one [1/s]."""


def linear_policy(path: Path) -> Path:
    """Write proportional and derivative feedback as a policy; for a heading to the east."""
    low, high = np.array([0.0, -3.0, -3.0, -1.0]), np.array([2 * MASS * GRAVITY, 3.0, 3.0, 1.0])
    gains = np.zeros((4, 15))
    place, velocity, rotation = gains[:, :3], gains[:, 3:6], gains[:, 6:]
    place[0, 2], velocity[0, 2] = 3.0 * MASS, -2.5 * MASS
    # Accelerations to north and east are leans times gravity: entries 5 and 2 of the rotation matrix.
    place[1, 1], velocity[1, 1], rotation[1, 5] = np.array([-1.5, 2.0, GRAVITY]) * LEAN / GRAVITY
    place[2, 0], velocity[2, 0], rotation[2, 2] = np.array([1.5, -2.0, -GRAVITY]) * LEAN / GRAVITY
    rotation[3, 3] = -1.0
    hover, half = np.array([MASS * GRAVITY, 0.0, 0.0, 0.0]), 0.5 * (high - low)
    about = Description(
        terms=(("position_error", 1.0), ("velocity", 1.0), ("rotation", 1.0)),
        channels=("thrust", "rate_x", "rate_y", "rate_z"),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        rest_speed=(0.0,) * 4,
        interval=0.02,
        task="hover",
        vehicle="iris",
        level="rates",
    )
    write_policy(path, [Layer(gains / half[:, None], (hover - low) / half - 1.0, None)], about)
    return path


def main(policy: str | None = None, observes: str = "estimate", duration: float = 20.0) -> float:
    """Hold a place by the policy; return the largest true distance from it in the second half [m]."""
    with tempfile.TemporaryDirectory() as folder:
        file = policy or linear_policy(Path(folder) / "linear.onnx")
        pilot = PolicyPX4(
            policy=file,
            observes=observes,
            height=3.0,
            trajectory=trajectories.hold(height=3.0, duration=duration),
        )
        with Simulation("flat", seed=1) as sim:
            iris = sim.add(Multirotor("iris", backends=[pilot]))
            while not pilot.by_policy.any():
                sim.step()
            began = sim.time
            sim.run(duration / 2)
            far = 0.0
            while pilot.by_policy.any() and pilot.reference is not None:
                far = max(far, float(np.linalg.norm(iris.position - pilot.reference.position)))
                sim.step()
            print(
                f"within {100 * far:.1f} cm from {began:.1f} s on, by a policy that observed the {observes}"
            )
            return far


if __name__ == "__main__":
    start_host()
    main(sys.argv[1] if len(sys.argv) > 1 else None)
