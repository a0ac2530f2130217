"""Fake of `omni.replicator.core`: render products and annotators that render by Embree.

An annotator returns None until the first frame after it is attached, and an empty array until the second.
"""

# ruff: noqa: ARG001, ARG003

import numpy as np
from pxr import Usd, UsdGeom

from pegasus.contracts.renderer import View
from pegasus.optics.lens import Pinhole
from pegasus.scene import translate
from tests.isaac.fakes.application import kit

_BACKGROUND, _FIRST = 0, 2
_CHANNELS = {
    "HdrColor": "radiance",
    "LdrColor": "radiance",
    "rgb": "radiance",
    "distance_to_camera": "distance",
    "distance_to_image_plane": "distance",
    "normals": "normal",
    "instance_id_segmentation": "entity",
    "instance_id_segmentation_fast": "entity",
}
_OF_SENSORS = ("GenericModelOutput", "StableIdMap")


class HydraTexture:
    """Stand-in of a render product."""

    def __init__(self, camera, resolution):
        width, height = resolution
        assert isinstance(width, int), "a resolution is (width, height) in whole pixels"
        assert isinstance(height, int), "a resolution is (width, height) in whole pixels"
        stage = kit().context.get_stage()
        prim = stage.GetPrimAtPath(camera)
        is_lidar = prim and prim.GetTypeName() == "OmniLidar"
        assert is_lidar or prim.IsA(UsdGeom.Camera), f"no camera at {camera}"
        self._camera, self._resolution, self._destroyed = camera, (width, height), False
        kit().product_count += 1
        self.path = f"/Render/RenderProduct_{kit().product_count:02d}"
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            stage.DefinePrim(self.path, "RenderProduct")
        self._stage, self._drawn = stage, -np.inf
        self._is_fresh = False
        """True if the last frame drew it."""
        kit().products.append(self)

    def _tick(self):
        """Mark this product as drawn in this frame if it is due; 6.0 draws a camera at the rate of its prim.

        The rate counts simulation time; without a rate, or with 0, each frame is drawn.
        """
        prim = self._stage.GetPrimAtPath(self._camera) if self._stage else None
        attribute = prim.GetAttribute("omni:sensor:tickRate") if prim else None
        has_rate = attribute and "OmniSensorAPI" in prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        rate = attribute.Get() if has_rate and kit().version != "5.1.0" else 0.0
        now = kit().physics.time
        if now < self._drawn:
            self._drawn = -np.inf
        self._is_fresh = rate <= 0 or now - self._drawn >= (1 - 1e-6) / rate
        if self._is_fresh:
            self._drawn = now

    def destroy(self):
        assert not self._destroyed, "destroyed twice"
        self._destroyed = True
        kit().products.remove(self)
        if self._stage:
            with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
                self._stage.RemovePrim(self.path)


def draw_products():
    """Draw the render products that are due."""
    for product in kit().products:
        product._tick()


def render_product(camera, resolution, force_new=False, name=None, render_vars=None):
    return HydraTexture(str(camera), resolution)


class Annotator:
    """Stand-in of `omni.replicator.core.Annotator`."""

    def __init__(self, name, parameters):
        self._name, self._parameters = name, dict(parameters or {})
        self._product, self._since = None, 0

    def attach(self, render_products, render_product_idxs=None):
        products = render_products if isinstance(render_products, list) else [render_products]
        assert len(products) == 1, "annotators take one render product"
        assert products[0] in kit().products, "the render product is gone"
        self._product, self._since = products[0], kit().frames
        return self

    def detach(self, render_products=None):
        assert self._product is not None, "detached twice"
        self._product = None

    def get_data(self, device=None, do_array_copy=False, use_legacy_structure=True):
        assert self._product in kit().products, "not attached to a render product"
        age = kit().frames - self._since
        if age < 1:
            return None
        labelled = _CHANNELS[self._name] == "entity"
        if age < 2:
            empty = np.zeros(0, dtype=np.uint32 if labelled else np.float32)
            return {"data": empty, "info": {}} if labelled else empty
        images, scene = _draw(self._product, _CHANNELS[self._name])
        return _as_replicator(self._name, images, scene, self._parameters)


class AnnotatorRegistry:
    """Stand-in of `omni.replicator.core.AnnotatorRegistry`."""

    @classmethod
    def get_annotator(cls, name, init_params=None, render_product_idxs=None, device=None, do_array_copy=True):
        if name not in _CHANNELS and name not in _OF_SENSORS:
            raise ValueError(f"no annotator {name!r} in this fake; it has {', '.join(_CHANNELS)}")
        return Annotator(name, init_params)


def _draw(product, channel):
    """Render an image of the stage at the present poses of its prims."""
    from pegasus.render.embree.renderer import EmbreeRenderer

    stage = kit().context.get_stage()
    prim = UsdGeom.Camera(stage.GetPrimAtPath(product._camera))
    matrix = np.array(prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T
    width, height = product._resolution
    focal = prim.GetFocalLengthAttr().Get() / prim.GetHorizontalApertureAttr().Get() * width
    vertical = prim.GetFocalLengthAttr().Get() / prim.GetVerticalApertureAttr().Get() * height
    near, far = prim.GetClippingRangeAttr().Get()
    view = View(
        lens=Pinhole(focal_length=(focal, vertical)),
        resolution=(width, height),
        position=matrix[:3, 3],
        # USD cameras look along -z with y up.
        rotation=matrix[:3, :3] @ np.diag([1.0, -1.0, -1.0]),
        near=near,
        far=far,
    )
    # Vehicles are part of this scene, so that indirect light would be computed anew for each image.
    renderer = EmbreeRenderer(bounces=0)
    scene = translate(stage)
    renderer.load(scene)
    try:
        return renderer.render(view, {channel}), [entity.path for entity in renderer.entities]
    finally:
        renderer.close()


def _as_replicator(name, images, paths, parameters):
    """Return an image in the format of an annotator."""
    if _CHANNELS[name] == "radiance":
        picture = images.radiance
        alpha = np.ones((*picture.shape[:2], 1), picture.dtype)
        picture = np.concatenate([picture, alpha], axis=2)
        return picture.astype(np.float16) if name == "HdrColor" else np.uint8(np.minimum(picture, 1) * 255)
    if _CHANNELS[name] == "distance":
        return np.where(np.isfinite(images.distance), images.distance, np.inf).astype(np.float32)
    if _CHANNELS[name] == "normal":
        return np.concatenate([images.normal, np.zeros((*images.normal.shape[:2], 1))], axis=2).astype(
            np.float32
        )
    assert parameters.get("colorize", True) is False, "colours are no numbers: ask for colorize False"
    entity = images.entity
    data = np.where(entity < 0, _BACKGROUND, entity + _FIRST).astype(np.uint32)
    labels = {int(k) + _FIRST: paths[k] for k in np.unique(entity[entity >= 0])}
    return {"data": data, "info": {"idToLabels": {_BACKGROUND: "BACKGROUND", **labels}}}


class PhysXFabric:
    """Stand-in of `omni.physxfabric.PhysXFabric`."""

    def update(self, current_time, elapsed_secs, /):
        kit().physics.fabric_is_fresh = True

    def force_update(self, current_time, elapsed_secs, /):
        kit().physics.fabric_is_fresh = True


def get_physx_fabric_interface():
    return PhysXFabric()
