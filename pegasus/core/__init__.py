"""Simulation, vehicles and the step, and the contracts of engine, renderer, sensor, backend and observer."""
