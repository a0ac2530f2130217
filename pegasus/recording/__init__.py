"""Recording of runs as MCAP logs, reading of logs, audits, summaries and plots."""

from pegasus.core.observer import Observer
from pegasus.recording.audits import EnergyAudit, EnergyBalance, TrackingAudit, TrackingError, VehicleTracking
from pegasus.recording.comparison import PathDistances, Track, compare_tracks, read_track
from pegasus.recording.foxglove_layout import write_layout
from pegasus.recording.images import IMAGE_MESSAGES, ImageMessage
from pegasus.recording.log import Log, Series
from pegasus.recording.plots import plot_flight
from pegasus.recording.reader import read_log
from pegasus.recording.recorder import McapRecorder
from pegasus.recording.schemas import MessageType
from pegasus.recording.summary import Summary, make_run_folder, summarize

__all__ = [
    "IMAGE_MESSAGES",
    "EnergyAudit",
    "EnergyBalance",
    "ImageMessage",
    "Log",
    "McapRecorder",
    "MessageType",
    "Observer",
    "PathDistances",
    "Series",
    "Summary",
    "Track",
    "TrackingAudit",
    "TrackingError",
    "VehicleTracking",
    "compare_tracks",
    "make_run_folder",
    "plot_flight",
    "read_log",
    "read_track",
    "summarize",
    "write_layout",
]
