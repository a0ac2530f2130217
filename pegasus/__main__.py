"""Entry point of the `pegasus` command, which handles Ctrl-C from its start."""

# Only fast imports here: until `main` runs, Ctrl-C prints a traceback.
import os
import signal
import sys
from types import FrameType

_EXIT_INTERRUPTED = 128 + signal.SIGINT
_RETRY = 0.02
"""Delay after which an interrupt that could not be raised is raised again [s]."""


def main() -> None:
    """Run the command; Ctrl-C ends it with exit code 130 and without a traceback at any time."""
    # Background jobs of a shell script ignore SIGINT.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    # `pegasus.sh` blocks SIGINT until here.
    if os.name != "nt":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.argv[1:2] == ["isaac"]:
        # Isaac Sim's Python may lack the packages of the other commands.
        from pegasus.isaac.command import main as isaac

        sys.exit(isaac(sys.argv[2:]))
    from pegasus.cli.main import main as command

    if not heeded:
        command()
        return
    try:
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _retry_interrupt
        try:
            command()
        finally:
            signal.signal(signal.SIGINT, _leave)
            if signal.setitimer(signal.ITIMER_REAL, 0.0)[0] > 0.0:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)


def _leave(*_: object) -> None:
    """Exit immediately; nothing has been started yet, or everything is done."""
    os._exit(_EXIT_INTERRUPTED)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt outside imports, in which libraries may swallow or convert it.

    During an import the interrupt is delayed until its end; a second one exits immediately.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            if signal.getitimer(signal.ITIMER_REAL)[0] > 0.0:
                _leave()
            signal.setitimer(signal.ITIMER_REAL, _RETRY)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _retry_interrupt(unraisable: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that came in a destructor or a callback, which swallow exceptions."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _RETRY)
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
