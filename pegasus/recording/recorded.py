"""Records of commands, joints, faults and contacts of a vehicle in logs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.core.contact import Contact


@dataclass(eq=False)
class Command:
    """Commands that a vehicle obeys until the next step."""

    command: Array
    """Commands within their limits, in the order and units of `channels` of the metadata, shape (N, U)."""


@dataclass(eq=False)
class JointAngles:
    """Angles of the joints of a vehicle."""

    angle: Array
    """Angles [rad], in the order of `channels` of the metadata, shape (N, J)."""


@dataclass(eq=False)
class ActingFaults:
    """Faults that act from now on; recorded when one begins or ends."""

    names: str
    """Their names, separated by semicolons."""
    fault_count: Array
    """Number of faults by copy, shape (N,)."""


@dataclass(eq=False)
class ContactForces:
    """Contacts of the step that has ended."""

    others: str
    """Names of all that is touched, separated by semicolons: prims of the world, and `<vehicle>/<copy>`."""
    contact_count: IntArray
    """Number of contact points of each copy, shape (N,)."""
    force: Array
    """Mean force of all contacts on each copy over the step, world frame [N], shape (N, 3)."""

    @classmethod
    def of(cls, contacts: Sequence[Contact], count: int) -> "ContactForces":
        """Return the sums of contacts of `count` copies."""
        others = sorted({contact.other_name for contact in contacts})
        found = cls("; ".join(others), np.zeros(count, dtype=np.int64), np.zeros((count, 3)))
        for contact in contacts:
            found.contact_count[contact.copy] += 1
            found.force[contact.copy] += contact.force
        return found
