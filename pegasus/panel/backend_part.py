"""Panel part for the backend of the next vehicle and its options."""

from pathlib import Path
from typing import Any

from pegasus.backends import BACKENDS
from pegasus.backends.ros2.names import full_namespace
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.system import user_config
from pegasus.config import settings
from pegasus.contracts.backend import Backend
from pegasus.panel.board import Board, Part, Topic, action, number, require_choice
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, backend_choices, controller_names
from pegasus.panel.steering import STEERED

STEER = "steer"
"""Manual flight; with an autopilot, flight by an external ground station or program."""
SHAPES = {"circle": "radius", "lemniscate": "radius", "square": "side"}
"""Trajectory shapes, and the name of their size parameter."""
FLIGHTS = (STEER, *SHAPES)
ON_TIMEOUT = ("stop", "hold")
"""Reactions to missing ROS 2 commands."""

_HIGHEST_DOMAIN = 232

_NAMES = (BUILT_IN, PX4, ARDUPILOT, ROS2)


class BackendPart(Part):
    """Selection of the backend of the next vehicle."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.choices: list[Choice] = []
        self.chosen = BUILT_IN
        self.controller = "geometric"
        """Name of the built-in controller."""
        self.flight = STEER
        """Kind of flight: `steer`, or a shape."""
        self.size, self.height, self.speed, self.laps = 3.0, 3.0, 2.0, 1
        """Radius or side of the shape [m], height [m], speed [m/s], and number of laps."""
        self.launch = True
        """Whether Pegasus starts the autopilot; otherwise it waits for one that was started elsewhere."""
        self.directory = ""
        """Folder of the autopilot; found automatically when empty."""
        self.airframe = ""
        """PX4 airframe; that of the settings or the vehicle when empty."""
        self.ros2_too = False
        """Whether a vehicle flown by another backend is also published on ROS 2."""
        self.namespace = ""
        """ROS 2 namespace of its topics and frames; the vehicle's name when empty."""
        self.domain_id: int | None = None
        """ROS 2 domain; ROS_DOMAIN_ID when None."""
        self.on_timeout = ON_TIMEOUT[0]
        """Reaction of a vehicle flown by ROS 2 to missing commands."""
        self._load_defaults()
        self._find_backends()

    @property
    def choice(self) -> Choice:
        """The chosen backend; if it is not installed, with reason and remedy."""
        return next(choice for choice in self.choices if choice.name == self.chosen)

    @property
    def program(self) -> tuple[str, ...]:
        """Folder and airframe of the chosen autopilot, as lines of text; empty if none is chosen or found."""
        if self.chosen not in (PX4, ARDUPILOT):
            return ()
        find = settings.px4_directory if self.chosen == PX4 else settings.ardupilot_directory
        try:
            lines = [f"Folder: {find(self.directory or None)}"]
        except ConfigError:  # `choice` holds the reason and the remedy.
            return ()
        if self.chosen == PX4:
            lines.append(f"Airframe: {self.airframe or 'from the vehicle'}")
        return tuple(lines)

    @action(Topic.BACKEND)
    def refresh(self) -> None:
        """Detect installed backends again."""
        self._find_backends()

    @action(Topic.BACKEND)
    def choose(self, name: str) -> None:
        """Choose the backend.

        Args:
            name: Its name in `choices`; one that is not installed can be chosen, to set its folder.
        """
        require_choice("backend", name, _NAMES)
        stored = settings.user_settings()
        self.chosen = name
        self._load_paths(stored)
        self._find_backends()

    @action(Topic.BACKEND)
    def set_controller(self, name: str) -> None:
        """Choose the built-in controller."""
        require_choice("controller", name, controller_names())
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
        """Choose the kind of flight; None keeps a value.

        Args:
            name: `steer`, or a shape.
            size: Radius or side of the shape [m].
            height: Height [m].
            speed: Maximum speed [m/s].
            laps: Number of laps.
        """
        require_choice("flight", name, FLIGHTS)
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
            launch: Whether to start it.
        """
        self.launch = launch

    @action(Topic.BACKEND)
    def set_directory(self, directory: str) -> None:
        """Set the folder of the autopilot, whose programs are executed; must not be exposed to browsers.

        Args:
            directory: The folder; found automatically when empty.
        """
        self.directory = directory.strip()
        self._find_backends()

    @action(Topic.BACKEND)
    def set_airframe(self, airframe: str) -> None:
        """Set the PX4 airframe.

        Args:
            airframe: Value of PX4_SIM_MODEL; that of the settings or the vehicle when empty.
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
        """Set the ROS 2 options; None keeps a value.

        Args:
            too: Whether a vehicle flown by another backend is also published on ROS 2.
            namespace: Namespace of its topics and frames; the vehicle's name when empty.
            domain_id: ROS 2 domain, 0 to 232; ROS_DOMAIN_ID when empty.
            on_timeout: Reaction to missing commands: `stop` or `hold`.
        """
        wanted = self.namespace if namespace is None else namespace.strip()
        domain = self.domain_id if domain_id is None else _domain(domain_id)
        if wanted:
            full_namespace(wanted)
        if on_timeout is not None:
            require_choice("on_timeout", on_timeout, ON_TIMEOUT)
        self.ros2_too = self.ros2_too if too is None else too
        self.namespace, self.domain_id = wanted, domain
        self.on_timeout = on_timeout or self.on_timeout

    @action(Topic.BACKEND)
    def reset(self) -> None:
        """Reset the options to the user's defaults."""
        self._load_paths(settings.user_settings())
        self._find_backends()

    @action(Topic.BACKEND)
    def make_default(self) -> None:
        """Store backend, controller, folder, airframe and launch in the user's settings."""
        path = settings.change_settings(
            "panel", {"backend": self.chosen, "controller": self.controller, "launch": self.launch}
        )
        if self.chosen in (PX4, ARDUPILOT):
            folder = str(Path(self.directory).expanduser().resolve()) if self.directory else None
            settings.change_settings(self.chosen, {"directory": folder})
        if self.chosen == PX4:
            settings.change_settings(PX4, {"airframe": self.airframe or None})
        self.board.report(f"the backend is stored in {path}")

    @action(Topic.BACKEND)
    def clear_namespace(self) -> None:
        """Clear the ROS 2 namespace, which is valid for one vehicle only."""
        self.namespace = ""

    def make(self) -> list[Backend]:
        """Return the backends of the next vehicle.

        Raises:
            ConfigError: If the chosen backend is not installed, or an option is invalid.
        """
        if self.chosen == ROS2:
            return [self._ros2({"on_timeout": self.on_timeout})]
        listening = [self._ros2({"control": False})] if self.ros2_too else []
        return [self._driver(), *listening]

    def _driver(self) -> Backend:
        """Return the driving backend of the next vehicle, other than ROS 2."""
        if self.chosen == BUILT_IN:
            if self.flight == STEER:
                steered = STEERED.get(self.controller)
                if steered is None:
                    raise ConfigError(
                        "cannot be steered manually",
                        field="controller",
                        value=self.controller,
                        remedy=f"choose one of {', '.join(STEERED)}, or a trajectory",
                    )
                return self._built(f"{steered.__module__}:{steered.__qualname__}", {})
            return self._built(self.controller, {"trajectory": self._trajectory()})
        options: dict[str, Any] = {"launch": self.launch}
        if self.directory:
            options["directory"] = self.directory
        if self.flight != STEER:
            options["trajectory"] = self._trajectory()
        if self.chosen == PX4 and self.airframe:
            options["airframe"] = self.airframe
        return self._built(self.chosen, options)

    def _ros2(self, options: dict[str, Any]) -> Backend:
        """Return the ROS 2 backend of the next vehicle."""
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

    def _load_defaults(self) -> None:
        """Load the user's settings; report and ignore invalid ones."""
        try:
            stored = settings.user_settings()
            if stored.panel.controller is not None:
                require_choice("panel.controller", stored.panel.controller, controller_names())
        except ConfigError as error:
            self.board.fail(error)
            return
        self.chosen = stored.panel.backend or self.chosen
        self.controller = stored.panel.controller or self.controller
        self._load_paths(stored)

    def _load_paths(self, stored: settings.Settings) -> None:
        folders = {PX4: stored.px4.directory, ARDUPILOT: stored.ardupilot.directory}
        folder = folders.get(self.chosen)
        if folder is not None and not str(folder).startswith("~"):
            folder = user_config() / folder
        self.directory = "" if folder is None else str(folder)
        self.airframe = (stored.px4.airframe or "") if self.chosen == PX4 else ""
        self.launch = stored.panel.launch

    def _find_backends(self) -> None:
        self.choices = backend_choices(self.directory or None, chosen=self.chosen)


def _domain(value: int | str) -> int | None:
    """Return a ROS 2 domain; None for an empty text."""
    text = str(value).strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) > _HIGHEST_DOMAIN:
        raise ConfigError(
            f"must be a whole number from 0 to {_HIGHEST_DOMAIN}", field="domain_id", value=value
        )
    return int(text)
