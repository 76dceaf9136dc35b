"""Run the command `evenhand`, also as `python -m evenhand`, and stop it in order on Ctrl-C or SIGTERM at any time."""

import signal
import sys

from evenhand.runs import Stopping

STOPPED = "interrupted: Stopped. All finished results are saved."
AT_ONCE = "interrupted: Stopped at once. The saved results are complete and undamaged."
AGAIN = (
    "To resume, run the same command with -o FOLDER. If nothing was saved yet, it starts from the beginning."
)
SETTLED = (0, 3, 4, 130)
"""Exit codes that are kept after a signal: the work was done, or the interruption was already reported."""


def main() -> None:
    """Listen for Ctrl-C and SIGTERM before anything that takes time is imported, then run the command line."""
    code: int | str | None = 130
    try:
        with Stopping(f"{AT_ONCE}\n{AGAIN}") as stopping:
            code = _run(stopping)
    except KeyboardInterrupt:
        pass  # the signal came after the work was done, so keep the exit code of the command
    for number in (signal.SIGINT, signal.SIGTERM):
        # everything is saved and printed, so only the interpreter has to exit
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _run(stopping: Stopping) -> int | str | None:
    try:
        with stopping.in_flight():
            from evenhand.cli import main as command_line

            command_line()
            return 0
    except SystemExit as ended:
        if not stopping.is_requested or ended.code in SETTLED:
            return ended.code
    except KeyboardInterrupt:
        pass
    except BaseException:  # libraries may turn an interruption into another exception
        if not stopping.is_requested:
            raise
    print(STOPPED, AGAIN, sep="\n", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
