"""People of Isaac Sim's assets, who walk along paths by its animation graphs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.frames import euler_from_quaternion, quaternion_from_euler
from pegasus.isaac import kit
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.environments import asset_root
from pegasus.isaac.replicator_cameras import define_mount, free_path, put
from pegasus.recording.observer import ObservedSimulation
from pegasus.simulation import Simulation
from pegasus.start import finite_numbers

_FOLDER = "/Isaac/People/Characters"
_ROOT = "/World/Characters"
_BIPED = f"{_ROOT}/Biped_Setup"
_GRAPH = f"{_BIPED}/CharacterAnimation/AnimationGraph"
_ARRIVED = 0.1
"""Distance on the ground at which a waypoint counts as reached [m]."""
_VELOCITY_SPAN = 0.05
"""Simulated time over which the velocity is taken [s]."""


class Person:
    """A person who stands, or walks along waypoints; updated with every step of a simulation.

    The extension omni.anim.graph.core moves the character with Kit's frames while the timeline plays: in a
    script give the engine a frame rate. A person has no collider, so vehicles fly through it.

    Args:
        simulation: A simulation on Isaac Sim.
        character: Folder of the character among the assets, such as `F_Business_02`; see `characters`. Or the
            address of its USD file.
        name: Name of its prim below /World/Characters; with a number where it is taken.
        position: Where the feet are at first [m], shape (3,).
        heading: Direction that it looks in, counter-clockwise from east [rad].

    Raises:
        ConfigError: If the extension is not enabled, the simulation is on another engine, or there is no such
            character.
    """

    def __init__(
        self,
        simulation: Simulation,
        character: str,
        *,
        name: str = "person",
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        heading: float = 0.0,
    ) -> None:
        if not isinstance(simulation.engine, IsaacEngine):
            raise ConfigError("people walk in Isaac Sim only", field="engine", remedy="use the engine isaac")
        self._graphs = _animation_graphs()
        stage = kit.stage()
        if stage is None:
            raise ConfigError("no stage is open", field="stage", remedy="load a world first")
        self._stage = stage
        self._start = finite_numbers("position", position, (3,))
        require(math.isfinite(heading), "heading", heading, "must be finite")
        self._first_heading = float(heading)
        folder, file = _located(character)
        self.path = free_path(self._stage, f"{_ROOT}/{name}")
        """Path of its prim."""
        self.name = self.path.rpartition("/")[2]
        self._closed = False
        self._character: Any = None
        try:
            self._skeleton = self._add(folder, file)
        except BaseException:
            self._stage.RemovePrim(self.path)
            raise
        self._waypoints: list[tuple[Array, float]] = []
        self._loop = False
        self._stand()
        simulation.add_observer(self)

    @property
    def position(self) -> Array:
        """Where the feet are [m], shape (3,)."""
        return self._position

    @property
    def heading(self) -> float:
        """Direction that it looks in, counter-clockwise from east [rad]."""
        return self._heading

    @property
    def velocity(self) -> Array:
        """Velocity over the last twentieth of a second [m/s], shape (3,)."""
        return self._velocity

    @property
    def walks(self) -> bool:
        """Whether a waypoint is left."""
        return self._next < len(self._waypoints)

    def walk(self, path: npt.ArrayLike, *, speed: float | Sequence[float] = 1.0, loop: bool = False) -> None:
        """Walk along a path from where it is now, straight from waypoint to waypoint.

        Args:
            path: Waypoints on the ground [m], shape (K, 3), or one of shape (3,).
            speed: Speed on the way to each waypoint, one or K [m/s], above 0 and at most 3. It is handed to
                the animation graph as its variable Walk, in which 1 is its ordinary walk.
            loop: Whether it begins again at the first waypoint after the last.

        Raises:
            ConfigError: If a number is not finite or a shape does not fit.
        """
        points = np.atleast_2d(np.asarray(path, dtype=np.float64))
        fits = points.ndim == 2 and points.shape[1] == 3 and len(points) > 0 and np.isfinite(points).all()
        require(bool(fits), "path", path, "must hold at least one point of three finite numbers")
        speeds = np.asarray(speed, dtype=np.float64)
        allowed = speeds.shape in ((), (len(points),)) and ((speeds > 0) & (speeds <= 3.0)).all()
        require(bool(allowed), "speed", speed, f"must be one or {len(points)}, above 0 and at most 3 m/s")
        every = np.broadcast_to(speeds, (len(points),)).tolist()
        self._waypoints, self._loop = list(zip(points, every, strict=True)), loop
        self._next = 0

    def stand(self) -> None:
        """Stand still."""
        self._waypoints, self._next = [], 0

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin a run: at the start pose, with the first waypoint."""
        self._stand()

    def record(self, simulation: ObservedSimulation) -> None:
        """Read the pose of the character, and set where it walks to."""
        if self._closed:
            return
        if self._character is None:
            # Kit makes the character when the timeline plays.
            self._character = self._graphs.get_character(self._skeleton)
        if self._character is not None:
            self._look(simulation.time)
            self._lead()

    def stop(self) -> None:
        """End a run; Kit puts the character back."""
        self._stand()

    def close(self) -> None:
        """Remove the person from the stage; calling it twice is allowed."""
        if not self._closed and self._stage and self._stage.GetPrimAtPath(self.path):
            self._stage.RemovePrim(self.path)
        self._closed, self._character = True, None

    def _stand(self) -> None:
        self._character = None
        self._position, self._heading = self._start.copy(), self._first_heading
        self._velocity = np.zeros(3)
        self._sample = -math.inf, self._position
        self._next = 0

    def _look(self, t: float) -> None:
        import carb

        position, turn = carb.Float3(0.0, 0.0, 0.0), carb.Float4(0.0, 0.0, 0.0, 1.0)
        self._character.get_world_transform(position, turn)
        self._position = np.array([position.x, position.y, position.z], dtype=np.float64)
        xyzw = np.array([turn.x, turn.y, turn.z, turn.w], dtype=np.float64)
        self._heading = float(euler_from_quaternion(xyzw)[2])
        then, before = self._sample
        if t - then >= _VELOCITY_SPAN:
            self._velocity = np.zeros(3) if math.isinf(then) else (self._position - before) / (t - then)
            self._sample = t, self._position

    def _lead(self) -> None:
        import carb

        for _ in range(len(self._waypoints)):  # Those of a loop may all be reached at once.
            if not (self.walks and self._arrived()):
                break
            self._next += 1
            if self._loop and len(self._waypoints) > 1:
                self._next %= len(self._waypoints)
        if not self.walks or self._arrived():
            self._character.set_variable("Walk", 0.0)
            self._character.set_variable("Action", "Idle")
            return
        target, speed = self._waypoints[self._next]
        way = [carb.Float3(x, y, z) for x, y, z in (self._position.tolist(), target.tolist())]
        self._character.set_variable("Action", "Walk")
        self._character.set_variable("PathPoints", way)
        self._character.set_variable("Walk", speed)

    def _arrived(self) -> bool:
        away = self._waypoints[self._next][0] - self._position
        return math.hypot(away[0], away[1]) < _ARRIVED

    def _add(self, folder: str, file: str) -> str:
        """Add the character with its animation graph; return the path of its skeleton."""
        import omni.kit.commands

        put(
            define_mount(self._stage, self.path),
            self._start,
            quaternion_from_euler(0.0, 0.0, self._first_heading),
        )
        body = self._stage.DefinePrim(f"{self.path}/character")
        body.GetReferences().AddReference(file)
        found = (prim for prim in Usd.PrimRange(body) if prim.GetTypeName() == "SkelRoot")
        skeleton = next(found, None)
        if skeleton is None:
            raise ConfigError("cannot be opened, or has no skeleton", field="character", value=file)
        if not self._stage.GetPrimAtPath(_BIPED):
            biped = UsdGeom.Xform.Define(self._stage, _BIPED)
            biped.GetPrim().GetReferences().AddReference(f"{folder}/Biped_Setup.usd")
            biped.MakeInvisible()
        if not self._stage.GetPrimAtPath(_GRAPH):
            self._stage.RemovePrim(_BIPED)
            raise ConfigError(
                "has no animation graph",
                field="character",
                value=f"{folder}/Biped_Setup.usd",
                remedy="take a character of Isaac Sim's own assets",
            )
        paths = [skeleton.GetPath()]
        omni.kit.commands.execute("RemoveAnimationGraphAPICommand", paths=paths)
        omni.kit.commands.execute(
            "ApplyAnimationGraphAPICommand", paths=paths, animation_graph_path=Sdf.Path(_GRAPH)
        )
        return str(skeleton.GetPath())


def characters() -> list[str]:
    """Return the characters that the asset root has; asks the asset server, and waits for it.

    Raises:
        ConfigError: If it does not answer.
    """
    address = asset_root() + _FOLDER
    names = [name for name, is_folder in _listed(address) if is_folder and not name.startswith(".")]
    return sorted(names)


def _animation_graphs() -> Any:
    try:
        import omni.anim.graph.core as graphs
    except ImportError:
        raise ConfigError(
            "people need the extension omni.anim.graph.core, which is not enabled",
            field="extension",
            remedy="enable omni.anim.graph.bundle in the extension manager, or start with "
            "--enable omni.anim.graph.bundle, and open a new stage",
        ) from None
    return graphs


def _located(character: str) -> tuple[str, str]:
    """Return the folder of all characters, and the USD file of one."""
    if character.endswith((".usd", ".usda", ".usdc")):
        return character.rpartition("/")[0].rpartition("/")[0], character
    folder = asset_root() + _FOLDER
    try:
        files = [name for name, _ in _listed(f"{folder}/{character}") if name.endswith(".usd")]
    except ConfigError:
        files = []
    if not character or not files:
        raise ConfigError(
            "no such character",
            field="character",
            value=character,
            remedy="pegasus.isaac.people.characters() lists them",
        )
    return folder, f"{folder}/{character}/{files[0]}"


def _listed(address: str) -> list[tuple[str, bool]]:
    """Return the names in a folder of the asset server, and whether each is a folder."""
    import omni.client

    result, entries = omni.client.list(address)
    if result != omni.client.Result.OK:
        raise ConfigError(
            f"{address} cannot be listed",
            field="character",
            remedy="connect to the network, or set /persistent/isaac/asset_root/default to a local copy",
        )
    children = omni.client.ItemFlags.CAN_HAVE_CHILDREN
    return [(str(entry.relative_path), bool(entry.flags & children)) for entry in entries]
