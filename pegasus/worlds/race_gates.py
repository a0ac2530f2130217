"""The world `race_gates`: a race track of square gates over grass, with flags, barriers and a start."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import yaml

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.streams import stream
from pegasus.scene.authoring import group, instance, sun_and_sky
from pegasus.scene.generator import Quantities
from pegasus.worlds import race_furniture as furniture
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.landscape import distance_to_line, scattered, stand
from pegasus.worlds.race_start import placed_start
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.terrain import Noise, Terrain, level_surroundings
from pegasus.worlds.vegetation import tree, variant_count

_APPROACH = 3.0
_CELL = 1.5
_GREEN = 12.0
_PADS = 6
_LEAST_GAP = 9.0


@dataclass(frozen=True)
class RaceGates(SiteGenerator):
    """Race track of square gates in a loop over grass, with flags, barriers, a start podium and trees."""

    name: ClassVar[str] = "race_gates"

    gate_count: int = 8
    """Number of gates."""
    gate_size: float = 2.6
    """Side of the square openings [m]."""
    radius: float = 26.0
    """Mean distance of the gates from the middle of the track [m]."""
    least_height: float = 2.0
    """Least height of the centre of an opening [m]."""
    most_height: float = 4.5
    """Largest height of the centre of an opening [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(3 <= self.gate_count <= 60, "gate_count", self.gate_count, "must be from 3 to 60")
        require(2.2 <= self.gate_size <= 6.0, "gate_size", self.gate_size, "must be from 2.2 to 6 m")
        least = max(12.0, 1.3 * _LEAST_GAP * self.gate_count / (2 * np.pi))
        require(
            least <= self.radius <= 300.0,
            "radius",
            self.radius,
            f"must be from {least:.1f} m for {self.gate_count} gates to 300 m",
        )
        low = self.gate_size / 2 + furniture.FRAME_WIDTH + 0.02
        require(
            low <= self.least_height <= 20.0,
            "least_height",
            self.least_height,
            f"must be from {low:.2f} m for gates of {self.gate_size:g} m to 20 m",
        )
        require(
            self.least_height <= self.most_height <= 20.0,
            "most_height",
            self.most_height,
            "must be from least_height to 20 m",
        )

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        side = 2 * (1.35 * self.radius + _GREEN)
        return Quantities(int(4 * (side / _CELL) ** 2) + 120_000, 8 * self.gate_count + int(8 * self.radius))

    def gates(self) -> list[dict[str, Any]]:
        """Return the gates in order, in the format of the trajectory `race_line`."""
        rng = stream(self.seed, "gates")
        count = self.gate_count
        even = 2 * np.pi * np.arange(count) / count
        angle = even + rng.uniform(-0.22, 0.22, count) * (2 * np.pi / count) + rng.uniform(0.0, 2 * np.pi)
        reach = self.radius * rng.uniform(0.78, 1.18, count)
        x, y = reach * np.cos(angle), reach * np.sin(angle)
        z = rng.uniform(self.least_height, self.most_height, count)
        # Mean of the directions from the previous and to the next gate, slightly rotated.
        ahead = np.stack([np.roll(x, -1) - np.roll(x, 1), np.roll(y, -1) - np.roll(y, 1)])
        heading = np.arctan2(ahead[1], ahead[0]) + rng.uniform(-0.30, 0.30, count)
        heading = (heading + np.pi) % (2 * np.pi) - np.pi
        return [
            {
                "position": [round(float(value), 3) for value in place],
                "heading": round(float(turn), 4),
                "width": self.gate_size,
                "height": self.gate_size,
            }
            for place, turn in zip(np.column_stack([x, y, z]), heading, strict=True)
        ]

    def build(self, site: Site) -> None:
        """Write the world."""
        sun_and_sky(site.stage, ROOT, elevation=47.0, azimuth=200.0)
        site.camera((14.0, -23.0, 4.0), (26.0, 10.0, 2.0))
        gates = self.gates()
        line = _line(gates)
        site.paths["race_line"] = [(float(x), float(y), float(z)) for x, y, z in np.round(line, 3)]
        site.attach("race_line.yaml", _trajectory(gates))
        self._ground(site, gates, line)
        distant_land(site, 2.0 * self.radius)
        self._gates(site, gates)
        taken = self._start(site, gates, line)
        self._edge(site, taken)

    def _ground(self, site: Site, gates: list[dict[str, Any]], line: Array) -> None:
        """Write mown grass, worn along the line and to the earth at the gates, and a meadow around."""
        half = 1.35 * self.radius + _GREEN
        count = 2 * round(half / _CELL) + 1
        side = np.linspace(-half, half, count)
        x, y = np.meshgrid(side, side)
        noise = Noise(site.stream("ground"))
        places = np.column_stack([x.ravel(), y.ravel()])
        middles = np.array([gate["position"][:2] for gate in gates])
        near = np.min([np.hypot(*(places - middle).T) for middle in middles], axis=0).reshape(x.shape)
        rough = noise.fractal(x, y, 4.0, octaves=3, gain=0.6)
        ring = np.hypot(x, y) + 3.0 * noise.fractal(x, y, 14.0, octaves=3)
        mown = self.radius * 1.30 + 5.0 - ring
        off = distance_to_line(places, line[:, :2]).reshape(x.shape)
        surfaces = {name: site.finish(name) for name in ("grass", "meadow")}
        worn = site.finish("soil", tint=(1.0, 1.0, 0.9))
        thin = site.finish("thin_grass", tint=(1.1, 1.15, 1.0))
        dry = site.finish("grass", tint=(1.35, 1.1, 0.85))
        drier = np.maximum(1.6 + 2.5 * rough - off, 3.2 + 2.5 * rough - near)
        # Between worn and fresh grass.
        half_dry = site.finish("grass", tint=(1.17, 1.05, 0.93))
        Terrain(np.zeros(x.shape), (2 * half / (count - 1),) * 2).write(
            site,
            f"{ROOT}/Ground",
            surfaces["grass"],
            [
                ("soil", worn, 1.0 + 2.6 * rough - near),
                ("grass", thin, 1.9 + 2.6 * rough - near),
                ("grass", dry, drier - 0.3),
                ("grass", half_dry, drier + 0.5),
                ("grass", surfaces["grass"], mown),
                ("meadow", surfaces["meadow"], None),
            ],
        )
        level_surroundings(site, half, surfaces["meadow"])

    def _gates(self, site: Site, gates: list[dict[str, Any]]) -> None:
        """Place the gates, each with a flag."""
        for name in ("Gates", "Flags"):
            group(site.stage, f"{ROOT}/{name}", name.lower()[:-1])
        arm = self._arm
        for number, gate in enumerate(gates):
            x, y, z = gate["position"]
            yaw = float(np.degrees(gate["heading"])) % 360.0
            at = f"{ROOT}/Gates/Gate{number}"
            group(site.stage, at)
            frame = furniture.gate_frame(site, number, self.gate_size)
            instance(site.stage, f"{at}/Frame", frame, (x, y, z), yaw=yaw)
            left = np.array([-np.sin(gate["heading"]), np.cos(gate["heading"])])
            under = z - self.gate_size / 2 - furniture.FRAME_WIDTH
            for side, sign in (("Left", 1.0), ("Right", -1.0)):
                u, v = np.array([x, y]) + sign * arm * left
                foot, leg = furniture.gate_foot(site), furniture.gate_leg(site)
                instance(site.stage, f"{at}/{side}Foot", foot, (u, v, 0.0), yaw=yaw)
                if under > 0.05:
                    instance(
                        site.stage,
                        f"{at}/{side}Leg",
                        leg,
                        (u, v, 0.02),
                        yaw=yaw,
                        scale=(1.0, 1.0, under - 0.02),
                    )
            u, v = self._flag_place(np.array([x, y]), left)
            place, turn = (u, v, 0.0), (yaw + 35.0 * number) % 360.0
            instance(site.stage, f"{ROOT}/Flags/Flag{number}", furniture.flag(site, number), place, yaw=turn)

    def _start(self, site: Site, gates: list[dict[str, Any]], line: Array) -> Array:
        """Place podium and tent, and return their positions, shape (2, 2)."""
        first, heading = np.array(gates[0]["position"][:2]), gates[0]["heading"]
        stands = np.concatenate([self._around_gate(gate) for gate in gates])
        start = placed_start(first, heading, self.radius, line[:, :2], stands, self._ring)
        middle, turn = start.podium, start.heading
        group(site.stage, f"{ROOT}/Start", "podium")
        path = furniture.podium(site, _PADS)
        yaw = float(np.degrees(turn)) % 360.0
        instance(site.stage, f"{ROOT}/Start/Podium", path, (*middle, 0.0), yaw=yaw)
        forward, left = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        for number in range(_PADS):
            u, v = middle + 0.2 * forward + (number - (_PADS - 1) / 2) * furniture.PAD_SPACING * left
            height, name = furniture.PODIUM_HEIGHT + 0.02, f"pad_{number + 1}"
            site.spawn(float(u), float(v), ground=height, heading=turn, name=name)
        for sign in (-1.0, 1.0):
            u, v = middle + 3.0 * forward + sign * 3.0 * left
            site.spawn(float(u), float(v), heading=turn)
        instance(site.stage, f"{ROOT}/Start/Tent", furniture.tent(site), (*start.tent, 0.0), yaw=yaw)
        return np.array([middle, start.tent])

    @property
    def _ring(self) -> float:
        """Radius of the ring of barriers [m]."""
        return 1.32 * self.radius + 6.0

    @property
    def _arm(self) -> float:
        """Distance of a gate's sides from its middle [m]."""
        return self.gate_size / 2 + furniture.FRAME_WIDTH / 2

    def _around_gate(self, gate: dict[str, Any]) -> Array:
        """Return the positions of gates and flags, shape (6, 2)."""
        place = np.array(gate["position"][:2])
        left = np.array([-np.sin(gate["heading"]), np.cos(gate["heading"])])
        across = [place + part * self._arm * left for part in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        return np.array([*across, self._flag_place(place, left)])

    def _flag_place(self, place: Array, left: Array) -> Array:
        """Return the position of a gate's flag, on the outer side of the track."""
        outward = 1.0 if left @ place > 0 else -1.0
        flag: Array = place + outward * (self._arm + 1.9) * left
        return flag

    def _edge(self, site: Site, taken: Array) -> None:
        """Line the track with barriers, and plant trees around it."""
        rng = site.stream("edge")
        ring = self._ring
        group(site.stage, f"{ROOT}/Barriers", "barrier")
        count = int(2 * np.pi * ring / 2.02)
        for number in range(count):
            # Entrances remain free.
            if number % (count // 4) < 4:
                continue
            angle = 2 * np.pi * number / count
            place = (ring * np.cos(angle), ring * np.sin(angle), 0.0)
            at, path = f"{ROOT}/Barriers/Barrier{number}", furniture.barrier(site, number)
            instance(site.stage, at, path, place, yaw=float(np.degrees(angle)) + 90.0)
        half = ring + 40.0
        flat = Terrain(np.zeros((2, 2)), (2 * half, 2 * half))

        def outside(places: Array) -> Array:
            return np.where(np.hypot(places[:, 0], places[:, 1]) > ring + 7.0, 1.0, 0.0)

        group(site.stage, f"{ROOT}/Trees", "tree")
        wanted = round(1.2 * ring)
        places = scattered(rng, wanted, (half, half), 5.0, taken=taken, free=outside)
        for number, place in enumerate(places):
            kind = ("broadleaf", "broadleaf", "birch", "conifer")[int(rng.integers(4))]
            prototype = tree(site, kind, int(rng.integers(variant_count(kind))))
            stand(site, f"{ROOT}/Trees/Tree{number}", prototype, flat, place, rng, scale=(0.8, 1.15))


def _line(gates: list[dict[str, Any]]) -> Array:
    """Return the closed path through all gates: before, in and behind each, shape (3 N + 1, 3)."""
    points = []
    for gate in gates:
        middle = np.array(gate["position"])
        along = _APPROACH * np.array([np.cos(gate["heading"]), np.sin(gate["heading"]), 0.0])
        points += [middle - along, middle, middle + along]
    return np.array([*points, points[0]])


def _trajectory(gates: list[dict[str, Any]]) -> str:
    """Return the gates as a trajectory for a scenario."""
    head = "# The quickest line through all gates, for `trajectory:` in a scenario.\n"
    body = yaml.safe_dump(
        {"model": "race_line", "gates": gates}, sort_keys=False, default_flow_style=None, width=110
    )
    return head + body
