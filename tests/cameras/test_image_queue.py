"""Tests of images rendered beside the simulation: in order, bounded, and with the same bits."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest
from analytic_renderer import GROUND, AnalyticRenderer, Plane
from mcap.reader import make_reader

from pegasus import ConfigError, McapRecorder, Multirotor, Simulation
from pegasus.cameras import (
    Camera,
    CameraReading,
    ImageQueue,
    Imaging,
    Lidar,
    Raster,
    StereoCamera,
    image_queue,
)
from pegasus.contracts.renderer import NOTHING
from pegasus.core.visuals import Visuals
from tests.flyers import PLAIN_IRIS
from tests.waits import LIMIT

WALL = Plane((1.0, 0.0, 0.0), 5.0, "/World/wall", "wall")
NOISY = Imaging(full_well=500.0, read_noise=0.05)


class BareRenderer(AnalyticRenderer):
    """Renderer of surfaces whose materials no scene describes."""

    def cast(self, origins, directions, max_range, *, width=0):
        returns = super().cast(origins, directions, max_range, width=width)
        return returns._replace(material=np.full_like(returns.material, NOTHING))


class GatedRenderer(BareRenderer):
    """Renderer that waits for its gate, and may fail at an image."""

    def __init__(self):
        super().__init__(planes=(GROUND, WALL))
        self.gate, self.fails_at, self.threads = threading.Event(), None, set()

    def render(self, view, channels, *, samples=1):
        assert self.gate.wait(LIMIT)
        self.threads.add(threading.current_thread())
        if self.render_count == self.fails_at:
            raise ConfigError("cannot be rendered", field="view")
        return super().render(view, channels, samples=samples)


def flying(lag, renderer):
    sim = Simulation("flat", renderer=renderer, seed=3)
    camera = Camera(rate_hz=25.0, resolution=(32, 24), imaging=NOISY, lag=lag)
    return sim, sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 2.0), sensors={"front": camera}))


def added(sim, iris, queue, steps):
    """Step, and add the images of each new reading."""
    for _ in range(steps):
        sim.step()
        for reading in iris.new_readings.values():
            queue.add(reading, lambda reading=reading: (reading.stamp, reading.rgb))


def test_steps_go_on_while_images_wait():
    """The step would wait for each image although two may wait."""
    renderer, received = GatedRenderer(), []
    sim, iris = flying(2, renderer)
    with sim:
        queue = ImageQueue(received.append)
        added(sim, iris, queue, 20)
        queue.collect()
        assert (received, renderer.render_count, sim.step_count) == ([], 0, 20)
        renderer.gate.set()
        queue.finish()
        assert [stamp for stamp, _ in received] == [0.0, 0.04]
        assert threading.main_thread() not in renderer.threads


@pytest.mark.parametrize("lag", [0, 1])
def test_scans_are_cast_beside_the_steps(lag):
    """The step would wait for the rays of each scan, or a lidar could not be told to cast at once."""
    renderer, received = GatedRenderer(), []
    casters = set()
    cast = renderer.cast

    def watched(*arguments, **options):
        casters.add(threading.current_thread())
        assert lag == 0 or renderer.gate.wait(LIMIT)
        return cast(*arguments, **options)

    renderer.cast = watched
    lidar = Lidar(rate_hz=25.0, pattern=Raster(column_count=12, row_count=5), lag=lag)
    with Simulation("flat", renderer=renderer, seed=3) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 2.0), sensors={"roof": lidar}))
        queue = ImageQueue(received.append)
        for _ in range(9):
            sim.step()
            for reading in iris.new_readings.values():
                queue.add(reading, lambda reading=reading: reading.cloud())
        assert sim.step_count == 9
        assert len(received) == (lag == 0)
        renderer.gate.set()
        queue.finish()
        assert len(received) == 1
        assert (threading.main_thread() in casters) == (lag == 0)


def test_a_full_queue_waits_and_drops_nothing():
    """Images would be lost, out of order, or pile up without bound if rendering is slow."""
    renderer, received = GatedRenderer(), []
    sim, iris = flying(2, renderer)
    threading.Timer(0.2, renderer.gate.set).start()
    with sim:
        queue = ImageQueue(received.append)
        added(sim, iris, queue, 31)
        # Readings at steps 0, 10, 20 and 30, of which two may wait.
        assert len(received) == 2
        queue.finish()
    assert [stamp for stamp, _ in received] == [0.0, 0.04, 0.08, 0.12]


class Timeline:
    """Wall clock and renderer of a test: images take their turn, and waiting passes the time."""

    def __init__(self, lag, durations):
        self.now, self.lag, self.visuals = 0.0, lag, self
        self.durations, self.rendering, self.idle = iter(durations), [], 0.0
        self.free_at = 0.0

    def perf_counter(self):
        return self.now

    def prepare(self):
        return self.lag

    def submit(self, make):
        rendered = Image(self, make)
        self.idle += max(self.now - self.free_at, 0.0) if self.free_at else 0.0
        rendered.ends = self.free_at = max(self.now, self.free_at) + next(self.durations)
        self.rendering.append(rendered)
        return rendered

    def wait(self, images, timeout):
        self.pass_until(min([self.now + timeout, *(image.ends for image in images)]))

    def pass_until(self, then):
        while self.rendering and self.rendering[0].ends <= then:
            image = self.rendering.pop(0)
            self.now = max(self.now, image.ends)
            image.set_result(image.make())
        self.now = max(self.now, then)


class Image(Future):
    """Image that is rendered at a time of the timeline."""

    def __init__(self, timeline, make):
        super().__init__()
        self.timeline, self.make, self.ends = timeline, make, 0.0

    def result(self, timeout=None):
        self.timeline.pass_until(self.ends)
        return super().result(timeout)


@pytest.mark.parametrize("lag", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.0, 0.15])
def test_slow_images_are_waited_for_evenly(monkeypatch, lag, spread):
    """One step of each image would wait for all of it, or rendering would pause for the steps."""
    rendered, between, count = 0.05, 8, 60
    shares = np.random.default_rng(1).uniform(1.0 - spread, 1.0 + spread, count + 1)
    timeline = Timeline(lag, rendered * shares)
    monkeypatch.setattr(image_queue, "time", timeline)
    monkeypatch.setattr(image_queue, "wait", timeline.wait)
    received, gaps = [], []
    queue = ImageQueue(received.append)
    for step in range(count * between):
        begun = timeline.now
        if step % between == 0:
            reading = CameraReading(step, np.zeros((1, 3)), np.zeros((1, 4)), np.eye(3), timeline)
            queue.add(reading, lambda step=step: step)
        queue.collect()
        timeline.pass_until(timeline.now + 1e-5)
        gaps.append(timeline.now - begun)
    settled = gaps[10 * between :]
    # Without pauses the steps between two images come at once, and one waits for eight shares.
    assert max(settled) < 1.7 * rendered / between
    assert timeline.idle == 0.0
    queue.finish()
    assert received == list(range(0, count * between, between))


def test_steps_do_not_wait_for_fast_images(monkeypatch):
    """Steps slower than rendering would be slowed down further."""
    timeline = Timeline(2, [0.05] * 61)
    monkeypatch.setattr(image_queue, "time", timeline)
    monkeypatch.setattr(image_queue, "wait", timeline.wait)
    queue = ImageQueue([].append)
    for step in range(480):
        timeline.pass_until(step * 0.01)
        assert timeline.now == step * 0.01
        if step % 8 == 0:
            reading = CameraReading(step, np.zeros((1, 3)), np.zeros((1, 4)), np.eye(3), timeline)
            queue.add(reading, lambda: None)
        queue.collect()


def test_images_do_not_depend_on_the_lag():
    """Noise or poses would be those of the time of rendering."""
    seen = {}
    for lag in (0, 1, 5):
        renderer, received = GatedRenderer(), []
        renderer.gate.set()
        sim, iris = flying(lag, renderer)
        with sim:
            queue = ImageQueue(received.append)
            added(sim, iris, queue, 80)
            queue.finish()
        assert (threading.main_thread() in renderer.threads) == (lag == 0)
        seen[lag] = [(stamp, rgb.tobytes()) for stamp, rgb in received]
    assert len(seen[0]) == 8
    assert len({rgb for _, rgb in seen[0]}) == 8
    assert seen[0] == seen[1] == seen[5]


def test_an_image_accessed_at_once_is_rendered_once():
    """Access while the image waits would render it a second time, or give another image."""
    renderer, received = GatedRenderer(), []
    renderer.gate.set()
    sim, iris = flying(3, renderer)
    with sim:
        queue = ImageQueue(received.append)
        added(sim, iris, queue, 1)
        now = iris.reading(CameraReading).rgb
        queue.finish()
    assert renderer.render_count == 1
    assert np.array_equal(received[0][1], now)


def test_errors_of_rendering_reach_the_simulation():
    """A failed image would be lost in the other thread, without a word."""
    renderer = GatedRenderer()
    renderer.gate.set()
    renderer.fails_at = 1
    sim, iris = flying(2, renderer)
    with sim:
        queue = ImageQueue([].append)
        with pytest.raises(ConfigError, match="cannot be rendered"):
            added(sim, iris, queue, 60)
        assert sim.step_count < 60


def recorded(path, lag):
    sensors = {
        "front": Camera(rate_hz=25.0, resolution=(32, 24), outputs=("rgb", "depth"), imaging=NOISY, lag=lag),
        "pair": StereoCamera(rate_hz=50.0, resolution=(16, 12), imaging=NOISY, lag=lag),
        "roof": Lidar(rate_hz=25.0, pattern=Raster(column_count=12, row_count=5), dropout=0.3, lag=lag),
    }
    renderer = BareRenderer(planes=(GROUND, WALL))
    recorder = McapRecorder(path, images=True)
    with Simulation("flat", renderer=renderer, seed=2, observers=[recorder]) as sim:
        sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 2.0), sensors=sensors))
        sim.step(95)
    with path.open("rb") as file:
        messages = make_reader(file, validate_crcs=True).iter_messages()
        return sorted((channel.topic, item.log_time, item.data) for _, channel, item in messages)


def test_logs_hold_the_same_images_whatever_the_lag(tmp_path):
    """A log would lack the last images, or hold others, if they are rendered beside the simulation."""
    at_once = recorded(tmp_path / "0.mcap", 0)
    assert sum(topic.endswith("front/rgb") for topic, *_ in at_once) == 10
    assert sum("sensors/roof/" in topic for topic, *_ in at_once) >= 9
    assert recorded(tmp_path / "3.mcap", 3) == at_once
    recorded(tmp_path / "again.mcap", 3)
    assert (tmp_path / "again.mcap").read_bytes() == (tmp_path / "3.mcap").read_bytes()


def test_a_renderer_of_the_present_is_not_asked_for_the_past():
    """RTX would render the stage of a later step, because it knows the present one only."""
    renderer, received = GatedRenderer(), []
    renderer.gate.set()
    sim, iris = flying(2, renderer)
    with sim:
        sim.visuals.close()
        sim.visuals = sim.vehicles.visuals = Visuals(
            sim.scene, sim.vehicles, renderer=renderer, renders_past=False
        )
        added(sim, iris, ImageQueue(received.append), 1)
        assert len(received) == 1
        assert renderer.threads == {threading.main_thread()}


def test_nothing_is_left_behind():
    """A closed simulation would leave its thread."""
    before = set(threading.enumerate())
    renderer = GatedRenderer()
    renderer.gate.set()
    sim, iris = flying(2, renderer)
    with sim:
        added(sim, iris, ImageQueue([].append), 11)
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("lag", [-1, 101, 1.5, None])
def test_impossible_lags_are_refused(lag):
    """A wrong lag would be noticed in the middle of a flight."""
    with pytest.raises(ConfigError, match=r"lag.*whole number from 0 to 100"):
        Camera(lag=lag)
    with pytest.raises(ConfigError, match=r"lag.*whole number from 0 to 100"):
        Lidar(lag=lag)
