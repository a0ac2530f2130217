"""Pictures of the panel in docs/images, each from a run of its own in Chromium.

    python -m benchmarks.panel_pictures [OUT] [NAMES]

NAMES are panel, panel_setup, panel_keyboard, panel_cameras and panel_flight, all by default. The last one
needs PX4, which is found as the backend finds it. All take some three minutes on two cores.
"""

import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from pegasus.panel import Panel
from pegasus.panel.viser.controls import WebControls
from pegasus.panel.viser.view import WebView
from pegasus.session import Session
from tests.panel.browser import Page, wait_for

SIZE = (1100, 700)
WORLD = "courtyard"
Point = tuple[float, float, float]
LIMIT = 600.0
"""Longest wait for a flight [s]: the browser draws in software."""


@contextmanager
def opened(tab: str, *, size: tuple[int, int] = SIZE) -> Iterator[tuple[Panel, Page]]:
    """Open a panel with the world loaded, and its page at a tab."""
    with Session() as session, tempfile.TemporaryDirectory() as out:
        panel = Panel(session, out=Path(out))
        done(panel, panel.world.choose(WORLD), panel.world.load())
        try:
            with WebView(lambda: session.snapshot, panel.view, port=0) as view:
                controls = WebControls(view, panel)
                with Page(view.address, size=size) as page:
                    page.wait_for_text(f"{WORLD}: stopped")
                    page.close_notices()
                    page.press(tab)
                    yield panel, page
                controls.close()
        finally:
            panel.close()


def done(panel: Panel, *results: bool) -> None:
    """Raise a `RuntimeError` with the panel's last message unless all actions succeeded."""
    if not all(results):
        raise RuntimeError(panel.messages[-1].text)


def add(panel: Panel, model: str, x: float, y: float) -> None:
    """Add a vehicle with the chosen backend at a place on the ground [m]."""
    part = panel.vehicle
    done(panel, part.choose(model), part.set_position(x, y, 0.3), part.add())


def fly(panel: Panel, arrived: Callable[[], bool]) -> None:
    """Fly until a condition holds, then pause."""
    done(panel, panel.simulation.set_speed(2.0), panel.simulation.play())
    wait_for(lambda: arrived() or panel.messages[-1].error, what="the flight", limit=LIMIT)
    done(panel, not panel.messages[-1].error, panel.simulation.pause())


def picture(panel: Panel, page: Page, position: Point, target: Point) -> bytes:
    """Move the free camera, and return an image of the page.

    Args:
        panel: The panel.
        page: Its page.
        position: Position of the camera [m].
        target: Point that it looks at [m].
    """
    done(panel, panel.view.set_viewpoint(position, target))
    # The page moves its camera with the next messages.
    time.sleep(2.0)
    return page.picture()


def figures_of_eight() -> bytes:
    """Three vehicles fly figures of eight."""
    with opened("Telemetry", size=(1280, 817)) as (panel, page):
        for k, model in enumerate(("iris", "x500", "typhoon_h")):
            done(
                panel,
                panel.backend.set_flight("lemniscate", size=4.0, height=2.0 + 0.8 * k, speed=1.5, laps=3),
            )
            add(panel, model, -1.0 + 1.5 * k, -1.5 + 0.5 * k)
        done(panel, panel.view.follow("iris"))
        fly(panel, lambda: panel.snapshot.time > 24.0)
        page.wait_for_text("paused", "lemniscate")
        return picture(panel, page, (-9.5, -8.5, 4.6), (-0.5, -2.0, 1.6))


def setup() -> bytes:
    """Choose a vehicle."""
    with opened("Vehicle") as (panel, page):
        done(panel, panel.vehicle.choose("iris"))
        add(panel, "iris", 0.0, -1.5)
        page.wait_for_text("iris is added")
        return picture(panel, page, (-1.7, -2.6, 1.1), (0.5, -1.8, 0.25))


def keyboard() -> bytes:
    """Hold keys down in the frame of the keyboard."""
    frame = "document.querySelector('iframe[title=\"Keyboard and gamepad\"]')"
    with opened("Fly") as (panel, page):
        add(panel, "iris", 0.0, -1.5)
        fly(panel, lambda: panel.snapshot.time > 6.0)
        done(panel, panel.simulation.play())
        wait_for(lambda: page.evaluate(f"!!{frame}?.contentDocument?.getElementById('state')"), what="it")
        page.evaluate(f"{frame}.scrollIntoView({{block: 'center'}})")
        corners = f"(b => [b.x, b.y, b.right, b.bottom])({frame}.getBoundingClientRect())"

        def focused() -> bool:
            left, top, _, _ = page.evaluate(corners)
            place = {"x": left + 60, "y": top + 40}
            for kind, buttons in ("mousePressed", 1), ("mouseReleased", 0):
                page.ask("Input.dispatchMouseEvent", type=kind, buttons=buttons, button="left", **place)
            return bool(page.evaluate(f"{frame}.contentDocument.hasFocus()"))

        wait_for(focused, what="the focus")
        for name in "w", "q":
            page.ask("Input.dispatchKeyEvent", type="keyDown", key=name, code=f"Key{name.upper()}", text=name)
        wait_for(lambda: panel.telemetry and panel.telemetry.segment == "velocity", what="the flight by keys")
        with Image.open(io.BytesIO(page.picture())) as image:
            part = io.BytesIO()
            image.crop(tuple(map(round, page.evaluate(corners)))).save(part, "PNG")
        return part.getvalue()


def camera_images() -> bytes:
    """Show the image of a camera on a vehicle."""
    with opened("View") as (panel, page):
        done(panel, panel.sensors.set_resolution(320, 240), panel.sensors.mount())
        add(panel, "iris", 0.0, -1.5)
        fly(panel, lambda: panel.snapshot.time > 8.0)
        page.tick("Show camera images")
        images = "[...document.querySelectorAll('img')].filter(e => e.naturalWidth >= 320).length"
        wait_for(lambda: page.evaluate(images), what="the camera's image")
        page.evaluate("[...document.querySelectorAll('img')].at(-1).scrollIntoView({block: 'end'})")
        return picture(panel, page, (-3.0, -4.5, 2.6), (1.2, -1.2, 1.0))


def px4() -> bytes:
    """PX4 flies a square."""
    with opened("Telemetry") as (panel, page):
        backend = panel.backend
        done(
            panel,
            backend.choose("px4"),
            backend.set_flight("square", size=5.0, height=3.0, speed=1.5, laps=2),
        )
        done(panel, panel.view.draw(reference_path=True))
        add(panel, "iris", 0.0, -1.5)
        fly(panel, lambda: panel.telemetry is not None and panel.telemetry.segment == "square")
        end = panel.snapshot.time + 9.0
        fly(panel, lambda: panel.snapshot.time > end)
        page.wait_for_text("paused", "estimated")
        return picture(panel, page, (-8.5, -7.5, 5.0), (3.2, -3.2, 1.2))


PICTURES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "panel": ("png", figures_of_eight),
    "panel_setup": ("jpg", setup),
    "panel_keyboard": ("jpg", keyboard),
    "panel_cameras": ("jpg", camera_images),
    "panel_flight": ("jpg", px4),
}


def main(out: Path, names: list[str]) -> None:
    """Write pictures into a folder."""
    for name in names:
        kind, make = PICTURES[name]
        with Image.open(io.BytesIO(make())) as image:
            options = {"optimize": True} if kind == "png" else {"quality": 88}
            image.convert("RGB").save(out / f"{name}.{kind}", **options)
        print(json.dumps({name: image.size}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"), sys.argv[2:] or list(PICTURES))
