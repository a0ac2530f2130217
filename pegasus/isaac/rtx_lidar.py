"""Lidars of vehicles measured by RTX, in place of rays at colliders; Isaac Sim 6.0 has it."""

import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pxr import Usd

from pegasus.arrays import Array
from pegasus.cameras import Lidar
from pegasus.cameras.scan_patterns import Spinning
from pegasus.cameras.sweep import Echoes
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.frames import quaternion_from_euler
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_path
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.replicator_cameras import body_of, define_mount, free_path, put
from pegasus.render.renderer import NOTHING

if TYPE_CHECKING:
    from pegasus.simulation import Simulation

_log = logging.getLogger(__name__)

STABLE_IDS = "/rtx-transient/stableIds/enabled"
"""Setting, given when Isaac Sim starts, without which RTX does not tell what the points of a scan lie on."""
_KEPT = 4
"""Scans of a lidar that are kept for those who look later."""
_OLDEST = 2.0
"""How long ago the newest scan may have ended, in periods of the lidar; else rays are cast."""


@dataclass(frozen=True, eq=False)
class Scan:
    """One scan as RTX gives it: K points in no order."""

    time: float
    """Simulated time at which it arrived [s]."""
    azimuth: Array
    """Angles to the left of x [rad], shape (K,)."""
    elevation: Array
    """Angles above the horizontal [rad], shape (K,)."""
    range: Array
    """Distances [m], shape (K,)."""
    intensity: Array
    """RTX's intensities, shape (K,)."""
    path: tuple[str, ...]
    """Paths of prims that points lie on."""
    part: npt.NDArray[np.int64]
    """Index into `path` of each point, shape (K,)."""


def lidar_attributes(lidar: Lidar) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the attributes of an OmniLidar prim that scans as a lidar does: those it must have, and others.

    Source: Kit's documentation of omni.sensors.nv.lidar, which asks for as many entries in each array of the
    emitters as there are emitters; Isaac Sim's tools/isaacsim.sensors.rtx/convert_lidar_json_to_usda.py.

    Args:
        lidar: The lidar.

    Raises:
        ConfigError: If RTX cannot scan so.
    """
    pattern = lidar.pattern
    if not isinstance(pattern, Spinning):
        raise ConfigError(
            "RTX measures spinning lidars only here", field="pattern", value=type(pattern).__name__.lower()
        )
    if lidar.rate_hz != round(lidar.rate_hz):
        raise ConfigError("RTX takes whole turns per second only", field="rate_hz", value=lidar.rate_hz)
    rings, columns = pattern.shape
    core, state = "omni:sensor:Core:", "omni:sensor:Core:emitterState:s001:"
    needed = {
        f"{core}scanType": "ROTARY",
        f"{core}scanRateBaseHz": round(lidar.rate_hz),
        f"{core}patternFiringRateHz": round(lidar.rate_hz) * columns,
        f"{core}nearRangeM": lidar.min_range,
        f"{core}farRangeM": lidar.max_range,
        f"{core}numberOfEmitters": rings,
        f"{core}numberOfChannels": rings,
        f"{state}azimuthDeg": [0.0] * rings,
        f"{state}elevationDeg": np.degrees(pattern.elevations).tolist(),
        f"{state}channelId": list(range(1, rings + 1)),
        f"{state}fireTimeNs": [0] * rings,
    }
    other = {
        f"{core}rotationDirection": "CW",
        f"{core}startAzimuthOffsetDeg": 180.0,
        f"{core}validStartAzimuthDeg": 0.0,
        f"{core}validEndAzimuthDeg": 360.0,
        f"{core}maxReturns": 1,
        f"{core}minDistBetweenEchosM": lidar.min_range,
        f"{core}rangeAccuracyM": lidar.noise_sigma,
        f"{core}azimuthErrorStd": 0.0,
        f"{core}elevationErrorStd": 0.0,
        f"{core}elementsCoordsType": "SPHERICAL",
        f"{core}outputFrameOfReference": "SENSOR",
    }
    return needed, other


class RtxScanner:
    """One OmniLidar prim on a body, whose scans come by a writer of Replicator.

    A writer gets every scan once; who asks for the last one gets some twice and others never.

    Args:
        body: Path of the prim of the body.
        name: Name of the sensor.
        lidar: The sensor.
        clock: Gives the simulated time [s].

    Raises:
        ConfigError: If RTX cannot scan so, or this Isaac Sim has no RTX lidar.
    """

    def __init__(self, body: str, name: str, lidar: Lidar, clock: Callable[[], float]) -> None:
        needed, other = lidar_attributes(lidar)
        try:
            import isaacsim.sensors.experimental.rtx as rtx
            import omni.replicator.core as rep
        except ImportError:
            raise ConfigError(
                "RTX lidars need Isaac Sim 6.0 with the extension isaacsim.sensors.experimental.rtx enabled",
                field="extension",
                remedy="enable it in the extension manager, or keep to rays",
            ) from None
        self._rtx, self._rep, self._clock = rtx, rep, clock
        stage: Any = kit.stage()
        self._stage = stage
        self._mount = free_path(stage, f"{body}/{name}")
        self.scans: deque[Scan] = deque(maxlen=_KEPT)
        """The last scans, the newest one last."""
        self._writer = "PegasusScans" + self._mount.replace("/", "_")
        self._latest = -1
        put(define_mount(stage, self._mount), lidar.position, quaternion_from_euler(*lidar.orientation))
        # What points lie on is told from the level EXTRA on.
        self._lidar = rtx.Lidar(
            f"{self._mount}/rtx",
            accumulate_outputs=True,
            aux_output_level="EXTRA",
            tick_rate=float(lidar.rate_hz),
        )
        try:
            set_attributes(stage.GetPrimAtPath(f"{self._mount}/rtx"), needed, other)
            self._sensor = rtx.LidarSensor(self._lidar, annotators=[])
        except BaseException:
            stage.RemovePrim(self._mount)
            raise
        self._attach()

    def _attach(self) -> None:
        """Let a writer of our own be told of every scan."""
        rep, keep = self._rep, self._keep

        class Scans(rep.Writer):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                self.data_structure = "renderProduct"
                self.annotators = [
                    rep.AnnotatorRegistry.get_annotator("GenericModelOutput"),
                    rep.AnnotatorRegistry.get_annotator("StableIdMap"),
                ]

            def write(self, data: dict[str, Any]) -> None:
                for part in data.get("renderProducts", {}).values():
                    keep(part)

        Scans.__name__ = self._writer
        rep.WriterRegistry.register(Scans)
        self._sensor.attach_writer(self._writer)

    def _keep(self, data: dict[str, Any]) -> None:
        """Keep a scan that has arrived; the buffers are RTX's and are used again."""
        model = self._rtx.parse_generic_model_output_data(_buffer(data.get("GenericModelOutput")))
        count, stamp = int(model.numElements), int(model.timestampNs)
        if count == 0 or stamp == self._latest:
            return
        self._latest = stamp
        prims = self._rtx.parse_stable_id_map_data(_buffer(data.get("StableIdMap")))
        numbers = np.ascontiguousarray(model.objId).view(np.uint8).reshape(-1, 16)[:count]
        met, part = np.unique(numbers, axis=0, return_inverse=True)
        now = self._clock()
        if self.scans and now < self.scans[-1].time:
            self.scans.clear()
        self.scans.append(
            Scan(
                time=now,
                azimuth=np.radians(np.array(model.x[:count], dtype=np.float64)),
                elevation=np.radians(np.array(model.y[:count], dtype=np.float64)),
                range=np.array(model.z[:count], dtype=np.float64),
                intensity=np.array(model.scalar[:count], dtype=np.float64),
                path=tuple(_path(prims, number) for number in self._rtx.parse_object_ids(met.reshape(-1))),
                part=part.reshape(-1).astype(np.int64),
            )
        )

    def close(self) -> None:
        """Take the prim and its writer away; the stage may be gone already."""
        self._sensor.detach_writer(self._writer)
        self._rep.WriterRegistry.unregister_writer(self._writer)
        # Letting it go frees its render product.
        del self._sensor
        if self._stage and self._stage.GetPrimAtPath(self._mount):
            self._stage.RemovePrim(self._mount)


class RtxLidar:
    """What measures a lidar of a vehicle in place of rays; see `measure_by_rtx`."""

    def __init__(
        self, simulation: "Simulation", name: str, lidar: Lidar, vehicle: str, scanners: list[RtxScanner]
    ) -> None:
        self.name, self.lidar, self.scanners = name, lidar, scanners
        self._simulation, self._vehicle = simulation, vehicle

    def echoes(self, copy: int, stamp: float) -> Echoes | None:
        """Return the scan that ended last at an instant; None where there is none, and rays are cast.

        Args:
            copy: The copy of the vehicle.
            stamp: The instant [s].
        """
        oldest = stamp - _OLDEST / self.lidar.rate_hz
        scans = reversed(self.scanners[copy].scans)
        # Frames are drawn after a step, so that what arrives at an instant shows it.
        scan = next((item for item in scans if oldest <= item.time <= stamp + 1e-9), None)
        return None if scan is None else self._grid(scan, copy)

    def _grid(self, scan: Scan, copy: int) -> Echoes:
        lidar = self.lidar
        rings, columns = lidar.shape
        elevations = np.array(lidar.pattern.elevations)
        ring = np.abs(scan.elevation[:, None] - elevations).argmin(axis=1)
        # Clockwise from the rear, as `Spinning` has it; the last column looks to the rear.
        turned = (np.pi - scan.azimuth) / (2 * np.pi) * columns
        column = (np.rint(turned).astype(np.int64) - 1) % columns
        entities = self._entities()
        engine = self._simulation.engine
        assert isinstance(engine, IsaacEngine)
        things = [_entity(engine.path_in_world(path), entities) for path in scan.path]
        met = np.array(things, dtype=np.int32)[scan.part]
        heard = (scan.range >= lidar.min_range) & (scan.range <= lidar.max_range)
        if lidar.hide_vehicle:
            heard &= met != entities.get(body_path(f"{self._vehicle}/{copy}"), -2)
        ring, column = ring[heard], column[heard]
        echoes = Echoes(
            range=np.full((rings, columns), np.inf),
            intensity=np.zeros((rings, columns)),
            entity=np.full((rings, columns), NOTHING, dtype=np.int32),
        )
        echoes.range[ring, column] = scan.range[heard]
        echoes.intensity[ring, column] = scan.intensity[heard]
        echoes.entity[ring, column] = met[heard]
        return echoes

    def _entities(self) -> dict[str, int]:
        """Return the index of each thing by the path of its prim."""
        visuals = self._simulation.visuals
        own = {
            body_path(f"{vehicle.name}/{copy}"): prefix
            for vehicle in visuals.snapshot(self._simulation.time).vehicles
            for copy, prefix in enumerate(vehicle.prefixes)
        }
        found = {entity.path: index for index, entity in enumerate(visuals.entities)}
        if not found.keys() >= set(own.values()):
            # Vehicles are known from the first picture or ray on: this one is as short as can be.
            up = np.array([[0.0, 0.0, 1.0]])
            visuals.cast(visuals.snapshot(self._simulation.time), np.zeros((1, 3)), up, 1e-3)
            found = {entity.path: index for index, entity in enumerate(visuals.entities)}
        return found | {body: found[prefix] for body, prefix in own.items() if prefix in found}


class RtxLidars:
    """The lidars of a simulation that RTX measures; see `measure_by_rtx`."""

    def __init__(self, simulation: "Simulation", names: Collection[str] | None) -> None:
        self._lidars: list[RtxLidar] = []
        known = {
            name
            for vehicle in simulation.vehicles
            for name, sensor in vehicle.sensors.items()
            if isinstance(sensor, Lidar)
        }
        for name in names or ():
            listed = ", ".join(sorted(known)) or "none"
            require(name in known, "lidar", name, f"is on no vehicle; there are {listed}")
        try:
            for vehicle in simulation.vehicles:
                for name, sensor in vehicle.sensors.items():
                    if not isinstance(sensor, Lidar) or (names is not None and name not in names):
                        continue
                    try:
                        lidar_attributes(sensor)
                    except ConfigError as error:
                        _log.warning("%s keeps to rays: %s", sensor.name, error)
                        continue
                    made = RtxLidar(simulation, name, sensor, vehicle.name, [])
                    self._lidars.append(made)
                    for copy in range(vehicle.count):
                        body = body_of(vehicle, copy)
                        made.scanners.append(RtxScanner(body, name, sensor, lambda: simulation.time))
                    sensor.source = made
        except BaseException:
            self.close()
            raise

    @property
    def lidars(self) -> list[RtxLidar]:
        """Those that RTX measures."""
        return list(self._lidars)

    def close(self) -> None:
        """Let the lidars cast rays again; calling it twice is allowed."""
        for item in self._lidars:
            item.lidar.source = None
            for scanner in item.scanners:
                scanner.close()
        self._lidars = []

    def __enter__(self) -> "RtxLidars":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def measure_by_rtx(simulation: "Simulation", *, lidars: Collection[str] | None = None) -> RtxLidars:
    """Measure lidars of all vehicles of a simulation by RTX, until the result is closed.

    Readings stay what they are. RTX scans while Kit draws frames; where no scan has come within two turns,
    and for patterns that do not spin, rays are cast as before.

    Args:
        simulation: A simulation on Isaac Sim, with its vehicles.
        lidars: Names of the sensors; all lidars when None.

    Raises:
        ConfigError: If this Isaac Sim has no RTX lidar, or no vehicle has one of the lidars.
    """
    if not kit.setting(STABLE_IDS):
        _log.warning(
            "RTX does not tell what lidars meet, so points on the vehicle stay: start Isaac Sim by --%s=true",
            STABLE_IDS,
        )
    return RtxLidars(simulation, lidars)


def set_attributes(prim: Usd.Prim, needed: dict[str, Any], other: dict[str, Any]) -> None:
    """Set attributes of an OmniLidar prim; the arrays of its emitters all get the length of those given.

    Args:
        prim: The prim.
        needed: Attributes that it must have.
        other: Attributes that are set where it has them.

    Raises:
        ConfigError: If it lacks one.
    """
    for name, value in (needed | other).items():
        if prim.HasAttribute(name):
            prim.GetAttribute(name).Set(value)
        elif name in needed:
            raise ConfigError("this Isaac Sim's OmniLidar has no such attribute", field="lidar", value=name)
    state = "omni:sensor:Core:emitterState:s001:"
    count = len(needed[f"{state}elevationDeg"])
    for attribute in prim.GetAttributes():
        name, value = attribute.GetName(), attribute.Get()
        is_array = name.startswith(state) and name not in needed and hasattr(value, "__len__")
        if is_array and len(value) not in (0, count):
            attribute.Set([value[0]] * count)


def _path(prims: dict[int, str], number: int) -> str:
    """Return the path of the prim of a number; empty where the map does not have it.

    The highest 32 bits count the parts of a mesh, which the map may have as a whole only.
    """
    return prims.get(number) or prims.get(number & (1 << 96) - 1, "")


def _entity(path: str, entities: dict[str, int]) -> int:
    """Return the index of what a prim is a part of."""
    while path:
        if path in entities:
            return entities[path]
        path = path.rpartition("/")[0]
    return NOTHING


def _buffer(data: Any) -> Any:
    return data.get("data") if isinstance(data, dict) else data
