"""Pairs from a user's own table: one pair a row, or responses of several models to the same prompts."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation.building import build_study
from evenhand.schema import DataError, UsageError

ROWS = [
    {"a": "Hello Ada.", "b": "Hi.", "model_a": "m", "model_b": "n", "prompt": "Greet Ada.", "topic": "work"},
    {"a": "Yes.", "b": "No.", "model_a": "m", "model_b": "n", "prompt": "May I?", "topic": "home"},
    {"a": "Same.", "b": "Same.", "model_a": "m", "model_b": "n", "prompt": "Well?", "topic": "home"},
]


def shown(item) -> list[tuple[str | None, list[tuple[str, str]]]]:
    return [(side.model, [(turn.speaker, turn.text) for turn in side.turns]) for side in item.pair]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("names", ["", "text_", "response_"])
def test_a_row_is_a_pair(tmp_path: Path, kind: str, names: str) -> None:
    frame = pl.DataFrame(ROWS).rename({"a": f"{names}a", "b": f"{names}b"})
    path = tmp_path / f"own.{kind}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](path)
    built = build_study([path], "acute")
    assert [shown(item) for item in built.study.items] == [
        [("m", [("A", row["prompt"]), ("B", row["a"])]), ("n", [("A", row["prompt"]), ("B", row["b"])])]
        for row in ROWS[:2]
    ]
    assert [item.groups for item in built.study.items] == [{"topic": "work"}, {"topic": "home"}]
    same = (
        "1 pairs of own." + kind + " have the same text twice and are left out: there is nothing to choose."
    )
    assert same in built.notes


def test_a_study_or_a_split_that_can_find_nothing_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = [{"a": f"Yes {n}.", "b": f"No {n}.", "topic": f"t{n % 3}", "tone": "calm"} for n in range(12)]
    pl.DataFrame(rows).write_csv(path)
    notes = build_study([path], "acute").notes
    assert any("no result by topic is possible" in note for note in notes)
    assert any("everything is judged after 9 people" in note and "use 13 items" in note for note in notes)


def test_sides_without_models_are_called_as_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("answer_a,answer_b\nYes.,No.\n")
    built = build_study([path], "acute")
    assert shown(built.study.items[0]) == [("answer_a", [("B", "Yes.")]), ("answer_b", [("B", "No.")])]
    assert any("the model is called answer_a and answer_b" in note for note in built.notes)


def test_responses_of_two_models_to_a_prompt_are_a_pair(tmp_path: Path) -> None:
    rows = [
        {"model": model, "prompt": prompt, "response": f"{model} {prompt} {turn}", "group": prompt}
        for prompt in ("one", "two")
        for model in ("m", "n")
        for turn in range(2)
    ] + [{"model": "n", "prompt": "three", "response": "alone", "group": "three"}]
    path = tmp_path / "own.csv"
    pl.DataFrame(rows).write_csv(path)
    whole = build_study([path], "acute").study.items
    expected = [
        [
            ("m", [("A", prompt), ("B", f"m {prompt} {turn}")]),
            ("n", [("A", prompt), ("B", f"n {prompt} {turn}")]),
        ]
        for prompt in ("one", "two")
        for turn in range(2)
    ]
    assert [shown(item) for item in whole] == expected
    files = []
    for model in ("m", "n"):
        files.append(tmp_path / f"{model}.csv")
        pl.DataFrame([row for row in rows if row["model"] == model]).drop("model").write_csv(files[-1])
    assert [shown(item) for item in build_study(files, "acute").study.items] == expected
    with pytest.raises(UsageError, match="pairs need two models"):
        build_study(files[:1], "acute")


def test_answers_called_toxic_are_left_out_unless_they_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "model,prompt,response,toxicity_negative\nm,one,a,false\nn,one,b,true\nm,two,c,false\nn,two,d,false\n"
    )
    assert len(build_study([path], "acute").study.items) == 1
    assert len(build_study([path], "acute", drop_unsafe=False).study.items) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\nYes.,\n", "row 1: 'b' is empty"),
        ("a,b\nYes.,Yes.\n", "no row has two different texts"),
        ("response,model\nx,m\ny,n\n", "does not contain the prompt of each response"),
        ("words\nx\n", "is not a table of pairs"),
    ],
)
def test_what_makes_no_pairs_is_refused_with_the_format(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=said) as caught:
        build_study([path], "acute")
    assert "model" in str(caught.value) or "Fill it in" in str(caught.value)
