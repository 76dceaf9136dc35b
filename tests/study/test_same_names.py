"""Every declared study accepts the same options from Python, from the command line, and from a file."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import app
from evenhand.cli.study_commands import StudyCommand
from evenhand.schema import ResumeRefused, UsageError, write_json
from evenhand.studies.names import names_study
from evenhand.studies.redditbias import redditbias
from evenhand.study import Study
from evenhand.study.fields import describe_field, get_flag

STUDIES = {study.verb: study for study in app.STUDIES}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "check-consistency": eh.check_consistency,
    "study names": names_study,
    "study redditbias": redditbias,
    "search-trigger": eh.search_trigger,
    "debias": partial(eh.debias, output="out"),
}
NOT_OPTIONS = {"output", "progress", "on_sweep"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "check-consistency": {
        "method": "prefix=Be kind.",
        "model": "gpt2",
        "groups": 4,
        "data": {"a": "/b"},
        "chat": True,
    },
    "study names": {
        "model": "m",
        "rows": {"mild": "a"},
        "decoding": ["greedy", "sampling"],
        "dtype": "float32",
    },
    "study redditbias": {"model": "m", "bias": ["race"], "task_limit": 3, "as_published": True},
    "search-trigger": {
        "model": "m",
        "prompts": "p.csv",
        "classifier": "vader",
        "guard": 2.0,
        "exclude": ["a", "b"],
    },
    "debias": {"model": "m", "method": "lmd", "bias": "race", "epochs": 3.0, "over": ["weight=1,2"]},
}
verbs = pytest.mark.parametrize("verb", STUDIES)


class Seen(Exception):
    """The options with which a study would be run."""


@pytest.fixture
def options_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Return the options with which a call would run a study."""

    def conduct(study: Study[Any, Any], options: Any, **others: Any) -> None:
        raise Seen(options)

    def seen(call: Callable[[], Any]) -> Any:
        with pytest.raises(Seen) as caught:
            call()
        return caught.value.args[0]

    monkeypatch.setattr(Study, "conduct", conduct)
    return seen


def words_of(study: Study[Any, Any], given: dict[str, Any]) -> list[str]:
    """Return a command line with the given options."""
    words = [str(given[study.argument]), *(["-o", "out"] if study.output.needed else [])]
    for name, value in given.items():
        field = study.options().model_fields[name]
        flag = (get_flag(field).names or (f"--{name.replace('_', '-')}",))[0]
        if name == study.argument:
            continue
        if isinstance(value, dict):
            words += [word for key, one in value.items() for word in (flag, f"{key}={one}")]
        elif isinstance(value, list):
            words += [word for one in value for word in (flag, str(one))]
        else:
            words += [flag] if value is True else [flag, str(value)]
    return words


@verbs
def test_python_command_line_and_file_give_the_same_options(verb, options_of, tmp_path):
    study, given = STUDIES[verb], EXAMPLES[verb]
    needed = {
        name: given[name] for name, field in study.options().model_fields.items() if field.is_required()
    }
    from_python = options_of(lambda: FUNCTIONS[verb](**given))
    command = StudyCommand(study)
    assert options_of(lambda: command.main(words_of(study, given), standalone_mode=False)) == from_python
    file = tmp_path / "options.yaml"
    write_json(file, given)
    words = [*words_of(study, needed), "-c", str(file)]
    assert options_of(lambda: command.main(words, standalone_mode=False)) == from_python
    settings = [word for name, value in given.items() for word in ("--set", f"{name}={value!r}")]
    words = [*words_of(study, needed), *settings]
    assert options_of(lambda: command.main(words, standalone_mode=False)) == from_python


@verbs
def test_the_names_are_the_same(verb):
    study = STUDIES[verb]
    fields = study.options().model_fields
    flags = {one.name for one in StudyCommand(study).params}
    assert set(fields) - set(study.options().HIDDEN) <= flags
    assert set(inspect.signature(FUNCTIONS[verb]).parameters) - NOT_OPTIONS == set(fields)


@verbs
def test_every_option_is_described(verb):
    assert [
        name for name, field in STUDIES[verb].options().model_fields.items() if not describe_field(field)
    ] == []


@verbs
def test_an_unknown_name_is_refused_everywhere(verb, tmp_path):
    study, given = STUDIES[verb], EXAMPLES[verb]
    with pytest.raises(UsageError, match="there is no such option"):
        FUNCTIONS[verb](**given, nonsense=1)
    for words in (
        ["--set", "nonsense=1"],
        ["-c", str(Path(write_json(tmp_path / "file.yaml", {"nonsense": 1})))],
    ):
        with pytest.raises(UsageError, match="there is no such option"):
            StudyCommand(study).main([*words_of(study, given), *words], standalone_mode=False)


@pytest.mark.parametrize("verb", ["", *STUDIES])
def test_help_imports_nothing_that_computes(verb):
    code = f"""import sys
from evenhand.cli.app import main
sys.argv = ["evenhand", *{verb.split()}, "--help"]
try:
    main()
finally:
    loaded = {{"numpy", "polars", "scipy", *([] if {bool(verb)} else ["pydantic"])}} & set(sys.modules)
    assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_of_options_cannot_name_servers_or_code(options_of, tmp_path):
    judge = "llm-judge?url=https://example.org/v1&model=m"
    words = [
        "prefix=Be kind.",
        "--model",
        "gpt2",
        "-c",
        str(write_json(tmp_path / "a.yaml", {"classifier": judge})),
    ]
    command = StudyCommand(STUDIES["check-consistency"])
    with pytest.raises(ResumeRefused, match=r"would send requests to example\.org"):
        command.main(words, standalone_mode=False)
    for more in (["--trust-addresses"], ["--classifier", judge], ["--set", f"classifier={judge!r}"]):
        assert options_of(partial(command.main, [*words, *more], standalone_mode=False)).classifier == judge
    words[-1] = str(write_json(tmp_path / "b.yaml", {"trust_remote_code": True}))
    with pytest.raises(ResumeRefused, match="contains Python code"):
        command.main(words, standalone_mode=False)
    assert options_of(
        partial(command.main, [*words, "--trust-remote-code"], standalone_mode=False)
    ).trust_remote_code
