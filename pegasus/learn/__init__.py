"""Policies that learn to fly: tasks, Gymnasium's environments, training, and policies as backends."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pegasus.base.errors import package_error
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.flights import Flights, evaluate
from pegasus.learn.policy_controller import PolicyController
from pegasus.learn.policy_file import Description, Layer, write_policy
from pegasus.learn.policy_px4 import PolicyPX4
from pegasus.learn.registration import TASKS, register
from pegasus.learn.task import Task
from pegasus.learn.terms import Term
from pegasus.learn.training import Progress, Training

_ENVIRONMENTS = {
    "FleetEnv": "environment",
    "GroupEnv": "parallel",
    "RslEnv": "rsl",
    "Sb3Env": "sb3",
    "SingleEnv": "environment",
}
"""Names whose modules need packages of other people's interfaces."""

__all__ = [
    "TASKS",
    "Description",
    "Draws",
    "Episodes",
    "FleetEnv",
    "Flights",
    "GroupEnv",
    "Layer",
    "PolicyController",
    "PolicyPX4",
    "Progress",
    "RslEnv",
    "Sb3Env",
    "SingleEnv",
    "Task",
    "Term",
    "Training",
    "evaluate",
    "register",
    "write_policy",
]

if find_spec("gymnasium"):
    register()


def __getattr__(name: str) -> Any:
    """Import an environment when it is first used.

    Raises:
        ConfigError: If a package that it needs is not installed.
    """
    if name not in _ENVIRONMENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"pegasus.learn.{_ENVIRONMENTS[name]}"), name)
    except ModuleNotFoundError as error:
        raise package_error(error) from None
