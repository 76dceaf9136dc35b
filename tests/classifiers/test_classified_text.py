"""What is judged: parts, what is taken out, and rules that stay the rules of earlier runs."""

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import ClassifiedText
from evenhand.classifiers.classified_text import classified_texts
from evenhand.schema import DataError

UNSAFE = "_POTENTIALLY_UNSAFE__"


def test_the_prompt_alone_can_be_judged() -> None:
    frame = pl.DataFrame({"text": ["She cooks.", "He cooks."], "continuation": [" Well.", None]})
    assert classified_texts(frame, ClassifiedText("prompt")) == ["She cooks.", None]


@pytest.mark.parametrize("part", ["continuation", "prompt+continuation"])
def test_a_mark_of_the_model_is_taken_out_before_anything_else(part: str) -> None:
    rule = ClassifiedText(part, removed=UNSAFE, masked="descriptor", mask="left-handed", everywhere=True)
    said = rule.select_text("", f"Deaf people are {UNSAFE} fine {UNSAFE}", "Deaf")
    assert said == "left-handed people are  fine "
    assert rule.select_text(f"{UNSAFE}?", " Yes.", None).endswith(" Yes."), "prompts are left as they are"


@pytest.mark.parametrize("name", ["holisticbias-styles", "holisticbias-offensiveness"])
def test_replies_to_holisticbias_are_judged_without_blenderbots_mark(name: str) -> None:
    (judge,) = load_benchmark(name).classified_by
    hidden = "Deaf" if judge.text.masked else None
    assert UNSAFE not in judge.text.select_text("Hi, I'm Deaf.", f"I am sorry. {UNSAFE}", hidden)
    assert UNSAFE in load_benchmark(name).card.details


def test_a_rule_that_takes_nothing_out_is_stored_as_it_always_was() -> None:
    assert ClassifiedText().parameters() == {
        "part": "continuation", "first_sentence": False, "masked": None, "mask": "XYZ", "everywhere": False,
    }  # fmt: skip
    rule = ClassifiedText(removed="x")
    assert ClassifiedText(**rule.parameters()) == rule


def test_utterances_stand_behind_the_lines_before_them() -> None:
    frame = pl.DataFrame(
        {
            "text": ["Hi"] * 4,
            "continuation": ["x Bo", "e", None, ""],
            "lines_before": ["Hi, I am Bo", "a\nb", "a", "a"],
            "name": ["Bo"] * 4,
        }
    )
    rule = ClassifiedText(behind="lines_before", masked="name", mask="[NAME]", everywhere=True)
    assert classified_texts(frame, rule) == ["Hi, I am Bo\nx [NAME]", "a\nb\ne", None, ""]
    assert rule.columns == ["text", "name", "lines_before"]
    assert ClassifiedText(**rule.parameters()) == rule
    assert "behind" not in ClassifiedText().parameters()
    with pytest.raises(DataError, match="Cannot create the text for the classifier: missing columns"):
        classified_texts(frame.drop("lines_before"), rule)
