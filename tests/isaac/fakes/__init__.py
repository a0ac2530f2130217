"""Strict stand-ins of the modules of Isaac Sim that Pegasus uses, with MuJoCo for physics.

What a fake does not know raises AttributeError or TypeError, so that a wrong name or keyword shows. The
signatures are compared with the contract in `test_fakes.py`. Behaviour follows the public sources of 5.1.0
and 6.0.1; nothing here was compared with a running Isaac Sim.
"""

from tests.isaac.fakes.application import Kit, kit
from tests.isaac.fakes.modules import install, uninstall

__all__ = ["Kit", "install", "kit", "uninstall"]
