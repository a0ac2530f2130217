"""Names of vehicles, environments and world settings."""

from collections.abc import Iterator, Mapping

from pegasus.config.environments import ENVIRONMENTS, ENVIRONMENTS_FOLDER
from pegasus.config.files import load_world
from pegasus.core.assembly import placed_world

ROBOTS = {"Iris": "iris", "Pegasus": "pegasus"}
"""Names of the vehicles of Pegasus by those of Pegasus Simulator."""

_OWN = {"Box Room": "box_room", "Box with Cylinders": "box_with_cylinders"}


class _Environments(Mapping[str, str]):
    """USD files of environments by name; the asset root is asked, and a world made, when one is read."""

    def __getitem__(self, name: str) -> str:
        if name in _OWN:
            return str(placed_world(*load_world(_OWN[name])).usd)
        path = ENVIRONMENTS[name]
        # Isaac Sim is imported when it runs.
        from pegasus.isaac.environments import asset_root

        return f"{asset_root()}{ENVIRONMENTS_FOLDER}/{path}"

    def __iter__(self) -> Iterator[str]:
        return iter((*ENVIRONMENTS, *_OWN))

    def __len__(self) -> int:
        return len(ENVIRONMENTS) + len(_OWN)


SIMULATION_ENVIRONMENTS: Mapping[str, str] = _Environments()
"""Addresses of environments by name."""


def _settings(physics_rate: float, frame_rate: float) -> dict[str, float | str]:
    return {
        "physics_dt": 1.0 / physics_rate,
        "stage_units_in_meters": 1.0,
        "rendering_dt": 1.0 / frame_rate,
        "device": "cpu",
    }


WORLD_SETTINGS = {
    "px4": _settings(250.0, 60.0),
    "ardupilot": _settings(800.0, 120.0),
    "ros2": _settings(250.0, 60.0),
}
"""Arguments of NVIDIA's `World` by backend."""
DEFAULT_WORLD_SETTINGS = WORLD_SETTINGS["px4"]
BACKENDS = {name: name for name in WORLD_SETTINGS}
