"""Finishes: what surfaces are made of, painted as images that repeat without a seam."""

from pegasus.scene.finishes.finish import Finish, Images, Maps, textured_material, write_images
from pegasus.scene.finishes.registry import FINISHES
from pegasus.scene.finishes.store import finish_images

__all__ = ["FINISHES", "Finish", "Images", "Maps", "finish_images", "textured_material", "write_images"]
