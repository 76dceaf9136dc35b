"""URLs of folders in object storage, as fsspec reads them: s3://bucket/run, gs://, abfs://, memory:// and others."""

import re
from pathlib import Path

from evenhand.schema import UsageError

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.IGNORECASE | re.DOTALL)
NO_STORE = frozenset({"http", "https", "ray", "postgres", "postgresql", "postgresql+psycopg"})
"""Schemes of URLs that are queried over the network and never contain files of evenhand."""


def is_store_address(place: Path | str) -> bool:
    """Return True for the URL of a folder in object storage, and False for a path, hub name or server URL.

    >>> is_store_address("s3://bucket/run"), is_store_address("runs/mine"), is_store_address("http://localhost:8000/v1")
    (True, False, False)
    """
    found = ADDRESS.match(place) if isinstance(place, str) else None
    return found is not None and found[1].lower() not in NO_STORE


def get_scheme(address: str) -> str:
    """Return the kind of storage of a URL, such as "s3"."""
    return address.partition("://")[0].lower()


def folder_address(address: str) -> str:
    """Return a URL without slashes at its end. Raise UsageError if it names no folder.

    >>> folder_address("s3://bucket/run/")
    's3://bucket/run'
    """
    kind, _, rest = address.partition("://")
    if not rest.strip("/"):
        raise UsageError(f"{address} is not the URL of a folder.", f"For example: {kind}://bucket/folder")
    return address.rstrip("/")


def last_name(address: str) -> str:
    """Return the name of the folder at a URL, in a form that is valid for a local folder.

    >>> last_name("s3://bucket/gpt2 large/"), last_name("s3://bucket")
    ('gpt2-large', 'bucket')
    """
    parts = [part for part in re.split(r"[/:]+", address) if part]
    return re.sub(r"[^\w.+-]+", "-", parts[-1]).strip("-.") or "run"
