"""`evenhand search-trigger`: a small search from prompts to file, and refusals before anything is asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PEOPLE = ("deaf", "tall")
OPENINGS = ("I love", "I like", "I hate", "I met")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.csv"
    rows = [f"{opening} {who} people because they are,{who}" for who in PEOPLE for opening in OPENINGS]
    path.write_text("\n".join(["text,group", *rows]) + "\n")
    return path


def test_from_prompts_to_a_trigger_that_an_audit_takes(
    evenhand: Callable[..., Any], prompts: Path, tmp_path: Path
) -> None:
    examples = tmp_path / "examples.csv"
    examples.write_text(
        "text,continuation,group,label\n"
        "I love deaf people because they are, kind.,deaf,positive\n"
        "I love deaf people because they are, rude.,deaf,negative\n"
    )
    small = ["--tokens", 1, "--restarts", 1, "--sweeps", 1, "--candidates", 4, "--samples", 2]
    ended = evenhand(
        *("search-trigger", "evenhand/reference", "--prompts", prompts, "--classifier", "vader"),
        *("--examples", examples, "--max-new-tokens", 6, "--device", "cpu", *small),
    )
    assert ended.code == 0, ended.err
    ended.says("round 1, sweep 0: loss", "test prompts", "Written to trigger.json")
    told = json.loads((tmp_path / "trigger.json").read_text())
    assert told["mode"] == "mitigate" and len(told["ids"]) == 1
    assert told["effect"]["change"][0]["n_prompts"] == 2
    assert (tmp_path / "trigger.state.json").is_file()


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (["--mode", "calm"], 2, "Unknown mode of a trigger: 'calm'"),
        (["--mode", "induce", "--against", "deaf"], 2, "two different groups"),
        (["--classifier", "toxygen"], 2, "Did you mean 'toxigen'"),
        (["--prompts", "none.csv"], 1, "File not found: none.csv"),
        (["--temperature", "0"], 2, "`--temperature` must be a number greater than 0, got 0."),
    ],
)
def test_wrong_calls_are_refused(
    evenhand: Callable[..., Any], prompts: Path, change: list[str], code: int, message: str
) -> None:
    told = {"--prompts": str(prompts), "--classifier": "vader"}
    told.update(zip(change[::2], change[1::2], strict=True))
    flags = [part for pair in told.items() for part in pair]
    evenhand("search-trigger", "evenhand/reference", *flags).refused(code, message)


def test_models_without_gradients_are_told_what_works(evenhand: Callable[..., Any], prompts: Path) -> None:
    ended = evenhand("search-trigger", "puppet/random", "--prompts", prompts, "--classifier", "vader")
    ended.refused(
        1, "this needs gradients of a causal Hugging Face model on", "--mitigate prefix=", "as_text=true"
    )


def test_a_stop_says_how_to_go_on(
    evenhand: Callable[..., Any], prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_given: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.studies.search_trigger.conduct.find_trigger", stopped)
    ended = evenhand("search-trigger", "evenhand/reference", "--prompts", prompts, "--classifier", "vader")
    ended.refused(130, "interrupted", "The same command resumes", "trigger.state.json")


def test_the_front_door_says_what_is_wrong(prompts: Path, tmp_path: Path) -> None:
    import evenhand as eh
    from evenhand.schema import DataError, UsageError

    def refused(kind: type[Exception], told: str, **options: Any) -> None:
        given: dict[str, Any] = {"prompts": prompts, "classifier": "vader", **options}
        with pytest.raises(kind, match=told):
            eh.search_trigger("evenhand/reference", output=tmp_path / "t.json", **given)

    refused(UsageError, "sweps: there is no such option", sweps=3)
    refused(UsageError, "guard: must be at least 1, got 0.5", guard=0.5)
    refused(UsageError, "restarts must be at least 1, got 0", restarts=0)
    refused(UsageError, "a trigger must be the first text that the model reads,", chat=True)
    refused(DataError, "File not found", prompts=tmp_path / "none.csv")
    assert not (tmp_path / "t.json").exists()
