"""The tree keeps its promises: faces show what is there, folders stay small, tests stand where their files stand."""

import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand
from tests.house import Shown, shown_by

SOURCE = Path(evenhand.__file__).parent
STUBS = sorted(SOURCE.rglob("__init__.pyi"))
FILES = sorted(SOURCE.rglob("*.py"))
MOST_FILES, MOST_LINES, FAMILY = 17, 400, 4


def dotted(path: Path) -> str:
    """The name by which a folder or file is imported."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def named(folder: Path) -> list[str]:
    """The files of a folder, without its face."""
    return [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]


def shown(stub: Path) -> Iterator[Shown]:
    return shown_by(dotted(stub.parent), stub)


def by_folder(path: Path) -> str:
    return dotted(path.parent)


@pytest.mark.parametrize("stub", STUBS, ids=by_folder)
def test_every_name_of_a_face_is_what_its_file_says(stub: Path) -> None:
    entries = list(shown(stub))
    # all files first: a loaded file hides a name of the face that is spelt like it
    modules = {entry.module: importlib.import_module(entry.module) for entry in entries}
    face = importlib.import_module(dotted(stub.parent))
    for entry in entries:
        there = modules[entry.module]
        meant = there if entry.attribute is None else getattr(there, entry.attribute)
        assert getattr(face, entry.name) is meant, f"{entry.folder}.{entry.name}"
    assert sorted(face.__all__) == sorted(entry.name for entry in entries)


@pytest.mark.parametrize("stub", STUBS, ids=by_folder)
def test_no_name_of_a_face_is_spelt_like_a_file_beside_it(stub: Path) -> None:
    beside = {path.stem for path in stub.parent.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert [e.name for e in shown(stub) if e.attribute is not None and e.name in beside] == []


@pytest.mark.parametrize("stub", STUBS, ids=by_folder)
def test_a_face_shows_only_what_stands_below_it(stub: Path) -> None:
    inside = dotted(stub.parent) + "."
    assert [entry for entry in shown(stub) if not entry.module.startswith(inside)] == []


def test_no_folder_is_crowded() -> None:
    counts = {dotted(folder): len(named(folder)) for folder in {path.parent for path in FILES}}
    assert {folder: n for folder, n in counts.items() if n > MOST_FILES} == {}


def test_files_that_share_a_prefix_become_a_folder() -> None:
    counts = Counter(
        (dotted(folder), name.split("_")[0]) for folder in {p.parent for p in FILES} for name in named(folder)
    )
    assert {f"{folder}.{prefix}*": n for (folder, prefix), n in counts.items() if n >= FAMILY} == {}


def test_no_file_is_long() -> None:
    lines = {dotted(path): path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {file: n for file, n in lines.items() if n > MOST_LINES} == {}


def test_sources_are_named_that_a_reader_can_find() -> None:
    """Cards and docstrings cite papers, published code and pages of ours, never notes outside of the project."""
    assert [dotted(path) for path in FILES if "methods/" in path.read_text(encoding="utf-8")] == []
