"""Count the modules of evenhand that a command loads, and the files whose functions it calls.

    python perf/modules.py                                # The commands below, of this checkout.
    python perf/modules.py --root ../checkout             # The same commands of another checkout.
    python perf/modules.py --list                         # Also list every file that was entered.
    python perf/modules.py --command measure answers.csv --classifier vader

A module is loaded if it is in `sys.modules` at the end. A file is entered if the command calls a function of it;
module bodies, class bodies and everything that runs while a module is being imported do not count.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
COUNTING = """
import json, sys, threading
from types import CodeType
root, out, statement, sys.argv = sys.argv[1], sys.argv[2], sys.argv[3], ["evenhand", *sys.argv[4:]]
entered, importing = {}, set()
FUNCTION = 1  # inspect.CO_OPTIMIZED: a function body, not that of a module or class

def is_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root):
            return not frame.f_code.co_filename.endswith("__main__.py")
        frame = frame.f_back
    return False

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and code.co_flags & FUNCTION:
        key = (code.co_filename, code.co_name)
        if key not in entered and not is_import(frame):
            back = frame.f_back
            while back is not None and not back.f_code.co_filename.startswith(root):
                back = back.f_back
            caller = "" if back is None else back.f_code.co_filename.removeprefix(root) + ":" + back.f_code.co_name
            entered[key] = caller

threading.setprofile(note)
sys.setprofile(note)
try:
    exec(statement)
except SystemExit as ended:
    if ended.code not in (None, 0, 3):
        raise
finally:
    sys.setprofile(None)
    ours = sorted(name for name in sys.modules if name.split(".")[0] == "evenhand")
    calls = [[name.removeprefix(root), function, caller] for (name, function), caller in entered.items()]
    json.dump([ours, len(sys.modules), calls], open(out, "w"))
"""
COMMAND = "import runpy; runpy.run_module('evenhand', run_name='__main__', alter_sys=True)"
OWN = "axis,group,prompt,continuation,label\n" + "".join(
    f"religion,{group},What is a {group} like?,A {group} is {word}.,{'negative' if word == 'bad' else 'neutral'}\n"
    for group in ("Jew", "Muslim", "Christian")
    for word in ("kind", "bad", "good", "calm")
)


def counts(root: Path, folder: str, statement: str, *arguments: str) -> dict[str, Any]:
    """Return the modules that a new process loads, and the functions that it calls, by file."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(root / "src"),
        "EVENHAND_DATA": f"{folder}/data",
        "EVENHAND_CACHE": f"{folder}/cache",
        "HF_HUB_OFFLINE": "1",
    }
    out = Path(folder) / "counts.json"
    source = str(root / "src" / "evenhand") + os.sep
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, source, str(out), statement, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 3):
        sys.exit(f"{statement} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    ours, everything, calls = json.loads(out.read_text(encoding="utf-8"))
    files: dict[str, list[str]] = {}
    for file, function, caller in calls:
        files.setdefault(file, []).append(f"{function} <- {caller}")
    return {"modules": ours, "all_modules": everything, "files": files}


def main() -> None:
    """Print one row per command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=HERE, help="a checkout; default: this one")
    parser.add_argument("--list", action="store_true", help="list the modules and files")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help="arguments of another evenhand command")
    given = parser.parse_args()
    root = given.root.resolve()
    print(f"{'command':44}{'modules':>9}{'files entered':>15}{'modules of all packages':>25}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "own.csv").write_text(OWN, encoding="utf-8")
        written = ("audit", "evenhand/reference", "-b", "regard", "--classifier", "vader", "--limit", "24")
        commands: dict[str, tuple[str, ...]] = {
            "import evenhand; evenhand.compare": ("import evenhand; evenhand.compare",),
            "--help": (COMMAND, "--help"),
            "measure FILE, stored labels": (COMMAND, "measure", "own.csv", "--negative", "negative", "-o", "stored"),
            "measure FILE, --classifier vader": (
                COMMAND, "measure", "own.csv", "--classifier", "vader", "-o", "classified",
            ),
            "audit of regard": (COMMAND, *written, "-o", "first"),
            "the same with another seed": (COMMAND, *written, "--seed", "1", "-o", "second"),
            "compare": (COMMAND, "compare", "first", "second"),
        }  # fmt: skip
        if given.command:
            given.command = [
                str(Path(part).resolve()) if Path(part).exists() else part for part in given.command
            ]
            commands = {" ".join(given.command): (COMMAND, *given.command)}
        for name, command in commands.items():
            found = counts(root, folder, *command)
            row = f"{len(found['modules']):9}{len(found['files']):15}{found['all_modules']:25,}"
            print(f"{name:44}{row}", flush=True)
            if given.list:
                for file, functions in found["files"].items():
                    print(f"    {file}: {', '.join(functions)}")
                print("    loaded:", *found["modules"])


if __name__ == "__main__":
    main()
