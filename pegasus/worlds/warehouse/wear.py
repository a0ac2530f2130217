"""Tyre marks of forklifts on the floor."""

import numpy as np

from pegasus.scene.authoring import group
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, draw, sheet
from pegasus.worlds.warehouse.layout import Layout

_WHEELS = (-0.45, 0.45)
_WIDTH = 0.11
_LIFT = 0.0012
_PER_AISLE = 5
_STEPS = 17


def build_wear(site: Site, layout: Layout) -> None:
    """Write tyre marks where forklifts turn from the lane in front of the racks into the aisles."""
    rng = site.stream("tyres")
    marks: tuple[list[Solid], list[Solid]] = ([], [])
    for aisle in layout.aisles:
        for _ in range(_PER_AISLE):
            radius, side = float(rng.uniform(1.5, 2.3)), float(rng.choice([-1.0, 1.0]))
            middle = (
                layout.lane + radius + rng.normal(0.0, 0.25),
                aisle + side * radius + rng.normal(0.0, 0.2),
            )
            start, end = np.sort(rng.uniform((-0.35, 0.35), np.pi / 2 + np.array([-0.35, 0.35])))
            angle = np.linspace(start, end, _STEPS)
            for wheel in _WHEELS:
                # Around the middle of the turn, from the aisle to the lane.
                rims = [radius + wheel + s * _WIDTH / 2 for s in (-1.0, 1.0)]
                edges = [
                    np.column_stack(
                        [
                            middle[0] - rim * np.sin(angle),
                            middle[1] - side * rim * np.cos(angle),
                            np.full(_STEPS, _LIFT),
                        ]
                    )
                    for rim in rims
                ]
                marks[int(rng.integers(2))].append(sheet(np.stack(edges if side > 0 else edges[::-1])))
    group(site.stage, f"{ROOT}/Wear", "stain")
    for name, solids, tone in zip(("Faint", "Dark"), marks, (0.15, 0.11), strict=True):
        if solids:
            rubber = site.paint(f"rubber_{name}", (tone, tone, tone), roughness=0.5, collides=False)
            draw(site.stage, f"{ROOT}/Wear/{name}", solids, rubber)
