"""A public function that is given a wrong object names the argument, instead of an attribute that the object lacks."""

import inspect
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FACES = ("evenhand", "evenhand.measures", "evenhand.stats", "evenhand.mitigations", "evenhand.annotation")
LONGEST = 60  # seconds; a function that starts to work with a wrong object would be wrong as well


class Strange:
    """An object of a kind that no function takes."""


WRONG = (Strange(), 5, None, [Strange()], {"a": Strange()})


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    for face in FACES:
        module = import_module(face)
        for name in module.__all__:
            made = getattr(module, name)
            is_error = isinstance(made, type) and issubclass(made, BaseException)
            is_protocol = getattr(made, "_is_protocol", False)
            if callable(made) and made.__module__.startswith("evenhand") and not (is_error or is_protocol):
                yield f"{face}.{name}", made


def required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.default is one.empty and one.kind not in several]


@contextmanager
def time_limit(what: str) -> Iterator[None]:
    def late(number: int, frame: Any) -> None:
        raise TimeoutError(what)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attribute_error(function: Callable[..., Any], value: Any) -> str | None:
    by_name = {one.name: value for one in required(function) if one.kind is one.KEYWORD_ONLY}
    by_place = [value for one in required(function) if one.kind is not one.KEYWORD_ONLY]
    try:
        function(*by_place, **by_name)
    except AttributeError as error:
        return str(error)
    except TimeoutError:
        raise
    except Exception:
        return None  # what it says is the subject of test_python_calls.py
    return None


@pytest.mark.filterwarnings("ignore")
def test_no_public_function_ends_in_an_attribute_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    tried, wrong = 0, {}
    for name, function in public_callables():
        if not required(function):
            continue  # a call without arguments does the work of the defaults
        for value in WRONG:
            tried += 1
            with time_limit(name):
                if (told := attribute_error(function, value)) is not None:
                    wrong[f"{name}({type(value).__name__})"] = told
    assert tried > 800
    assert wrong == {}
