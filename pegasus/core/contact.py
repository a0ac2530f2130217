"""Contacts of a vehicle's copies: with what, where, and how hard."""

from collections.abc import Mapping
from dataclasses import dataclass

from pegasus.base.arrays import Array
from pegasus.contracts.engine import BodyIds, Contacts


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

    @property
    def other_name(self) -> str:
        """Name of what is touched: the path of a prim of the world, or `VEHICLE/COPY`."""
        return self.other if self.other_copy < 0 else f"{self.other}/{self.other_copy}"


def contacts_by_vehicle(ids: Mapping[str, BodyIds], contacts: Contacts) -> dict[str, list[Contact]]:
    """Return the contacts of each vehicle by name, copy by copy.

    Args:
        ids: Handles of the bodies of each vehicle by name, one for each copy.
        contacts: Contacts of the engine.
    """
    found: dict[str, list[Contact]] = {name: [] for name in ids}
    if not len(contacts.body):
        return found
    owners = {body: (name, k) for name, bodies in ids.items() for k, body in enumerate(bodies.tolist())}
    pairs = zip(contacts.body.tolist(), contacts.other.tolist(), contacts.surface, strict=True)
    vectors = zip(contacts.position, contacts.normal, contacts.force, strict=True)
    for (body, other, surface), (position, normal, force) in zip(pairs, vectors, strict=True):
        name, copy = owner = owners[body]
        name_2, copy_2 = other_owner = owners.get(other, (str(surface), -1))
        found[name].append(Contact(copy, *other_owner, position, normal, force))
        if copy_2 >= 0:
            found[name_2].append(Contact(copy_2, *owner, position, -normal, -force))
    for own in found.values():
        own.sort(key=lambda contact: contact.copy)
    return found
