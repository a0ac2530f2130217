"""Expectations: conditions that vehicles must fulfil always, once, or at the end of a flight."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from pegasus.base.arrays import BoolArray
from pegasus.base.components import build, require
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.config.scenario import ExpectationSpec
from pegasus.contracts.condition import OPERATORS, Condition, Region
from pegasus.contracts.observer import recorded_rate
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.recording import OutcomeAudit
from pegasus.recording.verdict import Verdict
from pegasus.verdicts.checks import CHECKS, Check, Look, Number, Seen
from pegasus.verdicts.quantities import reader_of

Test = str | Region | Callable[[Aircraft], Any]
"""What is expected: a condition, a region in which the vehicle is, or a function of the vehicle that returns
truth values of shape (N,)."""


class Expectations:
    """Observer of a simulation that checks what is expected of its vehicles while they fly.

    Conditions are looked at as often as states are recorded by default, 100 Hz or a little more, those with
    `in_contact` at each step, and all at the end. Crashes and landings count whenever they happen. A quantity
    that is not known yet, such as the error from a reference before there is one, is neither right nor wrong;
    an expectation that was never looked at, or whose quantity was never known, fails.

    Used as a context, it checks what flies within, and raises an AssertionError at its end with a line for
    each expectation that failed:

        with Expectations(simulation) as expect:
            expect.always("tracking_error < 0.3", after=2.0)
            simulation.run(10.0)

    Args:
        simulation: The simulation.
        failed: Function that is called with the time [s] and a line when an expectation fails in flight.
        outcomes: Audit of outcomes that observes the simulation before this observer does; one of its own if
            None.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        failed: Callable[[float, str], None] | None = None,
        outcomes: OutcomeAudit | None = None,
    ) -> None:
        self._simulation, self._failed = simulation, failed
        self.cut_short = False
        """Whether the flight ends earlier than planned: what may still come true is not judged then."""
        self._checks: list[Check] = []
        self._told: set[Check] = set()
        self._outcomes, self._own_audit = outcomes or OutcomeAudit(), outcomes is None
        self._each_step = self._begun = False

    def always(self, test: Test, **options: Any) -> None:
        """Expect a condition at all times.

        Args:
            test: The condition, see `Test`.
            options: `vehicle` (its name, if there are several; it may stand before the quantity too:
                `iris.height < 3`), `after` and `before` (times between which it is expected [s]), `share` (of
                the copies that must fulfil it, 1 by default) and `name` (of the expectation).

        Raises:
            ConfigError: If there is no such vehicle or quantity.
        """
        self._add("always", test, **options)

    def never(self, test: Test, **options: Any) -> None:
        """Expect that a condition is never fulfilled; options as those of `always`."""
        self._add("never", test, **options)

    def eventually(self, test: Test, **options: Any) -> None:
        """Expect a condition at one time at least, by each copy; options as those of `always`."""
        self._add("eventually", test, **options)

    def at_end(self, test: Test, **options: Any) -> None:
        """Expect a condition when the flight ends; options as those of `always`."""
        self._add("at_end", test, **options)

    def take(self, specs: Sequence[ExpectationSpec]) -> None:
        """Add the expectations of a scenario.

        Raises:
            ConfigError: If a vehicle or quantity of one is not known; it names the expectation.
        """
        for number, spec in enumerate(specs):
            try:
                kind, test = spec.stated()
                self._add(
                    kind,
                    test if isinstance(test, str) else _region(test, kind),
                    vehicle=spec.vehicle,
                    after=spec.after,
                    before=spec.before,
                    share=spec.share,
                    name=spec.name,
                )
            except ConfigError as error:
                place = f"expect.{number}"
                raise (error.about(place) if error.field == "expect" else error.within(field=place)) from None

    def _add(
        self,
        kind: str,
        test: Test,
        *,
        vehicle: str | None = None,
        after: float = 0.0,
        before: float | None = None,
        share: float = 1.0,
        name: str | None = None,
    ) -> None:
        last = math.inf if before is None else before
        require(0 <= after < math.inf, "after", after, "must be at least 0 s")
        require(last >= after, "before", before, "must not be earlier than after")
        require(0 < share <= 1, "share", share, "must be above 0 and at most 1")
        condition = Condition.parsed(test, field="expect") if isinstance(test, str) else None
        for part in condition.comparisons if condition is not None else ():
            self._each_step |= part.quantity.endswith("in_contact")
        known = {each.name: each for each in self._simulation.vehicles}
        named = vehicle or _prefix(condition, known)
        if named is not None and named not in known:
            raise unknown_name("vehicle", named, known)
        require(bool(known), "expect", test, "has no vehicle to look at", "add the vehicles first")
        for each in known.values() if named is None else [known[named]]:
            look = _look(each, test, condition, self._outcomes)
            text = name or f"{kind.replace('_', ' ')} {_text_of(test)}"
            self._checks.append(CHECKS[kind](each, text, look, (after, last), share))

    def verdicts(self) -> list[Verdict]:
        """Return the verdict of each expectation, and vehicle, on the flight so far."""
        return [self._verdict(check) for check in self._checks]

    def require(self) -> None:
        """Raise an AssertionError with a line for each expectation that failed."""
        __tracebackhide__ = True
        lines = [verdict.line() for verdict in self.verdicts() if not verdict.passed]
        if lines:
            raise AssertionError("\n".join(lines))

    def start(self, simulation: Simulation) -> None:
        """Begin anew."""
        self._begun = True
        if self._own_audit:
            self._outcomes.start(simulation)
        self._told.clear()
        rate = simulation.rate if self._each_step else recorded_rate(None, simulation.rate)
        self._interval = max(1, round(simulation.rate / rate))
        for check in self._checks:
            check.begin()

    def record(self, simulation: Simulation) -> None:
        """Look at the conditions of this step."""
        if self._own_audit:
            self._outcomes.record(simulation)
        if simulation.step_count % self._interval == 0:
            self._look(simulation.time, ended=False)

    def stop(self) -> None:
        """Look at the end of the flight, if it has begun."""
        if not self._begun:
            return
        self._look(self._simulation.time, ended=True)
        for check in self._checks:
            self._tell(check, self._simulation.time)
        if self._own_audit:
            self._outcomes.stop()

    def _look(self, time: float, *, ended: bool) -> None:
        # A condition that cannot be looked at is told once, not at the end again.
        checks, self._checks = self._checks, []
        for check in checks:
            if (ended or check.in_flight) and check.look(time):
                self._tell(check, time)
        self._checks = checks

    def _verdict(self, check: Check) -> Verdict:
        verdict = check.verdict()
        if verdict.passed or not (self.cut_short and check.pending):
            return verdict
        reason = f"not judged: the flight was cut short at {self._simulation.time:.2f} s"
        return replace(verdict, passed=True, judged=False, reason=reason, copies=())

    def _tell(self, check: Check, time: float) -> None:
        """Tell of an expectation once that it has failed."""
        verdict = self._verdict(check)
        if not verdict.passed and self._failed is not None and check not in self._told:
            self._told.add(check)
            self._failed(time, verdict.line())

    def __enter__(self) -> Self:
        self._simulation.add_observer(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._simulation.remove_observer(self)
        if error is None:
            self.require()


def _look(vehicle: Aircraft, test: Test, condition: Condition | None, outcomes: OutcomeAudit) -> Look:
    """Return the function that looks at a test."""
    everywhere = np.ones(vehicle.count, dtype=bool)
    if condition is None:
        if isinstance(test, Region):
            return Look(lambda: Seen(test.contains(vehicle.state.position), everywhere))
        assert callable(test)
        return Look(lambda: Seen(_truths(test(vehicle), vehicle), everywhere))
    given: Condition = condition
    readers = [
        reader_of(vehicle, part.quantity.removeprefix(f"{vehicle.name}."), outcomes)
        for part in given.comparisons
    ]
    bounds = given.comparisons[0].bounds
    single = len(readers) == 1 and len(bounds) == 1
    wrong = 0.0 if not single else 1.0 if bounds[0][0].startswith("<") else -1.0

    def see() -> Seen:
        values = [read() for read in readers]
        known = ~np.logical_or.reduce([np.isnan(value) for value in values])
        return Seen(given.holds(values), known, values[0] if single else None, wrong)

    number = None
    if single and vehicle.count == 1:
        (sign, bound), read = bounds[0], readers[0]
        compare = OPERATORS[sign]
        number = Number(lambda: float(read()[0]), lambda value: bool(compare(value, bound)), wrong)
    return Look(see, number)


def _truths(values: Any, vehicle: Aircraft) -> BoolArray:
    truths = np.asarray(values)
    if truths.shape not in ((), (vehicle.count,)):
        raise ConfigError(
            f"must return a truth value, or one for each of the {vehicle.count} copies",
            field="expect",
            value=f"an array of shape {truths.shape}",
        )
    return np.broadcast_to(truths.astype(bool), (vehicle.count,))


def _region(fields: Mapping[str, Any], field: str) -> Region:
    return build(Region, {"region": Region}, {"model": "region", **fields}, field=field)


def _prefix(condition: Condition | None, known: Mapping[str, Aircraft]) -> str | None:
    """Return the vehicle that stands before a quantity of a condition."""
    for part in condition.comparisons if condition is not None else ():
        for name in sorted(known, key=len, reverse=True):
            if part.quantity.startswith(f"{name}."):
                return name
    return None


def _text_of(test: Test) -> str:
    if isinstance(test, str):
        return test
    if isinstance(test, Region):
        given = {field.name: getattr(test, field.name) for field in fields(test)}
        return "in " + ", ".join(f"{name} {value}" for name, value in given.items() if value is not None)
    return str(getattr(test, "__name__", test))
