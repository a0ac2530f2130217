"""Multirotor simulator: exact dynamics, honest sensors, many vehicles."""
