"""Training of policies by Stable-Baselines3's proximal policy optimization."""

import csv
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import package_error
from pegasus.learn.flights import Flights, evaluate
from pegasus.learn.policy_file import Description, Layer, write_policy
from pegasus.learn.registration import TASKS
from pegasus.learn.task import Task

CHECKPOINT, POLICY, PROGRESS = "checkpoint.zip", "policy.onnx", "progress.csv"

_LABELS = 12
"""Most curves that a legend names."""
_CURVES = {"reward": "sum of rewards", "success": "share that succeeds", "error": "last distance [m]"}


@dataclass(frozen=True)
class Progress:
    """Where a training stands."""

    steps: int
    """Number of actions that all rows took."""
    seconds: float
    """Time since it began [s]."""
    reward: float
    """Mean sum of the rewards of the last episodes."""
    success: float
    """Share of the episodes of the evaluation that succeeded."""
    error: float
    """Median distance from the goal at the end of these [m]."""


class Training:
    """Training of a policy for a task, in a folder with its checkpoint, policy and progress.

    Args:
        task: The task.
        folder: Folder of its files.
        rows: Number of episodes side by side.
        seed: Seed of everything that is drawn.
        resume: Whether to go on from the checkpoint in the folder.
    """

    def __init__(
        self, task: Task, folder: Path, *, rows: int = 512, seed: int = 0, resume: bool = False
    ) -> None:
        # Not at the top: they take seconds.
        try:
            import onnx  # noqa: F401
            import torch
            from stable_baselines3 import PPO

            from pegasus.learn.sb3 import Sb3Env
        except ModuleNotFoundError as error:
            raise package_error(error) from None

        torch.set_num_threads(1)
        self.task, self.folder = task, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = Sb3Env(task, rows, seed=seed)
        if resume:
            self.model = PPO.load(folder / CHECKPOINT, self.environment, device="cpu")
        else:
            self.model = PPO(
                "MlpPolicy",
                self.environment,
                n_steps=32,
                batch_size=rows * 32 // 4,
                n_epochs=6,
                gamma=task.discount,
                gae_lambda=0.95,
                learning_rate=1e-3,
                clip_range=0.2,
                policy_kwargs={"net_arch": [64, 64], "log_std_init": -0.7},
                seed=seed,
                device="cpu",
                tensorboard_log=str(folder) if find_spec("tensorboard") else None,
            )

    def run(
        self,
        report: Callable[[Progress], bool],
        *,
        steps: int = 3_000_000,
        success: float = 0.99,
        every: int = 20,
    ) -> Progress:
        """Learn until enough episodes of an evaluation succeed; return the last progress.

        Args:
            report: Function that is told of each evaluation; training ends when it returns False.
            steps: Largest number of actions.
            success: Share of the episodes at which it ends.
            every: Number of rollouts between evaluations.
        """
        from stable_baselines3.common.callbacks import BaseCallback

        begun, training = time.monotonic(), self

        class Evaluations(BaseCallback):
            """Evaluates the policy between rollouts."""

            rollouts, going, last = 0, True, Progress(0, 0.0, float("nan"), 0.0, float("nan"))

            def _on_step(self) -> bool:
                return self.going

            def _on_rollout_end(self) -> None:
                self.rollouts += 1
                if self.rollouts % every == 0:
                    self.last = training._evaluated(time.monotonic() - begun)
                    self.going = report(self.last) and self.last.success < success

        found = Evaluations()
        self.model.learn(steps, callback=found, reset_num_timesteps=False)
        if found.last.steps < self.model.num_timesteps:
            found.last = self._evaluated(time.monotonic() - begun)
            report(found.last)
        return found.last

    def _evaluated(self, seconds: float) -> Progress:
        share, error = evaluate(self.act, self.task)
        rewards = [entry["r"] for entry in self.model.ep_info_buffer or ()]
        mean = float(np.mean(rewards)) if rewards else float("nan")
        self.save()
        progress = Progress(self.model.num_timesteps, seconds, mean, share, error)
        file = self.folder / PROGRESS
        fresh = not file.exists()
        with file.open("a", newline="") as stream:
            writer = csv.writer(stream)
            if fresh:
                writer.writerow(Progress.__dataclass_fields__)
            writer.writerow([progress.steps, f"{seconds:.1f}", f"{mean:.4f}", f"{share:.4f}", f"{error:.4f}"])
        return progress

    def act(self, observation: Array) -> Array:
        """Return the actions of the policy as it stands, without exploration."""
        action, _ = self.model.predict(observation, deterministic=True)
        return np.asarray(action)

    def save(self) -> None:
        """Write checkpoint and policy."""
        part = self.folder / f".{CHECKPOINT}"
        self.model.save(part)
        part.replace(self.folder / CHECKPOINT)
        write_policy(
            self.folder / POLICY, layers_of(self.model), description_of(self.environment.rows.flights)
        )


def draw_curves(file: Path, folders: Mapping[str, Path]) -> None:
    """Draw success and error of the evaluations of trainings by their steps.

    Args:
        file: The picture.
        folders: Folders of the trainings by what tells them apart; those without an evaluation are left out.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    axes = figure.subplots(1, len(_CURVES))
    for label, folder in folders.items():
        if not (folder / PROGRESS).exists():
            continue
        with (folder / PROGRESS).open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        steps = [int(row["steps"]) / 1e6 for row in rows]
        for each, name in zip(axes, _CURVES, strict=True):
            each.plot(steps, [float(row[name]) for row in rows], marker=".", label=label)
    for each, title in zip(axes, _CURVES.values(), strict=True):
        each.set(title=title, xlabel="actions [million]")
        each.grid(alpha=0.3)
    if 1 < len(folders) <= _LABELS:
        axes[0].legend(fontsize="small")
    figure.savefig(file, dpi=120)


def description_of(flights: Flights) -> Description:
    """Return what a policy that learnt in flights observes and commands."""
    task = flights.task
    kind = type(task)
    return Description(
        terms=tuple((term.name, float(term.scale)) for term in task.observation),
        channels=tuple(channel.name for channel in flights.fleet.inputs),
        low=tuple(flights.low.tolist()),
        high=tuple(flights.high.tolist()),
        rest_speed=tuple(flights.episodes.rest_speed.tolist()),
        interval=task.interval,
        task=TASKS.name_of(kind) or f"{kind.__module__}:{kind.__qualname__}",
        vehicle=flights.fleet.vehicle.name,
    )


def layers_of(model: Any) -> list[Layer]:
    """Return the layers of the mean action of a model of Stable-Baselines3."""
    import torch

    names = {torch.nn.Tanh: "Tanh", torch.nn.ReLU: "Relu", torch.nn.ELU: "Elu"}
    modules = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    layers: list[Layer] = []
    for k, module in enumerate(modules):
        if isinstance(module, torch.nn.Linear):
            following = modules[k + 1] if k + 1 < len(modules) else None
            weight, bias = (values.detach().cpu().numpy() for values in (module.weight, module.bias))
            layers.append(Layer(weight, bias, names.get(type(following)) if following is not None else None))
    return layers
