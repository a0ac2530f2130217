"""Lights of glTF files (KHR_lights_punctual) as UsdLux."""

import math
from collections.abc import Mapping
from typing import Any

from pxr import Gf, Usd, UsdLux

from pegasus.config.light_specs import SunSpec
from pegasus.scene.gltf_reader import Gltf

EXTENSION = "KHR_lights_punctual"

_DAYLIGHT = SunSpec().intensity / 1e5
"""Irradiance of 1 lx: that of the sun of a clear day is 100,000 lx."""
_RADIUS = 0.05
"""Radius of lamps, which are points in glTF [m]."""


class LightWriter:
    """Writer of the lights of a file.

    Args:
        stage: Stage to write to.
        gltf: The file.
    """

    def __init__(self, stage: Usd.Stage, gltf: Gltf) -> None:
        self._stage = stage
        self._lights = gltf.document.get("extensions", {}).get(EXTENSION, {}).get("lights", ())

    def write(self, node: Mapping[str, Any], path: str) -> None:
        """Write the light of a node, if it has one.

        Args:
            node: JSON of the node.
            path: Path of the light's prim.
        """
        given = node.get("extensions", {}).get(EXTENSION)
        if given is None:
            return
        number = given["light"]
        if not 0 <= number < len(self._lights):
            raise ValueError(f"there is no number {number} of lights")
        light = self._lights[number]
        kind, color = light["type"], [float(part) for part in light.get("color", (1.0, 1.0, 1.0))]
        strength = float(light.get("intensity", 1.0)) * _DAYLIGHT
        if not (math.isfinite(strength) and strength >= 0.0):
            raise ValueError(f"the intensity of light {number} is not a finite number of at least 0")
        if kind == "directional":
            made = UsdLux.DistantLight.Define(self._stage, path)
            made.CreateAngleAttr(0.53)
        elif kind in ("point", "spot"):
            # A normalised sphere has a quarter of its intensity in each direction.
            made, strength = UsdLux.SphereLight.Define(self._stage, path), 4.0 * strength
        else:
            raise ValueError(f"light {number} is of the unknown type {kind!r}")
        if kind == "spot":
            self._shape(made, light.get("spot", {}), number)
        if kind != "directional":
            made.CreateRadiusAttr(_RADIUS)
            made.CreateNormalizeAttr(True)
        made.CreateIntensityAttr(strength)
        made.CreateColorAttr(Gf.Vec3f(*color))

    def _shape(self, made: Any, spot: Mapping[str, Any], number: int) -> None:
        """Shape a light to a cone; UsdLux has the angle from which it fades as a part of the outer one."""
        inner = float(spot.get("innerConeAngle", 0.0))
        outer = float(spot.get("outerConeAngle", math.pi / 4))
        if not 0.0 <= inner < outer <= math.pi / 2:
            raise ValueError(f"the cone of light {number} is not 0 <= inner < outer <= pi / 2")
        shaping = UsdLux.ShapingAPI.Apply(made.GetPrim())
        shaping.CreateShapingConeAngleAttr(math.degrees(outer))
        shaping.CreateShapingConeSoftnessAttr(1.0 - inner / outer)
