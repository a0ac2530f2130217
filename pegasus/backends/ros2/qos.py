"""Qualities of service: how samples reach their readers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class QoS:
    """How a topic's samples reach its readers."""

    reliable: bool = True
    """Whether a lost sample is sent again; a reader that asks for this gets nothing from one who does not."""
    latched: bool = False
    """Whether who joins late gets the last samples: transient local durability."""
    depth: int = 10
    """Samples kept, at the writer for who joins late, at the reader until they are taken."""


SENSOR_DATA = QoS(reliable=False, depth=5)
"""For readings, of which the newest counts."""
PICTURES = QoS(depth=5)
"""For images and points, which one lost fragment of many spoils: a reader may have it sent again."""
RELIABLE = QoS()
"""For commands and whatever must arrive."""
LATCHED = QoS(latched=True, depth=1)
"""For what is said once: static transforms, calibrations."""
CLOCK = QoS(reliable=False, depth=1)
"""For simulation time, of which the newest counts."""
