"""The command `evenhand`, also as `python -m evenhand`: a signal to stop ends it in order, from its first moment on."""

import signal
import sys

from evenhand.runs import Stopping

STOPPED = "interrupted: Stopped; nothing that was written is lost."
AT_ONCE = "interrupted: Stopped at once; what was written is whole."
AGAIN = "The same command goes on (with -o FOLDER, or on the folder), or begins anew where nothing was written yet."
SETTLED = (0, 3, 4, 130)
"""Codes that stand although a signal came: the work was done, or the stop has been told."""


def main() -> None:
    """Listen for Ctrl-C and SIGTERM before anything that takes time is imported, then run the command line."""
    code: int | str | None = 130
    try:
        with Stopping(f"{AT_ONCE}\n{AGAIN}") as stopping:
            code = _run(stopping)
    except KeyboardInterrupt:
        pass  # a signal that came when all was done: what the command ended with stands
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # all is said and written, and Python's own end is soon over
    sys.exit(code)


def _run(stopping: Stopping) -> int | str | None:
    try:
        with stopping.in_flight():
            from evenhand.cli import main as command_line

            command_line()
            return 0
    except SystemExit as ended:
        if not stopping.requested or ended.code in SETTLED:
            return ended.code
    except KeyboardInterrupt:
        pass
    except BaseException:  # whatever a library makes of being stopped
        if not stopping.requested:
            raise
    print(STOPPED, AGAIN, sep="\n", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
