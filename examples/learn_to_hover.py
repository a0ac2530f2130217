"""A policy that learns to hover, then flies. Run it with `python examples/learn_to_hover.py`."""

from pathlib import Path

from pegasus import Multirotor, Simulation, start_host
from pegasus.learn import PolicyController, Progress, Training
from pegasus.learn.tasks import Hover


def main(steps: int = 3_000_000, folder: Path = Path("train/hover")) -> float:
    """Learn until 99 % of 1000 starts succeed, and hover for 5 s; return the last distance [m]."""

    def report(progress: Progress) -> bool:
        print(f"{progress.steps:,} actions: {100 * progress.success:.1f} %, {progress.measure:.3f} m")
        return True

    Training(Hover(), folder).run(report, steps=steps)
    with Simulation("flat", seed=1, rate=500) as sim:
        pilot = PolicyController(folder / "policy.onnx")
        vehicle = sim.add(Multirotor("crazyflie", position=(0, 0, 1), backends=[pilot]))
        pilot.goto((0, 0, 1.5))
        sim.run(duration=5.0)
        distance = float(abs(vehicle.position[0] - (0, 0, 1.5)).max())
    print(f"{100 * distance:.1f} cm from the place")
    return distance


if __name__ == "__main__":
    start_host()
    main()
