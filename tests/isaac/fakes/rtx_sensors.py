"""Fake of `isaacsim.sensors.experimental.rtx` of Isaac Sim 6.0: lidars that scan by Embree.

A complete scan is written in the order of time, without missing returns; frames in between have no points.
Azimuths are positive to the left, in degrees.
"""

from types import SimpleNamespace

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from pegasus.scene import translate
from tests.isaac.fakes.application import is_running, kit
from tests.isaac.fakes.replicator import HydraTexture
from tests.isaac.fakes.writers import WriterRegistry

_STATE = "omni:sensor:Core:emitterState:s001:"
# The default number of emitters of the schema, which differs from all lidars of Pegasus.
_DEFAULTS = {
    "omni:sensor:tickRate": ("Float", 10.0),
    "omni:sensor:Core:accumulateOutputs": ("Bool", False),
    "omni:sensor:Core:scanType": ("Token", "ROTARY"),
    "omni:sensor:Core:rotationDirection": ("Token", "CCW"),
    "omni:sensor:Core:scanRateBaseHz": ("UInt", 10),
    "omni:sensor:Core:patternFiringRateHz": ("UInt", 3600),
    "omni:sensor:Core:startAzimuthOffsetDeg": ("Float", 0.0),
    "omni:sensor:Core:validStartAzimuthDeg": ("Float", 0.0),
    "omni:sensor:Core:validEndAzimuthDeg": ("Float", 360.0),
    "omni:sensor:Core:nearRangeM": ("Float", 0.3),
    "omni:sensor:Core:farRangeM": ("Float", 200.0),
    "omni:sensor:Core:rangeAccuracyM": ("Float", 0.02),
    "omni:sensor:Core:maxReturns": ("UInt", 2),
    "omni:sensor:Core:elementsCoordsType": ("Token", "SPHERICAL"),
    "omni:sensor:Core:outputFrameOfReference": ("Token", "SENSOR"),
    "omni:sensor:Core:numberOfEmitters": ("UInt", 128),
    "omni:sensor:Core:numberOfChannels": ("UInt", 128),
    f"{_STATE}azimuthDeg": ("FloatArray", [0.0] * 128),
    f"{_STATE}elevationDeg": ("FloatArray", [0.0] * 128),
    f"{_STATE}channelId": ("UIntArray", list(range(1, 129))),
    f"{_STATE}fireTimeNs": ("UIntArray", [0] * 128),
    f"{_STATE}bank": ("UIntArray", [0] * 128),
    f"{_STATE}rangeId": ("UIntArray", []),
}
_LEVELS = ("NONE", "BASIC", "EXTRA", "FULL")


class Lidar:
    def __init__(
        self,
        path,
        *,
        accumulate_outputs=True,
        aux_output_level="NONE",
        tick_rate=None,
        schemas=None,
        attributes=None,
        positions=None,
        translations=None,
        orientations=None,
        scales=None,
        reset_xform_op_properties=True,
    ):
        given = schemas, attributes, positions, translations, orientations, scales
        assert given == (None,) * 6
        if aux_output_level not in _LEVELS:
            raise ValueError(f"Invalid aux_output_level '{aux_output_level}'")
        stage = kit().context.get_stage()
        assert not stage.GetPrimAtPath(path), "wraps a prim that is there already"
        prim = stage.DefinePrim(path, "OmniLidar")
        prim.AddAppliedSchema("OmniSensorGenericLidarCoreAPI")
        for name, (kind, value) in _DEFAULTS.items():
            prim.CreateAttribute(name, getattr(Sdf.ValueTypeNames, kind)).Set(value)
        if accumulate_outputs is not None:
            prim.GetAttribute("omni:sensor:Core:accumulateOutputs").Set(accumulate_outputs)
        if tick_rate is not None:
            prim.GetAttribute("omni:sensor:tickRate").Set(tick_rate)
        self._level = aux_output_level
        self.paths, self.prims = [path], [prim]


class LidarSensor:
    def __init__(self, path, *, annotators=None, annotator_init_params=None, writers=None, render_vars=None):
        assert isinstance(path, Lidar)
        assert not annotators
        assert annotator_init_params is None
        assert writers is None
        assert render_vars is None
        self._lidar, self._product = path, HydraTexture(path.paths[0], (300, 300))
        self._writers, self._told = {}, 0.0
        kit().lidars.append(self)

    def __del__(self):
        if is_running() and self._product in kit().products:
            self._product.destroy()

    def attach_writer(self, writer_name, **kwargs):
        writer = WriterRegistry.get(writer_name)
        writer.initialize(**kwargs)
        assert writer.data_structure == "renderProduct"
        writer.attach([self._product.path])
        writer._frame = lambda: writer.write({"renderProducts": {self._product.path: self._data(writer)}})
        self._writers[writer_name] = writer
        return writer

    def detach_writer(self, writer_name):
        writer = self._writers.pop(writer_name)
        writer.detach()
        # This ends the reference cycle, so that the sensor can be deleted.
        del writer._frame
        kit().lidars.remove(self)

    def _data(self, writer):
        names = [annotator._name for annotator in writer.annotators]
        prim = self._lidar.prims[0]
        period = 1.0 / prim.GetAttribute("omni:sensor:tickRate").Get()
        now = kit().physics.time
        if now < self._told:
            self._told = 0.0
        empty = SimpleNamespace(numElements=0, timestampNs=0)
        model, prims = empty, {}
        if now - self._told >= period * (1 - 1e-6):
            self._told = now
            model, prims = _scan(prim, int((now - period) * 1e9), self._lidar._level)
        known = {"GenericModelOutput": model, "StableIdMap": prims}
        return {name: {"data": known[name]} for name in names}


class LidarSensor60(LidarSensor):
    def __init__(self, path, *, annotators=None, writers=None, render_vars=None):
        super().__init__(path, annotators=annotators, writers=writers, render_vars=render_vars)


def _scan(prim, stamp, level):
    """Return the returns of one rotation, and prim paths by object id."""
    from pegasus.render.embree.renderer import EmbreeRenderer

    def value(name):
        return prim.GetAttribute(f"omni:sensor:Core:{name}").Get()

    assert value("accumulateOutputs"), "half a scan"
    assert value("scanType") == "ROTARY"
    rate = prim.GetAttribute("omni:sensor:tickRate").Get()
    assert rate == value("scanRateBaseHz"), "tickRate does not match scanRateBaseHz"
    count = value("numberOfEmitters")
    for attribute in prim.GetAttributes():
        if attribute.GetName().startswith(_STATE):
            length = len(attribute.Get())
            assert length in (0, count), f"{attribute.GetName()} has {length} entries, not {count}"
    ticks = value("patternFiringRateHz") // value("scanRateBaseHz")
    turn = -1.0 if value("rotationDirection") == "CW" else 1.0
    start = value("startAzimuthOffsetDeg")
    azimuth = start + turn * np.arange(ticks)[:, None] * 360.0 / ticks + np.array(value(_short("azimuthDeg")))
    azimuth = (azimuth + 180.0) % 360.0 - 180.0
    elevation = np.broadcast_to(np.array(value(_short("elevationDeg"))), azimuth.shape)
    offset = np.broadcast_to(np.arange(ticks)[:, None] * 1e9 / rate / ticks, azimuth.shape)
    a, e = np.radians(azimuth).ravel(), np.radians(elevation).ravel()
    ways = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], axis=1)
    stage = kit().context.get_stage()
    matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T
    renderer = EmbreeRenderer()
    try:
        renderer.load(translate(stage))
        origins = np.repeat(matrix[:3, 3][None], len(ways), axis=0)
        hits = renderer.cast(origins, ways @ matrix[:3, :3].T, value("farRangeM"))
        paths = [entity.path for entity in renderer.entities]
    finally:
        renderer.close()
    back = np.isfinite(hits.distance) & (hits.distance >= value("nearRangeM"))
    # Object ids of 128 bits; the highest 32 count the parts of a mesh.
    numbers = [k + 1 + (k << 96) for k in range(len(paths))]
    raw = [np.frombuffer(numbers[k].to_bytes(16, "little"), np.uint8) for k in hits.entity[back]]
    model = SimpleNamespace(
        numElements=int(back.sum()),
        timestampNs=stamp,
        x=azimuth.ravel()[back].astype(np.float32),
        y=elevation.ravel()[back].astype(np.float32),
        z=hits.distance[back].astype(np.float32),
        scalar=np.full(back.sum(), 0.25, np.float32),
        timeOffsetNs=offset.ravel()[back].astype(np.int32),
    )
    if _LEVELS.index(level) >= _LEVELS.index("EXTRA"):
        model.objId = np.concatenate([*raw, np.zeros(0, np.uint8)])
    if not kit().settings.get_as_bool("/rtx-transient/stableIds/enabled"):
        return model, {}
    # For some meshes the map has only the whole mesh, without the part in the highest bits.
    known = [number if k % 2 else number & (1 << 96) - 1 for k, number in enumerate(numbers)]
    return model, dict(zip(known, paths, strict=True))


def _short(name):
    return f"emitterState:s001:{name}"


def parse_generic_model_output_data(data):
    assert data is not None
    return data


def parse_stable_id_map_data(data):
    assert data is not None
    return data


def parse_object_ids(obj_ids):
    assert obj_ids.dtype == np.uint8
    return [int.from_bytes(group.tobytes(), "little") for group in obj_ids.reshape(-1, 16)]
