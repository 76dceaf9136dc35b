"""What is left alone: each kind, nothing beside it, and nothing for a mark that is not closed."""

import re

import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.counterfactual import Counterfactuals
from evenhand.prompts.counterfactual.protecting import protected_spans
from tests.helpers.growth import assert_grows_linearly

LEFT_ALONE = [
    "{{her_name}}", "{{ if her }}", "`her`", "```\nher\nher\n```", "<code>her</code>", '<a title="her">',
    "<cite>Her</cite>",
    "https://x.org/her", "www.her.org/her", "her@x.org", "x.her@her.org", "@her", "#her", "*Her Way*", "**Her Way**",
    "_Her Way_",
]  # fmt: skip
QUOTED = ['"to her"', "“to her”", "‘to her’", "'to her'", "«to her»", "„to her“"]


@pytest.mark.parametrize("quotes", [False, True])
@pytest.mark.parametrize("protected", LEFT_ALONE)
def test_left_alone_always(protected, quotes):
    engine = Counterfactuals("gender", target="male", quotes=quotes)
    assert engine.of(f"She saw {protected} and her hat.").text == f"He saw {protected} and his hat."


@pytest.mark.parametrize("quoted", QUOTED)
def test_quotations_are_left_alone_unless_asked(quoted):
    text = f"She said {quoted} in her hat."
    assert Counterfactuals("gender", target="male").of(text).text == f"He said {quoted} in his hat."
    changed = Counterfactuals("gender", target="male", quotes=True).of(text).text
    assert changed == f"He said {quoted.replace('her', 'him')} in his hat."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "I don't know if she's here; it's her aunts' house.",
            "I don't know if he's here; it's his uncles' house.",
        ),
        ("the girls ' school , where she can 't go", "the boys ' school , where he can 't go"),
        ("5 * her 2 * 3", "5 * his 2 * 3"),
        ("{she} {{ she", "{he} {{ he"),
        ("rock 'n' roll made her rich in the '90s", "rock 'n' roll made him rich in the '90s"),
        ("her_name and name_of_her are words of code", "her_name and name_of_her are words of code"),
    ],
)
def test_marks_that_open_nothing_protect_nothing(text, wanted):
    assert Counterfactuals("gender", target="male").of(text).text == wanted


OPENED = ["{{{{", "<code>", "<em>her ", "<i ‹i", " 'a", "`a ``` ", "a://", "a.", "*A _A ", "“a „a «a ‘a "]


@pytest.mark.parametrize("opened", OPENED)
def test_the_time_is_linear_where_marks_are_opened_again_and_again(opened):
    def protect(text):
        assert all(start < end for start, end in protected_spans(text, quotes=True))

    assert_grows_linearly(protect, lambda size: opened * (size // len(opened)) + " her", 100_000)


@given(
    st.lists(
        st.sampled_from(
            ["{{", "}}", "<i>", "</i>", "<", ">", "<code", "://", "a.", "1", "'", "a", " ", "\n", '"', "-"]
        )
    )
)
def test_against_the_rules_as_patterns(parts):
    text = "".join(parts)
    patterns = (
        r"\{\{.*?\}\}",
        r"<(code|pre|cite|i|em|script|style)\b[^>]*>.*?</\1>|</?[a-zA-Z][^<>\n]*>",
        r"\b[a-zA-Z][\w+.-]*://[^\s<>\"']+",
        r'"[^"\n]*"|(?<![\w"])"(?=\w)[^"\n]*\Z',
        r"(?<![\w'])'(?!(?:s|t|re|ve|ll|d|m|em|n|tis|twas|til|cause|bout|\d+s?)\b)(?=\w)(?:[^'\n]|'(?=\w))*?[^\s']'(?!\w)",
    )
    held = {
        at for one in patterns for match in re.finditer(one, text, re.DOTALL) for at in range(*match.span())
    }
    assert {at for span in protected_spans(text, quotes=True) for at in range(*span)} == held


@pytest.mark.parametrize("name", ["Mary ", "Mary. ", "Mary John ", "Mary <unk> "])
def test_the_time_for_names_in_a_row_is_linear(name):
    engine = Counterfactuals("gender", source="female", target="male")
    assert_grows_linearly(engine.of, lambda size: name * size, 2000)
