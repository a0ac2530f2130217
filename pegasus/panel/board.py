"""What all parts of the panel share: listeners, messages, and actions that report instead of raising."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from pegasus.errors import ConfigError

_log = logging.getLogger(__name__)

P = ParamSpec("P")

_MESSAGE_LIMIT = 200


class Topic(StrEnum):
    """What may have changed."""

    WORLD = "world"
    SCENARIOS = "scenarios"
    VEHICLES = "vehicles"
    SENSORS = "sensors"
    BACKEND = "backend"
    SIMULATION = "simulation"
    VIEW = "view"
    MESSAGES = "messages"
    SCREENSHOT = "screenshot"


@dataclass(frozen=True)
class Message:
    """A line for the user."""

    number: int
    text: str
    error: bool


Listener = Callable[[Topic], None]


class Board:
    """Listeners and messages of a panel; safe to use from several threads."""

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._listener_count = self._message_count = 0
        self._messages: deque[Message] = deque(maxlen=_MESSAGE_LIMIT)
        self._busy: list[str] = []
        self.failure: Exception | None = None
        """What went wrong last."""

    @property
    def messages(self) -> list[Message]:
        """The last messages, the newest at the end."""
        return list(self._messages)

    @property
    def busy(self) -> str:
        """What is going on that takes its time; empty where nothing is."""
        busy = self._busy
        return busy[-1] if busy else ""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell somebody of every change from now on, and return what ends that.

        Args:
            listener: Called with what has changed, in the thread that has changed it; it must not wait.
        """
        self._listener_count += 1
        key = self._listener_count
        self._listeners[key] = listener
        return lambda: self._drop(key)

    def notify(self, *topics: Topic) -> None:
        """Tell everybody what has changed.

        Args:
            topics: What has.
        """
        for listener in list(self._listeners.values()):
            for topic in topics:
                try:
                    listener(topic)
                except Exception:  # One that fails must not keep the others from hearing of it.
                    _log.exception("a listener of the panel has failed")

    def report(self, text: str, *, error: bool = False) -> None:
        """Add a message.

        Args:
            text: One line.
            error: Whether it says that something went wrong.
        """
        self._message_count += 1
        self._messages.append(Message(self._message_count, text, error))
        self.notify(Topic.MESSAGES)

    def fail(self, error: Exception) -> None:
        """Add a message on what went wrong, in the words of the command line.

        What stands in a file is left out: a page may name any file of this machine.

        Args:
            error: What was raised.
        """
        self.failure = error
        if not isinstance(error, ConfigError | RuntimeError):
            _log.error("an action of the panel has failed", exc_info=error)
            text = f"{type(error).__name__}; the terminal says more"
        else:
            text = str(error.without_content() if isinstance(error, ConfigError) else error)
        self.report("; ".join([text, *getattr(error, "__notes__", ())]), error=True)

    def close(self) -> None:
        """Forget all listeners."""
        self._listeners.clear()

    def act(self, method: Callable[[], None], topic: Topic, doing: str, *, lock: threading.RLock) -> bool:
        """Do something, and return whether it went well; what went wrong is a message.

        Args:
            method: What is done.
            lock: Held while it is done.
            topic: What changes by it.
            doing: What is shown meanwhile; empty for what is quick.
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

    def _drop(self, key: int) -> None:
        self._listeners.pop(key, None)


class Part:
    """A part of the panel; its actions are done one after the other, those of other parts meanwhile.

    Args:
        board: What all parts share.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.lock = threading.RLock()


S = TypeVar("S", bound=Part)


def action(
    topic: Topic, doing: str = ""
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], bool]]:
    """Make a method an action: it returns whether it went well, and what went wrong is a message.

    Args:
        topic: What changes by it.
        doing: What is shown meanwhile; empty for what is quick.
    """

    def decorate(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], bool]:
        @wraps(method)
        def acting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> bool:
            return self.board.act(lambda: method(self, *args, **kwargs), topic, doing, lock=self.lock)

        return acting

    return decorate


def number(field: str, value: Any) -> float:
    """Return what was typed into a field as a finite number.

    Args:
        field: Name of the field.
        value: A number, or its text.

    Raises:
        ConfigError: If it is none.
    """
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = float("nan")
    if not abs(result) < float("inf"):
        raise ConfigError("must be a finite number", field=field, value=value, remedy="correct the value")
    return result
