"""Fakes of Kit's subscriptions, event streams and event dispatcher."""

import itertools
import weakref

_serial = itertools.count()


class Subscription:
    """Handle of a subscription; the calls end when it is deleted."""

    def __init__(self, function, order, name=""):
        self.function, self.order, self.name, self.serial = function, order, name, next(_serial)

    def reset(self):
        self.function = None

    unsubscribe = reset


class Subscribers:
    """Ordered callbacks, each kept alive only by its subscription handle."""

    def __init__(self, kit):
        self._kit = kit
        self._held = []

    def add(self, function, *, order=0, name=""):
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        subscription = Subscription(function, order, name)
        self._held.append(weakref.ref(subscription))
        return subscription

    def call(self, *arguments):
        """Call all callbacks; an exception of one is logged and not raised, as in Kit."""
        self._held = [reference for reference in self._held if reference() is not None]
        for _, _, reference in sorted((r().order, r().serial, r) for r in self._held):
            # An earlier callback may have ended this subscription.
            function = getattr(reference(), "function", None)
            if function is None:
                continue
            self._kit.guarded(function, *arguments)


class Event:
    """An event: its type or name, and its payload."""

    def __init__(self, kind, payload):
        self.type = self.event_name = kind
        self.payload = dict(payload)

    def __getitem__(self, key):
        return self.payload[key]

    def get(self, key_name):
        return self.payload.get(key_name)


class EventStream:
    """Stand-in of `carb.events.IEventStream`."""

    def __init__(self, kit):
        self._kit = kit
        self._all = Subscribers(kit)
        self._by_type = {}

    def create_subscription_to_pop(self, fn, order=0, name=""):
        return self._all.add(fn, order=order, name=name)

    def create_subscription_to_pop_by_type(self, event_type, fn, order=0, name=""):
        if not isinstance(event_type, int):
            raise TypeError(f"event_type must be an int, got {event_type!r}")
        return self._by_type.setdefault(event_type, Subscribers(self._kit)).add(fn, order=order, name=name)

    def _emit(self, event_type, payload=()):
        event = Event(event_type, payload)
        self._all.call(event)
        if event_type in self._by_type:
            self._by_type[event_type].call(event)


class Dispatcher:
    """Stand-in of `carb.eventdispatcher.IEventDispatcher`."""

    def __init__(self, kit):
        self._kit = kit
        self._named = {}

    def observe_event(self, *, order=0, event_name, on_event, filter=None, observer_name=None):
        if filter is not None:
            raise NotImplementedError("this fake does not filter events")
        return self._named.setdefault(event_name, Subscribers(self._kit)).add(
            on_event, order=order, name=observer_name
        )

    def dispatch_event(self, event_name, payload=None):
        if event_name in self._named:
            self._named[event_name].call(Event(event_name, payload or {}))
