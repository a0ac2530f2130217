"""ArduPilot, in lockstep over JSON."""
