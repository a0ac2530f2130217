"""Flights of scenarios, and sweeps over seeds and settings."""

from pegasus.experiments.flight import Flight, Run, plot_run
from pegasus.experiments.sweep import sweep
from pegasus.experiments.table import Row

__all__ = ["Flight", "Row", "Run", "plot_run", "sweep"]
