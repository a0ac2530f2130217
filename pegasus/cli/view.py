"""The command `pegasus view`, and the display of runs in the browser."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegasus.base.errors import ConfigError
from pegasus.base.system import LOCAL, PORT
from pegasus.cli.settings import Settings, naming_options, parse_settings
from pegasus.cli.terminal import import_from_beside
from pegasus.config.changes import Changes

if TYPE_CHECKING:
    from pegasus.experiments import Flight

Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for access from the network.")]
Port = Annotated[int, typer.Option(help="Port to listen at; 0 for a free one.")]


def view(
    scenario: Annotated[
        str | None, typer.Argument(help="Name of a scenario, or a YAML file; none for an empty world.")
    ] = None,
    host: Host = LOCAL,
    port: Port = PORT,
    out: Annotated[
        Path | None, typer.Option(help="Folder for recorded runs and screenshots (default: runs).")
    ] = None,
    settings: Settings = None,
) -> None:
    """Open the control panel in the browser."""
    require_viser()
    from pegasus.panel.panel import Panel
    from pegasus.panel.viser.controls import WebControls
    from pegasus.panel.viser.view import WebView
    from pegasus.session.session import Session

    with Session() as session:
        panel = Panel(session, out=out)
        with WebView(lambda: session.snapshot, panel.view, host=host, port=port) as page:
            if scenario is not None:
                import_from_beside(scenario)
            if scenario is None and settings:
                raise ConfigError("requires a scenario", field="--set", remedy="name one")
            with naming_options():
                changes = Changes(parse_settings(settings))
                world = panel.world
                loaded = world.load() if scenario is None else world.load_scenario(scenario, changes)
                if not loaded and panel.failure is not None:
                    raise panel.failure
            # An unlimited speed cannot be watched.
            if session.snapshot.speed is None:
                panel.simulation.set_speed(1.0)
            if scenario is not None and not panel.simulation.play() and panel.failure is not None:
                raise panel.failure
            controls = WebControls(page, panel)
            try:
                print_address(page.address, host)
                # A wait without end would miss a signal that comes just before it.
                while True:
                    time.sleep(0.5)
            except KeyboardInterrupt:
                return
            finally:
                controls.close()
                panel.close()


@contextmanager
def shown_in_browser(flight: "Flight", *, host: str = LOCAL, port: int = PORT) -> Iterator[None]:
    """Show a flight in browsers, without control, until the context ends.

    Raises:
        ConfigError: If viser is not installed, or the port is in use.
    """
    require_viser()
    from pegasus.panel.board import Board
    from pegasus.panel.view_part import ViewPart
    from pegasus.panel.viser.controls import WatchControls
    from pegasus.panel.viser.view import WebView
    from pegasus.session.observers import Watch

    speed = flight.spec.speed
    watch = Watch(flight.simulation, speed=None if speed == "max" else float(speed))
    settings = ViewPart(Board(), watch)
    with WebView(lambda: watch.snapshot, settings, host=host, port=port) as page:
        WatchControls(page, settings)
        flight.simulation.add_observer(watch)
        print_address(page.address, host)
        yield


def require_viser() -> None:
    """Check that the packages of the view are installed.

    Raises:
        ConfigError: If they are not.
    """
    if find_spec("viser") is None:
        raise ConfigError(
            "the view requires the missing package viser",
            remedy="pip install 'pegasus-multirotor[view]'",
        )


def print_address(address: str, host: str) -> None:
    """Print the address of the page, and a warning if it is accessible from the network."""
    # A terminal takes what stands beside an address for a part of it.
    print(f"the view, which Ctrl-C ends, is at\n{address}", flush=True)
    if host not in (LOCAL, "localhost", "::1"):
        print(f"anyone who knows this address and can reach {host} can see and control it", flush=True)
