"""Times, headers and plain values: builtin_interfaces, rosgraph_msgs, std_msgs."""

from collections.abc import Sequence

from pegasus.backends.ros2.description import Message, ros


class Time(Message, package="builtin_interfaces"):
    """Point in time."""

    sec: int = ros("int32")
    nanosec: int = ros("uint32")


class Duration(Message, package="builtin_interfaces"):
    """Span of time."""

    sec: int = ros("int32")
    nanosec: int = ros("uint32")


class Clock(Message, package="rosgraph_msgs"):
    """Simulation time."""

    clock: Time = ros(Time)


class Header(Message, package="std_msgs"):
    """When, and in which frame."""

    stamp: Time = ros(Time)
    frame_id: str = ros("string")


class Bool(Message, package="std_msgs"):
    """True or false."""

    data: bool = ros("bool")


class Int32(Message, package="std_msgs"):
    """Whole number."""

    data: int = ros("int32")


class String(Message, package="std_msgs"):
    """Text."""

    data: str = ros("string")


class Float64(Message, package="std_msgs"):
    """Number."""

    data: float = ros("float64")


class MultiArrayDimension(Message, package="std_msgs"):
    """One dimension of an array."""

    label: str = ros("string")
    size: int = ros("uint32")
    stride: int = ros("uint32")


class MultiArrayLayout(Message, package="std_msgs"):
    """How the numbers of an array lie."""

    dim: list[MultiArrayDimension] = ros(MultiArrayDimension, "[]")
    data_offset: int = ros("uint32")


class Float32MultiArray(Message, package="std_msgs"):
    """Array of numbers, single precision."""

    layout: MultiArrayLayout = ros(MultiArrayLayout)
    data: Sequence[float] = ros("float32[]")


class Float64MultiArray(Message, package="std_msgs"):
    """Array of numbers."""

    layout: MultiArrayLayout = ros(MultiArrayLayout)
    data: Sequence[float] = ros("float64[]")
