"""Saved state of objects: copies that keep who holds what, put back into the objects that stand there."""

import logging
import pickle
import re
import threading
import weakref
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.saved_state import SavedState

ZERO = np.zeros(3)
"""Constant that several objects hold."""


class Part:
    """Object of any attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def sized(self):
        return self.size


class Slotted:
    __slots__ = ("first", "second")


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class Holder:
    items: list = field(default_factory=list)


@dataclass(frozen=True)
class Parameters:
    gain: float


class Reopened:
    """Object that makes its lock-like part anew."""

    def __init__(self, name):
        self.name, self.file = name, open_file()

    def __getstate__(self):
        return self.name

    def __setstate__(self, name):
        self.__init__(name)


class Stateless:
    def __getstate__(self):
        return None

    def __setstate__(self, state):
        self.restored = True


def open_file():
    return (k for k in range(3))


def through(part, live=None, shared=None):
    """Return a part that was saved and restored, in place of another; by way of pickle too."""
    state = SavedState({"part": part}, shared or {})
    return state.restore({"part": live}, shared or {})["part"]


def test_arrays_keep_their_memory_in_common():
    """Views are restored as copies of their own, or what owned memory together is separated."""
    base = np.arange(24.0).reshape(4, 6)
    part = Part(
        base=base,
        row=base[1],
        back=base[::-1, 1:3],
        turned=base.T,
        empty=base[:0],
        again=base,
        wide=np.broadcast_to(base[0], (3, 6)),
    )
    saved = {name: values.copy() for name, values in vars(part).items()}
    made = through(part)
    base[...] = 0.0
    for name, values in saved.items():
        np.testing.assert_array_equal(getattr(made, name), values)
    assert made.again is made.base
    made.base[1, 1] = 100.0
    assert made.row[1] == made.turned[1, 1] == 100.0
    assert 100.0 in made.back
    assert not made.wide.flags.writeable
    for order in ("F", "K"):
        values = np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2).copy(order=order)
        alike = through(Part(values=values, part=values[1:]))
        np.testing.assert_array_equal(alike.values, values)
        np.testing.assert_array_equal(alike.part, values[1:])
        assert np.shares_memory(alike.values, alike.part)


def test_constants_that_others_hold_are_not_overwritten():
    """An array of a module, which an object holds at first, gets the values of a snapshot."""
    part = Part(last=np.ones(3))
    live = Part(last=ZERO)
    assert through(part, live) is live
    np.testing.assert_array_equal(live.last, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(ZERO, 0.0)


def test_containers_come_back_in_their_kinds():
    """A kind of container loses its kind, its bound, its default or its order."""
    part = Part(
        queue=deque([1, 2], maxlen=2),
        groups=defaultdict(list, {"a": [1]}),
        counts=Counter("aab"),
        pair=Pair(np.zeros(2), {1, 2}),
        nested={("a", 1): [(None, True), 2.5]},
        frozen=frozenset({3}),
        slotted=Slotted(),
        number=Decimal("1.5"),
        pattern=re.compile("a+"),
        log=logging.getLogger("pegasus.test"),
        errors=[ValueError("wrong")],
    )
    part.slotted.first = part
    made = through(part)
    made.queue.append(3)
    made.groups["b"].append(2)
    assert list(made.queue) == [2, 3]
    assert made.groups == {"a": [1], "b": [2]}
    assert part.groups == {"a": [1]}
    assert made.counts == Counter("aab")
    assert type(made.pair) is Pair
    assert made.pair.second == {1, 2}
    assert (made.nested, made.frozen, made.number) == (part.nested, part.frozen, part.number)
    assert (made.pattern, made.log, str(made.errors[0])) == (part.pattern, part.log, "wrong")
    assert made.slotted.first is made
    assert not hasattr(made.slotted, "second")


def test_objects_stay_and_lose_what_they_did_not_have():
    """A handle of an object is of no use after a restore, or an attribute of later remains."""
    part = Part(inner=Part(size=1), others=[Part(size=2)], gains=Parameters(2.0))
    state = SavedState({"part": part}, {})
    inner, other, gains = part.inner, part.others[0], part.gains
    inner.size, other.size, part.gains, part.late = 10, 20, Parameters(3.0), True
    assert state.restore({"part": part}, {})["part"] is part
    assert (part.inner, part.others[0], part.gains) == (inner, other, gains)
    assert (inner.size, other.size) == (1, 2)
    assert not hasattr(part, "late")


def test_parts_stay_wherever_they_are_met_first():
    """A part that another one got to know after a fresh start is replaced by a copy."""
    one, two = Part(peer=None), Part(size=2)
    one.peer = {two: two}
    state = SavedState({"one": one, "two": two}, {})
    fresh, peer = Part(peer=None), Part(size=0)
    state.restore({"one": fresh, "two": peer}, {})
    assert fresh.peer == {peer: peer}
    assert peer.size == 2


def test_two_objects_do_not_become_one():
    """Two saved objects are put into one, where a fresh object holds the same one twice."""
    same = Part(size=0)
    made = through(Part(a=Part(size=1), b=Part(size=2)), Part(a=same, b=same))
    assert (made.a.size, made.b.size) == (1, 2)


def test_shared_objects_are_those_of_the_other_side():
    """A restored part refers to the simulation that it was saved in, or changes a shared object."""
    world, memory = Part(size=1), np.arange(6.0)
    part = Part(world=world, view=memory[2:4], state=Part(size=5))
    state = SavedState({"part": part}, {"world": world, "memory": memory})
    other, others = Part(size=7), np.arange(6.0) + 10.0
    live = Part(world=None, view=None, state=other)
    state.restore({"part": live}, {"world": other, "memory": others})
    assert live.world is other
    assert np.shares_memory(live.view, others)
    np.testing.assert_array_equal(live.view, [12.0, 13.0])
    assert live.state is not other
    assert (live.state.size, other.size) == (5, 7)


def test_frozen_values_follow_what_they_refer_to():
    """A frozen object of a part of one simulation is used in another, with what it refers to."""

    @dataclass(frozen=True)
    class Condition:
        world: object
        when: object

    world, other = Part(size=1), Part(size=2)
    part = Part(condition=Condition(world, lambda: world.size), gains=Parameters(1.0))
    state = SavedState({"part": part}, {"world": world})
    live = Part(condition=Condition(other, None), gains=None)
    kept = live.condition
    state.restore({"part": live}, {"world": other})
    assert live.condition.world is other
    assert live.condition.when() == 2
    assert live.gains is part.gains
    assert kept.when is None


def test_functions_follow_their_objects():
    """A method, partial or closure of a restored object is that of the original."""
    part = Part(size=3)
    part.method, part.bound, part.append = part.sized, partial(Part.sized, part), [].append
    part.lists = [part.append]

    def closed():
        return part.size

    part.closed, part.plain, part.lock = closed, len, threading.RLock()
    made = through(part)
    part.size = 4
    assert (made.method(), made.bound(), made.closed(), made.plain([1])) == (3, 3, 3, 1)
    assert made.lists[0] is made.append
    made.append(1)
    assert part.append.__self__ == []
    assert made.lock is not part.lock


def test_random_streams_go_on():
    """A stream repeats or leaves out numbers, or its children are others."""
    rng = np.random.default_rng(3)
    rng.random(5)
    part = Part(rng=rng, again=[rng])
    state = SavedState({"part": part}, {})
    numbers, child = rng.random(4), rng.spawn(1)[0].random()
    for _ in range(2):
        state.restore({"part": part}, {})
        assert part.again[0] is part.rng
        np.testing.assert_array_equal(part.rng.random(4), numbers)
        assert part.rng.spawn(1)[0].random() == child


def test_classes_may_say_what_is_saved():
    """The methods of pickle are not used, or what is made anew is kept."""

    class Anew:
        saved_as = "nothing"

    part = Part(reopened=Reopened("log"), anew=Anew(), stateless=Stateless())
    live = Part(reopened=Reopened("other"), anew=Anew(), stateless=Stateless())
    live.stateless.size = 1
    file = live.reopened.file
    through(part, live)
    assert live.reopened.name == "log"
    assert live.reopened.file is not file
    assert live.anew is None
    assert vars(live.stateless) == {"size": 1, "restored": True}


@pytest.mark.parametrize(
    "value",
    [threading.Thread(), weakref.ref(Part()), open_file(), np.array([None]), type("Own", (list,), {})()],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_named(value):
    """Something whose attributes are not its state is restored in silence."""
    with pytest.raises(
        ConfigError, match=rf"^part\.deep\.0 = '{type(value).__name__}': cannot be saved; give"
    ):
        SavedState({"part": Part(deep=[value])}, {})


def test_pickled_functions_are_found_in_their_place():
    """A function that pickle refuses is lost, or its absence is not named."""
    part = Part(law=lambda: 1, size=2, module=len, method=None)
    part.method = part.sized
    state = pickle.loads(pickle.dumps(SavedState({"part": part}, {})))
    live = Part(law=part.law)
    state.restore({"part": live}, {})
    assert (live.law(), live.size, live.module([]), live.method()) == (1, 2, 0, 2)
    with pytest.raises(
        ConfigError, match=r"^part\.law = .*<lambda>': was not pickled.*restore the snapshot in"
    ):
        state.restore({"part": Part(law=None)}, {})
    for value in (local_value(), type("Local", (), {})()):
        with pytest.raises(ConfigError, match=r"^part\.value = 'Local': cannot be pickled"):
            pickle.dumps(SavedState({"part": Part(value=value)}, {}))


def local_value():
    @dataclass(frozen=True)
    class Local:
        size: int = 1

    return Local()
