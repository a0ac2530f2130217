"""Control panel, independent of any GUI toolkit: worlds, vehicles, backends, runs and telemetry."""

from pegasus.panel.board import Message, Topic
from pegasus.panel.panel import Panel
from pegasus.panel.telemetry import History, Telemetry, telemetry
from pegasus.panel.view_part import CameraMode, Drawing

__all__ = [
    "CameraMode",
    "Drawing",
    "History",
    "Message",
    "Panel",
    "Telemetry",
    "Topic",
    "telemetry",
]
