"""Tests of serialized messages against Cyclone DDS's serializer."""

import itertools

import pytest
from ros2_types import KINDS

from pegasus.backends.ros2.messages import decode, encode, fields, message


@pytest.fixture(scope="module")
def other(kind):
    """Return the peer's module, which declares the types for the other serializer."""
    if kind == "rclpy":
        pytest.skip("both cannot be in one process")
    pytest.importorskip("cyclonedds")
    import dds_peer

    return dds_peer


def filled(kind, numbers):
    """Return a message's fields with consecutive values and sequences of three elements."""

    def one(field):
        number = next(numbers)
        if field.nested:
            return filled(field.base, numbers)
        if field.base == "string":
            return "x" * (number % 7)
        if field.base == "bool":
            return bool(number % 2)
        return number + 0.5 if field.base.startswith("float") else number % 100

    values = {}
    for field in fields(kind):
        if field.many:
            values[field.name] = [one(field) for _ in range(field.length or 3)]
            if field.base == "uint8":
                values[field.name] = bytes(values[field.name])
        else:
            values[field.name] = one(field)
    return values


@pytest.mark.parametrize("first", range(8))
def test_another_coder_makes_the_same_bytes(other, first):
    """A type without a ROS reference, such as odometry, would have wrong padding or order."""
    for name, kind in KINDS.items():
        # Other first values give texts of other lengths, and so other padding.
        content = filled(kind, itertools.count(first))
        theirs = other.built(getattr(other.messages, name), content).serialize(use_version_2=False)
        assert encode(message(kind, **content)) == theirs, name
        assert encode(decode(kind, theirs)) == theirs, name
