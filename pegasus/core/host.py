"""Host applications: programs such as Isaac Sim whose process, stage and physics simulations use."""

import argparse
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from pegasus.base.registry import Registry
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.engine import ENGINES, Engine
from pegasus.contracts.observer import Observer
from pegasus.contracts.renderer import Renderer
from pegasus.scene.scene import Scene


class HostState(Enum):
    """State of a host application that its user sets by its toolbar and its window."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    CLOSED = "closed"
    """The application ends, for instance because its window was closed."""


class Host(Protocol):
    """Application that runs simulations in its own process, such as Isaac Sim."""

    @property
    def running(self) -> bool:
        """Whether this process runs in the application."""

    def start(self, arguments: Sequence[str], *, headless: bool) -> list[str]:
        """Start the application in this process, before OpenUSD is imported.

        Args:
            arguments: Options from a script's command line.
            headless: Whether it has no window.

        Returns:
            The arguments that are not options of the application.

        Raises:
            ConfigError: If it cannot be started here, or an option is wrong.
        """

    def make_engine(self, rate: float) -> Engine:
        """Return an engine on the application's physics.

        Args:
            rate: Physics steps per simulated second [Hz].

        Raises:
            ConfigError: If the application does not run in this process.
        """

    def owns(self, engine: Engine) -> bool:
        """Return whether an engine is the application's."""

    def open_scene(self, engine: Engine) -> Scene | None:
        """Return the scene of the stage that is open, None for an engine that loads worlds from files."""

    def world_file(self, name: str, address: str) -> Path:
        """Return a local USD file that refers to a scene at an address.

        Args:
            name: Name of the world, for messages.
            address: Address of its USD file; one of Isaac Sim's assets begins with `isaac://`.

        Raises:
            ConfigError: If it cannot be opened.
        """

    def read_scene(self, world: WorldSpec) -> Scene:
        """Return the scene of a world's USD file, with the lights and labels of the world.

        Raises:
            ConfigError: If the file does not parse or holds no geometry, or a light or label is wrong.
        """

    def make_renderer(self, engine: Engine) -> tuple[Renderer, Sequence[Observer[Any]]]:
        """Return the application's renderer, and the observers that it needs."""

    def state(self, engine: Engine) -> HostState:
        """Return what the user asks of a script, which obeys between two steps; RUNNING without a window."""

    def show_frame(self, engine: Engine) -> None:
        """Show a frame of a script's window and process its input, while time waits."""


HOSTS: Registry[Host] = Registry(
    "host application", group="pegasus.hosts", shipped={"isaac": "pegasus.isaac.host:IsaacHost"}
)
"""Host applications by the name of their engine; each is made without arguments."""


def running_host() -> Host | None:
    """Return the host application of this process, None for a standalone one."""
    return next((host for host in (kind() for kind in HOSTS.values()) if host.running), None)


def start_host(arguments: list[str] | None = None) -> None:
    """Start the host application selected on a script's command line.

    The options are `--engine isaac`, `--headless` for a start without a window, and those of the application
    itself, such as `--newton` and `--app` of Isaac Sim (listed by `pegasus isaac --help`). They are removed
    from the command line. `--engine mujoco` and `auto` start nothing.

    Args:
        arguments: The command line, which is changed; that of this process when None.

    Raises:
        ConfigError: If the application cannot be started by this Python, or an option is wrong.
    """
    line = sys.argv if arguments is None else arguments
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--engine", choices=("auto", *ENGINES, *HOSTS), default="auto")
    parser.add_argument("--headless", action="store_true")
    known, line[1:] = parser.parse_known_args(line[1:])
    if known.engine in HOSTS:
        line[1:] = HOSTS[known.engine]().start(line[1:], headless=known.headless)
