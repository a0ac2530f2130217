"""Options of Isaac Sim's application: the same for a script, for the command and for the window."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from pegasus.errors import ConfigError

NEWTON_APP = "isaacsim.exp.full.newton"
STREAMING_APP = "isaacsim.exp.full.streaming"
_RENDERERS = ("RealTimePathTracing", "RaytracedLighting", "PathTracing", "MinimalRendering")


@dataclass(frozen=True)
class KitOptions:
    """Options of Isaac Sim's application; what is None stays as the application has it.

    Raises:
        ConfigError: If two of them choose an app, or a value is not allowed.
    """

    app: str | None = None
    """Name of an app, or path of its .kit file."""
    newton: bool = False
    """Whether Newton computes the physics, in the app that Isaac Sim 6.0 has for it."""
    livestream: bool = False
    """Whether the application is streamed by WebRTC, without a window of its own."""
    renderer: str | None = None
    """Render mode of RTX: RaytracedLighting, PathTracing, in 6.0 RealTimePathTracing, MinimalRendering."""
    resolution: tuple[int, int] | None = None
    """Width and height of the viewport [pixel]."""
    active_gpu: int | None = None
    """Number of the GPU that renders."""
    physics_gpu: int | None = None
    """Number of the GPU that computes physics."""
    multi_gpu: bool | None = None
    """Whether several GPUs render."""
    arguments: Sequence[str] = ()
    """Further arguments of Kit, such as `--/rtx/post/dlss/execMode=0` or `--enable NAME`."""

    def __post_init__(self) -> None:
        chosen = [name for name in ("app", "newton", "livestream") if getattr(self, name)]
        if len(chosen) > 1:
            raise ConfigError(
                f"chooses an app, and so does {chosen[0]}",
                field=chosen[1],
                remedy="leave one out; other apps of 6.0 are streamed by -- --enable omni.kit.livestream.app",
            )
        if self.renderer is not None and self.renderer not in _RENDERERS:
            raise ConfigError(
                f"must be one of {', '.join(_RENDERERS)}", field="renderer", value=self.renderer
            )
        if self.resolution is not None and not all(1 <= size <= 16384 for size in self.resolution):
            raise ConfigError(
                "must be two numbers of pixels from 1 to 16384", field="resolution", value=self.resolution
            )

    @property
    def chosen_app(self) -> str | None:
        """Name or path of the app that the options choose; None for the usual one."""
        return self.app or (NEWTON_APP if self.newton else STREAMING_APP if self.livestream else None)

    def launch_config(self, *, headless: bool) -> dict[str, Any]:
        """Return the configuration for `SimulationApp`, without the app.

        Args:
            headless: Whether it has no window.
        """
        config: dict[str, Any] = {"headless": headless or self.livestream, "extra_args": list(self.arguments)}
        if self.livestream:
            config["hide_ui"] = False
            config["extra_args"].append("--/app/window/drawMouse=true")
        if self.resolution is not None:
            config["width"], config["height"] = self.resolution
        for name in ("renderer", "active_gpu", "physics_gpu", "multi_gpu"):
            if getattr(self, name) is not None:
                config[name] = getattr(self, name)
        return config

    def kit_arguments(self) -> list[str]:
        """Return the arguments of Kit that do what `SimulationApp` does for a script, without the app."""
        settings: dict[str, Any] = {}
        if self.renderer is not None:
            settings |= {"rtx-defaults/rendermode": self.renderer, "rtx/rendermode": self.renderer}
        if self.resolution is not None:
            width, height = self.resolution
            settings |= {"app/renderer/resolution/width": width, "app/renderer/resolution/height": height}
        settings |= {
            "renderer/activeGpu": self.active_gpu,
            "physics/cudaDevice": self.physics_gpu,
            "renderer/multiGpu/enabled": None if self.multi_gpu is None else str(self.multi_gpu).lower(),
        }
        given = [f"--/{path}={value}" for path, value in settings.items() if value is not None]
        return [*(["--no-window"] if self.livestream else []), *given, *self.arguments]

    def keywords(self) -> dict[str, Any]:
        """Return the options by name, as `pegasus.isaac.launch.start` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def command_line(self) -> list[str]:
        """Return the options as `add_options` reads them."""
        line = [f"--{name}" for name in ("newton", "livestream") if getattr(self, name)]
        for field in fields(self):
            value = getattr(self, field.name)
            option = f"--{field.name.replace('_', '-')}"
            if field.name == "resolution" and value is not None:
                line += [option, f"{value[0]}x{value[1]}"]
            elif field.name == "multi_gpu" and value is not None:
                line.append(option if value else "--no-multi-gpu")
            elif isinstance(value, str | int) and not isinstance(value, bool):
                line += [option, str(value)]
        return [*line, *(["--", *self.arguments] if self.arguments else [])]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of Isaac Sim's application to a parser.

    Args:
        parser: The parser.
    """
    group = parser.add_argument_group(
        "Isaac Sim", "--/PATH=VALUE changes a setting; others of Kit follow --."
    )
    group.add_argument("--app", help="Name of an app, or path of its .kit file.")
    group.add_argument("--newton", action="store_true", help="Physics by Newton (Isaac Sim 6.0).")
    group.add_argument("--livestream", action="store_true", help="Stream the window by WebRTC.")
    group.add_argument("--renderer", choices=_RENDERERS, help="Render mode of RTX.")
    group.add_argument("--resolution", type=_resolution, metavar="WxH", help="Size of the viewport [pixel].")
    group.add_argument("--active-gpu", type=int, metavar="N", help="GPU that renders.")
    group.add_argument("--physics-gpu", type=int, metavar="N", help="GPU that computes physics.")
    group.add_argument(
        "--multi-gpu", action=argparse.BooleanOptionalAction, help="Render on several GPUs, or on one."
    )


def take_options(line: Sequence[str]) -> tuple[KitOptions, list[str]]:
    """Return the options of Isaac Sim's application in a command line, and what else stands in it.

    Args:
        line: The command line, without the program.

    Raises:
        ConfigError: If a value is not allowed.
    """
    parser = Parser(add_help=False, allow_abbrev=False)
    add_options(parser)
    own, further = split(line)
    known, rest = parser.parse_known_args(own)
    return options_of(known, [*(word for word in rest if is_setting(word)), *further]), [
        word for word in rest if not is_setting(word)
    ]


def options_of(known: argparse.Namespace, arguments: Sequence[str]) -> KitOptions:
    """Return the options that a parser has read.

    Args:
        known: What the parser has read.
        arguments: Further arguments of Kit.

    Raises:
        ConfigError: If a value is not allowed.
    """
    named = {field.name: getattr(known, field.name) for field in fields(KitOptions) if field.name in known}
    return KitOptions(**named, arguments=tuple(arguments))


def split(line: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what stands before a lone `--`, and what stands after it.

    Args:
        line: The command line.
    """
    words = list(line)
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def is_setting(word: str) -> bool:
    """Return whether a word sets a setting of Kit, such as `--/app/window/title=Mine`.

    Args:
        word: Word of a command line.
    """
    return word.startswith("--/")


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line as other wrong input is reported."""

    def error(self, message: str) -> Any:
        """Refuse the command line.

        Args:
            message: What is wrong.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(message.removeprefix("argument "), remedy="see pegasus isaac --help")


def _resolution(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no resolution such as 1920x1080")
    return int(width), int(height)
