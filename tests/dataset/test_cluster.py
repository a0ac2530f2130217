"""Tests of failures of a Ray cluster; `test_workers` tests a working one."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.workers import run_on_ray


class RayError(Exception):
    """Base class of Ray's errors."""


class RayTaskError(RayError):
    """An error within a task."""

    def __init__(self, cause):
        self.cause = cause


class WorkerCrashedError(RayError):
    """A worker that was killed from outside."""


@pytest.fixture
def run(monkeypatch):
    """Run one job on a stand-in for Ray whose `get` raises an error."""

    def run(error):
        ended = []

        def get(_):
            raise error

        ray = ModuleType("ray")
        ray.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        ray.init = lambda **_: None
        ray.shutdown = lambda: ended.append(True)
        ray.remote = lambda **_: lambda _: SimpleNamespace(remote=lambda *arguments: arguments)
        ray.put = ray.cluster_resources = lambda *_: {}
        ray.wait = lambda waiting, **_: (waiting[:1], waiting[1:])
        ray.get = get
        monkeypatch.setitem(sys.modules, "ray", ray)
        try:
            run_on_ray(len, [()], address="auto", finished=lambda _: None)
        finally:
            assert ended == [True]

    return run


@pytest.mark.parametrize("error", [WorkerCrashedError("The worker died\nunexpectedly"), ConnectionError("x")])
def test_a_worker_that_is_lost_is_one_line(run, error):
    """A node without memory would end the run in a traceback."""
    with pytest.raises(ConfigError) as caught:
        run(error)
    name = type(error).__name__
    assert str(caught.value) == (
        f"ray = 'auto': a worker or a node was lost, perhaps for lack of memory: {name}; resume"
    )


def test_an_error_of_the_scenario_is_told_as_it_is(run):
    """A scenario's error on a node would be reported as the loss of that node."""
    with pytest.raises(ConfigError, match="no free place"):
        run(RayTaskError(ConfigError("no free place was found")))
    with pytest.raises(RayTaskError):
        run(RayTaskError(ZeroDivisionError()))
