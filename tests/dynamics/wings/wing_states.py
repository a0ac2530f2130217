"""Random states of wings, and laws evaluated at them."""

from typing import NamedTuple

import numpy as np

from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform
from tests.base.tracing.comparison import differences

DENSITY = 1.2


class States(NamedTuple):
    """States of a wing."""

    velocity: np.ndarray
    rate: np.ndarray
    deflection: np.ndarray


def random_states(count, controls, seed=1):
    """Return velocities in all directions from 0.1 to 60 m/s, half of them in flight forward, and rates."""
    rng = np.random.default_rng(seed)
    velocity = rng.normal(size=(count, 3))
    velocity[count // 2 :, 0] = 4 * np.abs(velocity[count // 2 :, 0])
    velocity *= np.exp(rng.uniform(np.log(0.1), np.log(60), (count, 1))) / np.linalg.norm(
        velocity, axis=1, keepdims=True
    )
    rate = rng.normal(size=(count, 3)) * np.exp(rng.uniform(np.log(0.01), np.log(30), (count, 1)))
    return States(velocity, rate, rng.uniform(-0.6, 0.6, (count, controls)))


def wrenches(wing, states, density=DENSITY):
    """Return force and torque of a law at each state, shape (N, 6)."""
    law, p, found = type(wing).law, wing.parameters(), []
    for v, w, d in zip(*(part.tolist() for part in states), strict=True):
        force, torque = law(p, Vec3(*v), Vec3(*w), tuple(d), density)
        found.append([part[k] for part in (force, torque) for k in range(3)])
    return np.array(found)


def power(wing, states):
    """Return the power that still air gives to a wing at each state [W], and the sum of its magnitudes."""
    terms = wrenches(wing, states) * np.concatenate([states.velocity, states.rate], axis=1)
    return terms.sum(axis=1), np.abs(terms).sum(axis=1)


def differing_bits(wing):
    """Return where bits of a law differ between Python, one row and several rows side by side."""
    rest = [column("v", Vec3), column("w", Vec3), column("d", float, wing.control_count), column("rho")]
    if not wing.control_count:
        rest[2] = ()
    laws = {"law": (type(wing).law, [uniform("p", wing.parameters()), *rest])}
    return differences(laws, count=120)
