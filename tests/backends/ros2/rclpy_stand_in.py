"""Stand-in for rclpy: the calls of ROS 2 Jazzy that the package uses, with their signatures.

Nodes of one process exchange messages through queues. As in rclpy, a wrong keyword, a value of the wrong type
or a call in an invalid state is an error. Entities that are not destroyed are counted.
"""
# ruff: noqa: ARG001

import collections
import enum
import inspect
import itertools
import os
import sys
import threading
import types
from contextlib import contextmanager

PACKAGES = {
    "builtin_interfaces": ("Time",),
    "geometry_msgs": ("PoseStamped", "Twist"),
    "rosgraph_msgs": ("Clock",),
    "sensor_msgs": ("Image", "Imu"),
    "std_msgs": ("Float64", "String"),
}


class HistoryPolicy(enum.IntEnum):
    KEEP_LAST = 1
    KEEP_ALL = 2


class ReliabilityPolicy(enum.IntEnum):
    RELIABLE = 1
    BEST_EFFORT = 2


class DurabilityPolicy(enum.IntEnum):
    TRANSIENT_LOCAL = 1
    VOLATILE = 2


class SignalHandlerOptions(enum.Enum):
    NO = 0
    ALL = 3


class QoSProfile:
    """Qualities of service; everything by keyword."""

    _SLOTS = ("history", "depth", "reliability", "durability")
    _POLICIES = (HistoryPolicy, int, ReliabilityPolicy, DurabilityPolicy)

    def __init__(self, **kwargs):
        assert set(kwargs) <= set(self._SLOTS), f"Invalid arguments passed to constructor: {set(kwargs)}"
        assert "depth" in kwargs, "History set to KEEP_LAST without a depth setting."
        for name, kind in zip(self._SLOTS, self._POLICIES, strict=True):
            value = kwargs.get(name)
            assert value is None or isinstance(value, kind), f"{name} = {value!r}"
            setattr(self, name, value)

    def serves(self, asked):
        """Return whether a publisher with this QoS serves a subscription with another."""
        return self.reliability <= asked.reliability and self.durability <= asked.durability


class Graph:
    """All entities of the stand-in."""

    def __init__(self):
        self.alive = []
        self.lock = threading.RLock()
        self.ranges, self.localhost = [], []

    def add(self, item):
        with self.lock:
            self.alive.append(item)

    def remove(self, item):
        with self.lock:
            self.alive.remove(item)

    def of(self, kind):
        with self.lock:
            return [item for item in self.alive if isinstance(item, kind)]


class Context:
    """State of one use of ROS 2."""

    graph = None

    def __init__(self):
        self.domain = None
        self._ok = False

    def init(self, args=None, *, initialize_logging=True, domain_id=None):
        assert self.domain is None, "Context.init() must only be called once"
        assert args == [], "the arguments of the program are the program's"
        assert domain_id >= 0
        self.domain, self._ok = domain_id, True
        self.graph.ranges.append(os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE"))
        self.graph.localhost.append(os.environ.get("ROS_LOCALHOST_ONLY"))
        self.graph.add(self)

    def ok(self):
        return self._ok

    def shutdown(self):
        if not self._ok:
            raise RuntimeError("Context must be initialized before it can be shutdown")
        self._ok = False
        self.graph.remove(self)


class InvalidHandle(Exception):  # noqa: N818
    """Error: a destroyed entity is used."""


class Handle:
    """A handle of an entity, which cannot be entered once destroyed; see Destroyable in rclpy."""

    def __init__(self):
        self.users, self.ending, self.threads = 0, False, set()

    def __enter__(self):
        if self.ending:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")
        self.users += 1
        self.threads.add(threading.get_ident())

    def __exit__(self, kind, error, trace):
        self.users -= 1

    def destroy_when_not_in_use(self):
        if self.ending:
            raise InvalidHandle("Cannot destroy Destroyable that is already being destroyed")
        self.ending = True


class ReaderHandle(Handle):
    """A handle of a subscription, from which messages are taken."""

    def __init__(self, msg_type, depth):
        super().__init__()
        self.msg_type, self.queue = msg_type, collections.deque(maxlen=depth)
        self.asked = 0

    def take_message(self, pymsg_type, raw):
        assert self.users, "the handle is to be entered first"
        self.asked += 1
        assert pymsg_type is self.msg_type
        assert raw is True, "the messages would be decoded by rclpy"
        if not self.queue:
            return None
        return self.queue.popleft(), {"source_timestamp": 0, "received_timestamp": 0}


class EventCallbacks:
    """Callbacks on events of an entity; an executor waits for each of them."""

    def __init__(self, *, use_default_callbacks=True):
        assert not use_default_callbacks, "an executor would wait on each event of each entity"


class PublisherEventCallbacks(EventCallbacks):
    """Callbacks on events of a publisher."""


class SubscriptionEventCallbacks(EventCallbacks):
    """Callbacks on events of a subscription."""


class Parameter:
    """A parameter of a node."""

    def __init__(self, name, type_=None, value=None):
        self.name, self.value = name, value


class Publisher:
    """Publisher of a topic."""

    def __init__(self, node, msg_type, topic, qos_profile):
        self.node, self.msg_type, self.topic, self.qos_profile = node, msg_type, topic, qos_profile
        self.kept, self.handle = [], Handle()

    def publish(self, msg):
        with self.handle:
            self._publish(msg)

    def get_subscription_count(self):
        with self.handle:
            return len(self._readers())

    def _publish(self, msg):
        if not isinstance(msg, bytes):
            raise TypeError(f"Expected {self.msg_type}, got {type(msg)}")
        if self.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
            self.kept = [*self.kept, msg][-self.qos_profile.depth :]
        for reader in self._readers():
            reader.receive(msg)

    def _readers(self):
        return [reader for reader in self.node.context.graph.of(Subscription) if matched(self, reader)]


class Subscription:
    """Subscription to a topic."""

    def __init__(self, node, msg_type, topic, callback, qos_profile, raw):
        self.node, self.msg_type, self.topic, self.qos_profile = node, msg_type, topic, qos_profile
        # rclpy inspects whether the callback takes one argument or two, and fails where it cannot.
        inspect.signature(callback).bind(object())
        assert raw, "the messages would be decoded by rclpy"
        self.handle = ReaderHandle(msg_type, qos_profile.depth)

    def receive(self, msg):
        self.handle.queue.append(msg)


def matched(writer, reader):
    """Return whether a publisher and a subscription match."""
    return (
        writer.node.context.domain == reader.node.context.domain
        and writer.topic == reader.topic
        and writer.msg_type is reader.msg_type
        and writer.qos_profile.serves(reader.qos_profile)
    )


class Node:
    """A node."""

    def __init__(
        self,
        node_name,
        *,
        context=None,
        cli_args=None,
        namespace=None,
        use_global_arguments=True,
        enable_rosout=True,
        start_parameter_services=True,
        parameter_overrides=None,
        allow_undeclared_parameters=False,
        automatically_declare_parameters_from_overrides=False,
        enable_logger_service=False,
    ):
        assert context.ok()
        self.name, self.namespace, self.context = node_name, namespace, context
        # Its service of type descriptions would exist and never answer.
        assert {item.name: item.value for item in parameter_overrides} == {
            "start_type_description_service": False
        }
        context.graph.add(self)

    def create_publisher(
        self,
        msg_type,
        topic,
        qos_profile,
        *,
        callback_group=None,
        event_callbacks=None,
        qos_overriding_options=None,
        publisher_class=Publisher,
    ):
        assert isinstance(event_callbacks, PublisherEventCallbacks)
        publisher = Publisher(self, *checked(msg_type, topic, qos_profile))
        self.context.graph.add(publisher)
        return publisher

    def create_subscription(
        self,
        msg_type,
        topic,
        callback,
        qos_profile,
        *,
        callback_group=None,
        event_callbacks=None,
        qos_overriding_options=None,
        raw=False,
    ):
        checked(msg_type, topic, qos_profile)
        assert isinstance(event_callbacks, SubscriptionEventCallbacks)
        subscription = Subscription(self, msg_type, topic, callback, qos_profile, raw)
        self.context.graph.add(subscription)
        if qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
            for writer in self.context.graph.of(Publisher):
                if matched(writer, subscription):
                    for message in writer.kept:
                        subscription.receive(message)
        return subscription

    def destroy_publisher(self, publisher):
        publisher.handle.destroy_when_not_in_use()
        self.context.graph.remove(publisher)
        return True

    def destroy_subscription(self, subscription):
        subscription.handle.destroy_when_not_in_use()
        self.context.graph.remove(subscription)
        return True

    def count_publishers(self, topic_name):
        return sum(writer.topic == topic_name for writer in self.context.graph.of(Publisher))

    def destroy_node(self):
        self.context.graph.remove(self)


def checked(msg_type, topic, qos_profile):
    """Check a topic's arguments as rclpy does, and return its name, type and QoS."""
    assert isinstance(msg_type, type), msg_type
    assert msg_type.__module__.endswith(".msg"), msg_type
    assert isinstance(topic, str), topic
    assert isinstance(qos_profile, QoSProfile), qos_profile
    return msg_type, topic, qos_profile


def init(*, args=None, context=None, domain_id=None, signal_handler_options=None):
    """Initialise ROS 2."""
    assert context is not None, "the default context is the program's"
    assert signal_handler_options is SignalHandlerOptions.NO, "signals are the program's"
    context.init(args, domain_id=domain_id)


def shutdown(*, context=None, uninstall_handlers=None):
    """Shut down ROS 2."""
    assert uninstall_handlers is None, "signals are the program's"
    context.shutdown()


def create_node(
    node_name,
    *,
    context=None,
    cli_args=None,
    namespace=None,
    use_global_arguments=True,
    enable_rosout=True,
    start_parameter_services=True,
    parameter_overrides=None,
    allow_undeclared_parameters=False,
    automatically_declare_parameters_from_overrides=False,
    enable_logger_service=False,
):
    """Return a new node."""
    return Node(node_name, context=context, namespace=namespace, parameter_overrides=parameter_overrides)


@contextmanager
def installed(*, humble=False):
    """Install the stand-in as rclpy and the ROS message packages; yield its entities.

    Args:
        humble: Act as ROS 2 Humble, whose module of event callbacks has another name.
    """
    graph = Graph()
    own_context = type("Context", (Context,), {"graph": graph})
    made = {
        "rclpy": {"init": init, "shutdown": shutdown, "create_node": create_node},
        "rclpy.context": {"Context": own_context},
        f"rclpy.{'qos_event' if humble else 'event_handler'}": {
            kind.__name__: kind for kind in (PublisherEventCallbacks, SubscriptionEventCallbacks)
        },
        "rclpy.parameter": {"Parameter": Parameter},
        "rclpy.qos": {
            kind.__name__: kind for kind in (QoSProfile, HistoryPolicy, ReliabilityPolicy, DurabilityPolicy)
        },
        "rclpy.signals": {"SignalHandlerOptions": SignalHandlerOptions},
    }
    for package, names in PACKAGES.items():
        module = f"{package}.msg"
        made[package] = {}
        made[module] = {name: type(name, (), {"__module__": module}) for name in names}
    using = "pegasus.backends.ros2.rclpy_transport"
    before = {name: sys.modules.pop(name, None) for name in itertools.chain(made, [using])}
    for name, content in made.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)
    try:
        yield graph
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
