"""Figures of papers and their parameter files, computed again with the models of this package."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pegasus.experiments.published.airsim import compare_airsim
from pegasus.experiments.published.comparison import Entry, Panel, PublishedComparison, plot_comparison
from pegasus.experiments.published.hector import compare_hector
from pegasus.experiments.published.rotors import compare_rotors

PUBLISHED: Mapping[str, Callable[[], PublishedComparison]] = MappingProxyType(
    {"airsim": compare_airsim, "hector": compare_hector, "rotors": compare_rotors}
)
"""Functions that compute a comparison, by its name."""

__all__ = ["PUBLISHED", "Entry", "Panel", "PublishedComparison", "plot_comparison"]
