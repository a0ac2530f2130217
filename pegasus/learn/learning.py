"""Settings of proximal policy optimization, by task."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How a task is learnt: the defaults are those of hovering; a task changes what it needs."""

    rows: int = 512
    """Number of episodes side by side."""
    rollout: int = 32
    """Actions of each row between two updates of the policy."""
    batches: int = 4
    """Number of parts of a rollout, each of which changes the policy once."""
    epochs: int = 6
    """Number of times that a rollout is learnt from."""
    steps: int = 5_000_000
    """Largest number of actions."""
    starts: int = 1000
    """Number of episodes of an evaluation."""
    success: float = 0.99
    """Share of the episodes of an evaluation that succeed, at which learning ends."""
    measure: float = math.inf
    """Largest median of what the task measures at which it ends."""
    discount: float = 0.98
    """Factor of the reward of the next action beside that of this one."""
    trace: float = 0.95
    """Factor of the estimate of advantages (GAE's lambda)."""
    rate: float = 1e-3
    """Learning rate at the beginning."""
    last_rate: float = 1e-3
    """Learning rate after `steps` actions; it changes in proportion to these."""
    clip: float = 0.2
    """Largest change of the probability of an action by an update."""
    entropy: float = 0.0
    """Weight of the entropy of actions."""
    spread: float = -0.7
    """Logarithm of the standard deviation of actions at the beginning."""
    layers: tuple[int, ...] = (64, 64)
    """Units of the layers of the policy, and of the estimate of rewards."""
