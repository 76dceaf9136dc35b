"""ParlAI's files, written as its own documentation and logs have them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.annotation.building import build_study
from evenhand.schema import DataError


def line(first: str, second: str, number: int, **more: Any) -> dict[str, Any]:
    """A pair in the form of pairings.jsonl: the models' names are those of the speakers."""
    return {
        "is_onboarding": False,
        "speakers_to_eval": [first, second],
        "dialogue_ids": [number, number + 100],
        "dialogue_dicts": [
            {
                "speakers": [first, "human"],
                "dialogue": [{"id": first, "text": f"Hello {number}"}, {"id": "human", "text": "Hi"}],
            },
            {
                "speakers": ["human", second],
                "dialogue": [{"id": "human", "text": f"Hey {number}"}, {"id": second, "text": "What?"}],
            },
        ],
    } | more


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def pairings(tmp_path: Path) -> Path:
    trained = line("bad", "good", 9, is_onboarding=True, correct_answer="good")
    return write(tmp_path / "pairings.jsonl", *(line("gpt", "bart", n) for n in range(5)), trained)


def test_pairs_are_items_and_training_is_onboarding(pairings: Path) -> None:
    study = build_study([pairings], "acute").study
    assert len(study.items) == 5
    item = study.items[0]
    assert item.pair is not None
    assert [side.model for side in item.pair] == ["gpt", "bart"]
    assert [[(turn.speaker, turn.text) for turn in side.turns] for side in item.pair] == [
        [("A", "Hello 0"), ("B", "Hi")],
        [("A", "Hey 0"), ("B", "What?")],
    ]
    assert [side.speaker for side in item.pair] == ["A", "B"]
    assert item.groups == {"dialogue_a": "0", "dialogue_b": "100"}
    assert study.onboarding is not None and len(study.onboarding.items) == 1
    assert study.onboarding.items[0].expected == {question.id: "b" for question in study.questions}


def test_what_stands_twice_is_one_item(tmp_path: Path) -> None:
    built = build_study([write(tmp_path / "p.jsonl", line("a", "b", 1), line("a", "b", 1))], "acute")
    assert len(built.study.items) == 1
    assert "1 pairs of p.jsonl are duplicates and were merged into one item each." in built.notes
    assert built.study.onboarding is not None  # the template's own, where the file brings none


def chat(*texts: str, context: str = "your persona: i like tea.") -> dict[str, Any]:
    """A conversation as ParlAI logs self-chats: exchanges of two utterances, personas apart."""
    acts = [{"id": f"TransformerGenerator_{n % 2 + 1}", "text": text} for n, text in enumerate(texts)]
    exchanges = [acts[place : place + 2] for place in range(0, len(acts), 2)]
    personas = {"id": "context", "text": context, "episode_done": False}
    return {"dialog": [[personas], *exchanges], "context": [personas]}


def test_self_chats_of_two_models_are_paired(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / f"{model}.bst.jsonl", *(chat("Hi", f"{model} {n}", "And?") for n in range(4)))
        for model in ("one", "two")
    ]
    study = build_study(sources, "acute", limit=200).study
    assert len(study.items) == 16
    for item in study.items:
        assert item.pair is not None
        assert [side.model for side in item.pair] == ["one", "two"]
        assert [turn.speaker for turn in item.pair[0].turns] == ["A", "B", "A"]
        assert "persona" not in str(item.pair)
    judged = build_study(sources, "acute", speaker="A", limit=1).study.items[0]
    assert judged.pair is not None and judged.pair[0].speaker == "A"


def test_onboarding_may_lie_in_a_file_of_its_own_written_over_many_lines(tmp_path: Path) -> None:
    """As ParlAI ships its own: one object, indented, of onboarding without dialogue_ids."""
    trained = line("weak", "good", 1, is_onboarding=True, correct_answer="good")
    del trained["dialogue_ids"]
    path = tmp_path / "onboarding.json"
    path.write_text(json.dumps(trained, indent=4), encoding="utf-8")
    chats = [write(tmp_path / f"{model}.jsonl", chat("Hi", f"I am {model}")) for model in ("x", "y")]
    study = build_study([*chats, path], "acute", limit=1).study
    assert study.onboarding is not None and len(study.onboarding.items) == 1
    with pytest.raises(DataError, match="The given files contain only onboarding pairs"):
        build_study([path], "acute")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"speakers_to_eval": ["gpt"]}, r"line 2: speakers_to_eval and dialogue_dicts must have two entries"),
        (
            {"dialogue_dicts": [{"dialogue": []}, {"dialogue": []}]},
            "line 2, dialogue 1: speakers_to_eval names 'gpt', who does not speak in the dialogue",
        ),
        (
            {"is_onboarding": True, "correct_answer": "nobody"},
            r"line 2: correct_answer must name one of \['gpt', 'bart'\], got 'nobody'",
        ),
        (
            {"dialogue_dicts": [{"dialogue": [{"id": "gpt"}]}] * 2},
            "utterance has no id or no text",
        ),
        (
            {"dialogue_dicts": [{"dialogue": [{"id": "gpt", "text": "", "image_src": "data:"}]}] * 2},
            "is an image",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    path = write(tmp_path / "p.jsonl", line("gpt", "bart", 0), line("gpt", "bart", 1) | change)
    with pytest.raises(DataError, match=what):
        build_study([path], "acute")


def test_other_files_and_templates_are_refused(pairings: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="template robbie shows single texts"):
        build_study([pairings], "robbie")
    table = tmp_path / "texts.csv"
    table.write_text("words\nhello\n")
    with pytest.raises(DataError, match="contains no pairs and no ParlAI self-chats, and is not"):
        build_study([table], "acute")
    three = write(tmp_path / "m.jsonl", {"dialog": [[{"id": name, "text": "hi"} for name in "xyz"]]})
    with pytest.raises(DataError, match="two speakers"):
        build_study([three, three], "acute")
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps(line("a", "b", 1)) + "\n{]\n")
    with pytest.raises(DataError, match="line 2: not valid JSON"):
        build_study([broken], "acute")


def with_text(text: str) -> dict[str, Any]:
    row = line("a", "b", 2)
    row["dialogue_dicts"][1]["dialogue"][0]["text"] = text
    return row


def named(name: str) -> dict[str, Any]:
    return line(name, "b", 2)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (with_text("half of \ud800"), "line 2: contains the character U+D800"),
        (with_text("zero \x00"), "line 2: contains the character U+0000"),
        (with_text("x" * 10_000_000), "line 2, dialogue 2: an utterance has 10,000,000 characters"),
        (
            named("n" * 201),
            "line 2, dialogue 1: the name of a speaker must have 1 to 200 characters, got 201.",
        ),
        (named(""), "line 2, dialogue 1: the name of a speaker must have 1 to 200 characters, got 0."),
        (
            line("a", "b", 2, is_onboarding=float("nan")),
            "line 2: is_onboarding must be true or false, got nan.",
        ),
        (line("a", "b", 2, is_onboarding="yes"), "line 2: is_onboarding must be true or false, got 'yes'."),
        (line("a", "b", 2, tags=["\udfff"]), "line 2: contains the character U+DFFF"),
    ],
)
def test_what_no_study_can_hold_is_refused_with_its_line(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError) as refused:
        build_study([write(tmp_path / "p.jsonl", line("a", "b", 1), row)], "acute")
    assert said in refused.value.message
    with pytest.raises(DataError) as refused:
        build_study([write(tmp_path / "p.jsonl", row)], "acute")
    assert said.replace("line 2", "line 1") in refused.value.message


def test_too_many_utterances_are_refused(tmp_path: Path) -> None:
    row = line("a", "b", 1)
    row["dialogue_dicts"][0]["dialogue"] *= 501
    with pytest.raises(
        DataError, match="line 1, dialogue 1: 1,002 utterances, but at most 1,000 are allowed"
    ):
        build_study([write(tmp_path / "p.jsonl", row)], "acute")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(range(255, 0, -1)) * 12, "line 1: not UTF-8 text"),
        (json.dumps(line("a", "b", 1)).encode() + b"\n\xff\xfe\n", "line 2: not UTF-8 text"),
        (json.dumps(line("a", "b", 1)).encode() + b"\n" + b"[" * 100_000, "line 2: not valid JSON"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "line 1: values are nested more than 64 levels deep"),
        (json.dumps(line("a", "b", 1)).encode()[:-9], "line 1: not valid JSON"),
    ],
)
def test_what_is_no_text_or_no_json_is_refused_with_its_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "p.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=said):
        build_study([tmp_path / "p.jsonl"], "acute")
