"""Environments of Isaac Sim's assets as worlds, listed and opened in the background."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path, PurePosixPath
from typing import Any

from pxr import Usd

from pegasus.base.errors import ConfigError
from pegasus.base.system import USD_SUFFIXES, user_cache
from pegasus.config.environments import ASSETS, ENVIRONMENTS, ENVIRONMENTS_FOLDER
from pegasus.isaac.world_stage import add_world
from pegasus.panel.board import Board, Topic

_NO_ENVIRONMENTS = {".thumbs", "Assets", "Materials", "Props", "SubUSDs", "Textures", "materials", "textures"}
_DEPTH = 3
"""Depth of subfolders that are searched."""
_ANSWER, _SEARCH, _OPENING = 10.0, 60.0, 120.0
"""Timeouts of one request to the asset server, of the list, and of opening an environment [s]."""
_REMEDY = (
    "connect to the network, set /persistent/isaac/asset_root/default to a local copy of the assets, or load "
    "one of the worlds of Pegasus"
)


class Environments:
    """Environments to choose from; requests to the asset server run in the background, with a timeout."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.known: dict[str, str] = dict(ENVIRONMENTS)
        """Paths below the folder of environments, by name."""
        self._task: asyncio.Future[None] | None = None

    @property
    def busy(self) -> bool:
        """A request to the asset server is running."""
        return self._task is not None and not self._task.done()

    def search(self) -> None:
        """List the environments of the asset root, in place of the built-in list."""
        self._begin(self._list, _SEARCH, "the environments cannot be listed")

    def open(self, name: str, use: Callable[[Path, str | None], object]) -> None:
        """Convert an environment to a world.

        Args:
            name: Name of the environment.
            use: Called with the USD file of the world, and the address of its thumbnail or None.
        """
        self._begin(lambda: self._open(name, use), _OPENING, f"{name} cannot be opened")

    def cancel(self) -> None:
        """Cancel the running request."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]], limit: float, problem: str) -> None:
        self.cancel()
        self._task = asyncio.ensure_future(self._reported(work, limit, problem))

    async def _reported(
        self, work: Callable[[], Coroutine[Any, Any, None]], limit: float, problem: str
    ) -> None:
        try:
            await asyncio.wait_for(work(), limit)
        except TimeoutError:
            message = f"{problem}: the asset server did not answer in time"
            self._board.fail(ConfigError(message, field="world", remedy=_REMEDY))
        except Exception as error:  # The task is not awaited, so its exception would be lost.
            self._board.fail(error)

    async def _list(self) -> None:
        root = asset_root() + ENVIRONMENTS_FOLDER
        found = sorted(await _usd_files(root, "", _DEPTH))
        if not found:
            raise ConfigError(f"{root} has no environments", field="world", remedy=_REMEDY)
        names = {path: name for name, path in ENVIRONMENTS.items()}
        self.known = {names.get(path, _named(path)): path for path in found}
        self._board.report(f"Isaac Sim's assets have {len(found)} environments")
        self._board.notify(Topic.WORLD)

    async def _open(self, name: str, use: Callable[[Path, str | None], object]) -> None:
        address = f"{asset_root()}{ENVIRONMENTS_FOLDER}/{self.known[name]}"
        if not await _exists(address):
            raise _cannot_be_opened(name, address)
        folder, _, file = address.rpartition("/")
        image = f"{folder}/.thumbs/256x256/{file}.png"
        thumbnail = image if await _exists(image) else None
        # Opening takes as long as the download.
        made = asyncio.get_running_loop().run_in_executor(None, environment_file, name, address)
        use(await made, thumbnail)
        self._board.report(f"{name} is ready to be loaded")


def asset_root() -> str:
    """Return the address of Isaac Sim's assets, without a check that they exist.

    Raises:
        ConfigError: If no address is set, or this is not Isaac Sim.
    """
    try:
        from isaacsim.storage.native import get_assets_root_path
    except ModuleNotFoundError:
        raise ConfigError(
            "only Isaac Sim knows where NVIDIA's assets are",
            field="world",
            remedy="run the script by its Python",
        ) from None
    try:
        root = get_assets_root_path(skip_check=True)
    except RuntimeError as error:
        raise ConfigError(f"Isaac Sim has no asset server: {error}", field="world", remedy=_REMEDY) from None
    return str(root)


def full_address(address: str) -> str:
    """Return an address with the root of Isaac Sim's assets in place of `isaac:/`.

    Raises:
        ConfigError: If no root is set.
    """
    return asset_root() + address.removeprefix(ASSETS) if address.startswith(ASSETS) else address


def environment_file(name: str, address: str) -> Path:
    """Return the USD file of an environment as a world, in metres with z up.

    Args:
        name: Name of the environment, for messages.
        address: Address of its own file.

    Raises:
        ConfigError: If the file cannot be opened, or the cache cannot be written.
    """
    path = PurePosixPath(address.partition(f"{ENVIRONMENTS_FOLDER}/")[2] or address).with_suffix("")
    file = user_cache() / "isaac_sim" / "worlds" / (re.sub(r"[^\w.-]+", "_", str(path)) + ".usda")
    stage = Usd.Stage.CreateInMemory()
    try:
        add_world(stage, address)
    except RuntimeError:  # OpenUSD's own message lists its source files.
        raise _cannot_be_opened(name, address) from None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        stage.GetRootLayer().Export(str(file))
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=file) from None
    return file


def _cannot_be_opened(name: str, address: str) -> ConfigError:
    return ConfigError(f"{address} cannot be opened", field="world", value=name, remedy=_REMEDY)


def _named(path: str) -> str:
    """Return the name of an environment from its path: its folders, and the file without its suffix."""
    return str(PurePosixPath(path).with_suffix("")).replace("_", " ")


async def _exists(address: str) -> bool:
    import omni.client

    result, _ = await asyncio.wait_for(omni.client.stat_async(address), _ANSWER)
    return bool(result == omni.client.Result.OK)


async def _usd_files(root: str, folder: str, depth: int) -> list[str]:
    """Return the paths of the USD files in a folder and its subfolders, relative to the root."""
    import omni.client

    address = f"{root}/{folder}" if folder else root
    result, entries = await asyncio.wait_for(omni.client.list_async(address), _ANSWER)
    if result != omni.client.Result.OK:
        if folder:
            return []
        raise ConfigError(f"{address} cannot be listed", field="world", remedy=_REMEDY)
    files, folders = [], []
    for entry in entries:
        name = str(entry.relative_path)
        path = f"{folder}/{name}" if folder else name
        if entry.flags & omni.client.ItemFlags.CAN_HAVE_CHILDREN:
            if name not in _NO_ENVIRONMENTS:
                folders.append(path)
        elif folder and PurePosixPath(name).suffix in USD_SUFFIXES:
            files.append(path)
    if depth > 0:
        below = await asyncio.gather(*(_usd_files(root, path, depth - 1) for path in folders))
        files += [path for paths in below for path in paths]
    return files
