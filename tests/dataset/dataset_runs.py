"""A small dataset scenario, and functions that run `pegasus dataset`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

SCENARIO: dict[str, Any] = {
    "name": "tiny",
    "world": "flat",
    "duration": 1.0,
    "vehicles": [
        {
            "model": "iris",
            "name": "observer",
            "position": [0.0, 0.0, 0.1],
            "sensors": {
                "front": {
                    "model": "camera",
                    "rate_hz": 20.0,
                    "resolution": [96, 64],
                    "hide_vehicle": True,
                    "imaging": {"read_noise": 0.01},
                }
            },
        },
        {"model": "iris", "name": "target", "position": [3.0, 0.0, 0.1]},
    ],
    "dataset": {
        "frames_per_scene": 4,
        "annotators": ["rgb", "bounding_box_2d_tight", "instance_segmentation", "camera_params"],
        "randomizers": {
            "sun": {"model": "sun"},
            "sky": {"model": "sky"},
            "eye": {"model": "poses", "vehicles": ["observer"], "height": [2.0, 5.0]},
            "drone": {"model": "in_view", "vehicles": ["target"], "distance": [1.5, 4.0], "speed": 3.0},
            "mount": {"model": "camera_jitter", "orientation": 0.05, "exposure": 0.5},
        },
    },
}


def write_scenario(folder: Path, **changes: Any) -> Path:
    """Write the scenario with other fields, and return its file."""
    file = folder / "tiny.yaml"
    dataset = {**SCENARIO["dataset"], **changes.pop("dataset", {})}
    file.write_text(yaml.safe_dump({**SCENARIO, **changes, "dataset": dataset}, sort_keys=False))
    return file


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start `pegasus dataset` in a separate process session."""
    return subprocess.Popen(
        [sys.executable, "-m", "pegasus", "dataset", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=dict(os.environ),
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by their paths in it."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def frame_count(folder: Path) -> int:
    """Return the number of complete frames."""
    return len(list((folder / ".frames").glob("[0-9]*.json")))
