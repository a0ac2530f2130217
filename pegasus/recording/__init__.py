"""Recording of runs as MCAP logs, reading of logs, audits, summaries and plots."""

from pegasus.contracts.observer import Observer
from pegasus.recording.audits import EnergyAudit, EnergyBalance, TrackingAudit, TrackingError, VehicleTracking
from pegasus.recording.comparison import PathDistances, Track, compare_tracks, read_track
from pegasus.recording.flight_data import FlightData, read_neurobem
from pegasus.recording.flight_records import read_flight
from pegasus.recording.foxglove_layout import write_layout
from pegasus.recording.images import IMAGE_MESSAGES, ImageMessage
from pegasus.recording.log import Log, Series
from pegasus.recording.outcome import OUTCOMES, Outcome, OutcomeAudit
from pegasus.recording.plots import plot_flight
from pegasus.recording.reader import read_log
from pegasus.recording.recorder import McapRecorder
from pegasus.recording.residuals import WrenchResiduals, wrench_residuals
from pegasus.recording.schemas import MessageType
from pegasus.recording.summary import Summary, make_run_folder, summarize
from pegasus.recording.verdict import Verdict

__all__ = [
    "IMAGE_MESSAGES",
    "OUTCOMES",
    "EnergyAudit",
    "EnergyBalance",
    "FlightData",
    "ImageMessage",
    "Log",
    "McapRecorder",
    "MessageType",
    "Observer",
    "Outcome",
    "OutcomeAudit",
    "PathDistances",
    "Series",
    "Summary",
    "Track",
    "TrackingAudit",
    "TrackingError",
    "VehicleTracking",
    "Verdict",
    "WrenchResiduals",
    "compare_tracks",
    "make_run_folder",
    "plot_flight",
    "read_flight",
    "read_log",
    "read_neurobem",
    "read_track",
    "summarize",
    "wrench_residuals",
    "write_layout",
]
