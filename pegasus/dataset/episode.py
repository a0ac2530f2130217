"""Episodes: a randomised scene, a flight through it, and the frames captured in it."""

import logging
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pegasus.backends.scenario import add_vehicles
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.cameras.camera import Camera
from pegasus.config.files import scenario_world
from pegasus.config.scenario import REGIONS, ScenarioSpec, WorldSpec
from pegasus.contracts.renderer import Renderer
from pegasus.core.assembly import world_of
from pegasus.core.schedule import exact
from pegasus.core.simulation import Simulation
from pegasus.dataset.frame_capture import FrameCapture, select_viewpoints
from pegasus.dataset.imu_recorder import ImuRecorder
from pegasus.dataset.randomizers import Clearance
from pegasus.dataset.randomizers.randomizer import Draws
from pegasus.dataset.recipe import Plan, Recipe, writer_class
from pegasus.labels.annotations import LabelledFrame
from pegasus.scene.scene import Scene

_SEEDS = 2**63

_log = logging.getLogger(__name__)


class Episode:
    """Randomised scene with a flight through it; a context manager.

    Frame i of a dataset belongs to scene i // K, with K frames at even instants. Randomness of a scene
    depends on the dataset's seed and the scene's number, that of a frame on its index too.

    Raises:
        ConfigError: If the scenario, or anything that it names, is wrong.
    """

    def __init__(self, recipe: Recipe, number: int, *, renderer: str | Renderer = "auto") -> None:
        self._recipe, self._randomizers = recipe, recipe.randomizers
        self.seed = int(stream(recipe.seed, "scene", str(number)).integers(_SEEDS))
        """Seed of the scene's simulation."""
        self._number, self._values = number, dict[str, dict[str, Any]]()
        self._first = number * recipe.frames_per_scene
        spec = recipe.scenario
        self.simulation = Simulation(
            self._world(), rate=spec.rate, seed=self.seed, renderer=renderer, alter_scene=self._altered
        )
        try:
            self._clearance = Clearance(self.simulation.scene)
            self._add_vehicles()
            self.viewpoints = select_viewpoints(self.simulation, spec.dataset.cameras)
            """Viewpoints of the frames."""
            self._cameras = {
                viewpoint.camera: self._camera(viewpoint.camera) for viewpoint in self.viewpoints
            }
            self._instants = self._even_instants()
        except BaseException:
            self.simulation.close()
            raise
        self._capture = FrameCapture(
            self.simulation,
            self.viewpoints,
            self._randomizers,
            seed=self.seed,
            scene=number,
            values=self._values,
            sequence=spec.dataset.frame_rate is not None,
            clearance=self._clearance,
            with_lidar=recipe.writer == "kitti",
            with_occlusion=spec.dataset.occlusion and writer_class(recipe.writer).holds_occlusion,
            regions=REGIONS if spec.dataset.regions is None else spec.dataset.regions,
            samples=spec.dataset.samples,
        )

    def __enter__(self) -> "Episode":
        return self

    def __exit__(self, *_: object) -> None:
        self.simulation.close()

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of everything in the scene, in alphabetical order."""
        simulation = self.simulation
        entities = [item.labels for item in simulation.scene.entities.values()]
        drawn = simulation.visuals.snapshot(0.0).objects
        labels = [*entities, *(item.entity.labels for item in drawn)]
        return tuple(sorted({item["class"] for item in labels if "class" in item}))

    def frames(
        self, indices: Collection[int], classes: tuple[str, ...]
    ) -> Iterator[tuple[int, list[LabelledFrame]]]:
        """Fly, and yield the images of all viewpoints for the wanted frames, in order of time.

        Args:
            indices: Indices of the frames, all of this scene.
            classes: Names of the classes in the order of their ids.
        """
        wanted = {self._instants[index - self._first]: index for index in indices}
        simulation, viewpoint = self.simulation, self.viewpoints[0]
        vehicle, sensor = simulation.vehicles[viewpoint.vehicle], viewpoint.camera.partition("/")[2]
        track = ImuRecorder(vehicle, viewpoint.copy)
        taken = -1
        while wanted:
            track.observe_before_step()
            simulation.step()
            track.observe_readings()
            if sensor in vehicle.new_readings:
                taken += 1
                if taken in wanted:
                    index = wanted.pop(taken)
                    yield index, self._capture.take(index, classes, track.taken())
                elif taken in self._instants:
                    # What a frame says does not depend on which frames are made.
                    track.taken()

    def _stream(self, randomizer: str, *names: str) -> Draws:
        values = self._values.setdefault(randomizer, {})
        return Draws(self.seed, "randomizer", randomizer, *names, values=values)

    def _world(self) -> WorldSpec:
        recipe = self._recipe
        world, _ = world_of(scenario_world(recipe.scenario, recipe.file))
        for name, randomizer in self._randomizers.items():
            try:
                world = randomizer.world(world, self._stream(name))
            except ConfigError as error:
                raise error.within(field=f"dataset.randomizers.{name}") from None
        return world

    def _altered(self, scene: Scene, world: WorldSpec) -> Scene:
        for name, randomizer in self._randomizers.items():
            try:
                scene = randomizer.scene(scene, world, self._stream(name, "scene"))
            except ConfigError as error:
                raise error.within(field=f"dataset.randomizers.{name}") from None
        return scene

    def _add_vehicles(self) -> None:
        spec: ScenarioSpec = self._recipe.scenario
        for name, randomizer in self._randomizers.items():
            rng = self._stream(name, "flights")
            try:
                spec = randomizer.flights(spec, self.simulation.world, self._clearance, rng)
            except ConfigError as error:
                raise error.within(field=f"dataset.randomizers.{name}") from None
        add_vehicles(self.simulation, spec, self._recipe.file)

    def _camera(self, name: str) -> Camera:
        vehicle, _, sensor = name.partition("/")
        camera = self.simulation.vehicles[vehicle].sensors[sensor]
        assert isinstance(camera, Camera)
        return camera

    def _even_instants(self) -> list[int]:
        """Return the indices of the cameras' images that become frames: evenly spaced in true time."""
        rates = {camera.rate_hz for camera in self._cameras.values()}
        if len(rates) > 1:
            raise ConfigError(
                "cameras of one dataset must take their images at the same instants",
                field="dataset.cameras",
                value={name: camera.rate_hz for name, camera in self._cameras.items()},
                remedy="give them the same rate_hz, or choose some",
            )
        recipe, rate = self._recipe, rates.pop()
        spec, duration, count = recipe.scenario.dataset, recipe.scenario.duration, recipe.frames_per_scene
        assert duration is not None
        # Only every n-th image falls on its exact instant if the steps between two images are not whole.
        every = (exact(recipe.scenario.rate) / exact(rate)).denominator
        first = math.ceil(math.ceil(spec.start * rate - 1e-9) / every) * every
        end = math.ceil(duration * rate - 1e-9)
        if spec.frame_rate is not None:
            between = exact(rate) / exact(spec.frame_rate)
            if between.denominator > 1 or between.numerator % every:
                raise ConfigError(
                    f"has no even instants among images at {rate:g} Hz, steps at {recipe.scenario.rate:g} Hz",
                    field="dataset.frame_rate",
                    value=spec.frame_rate,
                    remedy="make rate a multiple of rate_hz of the cameras, and that one of frame_rate",
                )
            step = between.numerator
        else:
            step = (end - 1 - first) // max(count - 1, 1) // every * every
        if end - first < 1 or step < 1 or first + (count - 1) * step >= end:
            there = max(-(-(end - first) // every), 0)
            raise ConfigError(
                f"the cameras take only {there} images at exact instants between {spec.start:g} s and "
                f"{duration:g} s",
                field="dataset.frames_per_scene",
                value=count,
                remedy="lower it, or fly longer",
            )
        return [first + k * step for k in range(count)]


def make_episode(
    recipe: Recipe,
    folder: Path,
    plan: Plan,
    number: int,
    indices: Collection[int],
    renderer: str | Renderer,
) -> None:
    """Write frames of one scene.

    Raises:
        ConfigError: If a frame cannot be made or written.
    """
    writer = recipe.make_writer(folder, plan.cameras, resume=True)
    with Episode(recipe, number, renderer=renderer) as episode:
        for index, frames in episode.frames(indices, plan.classes):
            writer.write(index, frames)


def plan_of(recipe: Recipe) -> Plan:
    """Return the cameras and classes of a dataset, from its first scene without rendering.

    Raises:
        ConfigError: If the scenario, or anything that it names, is wrong.
    """
    wanted = recipe.scenario.dataset.classes
    with Episode(recipe, 0) as episode:
        there = episode.classes
        if missing := [name for name in wanted or () if name not in there]:
            _log.warning(
                "dataset.classes: nothing in the first scene is of the class %s; it has %s",
                *(" or ".join(missing), ", ".join(there) or "none"),
            )
        classes = there if wanted is None else tuple(wanted)
        return Plan(tuple(viewpoint.name for viewpoint in episode.viewpoints), classes)
