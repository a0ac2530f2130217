"""Calls of Pegasus Simulator 5.1 as a thin layer on Pegasus, so that its scripts run here.

Import paths, names and arguments are those of Pegasus Simulator; the code is that of Pegasus. New scripts use
`pegasus.Simulation` and `pegasus.Multirotor` instead: docs/from_pegasus_simulator.md has both side by side.
"""
