"""How stiff and how damped a contact is, for a coefficient of restitution."""

import math
from functools import lru_cache

from pegasus.scene.scene import PhysicsMaterial

# Contact stiffness as the natural frequency of a body that rests on its contact [rad/s]: at 250 Hz half a
# period of it spans four steps, which RK4 resolves, and a body that hits at 5 m/s sinks in by 2.5 cm.
_CONTACT_FREQUENCY = 200.0
# Beyond this damping ratio a contact only gets softer; it leaves a restitution of 0.02.
_MAX_DAMPING = 3.0


# A town has some 70,000 colliders of two or three materials.
@lru_cache(maxsize=1024)
def contact_response(material: PhysicsMaterial) -> tuple[float, float]:
    """Return MuJoCo's time constant [s] and damping ratio for a coefficient of restitution.

    Args:
        material: Contact properties.
    """
    damping = 1e-4
    wanted = max(material.restitution, restitution_of_damping(_MAX_DAMPING))
    low, high = damping, _MAX_DAMPING
    for _ in range(50):
        damping = 0.5 * (low + high)
        low, high = (damping, high) if restitution_of_damping(damping) > wanted else (low, damping)
    return 1.0 / (_CONTACT_FREQUENCY * damping), damping


def restitution_of_damping(damping: float) -> float:
    """Return the coefficient of restitution of a spring and damper that can push but not pull.

    The bodies part when the force has fallen to zero, before the spring is fully released; even a
    critically damped contact therefore rebounds, with exp(-2) (Schwager and Poeschel 2007, eq. 21).

    Args:
        damping: Damping ratio, above 0.
    """
    if abs(damping - 1.0) < 1e-6:
        return math.exp(-2.0)
    if damping < 1.0:
        root = math.sqrt(1.0 - damping * damping)
        phase = math.atan2(2 * damping * root, 2 * damping * damping - 1.0)
        return math.exp(-damping / root * phase)
    root = math.sqrt(damping * damping - 1.0)
    return math.exp(-damping / root * math.log((damping + root) / (damping - root)))
