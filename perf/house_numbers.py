"""Count how the source tree is divided and what a command loads of it, to compare two checkouts.

    python perf/house_numbers.py                     # This checkout.
    python perf/house_numbers.py --root ../checkout  # Another.
    python perf/house_numbers.py --no-runs           # The tree alone, without the commands.

Needs grimp, which comes with import-linter. Prints a table and, with --output, writes JSON.
"""

import argparse
import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
FAMILY = 4
"""Files of one folder whose names begin with the same word, from which on they count as a family."""
HELPS = 5
LOADED = """
import json, runpy, sys
out, sys.argv = sys.argv[1], ["evenhand", *sys.argv[2:]]
try:
    runpy.run_module("evenhand", run_name="__main__", alter_sys=True)
except SystemExit as end:
    if end.code:
        raise
finally:
    ours = sorted(name for name in sys.modules if name == "evenhand" or name.startswith("evenhand."))
    json.dump([len(ours), len(sys.modules)], open(out, "w"))
"""

Graph = dict[str, set[str]]


def tree_numbers(package: Path) -> dict[str, Any]:
    """Files, lines, folders and families of names below `src/evenhand`."""
    files = sorted(package.rglob("*.py"))
    lines = [path.read_text(encoding="utf-8").count("\n") for path in files]
    folders = Counter(path.parent for path in files if path.stem != "__init__")
    families = [
        (folder.relative_to(package).as_posix(), prefix, count)
        for folder in sorted(folders)
        for prefix, count in Counter(
            path.stem.split("_")[0] for path in folder.glob("*.py") if path.stem != "__init__"
        ).items()
        if count >= FAMILY
    ]
    return {
        "source files": len(files),
        "of these, __init__.py": sum(path.stem == "__init__" for path in files),
        "lines": sum(lines),
        "median lines of a file (without __init__.py)": statistics.median(
            n for n, path in zip(lines, files, strict=True) if path.stem != "__init__"
        ),
        "files over 400 lines": sum(n > 400 for n in lines),
        "folders": len(folders),
        "files a folder, median (without __init__.py)": statistics.median(folders.values()),
        "files a folder, most": max(folders.values()),
        "prefix families": len(families),
        "files in prefix families": sum(count for *_, count in families),
        "families": [f"{folder}/{prefix}*: {count}" for folder, prefix, count in families],
    }


def import_numbers(package: Path) -> dict[str, Any]:
    """Who imports whom, file by file: circles of three kinds, and files with a single importer."""
    import grimp

    with tempfile.TemporaryDirectory() as folder:
        # grimp does not look into folders without __init__.py, and finds packages on the path
        copy = Path(folder) / "evenhand"
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "weights"))
        for inner in {path.parent for path in copy.rglob("*.py")}:
            (inner / "__init__.py").touch()
        sys.path.insert(0, folder)
        try:
            in_text = grimp.build_graph("evenhand", cache_dir=None, exclude_type_checking_imports=False)
            in_runs = grimp.build_graph("evenhand", cache_dir=None, exclude_type_checking_imports=True)
        finally:
            sys.path.remove(folder)
        text, running = _arrows(in_text), _arrows(in_runs)
        at_import = {
            one: {other for other in others if _at_import(copy, in_runs, one, other)}
            for one, others in running.items()
        }
    importers: dict[str, set[str]] = defaultdict(set)
    for one, others in text.items():
        for other in others:
            importers[other].add(one)
    initials = {_module(package, path) for path in package.rglob("__init__.py")}
    single = [name for name, by in importers.items() if len(by) == 1 and name not in initials]
    numbers: dict[str, Any] = {
        "imports between files": sum(map(len, text.values())),
        "files with exactly one importer": len(single),
        "of these, under 60 lines": sum(_lines(package, name) < 60 for name in single),
    }
    for kind, graph in (("in the text", text), ("lazy or at import", running), ("at import", at_import)):
        found = circles(graph)
        numbers[f"circles {kind}"] = len(found)
        numbers[f"files in circles {kind}"] = sum(map(len, found))
        numbers[f"members of circles {kind}"] = [" <-> ".join(members) for members in found]
    return numbers


def _arrows(graph: Any) -> Graph:
    return {name: set(graph.find_modules_directly_imported_by(name)) for name in sorted(graph.modules)}


def _module(package: Path, path: Path) -> str:
    return ".".join(["evenhand", *path.parent.relative_to(package).parts])


def _lines(package: Path, name: str) -> int:
    path = package.joinpath(*name.split(".")[1:]).with_suffix(".py")
    return path.read_text(encoding="utf-8").count("\n") if path.is_file() else 0


def _at_import(package: Path, graph: Any, one: str, other: str) -> bool:
    """Whether the import stands outside every function."""
    path = package.joinpath(*one.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    within: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            within.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    details = graph.get_import_details(importer=one, imported=other)
    return any(detail["line_number"] not in within for detail in details)


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one file (Tarjan 1972), each sorted.

    >>> circles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            place = stack.index(name)
            members = stack[place:]
            del stack[place:]
            if len(members) > 1:
                found.append(sorted(members))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return sorted(found)


def run_numbers(root: Path) -> dict[str, Any]:
    """What `--help`, a quick audit and a comparison of two runs load, and how long `--help` takes."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(root / "src"),
            "EVENHAND_DATA": f"{folder}/data",
            "EVENHAND_CACHE": f"{folder}/cache",
            "HF_HUB_OFFLINE": "1",
        }

        def loaded(*arguments: str) -> list[int]:
            command = [sys.executable, "-c", LOADED, f"{folder}/loaded.json", *arguments]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"evenhand {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
            found: list[int] = json.loads((Path(folder) / "loaded.json").read_text())
            return found

        quick = ("audit", "evenhand/reference", "--suite", "quick", "--limit", "300")
        written = ("audit", "evenhand/reference", "-b", "regard", "--classifier", "vader", "--samples", "1")
        loaded(*written, "-o", "one")
        loaded(*written, "--seed", "1", "-o", "two")
        counts = {
            "--help": loaded("--help"),
            "quick audit": loaded(*quick, "-o", "quick"),
            "compare of two runs": loaded("compare", "one", "two"),
        }
        walls, users = zip(*(_help_seconds(folder, environment) for _ in range(HELPS)), strict=True)
    return {
        **{f"evenhand modules loaded, {what}": ours for what, (ours, _) in counts.items()},
        **{f"all modules loaded, {what}": every for what, (_, every) in counts.items()},
        **{
            f"--help, {what} seconds ({how.__name__} of {HELPS})": round(how(seconds), 3)
            for what, seconds in (("wall", walls), ("user", users))
            for how in (statistics.median, min)  # the least is the one that a busy machine disturbs least
        },
    }


def _help_seconds(folder: str, environment: dict[str, str]) -> tuple[float, float]:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "evenhand", "--help"], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.monotonic() - began, used.ru_utime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=HERE, help="a checkout; default: this one")
    parser.add_argument("--no-runs", action="store_true", help="count the tree and its imports only")
    parser.add_argument("--output", type=Path, help="also write the numbers as JSON here")
    given = parser.parse_args()
    where = given.root.resolve()
    numbers = {**tree_numbers(where / "src" / "evenhand"), **import_numbers(where / "src" / "evenhand")}
    if not given.no_runs:
        numbers |= run_numbers(where)
    for what, value in numbers.items():
        if isinstance(value, list):
            print(f"{what}:", *value, sep="\n    ")
        else:
            print(f"{what:60}{value:>12,}")
    if given.output:
        given.output.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
