"""Search for the parameters of a vehicle with the least sum of squares over the windows of a flight."""

from collections.abc import Mapping, Sequence

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import (
    conjugate,
    multiply,
    normalize,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)
from pegasus.contracts.flight_record import FlightRecord, Measured
from pegasus.core.aircraft import Aircraft
from pegasus.environment import Environment
from pegasus.fleet.fitted import Fitted
from pegasus.fleet.measurements import BIAS, NOISE, Path, biases_of, places_of, residuals
from pegasus.fleet.shooting import Flown, Shooting, Windows
from pegasus.model.machine import Element

_GUESS = {"position": 1.0, "orientation": 0.3, "velocity": 2.0, "angular_velocity": 2.0, "joint_angle": 0.05}
"""Standard deviations of the first state of a window, as far as it is known beforehand."""
_ROTOR_GUESS = 0.1
"""That of a rotor speed, by the largest command."""
_FAR = 3.0
"""Residual, by its noise, from which on it counts linearly (Huber 1964)."""
_MOST = 25
"""Most iterations."""
_SETTLED = 0.03
"""Change of a parameter, by its standard deviation, at which the search ends."""
_KNOT = 0.1
"""Time between the instants at which gusts are unknowns [s]; between them they change linearly."""
_GUST_TIME = 1.0
"""Time constant of their correlation [s]."""
_GUST = 0.3
"""First guess of the accelerations by gusts [m/s^2]."""
_BATCH = 16
"""Windows whose derivatives are held at once."""
_WORST = 5.0
"""Residual of a window, by the median of all, from which on it is left out."""
TOLD = 0.5
"""Standard deviation of a parameter, by its size, from which on the log does not tell it."""


class Search:
    """Search for the least sum of squares over W windows.

    Unknowns are those of each window (S of the first state, and forces of gusts at some instants), and those
    of all: P parameters, then biases of sensors.
    """

    def __init__(
        self,
        record: FlightRecord,
        vehicle: Aircraft,
        fitted: Fitted,
        starts: Array,
        steps: int,
        rate: float,
        gusts: bool,
        environment: Environment,
    ) -> None:
        self.record, self.vehicle, self.fitted, self.starts = record, vehicle, fitted, starts
        self.steps, self.rate = steps, rate
        self.measured: list[Measured] = list(record.measured)
        self.shooting = Shooting(vehicle, rate, environment, fitted, len(starts), steps, pushed=gusts)
        for k, p in enumerate(fitted.parameters):
            if self.shooting.changes_nothing(k):
                raise ConfigError("is a table or changes nothing in free flight", field=f"fit, {p.name}")
        self.theta = fitted.start
        self.first_bias = biases_of(self.measured)
        self.bias = np.zeros(3 * sum(b >= 0 for b in self.first_bias))
        self.gravity = environment.gravity_vector(np.zeros((1, 3)))[0]
        self.places = [[places_of(m, t, steps, rate) for m in self.measured] for t in starts]
        self.noise = np.array([NOISE[m.quantity] for m in self.measured])
        self.kept: BoolArray = np.ones(len(starts), dtype=bool)
        knots = max(round(steps / rate / _KNOT), 1) + 1 if gusts else 0
        at = np.arange(steps) / steps * (knots - 1)
        self.hats = np.maximum(1.0 - np.abs(at[:, None] - np.arange(knots)), 0.0)
        """Parts that the forces at G instants have in that of each step, shape (L, G)."""
        apart = (
            np.abs(np.subtract.outer(np.arange(knots), np.arange(knots))) * (steps / rate) / max(knots - 1, 1)
        )
        self.unlike = (
            np.kron(np.linalg.inv(np.exp(-apart / _GUST_TIME)), np.eye(3)) if knots else np.zeros((0, 0))
        )
        """Inverse of their correlation, shape (3 G, 3 G)."""
        self.strength = _GUST * vehicle.mass
        """Their standard deviation [N]."""
        self.gust = np.zeros((len(starts), 3 * knots))
        self._guess()

    # --- what is flown

    def _guess(self) -> None:
        """Set the first state of each window by the measurements."""
        known = self.record.motion(self.starts)
        layout = self.shooting.layout
        self.start = {name: known[name] for name in layout if name in known}
        largest = float(np.abs(self.record.command).max()) or 1.0
        sizes = _GUESS | {"rotor_speed": _ROTOR_GUESS * largest}
        joints = layout["joint_angle"].stop - layout["joint_angle"].start if "joint_angle" in layout else 0
        rest = self.record.command.shape[1] - joints
        command = self._commands(self.starts, 0.0)
        if self.record.measured_speeds or "rotor_speed" not in self.start:
            self.start["rotor_speed"] = command[:, [e.channel for e in self._elements()]]
        if joints:
            self.start["joint_angle"] = command[:, rest:]
        self.start = {name: self.start[name] for name in layout}
        width, knots = self.shooting.width, self.hats.shape[1]
        self.prior = np.zeros((width + 3 * knots, width + 3 * knots))
        for name, place in layout.items():
            for k in range(place.start, place.stop):
                self.prior[k, k] = 1.0 / sizes[name] ** 2
        self.prior[width:, width:] = self.unlike / self.strength**2
        self.guess = {name: values.copy() for name, values in self.start.items()}

    def _elements(self) -> Sequence[Element]:
        return self.shooting._flight._model.machines[0].elements

    def _commands(self, times: Array, delay: float) -> Array:
        """Return the mean commands of the steps that begin at times [s], shape (..., U)."""
        record, dt = self.record, 1.0 / self.rate
        known, values = record.command_time, record.command
        if not record.held:
            at = times - delay + 0.5 * dt
            return np.stack([np.interp(at, known, column) for column in values.T], axis=-1)
        total = np.concatenate(
            [np.zeros((1, values.shape[1])), np.cumsum(values[:-1] * np.diff(known)[:, None], 0)]
        )

        def sums(at: Array) -> Array:
            # Before the first command the first one holds, after the last one that.
            inside = np.stack([np.interp(at, known, column) for column in total.T], axis=-1)
            early = np.minimum(at - known[0], 0.0)[..., None] * values[0]
            late = np.maximum(at - known[-1], 0.0)[..., None] * values[-1]
            whole: Array = inside + early + late
            return whole

        means: Array = (sums(times - delay + dt) - sums(times - delay)) * self.rate
        return means

    def _value(self, field: str, theta: Array) -> Array:
        """Return the values of a field that is not of the file."""
        found = self.fitted.values(theta)
        return found.get(field, np.zeros(3) if field == "wind" else np.zeros(()))

    def _flights(self, theta: Array, start: Mapping[str, Array], gust: Array) -> Windows:
        times = self.starts[:, None] + np.arange(self.steps) / self.rate
        delay, half = float(self._value("delay", theta)), 0.5 / self.rate
        later, sooner = self._commands(times, delay + half), self._commands(times, delay - half)
        slope = (later - sooner) * self.rate
        blown = np.einsum("lg,wgk->wlk", self.hats, gust.reshape(len(gust), -1, 3))
        return Windows(start, self._commands(times, delay), slope, self._value("wind", theta), blown)

    def _path(self, flown: Flown, w: int, changes: dict[str, Array] | None) -> Path:
        states = {name: flown[name][w] for name in self.shooting.layout}
        return Path(states, changes, self.gravity, 1.0 / self.rate)

    # --- sum of squares

    def _scaled(self, r: Array, noise: float) -> tuple[Array, Array]:
        """Return the weights of residuals, and their parts of the sum of squares."""
        far = np.abs(r) / noise
        weight = np.where(far > _FAR, _FAR / np.maximum(far, 1e-300), 1.0)
        part = np.where(far > _FAR, 2 * _FAR * far - _FAR**2, far**2)
        return weight / noise**2, part

    def _from_guess(self, start: Mapping[str, Array], gust: Array) -> Array:
        """Return the differences of first states and gusts from their guesses, shape (W, S + 3 G)."""
        parts = []
        for name in self.shooting.layout:
            if name == "orientation":
                parts.append(
                    rotation_vector_from_quaternion(multiply(conjugate(self.guess[name]), start[name]))
                )
            else:
                parts.append(start[name] - self.guess[name])
        return np.concatenate([*parts, gust], axis=1)

    def _biased(self, k: int, r: Array, bias: Array) -> Array:
        first = self.first_bias[k]
        return r if first < 0 else r - bias[first : first + 3]

    def cost(self, theta: Array, start: Mapping[str, Array], gust: Array, bias: Array) -> float:
        """Return the sum of squares; infinite for what cannot be flown."""
        try:
            self.shooting.use(theta)
        except ConfigError:
            return np.inf
        flown = self.shooting.fly(self._flights(theta, start, gust))
        apart = self._from_guess(start, gust)[self.kept]
        total = float(np.einsum("wi,ij,wj->", apart, self.prior, apart))
        total += self._bias_cost(bias)
        for w in np.flatnonzero(self.kept).tolist():
            path = self._path(flown, w, None)
            for k, m in enumerate(self.measured):
                r, _ = residuals(m, self.places[w][k], path)
                total += float(self._scaled(self._biased(k, r, bias), self.noise[k])[1].sum())
        return total if np.isfinite(total) else np.inf

    def _bias_cost(self, bias: Array) -> float:
        return float((bias**2 * self._bias_prior()).sum())

    def _bias_prior(self) -> Array:
        found = [
            1.0 / BIAS[m.quantity] ** 2 for m, b in zip(self.measured, self.first_bias, strict=True) if b >= 0
        ]
        return np.repeat(found, 3) if found else np.zeros(0)

    # --- normal equations

    def linearise(self) -> None:
        """Compute the normal equations of each window at the present values."""
        self.shooting.use(self.theta, slopes=True)
        windows = self._flights(self.theta, self.start, self.gust)
        flown = self.shooting.fly(windows)
        tables = self._by_tables()
        self.shooting.use(self.theta, slopes=True)
        size, count = self.shooting.width, len(self.fitted.parameters)
        own = len(self.prior)
        whole = own + count + len(self.bias)
        self.matrix, self.vector = (
            np.zeros((len(self.starts), whole, whole)),
            np.zeros((len(self.starts), whole)),
        )
        self.left: list[list[Array]] = [[] for _ in self.measured]
        self.share = np.zeros((len(self.starts), len(self.measured), whole, whole))
        from_guess = self._from_guess(self.start, self.gust)
        for first in range(0, len(self.starts), _BATCH):
            chosen = np.arange(first, min(first + _BATCH, len(self.starts)))
            by_state, by_parameter, by_force = self.shooting.derivatives(windows, flown, chosen)
            chain = np.zeros((len(chosen), self.steps + 1, size, own + count))
            chain[:, 0, :, :size] = np.eye(size)
            for k in range(self.steps):
                chain[:, k + 1] = by_state[:, k] @ chain[:, k]
                chain[:, k + 1, :, own:] += by_parameter[:, k]
                if own > size:
                    blown = by_force[:, k, :, None, :] * self.hats[k, :, None]
                    chain[:, k + 1, :, size:own] += blown.reshape(len(chosen), size, -1)
            for k, change in tables.items():
                chain[:, :, :, own + k] = change[chosen]
            for w, one in zip(chosen.tolist(), chain, strict=True):
                self._add(w, flown, {n: one[:, place] for n, place in self.shooting.layout.items()}, whole)
                self.matrix[w, :own, :own] += self.prior
                self.vector[w, :own] -= self.prior @ from_guess[w]

    def _by_tables(self) -> dict[int, Array]:
        """Return derivatives of flights by factors of tables, by central differences, (W, L + 1, S) each."""
        found = {}
        for k, p in enumerate(self.fitted.parameters):
            if not p.is_table:
                continue
            ends = []
            for sign in (1.0, -1.0):
                theta = self.theta.copy()
                theta[k] *= 1.0 + sign * 1e-4
                self.shooting.use(theta)
                ends.append(self.shooting.fly(self._flights(theta, self.start, self.gust)))
            change = np.zeros((len(self.starts), self.steps + 1, self.shooting.width))
            for name, place in self.shooting.layout.items():
                a, b = ends[0][name], ends[1][name]
                if name == "orientation":
                    change[:, :, place] = rotation_vector_from_quaternion(multiply(conjugate(b), a))
                else:
                    change[:, :, place] = a - b
            found[k] = change / (2e-4 * self.theta[k])
        return found

    def _add(self, w: int, flown: Flown, changes: dict[str, Array], whole: int) -> None:
        """Add the measurements of a window to its normal equations."""
        path = self._path(flown, w, changes)
        own = whole - len(self.bias)
        for k, m in enumerate(self.measured):
            r, by = residuals(m, self.places[w][k], path)
            assert by is not None
            r = self._biased(k, r, self.bias)
            jacobian = np.zeros((*r.shape, whole))
            jacobian[:, :, :own] = by
            if (first := self.first_bias[k]) >= 0:
                jacobian[:, np.arange(3), own + first + np.arange(3)] = 1.0
            weight = self._scaled(r, self.noise[k])[0].reshape(-1)
            flat = jacobian.reshape(-1, whole)
            self.share[w, k] = (flat * weight[:, None]).T @ flat
            self.matrix[w] += self.share[w, k]
            self.vector[w] += (flat * weight[:, None]).T @ r.reshape(-1)
            self.left[k].append(r)

    def reduced(self, damping: float) -> tuple[Array, Array, Array, Array]:
        """Return the normal equations of what all windows share, and what gives those of each.

        Args:
            damping: Share by which the diagonal grows.
        """
        own = len(self.prior)
        kept = np.flatnonzero(self.kept)
        scale = 1.0 + damping
        inner = self.matrix[kept][:, :own, :own].copy()
        inner[:, np.arange(own), np.arange(own)] *= scale
        mixed, outer = self.matrix[kept][:, :own, own:], self.matrix[kept][:, own:, own:]
        solved = np.linalg.solve(inner, np.concatenate([mixed, self.vector[kept][:, :own, None]], axis=2))
        matrix = (outer - mixed.transpose(0, 2, 1) @ solved[:, :, :-1]).sum(axis=0)
        vector = (self.vector[kept][:, own:] - (mixed.transpose(0, 2, 1) @ solved[:, :, -1:])[:, :, 0]).sum(
            axis=0
        )
        count = len(self.fitted.parameters)
        places = np.arange(count, len(matrix))
        matrix[places, places] += self._bias_prior()
        vector[count:] -= self._bias_prior() * self.bias
        each: Array = np.asarray(solved, dtype=np.float64)
        return matrix, vector, each[:, :, :-1], each[:, :, -1]

    def told(self, matrix: Array) -> list[int]:
        """Return the parameters that the log tells, each beside those before it."""
        sizes = np.array([p.size for p in self.fitted.parameters])
        count = len(sizes)
        biases = list(range(count, len(matrix)))
        scale = np.concatenate([sizes, np.ones(len(biases))])
        scaled = matrix * scale[:, None] * scale
        found: list[int] = []
        for k in range(count):
            tried = [*found, k, *biases]
            try:
                inverse = np.linalg.inv(scaled[np.ix_(tried, tried)])
            except np.linalg.LinAlgError:
                continue
            spread = np.diag(inverse)[: len(found) + 1]
            if (spread > 0).all() and (spread < TOLD**2).all():
                found.append(k)
        return found

    # --- search

    def run(self) -> None:
        """Search for the least sum of squares."""
        damping, count = 0.0, len(self.fitted.parameters)
        self.iterations = 0
        for iteration in range(_MOST):
            self.iterations = iteration + 1
            self.linearise()
            self._estimate_noise()
            if iteration == 1:
                self._leave_out()
            before = self.cost(self.theta, self.start, self.gust, self.bias)
            for _ in range(8):
                step, spread = self._step(damping)
                trial = self._moved(*step)
                after = self.cost(*trial)
                if after <= before * (1.0 + 1e-12):
                    damping = damping / 10.0 if damping > 1e-6 else 0.0
                    break
                damping = max(10.0 * damping, 1e-3)
            else:
                break
            moved = np.abs(trial[0] - self.theta)
            self.theta, self.start, self.gust, self.bias = trial
            least = 8 if self.hats.shape[1] else 2
            if iteration > least and (moved[:count] <= _SETTLED * spread).all():
                break
        self.linearise()
        self._estimate_noise()

    def _step(self, damping: float) -> tuple[tuple[Array, Array], Array]:
        """Return changes of what is shared and of each window, and the standard deviations of parameters."""
        matrix, vector, mixed, own = self.reduced(damping)
        count = len(self.fitted.parameters)
        used = [*self.told(matrix), *range(count, len(matrix))]
        change = np.zeros(len(matrix))
        spread = np.zeros(count)
        if used:
            part = matrix[np.ix_(used, used)].copy()
            spread[[k for k in used if k < count]] = np.sqrt(np.diag(np.linalg.inv(part)))[
                : sum(k < count for k in used)
            ]
            part[np.arange(len(used)), np.arange(len(used))] *= 1.0 + damping
            change[used] = np.linalg.solve(part, vector[used])
        each = np.zeros((len(self.starts), own.shape[1]))
        each[self.kept] = own - mixed @ change
        return (change, each), spread

    def _moved(self, shared: Array, each: Array) -> tuple[Array, dict[str, Array], Array, Array]:
        """Return parameters, first states, winds and biases after a change."""
        count, size = len(self.fitted.parameters), self.shooting.width
        start = {}
        for name, place in self.shooting.layout.items():
            if name == "orientation":
                turn = quaternion_from_rotation_vector(each[:, place])
                start[name] = normalize(multiply(self.start[name], turn))
            else:
                start[name] = self.start[name] + each[:, place]
        theta = self.fitted.bounded(self.theta + shared[:count], self.theta)
        return theta, start, self.gust + each[:, size:], self.bias + shared[count:]

    def _estimate_noise(self) -> None:
        """Set the noise of each source by its residuals, with regard to what was fitted to them."""
        own = len(self.prior)
        inverse = np.linalg.inv(self.matrix[self.kept][:, :own, :own])
        kept = np.flatnonzero(self.kept)
        if self.hats.shape[1]:
            # The expected square, by the method of expectation and maximisation.
            size = self.shooting.width
            found = np.einsum("wi,ij,wj->", self.gust[kept], self.unlike, self.gust[kept])
            found += np.einsum("wij,ji->", inverse[:, size:, size:], self.unlike)
            self.strength = float(np.sqrt(found / (len(kept) * self.gust.shape[1])))
            self.prior[size:, size:] = self.unlike / self.strength**2
        for k, m in enumerate(self.measured):
            every = [self.left[k][w] for w in kept if self.left[k][w].size]
            if not every:
                continue
            r = np.concatenate(every).reshape(-1)
            spread = 1.4826 * float(np.median(np.abs(r)))
            limit = 4.0 * max(spread, 1e-12)
            used = float(np.einsum("wij,wji->", inverse, self.share[kept, k][:, :own, :own]))
            free = max(r.size - used, 0.1 * r.size)
            least = 1e-6 * NOISE[m.quantity]
            self.noise[k] = max(float(np.sqrt((np.clip(r, -limit, limit) ** 2).sum() / free)), least)

    def _leave_out(self) -> None:
        """Leave out windows whose residuals are far larger than those of the others."""
        sizes = np.zeros(len(self.starts))
        for w in range(len(self.starts)):
            parts = [self.left[k][w] / self.noise[k] for k in range(len(self.measured))]
            flat = np.concatenate([part.reshape(-1) for part in parts])
            sizes[w] = np.sqrt(np.mean(flat**2)) if flat.size else np.inf
        kept = sizes <= _WORST * np.median(sizes)
        if kept.sum() >= max(2, len(kept) // 2):
            self.kept = kept
