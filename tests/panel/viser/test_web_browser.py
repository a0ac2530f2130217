"""Tests of the panel in a headless browser, by mouse and keyboard alone."""

import io
import re
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image

from tests.panel.browser import CHROMIUM, Page, wait_for

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
    pytest.mark.skipif(
        find_spec("viser") is None, reason="needs viser: pip install pegasus-multirotor[view]"
    ),
]


@pytest.fixture
def address(panel):
    """Address of a newly opened panel."""
    from pegasus.panel.viser.controls import WebControls
    from pegasus.panel.viser.view import WebView

    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        controls = WebControls(view, panel)
        yield view.address
        controls.close()
    assert not any(message.error for message in panel.messages)


def canvas(page):
    """Return the part of the 3D view that the panel does not cover, shape (H, W, 3)."""
    with Image.open(io.BytesIO(page.picture())) as image:
        return np.asarray(image.convert("RGB").crop((0, 0, image.width // 2, image.height)), dtype=float)


def changed(first, second):
    """Return the fraction of pixels that clearly differ between two images."""
    return float((np.abs(first - second).max(axis=2) > 24.0).mean())


def settled(page, *, differs_from=None):
    """Wait until the 3D view is constant, and return its image.

    Args:
        page: The page.
        differs_from: A picture of which a tenth of the pixels must have changed before.
    """
    last = [np.zeros(0), canvas(page)]

    def still():
        last.append(canvas(page))
        moved = differs_from is None or changed(last[-1], differs_from) > 0.1
        return moved and changed(last[-1], last[-2]) == 0.0

    wait_for(still, what="a 3D view that stands still")
    return last[-1]


def height(page):
    """Return the first height in the page's list of vehicles [m]."""
    found = re.search(r"iris\s.*?(-?\d+\.\d) m", page.text, re.DOTALL)
    return float(found[1]) if found else np.nan


def simulated_time(page):
    """Return the simulation time that the page shows [s]."""
    found = re.search(r": \w+, (\d+\.\d) s", page.text)
    return float(found[1]) if found else np.nan


def test_choose_fly_and_watch(address):
    """If this fails, the page shows nothing, or its buttons do nothing."""
    with Page(address) as page:
        page.wait_for_text("No world is loaded.")
        page.close_notices()
        empty = canvas(page)
        page.choose("World", "flat")
        page.choose("World", "box_room")
        page.press("Load")
        page.wait_for_text("box_room is loaded", "box_room: stopped")
        settled(page, differs_from=empty)
        page.keep("world")

        page.press("Vehicle")
        page.choose("Vehicle", "iris")
        page.fill("Position [m]", 0, 0, 0.1)
        page.press("Add")
        page.wait_for_text("iris is added")
        page.press("View")
        # The vehicle is to the left of the panel.
        page.fill("Position [m]", -1.2, -1.2, 0.8)
        page.fill("Target [m]", 0.48, -0.55, 0.3)
        page.press("Move camera")
        page.press("Fly")
        wait_for(lambda: abs(height(page) - 0.1) < 0.15, what="the vehicle in the list")
        standing = settled(page)
        page.keep("standing")

        page.press("Play")
        page.wait_for_text("box_room: playing")
        page.press("Hover")
        wait_for(lambda: height(page) > 1.0, what="a vehicle above 1 m")
        wait_for(lambda: changed(canvas(page), standing) > 0.01, what="a vehicle that has left its place")
        page.press("Pause")
        page.wait_for_text("box_room: paused")
        paused_at = simulated_time(page)
        aloft = settled(page)
        page.keep("flying")
        # The vehicle, its shadow and its trail have changed; the world has not.
        assert 0.01 < changed(aloft, standing) < 0.2
        assert simulated_time(page) == paused_at > 0.0

        page.press("Reset")
        page.wait_for_text("box_room: paused, 0.0 s")
        wait_for(lambda: height(page) < 0.3, what="a vehicle back on the ground")
        page.press("Remove")
        page.wait_for_text("iris is removed", "There are no vehicles.")
        gone = settled(page)
        assert 0.01 < changed(gone, standing) < 0.2
        page.keep("removed")


def test_two_browsers_at_once(panel, address):
    """If this fails, a second browser sees nothing, or a reload changes the simulation."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.vehicle.add()
    with Page(address) as first:
        with Page(address) as second:
            for page in first, second:
                page.wait_for_text("flat: stopped")
                page.close_notices()
            first.press("Play")
            second.wait_for_text("flat: playing")
            views = [canvas(page) for page in (first, second)]
            assert all(np.unique(view.reshape(-1, 3), axis=0).shape[0] > 100 for view in views)
            second.keep("second-browser")
            before = simulated_time(second)
            first.reload()
            wait_for(lambda: simulated_time(second) > before + 1.0, what="a run that goes on")
            first.wait_for_text("flat: playing")
            second.press("Fly")
            second.press("Hover")
        first.press("Fly")
        wait_for(lambda: height(first) > 1.0, what="a vehicle above 1 m, flown from a browser that is gone")
        assert [vehicle.name for vehicle in panel.snapshot.vehicles] == ["iris"]
        first.press("Pause")
        first.wait_for_text("flat: paused")
        first.keep("reloaded")


def test_a_page_without_the_token_is_none(address):
    """If this fails, a browser without the token gets the page, or an empty one without a reason."""
    place, token, _ = address.rsplit("/", 2)
    with Page("about:blank") as page:
        for other in (f"{place}/", f"{place}/{token[:-1]}/"):
            page.open(other)
            page.wait_for_text("This page requires the complete address printed by Pegasus")
        page.open(f"{place}/{token}")
        page.wait_for_text("No world is loaded.")
        page.reload()
        page.wait_for_text("No world is loaded.")
