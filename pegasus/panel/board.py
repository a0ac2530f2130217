"""Listeners and messages of the panel, and actions that report errors instead of raising them."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from pegasus.base.components import require
from pegasus.base.errors import ConfigError

_log = logging.getLogger(__name__)

P = ParamSpec("P")

_MESSAGE_LIMIT = 200


class Topic(StrEnum):
    """Subjects of change notifications."""

    WORLD = "world"
    SCENARIOS = "scenarios"
    VEHICLES = "vehicles"
    SENSORS = "sensors"
    BACKEND = "backend"
    SIMULATION = "simulation"
    VIEW = "view"
    FAULTS = "faults"
    MESSAGES = "messages"
    SCREENSHOT = "screenshot"


@dataclass(frozen=True)
class Message:
    """One-line message to the user."""

    number: int
    text: str
    error: bool


Listener = Callable[[Topic], None]


class _Warnings(logging.Handler):
    """Makes messages of what Pegasus logs, except of errors of the panel, which are messages already."""

    def __init__(self, board: "Board") -> None:
        super().__init__(logging.WARNING)
        self._board = board

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("pegasus.panel", "pegasus.session")):
            text = " ".join(record.getMessage().split())
            self._board.report(text, error=record.levelno >= logging.ERROR)


class Board:
    """Listeners and messages of a panel; safe to use from several threads.

    Warnings that Pegasus logs, such as of an autopilot that has ended, become messages too.
    """

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._listener_count = self._message_count = 0
        self._messages: deque[Message] = deque(maxlen=_MESSAGE_LIMIT)
        self._busy: list[str] = []
        self.failure: Exception | None = None
        """Last error."""
        self._warnings = _Warnings(self)
        logging.getLogger("pegasus").addHandler(self._warnings)

    @property
    def messages(self) -> list[Message]:
        """The last messages, the newest at the end."""
        return list(self._messages)

    @property
    def busy(self) -> str:
        """Action in progress that takes long, such as `loading the world`; empty if there is none."""
        busy = self._busy
        return busy[-1] if busy else ""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Register a listener, and return a function that removes it.

        Args:
            listener: Called with the topic of each change, in the thread of the change; must not block.
        """
        self._listener_count += 1
        key = self._listener_count
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    def notify(self, *topics: Topic) -> None:
        """Notify all listeners of changes."""
        for listener in list(self._listeners.values()):
            for topic in topics:
                try:
                    listener(topic)
                except Exception:  # The other listeners must still be notified.
                    _log.exception("a listener of the panel has failed")

    def report(self, text: str, *, error: bool = False) -> None:
        """Add a message.

        Args:
            text: One line.
            error: Whether it reports an error.
        """
        self._message_count += 1
        self._messages.append(Message(self._message_count, text, error))
        self.notify(Topic.MESSAGES)

    def fail(self, error: Exception) -> None:
        """Add a message about an error, with the same text as on the command line.

        The content of files is left out, because a page may name any file of this machine.
        """
        self.failure = error
        if not isinstance(error, ConfigError | RuntimeError):
            _log.error("an action of the panel has failed", exc_info=error)
            text = f"{type(error).__name__}; the terminal shows details"
        else:
            text = str(error.without_content() if isinstance(error, ConfigError) else error)
        self.report("; ".join([text, *getattr(error, "__notes__", ())]), error=True)

    def close(self) -> None:
        """Forget all listeners, and listen to the log no more."""
        logging.getLogger("pegasus").removeHandler(self._warnings)
        self._listeners.clear()

    def act(self, method: Callable[[], None], topic: Topic, doing: str, *, lock: threading.RLock) -> bool:
        """Run an action and return whether it succeeded; an error becomes a message.

        Args:
            method: The action.
            topic: Subject that it changes.
            doing: Text shown while it runs; empty for fast actions.
            lock: Held while it runs.
        """
        if doing:
            self._busy = [*self._busy, doing]
            self.notify(Topic.MESSAGES)
        failure: Exception | None = None
        try:
            with lock:
                method()
        except Exception as error:
            failure = error
        if doing:
            busy = list(self._busy)
            busy.remove(doing)
            self._busy = busy
        if failure is not None:
            self.fail(failure)
        elif doing:
            self.notify(Topic.MESSAGES)
        self.notify(topic)
        return failure is None


class Part:
    """Base of the panel's parts: a part runs one action at a time, in parallel with other parts.

    Args:
        board: Listeners and messages shared by all parts.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.lock = threading.RLock()


S = TypeVar("S", bound=Part)


def action(
    topic: Topic, doing: str = ""
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], bool]]:
    """Turn a method into an action, which returns whether it succeeded and reports errors as messages.

    Args:
        topic: Subject that the action changes.
        doing: Text shown while it runs; empty for fast actions.
    """

    def decorate(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], bool]:
        @wraps(method)
        def acting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> bool:
            return self.board.act(lambda: method(self, *args, **kwargs), topic, doing, lock=self.lock)

        return acting

    return decorate


def number(field: str, value: Any) -> float:
    """Return the input of a field as a finite number.

    Args:
        field: Name of the field.
        value: A number, or its text.

    Raises:
        ConfigError: If the value is not a finite number.
    """
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = float("nan")
    if not abs(result) < float("inf"):
        raise ConfigError("must be a finite number", field=field, value=value, remedy="correct the value")
    return result


def require_choice(field: str, value: str, allowed: Sequence[str]) -> None:
    """Check that a value is among the allowed ones.

    Raises:
        ConfigError: If it is not.
    """
    require(value in allowed, field, value, f"must be one of {', '.join(allowed)}")
