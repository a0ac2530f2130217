"""Isaac Sim's own environments: where its asset root has them, as worlds."""

from pathlib import Path

from pxr import Usd

from pegasus.errors import ConfigError
from pegasus.folders import user_cache
from pegasus.isaac.world_stage import add_world

_FOLDER = "/Isaac/Environments"
ENVIRONMENTS = {
    "Grid": "Grid/default_environment.usd",
    "Grid, black": "Grid/gridroom_black.usd",
    "Grid, curved": "Grid/gridroom_curved.usd",
    "Hospital": "Hospital/hospital.usd",
    "Office": "Office/office.usd",
    "Simple Room": "Simple_Room/simple_room.usd",
    "Warehouse": "Simple_Warehouse/warehouse.usd",
    "Warehouse, forklifts": "Simple_Warehouse/warehouse_with_forklifts.usd",
    "Warehouse, shelves": "Simple_Warehouse/warehouse_multiple_shelves.usd",
    "Warehouse, full": "Simple_Warehouse/full_warehouse.usd",
    "Terrain, flat": "Terrains/flat_plane.usd",
    "Terrain, rough": "Terrains/rough_plane.usd",
    "Terrain, slope": "Terrains/slope.usd",
    "Terrain, stairs": "Terrains/stairs.usd",
}
"""Environments by name, below the folder of environments of the asset root."""


def asset_root() -> str:
    """Return the address of Isaac Sim's assets.

    Raises:
        ConfigError: If there is no asset server.
    """
    from isaacsim.storage.native import get_assets_root_path

    try:
        root = get_assets_root_path()
    except RuntimeError as error:
        raise ConfigError(
            f"Isaac Sim finds no asset server: {error}",
            field="world",
            remedy="connect to the network, set /persistent/isaac/asset_root/default to a local copy of the "
            "assets, or load one of the worlds of Pegasus",
        ) from None
    return str(root)


def environment_file(name: str) -> Path:
    """Return a USD file of an environment as a world: in metres with z up.

    Args:
        name: Name in `ENVIRONMENTS`.

    Raises:
        ConfigError: If there is no such environment, no asset server, the asset server has it not, or the
            cache cannot be written.
    """
    address = _address(name)
    file = user_cache() / "isaac_sim" / "worlds" / f"{Path(ENVIRONMENTS[name]).stem}.usda"
    stage = Usd.Stage.CreateInMemory()
    try:
        add_world(stage, address)
    except RuntimeError:  # OpenUSD's own error names its source files at length.
        raise ConfigError(
            f"{address} cannot be opened",
            field="world",
            value=name,
            remedy="check that the asset server is reached, or load one of the worlds of Pegasus",
        ) from None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        stage.GetRootLayer().Export(str(file))
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=file) from None
    return file


def environment_picture(name: str) -> str:
    """Return the address of an environment's thumbnail, which lies where those of Isaac Sim's assets do.

    Args:
        name: Name in `ENVIRONMENTS`.

    Raises:
        ConfigError: If there is no such environment, or no asset server.
    """
    folder, _, file = _address(name).rpartition("/")
    return f"{folder}/.thumbs/256x256/{file}.png"


def _address(name: str) -> str:
    if name not in ENVIRONMENTS:
        raise ConfigError(f"must be one of {', '.join(ENVIRONMENTS)}", field="world", value=name)
    return f"{asset_root()}{_FOLDER}/{ENVIRONMENTS[name]}"
