"""Faults of a vehicle's links: which messages are lost, late or sent twice."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from pegasus.base.random_numbers import draw_key, philox, uniform
from pegasus.base.step_math import Word
from pegasus.base.streams import stream
from pegasus.contracts.fault import Injection

M = TypeVar("M")

LINKS = ("mavlink", "json", "ros2")
"""Links that can fail: those by which PX4 and ArduPilot get readings, and topics of ROS 2."""


class LinkState:
    """Faults that act on the links of a vehicle at this step."""

    def __init__(self) -> None:
        self._acting: dict[str, list[Injection]] = {}
        self._keys: dict[str, int] = {}
        # Messages that have had a draw, by link, copy and channel: a fault that comes again draws anew.
        self._drawn: Counter[tuple[str, int, int]] = Counter()

    def reset(self, seed: int, vehicle: str) -> None:
        """Begin anew without faults.

        Args:
            seed: Seed of the simulation.
            vehicle: Name of the vehicle.
        """
        self._acting = {}
        self._drawn.clear()
        self._keys = {link: draw_key(stream(seed, vehicle, "link", link)) for link in LINKS}

    def take(self, acting: Sequence[Injection]) -> None:
        """Take the faults of links among those that act now.

        Args:
            acting: Faults of the vehicle.
        """
        if not acting and not self._acting:
            return
        self._acting = {}
        for injection in acting:
            link = getattr(injection.fault, "link", None)
            if link in LINKS:
                self._acting.setdefault(str(link), []).append(injection)

    def fail(self, link: str) -> bool:
        """Return whether a fault acts on a link."""
        return link in self._acting

    def values(self, link: str, copy: int) -> dict[str, float]:
        """Return shares of lost and doubled messages and the delay [s] of a link, as `LinkFault` names them.

        Args:
            link: One of `LINKS`.
            copy: Index of the copy.
        """
        found = {"loss": 0.0, "duplicate": 0.0, "delay": 0.0}
        for injection in self._acting.get(link, ()):
            fault: Any = injection.fault
            if injection.active[copy]:
                amount = float(fault.amount) * float(injection.intensity[copy])
                if fault.kind == "delay":
                    found["delay"] += amount
                else:
                    found[fault.kind] = 1.0 - (1.0 - found[fault.kind]) * (1.0 - amount)
        return found

    def draw(self, link: str, copy: int, channel: int) -> tuple[float, float]:
        """Return two numbers between 0 and 1 of the next message.

        Args:
            link: One of `LINKS`.
            copy: Index of the copy.
            channel: Number of the topic, whose messages have numbers of their own.
        """
        self._drawn[link, copy, channel] += 1
        key, number = self._keys.get(link, 0), self._drawn[link, copy, channel]
        a, b, _, _ = philox(Word(key), Word(number & 0xFFFFFFFF), Word(copy), Word(channel), Word(2))
        return uniform(a), uniform(b)


class FaultyLine:
    """Messages of one copy on a link with faults, in their order.

    Args:
        state: Faults of the links of the vehicle.
        link: One of `LINKS`.
        copy: Index of the copy.
        channel: Number of the topic.
    """

    def __init__(self, state: LinkState, link: str, copy: int, channel: int = 0) -> None:
        self._state, self._link, self._copy, self._channel = state, link, copy, channel
        self._waiting: list[tuple[float, Any]] = []

    @property
    def is_idle(self) -> bool:
        """Whether messages pass unchanged: no fault acts, and none is under way."""
        return not self._waiting and not self._state.fail(self._link)

    def passed(self, messages: Sequence[M], t: float) -> list[M]:
        """Return the messages that arrive now: those of this step and those that were late.

        A late message is never overtaken by a later one.

        Args:
            messages: Messages that are sent now.
            t: Simulation time [s].
        """
        values = self._state.values(self._link, self._copy)
        for message in messages:
            lost, doubled = self._state.draw(self._link, self._copy, self._channel)
            if lost < values["loss"]:
                continue
            copies = 2 if doubled < values["duplicate"] else 1
            due = t + values["delay"]
            if self._waiting:
                due = max(due, self._waiting[-1][0]) if values["delay"] else due
            self._waiting += [(due, message)] * copies
        count = 0
        while count < len(self._waiting) and self._waiting[count][0] <= t + 1e-9:
            count += 1
        if not values["delay"]:
            # A healed link delivers what was under way.
            count = len(self._waiting)
        arrived, self._waiting = self._waiting[:count], self._waiting[count:]
        return [message for _, message in arrived]
