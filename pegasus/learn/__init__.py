"""Policies that learn to fly: tasks, Gymnasium's environments, training, and policies as backends."""

from importlib import import_module
from typing import Any

from pegasus.base.errors import package_error
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.flights import Flights, evaluate
from pegasus.learn.registration import TASKS, register
from pegasus.learn.task import Task
from pegasus.learn.terms import Term

_LATER = {
    "FleetEnv": "environment",
    "SingleEnv": "environment",
    "Sb3Env": "sb3",
    "RslEnv": "rsl",
    "GroupEnv": "parallel",
    "PolicyController": "policy_controller",
    "Training": "training",
    "Layer": "policy_file",
    "Description": "policy_file",
    "write_policy": "policy_file",
}
"""Names whose modules need packages of the extra `learn`."""

__all__ = ["TASKS", "Draws", "Episodes", "Flights", "Task", "Term", "evaluate", "register", *_LATER]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used.

    Raises:
        ConfigError: If a package that it needs is not installed.
    """
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"pegasus.learn.{_LATER[name]}"), name)
    except ModuleNotFoundError as error:
        raise package_error(error) from None
