"""Plain error messages for what pydantic rejects."""

import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pegasus.base.errors import ConfigError, did_you_mean

_PROBLEMS = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "path_type": "must be a path",
    "none_required": "must be left out",
    "union_tag_invalid": "must have one of {expected_tags} as {discriminator}",
    "union_tag_not_found": "must have {discriminator}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "mapping_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "too_short": "must not be empty",
    "too_long": "must hold at most {max_length} entries, not {actual_length}",
}
"""Problems by pydantic's types of errors."""


def config_error(error: ValidationError, model: type[BaseModel]) -> ConfigError:
    """Return the first error of a validation as one line.

    Args:
        error: The error of pydantic.
        model: Model that was validated; its fields are listed when one is unknown.
    """
    # A misspelt field is also a missing one: report the spelling.
    details = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    paths = [_path(model, item["loc"], item["type"]) for item in details]
    # The forms that a value may have are validated one by one: of these, the deepest errors count.
    nested = [path for path in paths if path[: len(paths[0])] == paths[0]]
    path = max(nested, key=len)
    first = details[paths.index(path)]
    field = ".".join(map(str, path))
    if first["type"] == "extra_forbidden":
        allowed = sorted(_fields(_kind_at(model, path[:-1])))
        listed = f"allowed here: {', '.join(allowed)}" if allowed else "remove it"
        remedy = " ".join([*did_you_mean(str(path[-1]), allowed), listed])
        return ConfigError("unknown field", field=field, remedy=remedy, quoted=True)
    missing = [place for item, place in zip(details, paths, strict=True) if item["type"] == "missing"]
    if first["type"] == "missing":
        if isinstance(path[-1], int):
            given = first["input"]
            problem = f"must hold {max(int(place[-1]) for place in missing) + 1} entries, not {len(given)}"
            return ConfigError(problem, field=".".join(map(str, path[:-1])), value=given)
        others = ", ".join(".".join(map(str, place)) for place in missing if place != path)
        return ConfigError(
            "required field is missing", field=field, remedy=f"also missing: {others}" if others else None
        )
    same = [item for item, place in zip(details, paths, strict=True) if place == path]
    for item in same:
        if isinstance(cause := item.get("ctx", {}).get("error"), ConfigError):
            return cause.within(field=field)
    problems = list(dict.fromkeys(map(_problem, same)))
    if "must be a number" in problems:
        problems = [problem for problem in problems if problem != "must be a whole number"]
    joined = " or ".join([problems[0], *(problem.removeprefix("must be ") for problem in problems[1:])])
    hint = did_you_mean(str(first["input"]), _choices(first)) if first["type"] == "literal_error" else []
    return ConfigError(joined, field=field, value=first["input"], remedy=" ".join(hint) or None)


def first_problem(error: ValidationError) -> tuple[str, Any]:
    """Return the first problem of the validation of a single value, in plain words, and the value."""
    first = error.errors()[0]
    return _problem(first), first["input"]


def _problem(item: Any) -> str:
    if item["type"] == "literal_error":
        choices = _choices(item)
        return f"must be {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}"
    if (problem := _PROBLEMS.get(item["type"])) is not None:
        context = item.get("ctx", {})
        return problem.format(**{k: f"{v:g}" if isinstance(v, float) else v for k, v in context.items()})
    if item["type"] == "value_error":
        return str(item["ctx"]["error"])
    return "is not an allowed value"


def _choices(item: Any) -> list[str]:
    """Return the values that a literal may have."""
    expected = item["ctx"]["expected"]
    return re.findall(r"'([^']*)'", expected) or [expected]


def _path(model: type[BaseModel], loc: tuple[int | str, ...], problem: str) -> tuple[int | str, ...]:
    """Return the path of an error without the tags that pydantic adds for the forms of a value."""
    path: tuple[int | str, ...] = ()
    for k, part in enumerate(loc):
        named = k == len(loc) - 1 and problem in ("missing", "extra_forbidden")
        if named or _kind_at(model, (*path, part)) is not None:
            path = (*path, part)
    return path


def _kind_at(kind: Any, path: tuple[int | str, ...]) -> Any:
    """Return the type of the field at a path; None if there is no such field."""
    for part in path:
        inner = [found for option in _options(kind) if (found := _inner(option, part)) is not None]
        if not inner:
            return None
        kind = Union[tuple(inner)]  # noqa: UP007 - of any number of types
    return kind


def _inner(kind: Any, part: int | str) -> Any:
    """Return the type of a field or an entry of a type, None if it has none of this name."""
    if kind is Any:
        return Any
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if not isinstance(origin, type) or str(part).startswith("["):
        return None
    if issubclass(origin, BaseModel):
        return origin.model_fields[str(part)].annotation if part in origin.model_fields else None
    if issubclass(origin, Mapping):
        return arguments[1] if arguments else Any
    if issubclass(origin, Sequence) and origin is not str and isinstance(part, int):
        entries = tuple(argument for argument in arguments if argument is not ...)
        return Union[entries] if entries else Any  # noqa: UP007
    return None


def _options(kind: Any) -> list[Any]:
    """Return the alternatives of a type."""
    if get_origin(kind) is Annotated:
        return _options(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [option for alternative in get_args(kind) for option in _options(alternative)]
    return [kind]


def _fields(kind: Any) -> set[str]:
    """Return the names of the fields of a type."""
    return {
        name
        for option in _options(kind)
        if isinstance(option, type) and issubclass(option, BaseModel)
        for name in option.model_fields
    }
