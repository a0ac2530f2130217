"""The docks: doors, levellers, buffers, numbers, and lorries at the open ones."""

from pegasus.scene.authoring import Surface, block, group, instance
from pegasus.worlds.lamps import panel_light
from pegasus.worlds.lettering import lettering, on_wall
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, tube
from pegasus.worlds.warehouse.hall import DOCK_DROP, WALL
from pegasus.worlds.warehouse.layout import DOOR_HEIGHT, DOOR_WIDTH, Layout

_SECTIONS = 6
_OPEN_SHARE = 0.35
_TRAILER_LENGTH = 9.0
_TRAILER = (2.5, 2.7)


def build_docks(site: Site, layout: Layout) -> None:
    """Write the docks into the western wall."""
    dock, door, trailer = _dock(site), _door(site), _trailer(site)
    rng = site.stream("docks")
    stage = site.stage
    inside = -layout.length / 2
    blue = site.paint("sign_board", (0.02, 0.09, 0.3), roughness=0.4)
    white = site.paint("sign_print", (0.85, 0.85, 0.85), roughness=0.5, collides=False)
    draws = rng.uniform(size=len(layout.doors))
    # At least one lorry is present.
    fullest = int(draws.argmin())
    for k, y in enumerate(layout.doors):
        at = (inside, y, 0.0)
        instance(stage, f"{ROOT}/Docks/Dock{k}", dock, at)
        if draws[k] < _OPEN_SHARE or k == fullest:
            instance(stage, f"{ROOT}/Docks/Trailer{k}", trailer, at)
            center = (inside - _TRAILER_LENGTH / 2, y, _TRAILER[1] - 0.1)
            panel_light(stage, f"{ROOT}/Lights/Trailer{k}", center, (2.0, 0.1), intensity=4000.0)
        else:
            instance(stage, f"{ROOT}/Docks/Door{k}", door, at)
        place = f"{ROOT}/Signs/Dock{k}"
        group(stage, place, "sign")
        z = DOOR_HEIGHT + 0.75
        block(stage, f"{place}/Plate", (inside + 0.035, y, z), (0.03, 0.9, 0.66), blue)
        text = on_wall(lettering(f"{k + 1:02d}", 0.42), (inside + 0.052, y, z), yaw=90.0)
        draw(stage, f"{place}/Text", [text], white)


def _dock(site: Site) -> str:
    """Write the prototype of a dock's fixed parts; the wall's inner face is x = 0."""
    stage = site.stage
    path = site.prototype("Dock", "dock")
    steel = site.finish("painted_metal", tint=(0.4, 0.42, 0.45), scope=path)
    plate = site.finish("brushed_metal", tint=(0.5, 0.5, 0.5), scope=path, collides=False)
    yellow = site.paint("dock_yellow", (0.85, 0.55, 0.02), roughness=0.5, scope=path)
    black = site.paint("dock_black", (0.015, 0.015, 0.015), roughness=0.7, scope=path)
    flat = Surface(yellow.material)
    red = site.paint("dock_red", (0.7, 0.02, 0.01), emission=(0.6, 0.02, 0.01), scope=path, collides=False)
    green = site.paint("dock_green", (0.01, 0.09, 0.02), scope=path, collides=False)
    half, top = DOOR_WIDTH / 2, DOOR_HEIGHT
    for name, side in (("Left", -1.0), ("Right", 1.0)):
        y = side * (half + 0.06)
        block(stage, f"{path}/{name}Jamb", (0.05, y, top / 2), (0.1, 0.12, top), steel)
        post = tube((0.42, side * (half + 0.16), 0.0), (0.42, side * (half + 0.16), 1.0), 0.07, sides=20)
        draw(stage, f"{path}/{name}Bollard", [post], yellow)
        bands = [
            tube((0.42, side * (half + 0.16), z), (0.42, side * (half + 0.16), z + 0.12), 0.0712, sides=20)
            for z in (0.3, 0.62)
        ]
        draw(stage, f"{path}/{name}Bands", bands, Surface(black.material))
        seal = (-WALL - 0.2, side * (half + 0.1), top / 2)
        block(stage, f"{path}/{name}Seal", seal, (0.4, 0.45, top + 0.5), black)
        buffer = (-WALL - 0.06, side * 0.9, -0.35)
        block(stage, f"{path}/{name}Buffer", buffer, (0.12, 0.25, 0.5), black)
    block(stage, f"{path}/Lintel", (0.05, 0.0, top + 0.06), (0.1, DOOR_WIDTH + 0.24, 0.12), steel)
    block(stage, f"{path}/TopSeal", (-WALL - 0.2, 0.0, top + 0.02), (0.4, DOOR_WIDTH - 0.25, 0.46), black)
    block(stage, f"{path}/Control", (0.07, half + 0.55, 1.4), (0.14, 0.3, 0.42), steel)
    draw(
        stage,
        f"{path}/Buttons",
        [cuboid((0.145, half + 0.55 + y, 1.45), (0.02, 0.045, 0.045)) for y in (-0.07, 0.07)],
        green,
    )
    block(stage, f"{path}/Signal", (0.06, -half - 0.5, 2.1), (0.1, 0.2, 0.42), black)
    draw(stage, f"{path}/Red", [tube((0.1, -half - 0.5, 2.21), (0.125, -half - 0.5, 2.21), 0.07)], red)
    draw(stage, f"{path}/Green", [tube((0.1, -half - 0.5, 2.0), (0.125, -half - 0.5, 2.0), 0.07)], green)
    # The leveller lies in the floor, framed by stripes of yellow.
    level = [cuboid((1.15, 0.0, 0.0025), (2.3, 2.1, 0.004))]
    ribs = [cuboid((0.2 + 0.2 * k, 0.0, 0.005), (0.012, 2.0, 0.003)) for k in range(11)]
    draw(stage, f"{path}/Leveller", [*level, *ribs], plate)
    stripes = [cuboid((1.2, s * 1.11, 0.003), (2.4, 0.1, 0.005)) for s in (-1.0, 1.0)]
    draw(stage, f"{path}/Stripes", [*stripes, cuboid((2.36, 0.0, 0.003), (0.1, 2.1, 0.005))], flat)
    # Rails on which the door runs up under the roof.
    rails = [
        bar((0.13, s * (half + 0.03), 0.0), (0.13, s * (half + 0.03), top + 1.6), 0.05, 0.04)
        for s in (-1.0, 1.0)
    ]
    rails.append(tube((0.16, -half, top + 1.45), (0.16, half, top + 1.45), 0.04, sides=12))
    draw(stage, f"{path}/Rails", rails, Surface(steel.material))
    return path


def _door(site: Site) -> str:
    """Write the prototype of a closed door of hinged sections, one of them with windows."""
    stage = site.stage
    path = site.prototype("DockDoor", "door")
    panel = site.finish("painted_metal", tint=(0.9, 0.92, 0.95), scope=path)
    dark = site.paint("door_seam", (0.06, 0.06, 0.065), roughness=0.7, scope=path, collides=False)
    glass = site.paint(
        "door_glass", (0.6, 0.7, 0.78), roughness=0.05, emission=(0.5, 0.58, 0.66), scope=path, collides=False
    )
    high = DOOR_HEIGHT / _SECTIONS
    for k in range(_SECTIONS):
        section = cuboid((0.02, 0.0, (k + 0.5) * high), (0.05, DOOR_WIDTH, high - 0.012), bevel=0.006)
        draw(stage, f"{path}/Section{k}", [section], panel)
    seams = [cuboid((0.01, 0.0, k * high), (0.02, DOOR_WIDTH, 0.02)) for k in range(1, _SECTIONS)]
    seams += [
        cuboid((0.0455, y, (k + 0.5) * high), (0.001, 0.06, high - 0.08))
        for k in range(_SECTIONS)
        for y in (-1.44, 1.44)
    ]
    frames: list[Solid] = []
    panes: list[Solid] = []
    for y in (-0.8, 0.0, 0.8):
        frames.append(cuboid((0.0475, y, 3.5 * high), (0.006, 0.62, 0.34), bevel=0.002))
        panes.append(cuboid((0.052, y, 3.5 * high), (0.004, 0.54, 0.26)))
    frames.append(cuboid((0.08, 0.4, 0.9), (0.04, 0.14, 0.03), bevel=0.008))
    draw(stage, f"{path}/Seams", [*seams, *frames], dark)
    draw(stage, f"{path}/Panes", panes, glass)
    return path


def _trailer(site: Site) -> str:
    """Write the prototype of an open lorry at a dock."""
    stage = site.stage
    path = site.prototype("Trailer", "truck")
    wood = site.finish("plywood", tint=(0.55, 0.5, 0.45), scope=path)
    skin = site.finish("painted_metal", tint=(1.0, 1.0, 1.0), scope=path)
    dark = site.paint("trailer_frame", (0.03, 0.03, 0.035), roughness=0.5, scope=path)
    tire = site.paint("trailer_tire", (0.015, 0.015, 0.015), roughness=0.9, scope=path)
    width, height = _TRAILER
    start, end = -WALL - 0.12, -WALL - 0.12 - _TRAILER_LENGTH
    middle = (start + end) / 2
    block(stage, f"{path}/Bed", (middle, 0.0, -0.06), (_TRAILER_LENGTH, width, 0.12), wood)
    for name, side in (("Left", -1.0), ("Right", 1.0)):
        wall = (middle, side * (width / 2 + 0.02), height / 2 - 0.06)
        block(stage, f"{path}/{name}Wall", wall, (_TRAILER_LENGTH, 0.04, height + 0.12), skin)
        y = side * 0.95
        for k, x in enumerate((end + 1.0, start - 2.6, start - 1.3)):
            wheel = tube((x, y - 0.15, 0.5 - DOCK_DROP), (x, y + 0.15, 0.5 - DOCK_DROP), 0.5, sides=28)
            draw(stage, f"{path}/{name}Wheel{k}", [wheel], tire, approximation="convexHull")
    block(stage, f"{path}/Front", (end - 0.02, 0.0, height / 2), (0.04, width + 0.08, height), skin)
    block(stage, f"{path}/Roof", (middle, 0.0, height + 0.02), (_TRAILER_LENGTH, width + 0.08, 0.04), skin)
    block(stage, f"{path}/Chassis", (middle, 0.0, -0.25), (_TRAILER_LENGTH - 0.3, 0.9, 0.24), dark)
    rails = [
        cuboid((middle, s * (width / 2 - 0.006), z), (_TRAILER_LENGTH - 0.1, 0.012, 0.08))
        for s in (-1.0, 1.0)
        for z in (0.15, 0.9, 1.6)
    ]
    posts = [
        cuboid((start - 0.4 - 1.2 * k, s * (width / 2 - 0.004), height / 2), (0.05, 0.008, height - 0.02))
        for s in (-1.0, 1.0)
        for k in range(int(_TRAILER_LENGTH / 1.2))
    ]
    draw(stage, f"{path}/Slats", [*rails, *posts], Surface(skin.material))
    return path
