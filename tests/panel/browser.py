"""A headless Chromium, driven through its debugging protocol."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Where Chromium is; None where it is not installed."""


class Page:
    """One page of a headless Chromium.

    Args:
        address: What it shows.
        folder: An empty folder for its profile.
        size: Width and height of the window [pixels].
    """

    def __init__(self, address: str, folder: Path, *, size: tuple[int, int] = (1280, 800)) -> None:
        assert CHROMIUM is not None
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        self._process = subprocess.Popen(
            [
                CHROMIUM,
                *flags,
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                f"--window-size={size[0]},{size[1]}",
                address,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._count = 0
        try:
            port_file = folder / "DevToolsActivePort"
            wait_for(lambda: port_file.is_file() and len(port_file.read_text().splitlines()) > 1, 30.0)
            port = int(port_file.read_text().splitlines()[0])
            pages: list[dict[str, Any]] = []

            def found() -> bool:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10.0) as answer:
                    pages[:] = [page for page in json.load(answer) if page["type"] == "page"]
                return bool(pages)

            wait_for(found, 30.0)
            self._socket: ClientConnection = connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
        except BaseException:
            self._process.kill()
            raise

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the debugging protocol, and return its result."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60.0))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    @property
    def text(self) -> str:
        """All text on the page, what stands in its fields included."""
        script = (
            "document.body.innerText + '\\n' + "
            "[...document.querySelectorAll('input,textarea')].map(e => e.value).join('\\n')"
        )
        return str(self.evaluate(script))

    def click(self, label: str) -> None:
        """Press the button of a label."""
        script = (
            "(() => { const b = [...document.querySelectorAll('button')]"
            f".find(e => e.innerText.trim() === {json.dumps(label)});"
            " if (!b) return false; b.click(); return true; })()"
        )
        assert self.evaluate(script), f"no button {label!r} on the page"

    def picture(self) -> bytes:
        """Return what the page looks like, as a PNG file."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Page":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def wait_for(condition: Callable[[], bool], limit: float) -> None:
    """Wait until a condition holds.

    Args:
        condition: Looked at again and again.
        limit: Longest wait [s].

    Raises:
        TimeoutError: If it does not.
    """
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {limit:g} s")
        time.sleep(0.05)
