"""Motion after a step, and its energy balance."""

from pegasus.base.step_math import Real, matrix_of
from pegasus.step.values import Moved, Observed


def observe(moved: Moved, rate: Real) -> Observed:
    """Return rotation matrix and accelerations of a machine after a step.

    Args:
        moved: Its motion.
        rate: Steps per second [Hz].
    """
    return Observed(
        last_velocity=moved.velocity,
        last_angular_velocity=moved.angular_velocity,
        rotation=matrix_of(moved.orientation),
        acceleration=(moved.velocity - moved.last_velocity) * rate,
        angular_acceleration=(moved.angular_velocity - moved.last_angular_velocity) * rate,
    )
