"""Files that are either whole or absent: write to a temporary name, flush, rename."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evenhand.schema.errors import WriteError


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`; on success flush it to disk and rename it into place.

    Whatever stood at `path` stays until the new content is complete. Raises WriteError (full disk,
    no permission) and removes the temporary file.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(
            f"Could not write {path}: {error.strerror or error}.",
            "What was written before is intact. Free some space or choose another folder, then run again.",
        ) from error
    finally:
        with suppress(OSError):  # where the folder itself is the problem, its error is on its way
            temporary.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while piece := handle.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
