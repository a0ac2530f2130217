"""Contacts of a vehicle's copies: with what, where, and how hard."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.core.engine import BodyIds, Contacts


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact point of one copy of a vehicle in the last step."""

    copy: int
    """Index of the copy."""
    other: str
    """Name of the other vehicle, or path of the prim of the world, which begins with a slash."""
    other_copy: int
    """Index of the copy of the other vehicle, -1 for the world."""
    position: Array
    """Contact point in the world [m], shape (3,)."""
    normal: Array
    """Unit normal towards the copy in the world, shape (3,)."""
    force: Array
    """Mean force on the copy over the step, world frame [N], shape (3,)."""


def contacts_of(name: str, ids: Mapping[str, BodyIds], contacts: Contacts) -> list[Contact]:
    """Return the contacts of a vehicle, copy by copy.

    Args:
        name: Name of the vehicle.
        ids: Handles of the bodies of each vehicle by name, one for each copy.
        contacts: Contacts of the engine.
    """
    sides = (contacts.body, contacts.other, 1.0), (contacts.other, contacts.body, -1.0)
    rows = [np.flatnonzero(np.isin(near, ids[name])).tolist() for near, _, _ in sides]
    if not any(rows):
        return []
    owners = {body: (owner, k) for owner, bodies in ids.items() for k, body in enumerate(bodies.tolist())}
    found = []
    for (near, far, sign), touching in zip(sides, rows, strict=True):
        for row in touching:
            other = owners.get(int(far[row]), (str(contacts.surface[row]), -1))
            vectors = contacts.position[row], sign * contacts.normal[row], sign * contacts.force[row]
            found.append(Contact(owners[int(near[row])][1], *other, *vectors))
    return sorted(found, key=lambda contact: contact.copy)
