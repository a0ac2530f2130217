"""The panel's part for backends: who flies the next vehicle, and with which options."""

from pathlib import Path
from typing import Any

from pegasus import settings
from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.backends.ros2.names import full_namespace
from pegasus.components import build
from pegasus.control import CONTROLLERS
from pegasus.errors import ConfigError
from pegasus.folders import user_config
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, backend_choices
from pegasus.panel.steering import STEERED

STEER = "steer"
"""The flight that is led by hand; for an autopilot, by whoever talks to it."""
SHAPES = {"circle": "radius", "lemniscate": "radius", "square": "side"}
"""Flights along a shape, and the name of its size."""
FLIGHTS = (STEER, *SHAPES)
ON_TIMEOUT = ("stop", "hold")
"""What is done when commands by ROS 2 stay away."""

_HIGHEST_DOMAIN = 232

_NAMES = (BUILT_IN, PX4, ARDUPILOT, ROS2)


class BackendPart(Part):
    """Choose who flies the next vehicle.

    Args:
        board: What all parts share.
    """

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.choices: list[Choice] = []
        self.chosen = BUILT_IN
        self.controller = "geometric"
        """Which of the built-in controllers."""
        self.flight = STEER
        """What is flown: `steer`, or a shape."""
        self.size, self.height, self.speed, self.laps = 3.0, 3.0, 2.0, 1
        """Radius or side of the shape [m], height [m], speed [m/s], and how many times around."""
        self.launch = True
        """Whether the autopilot is started here; else it is waited for."""
        self.directory = ""
        """Folder of the autopilot; looked up when empty."""
        self.airframe = ""
        """Airframe that PX4 starts with; that of the settings or the vehicle when empty."""
        self.ros2_too = False
        """Whether a vehicle that somebody else flies is on the ROS 2 graph too, to be listened to."""
        self.namespace = ""
        """Where its topics and frames stand; the vehicle's name when empty."""
        self.domain_id: int | None = None
        """Domain of the ROS 2 graph; that of ROS_DOMAIN_ID when None."""
        self.on_timeout = ON_TIMEOUT[0]
        """What a vehicle that ROS 2 flies does when commands stay away."""
        self._fall_back()
        self._look()

    @property
    def choice(self) -> Choice:
        """The chosen backend, with the reason and the remedy where it is not installed."""
        return next(choice for choice in self.choices if choice.name == self.chosen)

    @property
    def program(self) -> tuple[str, ...]:
        """What starts the chosen autopilot, line by line; empty where there is none or it is not found."""
        if self.chosen not in (PX4, ARDUPILOT):
            return ()
        find = settings.px4_directory if self.chosen == PX4 else settings.ardupilot_directory
        try:
            lines = [f"Folder: {find(self.directory or None)}"]
        except ConfigError:  # `choice` says why, and what to do about it.
            return ()
        if self.chosen == PX4:
            lines.append(f"Airframe: {self.airframe or 'that of the vehicle'}")
        return tuple(lines)

    @action(Topic.BACKEND)
    def refresh(self) -> None:
        """Look again for what is installed."""
        self._look()

    @action(Topic.BACKEND)
    def choose(self, name: str) -> None:
        """Choose the backend.

        Args:
            name: Its name in `choices`; one that is not installed can be chosen, to give its folder.
        """
        _require_one_of("backend", name, _NAMES)
        kept = settings.user_settings()
        self.chosen = name
        self._take_paths(kept)
        self._look()

    @action(Topic.BACKEND)
    def set_controller(self, name: str) -> None:
        """Choose the built-in controller.

        Args:
            name: Its name.
        """
        _require_one_of("controller", name, tuple(CONTROLLERS))
        self.controller = name

    @action(Topic.BACKEND)
    def set_flight(
        self,
        name: str,
        *,
        size: float | str | None = None,
        height: float | str | None = None,
        speed: float | str | None = None,
        laps: float | str | None = None,
    ) -> None:
        """Choose what is flown.

        Args:
            name: `steer`, or a shape.
            size: Radius or side of the shape [m]; None leaves it as it is, also below.
            height: Height [m].
            speed: Largest speed [m/s].
            laps: How many times around.
        """
        _require_one_of("flight", name, FLIGHTS)
        given = {"size": size, "height": height, "speed": speed, "laps": laps}
        values = {
            key: getattr(self, key) if value is None else number(key, value) for key, value in given.items()
        }
        for key, value in values.items():
            if not value > 0:
                raise ConfigError("must be above 0", field=key, value=value)
        if values["laps"] != int(values["laps"]):
            raise ConfigError("must be a whole number", field="laps", value=laps)
        self.flight = name
        self.size, self.height, self.speed = values["size"], values["height"], values["speed"]
        self.laps = int(values["laps"])

    @action(Topic.BACKEND)
    def set_launch(self, launch: bool) -> None:
        """Choose whether the autopilot is started with the run.

        Args:
            launch: Whether it is.
        """
        self.launch = launch

    @action(Topic.BACKEND)
    def set_directory(self, directory: str) -> None:
        """Set the folder of the autopilot, from which programs are started; not for a page in a browser.

        Args:
            directory: The folder; empty to look it up.
        """
        self.directory = directory.strip()
        self._look()

    @action(Topic.BACKEND)
    def set_airframe(self, airframe: str) -> None:
        """Set the airframe that PX4 starts with.

        Args:
            airframe: As PX4_SIM_MODEL names it; empty for that of the settings or the vehicle.
        """
        self.airframe = airframe.strip()

    @action(Topic.BACKEND)
    def set_ros2(
        self,
        *,
        too: bool | None = None,
        namespace: str | None = None,
        domain_id: int | str | None = None,
        on_timeout: str | None = None,
    ) -> None:
        """Set how a vehicle is on the ROS 2 graph; None leaves a thing as it is.

        Args:
            too: Whether one that somebody else flies is on it too, to be listened to.
            namespace: Where its topics and frames stand; empty for the vehicle's name.
            domain_id: Domain of the graph, 0 to 232; empty for that of ROS_DOMAIN_ID.
            on_timeout: What is done when commands stay away: `stop` or `hold`.
        """
        wanted = self.namespace if namespace is None else namespace.strip()
        domain = self.domain_id if domain_id is None else _domain(domain_id)
        if wanted:
            full_namespace(wanted)
        if on_timeout is not None:
            _require_one_of("on_timeout", on_timeout, ON_TIMEOUT)
        self.ros2_too = self.ros2_too if too is None else too
        self.namespace, self.domain_id = wanted, domain
        self.on_timeout = on_timeout or self.on_timeout

    @action(Topic.BACKEND)
    def reset(self) -> None:
        """Put the options back to the user's defaults."""
        self._take_paths(settings.user_settings())
        self._look()

    @action(Topic.BACKEND)
    def make_default(self) -> None:
        """Keep backend, controller, folder, airframe and launch in the user's settings."""
        path = settings.change_settings(
            "panel", {"backend": self.chosen, "controller": self.controller, "launch": self.launch}
        )
        if self.chosen in (PX4, ARDUPILOT):
            folder = str(Path(self.directory).expanduser().resolve()) if self.directory else None
            settings.change_settings(self.chosen, {"directory": folder})
        if self.chosen == PX4:
            settings.change_settings(PX4, {"airframe": self.airframe or None})
        self.board.report(f"the backend is kept in {path}")

    @action(Topic.BACKEND)
    def forget_namespace(self) -> None:
        """Let the next vehicle stand under its own name on the ROS 2 graph: a namespace is for one."""
        self.namespace = ""

    def make(self) -> list[Backend]:
        """Return the backends of the next vehicle.

        Raises:
            ConfigError: If the chosen one is not there, or an option is wrong.
        """
        if self.chosen == ROS2:
            return [self._ros2({"on_timeout": self.on_timeout})]
        listening = [self._ros2({"control": False})] if self.ros2_too else []
        return [self._driver(), *listening]

    def _driver(self) -> Backend:
        """Return who flies the next vehicle, where that is not ROS 2."""
        if self.chosen == BUILT_IN:
            if self.flight == STEER:
                steered = STEERED[self.controller]
                return self._built(f"{steered.__module__}:{steered.__qualname__}", {})
            return self._built(self.controller, {"trajectory": self._trajectory()})
        options: dict[str, Any] = {}
        options["launch"] = self.launch
        if self.directory:
            options["directory"] = self.directory
        if self.flight != STEER:
            options["trajectory"] = self._trajectory()
        if self.chosen == PX4 and self.airframe:
            options["airframe"] = self.airframe
        return self._built(self.chosen, options)

    def _ros2(self, options: dict[str, Any]) -> Backend:
        """Return what puts the next vehicle on the ROS 2 graph."""
        choice = next(choice for choice in self.choices if choice.name == ROS2)
        if not choice.available:
            raise ConfigError(choice.reason, field="backend", value=ROS2, remedy=choice.remedy)
        if self.namespace:
            options["namespace"] = self.namespace
        if self.domain_id is not None:
            options["domain_id"] = self.domain_id
        return self._built(ROS2, options)

    def _built(self, name: str, options: dict[str, Any]) -> Backend:
        return build(Backend, BACKENDS, {"model": name, **options}, field="backend")

    def _trajectory(self) -> list[dict[str, Any]]:
        shape: dict[str, Any] = {
            SHAPES[self.flight]: self.size,
            "height": self.height,
            "speed": self.speed,
            "laps": self.laps,
        }
        return [{"takeoff": {"height": self.height}}, {self.flight: shape}, {"land": {}}]

    def _fall_back(self) -> None:
        """Begin with what the user's settings say; with the defaults where they cannot be used."""
        try:
            kept = settings.user_settings()
        except ConfigError as error:
            self.board.fail(error)
            return
        self.chosen = kept.panel.backend or self.chosen
        self.controller = kept.panel.controller or self.controller
        self._take_paths(kept)

    def _take_paths(self, kept: settings.Settings) -> None:
        folders = {PX4: kept.px4.directory, ARDUPILOT: kept.ardupilot.directory}
        folder = folders.get(self.chosen)
        if folder is not None and not str(folder).startswith("~"):
            folder = user_config() / folder
        self.directory = "" if folder is None else str(folder)
        self.airframe = (kept.px4.airframe or "") if self.chosen == PX4 else ""
        self.launch = kept.panel.launch

    def _look(self) -> None:
        self.choices = backend_choices(self.directory or None, chosen=self.chosen)


def _domain(value: int | str) -> int | None:
    """Return a domain of ROS 2; None for an empty text."""
    text = str(value).strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) > _HIGHEST_DOMAIN:
        raise ConfigError(
            f"must be a whole number from 0 to {_HIGHEST_DOMAIN}", field="domain_id", value=value
        )
    return int(text)


def _require_one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"must be one of {', '.join(allowed)}", field=field, value=value)
