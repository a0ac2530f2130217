"""Fake of `omni.client`: an asset server that serves a local folder and may answer late or not at all."""

import asyncio
from enum import IntEnum, IntFlag
from pathlib import Path

from tests.isaac.fakes.application import kit


class Result(IntEnum):
    OK = 0
    ERROR_CONNECTION = 3
    ERROR_NOT_FOUND = 7


class ItemFlags(IntFlag):
    READABLE_FILE = 1
    CAN_HAVE_CHILDREN = 8


class ListEntry:
    """Stand-in of `omni.client.ListEntry`."""

    def __init__(self, path):
        self.relative_path = path.name
        self.flags = int(ItemFlags.CAN_HAVE_CHILDREN if path.is_dir() else ItemFlags.READABLE_FILE)


def list(url):
    path = Path(url)
    if "://" in url:
        return Result.ERROR_CONNECTION, ()
    return (
        (Result.OK, tuple(map(ListEntry, sorted(path.iterdir()))))
        if path.is_dir()
        else (
            Result.ERROR_NOT_FOUND,
            (),
        )
    )


async def list_async(url):
    result, _ = await stat_async(url)
    return result, tuple(map(ListEntry, sorted(Path(url).iterdir()))) if result is Result.OK else ()


async def stat_async(url):
    kit().asked.append(url)
    await asyncio.sleep(kit().answers_after)
    if "://" in url:
        return Result.ERROR_CONNECTION, None
    path = Path(url)
    return (Result.OK, ListEntry(path)) if path.exists() else (Result.ERROR_NOT_FOUND, None)
