"""The world `town`."""

from pegasus.scene.worlds.town.town import Town

__all__ = ["Town"]
