"""Whatever is wrong with an argument: one of evenhand's errors, that says what, and nothing asked or made.

The whole corpus is marked slow; a part of it runs by default.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.schema import EvenhandError
from tests.robustness import bad_files
from tests.robustness.python_calls import BadCall, GoodCall, bad_calls, file_calls, good_calls
from tests.robustness.test_command_lines import alarm

GOOD = good_calls()
BAD = [bad for good in GOOD for bad in bad_calls(good)]
FOREIGN = ("Traceback", "report above", "site-packages", " object at 0x", "pydantic")


def complaints(bad: BadCall) -> list[str]:
    """What is wrong with how a bad call ended."""
    try:
        with alarm(bad.what), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bad.function(**bad.arguments)
    except EvenhandError as error:
        told = str(error)
        wrong = [f"it says {word!r}" for word in FOREIGN if word in told]
        if error.exit_code not in (1, 2, 3, 130):
            wrong.append(f"exit code {error.exit_code}")
        if not re.search(r"\w{2,}.*\w{2,}", error.message):
            wrong.append(f"it says {error.message!r}")
        return wrong
    except TypeError as error:
        # Python's own words for an argument that a function does not have.
        return [] if "unexpected keyword argument" in str(error) else [f"{type(error).__name__}: {error}"]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return ["nothing was said"]


@pytest.mark.slow
@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.name)
def test_the_calls_that_are_spoilt_are_right_before(good: GoodCall) -> None:
    good.function(**good.arguments)


def test_the_corpus_is_large_and_varied() -> None:
    assert len(BAD) >= 400
    assert len({bad.what.partition("(")[0] for bad in BAD}) >= 50


def test_a_sample_of_bad_calls_ends_well() -> None:
    assert {bad.what: wrong for bad in BAD[::12] if (wrong := complaints(bad))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.name)
def test_every_bad_call_ends_well(good: GoodCall) -> None:
    assert {bad.what: wrong for bad in bad_calls(good) if (wrong := complaints(bad))} == {}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As for command lines."""
    from evenhand.studies.audit import audit
    from tests.helpers import judged_house

    folder = tmp_path_factory.mktemp("fuzz")
    bad_files.lay_out(folder)
    bad_files.make_model(folder / "good" / "model")
    with pytest.MonkeyPatch.context() as patch:
        judged_house.register(patch)
        audit("house/writer", benchmarks=["rudeness"], limit=12, output=folder / "runs" / "judged")
        yield folder


@pytest.mark.slow
def test_every_front_door_ends_well(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("EVENHAND_DATA", str(place / "data"))
    calls = file_calls(place)
    assert len(calls) >= 200
    wrong = {}
    for bad in calls:
        if found := complaints(bad):
            wrong[bad.what] = found
        if (place / "made").exists():
            wrong[bad.what] = [*wrong.get(bad.what, []), "something was made"]
            (place / "made").rename(place / f"made-{len(wrong)}")
    assert wrong == {}
