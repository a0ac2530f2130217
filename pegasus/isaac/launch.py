"""Start of Isaac Sim in a script, and the options of its application."""

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.isaac.installation import find_app, own_package

NEWTON_APP = "isaacsim.exp.full.newton"
STREAMING_APP = "isaacsim.exp.full.streaming"
_RENDERERS = ("RealTimePathTracing", "RaytracedLighting", "PathTracing", "MinimalRendering")


@dataclass(frozen=True)
class KitOptions:
    """Options of Isaac Sim's application; None keeps its default.

    Raises:
        ConfigError: If two options choose an app, or a value is not allowed.
    """

    app: str | None = None
    """Name of an app, or path of its .kit file."""
    newton: bool = False
    """Use the app with Newton physics (Isaac Sim 6.0)."""
    livestream: bool = False
    """Stream the application by WebRTC, without a local window."""
    renderer: str | None = None
    """Render mode of RTX: RaytracedLighting, PathTracing, in 6.0 RealTimePathTracing, MinimalRendering."""
    resolution: tuple[int, int] | None = None
    """Width and height of the viewport [pixel]."""
    active_gpu: int | None = None
    """Number of the rendering GPU."""
    active_cuda_gpus: tuple[int, ...] | None = None
    """Numbers of the rendering GPUs as CUDA counts them, so by CUDA_VISIBLE_DEVICES (Isaac Sim 6.1)."""
    physics_gpu: int | None = None
    """Number of the physics GPU."""
    multi_gpu: bool | None = None
    """Render on several GPUs."""
    limit_cpu_threads: int | None = None
    """Most threads of Kit and of OpenUSD; by default 16, before Isaac Sim 6.1 32."""
    arguments: Sequence[str] = ()
    """Further arguments of Kit, such as `--/rtx/post/dlss/execMode=0` or `--enable NAME`."""

    def __post_init__(self) -> None:
        chosen = [name for name in ("app", "newton", "livestream") if getattr(self, name)]
        if len(chosen) > 1:
            raise ConfigError(
                f"chooses an app, as {chosen[0]} does",
                field=chosen[1],
                remedy="give only one; -- --enable omni.kit.livestream.app streams other apps of 6.0",
            )
        if self.renderer is not None and self.renderer not in _RENDERERS:
            raise ConfigError(
                f"must be one of {', '.join(_RENDERERS)}", field="renderer", value=self.renderer
            )
        if self.resolution is not None and not all(1 <= size <= 16384 for size in self.resolution):
            raise ConfigError(
                "must be two numbers of pixels from 1 to 16384", field="resolution", value=self.resolution
            )

        if self.active_cuda_gpus is not None:
            if self.active_gpu is not None:
                raise ConfigError(
                    "chooses the rendering GPUs, as active_gpu does",
                    field="active_cuda_gpus",
                    remedy="give only one",
                )
            if not self.active_cuda_gpus or min(self.active_cuda_gpus) < 0:
                raise ConfigError(
                    "must be one or more numbers from 0",
                    field="active_cuda_gpus",
                    value=self.active_cuda_gpus,
                )
        if self.limit_cpu_threads is not None and self.limit_cpu_threads < 1:
            raise ConfigError("must be at least 1", field="limit_cpu_threads", value=self.limit_cpu_threads)

    @property
    def chosen_app(self) -> str | None:
        """Name or path of the chosen app; None for the default one."""
        return self.app or (NEWTON_APP if self.newton else STREAMING_APP if self.livestream else None)

    def launch_config(self, *, headless: bool) -> dict[str, Any]:
        """Return the configuration for `SimulationApp` without the app; `headless` means without a window."""
        config: dict[str, Any] = {"headless": headless or self.livestream, "extra_args": list(self.arguments)}
        if self.livestream:
            config["hide_ui"] = False
            config["extra_args"].append("--/app/window/drawMouse=true")
        if self.resolution is not None:
            config["width"], config["height"] = self.resolution
        if self.active_cuda_gpus is not None:
            config["active_cuda_gpus"] = list(self.active_cuda_gpus)
        for name in ("renderer", "active_gpu", "physics_gpu", "multi_gpu", "limit_cpu_threads"):
            if getattr(self, name) is not None:
                config[name] = getattr(self, name)
        return config

    def kit_arguments(self) -> list[str]:
        """Return the arguments of Kit for these options without the app, like `SimulationApp` in a script."""
        settings: dict[str, Any] = {}
        if self.renderer is not None:
            settings |= {"rtx-defaults/rendermode": self.renderer, "rtx/rendermode": self.renderer}
        if self.resolution is not None:
            width, height = self.resolution
            settings |= {"app/renderer/resolution/width": width, "app/renderer/resolution/height": height}
        settings |= {
            "renderer/activeGpu": self.active_gpu,
            # With a comma at the end one number remains a list, as SimulationApp writes it.
            "renderer/multiGpu/activeCudaGpus": self.active_cuda_gpus
            and f"{_listed(self.active_cuda_gpus)},",
            "physics/cudaDevice": self.physics_gpu,
            "renderer/multiGpu/enabled": None if self.multi_gpu is None else str(self.multi_gpu).lower(),
            "plugins/carb.tasking.plugin/threadCount": self.limit_cpu_threads,
            "plugins/omni.tbb.globalcontrol/maxThreadCount": self.limit_cpu_threads,
        }
        given = [f"--/{path}={value}" for path, value in settings.items() if value is not None]
        return [*(["--no-window"] if self.livestream else []), *given, *self.arguments]

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `start`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def command_line(self) -> list[str]:
        """Return the options as command-line arguments."""
        line = [f"--{name}" for name in ("newton", "livestream") if getattr(self, name)]
        for field in fields(self):
            value = getattr(self, field.name)
            option = f"--{field.name.replace('_', '-')}"
            if field.name == "resolution" and value is not None:
                line += [option, f"{value[0]}x{value[1]}"]
            elif field.name == "active_cuda_gpus" and value is not None:
                line += [option, _listed(value)]
            elif field.name == "multi_gpu" and value is not None:
                line.append(option if value else "--no-multi-gpu")
            elif isinstance(value, str | int) and not isinstance(value, bool):
                line += [option, str(value)]
        return [*line, *(["--", *self.arguments] if self.arguments else [])]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of Isaac Sim's application to a parser."""
    group = parser.add_argument_group(
        "Isaac Sim", "--/PATH=VALUE changes a setting; other arguments of Kit follow --."
    )
    group.add_argument("--app", help="Name of an app, or path of its .kit file.")
    group.add_argument("--newton", action="store_true", help="Physics by Newton (Isaac Sim 6.0).")
    group.add_argument("--livestream", action="store_true", help="Stream the window by WebRTC.")
    group.add_argument("--renderer", choices=_RENDERERS, help="Render mode of RTX.")
    group.add_argument("--resolution", type=_resolution, metavar="WxH", help="Size of the viewport [pixel].")
    group.add_argument("--active-gpu", type=int, metavar="N", help="GPU that renders.")
    group.add_argument(
        "--active-cuda-gpus",
        type=_numbers,
        metavar="N,N",
        help="GPUs that render, as CUDA counts them (6.1).",
    )
    group.add_argument("--physics-gpu", type=int, metavar="N", help="GPU that computes physics.")
    group.add_argument(
        "--multi-gpu", action=argparse.BooleanOptionalAction, help="Render on several GPUs, or on one."
    )
    group.add_argument("--limit-cpu-threads", type=int, metavar="N", help="Most threads of Kit.")


def take_options(line: Sequence[str]) -> tuple[KitOptions, list[str]]:
    """Return the options of Isaac Sim's application in a command line, and its other arguments.

    Args:
        line: Command line without the program.

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
    """Return the options in parsed arguments, with further arguments of Kit.

    Raises:
        ConfigError: If a value is not allowed.
    """
    named = {field.name: getattr(known, field.name) for field in fields(KitOptions) if field.name in known}
    return KitOptions(**named, arguments=tuple(arguments))


def split(line: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line at `--`."""
    words = list(line)
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def is_setting(word: str) -> bool:
    """Return whether an argument changes a setting of Kit, such as `--/app/window/title=Mine`."""
    return word.startswith("--/")


class Parser(argparse.ArgumentParser):
    """Argument parser that raises ConfigError for a wrong command line."""

    def error(self, message: str) -> Any:
        """Raise a ConfigError with a message of argparse.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(message.removeprefix("argument "), remedy="see pegasus isaac --help")


def _resolution(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a resolution such as 1920x1080")
    return int(width), int(height)


def _numbers(text: str) -> tuple[int, ...]:
    if not all(part.isdigit() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 0,1")
    return tuple(int(part) for part in text.split(","))


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


FRAME_RATE = 30.0
"""Rendered frames per simulated second in scripts with a window [Hz]."""

FRAME_RATE_SETTING, SCENARIO_SETTING, PLAY_SETTING, OUT_SETTING = (
    f"/pegasus/{name}" for name in ("frameRate", "scenario", "play", "out")
)
"""Settings of Kit that start scripts and the extension read."""


def inside_isaac_sim() -> bool:
    """Return whether this process runs in Isaac Sim."""
    return "omni.usd" in sys.modules


def start(*, headless: bool = True, **options: Any) -> Any:
    """Start Isaac Sim in this process of its Python, and return its application.

    Call it before OpenUSD is imported; `import pegasus` does not import it.

    Args:
        headless: Start without a window.
        options: Fields of `KitOptions`: app, newton, livestream, renderer, resolution, active_gpu,
            active_cuda_gpus, physics_gpu, multi_gpu, limit_cpu_threads, and arguments, which are passed to
            Kit.

    Raises:
        ConfigError: If this is not Isaac Sim's Python, OpenUSD was imported, or an option is wrong or not
            known to this version.
    """
    kit = KitOptions(**options)
    if inside_isaac_sim():
        return None
    package = own_package()
    if package is None:
        raise ConfigError(
            "this Python is not that of Isaac Sim",
            field="engine",
            value="isaac",
            remedy="run the script with Isaac Sim's Python (python.sh), or a scenario with pegasus isaac",
        )
    if "pxr" in sys.modules:
        raise ConfigError(
            "OpenUSD was imported before Isaac Sim was started",
            field="engine",
            value="isaac",
            remedy="start it before worlds and vehicles are created",
        )
    from isaacsim import SimulationApp

    # python.sh or the import sets this variable.
    apps = Path(os.environ.get("EXP_PATH") or package / "apps")
    app = "" if kit.chosen_app is None else str(find_app(kit.chosen_app, apps))
    config = kit.launch_config(headless=headless)
    if "active_cuda_gpus" in config and "active_cuda_gpus" not in SimulationApp.DEFAULT_LAUNCHER_CONFIG:
        raise ConfigError(
            "this Isaac Sim, before 6.1, does not count GPUs as CUDA does",
            field="active_cuda_gpus",
            value=kit.active_cuda_gpus,
            remedy="use active_gpu",
        )
    if kit.livestream or not headless:
        config["extra_args"].append(f"--{FRAME_RATE_SETTING}={FRAME_RATE}")
    interrupt = signal.getsignal(signal.SIGINT)
    application = SimulationApp(config, experience=app)
    # Isaac Sim's handler would end the process with exit code 0 within a step.
    signal.signal(signal.SIGINT, interrupt)
    atexit.register(application.close)
    return application
