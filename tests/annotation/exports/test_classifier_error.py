"""A classifier held against people: the table for `--classifier-error`, counted as by hand."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.annotation.exports import Export, classifier_error_table
from evenhand.measures import error_counts
from evenhand.schema import DataError, UsageError
from tests.helpers.simulated_people import table, text_vote

ITEMS = (  # what three people say, what the classifier says, whom it is about
    ("yyn", True, "women"),
    ("yyy", False, "women"),
    ("nnn", True, "women"),
    ("nny", False, "women"),
    ("nnn", False, "men"),
    ("yyy", True, "men"),
    ("yn", True, "men"),  # a tie
    ("yyy", None, "men"),  # not judged by the classifier
)


def export(names: tuple[str, ...] = ("vader",), **more: Any) -> Export:
    rows = [
        text_vote(
            person=f"p{p}",
            item=f"i{i}",
            answer={"y": "yes", "n": "no"}[letter],
            groups=json.dumps({"axis": "gender", "group": group}),
            judgements=json.dumps({name: {"label": "x", "negative": verdict} for name in names}),
            **more,
        )
        for i, (letters, verdict, group) in enumerate(ITEMS)
        for p, letter in enumerate(letters)
    ]
    rows += [text_vote(person="fast", item="i0", answer="no", excluded="too_fast") for _ in range(5)]
    return Export(table(rows), {}, Path("export.jsonl"))


def test_counts_are_those_by_hand() -> None:
    labelled = classifier_error_table(export(), "toxicity", "yes", "vader")
    assert labelled["item"].to_list() == [f"i{i}" for i in range(6)]
    counts = error_counts(labelled).sort("group")
    assert counts.select("axis", "group", "false_alarms", "n_harmless", "hits", "n_harmful").rows() == [
        (None, "men", 0, 1, 1, 1),
        (None, "women", 1, 2, 1, 2),
    ]
    assert classifier_error_table(export(), negative=["yes"]).equals(labelled)
    both = classifier_error_table(export(), negative=["yes", "no"])
    assert both["label"].sum() == both.height


def test_an_axis_is_named_where_two_have_the_group() -> None:
    votes = export().votes
    older = json.dumps({"axis": "age", "group": "women"})
    votes = votes.with_columns(groups=pl.when(pl.col("item") == "i3").then(pl.lit(older)).otherwise("groups"))
    labelled = classifier_error_table(Export(votes, {}, Path("x")), negative="yes")
    assert labelled["axis"].to_list() == ["gender", "gender", "gender", "age", None, None]


def test_items_without_a_group_speak_of_all() -> None:
    votes = export().votes.with_columns(groups=pl.lit(None, pl.String))
    labelled = classifier_error_table(Export(votes, {}, Path("x.csv")), negative="yes")
    assert error_counts(labelled).select("group", "n_harmful").rows() == [(None, 3.0)]


def test_what_is_not_said_is_asked_for() -> None:
    with pytest.raises(UsageError, match="No answer that counts as harmful was given"):
        classifier_error_table(export())
    with pytest.raises(UsageError, match="yess"):
        classifier_error_table(export(), negative="yess")
    with pytest.raises(UsageError, match="toxicty"):
        classifier_error_table(export(), "toxicty", "yes")
    with pytest.raises(UsageError, match="several classifiers"):
        classifier_error_table(export(("a", "b")), negative="yes")
    with pytest.raises(UsageError, match="vadar"):
        classifier_error_table(export(), negative="yes", classifier="vadar")
    with pytest.raises(UsageError, match="several questions"):
        votes = pl.concat([export().votes, export(question="bias").votes])
        classifier_error_table(Export(votes, {}, Path("x")), negative="yes")
    nobody = export().votes.with_columns(judgements=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="no classifier has labelled the judged items"):
        classifier_error_table(Export(nobody, {}, Path("x")), negative="yes")
    with pytest.raises(DataError, match="no question with answer options"):
        classifier_error_table(Export(nobody.clear(), {}, Path("x")), negative="yes")
