"""Tests of the fields of the page: user input and display of the panel's state."""

import asyncio
import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

import viser

from pegasus import Multirotor, Simulation
from pegasus.config.scenario import WorldSpec
from pegasus.config.settings import change_settings, user_settings
from pegasus.panel import fields
from pegasus.panel.fields import Draft
from pegasus.panel.viser.controls import WebControls
from pegasus.panel.viser.fields import PageSection
from pegasus.panel.viser.view import WebView
from tests.panel.client import Client
from tests.panel.panel_rig import last_error
from tests.waits import LIMIT, wait_until


class Browser(Client):
    """A browser whose user edits fields.

    Args:
        view: The page that it is opened at.
        panel: The panel that the page shows.
    """

    def __init__(self, view, panel):
        super().__init__(view.address)
        self._controls = WebControls(view, panel)
        self.server = view.server
        wait_until(lambda: view.server.get_clients(), "the browser")

    def section(self, title):
        """Return the fields of a section by their labels, and its rows of buttons by their texts."""
        return self._controls.sections[title].handles

    def refresh(self, title):
        """Show the state of the panel in a section."""
        self._controls.sections[title].refresh()

    def said(self, title):
        """Return the texts of a section."""
        return "".join(text.content for text in self._controls.sections[title].texts)


@pytest.fixture
def browser(panel):
    """A browser that has opened the page of a panel."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        browser = Browser(view, panel)
        yield browser
        browser.close()


def inputs(browser):
    """Return all editable fields of the page."""
    return list(browser.server.gui._gui_input_handle_from_uuid.values())


def windy(mean_velocity, **options):
    """Return a flat world with wind."""
    spec = WorldSpec(name="windy", generator={"model": "flat"})
    model = {"model": "gusts" if options else "constant", "mean_velocity": mean_velocity, **options}
    return lambda: Simulation(spec.model_copy(update={"wind": model}))


def test_another_vehicle_is_followed_whatever_copy_was(panel, browser):
    """If this fails, a view of copy 7 of ten cannot change to a fleet of three."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    for name, count, x in ("many", 8, 0.0), ("few", 2, 30.0):
        panel.session.add(Multirotor("iris", name=name, count=count, position=(x, 0, 0.1)))
    section = browser.section("Fly")
    wait_until(lambda: section["Vehicle"].value == "many", "the list")
    browser.write(section["Copy"], 7)
    wait_until(lambda: panel.view.followed == ("many", 7), "the copy")
    browser.write(section["Vehicle"], "few")
    wait_until(lambda: panel.view.followed == ("few", 0), "the other vehicle")
    wait_until(lambda: section["Copy"].value == 0, "its copy")
    assert not any(message.error for message in panel.messages)


def test_the_next_vehicle_has_no_numbers_of_the_last(panel, browser):
    """The fields would show where the last vehicle stood, while the next one starts at a spawn point."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    section = browser.section("Vehicle")
    browser.write(section["Position [m]"], (3.0, 2.0, 1.0))
    wait_until(lambda: panel.vehicle.position == (3.0, 2.0, 1.0), "the position")
    assert panel.vehicle.add()
    wait_until(lambda: section["Position [m]"].value == (0.0, 0.0, 0.0), "the fields")
    assert panel.vehicle.position is None
    assert "spawn point" in browser.said("Vehicle")


def settle(browser):
    """Wait until the event loop of the page has done what it was given."""
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), browser.server.get_event_loop()).result(LIMIT)


def refreshed_early(browser, section, field, value):
    """Change a field and refresh it before the change is handled, as a busy page does."""
    busy, executor = threading.Event(), browser.server.gui._thread_executor
    (client,) = browser.server.get_clients()
    executor.submit(lambda _: busy.wait(LIMIT), SimpleNamespace(client_id=client))
    handle = browser.section(section)[field]
    browser.write(handle, value)
    wait_until(lambda: executor._waiting[client], "the change")
    browser.refresh(section)
    settle(browser)
    assert handle.value == value
    busy.set()


@pytest.fixture
def path(browser):
    """A field of its own on the page, its section, and the function that its next refresh waits for."""
    draft, wait = Draft(lambda: ""), []

    def get():
        value = draft.get()
        if wait:
            wait.pop()()
        return value

    section = PageSection(
        browser.server, fields.Section("Paths", frozenset(), [fields.Text("Path", get, draft.set)])
    )
    return section.handles["Path"], section, draft, wait


def test_an_input_during_a_refresh_is_kept(browser, path):
    """If this fails, a refresh that has read an old value shows it in place of what was entered meanwhile."""
    field, section, draft, wait = path
    reading, entered = threading.Event(), threading.Event()
    wait.append(lambda: (reading.set(), entered.wait(LIMIT)))
    refresher = threading.Thread(target=section.refresh)
    refresher.start()
    assert reading.wait(LIMIT)
    browser.write(field, "/a/b")
    wait_until(lambda: draft.get() == "/a/b", "the input")
    entered.set()
    refresher.join(LIMIT)
    wait_until(lambda: not browser.server.gui._thread_executor._waiting, "the end of the action")
    settle(browser)
    assert field.value == "/a/b"


def test_a_refresh_between_the_arrival_of_an_input_and_its_action_loses_nothing(browser, path):
    """If this fails, a refresh at an unlucky moment hands the old value to the panel as the user's."""
    field, section, draft, _ = path
    sync = field._impl.sync_cb

    def refresh_and_sync(*arguments):
        refresher = threading.Thread(target=section.refresh)
        refresher.start()
        refresher.join(LIMIT)
        sync(*arguments)

    field._impl.sync_cb = refresh_and_sync
    browser.write(field, "/a/b")
    wait_until(lambda: draft.get() == "/a/b" and field.value == "/a/b", "the input")


@pytest.mark.parametrize(
    ("section", "field", "value", "changed"),
    [
        ("Vehicle", "Count", 4, lambda panel: panel.vehicle.count == 4),
        ("Vehicle", "Spacing [m]", 3.0, lambda panel: panel.vehicle.spacing == 3.0),
        ("Backend", "Flight", "circle", lambda panel: panel.backend.flight == "circle"),
        ("Backend", "Height [m]", 7.0, lambda panel: panel.backend.height == 7.0),
        ("Mount sensors", "Yaw [deg]", 90.0, lambda panel: panel.sensors.yaw == math.radians(90.0)),
        ("Fly", "Copy", 2, lambda panel: panel.view.followed == ("many", 2)),
    ],
)
def test_a_change_is_kept_if_the_field_is_refreshed_before_it_is_handled(
    panel, browser, section, field, value, changed
):
    """A value that is set while the page is refreshed would be lost."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    panel.session.add(Multirotor("iris", name="many", count=3, position=(0, 0, 0.1)))
    chosen = browser.section("Fly")["Vehicle"]
    wait_until(lambda: chosen.value == "many", "the list")
    refreshed_early(browser, section, field, value)
    wait_until(lambda: changed(panel), "the change")
    assert not any(message.error for message in panel.messages)


def test_an_output_is_kept_if_its_box_is_refreshed_before_it_is_handled(panel, browser):
    """A box that is ticked while the page is refreshed would be unticked again."""
    refreshed_early(browser, "Mount sensors", "depth", True)
    wait_until(lambda: panel.sensors.outputs == ("rgb", "depth"), "the output")


def test_what_cannot_be_recorded_is_not_shown_as_recorded(panel, browser, tmp_path):
    """If this fails, a box is ticked although nothing is recorded."""
    (tmp_path / "runs").write_text("in the way")
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.simulation.play()
    section = browser.section("Run")
    browser.write(section["Record"], True)
    wait_until(lambda: any(message.error for message in panel.messages), "the refusal")
    assert "runs" in last_error(panel)
    wait_until(lambda: section["Record"].value is False, "an empty box")
    (tmp_path / "runs").unlink()
    browser.write(section["Record"], True)
    wait_until(lambda: panel.snapshot.recording is not None, "a recording")
    wait_until(lambda: section["Record"].value is True, "a ticked box")


def test_the_fields_show_the_wind_that_blows(panel, browser):
    """If this fails, adding gusts to a world's wind removes its mean wind."""
    section = browser.section("Run")
    panel.session.exchange(windy((3.0, -1.0, 0.0), intensity=0.5))
    wait_until(lambda: section["Wind [m/s]"].value == (3.0, -1.0, 0.0), "the wind of the world")
    wait_until(lambda: section["Gusts [m/s]"].value == 0.5, "its gusts")
    # Text that is being typed stays.
    browser.write(section["Gusts [m/s]"], 1.5)
    wait_until(lambda: section["Gusts [m/s]"].value == 1.5, "what is typed")
    assert panel.simulation.play()
    wait_until(lambda: panel.snapshot.time > 0.1, "some time")
    assert section["Gusts [m/s]"].value == 1.5
    panel.session.exchange(windy((0.0, 2.0, 0.0)))
    wait_until(lambda: section["Wind [m/s]"].value == (0.0, 2.0, 0.0), "the wind of another world")
    assert section["Gusts [m/s]"].value == 0.0


def test_plots_and_words_of_a_vehicle_go_with_it(panel, browser):
    """If this fails, curves of a removed vehicle remain on the page."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.vehicle.add()
    assert panel.simulation.play()
    plot, wanted = (
        browser.section("Telemetry")["Position [m]"],
        browser.section("Cameras")["Show camera images"],
    )
    browser.write(wanted, True)
    wait_until(lambda: "no camera" in browser.said("Cameras"), "the words")
    wait_until(lambda: np.ptp(plot.data[0]) > 0.2, "curves")
    browser.write(wanted, False)
    assert panel.vehicle.remove("iris")
    wait_until(lambda: not np.any(plot.data[0]), "no curves")
    wait_until(lambda: browser.said("Cameras") == "", "no words")


def test_plots_of_what_has_no_reference(panel, browser):
    """If this fails, one curve with a gap, as without a pilot, hides all curves."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    panel.session.add(Multirotor("iris", position=(1, 2, 0.1)))
    assert panel.simulation.play()
    position, attitude = (browser.section("Telemetry")[name] for name in ("Position [m]", "Attitude [deg]"))
    wait_until(lambda: np.ptp(position.data[0]) > 0.2, "curves")
    for plot in position, attitude:
        assert np.isfinite(plot.data).all()
    _, x, y, z, *reference = position.data
    np.testing.assert_array_equal(reference, [x, y, z])
    assert (x[-1], y[-1]) == pytest.approx((1.0, 2.0), abs=0.01)


def test_the_fields_of_ros2(panel, browser):
    """If this fails, the page lacks the ROS 2 fields, or shows them where they do not apply."""
    section = browser.section("Backend")
    fields = (
        section["Publish on ROS 2"],
        section["Namespace"],
        section["Domain"],
        section["On timeout"],
        section["Flight"],
    )

    def shown():
        return tuple(field.visible for field in fields)

    wait_until(lambda: shown() == (True, False, False, False, True), "the fields of the built-in backend")
    browser.write(section["Publish on ROS 2"], True)
    wait_until(lambda: shown() == (True, True, True, False, True), "the fields of a listener")
    browser.write(section["Backend"], "ros2")
    wait_until(lambda: shown() == (False, True, True, True, False), "the fields of ROS 2")
    browser.write(section["Namespace"], "drone0")
    browser.write(section["Domain"], "7")
    browser.write(section["On timeout"], "hold")
    part = panel.backend
    wait_until(lambda: (part.namespace, part.domain_id, part.on_timeout) == ("drone0", 7, "hold"), "them")
    browser.write(section["Domain"], "233")
    wait_until(lambda: any(message.error for message in panel.messages), "the refusal")
    assert last_error(panel) == "domain_id = '233': must be a whole number from 0 to 232"
    wait_until(lambda: section["Domain"].value == "7", "the domain that counts")


def test_no_field_of_the_page_says_what_is_started(panel, browser, config):
    """If this fails, a page can choose a program that the next vehicle starts."""
    folder = config.parent / "PX4"
    (folder / "build/px4_sitl_default/bin").mkdir(parents=True)
    (folder / "build/px4_sitl_default/bin/px4").touch()
    change_settings("px4", {"directory": folder, "airframe": "none_mine"})
    section, part = browser.section("Backend"), panel.backend
    browser.write(section["Backend"], "px4")
    wait_until(lambda: part.chosen == "px4", "PX4")
    wait_until(lambda: f"Folder: {folder}" in browser.said("Backend"), "the folder")
    assert "Airframe: none_mine" in browser.said("Backend")
    evil = str(config.parent / "evil")
    texts = [f for f in inputs(browser) if isinstance(f, viser.GuiTextHandle)]
    assert len(texts) >= 4
    for field in texts:
        browser.write(field, evil)
    # Fields for display reject input, too.
    program = browser._controls.sections["Backend"].texts[-1]
    browser.say({"type": "GuiUpdateMessage", "uuid": program._impl.uuid, "updates": {"content": evil}})
    browser.write(section["Start the autopilot"], False)
    wait_until(
        lambda: part.launch is False and panel.vehicle.name == "" and panel.messages,
        "what was written to have been heard",
    )
    assert panel.backend.make_default()
    assert (part.directory, part.airframe) == (str(folder), "none_mine")
    assert (user_settings().px4.directory, user_settings().px4.airframe) == (folder, "none_mine")


def test_a_file_is_not_read_to_the_page(panel, browser, tmp_path):
    """If this fails, a page can show lines of any file that the server's user may read."""
    field = browser.section("World")["File"]
    press = browser.section("World")["Choose file"]
    for number, (name, content) in enumerate(SECRETS.items(), 1):
        file = tmp_path / name
        file.write_text(content)
        browser.write(field, str(file))
        wait_until(lambda file=file: field.value == str(file), "the path")
        browser.write(press)
        if file.suffix.startswith(".usd"):
            wait_until(lambda file=file: panel.world.chosen == str(file), "the file")
            assert panel.world.load() is False
        wait_until(lambda number=number: len(panel.messages) == number, f"the refusal of {name}")
        said = last_error(panel)
        assert said.startswith(f"{file}: ")
        assert "hunter2" not in said.removeprefix(str(file))
        assert "root" not in said.removeprefix(str(file))


SECRETS = {
    "passwd": "root:x:0:0:hunter2:/root:/bin/bash\ndaemon:x:1:1:hunter2:/usr/sbin:/usr/sbin/nologin\n",
    "shadow": "root:*:hunter2:0:99999:7:::\n",
    "list.yaml": "- hunter2\n",
    "key.yaml": "hunter2: 1\n",
    "value.yaml": "name: x\nusd: x.usda\norigin: {latitude: hunter2}\n",
    "deep.yaml": "name: x\nusd: x.usda\norigin: {hunter2: 3}\n",
    "broken.yaml": "password: [hunter2\nroot: 'hunter2\n",
    "alias.yaml": "root: *hunter2\n",
    "tag.yaml": "root: !hunter2 x\n",
    "twice.yaml": "? [hunter2]\n: 2\n",
    "date.yaml": "hunter2: 2001-99-99\n",
    "passwd.usda": "root:x:0:0:hunter2:/root:/bin/bash\n",
    "parse.usda": "#usda 1.0\nroot:x:0:0:hunter2:/root:/bin/bash\n",
    "value.usda": '#usda 1.0\ndef Xform "root" {\n  custom string password = hunter2\n}\n',
    "quote.usda": "#usda 1.0\nit's 'root' hunter2\n",
}


def test_a_camera_is_mounted_and_the_scenario_saved_in_the_browser(panel, browser):
    """If this fails, the page cannot mount a camera or save a scenario."""
    sensors, scenarios = browser.section("Mount sensors"), browser.section("Scenario")
    browser.write(sensors["Pitch [deg]"], 90.0)
    wait_until(lambda: panel.sensors.pitch == pytest.approx(np.pi / 2), "the pitch")
    browser.write(sensors["depth"], True)
    wait_until(lambda: panel.sensors.outputs == ("rgb", "depth"), "the output")
    browser.write(sensors["Sensor"], "lidar")
    wait_until(lambda: sensors["Pattern"].visible and not sensors["Pixels"].visible, "the fields of a lidar")
    browser.write(sensors["Sensor"], "camera")
    wait_until(lambda: sensors["Pixels"].visible, "the fields of a camera")
    assert panel.sensors.mount()
    wait_until(lambda: "camera: camera, 10 Hz" in browser.said("Mount sensors"), "the list")
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.vehicle.add(), panel.messages
    browser.write(scenarios["Save as"], "from_a_page")
    wait_until(lambda: panel.scenario.name == "from_a_page", "the name")
    assert panel.scenario.save(), panel.messages
    wait_until(lambda: "from_a_page" in scenarios["Scenario"].options, "the list of scenarios")
