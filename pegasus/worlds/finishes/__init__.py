"""Finishes: procedural surface materials as seamless images."""

from pegasus.worlds.finishes.finish import Finish, Images, Maps, textured_material, write_images
from pegasus.worlds.finishes.registry import FINISHES
from pegasus.worlds.finishes.store import finish_images

__all__ = ["FINISHES", "Finish", "Images", "Maps", "finish_images", "textured_material", "write_images"]
