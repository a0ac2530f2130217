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
_CURVES = {"reward": "sum of rewards", "success": "share that succeeds", "measure": "{} [{}]"}


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
    measure: float
    """Median of what the task measures at the end of these; see `Task.measure`."""


class Training:
    """Training of a policy for a task, in a folder with its checkpoint, policy and progress.

    Args:
        task: The task.
        folder: Folder of its files.
        rows: Number of episodes side by side; by default that of the task.
        seed: Seed of everything that is drawn.
        resume: Whether to go on from the checkpoint in the folder.
    """

    def __init__(
        self, task: Task, folder: Path, *, rows: int | None = None, seed: int = 0, resume: bool = False
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
        how = task.learning
        rows = rows or how.rows
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = Sb3Env(task, rows, seed=seed)
        if resume:
            self.model = PPO.load(folder / CHECKPOINT, self.environment, device="cpu")
            return
        self.model = PPO(
            "MlpPolicy",
            self.environment,
            n_steps=how.rollout,
            batch_size=rows * how.rollout // how.batches,
            n_epochs=how.epochs,
            gamma=how.discount,
            gae_lambda=how.trace,
            learning_rate=how.rate,
            clip_range=how.clip,
            ent_coef=how.entropy,
            policy_kwargs={"net_arch": list(how.layers), "log_std_init": how.spread},
            seed=seed,
            device="cpu",
            tensorboard_log=str(folder) if find_spec("tensorboard") else None,
        )
        # The first flights are near steady flight.
        with torch.no_grad():
            rest = self.environment.rows.flights.rest_action
            self.model.policy.action_net.bias.copy_(torch.as_tensor(rest))

    def run(
        self,
        report: Callable[[Progress], bool],
        *,
        steps: int | None = None,
        success: float | None = None,
        every: int = 20,
    ) -> Progress:
        """Learn until enough episodes of an evaluation succeed; return the last progress.

        Args:
            report: Function that is told of each evaluation; training ends when it returns False.
            steps: Largest number of actions; by default that of the task.
            success: Share of the episodes at which it ends; by default that of the task.
            every: Number of rollouts between evaluations.
        """
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.utils import FloatSchedule

        begun, training, how = time.monotonic(), self, self.task.learning
        steps, enough = steps or how.steps, how.success if success is None else success
        change = how.last_rate - how.rate

        class Evaluations(BaseCallback):
            """Evaluates the policy between rollouts."""

            rollouts, going, last = 0, True, Progress(0, 0.0, float("nan"), 0.0, float("nan"))

            def _on_step(self) -> bool:
                return self.going

            def _on_rollout_end(self) -> None:
                self.rollouts += 1
                done = min(self.model.num_timesteps / how.steps, 1.0)
                self.model.lr_schedule = FloatSchedule(how.rate + change * done)
                if self.rollouts % every == 0:
                    self.last = training._evaluated(time.monotonic() - begun)
                    learnt = self.last.success >= enough and self.last.measure <= how.measure
                    self.going = report(self.last) and not learnt

        found = Evaluations()
        self.model.learn(steps, callback=found, reset_num_timesteps=False)
        # A policy that learnt enough is the one that was evaluated and saved, not that of one more update.
        if found.going and found.last.steps < self.model.num_timesteps:
            found.last = self._evaluated(time.monotonic() - begun)
            report(found.last)
        return found.last

    def _evaluated(self, seconds: float) -> Progress:
        share, measure = evaluate(self.act, self.task, count=self.task.learning.starts)
        rewards = [entry["r"] for entry in self.model.ep_info_buffer or ()]
        mean = float(np.mean(rewards)) if rewards else float("nan")
        self.save()
        progress = Progress(self.model.num_timesteps, seconds, mean, share, measure)
        file = self.folder / PROGRESS
        fresh = not file.exists()
        with file.open("a", newline="") as stream:
            writer = csv.writer(stream)
            if fresh:
                writer.writerow(Progress.__dataclass_fields__)
            numbers = [f"{number:.4f}" for number in (mean, share, measure)]
            writer.writerow([progress.steps, f"{seconds:.1f}", *numbers])
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


def draw_curves(file: Path, folders: Mapping[str, Path], measured: tuple[str, str]) -> None:
    """Draw success and measure of the evaluations of trainings by their steps.

    Args:
        file: The picture.
        folders: Folders of the trainings by what tells them apart; those without an evaluation are left out.
        measured: Name and unit of the measure.
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
        each.set(title=title.format(*measured), xlabel="actions [million]")
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
        level=task.level,
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
