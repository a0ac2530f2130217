"""Vehicles, backends, sensors, people and the interface."""
