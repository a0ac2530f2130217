"""Flights of scenarios, and sweeps over seeds and settings."""

from typing import TYPE_CHECKING

from pegasus.experiments.means import means, means_table
from pegasus.experiments.survival import Survival, is_varied, survival, survival_table
from pegasus.experiments.sweep import sweep
from pegasus.experiments.table import Row

if TYPE_CHECKING:
    from pegasus.experiments.flight import Flight, Run, plot_run

__all__ = [
    "Flight",
    "Row",
    "Run",
    "Survival",
    "is_varied",
    "means",
    "means_table",
    "plot_run",
    "survival",
    "survival_table",
    "sweep",
]


def __getattr__(name: str) -> object:
    """Return what flies, imported now: the process that shares out a sweep does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegasus.experiments import flight

    return getattr(flight, name)
