"""All backends that a scenario file can name."""

from pegasus.backends.backend import Backend
from pegasus.control import CONTROLLERS

BACKENDS: dict[str, type[Backend]] = {**CONTROLLERS}
"""Shipped backends by their name in YAML."""
