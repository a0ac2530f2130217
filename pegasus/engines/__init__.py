"""Physics engines behind one contract."""

from pegasus.engines.engine import BodyIds, BodyState, Contacts, Engine, RayHits, RigidBody

__all__ = ["BodyIds", "BodyState", "Contacts", "Engine", "RayHits", "RigidBody"]
