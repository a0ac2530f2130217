"""Who flies vehicles and who listens: controllers, autopilots, ROS 2."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasus.backends.ros2.backend import ROS2

__all__ = ["ROS2"]


def __getattr__(name: str) -> Any:
    # Vehicles import this package, and the backends import vehicles.
    if name == "ROS2":
        from pegasus.backends.ros2.backend import ROS2

        return ROS2
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
