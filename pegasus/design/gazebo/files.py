"""SDF files of models: their versions, and where included ones are found."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.base.xml_files import read_xml
from pegasus.design.gazebo.nodes import Node

_SEARCH_VARIABLE = "GZ_SIM_RESOURCE_PATH"
_OLDEST, _NEWEST = (1, 5), (1, 11)


def search_path(file: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the folders in which a file's included models are searched.

    Args:
        file: The file.
        folders: Folders before those of GZ_SIM_RESOURCE_PATH and the one that holds the file's own.
    """
    more = [Path(entry) for entry in os.environ.get(_SEARCH_VARIABLE, "").split(os.pathsep) if entry]
    return [*folders, *more, file.resolve().parent.parent]


def read_model(path: Path) -> tuple[Node, tuple[int, int]]:
    """Return the model of a file, and the version of SDF.

    Args:
        path: The file.

    Raises:
        ConfigError: If the file cannot be read, or is no model in SDF from 1.5 to 1.11.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path, remedy="check the path") from None
    if re.search(rb"\{%|\{\{|xmlns:xacro|<%", content):
        remedy = "make the SDF file of it first, as the build of its project does"
        raise ConfigError("is a template, not an SDF file", file=path, remedy=remedy)
    root = Node(read_xml(path), path)
    if root.tag != "sdf":
        raise root.error("is not the root of an SDF file, <sdf>", "give the model.sdf of a Gazebo model")
    words = root.attributes.get("version", "")
    numbers = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", words)
    version = (int(numbers.group(1)), int(numbers.group(2))) if numbers else (0, 0)
    if not _OLDEST <= version <= _NEWEST:
        raise ConfigError(
            "must be from 1.5 to 1.11",
            file=path,
            field="version",
            value=words,
            remedy="convert it by gz sdf -p",
        )
    models = root.every("model")
    if len(models) != 1:
        raise root.error(f"holds {len(models)} models at its top", "give a file of one model")
    return models[0], version


def find_model(uri: str, node: Node, search: Sequence[Path]) -> Path:
    """Return the file of a model that is included.

    Args:
        uri: Its address, such as model://airspeed, or a path relative to the file.
        node: Element that holds it.
        search: Folders of models.

    Raises:
        ConfigError: If there is none.
    """
    scheme, _, rest = uri.rpartition("://")
    if scheme.startswith("http"):
        raise node.error("is on the network", "download the model, and name its folder by --models")
    places = [folder / rest for folder in search]
    if scheme not in ("model", "package"):
        places.insert(0, node.file.parent / rest)
    for place in places:
        if place.is_dir():
            return file_of(place)
        if place.is_file():
            return place
    raise node.error(
        f"is in none of {', '.join(str(place.parent) for place in places)}",
        f"name the folder of the models by --models or {_SEARCH_VARIABLE}",
    )


def file_of(folder: Path) -> Path:
    """Return the SDF file of a folder: the newest that its model.config names, else model.sdf."""
    config = folder / "model.config"
    if not config.is_file():
        return folder / "model.sdf"
    files = Node(read_xml(config), config).every("sdf")

    def version(node: Node) -> tuple[int, ...]:
        words = node.attributes.get("version", "0").split(".")
        return tuple(int(word) if word.isdigit() else 0 for word in words)

    readable = [node for node in files if version(node) <= (*_NEWEST, 0)]
    return folder / max(readable, key=version).words if readable else folder / "model.sdf"
