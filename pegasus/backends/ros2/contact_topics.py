"""Topics of contacts: the force of all contacts of a copy, and what it touches."""

import numpy as np

from pegasus.backends.ros2.contents import STATE_RATE, Content, Numbers
from pegasus.backends.ros2.frames import FrameNames
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import Message, message
from pegasus.contracts.state import VehicleState
from pegasus.core.aircraft import Aircraft


def contact_contents(vehicle: Aircraft) -> list[Content]:
    """Return the topic `contacts/force`: force of all contacts of a copy and their torque about its origin.

    Args:
        vehicle: The vehicle.
    """

    def make(names: FrameNames) -> Message:
        return message("geometry_msgs/msg/WrenchStamped", header={"frame_id": names.map})

    def numbers(state: VehicleState) -> Numbers:
        wrench = np.zeros((vehicle.count, 6))
        for contact in vehicle.contacts:
            arm = contact.position - state.position[contact.copy]
            wrench[contact.copy] += (*contact.force, *np.cross(arm, contact.force))
        rows: Numbers = wrench.tolist()
        return rows

    return [Content("contacts/force", make, ("header.stamp", "wrench"), numbers, RELIABLE, STATE_RATE)]


def touched(vehicle: Aircraft) -> list[str]:
    """Return what each copy touches: prims of the world and `VEHICLE/COPY`, separated by semicolons.

    Args:
        vehicle: The vehicle.
    """
    others: list[set[str]] = [set() for _ in range(vehicle.count)]
    for contact in vehicle.contacts:
        others[contact.copy].add(contact.other_name)
    return ["; ".join(sorted(names)) for names in others]
