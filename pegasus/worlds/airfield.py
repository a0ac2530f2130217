"""The world `airfield`: a runway with markings, an apron with light aircraft, a hangar and a windsock."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from pegasus.base.components import Vec3, require
from pegasus.scene.authoring import (
    Surface,
    block,
    ground_plane,
    group,
    instance,
    material,
    new_stage,
    place,
    sun_and_sky,
)
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import Color
from pegasus.worlds.airfield_land import TRIANGLE_COUNT, write_land
from pegasus.worlds.huts import hut
from pegasus.worlds.lettering import lettering, on_floor
from pegasus.worlds.light_aircraft import write_light_aircraft
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.solids import Solid, cuboid, draw, extrusion, loft, panel, round_obstacle, tube

_FIELD = f"{ROOT}/Airfield"
_THICK = 0.5
_TOP = 0.02
"""Height of paved ground above the grass [m]."""
_APRON = (60.0, 30.0)
_TAXIWAY = 6.0
_AWAY = 40.0
"""Distance from the runway's edge to the apron [m]."""
_POLE = 5.0
_SOCK, _SOCK_RADII = 2.4, (0.3, 0.15)
_STRIPES = 5
_PATTERN_HEIGHT, _PATTERN_RADIUS = 30.0, 60.0
_SCHEMES: tuple[tuple[Color, str], ...] = (((0.35, 0.02, 0.02), "CS-PEG"), ((0.01, 0.06, 0.3), "CS-SUS"))


@dataclass(frozen=True)
class Airfield(SiteGenerator):
    """Runway with markings, taxiway, apron with light aircraft, hangar and windsock, hills beyond 2 km."""

    name: ClassVar[str] = "airfield"

    length: float = 400.0
    """Length of the runway [m]."""
    width: float = 12.0
    """Width of the runway [m]."""
    heading: float = 0.0
    """Heading of a take-off from the spawn point `runway`, counter-clockwise from east [rad]."""
    surface: Literal["asphalt", "concrete", "grass"] = "asphalt"
    """Surface of the runway."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(150.0 <= self.length <= 3000.0, "length", self.length, "must be from 150 to 3000 m")
        require(6.0 <= self.width <= 60.0, "width", self.width, "must be from 6 to 60 m")
        require(abs(self.heading) <= 2 * math.pi, "heading", self.heading, "must be from -2 pi to 2 pi rad")
        surfaces = ("asphalt", "concrete", "grass")
        require(self.surface in surfaces, "surface", self.surface, f"must be one of {', '.join(surfaces)}")

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(2 * TRIANGLE_COUNT + 20_000, 200)

    @property
    def numbers(self) -> tuple[str, str]:
        """Designations of the runway in its heading and the opposite one, tens of degrees from true north."""
        tens = round((90.0 - math.degrees(self.heading)) / 10.0)
        return f"{(tens - 1) % 36 + 1:02d}", f"{(tens + 17) % 36 + 1:02d}"

    def build(self, site: Site) -> None:
        """Write the world; all of it but light is turned by the heading."""
        sun_and_sky(site.stage, ROOT, elevation=35.0, azimuth=225.0)
        place(group(site.stage, _FIELD), (0.0, 0.0, 0.0), yaw=math.degrees(self.heading))
        contact = site.finish("grass").physics
        assert contact is not None
        ground_plane(site.stage, f"{ROOT}/Ground", contact)
        write_land(site, f"{_FIELD}/Land")
        self._runway(site)
        self._apron(site)
        self._windsock(site)
        self._ways(site)
        start = -self.length / 2
        view, target = self._placed(start - 28.0, -14.0, 8.0), self._placed(start + 46.0, 22.0, 0.0)
        site.camera(view, target)

    def _placed(self, x: float, y: float, z: float) -> Vec3:
        """Return a point along and left of the runway, from its middle, in the world [m]."""
        c, s = math.cos(self.heading), math.sin(self.heading)
        return round(c * x - s * y, 3), round(s * x + c * y, 3), round(z, 3)

    @property
    def _top(self) -> float:
        return 0.0 if self.surface == "grass" else _TOP

    @property
    def _apron_center(self) -> tuple[float, float]:
        return -self.length / 2 + _APRON[0], self.width / 2 + _AWAY + _APRON[1] / 2

    def _runway(self, site: Site) -> None:
        """Write the mown strip, the runway and its markings."""
        stage, length, width = site.stage, self.length, self.width
        mown = site.finish("grass", tint=(1.15, 1.2, 1.0), collides=False)
        strip = [cuboid((0.0, 0.0, 0.004), (length + 60.0, width + 30.0, 0.008))]
        group(stage, f"{_FIELD}/Strip", "grass")
        draw(stage, f"{_FIELD}/Strip/Lawn", strip, mown)
        group(stage, f"{_FIELD}/Runway", "runway")
        group(stage, f"{_FIELD}/Markings", "marking")
        white = site.finish("road_marking", collides=False)
        if self.surface == "grass":
            short = site.finish("thin_grass", collides=False)
            draw(stage, f"{_FIELD}/Runway/Lawn", [cuboid((0.0, 0.0, 0.006), (length, width, 0.012))], short)
            edge = [
                cuboid((x, side * width / 2, 0.008), (2.0, 0.4, 0.016))
                for x in np.linspace(-length / 2 + 1.0, length / 2 - 1.0, max(round(length / 30.0), 2) + 1)
                for side in (-1.0, 1.0)
            ]
            draw(stage, f"{_FIELD}/Markings/Edges", edge, white)
            return
        _pave(site, "Runway/Pavement", (0.0, 0.0), (length, width), self.surface)
        draw(stage, f"{_FIELD}/Markings/White", self._markings(), white)

    def _markings(self) -> list[Solid]:
        """Return threshold stripes, designations, centre line and side lines (after ICAO Annex 14, 5.2)."""
        end, width = self.length / 2, self.width
        height, bar = 0.4 * width, width / 10
        found = [_line(0.0, side * (0.47 * width), 2 * end, 0.025 * width) for side in (-1.0, 1.0)]
        for sign, number in zip((-1.0, 1.0), self.numbers, strict=True):
            # Readable in the direction of landing.
            text = lettering(number, height)
            found.append(on_floor(text, sign * (end - 22.0), 0.0, yaw=90.0 * sign, lift=_TOP + 0.003))
            found += [_line(sign * (end - 9.0), (k - 2.5) * 1.5 * bar, 12.0, bar) for k in range(6)]
        # 30 m of stripe and 20 m of gap, between the designations.
        room = 2 * end - 60.0
        stripes = max(int((room + 20.0) // 50.0), 1)
        found += [_line((k - (stripes - 1) / 2) * 50.0, 0.0, 30.0, 0.025 * width) for k in range(stripes)]
        return found

    def _apron(self, site: Site) -> None:
        """Write taxiway, apron, parked aircraft, hangar and hut."""
        stage, (x, y) = site.stage, self._apron_center
        group(stage, f"{_FIELD}/Apron", "apron")
        _pave(site, "Apron/Pavement", (x, y), _APRON, "concrete")
        _pave(site, "Apron/Taxiway", (x, self.width / 2 + _AWAY / 2), (_TAXIWAY, _AWAY), "asphalt")
        yellow = site.paint("marking_yellow", (0.75, 0.48, 0.02), roughness=0.6, collides=False)
        hold = self.width / 2 + 0.4 * _AWAY
        lines = [_line(x, (self.width / 2 + y) / 2, 0.15, y - self.width / 2)]
        lines += [_line(x, y, _APRON[0] - 6.0, 0.15)]
        lines += [_line(x, hold + gap, _TAXIWAY - 0.6, 0.15) for gap in (0.0, 0.3)]
        draw(stage, f"{_FIELD}/Markings/Yellow", lines, yellow)
        rng = site.stream("aircraft")
        for k, (accent, letters) in enumerate(_SCHEMES):
            craft = write_light_aircraft(site, f"Aircraft{k}", accent=accent, registration=letters)
            at = (x + 6.0 + 14.0 * k + float(rng.uniform(-0.5, 0.5)), y + 8.0, _TOP)
            turn = -90.0 + float(rng.uniform(-6.0, 6.0))
            instance(stage, f"{_FIELD}/Aircraft/Aircraft{k}", craft, at, yaw=turn)
        group(stage, f"{_FIELD}/Houses", "building")
        _shed(site, f"{_FIELD}/Houses/Hangar", (x - 16.0, y + _APRON[1] / 2 + 7.0))
        instance(stage, f"{_FIELD}/Houses/Hut", hut(site), (x + 12.0, y + _APRON[1] / 2 + 6.0, 0.0))

    def _windsock(self, site: Site) -> None:
        """Write a mast beside the runway, and the windsock on it as a mover."""
        x, y = self._apron_center[0] + _APRON[0] / 2 + 12.0, self.width / 2 + 16.0
        mast = site.paint("mast", (0.7, 0.7, 0.68), metallic=0.3, roughness=0.4)
        group(site.stage, f"{_FIELD}/Mast", "pole")
        draw(
            site.stage,
            f"{_FIELD}/Mast/Tube",
            [tube((x, y, 0.0), (x, y, _POLE), 0.05)],
            Surface(mast.material),
        )
        round_obstacle(site.stage, f"{_FIELD}/Mast/Body", (x, y, 0.0), (x, y, _POLE), 0.05, mast)
        stage = new_stage("Windsock")
        cloths = [
            Surface(material(stage, f"/Windsock/{name}", color))
            for name, color in (("Orange", (0.8, 0.16, 0.01)), ("White", (0.75, 0.75, 0.72)))
        ]
        angle = np.linspace(0.0, 2 * np.pi, 25)
        circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(25)])
        part = np.linspace(0.0, 1.0, _STRIPES + 1)
        rings = [
            circle * (_SOCK_RADII[0] + p * (_SOCK_RADII[1] - _SOCK_RADII[0])) - (0.0, 0.0, _SOCK * p)
            for p in part
        ]
        for k in range(_STRIPES):
            stripe = loft(np.stack([rings[k + 1], rings[k]]), capped=False)
            draw(stage, f"/Windsock/Stripe{k}", [stripe], cloths[k % 2])
        site.add_mover("windsock", stage, {"model": "windsock", "position": self._placed(x, y, _POLE)})

    def _ways(self, site: Site) -> None:
        """Add spawn points on runway and apron, and a traffic circuit."""
        end, (x, y) = self.length / 2, self._apron_center
        for name, at, turn, top in (
            ("runway", (-end + 5.0, 0.0), 0.0, self._top),
            ("apron", (x, y), -math.pi / 2, _TOP),
            ("apron_2", (x - 8.0, y), -math.pi / 2, _TOP),
            ("apron_3", (x - 16.0, y), -math.pi / 2, _TOP),
            ("opposite", (end - 5.0, 0.0), math.pi, self._top),
            ("grass", (0.0, -self.width / 2 - 20.0), 0.0, 0.0),
        ):
            east, north, _ = self._placed(*at, 0.0)
            heading = math.remainder(self.heading + turn, 2 * math.pi)
            site.spawn(east, north, ground=top, heading=heading, name=name)
        half = end - _PATTERN_RADIUS
        angle = np.radians(np.arange(-90.0, 91.0, 15.0))
        loop = [(half + _PATTERN_RADIUS * math.cos(a), _PATTERN_RADIUS * math.sin(a)) for a in angle]
        loop += [(-u, -v) for u, v in loop]
        # It begins above the runway.
        site.paths["circuit"] = [
            self._placed(u, v + _PATTERN_RADIUS, _PATTERN_HEIGHT) for u, v in [*loop, loop[0]]
        ]


def _line(x: float, y: float, length: float, width: float) -> Solid:
    """Return a painted line on paved ground."""
    return cuboid((x, y, _TOP + 0.001), (length, width, 0.004))


def _pave(site: Site, name: str, center: tuple[float, float], size: tuple[float, float], finish: str) -> None:
    """Write paved ground, which collides with the contact of its finish."""
    middle = (*center, _TOP - _THICK / 2)
    block(site.stage, f"{_FIELD}/{name}", middle, (*size, _THICK), site.finish(finish))


def _shed(site: Site, path: str, center: tuple[float, float]) -> None:
    """Write a hangar of sheet metal with closed doors towards -y."""
    (x, y), (length, width, wall, ridge) = center, (18.0, 13.0, 4.5, 2.0)
    stage = site.stage
    sheet = site.finish("corrugated_metal", tint=(0.75, 0.82, 0.85))
    roof = site.finish("corrugated_metal", tint=(0.6, 0.28, 0.22))
    group(stage, path)
    block(stage, f"{path}/Walls", (x, y, wall / 2), (length, width, wall), sheet)
    outline = [(-length / 2 - 0.4, 0.0), (length / 2 + 0.4, 0.0), (0.0, ridge)]
    gable = extrusion(outline, (x, y + width / 2 + 0.4, wall), (x, y - width / 2 - 0.4, wall))
    draw(stage, f"{path}/Roof", [gable], roof, approximation="convexHull")
    doors = site.finish("painted_metal", tint=(0.5, 0.55, 0.6), collides=False)
    front = y - width / 2 - 0.02
    leaves = [panel((x + side * 2.55, front, 1.9), (5.0, 3.8)) for side in (-1.0, 1.0)]
    draw(stage, f"{path}/Doors", leaves, doors)
