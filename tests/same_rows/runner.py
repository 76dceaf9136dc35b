"""Runs evenhand commands one by one, each in a fork of this process: what tests/same_rows starts for each side.

The fork has nothing of evenhand loaded; torch and transformers, which take most of a short command's time, are
loaded here once. Reads a line of JSON for each command ({"arguments": [...], "log": path}), prints a line when it
has begun ({"pid": ...}) and one when it has ended ({"code": ...}, as subprocess has it). POSIX only.
"""

import importlib
import json
import os
import runpy
import sys
import traceback

HEAVY = (
    "numpy", "scipy.stats", "jinja2", "torch", "torch._dynamo", "torch.distributed.tensor", "transformers",
    "transformers.configuration_utils", "transformers.modeling_utils", "transformers.models.auto.modeling_auto",
    "transformers.models.gpt2.modeling_gpt2", "transformers.models.roberta.modeling_roberta",
    "transformers.models.t5.modeling_t5",
)  # fmt: skip
"""None of these begins a thread when it is imported; polars, whose threads a fork would lose, is left out."""


def told(answer: dict[str, int]) -> None:
    """One line to the process that asks."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def run(arguments: list[str], log: str) -> None:
    """In the fork: `python -m evenhand ARGUMENTS`, or `python -c CODE ...`, with all it prints in `log`."""
    code = 1
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(compile(arguments[1], "-c", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = ["evenhand", *arguments]
            runpy.run_module("evenhand", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for name in HEAVY:
        importlib.import_module(name)
    assert not any(name.split(".")[0] in ("evenhand", "polars") for name in sys.modules), (
        "loaded before the fork"
    )
    told({"ready": 1})
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            run(asked["arguments"], asked["log"])
        told({"pid": child})
        told({"code": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])})
