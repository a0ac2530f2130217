"""Flights, images and the window in Isaac Sim itself: run by its extension manager or its test runner."""

import json
import unittest
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import omni.kit.app
import omni.kit.test
import omni.ui as ui

import pegasus.isaac
from pegasus import Aircraft, ConfigError, Simulation
from pegasus.backends.ros2 import open_transport
from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.cameras import Camera, CameraReading
from pegasus.control import GeometricController, trajectories
from pegasus.isaac import kit
from pegasus.isaac.bodies import vehicle_path
from pegasus.isaac.camera_graph import publish_cameras
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.timeline_link import TimelineLink
from pegasus.isaac.window import TITLE, PegasusWindow
from pegasus.isaac.window_replicator import ReplicatorPart
from pegasus.panel.panel import Panel

_RATE = 250
SQUARE = files("pegasus.isaac.tests") / "square.json"
"""Flight of MuJoCo along the square: rate of samples `rate` [Hz], and `position` [m], shape (K, 3)."""


class TestExtension(omni.kit.test.AsyncTestCase):  # type: ignore[misc]
    """The extension in the running application."""

    async def setUp(self) -> None:
        """Start without figures."""
        self.figures: dict[str, float] = {}

    async def tearDown(self) -> None:
        """Leave the extension enabled."""

    async def test_extension_is_enabled(self) -> None:
        """The extension would not start, or not make its window."""
        session = pegasus.isaac.session()
        for frame in range(1200):
            if ui.Workspace.get_window(TITLE) is not None:
                self.figures["window after frames"] = frame
                break
            await omni.kit.app.get_app().next_update_async()
        else:
            raise AssertionError("its window was not made within 1200 frames")
        assert session.snapshot.vehicles == ()


def square_pilot() -> GeometricController:
    """Return the controller of the flight along the square."""
    return GeometricController(trajectories.square(side=1.5, height=1.0, speed=2.0, acceleration=4.0))


class PathNotes:
    """Observer that notes the position of the first copy of a vehicle, and the force applied to it.

    Args:
        vehicle: The vehicle.
        every: Steps between two notes.
    """

    def __init__(self, vehicle: Aircraft, every: int) -> None:
        self._vehicle, self._every = vehicle, every
        self.path: list[npt.NDArray[np.float64]] = []
        """Positions [m]."""
        self.force: list[npt.NDArray[np.float64]] = []
        """Forces in the world, without the weight [N]."""

    def start(self, simulation: Simulation) -> None:
        """Start anew."""
        self.path.clear()
        self.force.clear()

    def record(self, simulation: Simulation) -> None:
        """Note the position, if it is due."""
        if simulation.step_count % self._every == 0:
            self.path.append(self._vehicle.state.position[0].copy())
            self.force.append(self._vehicle.applied_force[0].copy())

    def stop(self) -> None:
        """Keep the path."""


class _Flight(omni.kit.test.AsyncTestCase):  # type: ignore[misc]
    """World with one vehicle that is told to hover 2 m up, flown by the timeline as in the window."""

    device = "cpu"

    async def setUp(self) -> None:
        """Load the world and add the vehicle."""
        self.figures: dict[str, float] = {}
        engine = IsaacEngine(rate=_RATE, device=self.device)
        self.simulation = Simulation("flat", engine=engine, rate=_RATE, seed=1)
        self.failures: list[Exception] = []
        self.link = TimelineLink(self.simulation, play=self.simulation.play, failed=self.failures.append)
        self.camera = Camera(rate_hz=10.0, resolution=(320, 240), outputs=("rgb", "depth"))
        controller = GeometricController(trajectories.hold(height=2.0))
        self.iris = self.simulation.add(
            Aircraft("iris", backends=[controller], extra_sensors={"front": self.camera})
        )

    async def tearDown(self) -> None:
        """Leave the timeline stopped."""
        kit.stop()
        self.link.close()
        self.simulation.close()

    async def _until(self, time: float, frames: int = 5000) -> None:
        for _ in range(frames):
            if self.simulation.time >= time or self.failures:
                break
            await omni.kit.app.get_app().next_update_async()
        assert self.failures == []
        assert self.simulation.time >= time

    async def _depth(self, frames: int) -> npt.NDArray[np.float32]:
        """Return the depth that the camera sees: nothing before RTX has drawn for it."""
        for _ in range(frames):
            reading = self.iris.readings["front"]
            assert isinstance(reading, CameraReading)
            depth: npt.NDArray[np.float32] = reading.depth[0]
            if np.isfinite(depth).any():
                return depth
            await omni.kit.app.get_app().next_update_async()
        raise AssertionError(f"no picture within {frames} frames")

    async def _hover(self) -> None:
        """Climb to the height and stay there."""
        kit.play()
        await self._until(8.0)
        position = self.iris.state.position[0]
        self.figures["error [m]"] = error = float(np.abs(position - [0.0, 0.0, 2.0]).max())
        assert error < 0.05


class TestFlight(_Flight):
    """Flights, images and rays with physics on the CPU."""

    async def test_hover(self) -> None:
        """Wrenches, frames or rates would be wrong: it would not climb to 2 m and stay there."""
        await self._hover()

    async def test_square_as_in_mujoco(self) -> None:
        """The same flight on MuJoCo would go elsewhere."""
        recorded = json.loads(SQUARE.read_text(encoding="utf-8"))
        path = np.array(recorded["position"])
        iris = self.simulation.add(
            Aircraft("iris", name="square", position=(10.0, 0.0, 0.1), backends=[square_pilot()])
        )
        notes = PathNotes(iris, round(_RATE / recorded["rate"]))
        self.simulation.add_observer(notes)
        kit.play()
        await self._until(len(path) / recorded["rate"])
        away = np.linalg.norm(np.array(notes.path)[: len(path)] - [10.0, 0.0, 0.0] - path, axis=1)
        self.figures["greatest distance [m]"] = float(away.max())
        self.figures["length of the path [m]"] = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
        assert away.max() < 0.05

    async def test_a_platform_carries_a_vehicle(self) -> None:
        """PhysX would not follow the prim of a mover, or give it no velocity: its rider stays behind."""
        motion = {"model": "oscillation", "position": [8, 0, 1], "amplitude": [1, 0, 0], "period": 8.0}
        platform = self.simulation.add_mover(
            {"name": "platform", "box": [2, 2, 0.2], "center": [0, 0, -0.1], "motion": motion}
        )
        rider = self.simulation.add(Aircraft("iris", name="rider", position=(8.0, 0.0, 1.1)))
        kit.play()
        await self._until(3.0)
        start = rider.state.position[0] - platform.motion(self.simulation.time).position[0]
        await self._until(6.0)
        moved = platform.motion(self.simulation.time)
        slid = rider.state.position[0] - moved.position[0] - start
        self.figures["slid [m]"] = float(np.linalg.norm(slid))
        self.figures["error [m/s]"] = float(np.abs(rider.state.velocity[0] - moved.velocity[0]).max())
        assert self.figures["slid [m]"] < 0.05
        assert self.figures["error [m/s]"] < 0.05

    async def test_free_fall(self) -> None:
        """PhysX would add gravity or damping of its own to the fall by weight and the force of Pegasus."""
        dropped = self.simulation.add(Aircraft("iris", name="dropped", position=(5.0, 0.0, 20.0)))
        notes = PathNotes(dropped, 1)
        self.simulation.add_observer(notes)
        kit.play()
        await self._until(1.0)
        gravity = dropped.environment.gravity_vector(dropped.state.position)[0, 2]
        expected = float(np.sum(np.array(notes.force)[:, 2] / dropped.mass + gravity)) / _RATE
        self.figures["velocity [m/s]"] = velocity = float(dropped.state.velocity[0, 2])
        self.figures["error [m/s]"] = velocity - expected
        assert velocity < -9.0
        assert abs(velocity - expected) < 1e-3

    async def test_stop_and_play_again(self) -> None:
        """What a stop leaves behind would end or disturb the next run."""
        kit.play()
        await self._until(1.0)
        kit.stop()
        await omni.kit.app.get_app().next_update_async()
        assert self.simulation.step_count == 0
        kit.play()
        await self._until(1.0)

    async def test_removal_in_flight(self) -> None:
        """A vehicle that is added or removed in flight, or whose prim is deleted, would disturb another."""
        kit.play()
        await self._until(4.0)
        for name, way in (("removed", self.simulation.remove), ("deleted", self._delete)):
            other = self.simulation.add(Aircraft("iris", name=name, position=(5.0, 0.0, 5.0)))
            await self._until(self.simulation.time + 0.5)
            self.figures[f"fall of the one {name} [m]"] = 5.0 - float(other.state.position[0, 2])
            assert float(other.state.position[0, 2]) < 4.5
            way(other)
            await self._until(self.simulation.time + 1.0)
        position = self.iris.state.position[0]
        self.figures["error [m]"] = error = float(np.abs(position - [0.0, 0.0, 2.0]).max())
        assert error < 0.05

    def _delete(self, vehicle: Aircraft) -> None:
        stage = kit.stage()
        assert stage is not None
        stage.RemovePrim(vehicle_path(vehicle.name))

    async def test_picture(self) -> None:
        """The camera would look elsewhere: below its middle it sees the ground, above it the sky."""
        kit.play()
        await self._until(8.0)
        depth = await self._depth(frames=60)
        assert np.isfinite(depth[-20:]).all()
        assert not np.isfinite(depth[:20]).any()

    async def test_ray(self) -> None:
        """Rays would meet nothing, or measure in other units."""
        kit.play()
        await self._until(0.5)
        hits = self.simulation.engine.raycast(
            np.array([[3.0, 3.0, 5.0]]), np.array([[0.0, 0.0, -1.0]]), 100.0, skip=np.array([-1])
        )
        assert abs(float(hits.distance[0]) - 5.0) < 1e-3

    async def test_ros2(self) -> None:
        """Another node would get no messages, or the graph of cameras not be made."""
        try:
            kit.enable_extension("isaacsim.ros2.bridge")
            transport = open_transport()
        except ConfigError as error:
            raise unittest.SkipTest(str(error)) from None
        graph = None
        try:
            backend = ROS2("selftest", control=False)
            self.simulation.add(Aircraft("iris", name="spoken", position=(5.0, 0.0, 0.1), backends=[backend]))
            reader = transport.node("listener").subscription(
                "nav_msgs/msg/Odometry", "/selftest/odom", RELIABLE
            )
            graph = publish_cameras(self.iris, namespace="selftest_cameras")
            kit.play()
            heard = 0
            for _ in range(20):
                await self._until(self.simulation.time + 0.1)
                heard += len(reader.take())
            self.figures["messages in 2 s"] = heard
            assert heard > 0
        finally:
            if graph is not None:
                graph.close()
            transport.close()


class TestGpu(_Flight):
    """Physics on the GPU."""

    device = "cuda:0"

    async def test_hover_on_the_gpu(self) -> None:
        """Copies to and from the GPU would be late or of another body."""
        await self._hover()


class TestWindow(omni.kit.test.AsyncTestCase):  # type: ignore[misc]
    """Load and fly by the panel's parts, with the window open."""

    async def setUp(self) -> None:
        """Open a window on a session of its own."""
        self.figures: dict[str, float] = {}
        # The extension shows a window of the same title.
        window = ui.Workspace.get_window(TITLE)
        self.hidden = window is not None and bool(window.visible)
        if self.hidden:
            ui.Workspace.show_window(TITLE, False)
            await self._frames(3)
        self.session = KitSession()
        self.panel = Panel(self.session)
        self.replicator = ReplicatorPart(self.panel, self.session)
        self.window = PegasusWindow(self.panel, self.replicator)

    async def tearDown(self) -> None:
        """Close all of it."""
        self.window.destroy()
        self.replicator.close()
        self.panel.close()
        self.session.clear()
        self.session.close()
        if self.hidden:
            ui.Workspace.show_window(TITLE, True)

    async def _frames(self, count: int) -> None:
        for _ in range(count):
            await omni.kit.app.get_app().next_update_async()

    async def test_load_add_fly(self) -> None:
        """What the window shows would not be what the panel does, or a field would fail to be drawn."""
        assert self.panel.world.choose("flat")
        assert self.panel.world.load()
        assert self.panel.vehicle.add()
        await self._frames(20)
        assert self.panel.simulation.play()
        await self._frames(200)
        assert self.session.snapshot.time > 0.5
        assert self.panel.simulation.stop()

    async def test_closing_touches_nothing(self) -> None:
        """A vehicle in the air would fall when its window is closed."""
        self.panel.world.choose("flat")
        self.panel.world.load()
        self.panel.vehicle.add()
        self.window.destroy()
        await self._frames(10)
        assert len(self.session.snapshot.vehicles) == 1
        self.replicator = ReplicatorPart(self.panel, self.session)
        self.window = PegasusWindow(self.panel, self.replicator)

    async def test_every_section_is_drawn(self) -> None:
        """A widget that Kit does not make as it is asked to would leave the window empty below it."""
        self.panel.world.choose("flat")
        self.panel.world.load()
        self.panel.vehicle.add()
        self.panel.simulation.play()
        for mode in ("chase", "first person", "follow", "free"):
            assert self.panel.view.set_mode(mode)
            await self._frames(20)
        assert self.panel.view.set_viewpoint((3.0, 3.0, 3.0), (0.0, 0.0, 1.0))
        await self._frames(20)
        assert not [message for message in self.panel.messages if message.error]
        self.panel.simulation.stop()
