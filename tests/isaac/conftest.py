"""Fixtures that install the fakes of Isaac Sim for the duration of a test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.isaac import fakes
from tests.isaac.contract import NEWEST
from tests.isaac.user import User


@pytest.fixture
def isaac() -> Iterator[Callable[..., fakes.Kit]]:
    """Return a function that starts the fakes of a version; a logged error fails the test."""
    started: list[fakes.Kit] = []

    def start(version: str = NEWEST, **options: Any) -> fakes.Kit:
        started.append(fakes.install(version, **options))
        return started[-1]

    try:
        yield start
    finally:
        if started:
            fakes.uninstall()
    if started:
        assert not started[-1].errors(), "\n".join(started[-1].tracebacks) or started[-1].errors()


@pytest.fixture
def window(isaac: Callable[..., fakes.Kit]) -> Iterator[Callable[..., User]]:
    """Return a function that starts the fakes with the extension enabled and returns its user."""
    users: list[User] = []

    def start(version: str = NEWEST, **options: Any) -> User:
        users.append(User(isaac(version, **options)))
        return users[-1]

    yield start
    for user in users:
        user.extension.on_shutdown()
