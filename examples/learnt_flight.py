"""One learnt policy on three quadrotors of 32 g to 2 kg. Run it with `python examples/learnt_flight.py`."""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import trajectories
from pegasus.learn import PolicyController

MODELS = ("crazyflie", "iris", "x500")


def main(duration: float = 12.0) -> dict[str, float]:
    """Fly a lemniscate by the policy RAPTOR; return the mean distance from it by vehicle [m]."""
    path = trajectories.lemniscate(radius=1.5, height=2.0, speed=0.8)
    errors: dict[str, list[float]] = {model: [] for model in MODELS}
    with Simulation("flat", seed=1, rate=500) as sim:
        flown = {}
        for k, model in enumerate(MODELS):
            pilot = PolicyController("raptor", trajectory=path)
            flown[model] = sim.add(Multirotor(model, position=(0, 6 * k, 1.5), backends=[pilot])), pilot
        while sim.time < duration:
            sim.step(5)
            for model, (vehicle, pilot) in flown.items():
                if sim.time > 3.0 and pilot.reference is not None:
                    errors[model].append(float(np.linalg.norm(vehicle.position - pilot.reference.position)))
    means = {model: float(np.mean(values)) for model, values in errors.items()}
    for model, mean in means.items():
        print(f"{model}: {100 * mean:.0f} cm from the lemniscate on average")
    return means


if __name__ == "__main__":
    start_host()
    main()
