"""Layout for Foxglove: vehicles in 3D, on a map and over time, and events."""

from pathlib import Path
from typing import Any

import orjson

from pegasus.base.errors import ConfigError
from pegasus.recording.log import Log

LAYOUT_NAME = "foxglove.json"
"""Name of the layout next to a log."""
_SHOWN = 16
"""Most vehicles with curves."""


def write_layout(log: Log, path: str | Path | None = None) -> Path:
    """Write a layout that shows a log in Foxglove, and return its path.

    Args:
        log: The log.
        path: The file; `foxglove.json` next to the log if left out.

    Raises:
        ConfigError: If the file cannot be written.
    """
    path = log.path.with_name(LAYOUT_NAME) if path is None else Path(path)
    try:
        path.write_bytes(orjson.dumps(layout(log), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", file=path, remedy="give a writable folder"
        ) from None
    return path


def layout(log: Log) -> dict[str, Any]:
    """Return a layout: 3D panel and map on the left, position, rotor speeds and events on the right.

    Args:
        log: The log.
    """
    names = list(log.vehicles)
    fixes = [f"/{topic}/fix" for topic, column in log.series.columns.items() if "latitude" in column.comments]
    scene = ["/world", *(f"/{name}/{topic}" for name in names for topic in ("model", "path", "tf"))]
    first = names[0] if names else ""
    followed = first if log.vehicles.get(first, 1) == 1 else f"{first}/0"
    state = log.series.columns.get(f"{first}/state")
    shapes = {} if state is None else {field.name: field.shape for field in state.layout.arrays}
    count = (shapes.get("rotor_speed") or (0, 0))[1]
    panels = {
        "3D!scene": {
            "followMode": "follow-position",
            "followTf": followed,
            "topics": {topic: {"visible": True} for topic in scene},
            "layers": {"grid": {"layerId": "foxglove.Grid", "visible": True, "frameId": "world", "size": 50}},
        },
        "map!map": {"disabledTopics": [], "followTopic": fixes[0] if fixes else "", "zoomLevel": 17},
        "Plot!position": _plot([f"/{name}/state.position[{k}]" for name in names[:_SHOWN] for k in range(3)]),
        "Plot!rotors": _plot([f"/{first}/state.rotor_speed[{k}]" for k in range(count)]),
        "RosOut!log": {"topicToRender": "/log", "minLogLevel": 1},
    }
    left = {"direction": "column", "first": "3D!scene", "second": "map!map", "splitPercentage": 65}
    curves = {"direction": "column", "first": "Plot!position", "second": "Plot!rotors"}
    right = {"direction": "column", "first": curves, "second": "RosOut!log", "splitPercentage": 75}
    return {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "layout": {"direction": "row", "first": left, "second": right, "splitPercentage": 60},
    }


def _plot(values: list[str]) -> dict[str, Any]:
    return {
        "paths": [{"value": value, "enabled": True, "timestampMethod": "receiveTime"} for value in values],
        "showLegend": True,
        "isSynced": True,
        "xAxisVal": "timestamp",
    }
