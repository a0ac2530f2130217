"""UDIM textures: one image of ten by ten numbered tiles, 1001 + u + 10 v."""

from dataclasses import dataclass, replace
from pathlib import Path

from pegasus.scene.scene import Texture

TOKEN = "<UDIM>"
"""Placeholder of the number in the name of the image file."""

NUMBERS = range(1001, 1101)
"""Numbers of tiles that are looked for: ten rows."""

_COLUMNS = 10


def tile_paths(path: Path) -> dict[tuple[int, int], Path]:
    """Return the existing image file of each tile, by its column u and row v.

    Args:
        path: Path of the image with `<UDIM>` in place of the number.
    """
    before, after = path.name.split(TOKEN, 1)
    found = {}
    for file in sorted(path.parent.glob(f"{_literal(before)}[0-9][0-9][0-9][0-9]{_literal(after)}")):
        number = int(file.name[len(before) : len(file.name) - len(after)])
        if number in NUMBERS:
            v, u = divmod(number - NUMBERS.start, _COLUMNS)
            found[u, v] = file
    return found


@dataclass(frozen=True)
class TileGrid:
    """Tiles of a texture, and the rectangle of columns and rows that they cover."""

    tiles: dict[tuple[int, int], Path]
    first: tuple[int, int]
    """Least column and row."""
    size: tuple[int, int]
    """Columns and rows."""


def tile_grid(path: Path) -> TileGrid:
    """Return the tiles of an image; see `tile_paths`. There must be one."""
    tiles = tile_paths(path)
    columns, rows = [u for u, _ in tiles], [v for _, v in tiles]
    first = min(columns), min(rows)
    return TileGrid(tiles, first, (max(columns) - first[0] + 1, max(rows) - first[1] + 1))


def placed_on_tiles(texture: Texture) -> Texture:
    """Return a texture with its coordinates scaled from tiles to the one image that they are joined to."""
    if TOKEN not in texture.path.name:
        return texture
    grid = tile_grid(texture.path)
    (u, v), (columns, rows) = grid.first, grid.size
    return replace(
        texture,
        wrap=("black", "black"),
        uv_scale=(1.0 / columns, 1.0 / rows),
        uv_rotation=0.0,
        uv_translation=(-u / columns, -v / rows),
    )


def _literal(text: str) -> str:
    """Return a text as a pattern that matches nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)
