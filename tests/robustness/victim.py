"""The command line in child processes that a signal strikes at a chosen moment; started as a program by `kills.py`.

It imports everything once and forks for each command it reads, a JSON line on stdin, because on a busy machine the
imports of a command take longer than its work. Answers are JSON lines: the child's number, then how it ended.
"""

import contextlib
import json
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

NUMBERS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}


def arm(moment: dict[str, Any]) -> None:
    """Have this process struck at the `count`-th call of os.replace or os.fsync, before or after it, or as a module
    is first imported."""
    number = NUMBERS[moment["signal"]]
    if "module" in moment:
        sys.meta_path.insert(0, Struck(moment["module"], number))
        return
    name, real = moment["call"], getattr(os, moment["call"])
    left = [int(moment["count"])]

    def counted(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and moment["before"]:
            os.kill(os.getpid(), number)
        done = real(*given)
        if left[0] == 0 and not moment["before"]:
            os.kill(os.getpid(), number)
        return done

    setattr(os, name, counted)


class Struck:
    """Finds no module, and strikes when a certain one is looked for."""

    def __init__(self, module: str, number: signal.Signals):
        self.module, self.number = module, number

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == self.module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), self.number)


def run(order: dict[str, Any]) -> int:
    """Run one command in this process; returns its exit code."""
    os.setpgid(0, 0)
    os.chdir(order["folder"])
    for descriptor, name in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags), descriptor)
    sys.argv = ["evenhand", *order["arguments"]]
    if order["moment"]:
        arm(order["moment"])
    from evenhand.__main__ import main

    code: Any = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


def serve(warm: list[str]) -> None:
    """Answer orders until stdin ends. warm: modules to import beforehand."""
    for name in warm:
        import_module(name)
    say({"ready": os.getpid()})
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(run(order))
        say({"pid": child})
        _, status = os.waitpid(child, 0)
        say({"code": os.waitstatus_to_exitcode(status)})


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    here = str(Path(__file__).parent)
    sys.path[:] = [path for path in sys.path if path != here]  # its files are not to stand for modules
    if sys.argv[1:2] == ["alone"]:  # one command in a process of its own, from its first import on
        os._exit(run(json.loads(sys.argv[2])))
    serve(sys.argv[1:])
