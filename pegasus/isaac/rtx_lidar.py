"""RTX lidars (Isaac Sim 6.0): scans of vehicles' lidars by RTX, instead of rays at colliders."""

import gc
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Usd

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.cameras import Lidar
from pegasus.cameras.lidar_model import ScanReturns
from pegasus.cameras.scan_patterns import Spinning
from pegasus.contracts.renderer import NOTHING
from pegasus.core.simulation import Simulation
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_of, body_path, define_mount, free_path, set_pose
from pegasus.isaac.engine import IsaacEngine

_log = logging.getLogger(__name__)

STABLE_IDS = "/rtx-transient/stableIds/enabled"
"""Start setting of Kit that makes RTX report the prim of each point."""
_KEPT = 4
"""Scans kept for each lidar, for readings that are accessed later."""
_OLDEST = 2.0
"""Greatest age of a scan in periods of the lidar; rays are cast if there is none."""


@dataclass(frozen=True, eq=False)
class Scan:
    """Scan of RTX: K points in any order."""

    time: float
    """Simulated time at which it arrived [s]."""
    azimuth: Array
    """Azimuths, to the left of x [rad], shape (K,)."""
    elevation: Array
    """Elevations above the horizontal [rad], shape (K,)."""
    range: Array
    """Ranges [m], shape (K,)."""
    intensity: Array
    """Intensities of RTX, shape (K,)."""
    path: tuple[str, ...]
    """Paths of the prims that were hit."""
    part: npt.NDArray[np.int64]
    """Index into `path` of each point, shape (K,)."""


def lidar_attributes(lidar: Lidar) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the required and the optional attributes of an OmniLidar prim for a lidar.

    Source: Kit's documentation of omni.sensors.nv.lidar, by which each array of the emitters has one entry
    per emitter; Isaac Sim's tools/isaacsim.sensors.rtx/convert_lidar_json_to_usda.py.

    Raises:
        ConfigError: If RTX cannot scan like this lidar.
    """
    pattern = lidar.pattern
    if not isinstance(pattern, Spinning):
        raise ConfigError(
            "only spinning lidars are supported by RTX", field="pattern", value=type(pattern).__name__.lower()
        )
    if lidar.rate_hz != round(lidar.rate_hz):
        raise ConfigError("must be whole turns per second for RTX", field="rate_hz", value=lidar.rate_hz)
    rings, columns = pattern.shape
    core, state = "omni:sensor:Core:", "omni:sensor:Core:emitterState:s001:"
    required = {
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
    optional = {
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
    return required, optional


class RtxScanner:
    """OmniLidar prim on a body; a writer of Replicator receives each of its scans exactly once.

    Args:
        body: Prim path of the body.
        name: Name of the sensor.
        lidar: The sensor.
        clock: Returns the simulation time [s].

    Raises:
        ConfigError: If RTX cannot scan like this lidar, or this Isaac Sim has no RTX lidar.
    """

    def __init__(self, body: str, name: str, lidar: Lidar, clock: Callable[[], float]) -> None:
        required, optional = lidar_attributes(lidar)
        try:
            import isaacsim.sensors.experimental.rtx as rtx
            import omni.replicator.core as rep
        except ImportError:
            raise ConfigError(
                "RTX lidars need Isaac Sim 6.0 with the extension isaacsim.sensors.experimental.rtx enabled",
                field="extension",
                remedy="enable it in the extension manager, or use rays",
            ) from None
        self._rtx, self._rep, self._clock = rtx, rep, clock
        stage: Any = kit.stage()
        self._stage = stage
        self._mount = free_path(stage, f"{body}/{name}")
        self.scans: deque[Scan] = deque(maxlen=_KEPT)
        """Last scans, the newest one last."""
        self._writer = "PegasusScans" + self._mount.replace("/", "_")
        self._latest = -1
        set_pose(define_mount(stage, self._mount), lidar.position, quaternion_from_euler(*lidar.orientation))
        # The level EXTRA adds the prims of the points.
        self._lidar = rtx.Lidar(
            f"{self._mount}/rtx",
            accumulate_outputs=True,
            aux_output_level="EXTRA",
            tick_rate=float(lidar.rate_hz),
        )
        try:
            set_attributes(stage.GetPrimAtPath(f"{self._mount}/rtx"), required, optional)
            self._sensor = rtx.LidarSensor(self._lidar, annotators=[])
        except BaseException:
            stage.RemovePrim(self._mount)
            raise
        self._attach()

    def _attach(self) -> None:
        """Attach a writer that keeps every scan."""
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
        """Copy a new scan, since RTX uses its buffers again."""
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
        """Remove prim and writer; the stage may be closed already."""
        self._sensor.detach_writer(self._writer)
        self._rep.WriterRegistry.unregister_writer(self._writer)
        # Deleting the sensor frees its render product.
        del self._sensor
        if self._stage and self._stage.GetPrimAtPath(self._mount):
            self._stage.RemovePrim(self._mount)


class RtxLidar:
    """RTX source of a vehicle's lidar, in place of rays; see `measure_by_rtx`."""

    def __init__(
        self, simulation: Simulation, name: str, lidar: Lidar, vehicle: str, scanners: list[RtxScanner]
    ) -> None:
        self.name, self.lidar, self.scanners = name, lidar, scanners
        self._simulation, self._vehicle = simulation, vehicle

    def echoes(self, copy: int, stamp: float) -> ScanReturns | None:
        """Return the last scan of a copy of the vehicle at an instant [s]; None if rays are to be cast."""
        oldest = stamp - _OLDEST / self.lidar.rate_hz
        scans = reversed(self.scanners[copy].scans)
        # Frames are rendered after a step, so a scan shows the instant at which it arrives.
        scan = next((item for item in scans if oldest <= item.time <= stamp + 1e-9), None)
        return None if scan is None else self._grid(scan, copy)

    def _grid(self, scan: Scan, copy: int) -> ScanReturns:
        lidar = self.lidar
        rings, columns = lidar.shape
        elevations = np.array(lidar.pattern.elevations)
        ring = np.abs(scan.elevation[:, None] - elevations).argmin(axis=1)
        # Clockwise from the rear, as in `Spinning`; the last column points to the rear.
        turned = (np.pi - scan.azimuth) / (2 * np.pi) * columns
        column = (np.rint(turned).astype(np.int64) - 1) % columns
        entities = self._entities()
        engine = self._simulation.engine
        assert isinstance(engine, IsaacEngine)
        hits = [_entity(engine.path_in_world(path), entities) for path in scan.path]
        entity = np.array(hits, dtype=np.int32)[scan.part]
        valid = (scan.range >= lidar.min_range) & (scan.range <= lidar.max_range)
        if lidar.hide_vehicle:
            valid &= entity != entities.get(body_path(f"{self._vehicle}/{copy}"), -2)
        ring, column = ring[valid], column[valid]
        echoes = ScanReturns(
            range=np.full((rings, columns), np.inf),
            intensity=np.zeros((rings, columns)),
            entity=np.full((rings, columns), NOTHING, dtype=np.int32),
        )
        echoes.range[ring, column] = scan.range[valid]
        echoes.intensity[ring, column] = scan.intensity[valid]
        echoes.entity[ring, column] = entity[valid]
        return echoes

    def _entities(self) -> dict[str, int]:
        """Return entity indices by prim path."""
        visuals = self._simulation.visuals
        own = {
            body_path(f"{vehicle.name}/{copy}"): prefix
            for vehicle in visuals.snapshot(self._simulation.time).vehicles
            for copy, prefix in enumerate(vehicle.prefixes)
        }
        found = {entity.path: index for index, entity in enumerate(visuals.entities)}
        if not found.keys() >= set(own.values()):
            # The first image or ray registers the vehicles: cast a short one.
            up = np.array([[0.0, 0.0, 1.0]])
            visuals.cast(visuals.snapshot(self._simulation.time), np.zeros((1, 3)), up, 1e-3)
            found = {entity.path: index for index, entity in enumerate(visuals.entities)}
        return found | {body: found[prefix] for body, prefix in own.items() if prefix in found}


class RtxLidars(kit.ClosedOnExit):
    """RTX lidars of a simulation; see `measure_by_rtx`."""

    def __init__(self, simulation: Simulation, names: Collection[str] | None) -> None:
        self._lidars: list[RtxLidar] = []
        known = {
            name
            for vehicle in simulation.vehicles
            for name, sensor in vehicle.sensors.items()
            if isinstance(sensor, Lidar)
        }
        for name in names or ():
            listed = ", ".join(sorted(known)) or "none"
            require(name in known, "lidar", name, f"is not a lidar of any vehicle; there are {listed}")
        try:
            for vehicle in simulation.vehicles:
                for name, sensor in vehicle.sensors.items():
                    if not isinstance(sensor, Lidar) or (names is not None and name not in names):
                        continue
                    try:
                        lidar_attributes(sensor)
                    except ConfigError as error:
                        _log.warning("%s still uses rays: %s", sensor.name, error)
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
        """Lidars measured by RTX."""
        return list(self._lidars)

    def close(self) -> None:
        """Make the lidars cast rays again; a second call has no effect."""
        for item in self._lidars:
            item.lidar.source = None
            for scanner in item.scanners:
                scanner.close()
        if self._lidars:
            # A sensor in a reference cycle keeps its render product, which RTX goes on to draw.
            gc.collect()
        self._lidars = []


def measure_by_rtx(simulation: Simulation, *, lidars: Collection[str] | None = None) -> RtxLidars:
    """Measure lidars of all vehicles of a simulation by RTX, until the result is closed.

    The readings keep their form. RTX scans while Kit renders frames; rays are cast if the last two turns gave
    no scan, and for patterns that do not spin.

    Args:
        simulation: Simulation on Isaac Sim, with its vehicles.
        lidars: Names of the sensors; None for all lidars.

    Raises:
        ConfigError: If this Isaac Sim has no RTX lidar, or no vehicle has one of the lidars.
    """
    if not kit.setting(STABLE_IDS):
        _log.warning(
            "RTX does not report prims, so points on the vehicle remain: start Isaac Sim with --%s=true",
            STABLE_IDS,
        )
    return RtxLidars(simulation, lidars)


def set_attributes(prim: Usd.Prim, required: dict[str, Any], optional: dict[str, Any]) -> None:
    """Set attributes of an OmniLidar prim, and the lengths of all arrays of its emitters.

    Args:
        prim: The prim.
        required: Attributes that it must have.
        optional: Attributes that are set if it has them.

    Raises:
        ConfigError: If it lacks a required attribute.
    """
    for name, value in (required | optional).items():
        if prim.HasAttribute(name):
            prim.GetAttribute(name).Set(value)
        elif name in required:
            raise ConfigError("this Isaac Sim's OmniLidar has no such attribute", field="lidar", value=name)
    state = "omni:sensor:Core:emitterState:s001:"
    count = len(required[f"{state}elevationDeg"])
    for attribute in prim.GetAttributes():
        name, value = attribute.GetName(), attribute.Get()
        is_array = name.startswith(state) and name not in required and hasattr(value, "__len__")
        if is_array and len(value) not in (0, count):
            attribute.Set([value[0]] * count)


def _path(prims: dict[int, str], number: int) -> str:
    """Return the prim path of an object number; empty if the map does not have it.

    The highest 32 bits number the parts of a mesh, which the map may contain as a whole only.
    """
    return prims.get(number) or prims.get(number & (1 << 96) - 1, "")


def _entity(path: str, entities: dict[str, int]) -> int:
    """Return the entity index of a prim or of its nearest ancestor."""
    while path:
        if path in entities:
            return entities[path]
        path = path.rpartition("/")[0]
    return NOTHING


def _buffer(data: Any) -> Any:
    return data.get("data") if isinstance(data, dict) else data
