"""Write an export in a separate process, so that the server keeps responding to participants.

`python -m evenhand.annotation.exports.apart` reads a request as JSON from its standard input.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand import schema
from evenhand.annotation.exports.votes import write_export
from evenhand.schema import EvenhandError

if TYPE_CHECKING:
    from evenhand.annotation.store import Store

LOWER_PRIORITY = 10
"""Added to the niceness of the process, because pages for annotators have priority."""


def write_export_apart(store: "Store", path: Path) -> Path:
    """Write all judgements as `write_export` does, in another process, and return the path.

    `store` is that of the study; the other process opens its database by the same URL. Raises the errors of
    `write_export` and `open_store`, and an EvenhandError if the process is killed.
    """
    url = store.engine.url
    is_file = url.get_backend_name() == "sqlite"
    request = {
        "address": url.database if is_file else url.render_as_string(hide_password=False),
        "study": store.study.name,
        "path": str(path.absolute()),
    }
    # the URL may contain a password, which other users could read among the arguments of a process
    ended = subprocess.run(
        [sys.executable, "-m", "evenhand.annotation.exports.apart"],
        input=json.dumps(request),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if ended.returncode == 0:
        return path
    try:
        told = json.loads(ended.stdout)
        kind = getattr(schema, told["kind"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        raise EvenhandError(
            f"The process that writes the export failed with exit code {ended.returncode}: {last}.",
            "Check memory and disk space. `evenhand annotate export` writes the same file.",
        ) from error
    raise kind(told["message"], told["hint"])


def main() -> int:
    """Write the export that standard input requests; an error is printed as JSON."""
    from evenhand.annotation.store import open_store

    request = json.load(sys.stdin)
    with contextlib.suppress(OSError, AttributeError):  # Windows has no niceness
        os.nice(LOWER_PRIORITY)
    try:
        store = open_store(request["address"], request["study"])
        try:
            write_export(store, Path(request["path"]))
        finally:
            store.close()
    except EvenhandError as error:
        kind = type(error).__name__ if hasattr(schema, type(error).__name__) else "EvenhandError"
        print(json.dumps({"kind": kind, "message": error.message, "hint": error.hint}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
