"""The world `warehouse`."""

from pegasus.scene.worlds.warehouse.warehouse import Warehouse

__all__ = ["Warehouse"]
