"""The world `town`."""

from pegasus.worlds.town.town import Town

__all__ = ["Town"]
