"""The environment of a session: versions, machine, and the commit of the working folder."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel

PACKAGES = ("evenhand", "numpy", "scipy", "polars", "torch", "transformers", "tokenizers", "safetensors")

SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "safe.bareRepository=explicit")
NO_PROGRAMS = tuple(word for setting in SETTINGS for word in ("-c", setting))
"""Options of every git call: run no program that the configuration of a checkout names.

A folder that only looks like a repository (HEAD, objects, refs and config, added to a run folder) does not count as
one.
"""
NOTHING_FETCHED = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
"""Prevent git from fetching the missing objects of a clone through programs that the clone's configuration names."""
SCOPES = ("--local", "--worktree")


class Environment(BaseModel):
    """What is needed to repeat the session."""

    versions: dict[str, str]
    """Versions of Python and of the packages that affect results, if they are installed."""
    platform: str
    processors: int
    git_commit: str | None = None
    """Commit of the checkout that contains the working folder, if any."""
    git_changed: bool | None = None
    """Whether tracked files differ from that commit. None if the checkout has custom filters."""


def this_environment(folder: Path | None = None) -> Environment:
    """Return the environment of this process, without importing any of the packages.

    folder: folder whose checkout is recorded; default: the working folder.

    >>> this_environment().versions["python"].startswith("3.")
    True
    """
    folder = folder or Path()
    commit = _git(folder, "rev-parse", "HEAD")
    changes = None
    if commit and not _has_filters(folder):
        changes = _git(folder, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    return Environment(
        versions=installed_versions(),
        platform=platform.platform(),
        processors=os.cpu_count() or 1,
        git_commit=commit,
        git_changed=None if changes is None else bool(changes),
    )


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect results."""
    return dict(_versions())


@cache  # a study starts many runs in one process, and nothing is installed meanwhile
def _versions() -> tuple[tuple[str, str], ...]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return tuple(versions.items())


def _has_filters(folder: Path) -> bool:
    """Return whether a checkout configures programs that git would run to compare files; it
    may come from another person.
    """
    names = [_git(folder, "config", scope, "--includes", "--name-only", "--list") for scope in SCOPES]
    return any(name.startswith("filter.") for found in names for name in (found or "").splitlines())


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", *NO_PROGRAMS, *arguments],
            cwd=folder,
            env={**os.environ, **NOTHING_FETCHED},
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
