"""Headless Chromium, driven by mouse and keyboard through its debugging protocol."""

import base64
import json
import os
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.sync.client import ClientConnection, connect

from pegasus.backends.mavlink.process import AutopilotProcess
from tests.waits import LIMIT

_PROGRAMS = (
    [os.environ["PEGASUS_BROWSER"]]
    if "PEGASUS_BROWSER" in os.environ
    else ["chromium", "chromium-browser", "google-chrome"]
)
CHROMIUM = next(filter(None, map(shutil.which, _PROGRAMS)), None)
"""Path of Chromium, or of the program that PEGASUS_BROWSER names; None if it is not installed."""

PICTURES = Path(os.environ.get("PEGASUS_SCREENSHOTS") or Path(__file__).parents[2] / ".ci" / "screenshots")
"""Folder of the images of pages."""


_FRAME_PAUSE = 1000.0
"""Pause between two frames of the 3D view [ms]; software would draw 60 frames/s on all cores."""

# The loop of the 3D view asks for its own function again and again; animations of buttons do not wait for it.
_SLOW_FRAMES = f"""(() => {{
    const draw = window.requestAnimationFrame.bind(window), waiting = new Map(), known = new WeakSet();
    let count = 0;
    window.requestAnimationFrame = f => {{
        const id = ++count;
        const go = () => {{ window.cancelAnimationFrame(id); draw(f); }};
        waiting.set(id, [go, setTimeout(go, known.has(f) ? {_FRAME_PAUSE} : 0)]);
        known.add(f);
        return id;
    }};
    window.cancelAnimationFrame = id => {{ clearTimeout(waiting.get(id)?.[1]); waiting.delete(id); }};
    window.drawFrame = () => new Promise(done => {{
        [...waiting.values()].forEach(([go]) => go());
        draw(done);
    }});
}})()"""

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # Only the 3D view is drawn by shaders, whose compilation in software takes seconds.
    "--disable-gpu-rasterization",
    "--disable-gpu-compositing",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-breakpad",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)

_VISIBLE = "e => e.checkVisibility() && e.getBoundingClientRect().width > 0"
_ALL = "(selector) => [...document.querySelectorAll(selector)]"


class Page:
    """Page of a separate headless Chromium, whose profile is deleted on closing.

    Args:
        address: Address of the page.
        size: Width and height of the page [pixels].
    """

    def __init__(self, address: str, *, size: tuple[int, int] = (720, 440)) -> None:
        assert CHROMIUM is not None
        self._profile = tempfile.TemporaryDirectory(prefix="pegasus-chromium-", ignore_cleanup_errors=True)
        # It ends with this process, even if that is killed.
        self._process = AutopilotProcess(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            environment={},
            directory=Path(self._profile.name),
            log=Path(self._profile.name, "log"),
            name="Chromium",
        )
        self._count = 0
        self._socket: ClientConnection | None = None
        try:
            self._process.start()
            self._socket = connect(self._debugger(), max_size=None, open_timeout=LIMIT)
            self.ask(
                "Emulation.setDeviceMetricsOverride",
                width=size[0],
                height=size[1],
                deviceScaleFactor=1,
                mobile=False,
            )
            self.ask("Page.enable")
            self.ask("Page.addScriptToEvaluateOnNewDocument", source=_SLOW_FRAMES)
            self.open(address)
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the debugging protocol, and return its result."""
        assert self._socket is not None
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=LIMIT))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; None while the page is being exchanged."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    @property
    def text(self) -> str:
        """Visible text of the page."""
        return str(self.evaluate("document.body ? document.body.innerText : ''"))

    def wait_for_text(self, *wanted: str) -> str:
        """Wait until the page shows all given texts, and return all of its text.

        Raises:
            TimeoutError: If it does not.
        """
        wait_for(lambda: all(text in self.text for text in wanted), what=f"{wanted} on the page")
        return self.text

    def value(self, label: str) -> str:
        """Return the content of the field with a label."""
        return str(self.evaluate(f"{_field(label)}[0]?.value"))

    def press(self, label: str) -> None:
        """Click on the button, tab or choice of a label, once it can be seen.

        Raises:
            TimeoutError: If there is none, or something covers it.
        """
        wanted = f"e => e.innerText.trim() === {json.dumps(label)}"
        selector = "button, [role=tab], [role=option], summary"
        self._click(f"({_ALL})('{selector}').filter({_VISIBLE}).find({wanted})", label)

    def choose(self, label: str, option: str) -> None:
        """Choose from the list with a label.

        Raises:
            TimeoutError: If there is no such list or option.
        """
        wanted = f"e => e.innerText.trim() === {json.dumps(option)}"
        offered = f"({_ALL})('[role=option]').filter({_VISIBLE}).some({wanted})"

        def opened() -> bool:
            # Reopen a list that another event has just closed.
            self._click(f"{_field(label)}[0]", label)
            try:
                wait_for(lambda: self.evaluate(offered), what=option, limit=5.0)
            except TimeoutError:
                return False
            return True

        wait_for(opened, what=f"{option!r} in {label!r}")
        self.press(option)
        wait_for(lambda: self.value(label) == option, what=f"{option!r} in {label!r}")

    def fill(self, label: str, *values: float | str) -> None:
        """Type into the fields with a label, beginning with the first.

        Raises:
            TimeoutError: If there are none.
        """
        for index, value in enumerate(values):
            self._click(f"{_field(label)}[{index}]", label)
            self.evaluate("document.activeElement.select()")
            self.ask("Input.insertText", text=str(value))
            self.key("Tab")

    def tick(self, label: str) -> None:
        """Click on the box with a label.

        Raises:
            TimeoutError: If there is none.
        """
        self._click(f"{_field(label)}[0]", label)

    def key(self, name: str) -> None:
        """Press and release a key of the keyboard, such as Tab."""
        for kind in "keyDown", "keyUp":
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def close_notices(self) -> None:
        """Close notices above the view, such as the warning about software rendering."""
        script = """(() => {
            const all = [...document.querySelectorAll('.mantine-Notification-closeButton')];
            all.forEach(e => e.click());
            return all.length;
        })()"""
        wait_for(lambda: not self.evaluate(script), what="a page without notices")

    def open(self, address: str) -> None:
        """Open another address, and wait until the page is exchanged."""
        self.ask("Page.navigate", url=address)
        wait_for(lambda: str(self.evaluate("location.href")).startswith(address), what=address)

    def reload(self) -> None:
        """Reload the page."""
        self.ask("Page.reload")

    def picture(self) -> bytes:
        """Return a PNG image of the page after two more frames."""
        frames = "drawFrame().then(drawFrame)"
        self.ask("Runtime.evaluate", expression=frames, awaitPromise=True, returnByValue=True)
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def keep(self, name: str) -> None:
        """Save an image under a name."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{name}.png").write_bytes(self.picture())

    def close(self) -> None:
        """End the browser with all of its processes, and delete its profile."""
        if self._socket is not None:
            self._socket.close()
        self._process.stop(timeout=LIMIT)
        self._profile.cleanup()

    def __enter__(self) -> "Page":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self.keep(f"failed-{self._process.pid}")
        finally:
            self.close()

    def _debugger(self) -> str:
        """Return the address of the page's debugging protocol."""
        port_file = Path(self._profile.name, "DevToolsActivePort")
        wait_for(lambda: port_file.is_file() and len(port_file.read_text().splitlines()) > 1, what="Chromium")
        port = int(port_file.read_text().splitlines()[0])
        pages: list[dict[str, Any]] = []

        def found() -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=LIMIT) as answer:
                pages[:] = [page for page in json.load(answer) if page["type"] == "page"]
            return bool(pages)

        wait_for(found, what="a page in Chromium")
        return str(pages[0]["webSocketDebuggerUrl"])

    def _click(self, element: str, what: str) -> None:
        """Click on an element with the mouse, once nothing covers it and it does not move.

        The page may move at that moment; a click that misses is repeated.
        """
        script = f"""(() => {{
            const e = {element};
            if (!e) return null;
            e.scrollIntoView({{block: 'nearest'}});
            const box = e.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
            const top = document.elementFromPoint(x, y);
            if (!top || !(e.contains(top) || top.contains(e))) return null;
            window.wasHit = false;
            e.addEventListener('click', () => {{ window.wasHit = true; }}, {{capture: true, once: true}});
            return [x, y];
        }})()"""
        places: list[Any] = [None]

        def holds_still() -> bool:
            places.append(self.evaluate(script))
            return places[-1] is not None and places[-1] == places[-2]

        def hit() -> bool:
            wait_for(holds_still, what=f"{what!r} on the page")
            x, y = places[-1]
            for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
                self.ask(
                    "Input.dispatchMouseEvent",
                    type=kind,
                    x=x,
                    y=y,
                    button="none" if kind == "mouseMoved" else "left",
                    buttons=buttons,
                    clickCount=1,
                )
            return bool(self.evaluate("window.wasHit"))

        wait_for(hit, what=f"a click on {what!r}")


def _field(label: str) -> str:
    """Return the script for the visible fields beside a label."""
    wanted = f"e => e.innerText.trim() === {json.dumps(label)}"
    row = "[...(l?.parentElement.parentElement.parentElement.querySelectorAll('input') ?? [])]"
    return f"(l => {row}.filter({_VISIBLE}))(({_ALL})('label').filter({_VISIBLE}).find({wanted}))"


def wait_for(condition: Callable[[], object], *, what: str, limit: float = LIMIT) -> None:
    """Wait until a condition holds.

    Args:
        condition: Function that is called repeatedly.
        what: Description of the condition, for the error.
        limit: Longest wait [s].

    Raises:
        TimeoutError: If the condition does not hold in time.
    """
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit:g} s in vain for {what}")
        time.sleep(0.05)
