"""Worlds that only Isaac Sim opens: NVIDIA's environments by name, and scenes at an address."""

from pathlib import Path, PurePosixPath

from pegasus.base.system import REMOTE
from pegasus.config.scenario import WorldSpec
from pegasus.config.settings import names

ASSETS = "isaac:/"
"""Beginning of addresses in Isaac Sim's assets, in place of their root."""
ENVIRONMENTS_FOLDER = "/Isaac/Environments"
ENVIRONMENTS = {
    "Default Environment": "Grid/default_environment.usd",
    "Black Gridroom": "Grid/gridroom_black.usd",
    "Curved Gridroom": "Grid/gridroom_curved.usd",
    "Hospital": "Hospital/hospital.usd",
    "Office": "Office/office.usd",
    "Simple Room": "Simple_Room/simple_room.usd",
    "Warehouse": "Simple_Warehouse/warehouse.usd",
    "Warehouse with Forklifts": "Simple_Warehouse/warehouse_with_forklifts.usd",
    "Warehouse with Shelves": "Simple_Warehouse/warehouse_multiple_shelves.usd",
    "Full Warehouse": "Simple_Warehouse/full_warehouse.usd",
    "Flat Plane": "Terrains/flat_plane.usd",
    "Rough Plane": "Terrains/rough_plane.usd",
    "Slope Plane": "Terrains/slope.usd",
    "Stairs Plane": "Terrains/stairs.usd",
}
"""Paths of the environments of Isaac Sim in the assets' folder of environments, by name."""


def remote_world(name: str | Path) -> WorldSpec | None:
    """Return a world that only Isaac Sim opens; None for the name or the path of another one.

    Args:
        name: Name of an environment, unless a world file has this name, or the address of a USD file.
    """
    text = str(name)
    if REMOTE.match(text):
        return WorldSpec(name=PurePosixPath(text).stem, usd=text)
    if text not in ENVIRONMENTS or text in names("worlds"):
        return None
    return WorldSpec(name=text, usd=f"{ASSETS}{ENVIRONMENTS_FOLDER}/{ENVIRONMENTS[text]}")
