"""The relay manoeuvre of Jacinto et al. 2024, section IV: two Iris swerve towards each other and nearly meet.

Run it with `python examples/paper_relay.py`. It flies the manoeuvre twice: as published, from hover with a
reference that moves from the first step, and from the ground with motors and drag. It prints the errors and
writes `relay_errors.png` (their Fig. 6) and `relay.png` (their Fig. 5) to the folder `runs`.
"""

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.frames import matrix_from_quaternion
from pegasus.control import GeometricController, trajectories
from pegasus.control.trajectories import Point, Trajectory
from pegasus.dynamics import IdealMotor, LinearDrag, QuadraticThrust
from pegasus.scene import Scene

Vec3 = tuple[float, float, float]

S = 0.6
SPAN = 5.0
APART = 4.5
PUBLISHED_GAINS = {"p": 10.0, "d": 8.5, "i": 1.5, "R": 3.5, "w": 0.5}
"""Gains of the published controller: forces [N] and torques [N m] by errors, for the Iris of 1.5 kg."""
MASS, INERTIA = 1.5, (0.029125, 0.029125, 0.055225)
MAX_SPEED = 1100.0
PUBLISHED_CURVE = QuadraticThrust(thrust_constant=8.54858e-6, moment_ratio=0.06)
COLORS = ("#1f77b4", "#d62728")


class AtOnce(Trajectory):
    """Reference by equation 17 with t as the time: in motion from the first instant, as published."""

    name = "relay"
    duration = 2 * SPAN

    def __init__(self, *, center: tuple[float, float], mirrored: bool) -> None:
        # Shortened run-up: after it the phase advances at full speed.
        run_up = 4 * SPAN
        self._relay = trajectories.relay(s=S, span=run_up + SPAN, yaw=0.0, center=center, mirrored=mirrored)
        self._offset = 0.5 * self._relay.duration - SPAN

    def sample(self, t: float) -> Point:
        """Return the point; at rest before the start."""
        point = self._relay.sample(self._offset + t)
        return Point(point.position, velocity=(0.0, 0.0, 0.0), yaw=0.0) if t <= 0.0 else point


@dataclass
class Watch:
    """Observe both vehicles at every step."""

    phase: list[float] = field(default_factory=list)
    """The parameter t of equation 17 [s], nan outside the manoeuvre."""
    position: list[np.ndarray] = field(default_factory=list)
    error: list[np.ndarray] = field(default_factory=list)
    rotation: list[list[np.ndarray]] = field(default_factory=list)
    rotor_speed: list[float] = field(default_factory=list)
    contacts: int = 0

    def start(self, simulation: Simulation) -> None:
        """Discard all samples."""

    def record(self, simulation: Simulation) -> None:
        """Record the states of both vehicles."""
        vehicles = list(simulation.vehicles)
        references = [vehicle.reference for vehicle in vehicles if vehicle.reference is not None]
        flown = all(reference.segment == "relay" for reference in references)
        reference = np.array([reference.position[0] for reference in references])
        position = np.array([vehicle.state.position[0] for vehicle in vehicles])
        self.phase.append(reference[0, 0] if flown else math.nan)
        self.position.append(position)
        self.error.append(position - reference)
        self.rotation.append([matrix_from_quaternion(v.state.orientation)[0] for v in vehicles])
        self.rotor_speed.append(max(v.state.rotor_speed.max() for v in vehicles))
        if flown:
            self.contacts += sum(bool(vehicle.in_contact.any()) for vehicle in vehicles)

    def stop(self) -> None:
        """End the run."""


@dataclass
class Flight:
    """Flight data of K steps of the manoeuvre by two vehicles."""

    phase: np.ndarray
    """The parameter t of equation 17 [s], shape (K,)."""
    position: np.ndarray
    """Positions [m], shape (K, 2, 3)."""
    error: np.ndarray
    """Position errors [m], shape (K, 2, 3)."""
    rotation: np.ndarray
    """Attitudes as matrices, shape (K, 2, 3, 3)."""
    rotor_speed: float
    """Largest speed of a rotor [rad/s]."""
    contacts: int
    """Number of steps with a contact."""
    scene: Scene
    """Geometry of the vehicle."""

    @property
    def separation(self) -> float:
        """Smallest distance between the two centres [m]."""
        return float(np.linalg.norm(self.position[:, 0] - self.position[:, 1], axis=1).min())

    @property
    def tilt(self) -> float:
        """Largest tilt [deg]."""
        return float(np.degrees(np.arccos(self.rotation[:, :, 2, 2].min())))

    def errors(self, begin: float, end: float) -> tuple[float, float]:
        """Return the largest and the RMS distance from the reference between two values of t [m]."""
        chosen = (self.phase >= begin) & (self.phase < end)
        sizes = np.linalg.norm(self.error[chosen], axis=2)
        return float(sizes.max()), float(np.sqrt((sizes**2).mean()))


def controller(trajectory: Trajectory, *, spin_up: float) -> GeometricController:
    """Return the controller with the published gains, which it takes by mass and by inertia."""

    def divided(gain: str, divisors: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = (PUBLISHED_GAINS[gain] / divisor for divisor in divisors)
        return x, y, z

    masses = MASS, MASS, MASS
    return GeometricController(
        trajectory,
        relative=False,
        spin_up=spin_up,
        position_gain=divided("p", masses),
        velocity_gain=divided("d", masses),
        integral_gain=divided("i", masses),
        attitude_gain=divided("R", INERTIA),
        rate_gain=divided("w", INERTIA),
    )


def references(*, as_published: bool) -> list[Trajectory]:
    """Return the trajectories of the two vehicles."""
    found: list[Trajectory] = []
    for k in range(2):
        center, mirrored = (0.0, APART * k), k == 1
        if as_published:
            found.append(AtOnce(center=center, mirrored=mirrored))
        else:
            relay = trajectories.relay(s=S, yaw=0.0, center=center, mirrored=mirrored)
            found.append(trajectories.sequence(trajectories.takeoff(height=1.0), relay))
    return found


def fly(*, as_published: bool, rate: float = 500.0) -> Flight:
    """Fly the manoeuvre with both vehicles.

    Args:
        as_published: Whether to start in the air with a reference that moves from the first step, ideal
            motors, its thrust curve and no drag; otherwise from the ground, as the Iris is.
        rate: Physics steps per second [Hz].
    """
    watch = Watch()
    height, spin_up = (1.0, 0.0) if as_published else (0.1, 1.0)
    backends = [controller(t, spin_up=spin_up) for t in references(as_published=as_published)]
    with Simulation("flat", rate=rate, observers=[watch]) as sim:
        vehicles = [
            Multirotor(
                "iris",
                name=f"iris_{k + 1}",
                position=(-SPAN, APART * k, height),
                backends=[backend],
                sensors={},
                motor=IdealMotor(max_speed=MAX_SPEED) if as_published else None,
                thrust_curve=PUBLISHED_CURVE if as_published else None,
                drag=LinearDrag(coefficients=(0.0, 0.0, 0.0)) if as_published else None,
            )
            for k, backend in enumerate(backends)
        ]
        for vehicle in vehicles:
            sim.add(vehicle)
        sim.run(duration=8.6 if as_published else backends[-1].mission.duration)
    phase = np.array(watch.phase)
    there = np.isfinite(phase)
    return Flight(
        phase=phase[there],
        position=np.array(watch.position)[there],
        error=np.array(watch.error)[there],
        rotation=np.array(watch.rotation)[there],
        rotor_speed=float(np.array(watch.rotor_speed)[there].max()),
        contacts=watch.contacts,
        scene=vehicles[0].asset.scene,
    )


def plot_errors(flights: dict[str, Flight], path: Path) -> None:
    """Draw the position errors over t by axis, one column for each flight."""
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(3, len(flights), sharex=True, sharey="row", squeeze=False)
    for column, (title, flight) in zip(axes.T, flights.items(), strict=True):
        column[0].set_title(title)
        for axis, plot in enumerate(column):
            for k in range(2):
                style = {"color": COLORS[k], "ls": ("-", "--")[k], "label": f"vehicle {k + 1}"}
                plot.plot(flight.phase, flight.error[:, k, axis], **style)
            plot.grid(alpha=0.3)
            plot.axvspan(-3 * S, 3 * S, color="0.93", zorder=0)
        column[0].legend(loc="upper right", frameon=False)
        column[-1].set_xlabel("t of equation 17 [s]")
    for plot, name in zip(axes[:, 0], "xyz", strict=True):
        plot.set_ylabel(f"error in {name} [m]")
    figure.savefig(path, dpi=110)


class Camera:
    """Pinhole camera.

    Args:
        position: Position [m].
        target: Point at the image centre [m].
        zoom: Focal length relative to half the image height.
    """

    def __init__(self, position: Vec3, target: Vec3, zoom: float) -> None:
        self.position, self._zoom = np.array(position, dtype=float), zoom
        forward = np.array(target, dtype=float) - self.position
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(right, forward), forward])

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return image coordinates (..., 2), and the depth (...)."""
        seen = (points - self.position) @ self._axes.T
        depth = np.maximum(seen[..., 2], 0.05)
        return self._zoom * seen[..., :2] / depth[..., None], depth


SUN = np.array([-0.35, -0.45, 0.82])
INSTANTS = (-2.4, -1.5, -0.9, -0.4, 0.0, 0.4, 0.9, 1.5, 2.4)
SKY, HORIZON, FLOOR, SHADOW, LINES = "#8fb3d6", "#e3eaf0", "#cfccc4", "#8d8a84", "#8d8a84"


def draw(flight: Flight, path: Path, *, instants: tuple[float, ...] = INSTANTS) -> None:
    """Draw the meshes of both vehicles at several instants into one image, with their shadows.

    Args:
        flight: The flight.
        path: The image file.
        instants: Values of t of equation 17 [s].
    """
    camera = Camera((5.6, -1.5, 3.6), (-0.15, 2.35, 1.35), 2.3)
    figure = Figure(figsize=(16, 9), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    draw_ground(axes, camera)
    axes.axis("off")
    triangles, colors = mesh(flight.scene)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    shadows, faces, shades = [], [], []
    sun = SUN / np.linalg.norm(SUN)
    for instant in instants:
        step = int(np.abs(flight.phase - instant).argmin())
        for k in range(2):
            rotation = flight.rotation[step, k]
            placed = triangles @ rotation.T + flight.position[step, k]
            turned = normals @ rotation.T
            shadows.append(placed - placed[..., 2:] / sun[2] * sun)
            faces.append(placed)
            light = 0.45 + 0.25 * turned[:, 2:] + 0.9 * np.maximum(turned @ sun, 0.0)[:, None]
            tint = 0.5 * colors + 0.5 * np.array([int(COLORS[k][i : i + 2], 16) / 255 for i in (1, 3, 5)])
            shades.append(np.clip(light * tint, 0.0, 1.0))
    # Shadows all have one colour and no blending, so that they do not add up where they overlap.
    fill(axes, camera, np.concatenate(shadows), SHADOW, zorder=2)
    for k in range(2):
        outline, _ = camera.project(flight.position[::5, k])
        axes.plot(*outline.T, color=COLORS[k], lw=2, alpha=0.55, zorder=3)
    fill(axes, camera, np.concatenate(faces), np.concatenate(shades), zorder=4)
    axes.set(xlim=(-16 / 9, 16 / 9), ylim=(-1, 1), aspect="equal")
    figure.savefig(path)


def mesh(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangles (F, 3, 3) of a vehicle in its body frame [m], and their sRGB colours (F, 3)."""
    triangles, colors = [], []
    for instance in scene.instances:
        geometry, material = scene.geometries[instance.geometry], scene.materials[instance.material]
        vertices = geometry.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        triangles.append(vertices[geometry.faces])
        color = material.diffuse_color if isinstance(material.diffuse_color, tuple) else (0.3, 0.3, 0.3)
        colors.append(np.broadcast_to(np.array(color) ** (1 / 2.2), (len(geometry.faces), 3)))
    return np.concatenate(triangles), np.concatenate(colors)


def draw_ground(axes: Axes, camera: Camera) -> None:
    """Draw sky, floor and a grid of metres that fades with the distance."""
    far, _ = camera.project(np.array([[-4000.0, 1500.0, 0.0]]))
    horizon = float(far[0, 1])
    sky = LinearSegmentedColormap.from_list("sky", [HORIZON, SKY])
    floor = LinearSegmentedColormap.from_list("floor", [FLOOR, FLOOR, HORIZON])
    ramp = np.linspace(0.0, 1.0, 256)[:, None]
    for colors, low, high in ((sky, horizon, 1.0), (floor, -1.0, horizon)):
        axes.imshow(ramp, extent=(-2, 2, low, high), cmap=colors, aspect="auto", origin="lower", zorder=0)
    along, across = np.meshgrid(np.arange(-60.0, 20.0, 0.5), np.arange(-60.0, 61.0))
    pieces = []
    for x, y in ((along, across), (across, along + 20.0)):
        line = np.stack([x, y, np.zeros_like(x)], axis=-1)
        pieces.append(np.stack([line[:, :-1], line[:, 1:]], axis=2).reshape(-1, 2, 3))
    points, depth = camera.project(np.concatenate(pieces))
    seen = depth.min(axis=1) > 0.5
    fade = 0.9 * np.exp(-depth[seen].mean(axis=1) / 12.0)
    axes.add_collection(
        LineCollection(list(points[seen]), colors=LINES, alpha=fade, linewidths=0.9, zorder=1)
    )


def fill(axes: Axes, camera: Camera, triangles: np.ndarray, colors: str | np.ndarray, *, zorder: int) -> None:
    """Draw triangles from the farthest to the nearest."""
    points, depth = camera.project(triangles)
    order = np.argsort(-depth.mean(axis=1))
    chosen = colors if isinstance(colors, str) else colors[order]
    polygons = PolyCollection(
        list(points[order]), facecolors=chosen, edgecolors=chosen, linewidths=0.3, zorder=zorder
    )
    axes.add_collection(polygons)


def report(name: str, flight: Flight) -> None:
    """Print the figures of a flight."""
    largest, rms = flight.errors(-2.0, 2.0)
    overall, _ = flight.errors(-SPAN, 3.6)
    print(
        f"{name}: error in the swerve at most {largest:.3f} m (RMS {rms:.3f} m), anywhere {overall:.3f} m; "
        f"{flight.separation:.2f} m apart at least, {flight.contacts} contacts, tilt {flight.tilt:.0f} deg, "
        f"rotors at most at {flight.rotor_speed:.0f} rad/s"
    )


def main(folder: Path = Path("runs"), rate: float = 500.0) -> dict[str, Flight]:
    """Fly both variants, print the errors, and draw the errors and the manoeuvre."""
    folder.mkdir(parents=True, exist_ok=True)
    flights = {
        "as published: in the air, a reference in motion at once": fly(as_published=True, rate=rate),
        "from the ground, with motors and drag": fly(as_published=False, rate=rate),
    }
    for name, flight in flights.items():
        report(name, flight)
    plot_errors(flights, folder / "relay_errors.png")
    draw(flights["from the ground, with motors and drag"], folder / "relay.png")
    return flights


if __name__ == "__main__":
    start_host()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("runs"), help="where the pictures go")
    main(parser.parse_args().folder)
