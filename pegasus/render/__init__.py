"""Images and ray returns of a scene."""

from pegasus.contracts.renderer import (
    CHANNELS,
    NOTHING,
    RENDERERS,
    Images,
    Renderer,
    RenderObject,
    Returns,
    View,
)

__all__ = [
    "CHANNELS",
    "NOTHING",
    "RENDERERS",
    "Images",
    "RenderObject",
    "Renderer",
    "Returns",
    "View",
]
