"""The racks: upright frames, beams, guards at the ends, signs over the aisles."""

from pegasus.scene.authoring import Surface, block, group, instance, label
from pegasus.scene.scene import Color
from pegasus.worlds.lettering import lettering, on_wall
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, obstacle, panel, tube
from pegasus.worlds.warehouse.layout import (
    BAY_LENGTH,
    BEAM_HEIGHT,
    LEVEL_HEIGHT,
    PLACES_PER_BAY,
    RACK_DEPTH,
    UPRIGHT_WIDTH,
    Layout,
)

_POST_DEPTH = 0.075
_HOLE_PITCH = 0.075
_BRACE_PITCH = 0.9
_BLUE: Color = (0.012, 0.07, 0.24)
_ORANGE: Color = (0.78, 0.14, 0.012)
_YELLOW: Color = (0.85, 0.55, 0.02)


def build_racks(site: Site, layout: Layout) -> None:
    """Write the racks, empty."""
    stage = site.stage
    frame, beams, guard = _frame(site, layout), _beams(site), _guard(site)
    for index, row in enumerate(layout.rows):
        place = f"{ROOT}/Racks/Row{index}"
        group(stage, place, "shelf")
        turn = 0.0 if row.faces > 0 else 180.0
        for bay in range(layout.bay_count + 1):
            x = layout.front + bay * BAY_LENGTH
            instance(stage, f"{place}/Frame{bay}", frame, (x, row.y, 0.0))
            for level in range(1, layout.level_count if bay < layout.bay_count else 0):
                at = (x + BAY_LENGTH / 2, row.y, level * LEVEL_HEIGHT)
                instance(stage, f"{place}/Beams{bay}_{level}", beams, at, yaw=turn)
        _levels(site, layout, place, row.y)
        instance(stage, f"{place}/Guard", guard, (layout.front - 0.32, row.y, 0.0))
    _signs(site, layout)


def _levels(site: Site, layout: Layout, place: str, y: float) -> None:
    """Write the beams' colliders of a row: two long ones per level instead of two per bay."""
    paint = site.paint("rack_orange", _ORANGE, roughness=0.38)
    middle, length = (layout.front + layout.back) / 2, layout.back - layout.front
    for level in range(1, layout.level_count):
        z = level * LEVEL_HEIGHT - BEAM_HEIGHT / 2
        for name, side in (("South", -1.0), ("North", 1.0)):
            center = (middle, y + side * (RACK_DEPTH / 2 - 0.03), z)
            path = f"{place}/Level{level}{name}"
            obstacle(site.stage, path, center, (length, 0.05, BEAM_HEIGHT), paint)


def _frame(site: Site, layout: Layout) -> str:
    """Write the prototype of a frame: two posts with holes and base plates, joined by braces."""
    stage = site.stage
    path = site.prototype("RackFrame", "shelf")
    blue = site.paint("rack_blue", _BLUE, roughness=0.42, scope=path)
    brace = site.paint(
        "rack_brace", (0.5, 0.51, 0.52), metallic=0.8, roughness=0.45, scope=path, collides=False
    )
    hole = site.paint("rack_hole", (0.01, 0.01, 0.012), scope=path, collides=False)
    height, inner = layout.rack_height, RACK_DEPTH / 2 - _POST_DEPTH / 2
    holes: list[Solid] = []
    for name, side in (("South", -1.0), ("North", 1.0)):
        y = side * inner
        post = cuboid((0.0, y, height / 2), (UPRIGHT_WIDTH, _POST_DEPTH, height - 0.012), bevel=0.006)
        draw(stage, f"{path}/{name}Post", [post], blue)
        front = y + side * (_POST_DEPTH / 2 + 0.0008)
        outward = 90.0 + 90.0 * side
        holes += [
            panel((x, front, 0.2 + k * _HOLE_PITCH), (0.014, 0.03), yaw=outward)
            for k in range(int((height - 0.3) / _HOLE_PITCH))
            for x in (-0.022, 0.022)
        ]
    draw(stage, f"{path}/Holes", holes, hole)
    parts = [cuboid((0.0, s * inner, 0.004), (0.14, 0.16, 0.008)) for s in (-1.0, 1.0)]
    count = max(int((height - 0.5) / _BRACE_PITCH), 1)
    for k in range(count):
        low, high = 0.25 + k * _BRACE_PITCH, 0.25 + (k + 1) * _BRACE_PITCH
        side = 1.0 if k % 2 else -1.0
        parts.append(bar((0.0, side * inner, low), (0.0, -side * inner, min(high, height - 0.1)), 0.03, 0.03))
    for z in (0.22, height - 0.1):
        parts.append(bar((0.0, -inner, z), (0.0, inner, z), 0.03, 0.03))
    draw(stage, f"{path}/Braces", parts, brace)
    return path


def _beams(site: Site) -> str:
    """Write the prototype of one level of a bay: two beams with claws and place labels; it faces +y."""
    stage = site.stage
    path = site.prototype("RackBeams", "shelf")
    orange = site.paint("rack_orange", _ORANGE, roughness=0.38, scope=path, collides=False)
    white = site.paint("place_label", (0.8, 0.8, 0.78), roughness=0.4, scope=path, collides=False)
    black = site.paint("place_print", (0.02, 0.02, 0.02), roughness=0.5, scope=path, collides=False)
    length, y, z = BAY_LENGTH - UPRIGHT_WIDTH, RACK_DEPTH / 2 - 0.03, -BEAM_HEIGHT / 2
    claws: list[Solid] = []
    for name, side in (("Back", -1.0), ("Front", 1.0)):
        beam = cuboid((0.0, side * y, z), (length, 0.05, BEAM_HEIGHT), bevel=0.004)
        draw(stage, f"{path}/{name}", [beam], orange)
        claws += [
            cuboid((end * (BAY_LENGTH / 2 - 0.0465), side * (y + 0.0365), z - 0.01), (0.05, 0.012, 0.19))
            for end in (-1.0, 1.0)
        ]
    draw(stage, f"{path}/Claws", claws, orange)
    labels: list[Solid] = []
    prints: list[Solid] = []
    face = y + 0.025
    for k in range(PLACES_PER_BAY):
        x = (k - (PLACES_PER_BAY - 1) / 2) * length / PLACES_PER_BAY
        labels.append(panel((x, face + 0.0008, z), (0.16, 0.07), yaw=180.0))
        offset = -0.065
        for wide in (3, 1, 2, 1, 1, 3, 1, 2, 2, 1, 3, 1):
            prints.append(panel((x - offset, face + 0.0014, z - 0.008), (0.0022 * wide, 0.036), yaw=180.0))
            offset += 0.0022 * wide + 0.0045
        prints.append(panel((x, face + 0.0014, z + 0.022), (0.1, 0.01), yaw=180.0))
    draw(stage, f"{path}/Labels", labels, white)
    draw(stage, f"{path}/Prints", prints, black)
    return path


def _guard(site: Site) -> str:
    """Write the prototype of the guard rail at the end of a row."""
    stage = site.stage
    path = site.prototype("RackGuard", "barrier")
    yellow = site.paint("guard_yellow", _YELLOW, roughness=0.45, scope=path)
    black = site.paint("guard_black", (0.015, 0.015, 0.015), roughness=0.6, scope=path, collides=False)
    length = RACK_DEPTH + 0.1
    for k, z in enumerate((0.14, 0.38)):
        rail = cuboid((0.0, 0.0, z), (0.05, length, 0.14), bevel=0.015)
        draw(stage, f"{path}/Rail{k}", [rail], yellow)
    for name, side in (("South", -1.0), ("North", 1.0)):
        post = cuboid((0.07, side * length * 0.42, 0.25), (0.08, 0.08, 0.5), bevel=0.008)
        draw(stage, f"{path}/{name}Post", [post], yellow)
    bands = [
        bar((-0.0256, y, 0.3105), (-0.0256, y + 0.14, 0.4495), 0.0008, 0.06)
        for y in (-0.5, -0.26, -0.02, 0.22)
    ]
    draw(stage, f"{path}/Bands", bands, black)
    return path


def _signs(site: Site, layout: Layout) -> None:
    """Write a board with the letter of each aisle over its front end, and its rows' numbers on the frames."""
    stage = site.stage
    board = site.paint("sign_board", (0.02, 0.09, 0.3), roughness=0.4)
    print_ = site.paint("sign_print", (0.85, 0.85, 0.85), roughness=0.5, collides=False)
    wire = site.paint("sign_wire", (0.2, 0.2, 0.2), collides=False)
    z = layout.height - 0.75
    for k, y in enumerate(layout.aisles):
        place = f"{ROOT}/Signs/Aisle{k}"
        group(stage, place, "sign")
        x = layout.front - 0.2
        block(stage, f"{place}/Board", (x, y, z), (0.04, 1.3, 0.62), board)
        name = aisle_name(k)
        rim = [cuboid((x + s * 0.0206, y, z), (0.001, 1.24, 0.56)) for s in (-1.0, 1.0)]
        field = [cuboid((x + s * 0.0216, y, z), (0.001, 1.2, 0.52)) for s in (-1.0, 1.0)]
        draw(stage, f"{place}/Rim", rim, print_)
        draw(stage, f"{place}/Field", field, Surface(board.material))
        text = lettering(name, 0.4)
        both = [on_wall(text, (x + s * 0.024, y, z), yaw=90.0 * s) for s in (-1.0, 1.0)]
        draw(stage, f"{place}/Text", both, print_)
        wires = [
            tube((x, y + s * 0.55, z + 0.3), (x, y + s * 0.55, layout.height + 0.05), 0.006, sides=6)
            for s in (-1, 1)
        ]
        draw(stage, f"{place}/Wires", wires, wire)
    for index, row in enumerate(layout.rows):
        place = f"{ROOT}/Signs/Row{index}"
        group(stage, place, "sign")
        x, high = layout.front - UPRIGHT_WIDTH / 2 - 0.012, min(2.3, layout.rack_height - 0.3)
        prim = block(stage, f"{place}/Plate", (x, row.y, high), (0.012, 0.62, 0.42), print_)
        label(prim, "sign")
        text = on_wall(lettering(f"{index + 1:02d}", 0.26), (x - 0.008, row.y, high), yaw=-90.0)
        draw(stage, f"{place}/Text", [text], Surface(board.material))


def aisle_name(index: int) -> str:
    """Return the letter of an aisle: A to Z, then AA and so on.

    Args:
        index: Index of the aisle from 0.
    """
    letters = chr(ord("A") + index % 26)
    return letters if index < 26 else aisle_name(index // 26 - 1) + letters
