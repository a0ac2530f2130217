"""The command `pegasus view`, and watching a run."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegasus.errors import ConfigError

if TYPE_CHECKING:
    from pegasus.run import Flight

LOCAL, PORT = "127.0.0.1", 8080

Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets the whole network in.")]
Port = Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")]


def view(
    scenario: Annotated[
        str | None, typer.Argument(help="Name of a scenario, or a YAML file; none for an empty world.")
    ] = None,
    host: Host = LOCAL,
    port: Port = PORT,
    out: Annotated[
        Path | None, typer.Option(help="Folder for recorded runs and screenshots (default: runs).")
    ] = None,
) -> None:
    """Open the panel in the browser: choose world, vehicle and backend, and watch."""
    require_viser()
    from pegasus.cli import import_from_beside
    from pegasus.panel.panel import Panel
    from pegasus.panel.session import Session
    from pegasus.panel.web import WebView
    from pegasus.panel.web_controls import WebControls

    with Session() as session:
        panel = Panel(session, out=out)
        with WebView(lambda: session.snapshot, panel.view, host=host, port=port) as page:
            if scenario is not None:
                import_from_beside(scenario)
            well = panel.world.load() if scenario is None else panel.world.load_scenario(scenario)
            if not well and panel.failure is not None:
                raise panel.failure
            # Whoever watches wants to see it fly, not that it has flown.
            if session.snapshot.speed is None:
                panel.simulation.set_speed(1.0)
            if scenario is not None and not panel.simulation.play() and panel.failure is not None:
                raise panel.failure
            controls = WebControls(page, panel)
            try:
                say_where(page.address, host)
                threading.Event().wait()
            except KeyboardInterrupt:
                # That is how it is ended.
                return
            finally:
                controls.close()
                panel.close()


@contextmanager
def watched(flight: "Flight", *, host: str = LOCAL, port: int = PORT) -> Iterator[None]:
    """Show a flight in browsers for as long as it lasts; they cannot touch it.

    Args:
        flight: The flight.
        host: Address to listen at.
        port: Port to listen at.

    Raises:
        ConfigError: If what it takes is not installed, or the port is in use.
    """
    require_viser()
    from pegasus.panel.board import Board
    from pegasus.panel.view_part import ViewPart
    from pegasus.panel.watch import Watch
    from pegasus.panel.web import WebView
    from pegasus.panel.web_controls import WatchControls

    speed = flight.spec.speed
    watch = Watch(flight.simulation, speed=None if speed == "max" else float(speed))
    look = ViewPart(Board(), watch)
    with WebView(lambda: watch.snapshot, look, host=host, port=port) as page:
        WatchControls(page, look)
        flight.simulation.add_observer(watch)
        say_where(page.address, host)
        yield


def require_viser() -> None:
    """Refuse to go on without the packages of the view.

    Raises:
        ConfigError: If they are not installed.
    """
    if find_spec("viser") is None:
        raise ConfigError(
            "the view needs the package viser, which is not installed",
            remedy="pip install 'pegasus-multirotor[view]'",
        )


def say_where(address: str, host: str) -> None:
    """Print where a browser finds the page, and who else may use it.

    Args:
        address: Where it is.
        host: Where it listens.
    """
    print(f"the view is at {address}; Ctrl-C ends it", flush=True)
    if host not in (LOCAL, "localhost", "::1"):
        print(f"everybody with this address who can reach {host} can see and use it", flush=True)
