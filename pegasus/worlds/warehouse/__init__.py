"""The world `warehouse`."""

from pegasus.worlds.warehouse.warehouse import Warehouse

__all__ = ["Warehouse"]
