"""Random streams that depend on a seed and on names, never on the order of creation."""

import numpy as np


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of one consumer of random numbers.

    Args:
        seed: Seed of the simulation.
        names: Path of the consumer, such as a vehicle's and a sensor's name.
    """
    key = "\0".join(names).encode()
    # The length keeps apart names that differ in trailing zero bytes only.
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, len(key), *key])))
