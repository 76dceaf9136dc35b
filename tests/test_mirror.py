"""The tests are laid out as the sources are: a test of a folder stands in the folder of that name."""

from pathlib import Path

TESTS = Path(__file__).parent
OF_THE_WHOLE = {"robustness"}
"""Folders of tests that hold the whole command and the whole package to something."""
SOURCE = TESTS.parent / "src" / "evenhand"


def test_every_test_stands_in_a_folder_that_the_sources_have() -> None:
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if path.parent != TESTS]
    assert len(files) > 100  # the search itself finds something
    astray = [
        file for file in files if not (SOURCE / file.parent).is_dir() and file.parts[0] not in OF_THE_WHOLE
    ]
    assert sorted(map(str, astray)) == []


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").is_file()) == []
