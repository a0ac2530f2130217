"""The panel's part for backends: who flies the next vehicle, and with which options."""

from pathlib import Path
from typing import Any

from pegasus import settings
from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.components import build
from pegasus.control import CONTROLLERS
from pegasus.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, backend_choices
from pegasus.panel.steering import STEERED

STEER = "steer"
"""The flight that is led by hand; for an autopilot, by whoever talks to it."""
SHAPES = {"circle": "radius", "lemniscate": "radius", "square": "side"}
"""Flights along a shape, and the name of its size."""
FLIGHTS = (STEER, *SHAPES)

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
        self._fall_back()
        self._look()

    @property
    def choice(self) -> Choice:
        """The chosen backend, with the reason and the remedy where it is not installed."""
        return next(choice for choice in self.choices if choice.name == self.chosen)

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
        """Set the folder of the autopilot.

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

    def make(self) -> list[Backend]:
        """Return the backends of the next vehicle.

        Raises:
            ConfigError: If the chosen one is not there, or an option is wrong.
        """
        if self.chosen == BUILT_IN:
            if self.flight == STEER:
                return [STEERED[self.controller]()]
            return [self._built(self.controller, {"trajectory": self._trajectory()})]
        if self.chosen == ROS2 and not self.choice.available:
            choice = self.choice
            raise ConfigError(choice.reason, field="backend", value=ROS2, remedy=choice.remedy)
        options: dict[str, Any] = {}
        if self.chosen in (PX4, ARDUPILOT):
            options["launch"] = self.launch
            if self.directory:
                options["directory"] = self.directory
            if self.flight != STEER:
                options["trajectory"] = self._trajectory()
        if self.chosen == PX4 and self.airframe:
            options["airframe"] = self.airframe
        return [self._built(self.chosen, options)]

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
        self.directory = str(folder) if folder is not None and folder.is_absolute() else ""
        self.airframe = (kept.px4.airframe or "") if self.chosen == PX4 else ""
        self.launch = kept.panel.launch

    def _look(self) -> None:
        self.choices = backend_choices(self.directory or None, chosen=self.chosen)


def _require_one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"must be one of {', '.join(allowed)}", field=field, value=value)
