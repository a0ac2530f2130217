"""Tests for Kit itself; they need Isaac Sim and are found and run there."""

from pegasus.isaac.tests.test_flight import TestFlight
from pegasus.isaac.tests.test_window import TestWindow

__all__ = ["TestFlight", "TestWindow"]
