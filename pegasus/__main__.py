"""The `pegasus` command, as `python -m pegasus` and as the console script: answers Ctrl-C from its start."""

# Nothing is imported here that takes long: before `main` runs, Ctrl-C is Python's traceback.
import os
import signal
import sys
from types import FrameType

_EXIT_INTERRUPTED = 128 + signal.SIGINT
_RETRY = 0.02
"""After this time it is looked again whether an import is over [s]."""


def main() -> None:
    """Run the command; Ctrl-C ends it with exit code 130 and without a traceback, whenever it comes."""
    # In the background of a shell script it is ignored.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    # `pegasus.sh` blocks it until now.
    if os.name != "nt":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.argv[1:2] == ["isaac"]:
        # Isaac Sim's Python may lack all packages that the other commands need.
        from pegasus.isaac.command import main as isaac

        sys.exit(isaac(sys.argv[2:]))
    from pegasus.cli import main as command

    if not heeded:
        command()
        return
    try:
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.signal(signal.SIGINT, _interrupt)
        try:
            command()
        finally:
            signal.signal(signal.SIGINT, _leave)
            if signal.setitimer(signal.ITIMER_REAL, 0.0)[0] > 0.0:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)


def _leave(*_: object) -> None:
    """End at once: nothing has been made yet, or all is done."""
    os._exit(_EXIT_INTERRUPTED)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not within an import, where libraries swallow it or turn it into others.

    There it waits for the end of the import; the second one ends the process at once.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            if signal.getitimer(signal.ITIMER_REAL)[0] > 0.0:
                _leave()
            signal.setitimer(signal.ITIMER_REAL, _RETRY)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
