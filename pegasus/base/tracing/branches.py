"""Branches of scalar code: operations that only one side of a condition needs are run on that side only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from pegasus.base.tracing.symbols import TRUTH, Symbol

WORTH = 24
"""Number of operations from which on a jump costs less than they do on one row."""


@dataclass(frozen=True)
class Branch:
    """Choices by one condition, and the operations that only one of its sides needs, in order."""

    choices: tuple[Symbol, ...]
    sides: tuple[list[Symbol], list[Symbol]]

    @property
    def members(self) -> list[Symbol]:
        """All operations."""
        return [*self.choices, *self.sides[0], *self.sides[1]]


def with_branches(
    operations: Sequence[Symbol], kept: set[int], worth: int = WORTH
) -> "list[Symbol | Branch]":
    """Return operations in an order in which each follows those that it needs, with branches.

    Args:
        operations: Operations, each after those that it needs.
        kept: Numbers of those that are needed afterwards, or cannot be in a branch.
        worth: Least number of operations of a branch.
    """
    users: dict[int, list[Symbol]] = {s.place: [] for s in operations}
    for s in operations:
        for a in s.operands:
            if a.place in users:
                users[a.place].append(s)
    owner: dict[int, Branch] = {}
    for branch in sorted(_branches(operations, users, kept, worth), key=lambda b: -len(b.members)):
        apart = not any(s.place in owner for s in branch.members)
        if apart and not _needs_itself(users, branch, owner):
            owner |= {s.place: branch for s in branch.members}
    done = set[int]()
    ordered: list[Symbol | Branch] = []
    waiting = list(reversed(operations))
    while waiting:
        s = waiting.pop()
        if s.place in done:
            continue
        part: Symbol | Branch = owner.get(s.place, s)
        members = part.members if isinstance(part, Branch) else [s]
        places = {m.place for m in members}
        needed = [
            a
            for m in members
            for a in m.operands
            if a.place in users and a.place not in done and a.place not in places
        ]
        if needed:
            waiting += [s, *needed]
        else:
            done |= places
            ordered.append(part)
    return ordered


def _branches(
    operations: Sequence[Symbol], users: Mapping[int, list[Symbol]], kept: set[int], worth: int
) -> list[Branch]:
    """Return the branches that are worth a jump."""
    groups: dict[int, list[Symbol]] = {}
    for s in operations:
        if s.op == "select" and s.kind != TRUTH:
            groups.setdefault(s.args[0].place, []).append(s)
    found: list[Branch] = []
    for choices in groups.values():
        while choices:
            sides = [_side(users, kept, choices, k) for k in (1, 2)]
            needed = {a.place for side in sides for s in side for a in s.operands}
            if any(s.place in needed for s in choices):
                # They are made within the side that needs them.
                choices = [s for s in choices if s.place not in needed]
                continue
            if len(sides[0]) + len(sides[1]) < worth:
                break
            branch = Branch(tuple(choices), (sides[0], sides[1]))
            if not _needs_itself(users, branch, {}):
                found.append(branch)
                break
            # The last choices need what others from outside make of the first ones.
            choices = choices[: len(choices) // 2]
    return found


def _side(
    users: Mapping[int, list[Symbol]], kept: set[int], choices: Sequence[Symbol], k: int
) -> list[Symbol]:
    """Return the operations that only side k of choices needs."""
    chosen, inside = {s.place for s in choices}, dict[int, Symbol]()

    def is_needed_there(s: Symbol, user: Symbol) -> bool:
        others: Any = [a for n, a in enumerate(user.args) if n != k]
        return user.place in inside or (user.place in chosen and all(a is not s for a in others))

    # Operations stand after those that they need: all users of one are looked at before itself.
    waiting: list[Any] = [(-a.place, a) for s in choices for a in (s.args[k],) if isinstance(a, Symbol)]
    heapify(waiting)
    while waiting:
        _, s = heappop(waiting)
        free = s.place in users and s.place not in kept and s.place not in chosen
        if free and s.place not in inside and all(is_needed_there(s, user) for user in users[s.place]):
            inside[s.place] = s
            for a in s.operands:
                heappush(waiting, (-a.place, a))
    return [inside[place] for place in sorted(inside)]


def _needs_itself(users: Mapping[int, list[Symbol]], branch: Branch, owner: Mapping[int, Branch]) -> bool:
    """Return whether a branch needs an operation from outside, or another branch, that needs the branch."""
    members, later = {s.place for s in branch.members}, set[int]()
    outside = {a.place for s in branch.members for a in s.operands if a.place in users} - members
    # What comes after all of these operations matters only if it is of a branch that has earlier ones.
    last = max(max(outside, default=-1), max(owner, default=-1))
    waiting = [user for s in branch.members for user in users[s.place]]
    while waiting:
        s = waiting.pop()
        if s.place > last or s.place in members or s.place in later:
            continue
        for m in owner[s.place].members if s.place in owner else [s]:
            later.add(m.place)
            waiting += users[m.place]
    return not later.isdisjoint(outside)
