"""Lenses and their distortion."""
