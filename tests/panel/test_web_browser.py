"""The panel in a real headless browser."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.panel.browser import CHROMIUM, Page, wait_for

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")
if CHROMIUM is None:
    pytest.skip("Chromium is not installed (apt-get install chromium)", allow_module_level=True)

from pegasus.panel.web import WebView
from pegasus.panel.web_controls import WebControls


def canvas(page):
    """Return the part of the page that neither panel nor notices cover."""
    with Image.open(io.BytesIO(page.picture())) as image:
        return np.asarray(image.convert("RGB").crop((0, 160, 500, image.height)), dtype=np.float64)


def test_choose_fly_and_watch(panel, tmp_path):
    """If this fails, the page shows nothing, or its buttons do nothing."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        controls = WebControls(view, panel)
        with Page(view.address, tmp_path / "profile", size=(900, 480)) as page:
            wait_for(lambda: "No world is loaded." in page.text, 60.0)
            empty = canvas(page)
            page.click("Load")
            wait_for(lambda: "courtyard is loaded" in page.text, 30.0)
            wait_for(lambda: np.abs(canvas(page) - empty).mean() > 10.0, 30.0)
            panel.vehicle.set_position(0.0, 0.0, 0.1)
            assert panel.vehicle.add()
            wait_for(lambda: "iris is added" in page.text, 30.0)
            panel.view.look((-1.5, -1.5, 1.0), (0.0, 0.0, 0.3))
            page.click("Play")
            wait_for(lambda: "courtyard: playing" in page.text, 30.0)
            standing = canvas(page)
            assert panel.pilot.hover()
            wait_for(lambda: panel.snapshot.vehicles[0].position[0, 2] > 1.0, 30.0)
            wait_for(lambda: np.abs(canvas(page) - standing).max() > 60.0, 30.0)
            page.click("Pause")
            wait_for(lambda: "courtyard: paused" in page.text, 30.0)
            page.click("Stop")
            wait_for(lambda: "courtyard: stopped, 0.0 s" in page.text, 30.0)
        controls.close()
    assert not any(message.error for message in panel.messages)
