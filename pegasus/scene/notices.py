"""What a translation could not take as authored, gathered into one line per kind."""


class Notices:
    """Collect notices; the same message about many prims becomes one line."""

    def __init__(self) -> None:
        self._paths: dict[str, list[str]] = {}

    def add(self, message: str, path: object = None) -> None:
        """Note a message.

        Args:
            message: What was done instead of what is authored.
            path: Prim that it is about.
        """
        paths = self._paths.setdefault(message, [])
        if path is not None and (name := str(path)) not in paths:
            paths.append(name)

    def lines(self) -> list[str]:
        """Return one line per message, in the order in which they first came."""
        return [_line(message, paths) for message, paths in self._paths.items()]


def _line(message: str, paths: list[str]) -> str:
    if not paths:
        return message
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}: {message}"
