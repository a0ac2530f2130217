"""Flights of scenarios."""

from pegasus.experiments.flight import Flight, Run, plot_run

__all__ = ["Flight", "Run", "plot_run"]
