"""Strict fakes of the Isaac Sim modules that Pegasus uses, with MuJoCo as physics.

An unknown name or keyword raises AttributeError or TypeError. `test_contract.py` compares the signatures with
the contract. The behaviour follows the public sources of 5.1.0 and 6.0.1 to 6.2.0; it was not compared with
a running Isaac Sim.
"""

from tests.isaac.fakes.application import Kit, kit
from tests.isaac.fakes.modules import install, uninstall

__all__ = ["Kit", "install", "kit", "uninstall"]
