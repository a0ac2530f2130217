"""Images and ray returns of a scene."""

from pegasus.render.renderer import CHANNELS, NOTHING, Images, Renderer, RenderObject, Returns, View
from pegasus.render.visuals import RENDERERS, Snapshot, Visuals

__all__ = [
    "CHANNELS",
    "NOTHING",
    "RENDERERS",
    "Images",
    "RenderObject",
    "Renderer",
    "Returns",
    "Snapshot",
    "View",
    "Visuals",
]
