"""Reader of stability derivatives of AVL: the `.st` file that its command ST writes."""

import math
import re
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.base.text_files import text_of
from pegasus.dynamics.wings.derivatives import AirframeDerivatives, Expansion

_PAIR = re.compile(r"(\S+)\s*=\s*([-+.\dEe*]+)")
_CONTROL = re.compile(r"(\S+)\s+(d\d+)(?=\s|$)")
_STATE = {"a": "Alpha", "b": "Beta", "p": "p'b/2V", "q": "qc/2V", "r": "r'b/2V"}
"""Names of the state of the run by the last letter of a derivative."""
_FIELDS = {"a": "alpha", "b": "beta", "p": "p", "q": "q", "r": "r"}
_TOTALS = {"CL": "CLtot", "CY": "CYtot", "Cl": "Cl'tot", "Cm": "Cmtot", "Cn": "Cn'tot"}
_AXES = "Standard axis orientation"


def read_avl(file: str | Path, *, length_unit: float = 1.0) -> AirframeDerivatives:
    """Return the airframe of a `.st` file of AVL, about the file's reference point.

    The moments and rates of the file are about the stability axes of its run; they are turned to the body
    axes by its angle of attack. Derivatives by controls, which AVL gives by degree, are in the file's order
    d1, d2, ... Drag is CDtot at the run, and changes by the span efficiency e of the Trefftz plane.

    Args:
        file: The file.
        length_unit: Unit of lengths of the AVL model [m].

    Raises:
        ConfigError: If the file cannot be read, or a value is missing or not a number.
    """
    path = Path(file)
    text = text_of(path, remedy="give the file that AVL's command ST writes", file=path)
    values: dict[str, float] = {}
    controls: dict[str, str] = {}
    axes = False
    for number, line in enumerate(text.splitlines(), 1):
        axes = axes or _AXES in line
        for name, word in _PAIR.findall(line):
            try:
                values[name] = float(word)
            except ValueError:
                problem = f"line {number}: {name} = {word} is not a number"
                raise ConfigError(problem, file=path, remedy="run AVL at a state that it solves") from None
        if "=" not in line:
            controls.update({key: name for name, key in _CONTROL.findall(line)})
    if not axes:
        remedy = "choose it in AVL by the command O of the menu OPER, and write the file again"
        raise ConfigError(f'lacks the line "{_AXES},  X fwd, Z down"', file=path, remedy=remedy)
    for name in ("Alpha", "Beta", "CLa", "CLp", "e"):
        if name not in values:
            remedy = "give the file that AVL's command ST writes after a run"
            raise ConfigError(f"has no {name}", file=path, remedy=remedy)
    return _airframe(path, values, controls, length_unit)


def _airframe(
    path: Path, values: dict[str, float], controls: dict[str, str], length_unit: float
) -> AirframeDerivatives:
    def value(name: str) -> float:
        if name not in values:
            raise ConfigError(f"has no {name}", file=path, remedy="give a whole file of AVL's command ST")
        return values[name]

    state = {key: value(name) for key, name in _STATE.items()}
    state["a"], state["b"] = math.radians(state["a"]), math.radians(state["b"])
    state.update({key: value(name) for key, name in controls.items()})
    found = {c: {key: value(c + key) for key in state} for c in _TOTALS}
    for c, total in _TOTALS.items():
        found[c]["0"] = value(total) - sum(found[c][key] * state[key] for key in state)
    _to_body_axes(found, state["a"])

    area, span, chord = value("Sref"), value("Bref"), value("Cref")
    efficiency, lift = value("e"), found["CL"]
    steady_lift = lift["0"] + lift["a"] * state["a"] + lift["b"] * state["b"]
    induced = steady_lift * steady_lift * area / (math.pi * efficiency * span * span)
    slopes = {c: _expansion(by, list(controls)) for c, by in found.items()}
    return AirframeDerivatives(
        area=area * length_unit**2,
        span=span * length_unit,
        chord=chord * length_unit,
        CL=slopes["CL"],
        CD=Expansion(zero=value("CDtot") - induced),
        CY=slopes["CY"],
        Cl=slopes["Cl"],
        Cm=slopes["Cm"],
        Cn=slopes["Cn"],
        oswald_efficiency=efficiency,
    )


def _to_body_axes(found: dict[str, dict[str, float]], alpha: float) -> None:
    """Turn rates, and the moments of roll and yaw, from stability axes to body axes."""
    sine, cosine = math.sin(alpha), math.cos(alpha)
    for slopes in found.values():
        p, r = slopes["p"], slopes["r"]
        slopes["p"], slopes["r"] = cosine * p - sine * r, sine * p + cosine * r
    for key, roll in found["Cl"].items():
        yaw = found["Cn"][key]
        found["Cl"][key], found["Cn"][key] = cosine * roll - sine * yaw, sine * roll + cosine * yaw


def _expansion(slopes: dict[str, float], controls: list[str]) -> Expansion:
    plain = {field: slopes[key] for key, field in _FIELDS.items()}
    return Expansion(zero=slopes["0"], **plain, delta=tuple(math.degrees(slopes[key]) for key in controls))
