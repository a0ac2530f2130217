"""Verdicts on flights: what is expected of vehicles while they fly, and whether it came true."""

from pegasus.recording.verdict import Verdict
from pegasus.verdicts.expectations import Expectations
from pegasus.verdicts.quantities import quantity_names

__all__ = ["Expectations", "Verdict", "quantity_names"]
