"""Sessions: simulations that run in a thread, their snapshots, and sources of poses: live or logged."""

from pegasus.contracts.source import Frame, Source
from pegasus.session.observers import Watch
from pegasus.session.session import Session
from pegasus.session.snapshot import Snapshot, VehicleSnapshot, Viewpoint
from pegasus.session.sources import LiveSource, LogSource

__all__ = [
    "Frame",
    "LiveSource",
    "LogSource",
    "Session",
    "Snapshot",
    "Source",
    "VehicleSnapshot",
    "Viewpoint",
    "Watch",
]
