"""Physics engines: the contract, the table of engines, and MuJoCo."""

from pegasus.contracts.engine import ENGINES, BodyIds, BodyState, Contacts, Engine, RayHits, RigidBody

__all__ = ["ENGINES", "BodyIds", "BodyState", "Contacts", "Engine", "RayHits", "RigidBody"]
