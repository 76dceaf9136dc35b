"""The tests are laid out as the sources are: a test of a folder stands in the folder of that name."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "evenhand"
OF_THE_WHOLE = {"robustness", "compatibility"}
"""Folders of tests that no single folder of the sources answers for."""


def test_every_test_stands_in_a_folder_that_the_sources_have() -> None:
    # tests/robustness/ is about all of the house at once
    outside = {TESTS, TESTS / "robustness"}
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if path.parent not in outside]
    assert len(files) > 100  # the search itself finds something
    files = [file for file in files if file.parts[0] not in OF_THE_WHOLE]
    assert sorted(str(file) for file in files if not (SOURCE / file.parent).is_dir()) == []


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").is_file()) == []
