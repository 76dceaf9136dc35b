"""What is written is read back as what it was, whatever stands in the texts."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from evenhand.annotation.definition import (
    TEMPLATES,
    Study,
    read_study,
    study_yaml,
    template,
    template_note,
    write_study,
)
from evenhand.schema import UsageError

AWKWARD = st.sampled_from(
    [
        *("yes", "no", "on", "NO", "null", "~", "", " ", "true", "1", "1.0", "007", "1e5", "0x1f", "1:30", ".nan",
        "1_0"),
        *("2020-01-01", "- a", "a: b", "# c", "a #b", "'", '"', "{a}", "[b]", "*x", "&x", "!x", "|", ">", "%", "@",
        "`"),
        *(" led", "ended ", "a\nb", "a\n\nb\n", "\na", "a\n ", "a\n\n\n", " a\nb", "\ta\nb", "a\tb", "a \nb",
        "a\r\nb", "\r"),
        *("---\na", "...\na", "---", "=", "<<", "a\\nb", "\u2028", "a\u2028b\nc", "a\x85b", "\ufeff", "\ufeffa\nb",
        "\u200b"),
        *("\u202eabc", "ß\u0308", "👩‍👩‍👧", "اَلْعَرَبِيَّةُ", "中文: 句", "a: |\n  b\n", "x" * 300, "word " * 80,
        "\ue000", "\ufffe", "\U0001fffe"),
    ]
)  # fmt: skip
TEXT = AWKWARD | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[chr(n) for n in (*range(9), 11, 12, *range(14,
    32), 127)]),
    max_size=60,
)  # fmt: skip
SHORT = TEXT.filter(lambda text: 0 < len(text) <= 200)
GROUPS = st.dictionaries(
    SHORT,
    TEXT | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    max_size=3,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    labels = draw(st.lists(SHORT, min_size=2, max_size=4, unique=True))
    names = draw(st.lists(SHORT, min_size=1, max_size=3, unique=True))
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "drawn",
            "title": draw(SHORT),
            "instructions": draw(TEXT),
            "seed": draw(st.integers(0, 2**63 - 1)),
            "consent": {"text": draw(TEXT), "warning": draw(st.none() | TEXT)},
            "questions": [
                {
                    "id": "chosen",
                    "kind": "choice",
                    "text": draw(SHORT),
                    "help": draw(st.none() | SHORT),
                    "options": [
                        {"id": f"o{n}", "label": label, "value": draw(st.none() | st.integers(-9, 9))}
                        for n, label in enumerate(labels)
                    ],
                    "reason": draw(st.none() | st.builds(dict, label=SHORT)),
                },
                {"id": "said", "kind": "text", "text": draw(SHORT), "required": draw(st.booleans())},
            ],
            "items": [
                {
                    "id": name,
                    "text": draw(TEXT),
                    "context": draw(st.none() | TEXT),
                    "groups": draw(GROUPS),
                    "judgements": draw(st.dictionaries(TEXT, st.dictionaries(TEXT, JSON, max_size=3), max_size=2)),
                }
                for name in names
            ],
            "onboarding": {
                "items": [{"id": "known", "conversation": {"id": "k k", "turns": [{"speaker": draw(SHORT),
                "text": draw(TEXT)}]}, "expected": {"chosen": "o1"}}]
            } if "known" not in names and "k k" not in names else None,
        }
    )  # fmt: skip


@given(studies())
@settings(deadline=None, max_examples=60)
def test_a_study_is_read_back_as_it_was(study: Study) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_study(study, Path(folder) / "drawn.yaml", note="Made\nby a test.")
        assert read_study(path) == study


@pytest.mark.parametrize(
    "number", [10**18 + 1, -(2**60) - 1, 2**63 - 1, 2**64 + 1, 10**300 + 1], ids="{:.3g}".format
)
@pytest.mark.parametrize("many", [1, 300], ids=["in the study", "in a file beside"])
def test_large_numbers_keep_every_digit(number: int, many: int, tmp_path: Path) -> None:
    said = {"judge": {"score": number, "scores": [number, {"deep": number}]}}
    study = small(
        seed=min(abs(number), 2**63 - 1),
        items=[{"id": f"i{n}", "text": "a", "judgements": said} for n in range(many)],
    )
    again = read_study(write_study(study, tmp_path / "study.yaml"))
    assert again == study
    assert again.items[0].judgements == said
    assert again.seed == study.seed


@given(TEXT)
@settings(deadline=None, max_examples=300)
def test_other_readers_of_yaml_find_the_same_texts(text: str) -> None:
    """PyYAML's own loader, which takes `yes` and dates for something else, is the witness: nothing stands bare."""
    study = small(instructions=text, items=[{"id": "one", "text": text}])
    read = yaml.safe_load(study_yaml(study))
    assert read.get("instructions", "") == text
    assert read["items"][0]["text"] == text


def small(**parts: Any) -> Study:
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "small",
            "title": "Small",
            "questions": [{"id": "said", "kind": "text", "text": "What?"}],
            "items": [{"id": "one", "text": "a"}],
            **parts,
        }
    )


def test_long_texts_are_blocks_that_people_read() -> None:
    written = study_yaml(small(instructions="First.\n\nSecond: 'quoted'.\n"))
    assert "instructions: |\n  First.\n\n  Second: 'quoted'.\n" in written


def test_many_items_go_into_a_file_beside(tmp_path: Path) -> None:
    study = small(items=[{"id": f"i{n}", "text": f"line\u2028{n}\n", "groups": {"n": n}} for n in range(300)])
    path = write_study(study, tmp_path / "large.yaml")
    assert len((tmp_path / "large.items.jsonl").read_text(encoding="utf-8").split("\n")) == 301
    assert "file: large.items.jsonl" in path.read_text(encoding="utf-8")
    assert read_study(path) == study


def test_a_study_is_written_to_yaml_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"NAME\.yaml"):
        write_study(small(), tmp_path / "study.json")


@pytest.mark.parametrize("survey", [False, True])
@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_make_studies_that_are_read_back(name: str, survey: bool, tmp_path: Path) -> None:
    said = [{"speaker": "A", "text": "hi"}]
    pair = [{"id": "a", "turns": said}, {"id": "b", "turns": said}]
    item = {"id": "one", "pair": pair} if name == "acute" else {"id": "one", "text": "hi"}
    study = Study.model_validate({**template(name, survey=survey), "items": [item]})
    assert study.name == name
    assert bool(study.survey) == survey
    assert read_study(write_study(study, tmp_path / "study.yaml", template_note(name))) == study
