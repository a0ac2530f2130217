"""Reader of aerodynamics of JSBSim: the functions of an aircraft's XML file as stability derivatives."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.text_files import is_number
from pegasus.base.xml_files import Element, read_xml
from pegasus.dynamics.wings.derivatives import AirframeDerivatives, Coefficient, Expansion
from pegasus.dynamics.wings.jsbsim_tables import Grid, looked_up

CONTROLS = ("fcs/elevator-pos-rad", "fcs/left-aileron-pos-rad", "fcs/rudder-pos-rad")
"""Properties of control surfaces, in the order of the airframe's controls."""
HELD: Mapping[str, float] = {
    "velocities/mach": 0.0,
    "aero/alphadot-rad_sec": 0.0,
    "aero/betadot-rad_sec": 0.0,
    "aero/stall-hyst-norm": 0.0,
    "aero/h_b-mac-ft": 10.0,
    "aero/h_b-cg-ft": 10.0,
    "gear/gear-pos-norm": 0.0,
    "fcs/flap-pos-deg": 0.0,
    "fcs/flap-pos-rad": 0.0,
    "fcs/flap-pos-norm": 0.0,
    "fcs/speedbrake-pos-norm": 0.0,
    "fcs/speedbrake-pos-rad": 0.0,
    "fcs/spoiler-pos-norm": 0.0,
    "fcs/spoiler-pos-rad": 0.0,
}
"""Properties that are held at a value: low speed, steady flow out of ground effect, and all retracted."""
_FEET = {"FT": 1.0, "IN": 1.0 / 12.0, "M": 1.0 / 0.3048}
_AREAS = {"FT2": 1.0, "IN2": 1.0 / 144.0, "M2": 1.0 / 0.3048**2}
_AXES = {"LIFT": "CL", "DRAG": "CD", "SIDE": "CY", "ROLL": "Cl", "PITCH": "Cm", "YAW": "Cn"}
_FUNCTIONS = {
    "abs": np.abs, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "exp": np.exp, "ln": np.log, "pow": np.power, "atan2": np.arctan2, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip
_VARIABLES = {
    "aero/alpha-rad": ("alpha", 1.0),
    "aero/alpha-deg": ("alpha", math.degrees(1.0)),
    "aero/beta-rad": ("beta", 1.0),
    "aero/beta-deg": ("beta", math.degrees(1.0)),
    **{f"velocities/{rate}{axes}-rad_sec": (rate, 1.0) for rate in "pqr" for axes in ("", "-aero")},
}
"""Properties that a coefficient depends on, with the unit of each in radians."""
_TEXT = ("description", "documentation")


@dataclass(frozen=True)
class Term:
    """What a term multiplies, beside a table over the angles."""

    variable: str = ""
    """`alpha`, `beta`, `p`, `q`, `r`, a property of a control, or `|` and one for its magnitude."""
    pressures: int = 0
    """Power of the dynamic pressure."""
    slownesses: int = 0
    """Power of 1 / (2 V)."""


Sum = dict[Term, Array]
"""Values over the angles of attack (rows) and sideslip (columns) by term."""


def read_jsbsim(
    file: str | Path, *, controls: tuple[str, ...] = CONTROLS, held: Mapping[str, float] | None = None
) -> AirframeDerivatives:
    """Return the airframe of an aircraft of JSBSim, about its aerodynamic reference point (AERORP).

    A coefficient is a sum of products of numbers, tables over the angles of attack and sideslip, and one of
    these angles, a rate or a deflection. Tables are read at even steps of half their smallest one, from 60
    to 180 of them. The property aero/cl-squared is that of the lift without rates and deflections. All other
    properties are held.

    Args:
        file: The XML file of the aircraft.
        controls: Properties of the control surfaces, in the order of the deflections. The magnitude of
            `fcs/NAME-pos-rad` is `fcs/mag-NAME-pos-rad`.
        held: Values of further properties, and of those of `HELD`.

    Raises:
        ConfigError: If the file cannot be read, or an element or a property is not understood.
    """
    path = Path(file)
    root = read_xml(path)
    return _Reader(path, root, controls, {**HELD, **(held or {})}).airframe()


class _Reader:
    def __init__(
        self, path: Path, root: Element, controls: tuple[str, ...], held: Mapping[str, float]
    ) -> None:
        self._path, self._controls = path, controls
        self._aerodynamics = self._child(root, "aerodynamics")
        metrics = self._child(root, "metrics")
        self.area = self._length(metrics, "wingarea", _AREAS)
        self.span = self._length(metrics, "wingspan", _FEET)
        self.chord = self._length(metrics, "chord", _FEET)
        self._values = {
            **held,
            "metrics/Sw-sqft": self.area,
            "metrics/bw-ft": self.span,
            "metrics/cbarw-ft": self.chord,
        }
        self._named = {f.attributes.get("name", ""): f for f in self._aerodynamics.every("function")}
        self._open: list[str] = []
        self._grid = Grid.of_tables(self._aerodynamics)

    def airframe(self) -> AirframeDerivatives:
        """Return the airframe."""
        sums: dict[str, Sum] = {c: {} for c in _AXES.values()}
        for axis in self._aerodynamics.children:
            if axis.tag == "axis":
                name = axis.attributes.get("name", "").upper()
                if name not in _AXES:
                    raise self._error(axis, f"axis {name}", f"must be one of {', '.join(_AXES)}")
                sums[_AXES[name]] = _added(sums[_AXES[name]], self._axis(axis, _AXES[name]))
        if not any(sums.values()):
            raise self._error(self._aerodynamics, "<aerodynamics>", "has no axis with a coefficient")
        lengths = {"Cl": self.span, "Cm": self.chord, "Cn": self.span}
        made = {c: self._expansion(sums[c], self.area * lengths.get(c, 1.0)) for c in sums}
        alpha, beta = self._grid.ranges()
        return AirframeDerivatives(
            area=self.area * 0.3048**2,
            span=self.span * 0.3048,
            chord=self.chord * 0.3048,
            CL=made["CL"],
            CD=made["CD"],
            CY=made["CY"],
            Cl=made["Cl"],
            Cm=made["Cm"],
            Cn=made["Cn"],
            CD_magnitude=self._magnitudes(sums["CD"]),
            alpha_range=alpha,
            beta_range=beta,
            wind_axes=True,
        )

    def _axis(self, axis: Element, coefficient: str) -> Sum:
        """Return the sum of the functions of an axis, without what is zero."""
        made: Sum = {}
        for function in axis.children:
            if function.tag == "function":
                terms = {t: v for t, v in self._function(function).items() if np.any(v)}
                self._check(function, coefficient, terms)
                made = _added(made, terms)
        return made

    def _squared_lift(self) -> Sum:
        """Return the square of the lift coefficient of steady flow, aero/cl-squared."""
        axes = (a for a in self._aerodynamics.every("axis") if a.attributes.get("name", "").upper() == "LIFT")
        angles = {"": np.ones(1), "alpha": self._grid.alpha, "beta": self._grid.beta}
        lift = np.zeros(self._grid.shape)
        for axis in axes:
            for term, values in self._axis(axis, "CL").items():
                if term.variable in angles:
                    lift = lift + values * angles[term.variable] / self.area
        return {Term(): lift * lift}

    def _check(self, function: Element, coefficient: str, terms: Sum) -> None:
        """Raise a ConfigError unless all terms are dynamic pressure times area and a coefficient."""
        for term in terms:
            rate = term.variable in ("p", "q", "r")
            if term.pressures != 1 or term.slownesses != int(rate):
                remedy = (
                    "a function needs aero/qbar-psf once, and with a rate aero/bi2vel or aero/ci2vel once"
                )
                variable = term.variable or "the angles"
                problem = f"is not dynamic pressure times area and a coefficient of {variable}"
                raise self._error(
                    function, f"function {function.attributes.get('name', '')}", problem, remedy
                )
            if term.variable.startswith("|") and coefficient != "CD":
                problem = "is of the magnitude of a deflection, which is understood in the axis DRAG alone"
                raise self._error(function, f"function {function.attributes.get('name', '')}", problem)

    def _expansion(self, terms: Sum, scale: float) -> Expansion:
        """Return the derivatives of a coefficient."""
        lengths = {"p": self.span, "q": self.chord, "r": self.span}
        found: dict[str, Coefficient] = {}
        for term, values in terms.items():
            by = scale * lengths.get(term.variable, 1.0)
            found[term.variable] = self._grid.coefficient(values / by)
        return Expansion(
            zero=found.get("", 0.0),
            alpha=found.get("alpha", 0.0),
            beta=found.get("beta", 0.0),
            p=found.get("p", 0.0),
            q=found.get("q", 0.0),
            r=found.get("r", 0.0),
            delta=tuple(found.get(control, 0.0) for control in self._controls),
        )

    def _magnitudes(self, terms: Sum) -> tuple[Coefficient, ...]:
        found = {t.variable: self._grid.coefficient(v / self.area) for t, v in terms.items()}
        if not any(key.startswith("|") for key in found):
            return ()
        return tuple(found.get(f"|{key}", 0.0) for key in self._controls)

    def _function(self, element: Element) -> Sum:
        """Return the value of a function."""
        name = element.attributes.get("name", "")
        if name in self._open:
            raise self._error(element, f"function {name}", "depends on itself")
        self._open.append(name)
        parts = [self._value(child) for child in element.children if child.tag not in _TEXT]
        self._open.pop()
        if len(parts) != 1:
            raise self._error(element, f"function {name}", "must hold one value or operation")
        return parts[0]

    def _value(self, element: Element) -> Sum:
        """Return the value of an element of a function."""
        text = element.text.strip()
        if element.tag in ("value", "v"):
            if not is_number(text):
                raise self._error(element, f"value {text!r}", "is not a number")
            return {Term(): np.full(self._grid.shape, float(text))}
        if element.tag in ("property", "p"):
            return self._property(element, text)
        if element.tag in ("table", "t"):
            return {Term(): looked_up(element, self._grid, self._values, self._path)}
        parts = [self._value(child) for child in element.children]
        if element.tag == "product" and parts:
            made = parts[0]
            for part in parts[1:]:
                made = self._product(element, made, part)
            return made
        if element.tag == "sum":
            return _added(*parts)
        if element.tag == "difference" and parts:
            return _added(parts[0], *({t: -v for t, v in part.items()} for part in parts[1:]))
        if element.tag == "quotient" and len(parts) == 2:
            return self._product(element, parts[0], {Term(): 1.0 / self._plain(element, parts[1])})
        if element.tag in _FUNCTIONS and parts:
            return {Term(): _FUNCTIONS[element.tag](*(self._plain(element, part) for part in parts))}
        known = ", ".join(
            ("value", "property", "table", "product", "sum", "difference", "quotient", *_FUNCTIONS)
        )
        raise self._error(element, f"<{element.tag}>", f"is not understood; understood are {known}")

    def _property(self, element: Element, name: str) -> Sum:
        ones = np.ones(self._grid.shape)
        sign, name = (-1.0, name[1:]) if name.startswith("-") else (1.0, name)
        if name in _VARIABLES:
            variable, unit = _VARIABLES[name]
            return {Term(variable): sign * unit * ones}
        if name in self._controls:
            return {Term(name): sign * ones}
        if (plain := name.replace("/mag-", "/")) in self._controls:
            return {Term(f"|{plain}"): sign * ones}
        if name == "aero/cl-squared":
            return {t: sign * v for t, v in self._squared_lift().items()}
        if name == "aero/mag-beta-rad":
            return {Term(): sign * np.abs(self._grid.beta) * ones}
        if name in ("aero/qbar-psf", "aero/qbar-area"):
            return {Term(pressures=1): sign * ones * (self.area if name == "aero/qbar-area" else 1.0)}
        if name in ("aero/bi2vel", "aero/ci2vel"):
            return {Term(slownesses=1): sign * ones * (self.span if name == "aero/bi2vel" else self.chord)}
        if name in self._values:
            return {Term(): sign * self._values[name] * ones}
        if name in self._named:
            return {t: sign * v for t, v in self._function(self._named[name]).items()}
        remedy = "name a control surface among controls, or hold another property at a value by held"
        raise self._error(element, f"property {name}", "is not understood", remedy)

    def _product(self, element: Element, one: Sum, other: Sum) -> Sum:
        made: Sum = {}
        for a, u in one.items():
            for b, v in other.items():
                variables, values = [x for x in (a.variable, b.variable) if x], u * v
                # An angle that multiplies another variable goes into the table.
                for angle, places in (("alpha", self._grid.alpha), ("beta", self._grid.beta)):
                    while angle in variables and len(variables) > 1:
                        variables.remove(angle)
                        values = values * places
                if len(variables) > 1:
                    problem = f"is of {' times '.join(variables)}; one variable is understood"
                    raise self._error(element, "product", problem)
                term = Term("".join(variables), a.pressures + b.pressures, a.slownesses + b.slownesses)
                made = _added(made, {term: values})
        return made

    def _plain(self, element: Element, value: Sum) -> Array:
        """Return a value that depends on the angles alone."""
        total = np.zeros(self._grid.shape)
        angles = {"": np.ones(1), "alpha": self._grid.alpha, "beta": self._grid.beta}
        for term, values in value.items():
            if term.variable not in angles or term.pressures or term.slownesses:
                raise self._error(element, f"<{element.tag}>", "may depend on the angles alone")
            total = total + values * angles[term.variable]
        return total

    def _length(self, metrics: Element, name: str, units: Mapping[str, float]) -> float:
        """Return a length [ft] or area [ft^2] of the metrics."""
        element = self._child(metrics, name)
        unit, text = element.attributes.get("unit", next(iter(units))), element.text.strip()
        if unit not in units:
            raise self._error(element, f"unit {unit}", f"must be one of {', '.join(units)}")
        if not is_number(text) or not 0 < float(text) < math.inf:
            raise self._error(element, f"{name} {text!r}", "must be a number above 0")
        return float(text) * units[unit]

    def _child(self, element: Element, tag: str) -> Element:
        found = next((child for child in element.children if child.tag == tag), None)
        if found is None:
            raise self._error(element, f"<{element.tag}>", f"has no <{tag}>", "give a file of an aircraft")
        return found

    def _error(self, element: Element, subject: str, problem: str, remedy: str | None = None) -> ConfigError:
        return ConfigError(f"line {element.line}: {subject} {problem}", file=self._path, remedy=remedy)


def _added(*sums: Sum) -> Sum:
    made: Sum = {}
    for part in sums:
        for term, values in part.items():
            made[term] = made[term] + values if term in made else values
    return made
