"""Record runs, read them back, and say what they amount to."""

from pegasus.recording.energy import EnergyAudit, EnergyBalance
from pegasus.recording.observer import Observer
from pegasus.recording.plots import plot_flight
from pegasus.recording.reader import Log, Series, read_log
from pegasus.recording.recorder import McapRecorder
from pegasus.recording.run_folder import make_run_folder
from pegasus.recording.summary import Summary, summarize
from pegasus.recording.tracking import TrackingAudit, TrackingError, VehicleTracking

__all__ = [
    "EnergyAudit",
    "EnergyBalance",
    "Log",
    "McapRecorder",
    "Observer",
    "Series",
    "Summary",
    "TrackingAudit",
    "TrackingError",
    "VehicleTracking",
    "make_run_folder",
    "plot_flight",
    "read_log",
    "summarize",
]
