"""Renew the snapshots: the flags of every verb, the help of every verb, and what old folders show when resumed.

    python -m tests.compatibility               # all of them, some minutes
    python -m tests.compatibility measured help # only these

Run it after a change that is meant to change flags, words or rows, and read the difference with `git diff` before you
commit it. It never changes the folders of tests/data/f888953f.
"""

import argparse
import tempfile
from pathlib import Path

from tests.compatibility.cases import CASES, SNAPSHOTS, run_case, stored_tables, stored_words
from tests.compatibility.flags import TEXTS
from tests.compatibility.rows import describe_tables


def write(path: Path, text: str) -> None:
    """Write a snapshot, and print its path if it changed."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"changed: {path}")


def main() -> None:
    """Renew the snapshots that the command line names, or all."""
    known = [*TEXTS, *(case.name for case in CASES)]
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="NAME", help=", ".join(known))
    wanted = parser.parse_args().names or known
    for name in set(TEXTS) & set(wanted):
        write(SNAPSHOTS / f"{name}.txt", TEXTS[name]())
    for case in CASES:
        if case.name in wanted:
            with tempfile.TemporaryDirectory() as place:
                outcome = run_case(case, Path(place))
                write(stored_words(case), outcome.words)
                write(stored_tables(case), describe_tables(outcome.copy / case.folder))


if __name__ == "__main__":
    main()
