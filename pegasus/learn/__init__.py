"""Policies that learn to fly: tasks, Gymnasium's environments, training, and policies as backends."""

from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.task import Task
from pegasus.learn.terms import Term

__all__ = ["Draws", "Episodes", "Task", "Term"]
