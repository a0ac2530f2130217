"""Policies that learn to fly: tasks, Gymnasium's environments, training, and policies as backends."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pegasus.base.errors import package_error
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.flights import Flights, evaluate
from pegasus.learn.learning import Learning
from pegasus.learn.policy_controller import PolicyController
from pegasus.learn.policy_file import Description, Layer, write_policy
from pegasus.learn.policy_px4 import PolicyPX4
from pegasus.learn.registration import TASKS, register
from pegasus.learn.task import Task
from pegasus.learn.terms import Term
from pegasus.learn.training import Progress, Training
from pegasus.learn.verdict import Result

_LATER = {
    "FleetEnv": "environment",
    "GroupEnv": "parallel",
    "RslEnv": "rsl",
    "Sb3Env": "sb3",
    "SingleEnv": "environment",
    "train_campaign": "campaign",
}
"""Names whose modules are imported when they are used: they need other packages, or much time."""

__all__ = [
    "TASKS",
    "Description",
    "Draws",
    "Episodes",
    "FleetEnv",
    "Flights",
    "GroupEnv",
    "Layer",
    "Learning",
    "PolicyController",
    "PolicyPX4",
    "Progress",
    "Result",
    "RslEnv",
    "Sb3Env",
    "SingleEnv",
    "Task",
    "Term",
    "Training",
    "evaluate",
    "register",
    "train_campaign",
    "write_policy",
]

if find_spec("gymnasium"):
    register()


def __getattr__(name: str) -> Any:
    """Import what is imported when it is first used.

    Raises:
        ConfigError: If a package that it needs is not installed.
    """
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"pegasus.learn.{_LATER[name]}"), name)
    except ModuleNotFoundError as error:
        raise package_error(error) from None
