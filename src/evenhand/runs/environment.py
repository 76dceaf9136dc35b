"""Where a session ran: versions, machine, and the commit of the working folder."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel

PACKAGES = ("evenhand", "numpy", "scipy", "polars", "torch", "transformers", "tokenizers", "safetensors")


class Environment(BaseModel):
    """What a reader needs to run the session again."""

    versions: dict[str, str]
    """Python and the packages that shape the numbers; those not installed are absent."""
    platform: str
    processors: int
    git_commit: str | None = None
    """Of the checkout that holds the working folder, if it is one."""
    git_changed: bool | None = None
    """Whether tracked files differ from that commit."""


def this_environment(folder: Path | None = None) -> Environment:
    """The environment of this process, without importing any of the packages it names.

    Arguments: folder: whose checkout is recorded; the working folder by default.

    >>> this_environment().versions["python"].startswith("3.")
    True
    """
    folder = folder or Path.cwd()
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no") if commit else None
    return Environment(
        versions=dict(_versions()),
        platform=platform.platform(),
        processors=os.cpu_count() or 1,
        git_commit=commit,
        git_changed=None if changes is None else bool(changes),
    )


@cache  # a study starts many runs in one process, and nothing is installed meanwhile
def _versions() -> tuple[tuple[str, str], ...]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return tuple(versions.items())


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
