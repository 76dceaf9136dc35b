"""The files that pages load, under names that change with their content; no other path is served."""

import hashlib
from pathlib import Path

KINDS = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def _load_files() -> dict[str, tuple[str, bytes, str]]:
    files = {}
    for path in sorted((Path(__file__).parent / "static").iterdir()):
        content = path.read_bytes()
        name = f"{path.stem}-{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"
        files[path.name] = (name, content, KINDS[path.suffix])
    return files


_NAMED = _load_files()
FILES = {name: (content, kind) for name, content, kind in _NAMED.values()}
"""Content and media type by the name in the URL."""


def get_static_path(file: str) -> str:
    """Return the URL path of a file in `static/`."""
    return f"/static/{_NAMED[file][0]}"
