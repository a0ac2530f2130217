"""Text files of users: their content, or one line that says what is wrong."""

from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.base.file_kinds import refuse_other_kinds


def text_of(
    path: Path, *, remedy: str, file: Path | None = None, field: str | None = None, value: object = None
) -> str:
    """Return the content of a text file, without a byte order mark.

    Args:
        path: The file.
        remedy: What to give instead.
        file: File that the error names.
        field: Field that the error names.
        value: Value of the field.

    Raises:
        ConfigError: If the file cannot be read, is one of another program, or is not text in UTF-8.
    """
    refuse_other_kinds(path, "a table of numbers", {"table"}, field=field)
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
    raise ConfigError(f"cannot be read: {reason}", file=file, field=field, value=value, remedy=remedy)


def is_number(word: str) -> bool:
    """Return whether a word is a number, infinite ones and NaN included."""
    try:
        float(word)
    except ValueError:
        return False
    return True
