"""What the messages of cameras and lidars have in common."""

from typing import Any, NamedTuple

from pegasus.arrays import Array


class PictureMessage(NamedTuple):
    """A message beside the reading that it comes from."""

    topic: str
    """Topic below that of the sensor, such as `left/rgb`."""
    schema: dict[str, Any]
    content: dict[str, Any]


def time_of(stamp: int) -> dict[str, int]:
    """Return a time as Foxglove's messages have it.

    Args:
        stamp: The time [ns].
    """
    return dict(zip(("sec", "nsec"), divmod(stamp, 1_000_000_000), strict=True))


def frame_of(frame: str, part: str, copy: int, count: int) -> tuple[str, str]:
    """Return what stands before the topics of one lens or copy, and the name of its frame.

    Args:
        frame: Frame of the sensor, such as `iris/front`.
        part: Name within the sensor: `left`, `right` or nothing.
        copy: The copy of the vehicle.
        count: Number of copies.
    """
    place = [item for item in (part, str(copy) if count > 1 else "") if item]
    return "".join(f"{item}/" for item in place), "/".join([frame, *place])


def pose_message(head: dict[str, Any], position: Array, orientation: Array) -> dict[str, Any]:
    """Return the message that places a frame in the world.

    Args:
        head: Time and frame of the messages that lie in it.
        position: Its origin [m], shape (3,).
        orientation: Unit quaternion xyzw, frame to world, shape (4,).
    """
    transform = {
        "timestamp": head["timestamp"],
        "parent_frame_id": "world",
        "child_frame_id": head["frame_id"],
        "translation": dict(zip("xyz", position.tolist(), strict=True)),
        "rotation": dict(zip("xyzw", orientation.tolist(), strict=True)),
    }
    return {"transforms": [transform]}
